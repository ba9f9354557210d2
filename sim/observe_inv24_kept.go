package sim

import (
	"slices"

	"github.com/tamarack-mq/tamarack/core/message"
)

// groupsUsed is when groups had members for certain. It is for the part of INV-24 that
// says when positions go: as long as the group has members they stay, and when the last
// one has gone for as long as positions are kept (KIP-211).
//
// That a member was there is proven by what it was told: an epoch, and later that a
// heartbeat with an epoch, which came after that, was taken. Who was expelled meanwhile
// would have had to join again.
type groupsUsed struct {
	there map[membership]Span // when a member was told an epoch first
	beats map[string][]Span   // when heartbeats came, by group and time: the last beatsKept
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
			u.there, u.beats = map[membership]Span{}, map[string][]Span{}
		}
		u.there[at] = w.now
	}
	if m.Code != message.None || !known || told >= by.since || asked.MemberEpoch == message.JoinEpoch || w.deposedFromShard(n, asked.Group) {
		return
	}
	list := u.beats[asked.Group]
	after := len(list)
	for after > 0 && list[after-1] > by.since {
		after--
	}
	if after > 0 && !leaves && by.since-list[after-1] < w.plan.Timing.OffsetRetention/beatsApart {
		return
	}
	if list = slices.Insert(list, after, by.since); len(list) > beatsKept {
		list = slices.Delete(list, 0, 1)
	}
	u.beats[asked.Group] = list
}

// last is when a group had a member for certain, before a time; false: that is not known.
func (u *groupsUsed) last(group string, before Span) (Span, bool) {
	list := u.beats[group]
	for i := len(list) - 1; i >= 0; i-- {
		if list[i] < before {
			return list[i], true
		}
	}
	return 0, false
}

// removed judges a committed record that removes a position: somebody may have asked
// for it, its topic may be gone, or the group had no member for as long as positions
// are kept.
func (o *committedOffsets) removed(w *World, n *Node, r *positionRecord) {
	asked := o.wiped[r.Group]
	if asked.open > 0 || r.step <= asked.last || r.shard.lost() || w.newest().Topic(r.Partition.Topic) == nil {
		return
	}
	keep := w.plan.Timing.OffsetRetention
	if keep == 0 {
		w.fail("INV-24", n.id, "a position goes that stays for ever", "shard %s removes at offset %d what group %q has committed for partition %s, although nobody asked for that", r.shard.part.id, r.at, r.Group, r.Partition)
		w.aboutCommit(r.Group, r.Partition, -1)
		return
	}
	if had, known := o.used.last(r.Group, r.wrote); known && r.wrote-had < keep-Millisecond-w.clocksApart() {
		w.fail("INV-24", n.id, "positions go before their time", "shard %s removes at offset %d what group %q has committed for partition %s, %d ms after the group had a member; positions are kept for %d ms", r.shard.part.id, r.at, r.Group, r.Partition, (r.wrote-had)/Millisecond, keep/Millisecond)
		w.aboutCommit(r.Group, r.Partition, -1)
	}
}
