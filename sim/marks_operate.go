package sim

import (
	"slices"

	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// markMove notes what is rare about a change of a partition's replicas.
func (w *World) markMove(old, new *message.PartitionChange) {
	if len(old.Target) == 0 && len(new.Target) == 0 {
		return
	}
	gone := less(old.Replicas, new.Replicas)
	part := w.book.part(new.ID)
	for _, m := range gone {
		part.left(m, new.LeaderEpoch)
	}
	for _, m := range less(new.Replicas, old.Replicas) {
		if part.leftIn[m] > 0 {
			w.mark(markReplicaReturned)
		}
	}
	switch {
	case len(old.Target) == 0:
		w.mark(markMoveBegun)
	case len(new.Target) > 0 && !sameNodes(old.Target, new.Target):
		w.mark(markMoveReplaced)
	case len(new.Target) > 0:
		if len(within(new.ISR, new.Adding)) > len(within(old.ISR, old.Adding)) {
			w.mark(markAddedInSync)
		}
		if old.Leader != new.Leader && old.Leader != message.NoNode && !slices.Contains(new.Target, old.Leader) && slices.Contains(old.ISR, new.Leader) && slices.Contains(new.ISR, old.Leader) {
			w.mark(markLeaderLeft)
		}
	case sameNodes(new.Replicas, old.Target):
		w.mark(markMoveFinished)
	default:
		w.mark(markMoveCalledOff)
	}
}

// left notes that a node is no replica of a partition any more, from a leader
// epoch on: it deletes its log then.
func (p *partBook) left(m message.NodeID, epoch record.LeaderEpoch) {
	if p.leftIn == nil {
		p.leftIn = map[message.NodeID]record.LeaderEpoch{}
	}
	p.leftIn[m] = epoch
}

// markBrokers notes what has become of brokers.
func (w *World) markBrokers(before []*message.BrokerChange) {
	image := w.newest()
	if image == nil {
		return
	}
	m := &w.book.meta
	for _, b := range before {
		if image.Broker(b.Node) == nil {
			w.mark(markBrokerRemoved)
			if m.removed == nil {
				m.removed = map[message.NodeID]bool{}
			}
			m.removed[b.Node] = true
		}
	}
	for _, b := range image.Brokers() {
		if b.Draining && image.Hosts(b.Node) == 0 {
			if !m.empty[b.Node] {
				if m.empty == nil {
					m.empty = map[message.NodeID]bool{}
				}
				m.empty[b.Node] = true
				w.mark(markBrokerDrained)
			}
		} else {
			delete(m.empty, b.Node)
		}
		if m.removed[b.Node] {
			delete(m.removed, b.Node)
			w.mark(markBrokerReturned)
		}
	}
}

// markOperation notes what is rare about an answer to an operator.
func (w *World) markOperation(m *message.AlterReassignmentsReply) {
	for i := range m.Partitions {
		if m.Partitions[i].Code == message.EligibleLeadersNotAvailable {
			w.mark(markCancelRefused)
		}
	}
}
