package sim

import (
	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/group"
	"github.com/tamarack-mq/tamarack/core/message"
)

// memberDeadlines is INV-12 for what coordinators derive from their members: one that
// has something to give up is given a time for that, and one that has nothing to give
// up, or not any more, is not thrown out for it.
type memberDeadlines struct {
	blind
	beats int // heartbeats since it has looked
}

func (*memberDeadlines) Invariant() string { return "INV-12" }

func (*memberDeadlines) Looks() scope { return ofRequests }

func (o *memberDeadlines) Stepped(w *World, n *Node, in effect.Input, _ []effect.Effect) {
	r, ok := in.(effect.Requested)
	if !ok {
		return
	}
	if _, ok := r.Msg.(*message.GroupHeartbeat); !ok {
		return
	}
	if o.beats++; o.beats >= w.nowAndThen(32) {
		o.beats = 0
		o.look(w, n)
	}
}

func (o *memberDeadlines) Rested(w *World) {
	for _, n := range w.nodes[1:] {
		o.look(w, n)
	}
}

func (o *memberDeadlines) look(w *World, n *Node) {
	if c := n.Core(); c != nil {
		c.Groups().EachDeadline(func(d group.Deadline) bool { return o.judge(w, n, d) })
	}
}

func (*memberDeadlines) judge(w *World, n *Node, d group.Deadline) bool {
	switch {
	case d.Revoking == 0 && d.RevokeBy != message.Never:
		w.fail("INV-12", n.id, "a member is to be thrown out for nothing", "node %d gives member %q of group %q a time to give up partitions, of which there are none", n.id, d.Member, d.Group)
	case d.Revoking > 0 && d.RevokeBy == message.Never:
		w.fail("INV-12", n.id, "a member may keep what it is to give up", "node %d gives member %q of group %q no time to give up %d partitions", n.id, d.Member, d.Group, d.Revoking)
	}
	return w.failure == nil
}
