package metadata

import (
	"errors"
	"fmt"
	"slices"

	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// Apply makes one committed change and moves the image to version. Changes of
// one entry of the log share their version. An error means that the change
// contradicts the history before it (INV-20): the image is as it was, and its
// owner must stop, because it can no longer follow the cluster.
func (m *Image) Apply(version message.Version, c *message.Change) error {
	if version < m.version {
		return fmt.Errorf("metadata: change of version %d after version %d", version, m.version)
	}
	if err := m.apply(version, c); err != nil {
		return err
	}
	m.version = version
	return nil
}

// Advance moves the image over entries of the log that change nothing.
func (m *Image) Advance(version message.Version) { m.version = max(m.version, version) }

func (m *Image) apply(version message.Version, c *message.Change) error {
	switch {
	case c.Partition != nil:
		return m.applyPartition(c.Partition)
	case c.Broker != nil:
		return m.applyBroker(version, c.Broker)
	case c.Topic != nil:
		return m.applyTopic(version, c.Topic)
	case c.RemoveTopic != nil:
		return m.removeTopic(c.RemoveTopic.ID)
	case c.ProducerIDs != nil:
		if c.ProducerIDs.Next < m.producer {
			return fmt.Errorf("metadata: producer ids fall from %d to %d", m.producer, c.ProducerIDs.Next)
		}
		m.producer = c.ProducerIDs.Next
		return nil
	case c.Settings != nil:
		return m.applySettings(c.Settings)
	case c.Controllers != nil:
		return m.applyControllers(c.Controllers)
	case c.RemoveBroker != nil:
		return m.removeBroker(c.RemoveBroker)
	case c.Throttle != nil:
		return m.applyThrottle(c.Throttle)
	case c.Cluster != nil:
		if m.clusterID != "" && m.clusterID != c.Cluster.ClusterID {
			return fmt.Errorf("metadata: cluster %q is renamed to %q", m.clusterID, c.Cluster.ClusterID)
		}
		m.clusterID = c.Cluster.ClusterID
		return nil
	}
	return errors.New("metadata: a change of a kind that this version does not know; run a newer release")
}

func (m *Image) applyBroker(version message.Version, c *message.BrokerChange) error {
	if c.Node < 1 || c.Epoch < 1 || message.Version(c.Epoch) > version {
		return fmt.Errorf("metadata: broker %d registers with epoch %d at version %d", c.Node, c.Epoch, version)
	}
	b := m.brokers[c.Node]
	if b == nil {
		m.brokers[c.Node] = &broker{state: c}
		m.countDraining(c, +1)
		at, _ := m.findNode(c.Node)
		m.byNode = slices.Insert(m.byNode, at, c)
		return nil
	}
	if c.Epoch < b.state.Epoch {
		return fmt.Errorf("metadata: epoch of broker %d falls from %d to %d", c.Node, b.state.Epoch, c.Epoch)
	}
	m.countDraining(b.state, -1)
	m.countDraining(c, +1)
	b.state = c
	at, _ := m.findNode(c.Node)
	m.byNode[at] = c
	return nil
}

func (m *Image) findNode(id message.NodeID) (int, bool) {
	return slices.BinarySearchFunc(m.byNode, id, func(b *message.BrokerChange, id message.NodeID) int {
		return int(b.Node) - int(id)
	})
}

func (m *Image) applyTopic(version message.Version, c *message.TopicChange) error {
	if t := m.topics[c.ID]; t != nil {
		if t.Name != c.Name {
			return fmt.Errorf("metadata: topic %d is renamed from %q to %q", c.ID, t.Name, c.Name)
		}
		t.Config = c.Config
		return nil
	}
	switch {
	case m.names[c.Name] != nil:
		return fmt.Errorf("metadata: topic %q is made twice", c.Name)
	case message.Version(c.ID) > version:
		return fmt.Errorf("metadata: topic %d is made at version %d", c.ID, version)
	case len(m.byID) > 0 && m.byID[len(m.byID)-1].ID >= c.ID:
		return fmt.Errorf("metadata: topic id %d is not above all others", c.ID)
	}
	t := &Topic{ID: c.ID, Name: c.Name, Config: c.Config}
	m.topics[t.ID], m.names[t.Name] = t, t
	m.byID = append(m.byID, t)
	return nil
}

func (m *Image) removeTopic(id record.TopicID) error {
	t := m.topics[id]
	if t == nil {
		return fmt.Errorf("metadata: topic %d is removed but does not exist", id)
	}
	for _, p := range t.Partitions {
		m.count(p, -1)
	}
	delete(m.topics, id)
	delete(m.names, t.Name)
	at := slices.Index(m.byID, t)
	m.byID = slices.Delete(m.byID, at, at+1)
	return nil
}

func (m *Image) applyPartition(c *message.PartitionChange) error {
	t := m.topics[c.ID.Topic]
	if t == nil {
		return fmt.Errorf("metadata: partition %s of a topic that does not exist", c.ID)
	}
	if err := m.checkPartition(c); err != nil {
		return err
	}
	switch i := int(c.ID.Index); {
	case i < len(t.Partitions):
		old := t.Partitions[i]
		if err := checkSuccessor(old, c); err != nil {
			return err
		}
		m.count(old, -1)
		t.Partitions[i] = c
	case i == len(t.Partitions):
		t.Partitions = append(t.Partitions, c)
	default:
		return fmt.Errorf("metadata: partition %s is made before the one below it", c.ID)
	}
	m.count(c, +1)
	return nil
}

// checkPartition holds what is true of every state by itself (INV-7).
func (m *Image) checkPartition(c *message.PartitionChange) error {
	if c.ID.Index < 0 || len(c.Replicas) == 0 {
		return fmt.Errorf("metadata: partition %s has no replicas", c.ID)
	}
	if c.Leader != message.NoNode && !slices.Contains(c.ISR, c.Leader) {
		return fmt.Errorf("metadata: leader %d of partition %s is not in sync", c.Leader, c.ID)
	}
	for _, n := range c.Replicas {
		if m.brokers[n] == nil {
			return fmt.Errorf("metadata: replica %d of partition %s is not registered", n, c.ID)
		}
	}
	for _, n := range c.ISR {
		if !slices.Contains(c.Replicas, n) || slices.Contains(c.ELR, n) {
			return fmt.Errorf("metadata: in-sync member %d of partition %s is no replica, or eligible besides", n, c.ID)
		}
	}
	for _, n := range c.ELR {
		if !slices.Contains(c.Replicas, n) {
			return fmt.Errorf("metadata: eligible member %d of partition %s is no replica", n, c.ID)
		}
	}
	return checkMove(c)
}

// checkSuccessor holds what is true of one state after another: the partition
// epoch counts each change, the leader epoch each change of leadership.
func checkSuccessor(old, c *message.PartitionChange) error {
	epoch := old.LeaderEpoch
	if old.Leader != c.Leader {
		epoch++
	}
	if c.PartitionEpoch != old.PartitionEpoch+1 || c.LeaderEpoch < epoch {
		return fmt.Errorf("metadata: partition %s goes from leader %d epoch %d/%d to leader %d epoch %d/%d",
			c.ID, old.Leader, old.LeaderEpoch, old.PartitionEpoch, c.Leader, c.LeaderEpoch, c.PartitionEpoch)
	}
	return checkRemoval(old, c)
}

func (m *Image) count(p *message.PartitionChange, by int) {
	for _, n := range p.Replicas {
		m.brokers[n].replicas += by
	}
	if Moving(p) {
		m.moving += by
	}
	if b := m.brokers[p.Leader]; b != nil {
		b.leads += by
	}
}
