package metadata

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

func registered(id message.NodeID, epoch message.BrokerEpoch) message.Change {
	return message.Change{Broker: &message.BrokerChange{Node: id, Epoch: epoch, Address: "a:1", Rack: "r"}}
}

func topic(id record.TopicID, name string) message.Change {
	return message.Change{Topic: &message.TopicChange{ID: id, Name: name, Config: message.TopicConfig{MinInsync: 2}}}
}

func partition(t record.TopicID, index int32, leader message.NodeID, epoch int32, replicas ...message.NodeID) message.Change {
	p := &message.PartitionChange{
		ID: record.PartitionID{Topic: t, Index: index}, Replicas: replicas,
		Leader: leader, LeaderEpoch: record.LeaderEpoch(epoch), PartitionEpoch: message.PartitionEpoch(epoch),
	}
	if leader != message.NoNode {
		p.ISR = []message.NodeID{leader}
	}
	return message.Change{Partition: p}
}

func remove(t record.TopicID) message.Change {
	return message.Change{RemoveTopic: &message.RemoveTopicChange{ID: t}}
}

func build(t require.TestingT, changes ...message.Change) *Image {
	m := NewImage()
	for i := range changes {
		require.NoError(t, m.Apply(message.Version(i+1), &changes[i]))
	}
	return m
}

func small(t require.TestingT) *Image {
	return build(t,
		message.Change{Cluster: &message.ClusterChange{ClusterID: "c"}},
		registered(3, 2), registered(1, 3), registered(2, 4),
		topic(5, "a"), partition(5, 0, 1, 0, 1, 2), partition(5, 1, 2, 0, 2, 3),
		topic(8, "b"), partition(8, 0, 1, 0, 1),
		message.Change{ProducerIDs: &message.ProducerIDsChange{Next: 1000}},
	)
}

func TestAnImageIsFoundByNameAndNumber(t *testing.T) {
	m := small(t)
	require.Equal(t, message.Version(10), m.Version())
	require.Equal(t, "c", m.ClusterID())
	require.Equal(t, record.ProducerID(1000), m.NextProducerID())
	var ids []message.NodeID
	for _, b := range m.Brokers() {
		ids = append(ids, b.Node)
	}
	require.Equal(t, []message.NodeID{1, 2, 3}, ids)
	require.Same(t, m.Topic(8), m.TopicNamed("b"))
	require.Equal(t, message.NodeID(2), m.Partition(record.PartitionID{Topic: 5, Index: 1}).Leader)
	require.Nil(t, m.Partition(record.PartitionID{Topic: 5, Index: 2}))
	require.Nil(t, m.Partition(record.PartitionID{Topic: 5, Index: -1}))
	require.Nil(t, m.Partition(record.PartitionID{Topic: 6}))
	require.Equal(t, []int{2, 1, 0}, []int{m.Leads(1), m.Leads(2), m.Leads(3)})
	require.Equal(t, []int{2, 2, 1}, []int{m.Hosts(1), m.Hosts(2), m.Hosts(3)})
	var walked []string
	for p := range m.Partitions() {
		walked = append(walked, p.ID.String())
	}
	require.Equal(t, []string{"5/0", "5/1", "8/0"}, walked)
}

func TestCountsFollowTheChanges(t *testing.T) {
	m := small(t)
	next := partition(5, 0, 2, 1, 1, 2)
	require.NoError(t, m.Apply(11, &next))
	require.Equal(t, []int{1, 2}, []int{m.Leads(1), m.Leads(2)})
	gone := remove(5)
	require.NoError(t, m.Apply(12, &gone))
	require.Equal(t, []int{1, 0, 0}, []int{m.Leads(1), m.Leads(2), m.Leads(3)})
	require.Equal(t, []int{1, 0, 0}, []int{m.Hosts(1), m.Hosts(2), m.Hosts(3)})
	require.Nil(t, m.TopicNamed("a"))
	require.Len(t, m.Topics(), 1)
}

// What contradicts the history is refused and changes nothing (INV-20).
func TestContradictionsAreRefused(t *testing.T) {
	bad := func(change func(*message.PartitionChange)) message.Change {
		c := partition(5, 0, 1, 0, 1, 2)
		c.Partition.PartitionEpoch = 1
		change(c.Partition)
		return c
	}
	for name, c := range map[string]message.Change{
		"nothing":              {},
		"another cluster":      {Cluster: &message.ClusterChange{ClusterID: "d"}},
		"ids fall":             {ProducerIDs: &message.ProducerIDsChange{Next: 1}},
		"broker epoch falls":   registered(1, 2),
		"broker epoch to come": registered(1, 99),
		"no broker":            registered(0, 3),
		"the name again":       topic(9, "a"),
		"an older topic":       topic(6, "x"),
		"a topic to come":      topic(99, "x"),
		"another name":         topic(5, "x"),
		"no such topic":        remove(6),
		"no topic of it":       partition(6, 0, 1, 0, 1),
		"a gap":                partition(5, 3, 1, 0, 1),
		"no replicas":          partition(5, 2, 0, 0),
		"negative index":       partition(5, -1, 1, 0, 1),
		"unknown replica":      partition(5, 2, 1, 0, 1, 9),
		"same epoch":           bad(func(p *message.PartitionChange) { p.PartitionEpoch = 0 }),
		"epoch skipped":        bad(func(p *message.PartitionChange) { p.PartitionEpoch = 2 }),
		"leader epoch falls":   bad(func(p *message.PartitionChange) { p.LeaderEpoch = -1 }),
		"leadership reused":    bad(func(p *message.PartitionChange) { p.Leader, p.ISR = 2, []message.NodeID{2} }),
		"leader not in sync":   bad(func(p *message.PartitionChange) { p.Leader, p.LeaderEpoch = 2, 1 }),
		"stranger in sync":     bad(func(p *message.PartitionChange) { p.ISR = append(p.ISR, 3) }),
		"stranger eligible":    bad(func(p *message.PartitionChange) { p.ELR = []message.NodeID{3} }),
		"both":                 bad(func(p *message.PartitionChange) { p.ELR = p.ISR }),
	} {
		m := small(t)
		require.Error(t, m.Apply(11, &c), name)
		require.True(t, m.Equal(small(t)), name)
	}
	m := small(t)
	again := topic(9, "late")
	require.Error(t, m.Apply(9, &again), "a version falls")
}

func TestPushesJoinOrAreIgnored(t *testing.T) {
	m := small(t)
	next := []message.Change{partition(5, 0, 2, 1, 1, 2)}
	_, err := m.Take(&message.MetadataPush{From: 9, To: 12, Changes: next})
	require.ErrorIs(t, err, ErrGap)
	changed, err := m.Take(&message.MetadataPush{From: 10, To: 12, Changes: next})
	require.NoError(t, err)
	require.Equal(t, next, changed)
	require.Equal(t, message.Version(12), m.Version())

	changed, err = m.Take(&message.MetadataPush{From: 10, To: 12, Changes: next})
	require.NoError(t, err)
	require.Empty(t, changed, "it is known already")
	changed, err = m.Take(&message.MetadataPush{To: 5, Snapshot: true})
	require.NoError(t, err)
	require.Empty(t, changed, "an image never goes back")
	require.Equal(t, message.Version(12), m.Version())
	_, err = m.Take(&message.MetadataPush{From: 12, To: 13, Changes: next})
	require.Error(t, err)
}

func TestASnapshotTellsWhatIsOtherwise(t *testing.T) {
	m, later := small(t), small(t)
	for i, c := range []message.Change{
		partition(5, 1, 3, 1, 2, 3), remove(8), topic(13, "c"), partition(13, 0, 2, 0, 2), registered(3, 15),
		{ProducerIDs: &message.ProducerIDsChange{Next: 2000}},
	} {
		require.NoError(t, later.Apply(message.Version(11+i), &c))
	}
	changed, err := m.Take(&message.MetadataPush{To: later.Version(), Snapshot: true, Changes: later.Snapshot()})
	require.NoError(t, err)
	require.True(t, m.Equal(later))
	require.Equal(t, []message.Change{
		registered(3, 15), remove(8), partition(5, 1, 3, 1, 2, 3), topic(13, "c"), partition(13, 0, 2, 0, 2),
		{ProducerIDs: &message.ProducerIDsChange{Next: 2000}},
	}, changed)
	require.Equal(t, []int{1, 1, 1}, []int{m.Leads(1), m.Leads(2), m.Leads(3)})
}

func TestAClonePartsFromItsOrigin(t *testing.T) {
	m := small(t)
	c := m.Clone()
	require.True(t, m.Equal(c))
	for i, change := range []message.Change{partition(5, 0, 2, 1, 1, 2), remove(8), registered(9, 13)} {
		require.NoError(t, c.Apply(message.Version(11+i), &change))
	}
	require.True(t, m.Equal(small(t)))
	require.Equal(t, 2, m.Leads(1))
}

// Whatever the history: a snapshot equals the fold of the log (INV-18), also
// after it was stored and read.
func TestASnapshotEqualsTheHistory(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		m := NewImage()
		for v := message.Version(1); v < message.Version(rapid.IntRange(1, 60).Draw(rt, "changes")); v++ {
			c := draw(rt, m, v)
			before := m.Clone()
			if m.Apply(v, &c) != nil {
				require.True(rt, m.Equal(before))
			}
		}
		stored := Encode(m.Snapshot())
		changes, err := Decode(stored)
		require.NoError(rt, err)
		again, err := Restore(m.Version(), changes)
		require.NoError(rt, err)
		require.True(rt, m.Equal(again))
		require.Equal(rt, stored, Encode(again.Snapshot()))
		require.Empty(rt, m.Difference(again))
		for _, b := range m.Brokers() {
			require.Equal(rt, m.Leads(b.Node), again.Leads(b.Node))
			require.Equal(rt, m.Hosts(b.Node), again.Hosts(b.Node))
		}
	})
}

// draw makes up a change that fits in about half of all cases.
func draw(rt *rapid.T, m *Image, v message.Version) message.Change {
	node := message.NodeID(rapid.IntRange(1, 4).Draw(rt, "node"))
	id := record.TopicID(rapid.IntRange(1, int(v)).Draw(rt, "topic"))
	switch rapid.IntRange(0, 5).Draw(rt, "kind") {
	case 0:
		change := registered(node, message.BrokerEpoch(v))
		change.Broker.Draining = rapid.Bool().Draw(rt, "draining")
		change.Broker.Report = rapid.Uint64Range(0, 2).Draw(rt, "report")
		return change
	case 1:
		return topic(record.TopicID(v), rapid.StringN(1, 3, 9).Draw(rt, "name"))
	case 2:
		if len(m.Topics()) > 0 {
			id = rapid.SampledFrom(m.Topics()).Draw(rt, "of").ID
			return partition(id, int32(len(m.Topic(id).Partitions)), node, 0, node)
		}
	case 3:
		for p := range m.Partitions() {
			next := *p
			next.PartitionEpoch++
			next.LeaderEpoch++
			next.Leader, next.ISR, next.ELR = message.NoNode, nil, p.ISR
			return message.Change{Partition: &next}
		}
	case 4:
		return message.Change{ProducerIDs: &message.ProducerIDsChange{Next: record.ProducerID(v)}}
	}
	return remove(id)
}

func FuzzDecode(f *testing.F) {
	f.Add(Encode(small(f).Snapshot()))
	f.Add(Encode(nil))
	f.Add(Encode([]message.Change{remove(3)}))
	f.Fuzz(func(t *testing.T, b []byte) {
		changes, err := Decode(b)
		if err != nil {
			return
		}
		again, err := Decode(Encode(changes))
		require.NoError(t, err)
		require.Equal(t, changes, again)
		_, _ = Restore(1<<62, changes)
	})
}

func BenchmarkApplyPartition(b *testing.B) {
	m := NewImage()
	for i := range 6 {
		c := registered(message.NodeID(i+1), message.BrokerEpoch(i+1))
		_ = m.Apply(message.Version(i+1), &c)
	}
	c := topic(7, "t")
	_ = m.Apply(7, &c)
	for i := range int32(20_000) {
		c := partition(7, i, 1, 0, 1, 2, 3)
		_ = m.Apply(7, &c)
	}
	b.ReportAllocs()
	epoch := int32(0)
	for b.Loop() {
		epoch++
		c := partition(7, 500, 1, epoch, 1, 2, 3)
		if err := m.Apply(8, &c); err != nil {
			b.Fatal(err)
		}
	}
}
