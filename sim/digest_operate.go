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
		r.fold(uint64(m.Code))
		for i := range m.Partitions {
			r.id(m.Partitions[i].ID)
			r.fold(uint64(m.Partitions[i].Code))
		}
	case *message.DrainBroker:
		r.fold(uint64(m.Node))
		r.flag(m.Undo)
	case *message.DrainBrokerReply:
		r.fold(uint64(m.Code))
	case *message.UnregisterBroker:
		r.fold(uint64(m.Node))
	case *message.UnregisterBrokerReply:
		r.fold(uint64(m.Code))
	default:
		return false
	}
	return true
}
