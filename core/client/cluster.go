package client

import (
	"slices"

	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// cluster is the picture that the client has of the cluster. It never goes
// back: not to a lower metadata version, and not to a lower leader epoch of a
// partition (KIP-320), whatever a broker that lags behind may answer.
type cluster struct {
	c          *Client
	id         string
	version    message.Version
	controller message.NodeID
	brokers    []*node           // registered, by id
	topics     map[string]*topic // those the application uses
	byID       map[record.TopicID]*topic
	used       []*topic         // the topics in the order of their first use
	strangers  []record.TopicID // known by id alone, their names are wanted

	refresh refresher
}

// topic is one topic that the application uses.
type topic struct {
	name    string
	id      record.TopicID
	known   bool         // id, config and partitions hold
	told    message.Time // when a broker last said what it is, or that there is none
	config  message.TopicConfig
	parts   []partition
	sticky  int32     // where records without a key go; -1: nowhere yet
	waiting []pending // records whose partition is not known yet
	expiry  alarm     // of the oldest of them
}

// partition is who leads a partition. leader is NoNode while nobody does.
type partition struct {
	leader message.NodeID
	epoch  record.LeaderEpoch
}

func (m *cluster) init(c *Client) {
	m.c = c
	m.topics = map[string]*topic{}
	m.byID = map[record.TopicID]*topic{}
	m.refresh.init(m)
}

// topic returns the topic of a name and sees to it that it gets known.
func (m *cluster) topic(name string) *topic {
	t := m.topics[name]
	if t == nil {
		t = &topic{name: name, sticky: -1}
		t.expiry.Due = func() { m.c.producer.expireWaiting(t) }
		m.topics[name] = t
		m.used = append(m.used, t)
	}
	if !t.known {
		m.want()
	}
	return t
}

// lookup asks for the topic of an id that is not known.
func (m *cluster) lookup(id record.TopicID) {
	if m.byID[id] != nil {
		return
	}
	if !slices.Contains(m.strangers, id) {
		m.strangers = append(m.strangers, id)
	}
	m.want()
}

// partition returns what is known about a partition, or nil.
func (m *cluster) partition(id record.PartitionID) *partition {
	t := m.byID[id.Topic]
	if t == nil || id.Index < 0 || int(id.Index) >= len(t.parts) {
		return nil
	}
	return &t.parts[id.Index]
}

// leader returns the node that leads a partition, or nil.
func (m *cluster) leader(id record.PartitionID) *node {
	p := m.partition(id)
	if p == nil || p.leader == message.NoNode {
		return nil
	}
	return m.c.node(p.leader)
}

// hint takes in what a broker that does not lead a partition says about who
// does (KIP-951). It says whether that was news.
func (m *cluster) hint(id record.PartitionID, leader message.NodeID, epoch record.LeaderEpoch) bool {
	p := m.partition(id)
	if p == nil || epoch <= p.epoch || leader <= message.NoNode {
		m.want()
		return false
	}
	p.leader, p.epoch = leader, epoch
	if m.c.node(leader).address == "" {
		m.want()
	}
	m.c.producer.moved(id)
	m.c.consumer.stir = true
	return true
}

// apply takes in a reply. It is false when the reply is of no use: of another
// cluster, or older than what is known.
func (m *cluster) apply(r *message.MetadataReply) bool {
	if m.id != "" && r.ClusterID != m.id || r.Version < m.version {
		return false
	}
	m.id, m.version, m.controller = r.ClusterID, r.Version, r.Controller
	m.applyBrokers(r.Brokers)
	for i := range r.Topics {
		m.applyTopic(&r.Topics[i])
	}
	return true
}

func (m *cluster) applyBrokers(infos []message.BrokerInfo) {
	if len(infos) == 0 {
		return // a broker that does not know itself yet
	}
	for _, n := range m.brokers {
		n.listed = false
	}
	m.brokers = m.brokers[:0]
	for _, b := range infos {
		if b.ID <= message.NoNode || b.Address == "" {
			continue
		}
		n := m.c.node(b.ID)
		if n.address != b.Address {
			n.address, n.failures, n.rest = b.Address, 0, 0
			m.c.alarms.Stop(&n.back)
			m.c.touch(n)
		}
		n.fenced = b.Fenced
		if !n.listed {
			n.listed = true
			m.brokers = append(m.brokers, n)
		}
	}
	slices.SortFunc(m.brokers, func(a, b *node) int { return int(a.id) - int(b.id) })
}

func (m *cluster) applyTopic(info *message.TopicInfo) {
	if i := slices.Index(m.strangers, info.ID); i >= 0 && info.Code == message.None && info.Name != "" {
		m.strangers = slices.Delete(m.strangers, i, i+1)
		m.topic(info.Name)
	}
	t := m.topics[info.Name]
	if t == nil {
		if i := slices.Index(m.strangers, info.ID); i >= 0 && info.Code != message.None {
			m.strangers = slices.Delete(m.strangers, i, i+1) // who needs it asks again
		}
		return
	}
	t.told = m.c.now.Mono
	switch {
	case info.Code == message.UnknownTopicOrPartition || info.Code == message.UnknownTopicID:
		m.forget(t)
		return
	case info.Code != message.None:
		return
	}
	if t.known && t.id != info.ID {
		m.forget(t) // made again under the same name
	}
	t.id, t.known, t.config = info.ID, true, info.Config
	m.byID[t.id] = t
	m.applyPartitions(t, info.Partitions)
}

func (m *cluster) applyPartitions(t *topic, infos []message.PartitionInfo) {
	for _, info := range infos {
		if info.Index < 0 || info.Index > maxPartitions {
			continue
		}
		for int(info.Index) >= len(t.parts) {
			t.parts = append(t.parts, partition{epoch: record.NoLeaderEpoch})
		}
		p := &t.parts[info.Index]
		if info.LeaderEpoch < p.epoch || *p == (partition{info.Leader, info.LeaderEpoch}) {
			continue
		}
		if info.LeaderEpoch == p.epoch && p.leader != message.NoNode && info.Leader != message.NoNode {
			continue // one epoch has one leader: the first that was named
		}
		*p = partition{info.Leader, info.LeaderEpoch}
		m.c.producer.moved(record.PartitionID{Topic: t.id, Index: info.Index})
	}
}

// maxPartitions keeps a malformed answer from filling the memory.
const maxPartitions = 1 << 20

// forget says that a topic is not there (any more).
func (m *cluster) forget(t *topic) {
	if !t.known {
		return
	}
	delete(m.byID, t.id)
	gone := t.id
	t.known, t.parts, t.id, t.sticky = false, nil, 0, -1
	m.c.producer.topicGone(gone)
	m.c.consumer.stir = true
}
