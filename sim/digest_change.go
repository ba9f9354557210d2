package sim

import "github.com/tamarack-mq/tamarack/core/message"

// foldChange folds which field of a change is set, and that field.
func foldChange(r *rolling, c *message.Change) {
	switch {
	case c.Cluster != nil:
		r.fold(1)
		r.text(c.Cluster.ClusterID)
	case c.Broker != nil:
		r.fold(2)
		foldBroker(r, c.Broker)
	case c.Topic != nil:
		r.fold(3)
		r.fold(uint64(c.Topic.ID))
		r.text(c.Topic.Name)
		foldTopicConfig(r, &c.Topic.Config)
	case c.Partition != nil:
		r.fold(4)
		foldPartition(r, c.Partition)
	case c.RemoveTopic != nil:
		r.fold(5)
		r.fold(uint64(c.RemoveTopic.ID))
	case c.ProducerIDs != nil:
		r.fold(6)
		r.fold(uint64(c.ProducerIDs.Next))
	case c.Settings != nil:
		r.fold(7)
		foldSettingsChange(r, c.Settings)
	case c.Controllers != nil:
		r.fold(8)
		foldControllers(r, c.Controllers)
	case c.RemoveBroker != nil:
		r.fold(9)
		r.pair(int64(c.RemoveBroker.Node), int64(c.RemoveBroker.Epoch))
	case c.Throttle != nil:
		r.fold(10)
		r.fold(uint64(c.Throttle.BytesPerSecond))
	}
}

func foldBroker(r *rolling, b *message.BrokerChange) {
	r.pair(int64(b.Node), int64(b.Epoch))
	r.fold(b.Incarnation)
	r.fold(b.DiskID)
	r.text(b.Address)
	r.text(b.Rack)
	r.flags(b.Fenced, b.ShuttingDown, b.Draining)
	r.fold(b.Report)
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

func foldSettingsChange(r *rolling, c *message.SettingsChange) {
	r.fold(uint64(c.Node))
	r.settings(c.Settings)
}

func foldControllers(r *rolling, c *message.ControllersChange) {
	r.nodes(c.Voters)
	r.nodes(c.Learners)
}

func foldTopicConfig(r *rolling, c *message.TopicConfig) {
	r.pair(int64(c.MinInsync), int64(c.SegmentBytes))
	r.fold(uint64(c.RetentionBytes))
	r.fold(uint64(c.RetentionTime))
	r.fold(uint64(c.MaxBatchBytes))
	r.flag(c.Internal)
}
