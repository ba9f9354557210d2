package sim

import (
	"slices"

	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/group"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// memberDeadlines is INV-12 for what coordinators derive from their members: one that
// has something to give up is given a time for that, and one that has nothing to give
// up, or not any more, is not thrown out for it. What it is asked for meanwhile does
// not prolong the time for what it still has, and until it says that it has given a
// partition up, or its time is over, that is its own. A static member that is away has
// nothing that it is not meant to own: nobody is there to give it up.
type memberDeadlines struct {
	blind
	beats int // heartbeats since it has looked
	asked map[askedMember]askedFor
}

// askedMember is a member as one node knows it.
type askedMember struct {
	node          int32
	group, member string
}

// askedFor is what a member was to give up at its last heartbeat, and by when.
type askedFor struct {
	run   uint32
	since message.Time // when its shard was loaded
	by    message.Time
	what  []record.PartitionID
}

func (*memberDeadlines) Invariant() string { return "INV-12" }

func (*memberDeadlines) Looks() scope { return ofBeats }

func (o *memberDeadlines) Stepped(w *World, n *Node, in effect.Input, _ []effect.Effect) {
	r, ok := in.(effect.Requested)
	if !ok {
		return
	}
	m, ok := r.Msg.(*message.GroupHeartbeat)
	if !ok {
		return
	}
	if c := n.Core(); c != nil {
		d, there := c.Groups().DeadlineOf(m.Group, m.Member)
		_, holds, _ := c.Groups().MemberOf(m.Group, m.Member)
		who := askedMember{n.id, m.Group, m.Member}
		o.surrendered(w, n, m, o.asked[who], d, holds, there)
		o.beaten(w, n, who, d, there)
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
	case len(d.Revoking) == 0 && d.RevokeBy != message.Never:
		w.fail("INV-12", n.id, "a member is to be thrown out for nothing", "node %d gives member %q of group %q a time to give up partitions, of which there are none", n.id, d.Member, d.Group)
	case len(d.Kept) > 0:
		w.fail("INV-12", n.id, "a member that is away keeps what others are meant to own", "node %d has member %q of group %q, which has left for a while, keep partition %s, which it is not meant to own any more", n.id, d.Member, d.Group, d.Kept[0])
	case len(d.Revoking) > 0 && d.RevokeBy == message.Never:
		w.fail("INV-12", n.id, "a member may keep what it is to give up", "node %d gives member %q of group %q no time to give up %d partitions", n.id, d.Member, d.Group, len(d.Revoking))
	}
	return w.failure == nil
}

// surrendered judges what a member has lost with a heartbeat of its own: of what it was
// asked for, only what the heartbeat says that it has no more. One that does not list
// what its member has says nothing about it.
func (*memberDeadlines) surrendered(w *World, n *Node, m *message.GroupHeartbeat, before askedFor, d group.Deadline, holds []record.PartitionID, there bool) {
	if !there || m.MemberEpoch <= message.JoinEpoch || before.run != n.run || before.since != d.Since {
		return
	}
	lists := m.Full || m.Owned != nil
	for _, p := range before.what {
		if !slices.Contains(holds, p) && (!lists || slices.Contains(m.Owned, p)) {
			w.fail("INV-12", n.id, "a partition is taken from a member that has not given it up", "node %d has member %q of group %q have partition %s no more, which it had been asked for, although the member does not say that it has given it up", n.id, m.Member, m.Group, p)
			return
		}
	}
}

// beaten judges a member after each heartbeat of its own, the only thing that asks it
// for more: what it was to give up before, and still is, it must give up no later.
func (o *memberDeadlines) beaten(w *World, n *Node, who askedMember, d group.Deadline, there bool) {
	before, known := o.asked[who]
	if !there || len(d.Revoking) == 0 {
		if known {
			delete(o.asked, who)
		}
		return
	}
	if known && before.run == n.run && before.since == d.Since && d.RevokeBy > before.by {
		for _, p := range d.Revoking {
			if slices.Contains(before.what, p) {
				w.fail("INV-12", n.id, "a member is given more time", "node %d gives member %q of group %q until %d for partition %s, which it was to give up by %d", n.id, d.Member, d.Group, d.RevokeBy, p, before.by)
				return
			}
		}
	}
	if o.asked == nil {
		o.asked = map[askedMember]askedFor{}
	}
	o.asked[who] = askedFor{n.run, d.Since, d.RevokeBy, append(before.what[:0], d.Revoking...)}
}
