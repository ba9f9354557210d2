package group

import (
	"github.com/tamarack-mq/tamarack/core/ledger"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/order"
)

// shard is one led partition of the internal topic: the book of a ledger.
type shard struct {
	*ledger.Ledger[change]
	home  *Coordinator
	state *state
	since message.Time // when it was loaded last
}

// write is how a handler decides.
func (s *shard) write(k key, v value) { s.Decide(change{k, v}) }

// Reset forgets all groups. Nothing was stored for those who wait for the
// coordinator of a transaction: they may ask again.
func (s *shard) Reset() {
	s.state = newState()
	s.sendAway()
}

// Apply takes a change, decided now or replayed.
func (s *shard) Apply(c change) { s.state.apply(c) }

// Decode reads one record.
func (s *shard) Decode(key, value []byte) (change, error) { return decode(key, value) }

// Next is when the first deadline is due.
func (s *shard) Next() message.Time { return s.state.timers.Next() }

// Expire acts on the deadlines that have passed.
func (s *shard) Expire(now message.Now, _ *ledger.Out) { s.expire(now) }

// Live is how many records make the state.
func (s *shard) Live() int { return s.state.keys }

// Fault is the broken invariant, if one is.
func (s *shard) Fault() string { return s.state.fault }

// Head is the floor, without which a group that was removed could come back under
// an old epoch, and the fences of producers, without which a position could become
// pending whose transaction has ended.
func (s *shard) Head() []change {
	var head []change
	s.state.head(func(c change) { head = append(head, c) })
	return head
}

// Parts are the groups.
func (s *shard) Parts() []string { return order.Keys(s.state.groups) }

// Part visits the records of one group.
func (s *shard) Part(name string, visit func(change)) {
	if g := s.state.groups[name]; g != nil {
		g.each(visit)
	}
}

// Begin ends loading: everybody gets a fresh session, what a crash left half
// done is mended, and what topics did in the meantime is caught up with.
func (s *shard) Begin(now message.Now, _ *ledger.Out) {
	s.since = now.Mono
	names := s.Parts()
	s.state.reindex(names)
	for _, name := range names {
		g := s.state.groups[name]
		for _, m := range g.seats {
			s.refresh(now, m)
			s.watchRevocation(now, m)
		}
		s.mend(now, g)
		s.adapt(now, g, nil, true)
	}
	for _, id := range order.Keys(s.state.fences) {
		s.armFence(now, s.state.fences[id])
	}
}

// mend repairs what a decision leaves that was cut between two of its batches.
func (s *shard) mend(now message.Now, g *group) {
	for _, id := range order.Keys(g.targets) {
		if g.members[id] == nil {
			s.write(key{kind: kindTarget, group: g.name, member: id}, nil)
		}
	}
	if s.state.groups[g.name] == nil {
		return // there was nothing else
	}
	empty := len(g.seats) == 0
	if !g.made || empty != (g.record.emptySince != occupied) {
		s.writeGroup(now, g)
	}
	if empty {
		s.armGroup(now, g)
	}
	s.release(g)
}
