package metadata

import (
	"bytes"
	"errors"

	"github.com/tamarack-mq/tamarack/core/message"
)

// Snapshot returns changes which, applied to an empty image, give this one.
// The order is fixed: equal images give equal snapshots.
func (m *Image) Snapshot() []message.Change {
	size := len(m.byNode) + len(m.byID) + len(m.settings) + 4
	for _, t := range m.byID {
		size += len(t.Partitions)
	}
	changes := make([]message.Change, 0, size)
	if m.clusterID != "" {
		changes = append(changes, message.Change{Cluster: &message.ClusterChange{ClusterID: m.clusterID}})
	}
	if m.controllers != nil {
		changes = append(changes, message.Change{Controllers: m.controllers})
	}
	for _, c := range m.settings {
		changes = append(changes, message.Change{Settings: c})
	}
	for _, b := range m.byNode {
		changes = append(changes, message.Change{Broker: b})
	}
	if m.throttle != 0 {
		changes = append(changes, message.Change{Throttle: &message.ThrottleChange{BytesPerSecond: m.throttle}})
	}
	for _, t := range m.byID {
		changes = append(changes, t.change())
		for _, p := range t.Partitions {
			changes = append(changes, message.Change{Partition: p})
		}
	}
	if m.producer != 0 {
		changes = append(changes, message.Change{ProducerIDs: &message.ProducerIDsChange{Next: m.producer}})
	}
	return changes
}

func (t *Topic) change() message.Change {
	return message.Change{Topic: &message.TopicChange{ID: t.ID, Name: t.Name, Config: t.Config}}
}

// Restore builds the image that a snapshot taken at version describes.
func Restore(version message.Version, changes []message.Change) (*Image, error) {
	m := NewImage()
	for i := range changes {
		if err := m.Apply(version, &changes[i]); err != nil {
			return nil, err
		}
	}
	m.Advance(version)
	return m, nil
}

// ErrGap says that a push does not join the image's version: the sender will
// see from the next heartbeat what is missing.
var ErrGap = errors.New("metadata: the push begins at another version than the image has")

// Take makes the changes of a push. It returns those that changed the image,
// in an order in which they can be acted upon: for a snapshot, what differs.
// A push that brings nothing new is ignored (INV-20: an image never goes
// back). On ErrGap the image is as it was; on any other error its owner must
// stop, as with Apply.
func (m *Image) Take(p *message.MetadataPush) ([]message.Change, error) {
	if p.To <= m.version {
		return nil, nil
	}
	if p.Snapshot {
		next, err := Restore(p.To, p.Changes)
		if err != nil {
			return nil, err
		}
		changes := m.Difference(next)
		*m = *next
		return changes, nil
	}
	if p.From != m.version {
		return nil, ErrGap
	}
	for i := range p.Changes {
		if err := m.Apply(p.To, &p.Changes[i]); err != nil {
			return nil, err
		}
	}
	m.Advance(p.To)
	return p.Changes, nil
}

// Difference returns changes that tell what a later image has otherwise than
// this one. They inform (a partition may jump over several epochs); they are
// not fit for Apply.
func (m *Image) Difference(later *Image) []message.Change {
	var changes []message.Change
	if later.clusterID != m.clusterID {
		changes = append(changes, message.Change{Cluster: &message.ClusterChange{ClusterID: later.clusterID}})
	}
	changes = m.otherSettings(later, changes)
	for _, b := range later.byNode {
		if old := m.Broker(b.Node); old != b && (old == nil || *old != *b) {
			changes = append(changes, message.Change{Broker: b})
		}
	}
	for _, t := range m.byID {
		if later.topics[t.ID] == nil {
			changes = append(changes, message.Change{RemoveTopic: &message.RemoveTopicChange{ID: t.ID}})
		}
	}
	for _, t := range later.byID {
		if old := m.topics[t.ID]; old == nil || old.Config != t.Config {
			changes = append(changes, t.change())
		}
		for _, p := range t.Partitions {
			if old := m.Partition(p.ID); old == nil || old.PartitionEpoch != p.PartitionEpoch {
				changes = append(changes, message.Change{Partition: p})
			}
		}
	}
	changes = m.otherBrokers(later, changes)
	if later.producer != m.producer {
		changes = append(changes, message.Change{ProducerIDs: &message.ProducerIDsChange{Next: later.producer}})
	}
	return changes
}

// Equal says whether two images have the same version and the same content.
func (m *Image) Equal(o *Image) bool {
	return m.version == o.version && bytes.Equal(Encode(m.Snapshot()), Encode(o.Snapshot()))
}
