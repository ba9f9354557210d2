package sim

import (
	"slices"

	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// epochsOnce is what INV-22 rests on for members of groups: an epoch of a group names
// one member and one assignment for ever, also when the group is removed and made
// again under its name. Else what somebody of an earlier life still has under way would
// pass for what is up to date.
type epochsOnce struct {
	blind
	given map[groupEpoch]givenEpoch
}

type groupEpoch struct {
	group string
	epoch message.MemberEpoch
}

// givenEpoch is to whom an epoch was given.
type givenEpoch struct {
	member   string
	told     bool // what it is assigned, too
	assigned []record.PartitionID
}

func (*epochsOnce) Invariant() string { return "INV-22" }

func (*epochsOnce) Looks() scope { return ofBeaten }

func (o *epochsOnce) Stepped(w *World, n *Node, _ effect.Input, out []effect.Effect) {
	for _, e := range out {
		reply, ok := e.(effect.Reply)
		if !ok {
			continue
		}
		m, ok := reply.Msg.(*message.GroupHeartbeatReply)
		if !ok || m.Code != message.None || m.MemberEpoch <= message.JoinEpoch {
			continue
		}
		if asked, ok := n.asker(reply.Token).request.(*message.GroupHeartbeat); ok {
			o.told(w, n, asked, m)
		}
	}
}

func (o *epochsOnce) told(w *World, n *Node, asked *message.GroupHeartbeat, m *message.GroupHeartbeatReply) {
	at := groupEpoch{asked.Group, m.MemberEpoch}
	before, known := o.given[at]
	if known && before.member == asked.Member && (before.told || !m.Assigned) && (!m.Assigned || slices.Equal(before.assigned, m.Assignment)) {
		return
	}
	switch {
	case w.shardGivenUp(asked.Group):
		return
	case known && before.member != asked.Member:
		w.fail("INV-22", n.id, "an epoch of a group is given out twice", "node %d gives member %q of group %q the epoch %d, which member %q had", n.id, asked.Member, asked.Group, m.MemberEpoch, before.member)
		return
	case known && before.told && m.Assigned:
		w.fail("INV-22", n.id, "an epoch of a group names two assignments", "node %d tells member %q of group %q that under epoch %d it has %v, but it was told %v", n.id, asked.Member, asked.Group, m.MemberEpoch, m.Assignment, before.assigned)
		return
	}
	if o.given == nil {
		o.given = map[groupEpoch]givenEpoch{}
	}
	o.given[at] = givenEpoch{asked.Member, m.Assigned, m.Assignment}
}
