package replica

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
)

// alter commits other settings of a partition's topic.
func (w *world) alter(cfg message.TopicConfig) {
	s := *w.parts[p0]
	s.Config = cfg
	w.commit([]PartitionState{s}, nil)
	w.run()
}

// A minimum that rises above what is in sync is felt at once by those who wait,
// and one that falls lets the high watermark go on.
func TestAnotherMinInsyncHoldsAtOnce(t *testing.T) {
	w := newWorld(t, 3)
	w.create(p0, message.TopicConfig{MinInsync: 2}, 1, 2, 3)
	l := w.node(1)
	w.holdAlters = true
	w.setISR(p0, 1, 2)
	w.run()
	w.held = func(x wire) bool { return x.to == 1 || x.from == 1 }
	waits := l.produce(message.AcksAll, batch("a", 1))
	w.run()
	require.Nil(t, w.produced(waits))
	w.alter(message.TopicConfig{MinInsync: 3})
	require.Equal(t, message.NotEnoughReplicasAfterAppend, w.code(waits))
	require.Equal(t, message.NotEnoughReplicas, w.code(l.produce(message.AcksAll, batch("b", 1))))

	w.held = nil
	w.run()
	w.pass(message.Second)
	require.EqualValues(t, 1, l.view(p0).End)
	require.EqualValues(t, 0, l.view(p0).HighWatermark, "two of three have it, and three must be in sync")
	w.alter(message.TopicConfig{MinInsync: 2})
	require.EqualValues(t, 1, l.view(p0).HighWatermark)
	last := l.produce(message.AcksAll, batch("c", 1))
	w.run()
	require.Equal(t, message.None, w.code(last))
}

// Limits that become narrower retire records at once, not with the timer of the
// old ones; the disk is told another segment size.
func TestOtherLimitsHoldAtOnce(t *testing.T) {
	w := newWorld(t, 1)
	w.create(p0, message.TopicConfig{RetentionTime: -1, SegmentBytes: 200}, 1)
	l := w.node(1)
	for range 8 {
		l.produce(message.AcksAll, batch("x", 3))
		w.run()
	}
	require.EqualValues(t, 0, l.view(p0).Start)
	l.look()
	w.alter(message.TopicConfig{RetentionTime: -1, RetentionBytes: 300, SegmentBytes: 400})
	require.Contains(t, l.look(), effect.ConfigureLog{Log: p0, Config: effect.LogConfig{SegmentBytes: 400}})
	require.NotZero(t, l.view(p0).Start)
	least, retention, segment, ok := l.m.Goes(p0)
	require.Equal(t, []any{1, int64(300), int32(400), true}, []any{least, retention.Bytes, segment, ok})
}

// A limit that retires all there is leaves no timer of the old one behind, which
// would keep what comes next for as long.
func TestWhatComesAfterAnotherLimitGrowsOldByIt(t *testing.T) {
	w := newWorld(t, 1)
	w.create(p0, message.TopicConfig{SegmentBytes: 1}, 1) // a week
	l := w.node(1)
	w.put(1, "a")
	w.pass(2 * message.Minute)
	require.EqualValues(t, 0, l.view(p0).Start)
	w.alter(message.TopicConfig{SegmentBytes: 1, RetentionTime: message.Minute})
	w.run()
	require.EqualValues(t, 1, l.view(p0).Start)
	w.put(1, "b")
	w.pass(2 * message.Minute)
	require.EqualValues(t, 2, l.view(p0).Start)
}

// A limit on size that the leader could not follow any more before it was deposed
// holds for the next one at once: a log that is at rest gets no record that would
// make it look.
func TestANewLeaderLooksAtTheSizeOfItsLog(t *testing.T) {
	w := newWorld(t, 2)
	w.create(p0, message.TopicConfig{SegmentBytes: 1, RetentionTime: -1}, 1, 2)
	w.put(1, "a", "b", "c", "d")
	w.pass(5 * message.Second) // both know that all of it is committed
	w.apart(1)
	w.alter(message.TopicConfig{SegmentBytes: 1, RetentionTime: -1, RetentionBytes: 1})
	require.EqualValues(t, 0, w.node(2).view(p0).Start)
	w.together()
	w.elect(p0, 2, 1, 2)
	w.pass(5 * message.Second)
	for _, n := range w.nodes {
		require.EqualValues(t, 3, n.view(p0).Start)
	}
}
