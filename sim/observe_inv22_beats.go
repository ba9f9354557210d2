package sim

import (
	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
)

// lateBeats is INV-22 for heartbeats of members: one under an epoch that its member has
// left behind says nothing about what the member has now. It may be answered, and it
// proves that somebody is there, but the member gets nothing by it and gives nothing up.
type lateBeats struct {
	blind
	members map[askedMember]beatenAt
}

// beatenAt is a member after its last heartbeat that was in time.
type beatenAt struct {
	run   uint32
	since message.Time // when its shard was loaded
	epoch message.MemberEpoch
}

func (*lateBeats) Invariant() string { return "INV-22" }

func (*lateBeats) Looks() scope { return ofBeats }

func (o *lateBeats) Stepped(w *World, n *Node, in effect.Input, _ []effect.Effect) {
	r, ok := in.(effect.Requested)
	if !ok {
		return
	}
	m, ok := r.Msg.(*message.GroupHeartbeat)
	if !ok || n.Core() == nil {
		return
	}
	d, there := n.Core().Groups().DeadlineOf(m.Group, m.Member)
	epoch, _, _ := n.Core().Groups().MemberOf(m.Group, m.Member)
	o.beaten(w, n, m, beatenAt{n.run, d.Since, epoch}, there)
}

// beaten judges what a member is after a heartbeat. A static one that has left is let
// alone until it joins again: nobody needs to be heard for it to lose what it had.
func (o *lateBeats) beaten(w *World, n *Node, m *message.GroupHeartbeat, now beatenAt, there bool) {
	who := askedMember{n.id, m.Group, m.Member}
	before, known := o.members[who]
	known = known && before.run == now.run && before.since == now.since
	switch {
	case !there || m.MemberEpoch < message.JoinEpoch:
		delete(o.members, who)
	case known && m.MemberEpoch > message.JoinEpoch && m.MemberEpoch < before.epoch:
		if now.epoch != before.epoch {
			w.fail("INV-22", n.id, "a late heartbeat changes what a member has", "node %d moves member %q of group %q from epoch %d to %d at a heartbeat under epoch %d", n.id, m.Member, m.Group, before.epoch, now.epoch, m.MemberEpoch)
		}
	case known || m.MemberEpoch == message.JoinEpoch || m.MemberEpoch == now.epoch:
		if o.members == nil {
			o.members = map[askedMember]beatenAt{}
		}
		o.members[who] = now
	}
}
