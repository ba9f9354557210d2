package sim

import (
	"slices"

	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
)

// strayCopy lets a leader hear, now and then, behind a message of a follower one of
// before: a fetch that comes twice, one that its follower sent before this one, or in a
// session before, be it the one that opened that; how far an earlier run of it had flushed, and how far this one had under
// an earlier leader, with logs that were longer then.
//
// It is judged on the spot (INV-22): the leader may say that it does not take it, and
// nothing that it knows of the follower changes.
func (n *Node) strayCopy(from message.NodeID, m message.Message) {
	w := n.world
	switch m.(type) {
	case *message.ReplicaFetch, *message.ReplicaProgress:
	default:
		return
	}
	if w.plan.Network.Stray == 0 || !n.up || w.failure != nil || n.refuses(from) {
		return // one that is refused is none that the others come behind
	}
	n.strayCopies++
	if n.strayCopies%w.plan.Network.Stray != 0 || n.core.Wake() <= n.clock.now(w.now).Mono {
		return // it has something to do of itself
	}
	old, what := ofBefore(m, n.strayCopies/w.plan.Network.Stray)
	if old == nil {
		return
	}
	run := n.run
	n.step(effect.Received{From: from, Msg: old})
	w.mark(markStray)
	if n.run != run || w.failure != nil {
		return
	}
	n.ignores(from, what)
}

// ignores judges the step that brought a message of before.
func (n *Node) ignores(from message.NodeID, what string) {
	w := n.world
	for _, e := range n.out.List {
		if refusesFetch(e, from) {
			continue
		}
		w.fail("INV-22", n.id, "a message of before has an effect", "node %d asks for %d effects because of %s of node %d", n.id, len(n.out.List), what, from)
		return
	}
	if len(w.book.touched) > 0 {
		w.fail("INV-22", n.id, "a message of before counts", "node %d takes something of partition %s from %s of node %d", n.id, w.book.touched[0].part.id, what, from)
	}
}

// refuses says whether the step at hand has refused a fetch of a follower.
func (n *Node) refuses(from message.NodeID) bool {
	return slices.ContainsFunc(n.out.List, func(e effect.Effect) bool { return refusesFetch(e, from) })
}

func refusesFetch(e effect.Effect, from message.NodeID) bool {
	s, ok := e.(effect.Send)
	if !ok || s.To != from {
		return false
	}
	r, ok := s.Msg.(*message.ReplicaFetchReply)
	return ok && r.Code != message.None
}

// ofBefore makes such a message of one that is as it should be, turn by turn; nil: there
// is none of that kind.
func ofBefore(m message.Message, turn int) (old message.Message, what string) {
	switch m := m.(type) {
	case *message.ReplicaFetch:
		fetch := *m
		switch {
		case turn%3 == 1 && m.Sequence > 1: // the first one opens a session, if there is none
			fetch.Sequence--
			return &fetch, "an earlier fetch"
		case turn%6 == 2 && len(m.Partitions) > 0: // else its own session may be over already, and any opens one
			fetch.Session--
			fetch.Sequence = 0
			return &fetch, "the fetch that opened an earlier session"
		case turn%3 == 2 && m.Sequence > 0:
			fetch.Session--
			return &fetch, "a fetch of an earlier session"
		case m.Sequence == 0 && len(m.Partitions) == 0: // the session of nothing is over at once
			return nil, ""
		}
		return &fetch, "a fetch that has come before"
	case *message.ReplicaProgress:
		progress := message.ReplicaProgress{BrokerEpoch: m.BrokerEpoch}
		if turn%2 == 0 {
			progress.BrokerEpoch--
		}
		for _, p := range m.Partitions {
			if p.Flushed += 1 << 20; turn%2 == 1 {
				p.LeaderEpoch--
			}
			progress.Partitions = append(progress.Partitions, p)
		}
		if turn%2 == 0 {
			return &progress, "the progress of an earlier run"
		}
		return &progress, "the progress under an earlier leader"
	}
	return nil, ""
}
