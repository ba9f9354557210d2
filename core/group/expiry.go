package group

import (
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// expire acts on the deadlines that have passed: members whose session ran out
// or who did not give up a partition in time are removed; offsets and groups
// that nobody used for their retention go.
func (s *shard) expire(now message.Now) {
	var bereft []*group
	for s.state.timers.Next() <= now.Mono {
		t := s.state.timers.First()
		g, m, f := t.Due.group, t.Due.member, t.Due.fence
		if f != nil {
			s.expireFence(now, f)
			continue
		}
		if m == nil {
			s.state.timers.Stop(t)
			s.expireGroup(now, g)
			continue
		}
		if due := min(m.sessionEnds, m.revokeEnds); due > now.Mono {
			s.state.timers.Set(t, due)
			continue
		}
		s.remove(now, g, m)
		if len(bereft) == 0 || bereft[len(bereft)-1] != g {
			bereft = append(bereft, g)
		}
	}
	for _, g := range bereft {
		s.retarget(g)
	}
}

// expireGroup removes what is over in an empty group. Offsets are kept while
// the group has members, and for the retention time after the last one left or
// after a commit from outside, whichever is later (KIP-211). The times are wall
// times, which may jump: so the timer only says when to look.
func (s *shard) expireGroup(now message.Now, g *group) {
	if len(g.pending) > 0 { // the end of the transaction has it looked at again
		return
	}
	if len(g.seats) > 0 {
		return
	}
	keep := milliseconds(s.home.cfg.OffsetRetention)
	next, left := record.Timestamp(0), false
	for _, p := range g.storedIDs() {
		end := max(g.record.emptySince, g.offsets[p].at) + keep
		switch {
		case end <= now.Wall:
			s.write(key{kind: kindOffset, group: g.name, id: p}, nil)
		case !left || end < next:
			next, left = end, true
		}
	}
	if !left {
		next = g.record.emptySince + milliseconds(s.home.cfg.EmptyGroupRetention)
		if next <= now.Wall {
			s.removeGroup(g)
			return
		}
	}
	s.armGroupAt(now, g, next)
}

// armGroup makes sure that an empty group is looked at when the first thing in
// it can be over.
func (s *shard) armGroup(now message.Now, g *group) {
	soonest := min(s.home.cfg.OffsetRetention, s.home.cfg.EmptyGroupRetention)
	s.armGroupAt(now, g, g.record.emptySince+milliseconds(soonest))
}

func (s *shard) armGroupAt(now message.Now, g *group, wall record.Timestamp) {
	s.state.timers.Sooner(&g.timer, s.at(now, wall))
}

// at is when a wall time comes, as far as can be known now.
func (s *shard) at(now message.Now, wall record.Timestamp) message.Time {
	const longest = 365 * 24 * message.Hour // a clock that is set back by years must not overflow
	wait := message.Duration(max(0, wall-now.Wall))
	return now.Mono.Add(min(wait, longest/message.Millisecond) * message.Millisecond)
}

// expireFence forgets a producer that has been silent for so long that nothing of
// it can be under way any more.
func (s *shard) expireFence(now message.Now, f *fence) {
	s.state.timers.Stop(&f.timer)
	if f.at+milliseconds(s.home.cfg.ProducerIdle) <= now.Wall && len(s.state.open[f.id]) == 0 {
		s.write(key{kind: kindProducer, producer: f.id}, nil)
		return
	}
	s.armFence(now, f)
}

// armFence has a fence looked at when it may be over.
func (s *shard) armFence(now message.Now, f *fence) {
	idle := milliseconds(s.home.cfg.ProducerIdle)
	over := f.at + idle
	if over <= now.Wall {
		over = now.Wall + idle // it has a transaction open
	}
	s.state.timers.Set(&f.timer, s.at(now, over))
}

func milliseconds(d message.Duration) record.Timestamp {
	return record.Timestamp(d / message.Millisecond)
}

// removeGroup removes an empty group with its offsets. The floor goes first:
// without it a group of the same name could give out old epochs again.
func (s *shard) removeGroup(g *group) {
	if g.epoch() > s.state.floor {
		s.write(key{kind: kindFloor}, floorValue{g.epoch()})
	}
	for _, p := range g.storedIDs() {
		s.write(key{kind: kindOffset, group: g.name, id: p}, nil)
	}
	s.write(key{kind: kindGroup, group: g.name}, nil)
}
