package sim

import (
	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/group"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// oneOwner is INV-21: at no moment would a coordinator accept commits for one
// partition from two members of a group, nor has two members under one instance
// id (KIP-345), of which one would have to be shut out later.
type oneOwner struct {
	blind
	owners map[claim]string
	seats  map[seat]string
	last   map[claim]string // the last owner that any coordinator knew
}

// claim is a partition in a group.
type claim struct {
	group string
	id    record.PartitionID
}

// seat is an instance of a group.
type seat struct{ group, instance string }

func (*oneOwner) Invariant() string { return "INV-21" }

func (*oneOwner) Looks() scope { return ofBeats | ofBeaten }

func (o *oneOwner) Stepped(w *World, n *Node, in effect.Input, out []effect.Effect) {
	if !aboutGroups(in, out) {
		return
	}
	if c := n.Core(); c != nil {
		o.judge(w, n, c.Groups().EachOwner)
		o.instances(w, n, c.Groups().EachInstance)
	}
}

// instances holds the members under instance ids on one node against the others.
func (o *oneOwner) instances(w *World, n *Node, each func(func(group, instance, member string) bool)) {
	if o.seats == nil {
		o.seats = map[seat]string{}
	}
	clear(o.seats)
	each(func(group, instance, member string) bool {
		at := seat{group, instance}
		if other, ok := o.seats[at]; ok {
			w.fail("INV-21", n.id, "two members are one instance", "the coordinator on node %d has the members %q and %q of group %q under one instance %q", n.id, other, member, group, instance)
			return false
		}
		o.seats[at] = member
		return true
	})
}

// judge holds every right to commit on one node against the others.
func (o *oneOwner) judge(w *World, n *Node, each func(func(int32, group.Owner) bool)) {
	if o.owners == nil {
		o.owners, o.last = map[claim]string{}, map[claim]string{}
	}
	clear(o.owners)
	each(func(_ int32, owner group.Owner) bool {
		at := claim{owner.Group, owner.Partition}
		if other, ok := o.owners[at]; ok && other != owner.Member {
			w.fail("INV-21", n.id, "two members may commit one partition", "the coordinator on node %d would accept commits for partition %s in group %q from member %q and from member %q", n.id, owner.Partition, owner.Group, other, owner.Member)
			return false
		}
		o.owners[at] = owner.Member
		if before := o.last[at]; before != owner.Member {
			if before != "" {
				w.mark(markRebalanced)
			}
			o.last[at] = owner.Member
		}
		return true
	})
}

// aboutGroups says whether a step may have changed who owns what: a heartbeat
// came in, or was answered.
func aboutGroups(in effect.Input, out []effect.Effect) bool {
	if r, ok := in.(effect.Requested); ok {
		if _, ok := r.Msg.(*message.GroupHeartbeat); ok {
			return true
		}
	}
	for _, e := range out {
		if r, ok := e.(effect.Reply); ok {
			if _, ok := r.Msg.(*message.GroupHeartbeatReply); ok {
				return true
			}
		}
	}
	return false
}
