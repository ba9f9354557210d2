package replica

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// add begins the move that adds a node to a partition.
func (w *world) add(id record.PartitionID, node message.NodeID) {
	s := *w.parts[id]
	s.Replicas = append(slices.Clone(s.Replicas), node)
	s.Adding = append(slices.Clone(s.Adding), node)
	s.PartitionEpoch++
	w.commit([]PartitionState{s}, nil)
}

// remove takes a node out of a partition, under a new leader epoch.
func (w *world) remove(id record.PartitionID, node message.NodeID) {
	s := *w.parts[id]
	gone := func(n message.NodeID) bool { return n == node }
	s.Replicas = slices.DeleteFunc(slices.Clone(s.Replicas), gone)
	s.Adding = slices.DeleteFunc(slices.Clone(s.Adding), gone)
	s.ISR = slices.DeleteFunc(slices.Clone(s.ISR), gone)
	s.LeaderEpoch++
	s.PartitionEpoch++
	w.commit([]PartitionState{s}, nil)
}

func (w *world) pace(rate int64) {
	for _, n := range w.nodes {
		n.do(func(m *Manager, now message.Now, out *Out) { m.SetPace(now, rate, out) })
	}
}

func TestAnAddedReplicaCopiesAndJoins(t *testing.T) {
	w := newWorld(t, 4)
	w.create(p0, message.TopicConfig{}, 1, 2)
	w.put(1, "a", "b")
	w.add(p0, 3)
	w.run()
	require.Equal(t, []message.NodeID{1, 2, 3}, w.parts[p0].ISR)
	require.Equal(t, w.node(1).contents(p0), w.node(3).contents(p0))
	require.Equal(t, 2, w.node(1).view(p0).MinInsync)
}

// Replicas that are being added do not count for min.insync: a topic with one
// replica takes records while its second one copies.
func TestMinInsyncStaysWhileReplicasAreAdded(t *testing.T) {
	w := newWorld(t, 2)
	w.create(p0, message.TopicConfig{}, 1)
	w.apart(1, 2)
	w.add(p0, 2)
	w.run()
	require.Equal(t, 1, w.node(1).view(p0).MinInsync)
	token := w.node(1).produce(message.AcksAll, batch("x", 1))
	w.run()
	require.Equal(t, message.None, w.code(token))
}

// A broker deletes its replica and gets it again while a flush of the old log is
// under way. What that says is about the old log.
func TestAFlushOfADeletedLogSaysNothingOfTheNext(t *testing.T) {
	w := newWorld(t, 3)
	w.create(p0, message.TopicConfig{}, 1, 2, 3)
	w.put(1, "a", "b", "c")
	w.node(3).holdDisk = true
	w.node(1).produce(message.AcksLeader, batch("d", 5))
	w.run()
	w.apart(3, 1) // nothing of the new log comes
	w.remove(p0, 3)
	w.add(p0, 3)
	w.run()
	made := slices.DeleteFunc(w.node(3).look(), func(e effect.Effect) bool { _, ok := e.(effect.CreateLog); return !ok })
	require.Equal(t, effect.Cut(1), made[len(made)-1].(effect.CreateLog).Cut)
	w.node(3).do(func(m *Manager, now message.Now, out *Out) {
		m.Flushed(now, effect.Flushed{Log: p0, Cut: 0, End: 8}, out)
	})
	require.Empty(t, w.node(3).halted)
	require.Zero(t, w.node(3).view(p0).Flushed)
	w.node(3).pending = nil // the rest of what was asked of the old log
	w.node(3).holdDisk = false
	w.together()
	w.pass(5 * message.Second)
	require.Equal(t, []message.NodeID{1, 2, 3}, w.parts[p0].ISR)
	require.Equal(t, w.node(1).contents(p0), w.node(3).contents(p0))
}

// A follower leaves and comes back before its leader hears from it again: its
// position of before is none of the new log.
func TestWhatALeftReplicaHadDoesNotCountWhenItComesBack(t *testing.T) {
	w := newWorld(t, 3)
	w.create(p0, message.TopicConfig{}, 1, 2, 3)
	w.put(1, "a", "b")
	w.apart(3, 1)
	w.remove(p0, 3)
	w.add(p0, 3)
	w.run()
	for _, f := range w.node(1).view(p0).Followers {
		if f.Node == 3 {
			require.Equal(t, record.Offset(-1), f.Flushed)
		}
	}
	require.Equal(t, []message.NodeID{1, 2}, w.parts[p0].ISR)
}

func TestAddedReplicasKeepToTheThrottleAndOthersAreFree(t *testing.T) {
	w := newWorld(t, 3)
	w.create(p0, message.TopicConfig{}, 1, 2)
	size := int64(len(batch("0123456789", 10)))
	for range 40 {
		w.put(1, "0123456789")
	}
	total := int64(len(w.node(1).contents(p0)))
	w.pace(4 * size)
	w.add(p0, 3)
	w.run()
	began := w.now.Mono
	copied := func() int64 { return int64(len(w.node(3).contents(p0))) }
	for copied() < total {
		w.pass(250 * message.Millisecond)
		passed := int64(w.now.Mono.Sub(began) / message.Millisecond)
		require.LessOrEqual(t, copied(), size*4*(passed+250)/1000+size, "after %d ms", passed)
		require.Less(t, passed, int64(60_000), "it gets there")
		require.Equal(t, w.node(1).view(p0).HighWatermark, w.node(2).view(p0).HighWatermark, "who is in sync does not wait")
	}
	w.pass(message.Second)
	require.Equal(t, []message.NodeID{1, 2, 3}, w.parts[p0].ISR)
	require.Zero(t, w.node(3).m.HeldBack())

	// In sync it is free, although its move is not over.
	for range 40 {
		w.put(1, "0123456789")
	}
	w.run()
	require.Equal(t, w.node(1).view(p0).End, w.node(3).view(p0).End)
}

// What was asked for before the throttle fell comes; it is paid for under the new one
// before anything else is copied.
func TestWhatWasAskedForBeforeTheThrottleFellIsPaidFor(t *testing.T) {
	w := newWorld(t, 3)
	w.create(p0, message.TopicConfig{}, 1, 2)
	for range 40 {
		w.put(1, "0123456789")
	}
	total := int64(len(w.node(1).contents(p0)))
	w.pace(10 * total)
	w.pass(message.Second)
	w.add(p0, 3)
	w.node(3).learn()
	w.pace(total / 10) // the first fetch is under way
	w.run()
	require.Equal(t, w.node(1).contents(p0), w.node(3).contents(p0), "it had asked for all")
	w.put(1, "0123456789")
	w.pass(9 * message.Second)
	require.Equal(t, 1, w.node(3).m.HeldBack(), "it has copied what ten seconds give")
	require.Less(t, w.node(3).view(p0).End, w.node(1).view(p0).End)
	w.pass(2 * message.Second)
	require.Zero(t, w.node(3).m.HeldBack())
	require.Equal(t, w.node(1).contents(p0), w.node(3).contents(p0))
	require.Equal(t, []message.NodeID{1, 2, 3}, w.parts[p0].ISR)
}

func TestAThrottleThatIsLiftedHoldsNobodyBack(t *testing.T) {
	w := newWorld(t, 3)
	w.create(p0, message.TopicConfig{}, 1, 2)
	for range 20 {
		w.put(1, "0123456789")
	}
	w.pace(1)
	w.add(p0, 3)
	w.pass(5 * message.Second)
	require.Equal(t, 1, w.node(3).m.HeldBack())
	w.pace(0)
	w.run()
	require.Equal(t, w.node(1).contents(p0), w.node(3).contents(p0))
}

// A move that is called off takes the replica away although it waits.
func TestAHeldBackReplicaLeaves(t *testing.T) {
	w := newWorld(t, 3)
	w.create(p0, message.TopicConfig{}, 1, 2)
	for range 20 {
		w.put(1, "0123456789")
	}
	w.pace(1)
	w.add(p0, 3)
	w.pass(message.Second)
	require.Equal(t, 1, w.node(3).m.HeldBack())
	w.remove(p0, 3)
	w.run()
	require.Zero(t, w.node(3).m.HeldBack())
	require.NotContains(t, w.node(3).disks, p0)
	w.pass(5 * message.Second)
	require.Empty(t, w.node(3).halted)
}
