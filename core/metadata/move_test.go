package metadata

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core/message"
)

// onTheWay is partition 5/0 of small on its way from 1, 2 to 3.
func onTheWay(change func(*message.PartitionChange)) message.Change {
	c := partition(5, 0, 1, 0, 1, 2)
	p := c.Partition
	p.PartitionEpoch = 1
	p.Replicas = []message.NodeID{1, 2, 3}
	p.Adding, p.Target = []message.NodeID{3}, []message.NodeID{3, 2}
	change(p)
	return c
}

func TestAMoveIsPartOfTheImage(t *testing.T) {
	m := small(t)
	begun := onTheWay(func(*message.PartitionChange) {})
	require.NoError(t, m.Apply(11, &begun))
	p := m.Partition(begun.Partition.ID)
	require.True(t, Moving(p))
	require.Equal(t, []message.NodeID{1, 2}, Original(p))
	require.Equal(t, 2, Factor(p))
	require.Equal(t, 1, m.Moving())
	require.Equal(t, 2, m.Hosts(3), "what is being added counts as held")

	ended := onTheWay(func(p *message.PartitionChange) {
		p.Replicas, p.Adding, p.Target, p.ISR = []message.NodeID{3, 2}, nil, nil, []message.NodeID{3, 2}
		p.Leader, p.LeaderEpoch, p.PartitionEpoch = 2, 1, 2
	})
	same := ended
	same.Partition = new(message.PartitionChange)
	*same.Partition = *ended.Partition
	same.Partition.Leader, same.Partition.LeaderEpoch = message.NoNode, 0
	require.ErrorContains(t, m.Apply(12, &same), "goes from leader 1")
	require.NoError(t, m.Apply(12, &ended))
	require.Zero(t, m.Moving())
}

func TestReplicasLeaveOnlyWithANewLeaderEpoch(t *testing.T) {
	m := small(t)
	c := onTheWay(func(p *message.PartitionChange) {
		p.Replicas, p.Adding, p.Target, p.ISR = []message.NodeID{1}, nil, nil, []message.NodeID{1}
	})
	require.ErrorContains(t, m.Apply(11, &c), "leaves in leader epoch 0, in which it was heard")
	c.Partition.LeaderEpoch = 1
	require.NoError(t, m.Apply(11, &c))
}

func TestMovesThatMakeNoSenseAreRefused(t *testing.T) {
	for name, c := range map[string]message.Change{
		"added and no target":    onTheWay(func(p *message.PartitionChange) { p.Target = nil }),
		"added, but not at last": onTheWay(func(p *message.PartitionChange) { p.Adding = []message.NodeID{2} }),
		"all are added":          onTheWay(func(p *message.PartitionChange) { p.Adding = []message.NodeID{1, 2, 3} }),
		"a target elsewhere":     onTheWay(func(p *message.PartitionChange) { p.Target = []message.NodeID{9} }),
		"a target twice":         onTheWay(func(p *message.PartitionChange) { p.Target = []message.NodeID{3, 3} }),
		"a broker with replicas": {RemoveBroker: &message.RemoveBrokerChange{Node: 1, Epoch: small(t).Broker(1).Epoch}},
		"no such broker":         {RemoveBroker: &message.RemoveBrokerChange{Node: 9, Epoch: 1}},
		"a throttle below 0":     {Throttle: &message.ThrottleChange{BytesPerSecond: -1}},
		"a throttle too high":    {Throttle: &message.ThrottleChange{BytesPerSecond: message.LargestThrottle + 1}},
	} {
		m := small(t)
		require.Error(t, m.Apply(11, &c), name)
		require.True(t, m.Equal(small(t)), name)
	}
}

// What a broker that was far behind is told at once is what it would have been
// told step by step.
func TestASnapshotTellsOfMovesDrainsAndRemovals(t *testing.T) {
	m, later := small(t), small(t)
	drained := registered(2, 2)
	state := *small(t).Broker(2)
	state.Draining = true
	drained.Broker = &state
	late := registered(9, 12)
	for i, c := range []message.Change{
		onTheWay(func(*message.PartitionChange) {}), late, drained, {Throttle: &message.ThrottleChange{BytesPerSecond: 500}},
	} {
		require.NoError(t, later.Apply(message.Version(11+i), &c))
	}
	require.Equal(t, 1, later.Draining())
	require.True(t, later.Shuns(2))
	stored, err := Decode(Encode(later.Snapshot()))
	require.NoError(t, err)
	again, err := Restore(later.Version(), stored)
	require.NoError(t, err)
	require.True(t, later.Equal(again))
	require.Equal(t, []int{1, 1, 500}, []int{again.Moving(), again.Draining(), int(again.Throttle())})

	changed := m.Difference(later)
	require.Contains(t, changed, drained)
	require.Contains(t, changed, message.Change{Throttle: &message.ThrottleChange{BytesPerSecond: 500}})
	gone := message.Change{RemoveBroker: &message.RemoveBrokerChange{Node: 9, Epoch: 12}}
	before := later.Clone()
	require.NoError(t, later.Apply(20, &gone))
	require.Equal(t, []message.Change{gone}, before.Difference(later))
	require.NotNil(t, before.Broker(9))
}

func FuzzDecodeMoves(f *testing.F) {
	state := *small(f).Broker(2)
	state.Draining = true
	f.Add(Encode([]message.Change{
		onTheWay(func(*message.PartitionChange) {}), {Broker: &state}, {Throttle: &message.ThrottleChange{BytesPerSecond: 7}},
		{RemoveBroker: &message.RemoveBrokerChange{Node: 3, Epoch: 4}},
	}))
	f.Fuzz(func(t *testing.T, b []byte) {
		changes, err := Decode(b)
		if err != nil {
			return
		}
		again, err := Decode(Encode(changes))
		require.NoError(t, err)
		require.Equal(t, changes, again)
	})
}

// A node without settings of its own goes by those of all again: who was far behind is
// told that it has none any more.
func TestASnapshotTellsOfSettingsThatAreGone(t *testing.T) {
	m := small(t)
	set := message.Change{Settings: &message.SettingsChange{Node: 2, Settings: []message.Setting{{Key: "fetch-wait", Value: "1s"}}}}
	require.NoError(t, m.Apply(11, &set))
	later := m.Clone()
	gone := message.Change{Settings: &message.SettingsChange{Node: 2}}
	require.NoError(t, later.Apply(12, &gone))
	require.Equal(t, []message.Change{gone}, m.Difference(later))
	require.Equal(t, []message.Change{set}, later.Difference(m))
}
