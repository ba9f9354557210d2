package sim

import "github.com/tamarack-mq/tamarack/core/message"

func foldCluster(r *rolling, m message.Message) {
	switch m := m.(type) {
	case *message.RegisterBroker:
		r.fold(uint64(m.Node))
		r.fold(m.Incarnation)
		r.fold(m.DiskID)
		r.ids(m.Damaged)
		r.fold(m.Report)
	case *message.RegisterBrokerReply:
		r.fold(m.Incarnation)
		r.fold(m.Report)
		r.pair(int64(m.Code), int64(m.Epoch))
		r.fold(uint64(m.Controller))
	case *message.BrokerHeartbeat:
		r.pair(int64(m.Node), int64(m.Epoch))
		r.fold(uint64(m.Applied))
		r.flag(m.WantShutdown)
	case *message.BrokerHeartbeatReply:
		r.pair(int64(m.Code), int64(m.Epoch))
		r.fold(uint64(m.Controller))
		r.flag(m.Fenced)
		r.flag(m.MayShutdown)
	case *message.MetadataPush:
		r.pair(int64(m.From), int64(m.To))
		r.flag(m.Snapshot)
		for i := range m.Changes {
			foldChange(r, &m.Changes[i])
		}
	case *message.AlterPartition:
		r.pair(int64(m.Node), int64(m.Epoch))
		r.fold(m.Request)
		for i := range m.Partitions {
			p := &m.Partitions[i]
			r.id(p.ID)
			r.pair(int64(p.LeaderEpoch), int64(p.PartitionEpoch))
			for _, member := range p.ISR {
				r.pair(int64(member.Node), int64(member.Epoch))
			}
		}
	case *message.AlterPartitionReply:
		r.pair(int64(m.Code), int64(m.Controller))
		r.fold(m.Request)
		for i := range m.Partitions {
			r.id(m.Partitions[i].ID)
			r.pair(int64(m.Partitions[i].Code), int64(m.Partitions[i].PartitionEpoch))
		}
	case *message.AllocateProducerIDs:
		r.pair(int64(m.Node), int64(m.Epoch))
		r.fold(m.Request)
	case *message.AllocateProducerIDsReply:
		r.pair(int64(m.Code), int64(m.First))
		r.pair(m.Count, int64(m.Request))
	case *message.Forward:
		r.fold(m.Request)
		r.fold(digest(m.Body))
	case *message.Forwarded:
		r.fold(m.Request)
		r.pair(int64(m.Code), int64(m.Controller))
		if m.Body != nil {
			r.fold(digest(m.Body))
		}
	case *message.Refused:
		r.fold(uint64(m.Code))
		r.text(m.Detail)
	}
}

func foldChange(r *rolling, c *message.Change) {
	switch {
	case c.Cluster != nil:
		r.text(c.Cluster.ClusterID)
	case c.Broker != nil:
		b := c.Broker
		r.pair(int64(b.Node), int64(b.Epoch))
		r.fold(b.Incarnation)
		r.fold(b.DiskID)
		r.flag(b.Fenced)
		r.flag(b.ShuttingDown)
		r.flag(b.Draining)
		r.fold(b.Report)
	case c.Topic != nil:
		r.fold(uint64(c.Topic.ID))
		r.text(c.Topic.Name)
		foldTopicConfig(r, &c.Topic.Config)
	case c.Partition != nil:
		foldPartition(r, c.Partition)
	case c.Settings != nil:
		foldSettingsChange(r, c.Settings)
	case c.Controllers != nil:
		foldControllers(r, c.Controllers)
	case c.RemoveTopic != nil:
		r.fold(uint64(c.RemoveTopic.ID) + 1<<40)
	case c.RemoveBroker != nil:
		r.pair(int64(c.RemoveBroker.Node)+1<<28, int64(c.RemoveBroker.Epoch))
	case c.Throttle != nil:
		r.fold(uint64(c.Throttle.BytesPerSecond) + 1<<42)
	case c.ProducerIDs != nil:
		r.fold(uint64(c.ProducerIDs.Next) + 1<<41)
	}
}

func foldPartition(r *rolling, p *message.PartitionChange) {
	r.id(p.ID)
	r.nodes(p.Replicas)
	r.nodes(p.ISR)
	r.nodes(p.ELR)
	r.pair(int64(p.Leader), int64(p.LeaderEpoch))
	r.fold(uint64(p.PartitionEpoch))
	r.flag(p.Unclean)
	r.nodes(p.Adding)
	r.nodes(p.Target)
}

func foldAdmin(r *rolling, m message.Message) bool {
	switch m := m.(type) {
	case *message.Metadata:
		r.texts(m.Topics)
		for _, id := range m.IDs {
			r.fold(uint64(id))
		}
	case *message.MetadataReply:
		r.pair(int64(m.Version), int64(m.Controller))
		r.nodes(m.Voters)
		r.nodes(m.Learners)
		for i := range m.Brokers {
			r.pair(int64(m.Brokers[i].ID), int64(m.Brokers[i].Epoch))
		}
		for i := range m.Topics {
			foldTopic(r, &m.Topics[i])
		}
		r.flag(m.ControllerSilent)
	case *message.CreateTopic:
		r.text(m.Name)
		r.pair(int64(m.Partitions), int64(m.ReplicationFactor))
	case *message.CreateTopicReply:
		r.pair(int64(m.Code), int64(m.ID))
	case *message.DeleteTopic:
		r.text(m.Name)
	case *message.DeleteTopicReply:
		r.fold(uint64(m.Code))
	case *message.AddPartitions:
		r.text(m.Name)
		r.fold(uint64(m.Count))
	case *message.AddPartitionsReply:
		r.fold(uint64(m.Code))
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
		}
	case *message.InitProducerID:
		if m.TransactionalID != "" {
			r.text(m.TransactionalID)
			r.fold(uint64(m.Timeout))
			r.fold(m.Incarnation)
		}
	case *message.InitProducerIDReply:
		r.pair(int64(m.Code), int64(m.ID))
		r.fold(uint64(m.Epoch))
	default:
		return false
	}
	return true
}

func foldTopic(r *rolling, t *message.TopicInfo) {
	r.text(t.Name)
	foldTopicConfig(r, &t.Config)
	r.pair(int64(t.Code), int64(t.ID))
	for i := range t.Partitions {
		p := &t.Partitions[i]
		r.pair(int64(p.Index), int64(p.Leader))
		r.pair(int64(p.LeaderEpoch), int64(p.PartitionEpoch))
		r.nodes(p.ISR)
		r.nodes(p.ELR)
	}
}
