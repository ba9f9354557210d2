package sim

import "github.com/tamarack-mq/tamarack/core/message"

// foldAdmin folds what clients ask about the cluster and its topics.
func foldAdmin(r *rolling, m message.Message) bool {
	switch m := m.(type) {
	case *message.Metadata:
		r.texts(m.Topics)
		r.size(len(m.IDs))
		for _, id := range m.IDs {
			r.fold(uint64(id))
		}
	case *message.MetadataReply:
		foldMetadata(r, m)
	case *message.CreateTopic:
		r.text(m.Name)
		r.pair(int64(m.Partitions), int64(m.ReplicationFactor))
		foldTopicConfig(r, &m.Config)
		r.size(len(m.Replicas))
		for _, nodes := range m.Replicas {
			r.nodes(nodes)
		}
	case *message.CreateTopicReply:
		r.pair(int64(m.Code), int64(m.ID))
		r.text(m.Detail)
	case *message.DeleteTopic:
		r.text(m.Name)
	case *message.DeleteTopicReply:
		r.outcome(m.Code, m.Detail)
	case *message.AddPartitions:
		r.text(m.Name)
		r.fold(uint64(m.Count))
	case *message.AddPartitionsReply:
		r.outcome(m.Code, m.Detail)
	case *message.ElectLeaders:
		r.ids(m.Partitions)
		r.flag(m.Unclean)
		r.fold(uint64(m.Leader))
	case *message.ElectLeadersReply:
		r.fold(uint64(m.Code))
		for i := range m.Partitions {
			p := &m.Partitions[i]
			r.id(p.ID)
			r.pair(int64(p.Code), int64(p.Leader))
			r.fold(uint64(p.LeaderEpoch))
			r.text(p.Detail)
		}
	case *message.InitProducerID:
		r.text(m.TransactionalID)
		r.fold(uint64(m.Timeout))
		r.fold(m.Incarnation)
	case *message.InitProducerIDReply:
		r.pair(int64(m.Code), int64(m.ID))
		r.fold(uint64(m.Epoch))
		r.text(m.Detail)
	default:
		return false
	}
	return true
}

// outcome folds how a request ended.
func (r *rolling) outcome(code message.Code, detail string) {
	r.fold(uint64(code))
	r.text(detail)
}

func foldMetadata(r *rolling, m *message.MetadataReply) {
	r.text(m.ClusterID)
	r.pair(int64(m.Version), int64(m.Controller))
	r.nodes(m.Voters)
	r.nodes(m.Learners)
	r.size(len(m.Brokers))
	for i := range m.Brokers {
		b := &m.Brokers[i]
		r.pair(int64(b.ID), int64(b.Epoch))
		r.text(b.Address)
		r.text(b.Rack)
		r.flags(b.Fenced, b.Draining)
		r.pair(int64(b.Replicas), int64(b.Leads))
	}
	r.size(len(m.Topics))
	for i := range m.Topics {
		foldTopic(r, &m.Topics[i])
	}
	r.flag(m.ControllerSilent)
	r.fold(uint64(m.Throttle))
}

func foldTopic(r *rolling, t *message.TopicInfo) {
	r.text(t.Name)
	foldTopicConfig(r, &t.Config)
	r.pair(int64(t.Code), int64(t.ID))
	r.flag(t.Internal)
	r.size(len(t.Partitions))
	for i := range t.Partitions {
		p := &t.Partitions[i]
		r.pair(int64(p.Index), int64(p.Leader))
		r.pair(int64(p.LeaderEpoch), int64(p.PartitionEpoch))
		r.nodes(p.Replicas)
		r.nodes(p.ISR)
		r.nodes(p.ELR)
		r.nodes(p.Adding)
		r.nodes(p.Target)
	}
}
