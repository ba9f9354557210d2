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

func (*ownPositions) Looks() scope { return ofRequests | ofReplies }

func (o *ownPositions) Stepped(w *World, n *Node, in effect.Input, out []effect.Effect) {
	if r, ok := in.(effect.Requested); ok {
		switch m := r.Msg.(type) {
		case *message.CommitOffsets:
			o.asked(n, r.Token, m.Group, m.Member, m.MemberEpoch, m.Offsets)
		case *message.CommitTransactionOffsets:
			o.asked(n, r.Token, m.Group, m.Member, m.MemberEpoch, m.Offsets)
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
func (o *ownPositions) asked(n *Node, token message.Token, group, member string, epoch message.MemberEpoch, offsets []message.GroupOffset) {
	c := n.Core()
	if c == nil || member == "" {
		return
	}
	present, holds, ok := c.Groups().MemberOf(group, member)
	if !ok || present != epoch {
		return
	}
	var strays []record.PartitionID
	for i := range offsets {
		if !slices.Contains(holds, offsets[i].ID) {
			strays = append(strays, offsets[i].ID)
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
	group, member := committerOf(n.tokens[token].request)
	if code != message.None || w.shardGivenUp(group) {
		return
	}
	for i := range offsets {
		if offsets[i].Code == message.None && slices.Contains(strays, offsets[i].ID) {
			w.fail("INV-21", n.id, "a member commits what is not its own", "node %d takes a commit of member %q of group %q for partition %s, which the member did not hold under the epoch that it names", n.id, member, group, offsets[i].ID)
			return
		}
	}
}

// committerOf is who asks for positions to be stored.
func committerOf(r message.Request) (group, member string) {
	switch m := r.(type) {
	case *message.CommitOffsets:
		return m.Group, m.Member
	case *message.CommitTransactionOffsets:
		return m.Group, m.Member
	}
	return "", ""
}
