// Package metadata is the cluster as the controller's log describes it: an
// image that is changed only by applying committed changes in order (KRaft's
// metadata image, KIP-500). The controller decides over it, every broker keeps
// one that follows, and both run the same Apply.
package metadata

import (
	"iter"
	"slices"

	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// Image is the state of the cluster at one version. Whatever its methods
// return belongs to it and must not be changed; the changes themselves
// (BrokerChange, PartitionChange) are immutable and may be kept.
type Image struct {
	version   message.Version
	clusterID string
	producer  record.ProducerID

	settings    []*message.SettingsChange // rising ids; see settings.go
	controllers *message.ControllersChange

	moving   int // partitions with a target; see move.go
	draining int // brokers
	throttle int64

	brokers map[message.NodeID]*broker
	byNode  []*message.BrokerChange // rising ids

	topics map[record.TopicID]*Topic
	names  map[string]*Topic
	byID   []*Topic // rising ids
}

// broker is one registration and what hangs on it.
type broker struct {
	state    *message.BrokerChange
	leads    int
	replicas int
}

// Topic is one topic with all its partitions, by index.
type Topic struct {
	ID         record.TopicID
	Name       string
	Config     message.TopicConfig
	Partitions []*message.PartitionChange
}

// NewImage returns the image of a cluster in which nothing has happened yet.
func NewImage() *Image {
	return &Image{
		brokers: map[message.NodeID]*broker{},
		topics:  map[record.TopicID]*Topic{},
		names:   map[string]*Topic{},
	}
}

// Version is the last applied one.
func (m *Image) Version() message.Version { return m.version }

// ClusterID is empty until the first change of all is applied.
func (m *Image) ClusterID() string { return m.clusterID }

// NextProducerID is the first producer id that was never given out.
func (m *Image) NextProducerID() record.ProducerID { return m.producer }

// Broker returns the registration of a node, or nil.
func (m *Image) Broker(id message.NodeID) *message.BrokerChange {
	if b := m.brokers[id]; b != nil {
		return b.state
	}
	return nil
}

// Brokers returns all registrations, by rising node id.
func (m *Image) Brokers() []*message.BrokerChange { return m.byNode }

// Leads counts the partitions that a node leads.
func (m *Image) Leads(id message.NodeID) int {
	if b := m.brokers[id]; b != nil {
		return b.leads
	}
	return 0
}

// Hosts counts the partitions of which a node holds a replica.
func (m *Image) Hosts(id message.NodeID) int {
	if b := m.brokers[id]; b != nil {
		return b.replicas
	}
	return 0
}

// Topic returns a topic by its id, or nil.
func (m *Image) Topic(id record.TopicID) *Topic { return m.topics[id] }

// TopicNamed returns a topic by its name, or nil.
func (m *Image) TopicNamed(name string) *Topic { return m.names[name] }

// Topics returns all topics, by rising id.
func (m *Image) Topics() []*Topic { return m.byID }

// Partition returns the state of a partition, or nil.
func (m *Image) Partition(id record.PartitionID) *message.PartitionChange {
	t := m.topics[id.Topic]
	if t == nil || id.Index < 0 || int(id.Index) >= len(t.Partitions) {
		return nil
	}
	return t.Partitions[id.Index]
}

// Partitions walks over all partitions, by topic id and index.
func (m *Image) Partitions() iter.Seq[*message.PartitionChange] {
	return func(yield func(*message.PartitionChange) bool) {
		for _, t := range m.byID {
			for _, p := range t.Partitions {
				if !yield(p) {
					return
				}
			}
		}
	}
}

// Live says whether a node is registered and not fenced.
func (m *Image) Live(id message.NodeID) bool {
	b := m.Broker(id)
	return b != nil && !b.Fenced
}

// Clone returns a copy that is changed independently.
func (m *Image) Clone() *Image {
	c := NewImage()
	c.version, c.clusterID, c.producer = m.version, m.clusterID, m.producer
	c.settings, c.controllers = slices.Clone(m.settings), m.controllers
	c.moving, c.draining, c.throttle = m.moving, m.draining, m.throttle
	c.byNode = slices.Clone(m.byNode)
	for _, state := range m.byNode {
		b := *m.brokers[state.Node]
		c.brokers[state.Node] = &b
	}
	c.byID = make([]*Topic, len(m.byID))
	for i, t := range m.byID {
		copied := *t
		copied.Partitions = slices.Clone(t.Partitions)
		c.byID[i] = &copied
		c.topics[t.ID] = &copied
		c.names[t.Name] = &copied
	}
	return c
}
