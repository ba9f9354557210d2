package sim

import "github.com/tamarack-mq/tamarack/core/message"

func foldCluster(r *rolling, m message.Message) {
	switch m := m.(type) {
	case *message.RegisterBroker:
		r.text(m.ClusterID)
		r.fold(uint64(m.Node))
		r.fold(m.Incarnation)
		r.fold(m.DiskID)
		r.text(m.Address)
		r.text(m.Rack)
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
		r.flags(m.Fenced, m.MayShutdown)
	case *message.MetadataPush:
		r.pair(int64(m.From), int64(m.To))
		r.flag(m.Snapshot)
		r.size(len(m.Changes))
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
			r.size(len(p.ISR))
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
		r.fold(uint64(m.Controller))
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
