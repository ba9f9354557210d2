package sim

import "github.com/tamarack-mq/tamarack/core/message"

// foldOperation folds what operators ask about replicas and brokers.
func foldOperation(r *rolling, m message.Message) bool {
	switch m := m.(type) {
	case *message.AlterReassignments:
		r.fold(uint64(m.Throttle))
		for i := range m.Partitions {
			r.id(m.Partitions[i].ID)
			r.nodes(m.Partitions[i].Replicas)
		}
	case *message.AlterReassignmentsReply:
		r.outcome(m.Code, m.Detail)
		for i := range m.Partitions {
			r.id(m.Partitions[i].ID)
			r.outcome(m.Partitions[i].Code, m.Partitions[i].Detail)
		}
	case *message.DrainBroker:
		r.fold(uint64(m.Node))
		r.flag(m.Undo)
	case *message.DrainBrokerReply:
		r.outcome(m.Code, m.Detail)
	case *message.UnregisterBroker:
		r.fold(uint64(m.Node))
	case *message.UnregisterBrokerReply:
		r.outcome(m.Code, m.Detail)
	default:
		return false
	}
	return true
}
