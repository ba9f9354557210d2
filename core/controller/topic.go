package controller

import (
	"fmt"
	"slices"

	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/metadata"
	"github.com/tamarack-mq/tamarack/core/record"
)

// createTopic makes a topic. Its id is the version of the metadata at which it
// is made, so a topic made again under the same name is another one.
func (c *Controller) createTopic(m *message.CreateTopic) *decision {
	reply := &message.CreateTopicReply{}
	d := &decision{reply: reply}
	if problem := checkName(m.Name); problem != "" {
		reply.Code, reply.Detail = message.InvalidTopic, problem
		return d
	}
	if t := c.image.TopicNamed(m.Name); t != nil {
		reply.Code, reply.Detail = message.TopicAlreadyExists, fmt.Sprintf("topic %q exists", m.Name)
		return d
	}
	assignment, code, detail := c.assign(m)
	if code == message.None {
		code, detail = checkConfig(&m.Config, len(assignment[0]))
	}
	if code != message.None {
		reply.Code, reply.Detail = code, detail
		return d
	}
	reply.ID = record.TopicID(c.quorum.Next())
	d.changes = make([]message.Change, 0, 1+len(assignment))
	d.changes = append(d.changes, message.Change{Topic: &message.TopicChange{
		ID: reply.ID, Name: m.Name, Config: m.Config,
	}})
	for i, replicas := range assignment {
		d.changes = append(d.changes, c.newPartition(record.PartitionID{Topic: reply.ID, Index: int32(i)}, replicas))
	}
	return d
}

// assign places the partitions of a new topic, or checks how they were placed
// by hand.
func (c *Controller) assign(m *message.CreateTopic) ([][]message.NodeID, message.Code, string) {
	count := int(m.Partitions)
	if m.Replicas != nil && m.Partitions <= 0 {
		count = len(m.Replicas)
	}
	if count < 1 || count > int(c.cfg.MaxPartitions) {
		return nil, message.InvalidPartitions, fmt.Sprintf("partitions must be 1 to %d", c.cfg.MaxPartitions)
	}
	if m.Replicas == nil {
		if m.ReplicationFactor < -1 {
			return nil, message.InvalidReplicationFactor,
				fmt.Sprintf("replication factor %d: give 1 or more, or 0 for the default", m.ReplicationFactor)
		}
		return c.place(count, int(m.ReplicationFactor))
	}
	if len(m.Replicas) != count {
		return nil, message.InvalidRequest, fmt.Sprintf("%d partitions but %d assignments", count, len(m.Replicas))
	}
	for i, replicas := range m.Replicas {
		if len(replicas) == 0 || len(replicas) != len(m.Replicas[0]) {
			return nil, message.InvalidRequest, fmt.Sprintf("partition %d has no replicas, or another number than partition 0", i)
		}
		for k, n := range replicas {
			if c.image.Broker(n) == nil || slices.Contains(replicas[:k], n) {
				return nil, message.InvalidRequest, fmt.Sprintf("partition %d: broker %d is unknown, or named twice", i, n)
			}
			if c.image.Shuns(n) {
				return nil, message.InvalidRequest, fmt.Sprintf("partition %d: broker %d is being drained", i, n)
			}
		}
		if !slices.ContainsFunc(replicas, c.able) {
			return nil, message.BrokerNotAvailable, fmt.Sprintf("partition %d: none of its replicas is running", i)
		}
	}
	return m.Replicas, message.None, ""
}

// newPartition is the first state: every replica that can serve is in sync,
// because there is nothing to copy yet.
func (c *Controller) newPartition(id record.PartitionID, replicas []message.NodeID) message.Change {
	p := &message.PartitionChange{ID: id, Replicas: slices.Clone(replicas)}
	for _, n := range replicas {
		if c.able(n) {
			p.ISR = append(p.ISR, n)
		}
	}
	p.Leader = p.ISR[0]
	return message.Change{Partition: p}
}

// deleteTopic removes a topic.
func (c *Controller) deleteTopic(m *message.DeleteTopic) *decision {
	reply := &message.DeleteTopicReply{}
	d := &decision{reply: reply}
	t := c.image.TopicNamed(m.Name)
	switch {
	case t == nil:
		reply.Code, reply.Detail = message.UnknownTopicOrPartition, fmt.Sprintf("topic %q does not exist", m.Name)
	case t.Config.Internal:
		reply.Code, reply.Detail = message.InvalidTopic, fmt.Sprintf("topic %q belongs to the cluster", m.Name)
	default:
		d.changes = []message.Change{{RemoveTopic: &message.RemoveTopicChange{ID: t.ID}}}
	}
	return d
}

// addPartitions raises the number of partitions of a topic.
func (c *Controller) addPartitions(m *message.AddPartitions) *decision {
	reply := &message.AddPartitionsReply{}
	d := &decision{reply: reply}
	t := c.image.TopicNamed(m.Name)
	switch {
	case t == nil:
		reply.Code, reply.Detail = message.UnknownTopicOrPartition, fmt.Sprintf("topic %q does not exist", m.Name)
		return d
	case t.Config.Internal:
		reply.Code, reply.Detail = message.InvalidTopic, fmt.Sprintf("topic %q belongs to the cluster", m.Name)
		return d
	case int(m.Count) <= len(t.Partitions) || m.Count > c.cfg.MaxPartitions:
		reply.Code = message.InvalidPartitions
		reply.Detail = fmt.Sprintf("topic %q has %d partitions; the new number must be above that and at most %d",
			m.Name, len(t.Partitions), c.cfg.MaxPartitions)
		return d
	}
	has := len(t.Partitions)
	assignment, code, detail := c.place(int(m.Count)-has, metadata.Factor(t.Partitions[0]))
	if code != message.None {
		reply.Code, reply.Detail = code, detail
		return d
	}
	for i, replicas := range assignment {
		id := record.PartitionID{Topic: t.ID, Index: int32(has + i)}
		d.changes = append(d.changes, c.newPartition(id, replicas))
	}
	return d
}

// checkName holds Kafka's rules for topic names.
func checkName(name string) string {
	const longest = 249
	if name == "" || name == "." || name == ".." || len(name) > longest {
		return fmt.Sprintf("a topic name has 1 to %d characters and is neither . nor ..", longest)
	}
	for _, ch := range []byte(name) {
		letter := ch >= 'a' && ch <= 'z' || ch >= 'A' && ch <= 'Z' || ch >= '0' && ch <= '9'
		if !letter && ch != '.' && ch != '_' && ch != '-' {
			return "a topic name consists of letters, digits, dots, underscores and hyphens"
		}
	}
	return ""
}

func checkConfig(t *message.TopicConfig, replicas int) (message.Code, string) {
	switch {
	case t.MinInsync < 0 || int(t.MinInsync) > replicas:
		return message.InvalidConfig, fmt.Sprintf("min.insync.replicas must be 1 to %d, the number of replicas "+
			"(0: %d, or fewer with fewer replicas)", replicas, message.DefaultMinInsync)
	case t.SegmentBytes < 0 || t.MaxBatchBytes < 0:
		return message.InvalidConfig, "segment.bytes and max.message.bytes must not be negative"
	case t.MaxBatchBytes > message.LargestBatch:
		return message.InvalidConfig, fmt.Sprintf("max.message.bytes must be at most %d", message.LargestBatch)
	case t.RetentionBytes < -1 || t.RetentionTime < -1:
		return message.InvalidConfig, "retention.bytes and retention.ms must not be below -1"
	}
	return message.None, ""
}
