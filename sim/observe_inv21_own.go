package sim

import (
	"slices"

	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// ownPositions is the part of INV-21 about what a member commits: under its present
// epoch it may do so for what is its own, and for nothing else. An epoch names one
// assignment, so that a request which names the epoch at which the coordinator has
// the member, and a partition that the member does not hold then, can never be taken
// for it, however long it waits.
type ownPositions struct {
	blind
	strays map[asking][]record.PartitionID // by requests that are not answered
}

func (*ownPositions) Invariant() string { return "INV-21" }

func (*ownPositions) Looks() scope { return ofGroups | ofGroupsTold }

func (o *ownPositions) Stepped(w *World, n *Node, in effect.Input, out []effect.Effect) {
	if r, ok := in.(effect.Requested); ok {
		if c, ok := committerOf(r.Msg); ok {
			o.asked(n, r.Token, &c)
		}
	}
	if len(o.strays) == 0 {
		return
	}
	for _, e := range out {
		reply, ok := e.(effect.Reply)
		if !ok {
			continue
		}
		switch m := reply.Msg.(type) {
		case *message.CommitOffsetsReply:
			o.answered(w, n, reply.Token, m.Code, m.Offsets)
		case *message.CommitTransactionOffsetsReply:
			o.answered(w, n, reply.Token, m.Code, m.Offsets)
		}
	}
}

// asked notes the partitions that a member names and does not hold.
func (o *ownPositions) asked(n *Node, token message.Token, who *committer) {
	c := n.Core()
	if c == nil || who.member == "" {
		return
	}
	present, holds, ok := c.Groups().MemberOf(who.group, who.member)
	if !ok || present != who.epoch {
		return
	}
	var strays []record.PartitionID
	for i := range who.offsets {
		if !slices.Contains(holds, who.offsets[i].ID) {
			strays = append(strays, who.offsets[i].ID)
		}
	}
	if strays == nil {
		return
	}
	if o.strays == nil {
		o.strays = map[asking][]record.PartitionID{}
	}
	o.strays[asking{n.id, n.run, token}] = strays
}

// answered judges what is taken.
func (o *ownPositions) answered(w *World, n *Node, token message.Token, code message.Code, offsets []message.CommittedOffset) {
	at := asking{n.id, n.run, token}
	strays, ok := o.strays[at]
	if !ok {
		return
	}
	delete(o.strays, at)
	who, _ := committerOf(n.asker(token).request)
	if code != message.None || w.shardGivenUp(who.group) {
		return
	}
	for i := range offsets {
		if offsets[i].Code == message.None && slices.Contains(strays, offsets[i].ID) {
			w.fail("INV-21", n.id, "a member commits what is not its own", "node %d takes a commit of member %q of group %q for partition %s, which the member did not hold under the epoch that it names", n.id, who.member, who.group, offsets[i].ID)
			return
		}
	}
}

// committer is who asks for positions to be stored, alone or in a transaction: both are
// fenced in the same way (KIP-447).
type committer struct {
	membership
	epoch   message.MemberEpoch
	offsets []message.GroupOffset
}

// committerOf is who asks that in a request; false: it asks for something else.
func committerOf(r message.Request) (committer, bool) {
	switch m := r.(type) {
	case *message.CommitOffsets:
		return committer{membership{m.Group, m.Member}, m.MemberEpoch, m.Offsets}, true
	case *message.CommitTransactionOffsets:
		return committer{membership{m.Group, m.Member}, m.MemberEpoch, m.Offsets}, true
	}
	return committer{}, false
}
