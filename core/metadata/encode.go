package metadata

import (
	"errors"
	"fmt"

	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/pack"
	"github.com/tamarack-mq/tamarack/core/record"
)

// encoding is the version of the stored form, its first byte. A change of the
// form gets a new number; Decode goes on reading the old ones.
const encoding = 1

// Kinds of stored changes. The numbers are on disk: none is ever reused.
const (
	kindCluster     = 1
	kindBroker      = 2
	kindTopic       = 3
	kindPartition   = 4
	kindRemoveTopic = 5
	kindProducerIDs = 6
	kindSettings    = 7
	kindControllers = 8
	// Partitions that move, and brokers that are drained, have kinds of their own:
	// a release that knows nothing of them stops at them.
	kindMove         = 9
	kindDraining     = 10
	kindRemoveBroker = 11
	kindThrottle     = 12
	kindReported     = 13 // a broker that found damage while it ran, drained or not
)

// Encode gives the stored form of changes, as it stands in the entries and
// snapshots of the controller's log.
func Encode(changes []message.Change) []byte {
	to := make([]byte, 0, 16+40*len(changes))
	to = append(to, encoding)
	to = pack.Uint(to, uint64(len(changes)))
	for i := range changes {
		to = encodeChange(to, &changes[i])
	}
	return to
}

func encodeChange(to []byte, c *message.Change) []byte {
	switch {
	case c.Partition != nil && (Moving(c.Partition) || len(c.Partition.Adding) > 0):
		return encodeMove(append(to, kindMove), c.Partition)
	case c.Partition != nil:
		return encodePartition(append(to, kindPartition), c.Partition)
	case c.Broker != nil && c.Broker.Report > 0:
		to = encodeBroker(append(to, kindReported), c.Broker)
		return pack.Uint(pack.Bool(to, c.Broker.Draining), c.Broker.Report)
	case c.Broker != nil && c.Broker.Draining:
		return encodeBroker(append(to, kindDraining), c.Broker)
	case c.Broker != nil:
		return encodeBroker(append(to, kindBroker), c.Broker)
	case c.Topic != nil:
		return encodeTopic(append(to, kindTopic), c.Topic)
	case c.RemoveTopic != nil:
		return pack.Uint(append(to, kindRemoveTopic), uint64(c.RemoveTopic.ID))
	case c.ProducerIDs != nil:
		return pack.Int(append(to, kindProducerIDs), int64(c.ProducerIDs.Next))
	case c.Settings != nil:
		return encodeSettings(append(to, kindSettings), c.Settings)
	case c.Controllers != nil:
		return encodeControllers(append(to, kindControllers), c.Controllers)
	case c.RemoveBroker != nil:
		return encodeRemoveBroker(append(to, kindRemoveBroker), c.RemoveBroker)
	case c.Throttle != nil:
		return pack.Int(append(to, kindThrottle), c.Throttle.BytesPerSecond)
	case c.Cluster != nil:
		return pack.String(append(to, kindCluster), c.Cluster.ClusterID)
	}
	panic("metadata: a change without content cannot be stored")
}

func encodeBroker(to []byte, b *message.BrokerChange) []byte {
	to = pack.Int(to, int64(b.Node))
	to = pack.Int(to, int64(b.Epoch))
	to = pack.Uint(to, b.Incarnation)
	to = pack.Uint(to, b.DiskID)
	to = pack.String(to, b.Address)
	to = pack.String(to, b.Rack)
	to = pack.Bool(to, b.Fenced)
	return pack.Bool(to, b.ShuttingDown)
}

func encodeTopic(to []byte, t *message.TopicChange) []byte {
	to = pack.Uint(to, uint64(t.ID))
	to = pack.String(to, t.Name)
	to = pack.Int(to, int64(t.Config.MinInsync))
	to = pack.Int(to, int64(t.Config.SegmentBytes))
	to = pack.Int(to, t.Config.RetentionBytes)
	to = pack.Int(to, int64(t.Config.RetentionTime))
	to = pack.Int(to, int64(t.Config.MaxBatchBytes))
	return pack.Bool(to, t.Config.Internal)
}

func encodePartition(to []byte, p *message.PartitionChange) []byte {
	to = pack.Uint(to, uint64(p.ID.Topic))
	to = pack.Int(to, int64(p.ID.Index))
	to = encodeNodes(to, p.Replicas)
	to = encodeNodes(to, p.ISR)
	to = encodeNodes(to, p.ELR)
	to = pack.Int(to, int64(p.Leader))
	to = pack.Int(to, int64(p.LeaderEpoch))
	to = pack.Int(to, int64(p.PartitionEpoch))
	return pack.Bool(to, p.Unclean)
}

func encodeNodes(to []byte, nodes []message.NodeID) []byte {
	to = pack.Uint(to, uint64(len(nodes)))
	for _, n := range nodes {
		to = pack.Int(to, int64(n))
	}
	return to
}

// Decode reads what Encode wrote. It never panics; an error means damage, or a
// newer release's form.
func Decode(b []byte) ([]message.Change, error) {
	r := pack.Read(b)
	if v := r.Byte(); r.Err() == nil && v != encoding {
		return nil, fmt.Errorf("metadata: stored in form %d, this release reads form %d", v, encoding)
	}
	var changes []message.Change
	if n := r.Count(2); n > 0 {
		changes = make([]message.Change, n)
	}
	for i := range changes {
		decodeChange(&r, &changes[i])
	}
	if r.Err() == nil && r.Left() > 0 {
		r.Fail(errors.New("metadata: bytes behind the last change"))
	}
	if err := r.Err(); err != nil {
		return nil, err
	}
	return changes, nil
}

func decodeChange(r *pack.Reader, c *message.Change) {
	switch kind := r.Byte(); kind {
	case kindPartition:
		c.Partition = decodePartition(r)
	case kindBroker:
		c.Broker = decodeBroker(r)
	case kindTopic:
		c.Topic = decodeTopic(r)
	case kindRemoveTopic:
		c.RemoveTopic = &message.RemoveTopicChange{ID: record.TopicID(r.Uint())}
	case kindProducerIDs:
		c.ProducerIDs = &message.ProducerIDsChange{Next: record.ProducerID(r.Int())}
	case kindSettings:
		c.Settings = decodeSettings(r)
	case kindControllers:
		c.Controllers = decodeControllers(r)
	case kindMove:
		c.Partition = decodeMove(r)
	case kindDraining:
		c.Broker = decodeBroker(r)
		c.Broker.Draining = true
	case kindReported:
		c.Broker = decodeBroker(r)
		c.Broker.Draining, c.Broker.Report = r.Bool(), r.Uint()
	case kindRemoveBroker:
		c.RemoveBroker = decodeRemoveBroker(r)
	case kindThrottle:
		c.Throttle = &message.ThrottleChange{BytesPerSecond: r.Int()}
	case kindCluster:
		c.Cluster = &message.ClusterChange{ClusterID: r.String()}
	default:
		r.Fail(fmt.Errorf("metadata: unknown kind of change %d", kind))
	}
}

func decodeBroker(r *pack.Reader) *message.BrokerChange {
	return &message.BrokerChange{
		Node:         message.NodeID(r.Int32()),
		Epoch:        message.BrokerEpoch(r.Int()),
		Incarnation:  r.Uint(),
		DiskID:       r.Uint(),
		Address:      r.String(),
		Rack:         r.String(),
		Fenced:       r.Bool(),
		ShuttingDown: r.Bool(),
	}
}

func decodeTopic(r *pack.Reader) *message.TopicChange {
	return &message.TopicChange{
		ID:   record.TopicID(r.Uint()),
		Name: r.String(),
		Config: message.TopicConfig{
			MinInsync:      r.Int32(),
			SegmentBytes:   r.Int32(),
			RetentionBytes: r.Int(),
			RetentionTime:  message.Duration(r.Int()),
			MaxBatchBytes:  r.Int32(),
			Internal:       r.Bool(),
		},
	}
}

func decodePartition(r *pack.Reader) *message.PartitionChange {
	return &message.PartitionChange{
		ID:             record.PartitionID{Topic: record.TopicID(r.Uint()), Index: r.Int32()},
		Replicas:       decodeNodes(r),
		ISR:            decodeNodes(r),
		ELR:            decodeNodes(r),
		Leader:         message.NodeID(r.Int32()),
		LeaderEpoch:    record.LeaderEpoch(r.Int32()),
		PartitionEpoch: message.PartitionEpoch(r.Int32()),
		Unclean:        r.Bool(),
	}
}

func decodeNodes(r *pack.Reader) []message.NodeID {
	n := r.Count(1)
	if n == 0 {
		return nil
	}
	nodes := make([]message.NodeID, n)
	for i := range nodes {
		nodes[i] = message.NodeID(r.Int32())
	}
	return nodes
}
