package sim

import (
	"slices"

	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// groupsUsed is when groups had members for certain. It is for the part of INV-24 that
// says when positions go: as long as the group has members they stay, and when the last
// one has gone for as long as positions are kept (KIP-211).
//
// That a member was there is proven by what it was told: an epoch, and later that a
// heartbeat with an epoch, which came after that, was taken. Who was expelled meanwhile
// would have had to join again.
//
// A heartbeat that changes nothing is not stored. So it proves nothing against what the
// one that answered it had not heard of: a coordinator before it may have expelled
// everybody, in records that commit at last when that one leads again, and nothing that
// was written in the meantime stands in their way.
type groupsUsed struct {
	there map[membership]Span // when a member was told an epoch first
	beats map[string][]beat   // heartbeats, by group and time: the last beatsKept
}

// beat is a heartbeat that was taken.
type beat struct {
	at    Span               // when it came
	epoch record.LeaderEpoch // of the coordinator
	end   record.Offset      // of the shard's log, as that one had it
}

const (
	beatsKept  = 64
	beatsApart = 32 // one counts if it comes so much of the time after the last one
)

// heard takes in how a heartbeat was answered.
func (u *groupsUsed) heard(w *World, n *Node, by caller, m *message.GroupHeartbeatReply) {
	asked, ok := by.request.(*message.GroupHeartbeat)
	if !ok {
		return
	}
	at := membership{asked.Group, asked.Member}
	told, known := u.there[at]
	leaves := asked.MemberEpoch == message.LeaveEpoch
	switch {
	case m.Code != message.None || leaves:
		delete(u.there, at)
	case !known:
		if u.there == nil {
			u.there, u.beats = map[membership]Span{}, map[string][]beat{}
		}
		u.there[at] = w.now
	}
	if m.Code != message.None || !known || told >= by.since || asked.MemberEpoch == message.JoinEpoch || w.deposedFromShard(n, asked.Group) {
		return
	}
	list := u.beats[asked.Group]
	after := len(list)
	for after > 0 && list[after-1].at > by.since {
		after--
	}
	if after > 0 && !leaves && by.since-list[after-1].at < w.plan.Timing.OffsetRetention/beatsApart {
		return
	}
	b := beat{at: by.since}
	if p := w.groupShard(asked.Group); p != nil {
		if r := p.at(n.id); r != nil {
			b.epoch, b.end = r.view.LeaderEpoch, r.memory.end
		}
	}
	if list = slices.Insert(list, after, b); len(list) > beatsKept {
		list = slices.Delete(list, 0, 1)
	}
	u.beats[asked.Group] = list
}

// last is when a group had a member for certain, before a position of it was removed:
// by the last heartbeat that counts, and by the last one of all. -1: that is not known.
func (u *groupsUsed) last(r *positionRecord) (certain, heard Span) {
	list := u.beats[r.Group]
	certain, heard = -1, -1
	for i := len(list) - 1; i >= 0 && certain < 0; i-- {
		if list[i].at >= r.wrote {
			continue
		}
		heard = max(heard, list[i].at)
		if !list[i].missed(r) {
			certain = list[i].at
		}
	}
	return certain, heard
}

// missed says whether the one that answered a heartbeat had not heard of something that
// a coordinator before it wrote, up to the record.
func (b *beat) missed(r *positionRecord) bool {
	batches := (&logFacts{batches: r.shard.part.committed}).from(b.end)
	for i := range batches {
		if batches[i].BaseOffset > r.at {
			return false
		}
		if batches[i].LeaderEpoch < b.epoch {
			return true
		}
	}
	return false
}

// keptSince is since when a position is stored: the wall time that its record has, by
// which one that a snapshot repeats is known, and when that was written first.
type keptSince struct {
	at    record.Timestamp
	wrote Span
}

// keeps takes in a committed record that stores a position.
func (o *committedOffsets) keeps(r *positionRecord) {
	at := claim{r.Group, r.Partition}
	if was, known := o.kept[at]; known && was.at == r.At {
		return
	}
	if o.kept == nil {
		o.kept = map[claim]keptSince{}
	}
	o.kept[at] = keptSince{r.At, r.wrote}
}

// removed judges a committed record that removes a position: somebody may have asked
// for it, its topic may be gone, or the group had no member for as long as positions
// are kept, and nobody has committed this one for as long.
func (o *committedOffsets) removed(w *World, n *Node, r *positionRecord) {
	asked := o.wiped[r.Group]
	if asked.open > 0 || r.step <= asked.last || r.shard.lost() || w.newest().Topic(r.Partition.Topic) == nil {
		return
	}
	keep := w.plan.Timing.OffsetRetention
	if keep == 0 {
		w.fail("INV-24", n.id, "a position goes that stays for ever", "shard %s removes at offset %d what group %q has committed for partition %s, although nobody asked for that", r.shard.part.id, r.at, r.Group, r.Partition)
		return
	}
	certain, heard := o.used.last(r)
	early := func(had Span) bool { return had >= 0 && r.wrote-had < keep-Millisecond-w.clocksApart() }
	since, known := o.kept[claim{r.Group, r.Partition}]
	switch {
	case known && early(since.wrote):
		w.fail("INV-24", n.id, "a position goes that was committed lately", "shard %s removes at offset %d what group %q has committed for partition %s, %d ms after it was; positions are kept for %d ms", r.shard.part.id, r.at, r.Group, r.Partition, (r.wrote-since.wrote)/Millisecond, keep/Millisecond)
	case early(certain):
		w.fail("INV-24", n.id, "positions go before their time", "shard %s removes at offset %d what group %q has committed for partition %s, %d ms after the group had a member; positions are kept for %d ms", r.shard.part.id, r.at, r.Group, r.Partition, (r.wrote-certain)/Millisecond, keep/Millisecond)
	case early(heard): // who asks may find that it is gone
		o.begin()
		o.lapsed[r.Group] = max(o.lapsed[r.Group], r.step)
	}
}
