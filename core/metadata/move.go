package metadata

import (
	"errors"
	"fmt"
	"slices"

	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/pack"
)

// A partition on its way to other replicas (KIP-455) has Target set. Its
// Replicas are the original ones, in their order, and behind them Adding.

// Moving says whether a partition is on its way to other replicas.
func Moving(p *message.PartitionChange) bool { return len(p.Target) > 0 }

// Original are the replicas that a partition had before its move, or has when
// there is none. The order is that of before, so that a move that is called off
// leaves no trace.
func Original(p *message.PartitionChange) []message.NodeID {
	return p.Replicas[:len(p.Replicas)-len(p.Adding)]
}

// Factor is the replication factor that counts: replicas that are being added
// are no promise yet. With them min.insync would rise, and a topic with one
// replica could take no record before its second has caught up.
func Factor(p *message.PartitionChange) int { return len(p.Replicas) - len(p.Adding) }

// Moving counts the partitions that are on their way.
func (m *Image) Moving() int { return m.moving }

// Draining counts the brokers that are being drained, or are drained.
func (m *Image) Draining() int { return m.draining }

// Throttle is how many bytes a second a broker may copy for replicas that are
// being added; 0: there is no limit.
func (m *Image) Throttle() int64 { return m.throttle }

// Shuns says whether a broker is to get no replicas and, where another can
// have them, no leaderships.
func (m *Image) Shuns(id message.NodeID) bool {
	b := m.Broker(id)
	return b != nil && b.Draining
}

// checkMove holds what is true of every move: what is added stands at the end,
// and all that the target names is there.
func checkMove(c *message.PartitionChange) error {
	if !Moving(c) {
		if len(c.Adding) > 0 {
			return fmt.Errorf("metadata: partition %s adds replicas %v without a target", c.ID, c.Adding)
		}
		return nil
	}
	if len(c.Adding) >= len(c.Replicas) || !slices.Equal(c.Replicas[Factor(c):], c.Adding) {
		return fmt.Errorf("metadata: partition %s adds %v, which are not the last of its replicas %v", c.ID, c.Adding, c.Replicas)
	}
	for i, n := range c.Target {
		if !slices.Contains(c.Replicas, n) || slices.Contains(c.Target[:i], n) {
			return fmt.Errorf("metadata: target %v of partition %s names a node twice, or one that is no replica", c.Target, c.ID)
		}
	}
	return nil
}

// checkRemoval holds that replicas leave only so that nothing that was told of
// them before can count again: with a new leader epoch (see core/replica).
func checkRemoval(old, c *message.PartitionChange) error {
	if c.LeaderEpoch > old.LeaderEpoch {
		return nil
	}
	for _, n := range old.Replicas {
		if !slices.Contains(c.Replicas, n) {
			return fmt.Errorf("metadata: replica %d of partition %s leaves in leader epoch %d, in which it was heard", n, c.ID, c.LeaderEpoch)
		}
	}
	return nil
}

func (m *Image) removeBroker(c *message.RemoveBrokerChange) error {
	b := m.brokers[c.Node]
	switch {
	case b == nil || b.state.Epoch != c.Epoch:
		return fmt.Errorf("metadata: broker %d of epoch %d is removed, but is not registered so", c.Node, c.Epoch)
	case b.replicas > 0:
		return fmt.Errorf("metadata: broker %d is removed, but holds %d replicas", c.Node, b.replicas)
	}
	m.countDraining(b.state, -1)
	delete(m.brokers, c.Node)
	at, _ := m.findNode(c.Node)
	m.byNode = slices.Delete(m.byNode, at, at+1)
	return nil
}

func (m *Image) countDraining(b *message.BrokerChange, by int) {
	if b.Draining {
		m.draining += by
	}
}

func (m *Image) applyThrottle(c *message.ThrottleChange) error {
	if c.BytesPerSecond < 0 || c.BytesPerSecond > message.LargestThrottle {
		return fmt.Errorf("metadata: a throttle of %d bytes a second", c.BytesPerSecond)
	}
	m.throttle = c.BytesPerSecond
	return nil
}

// otherBrokers adds the brokers that are gone in a later image, and its
// throttle, if that is another one.
func (m *Image) otherBrokers(later *Image, changes []message.Change) []message.Change {
	for _, b := range m.byNode {
		if later.brokers[b.Node] == nil {
			gone := &message.RemoveBrokerChange{Node: b.Node, Epoch: b.Epoch}
			changes = append(changes, message.Change{RemoveBroker: gone})
		}
	}
	if later.throttle != m.throttle {
		changes = append(changes, message.Change{Throttle: &message.ThrottleChange{BytesPerSecond: later.throttle}})
	}
	return changes
}

func encodeMove(to []byte, p *message.PartitionChange) []byte {
	return encodeNodes(encodeNodes(encodePartition(to, p), p.Adding), p.Target)
}

func decodeMove(r *pack.Reader) *message.PartitionChange {
	p := decodePartition(r)
	p.Adding, p.Target = decodeNodes(r), decodeNodes(r)
	if len(p.Adding) == 0 && len(p.Target) == 0 {
		r.Fail(errors.New("metadata: a partition that moves nowhere"))
	}
	return p
}

func encodeRemoveBroker(to []byte, c *message.RemoveBrokerChange) []byte {
	return pack.Int(pack.Int(to, int64(c.Node)), int64(c.Epoch))
}

func decodeRemoveBroker(r *pack.Reader) *message.RemoveBrokerChange {
	return &message.RemoveBrokerChange{Node: message.NodeID(r.Int32()), Epoch: message.BrokerEpoch(r.Int())}
}
