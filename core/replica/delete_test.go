package replica

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

func (w *world) deleted(token message.Token) *message.DeletedRecords {
	r, ok := w.replies[token].(*message.DeleteRecordsReply)
	if !ok {
		return nil
	}
	return &r.Partitions[0]
}

// A log start that clients have seen never falls, whoever leads next: the
// leader shows it when the whole ISR has it on disk.
func TestRecordsAreDeletedOnTheWholeISRBeforeAnybodyIsTold(t *testing.T) {
	w := newWorld(t, 2)
	w.create(p0, message.TopicConfig{}, 1, 2)
	w.put(1, "a", "b", "c")
	w.pass(message.Second)
	l, f := w.node(1), w.node(2)
	f.holdReads = true // and so the confirmation that the trim is durable
	l.look()
	f.look()
	token := w.deleteBefore(1, 2)
	w.pass(2 * message.Second)
	for _, e := range l.look() {
		_, trims := e.(effect.TrimPrefix)
		require.False(t, trims)
	}
	require.Nil(t, w.deleted(token))
	require.Equal(t, []string{"a0", "b0", "c0"}, values(t, l.readFrom(0).Records))
	require.EqualValues(t, 2, f.view(p0).Start)

	l.holdReads = true
	f.holdReads = false
	w.pass(message.Second)
	require.Nil(t, w.deleted(token), "the leader's own disk counts, too")
	require.EqualValues(t, 0, l.view(p0).ShownStart)
	l.holdReads = false
	w.run()
	require.Equal(t, &message.DeletedRecords{ID: p0, LogStart: 2}, w.deleted(token))
	require.EqualValues(t, 2, l.view(p0).ShownStart)
	require.Equal(t, message.OffsetOutOfRange, l.readFrom(1).Code)
	require.Equal(t, []string{"c0"}, values(t, l.readFrom(2).Records))

	// Before the trim its producers' deeds are safe in a checkpoint.
	var order []string
	for _, e := range l.look() {
		switch e.(type) {
		case effect.Checkpoint:
			order = append(order, "checkpoint")
		case effect.TrimPrefix:
			order = append(order, "trim")
		}
	}
	require.Equal(t, []string{"checkpoint", "trim"}, order)

	w.elect(p0, 2)
	w.run()
	require.EqualValues(t, 2, f.view(p0).ShownStart)
}

func TestDeleteRecordsKeepsToTheHighWatermarkAndToItsTime(t *testing.T) {
	w := newWorld(t, 2)
	w.create(p0, message.TopicConfig{}, 1, 2)
	w.put(1, "a", "b")
	w.pass(message.Second)
	w.apart(2)
	w.put(1, "c")
	require.Equal(t, message.OffsetOutOfRange, w.deleted(w.deleteBefore(1, 3)).Code)
	require.Equal(t, message.OffsetOutOfRange, w.deleted(w.deleteBefore(1, -2)).Code)
	require.Equal(t, message.NotLeaderOrFollower, w.deleted(w.deleteBefore(2, 1)).Code)
	require.Equal(t, &message.DeletedRecords{ID: p0, LogStart: 0}, w.deleted(w.deleteBefore(1, 0)))
	w.node(1).m.cfg.Lag = message.Hour
	late := w.deleteBefore(1, 1)
	w.pass(11 * message.Second)
	require.Equal(t, message.RequestTimedOut, w.deleted(late).Code)
	pending := w.deleteBefore(1, -1)
	w.elect(p0, 2)
	w.run()
	require.Equal(t, message.NotLeaderOrFollower, w.deleted(pending).Code)
	w.together()
	w.pass(5 * message.Second)
	require.Equal(t, w.node(1).view(p0).Start, w.node(2).view(p0).Start, "what one has given up goes everywhere")
}

// KAFKA-5634: retention must not remove what is not committed.
func TestRetentionStopsAtTheHighWatermark(t *testing.T) {
	w := newWorld(t, 2)
	size := int64(len(batch("a", 1)))
	w.create(p0, message.TopicConfig{SegmentBytes: 1, RetentionBytes: 2 * size, RetentionTime: -1}, 1, 2)
	w.put(1, "a", "b", "c")
	w.apart(2)
	w.put(1, "d", "e", "f", "g")
	w.pass(message.Second)
	v := w.node(1).view(p0)
	require.LessOrEqual(t, v.Start, record.Offset(3))
	require.EqualValues(t, 3, v.HighWatermark)
	w.together()
	w.pass(5 * message.Second)
	w.put(1, "h")
	w.pass(2 * message.Second)
	v = w.node(1).view(p0)
	require.Equal(t, v.Start, w.node(2).view(p0).Start)
	require.Greater(t, v.Start, record.Offset(3))
	require.Less(t, v.Start, v.HighWatermark)
}

func TestRecordsAgeWithoutATimerForWhatHoldsNone(t *testing.T) {
	w := newWorld(t, 2)
	p1 := record.PartitionID{Topic: 7, Index: 1}
	cfg := message.TopicConfig{SegmentBytes: 1, RetentionTime: message.Minute}
	w.create(p0, cfg, 1, 2)
	w.create(p1, cfg, 1, 2)
	w.put(1, "a", "b")
	w.pass(10 * message.Second)
	require.True(t, w.node(1).m.replicas[p0].care.IsSet())
	require.False(t, w.node(1).m.replicas[p1].care.IsSet(), "nothing in it")
	require.False(t, w.node(2).m.replicas[p0].care.IsSet(), "a follower follows")
	require.EqualValues(t, 0, w.node(1).view(p0).Start)
	w.pass(2 * message.Minute)
	for _, n := range w.nodes {
		require.EqualValues(t, 2, n.view(p0).Start)
		require.False(t, n.m.replicas[p0].care.IsSet())
	}
}

// Producers are kept for a week, records of a topic perhaps for a minute.
func TestRecordsGrowOldWhateverIsKnownOfTheirProducers(t *testing.T) {
	w := newWorld(t, 2)
	w.create(p0, message.TopicConfig{SegmentBytes: 1, RetentionTime: message.Minute}, 1, 2)
	w.node(1).produce(message.AcksAll, numbered(batch("a", 1), 5, 0))
	w.run()
	w.elect(p0, 2, 1, 2) // it followed, and knows the producer
	w.run()
	w.pass(2 * message.Minute)
	for _, n := range w.nodes {
		require.EqualValues(t, 1, n.view(p0).Start)
		require.Equal(t, 1, n.m.Log(p0).Producers())
	}
}

func TestInternalTopicsAreNotRetired(t *testing.T) {
	w := newWorld(t, 1)
	w.create(p0, message.TopicConfig{SegmentBytes: 1, RetentionTime: message.Second, RetentionBytes: 1, Internal: true}, 1)
	w.put(1, "a", "b", "c")
	w.pass(message.Hour)
	require.Equal(t, &message.DeletedRecords{ID: p0, LogStart: -1, Code: message.InvalidTopic}, w.deleted(w.deleteBefore(1, -1)), "nor by hand")
	require.EqualValues(t, 0, w.node(1).view(p0).Start)
}

func TestIdleProducersAreForgotten(t *testing.T) {
	w := newWorld(t, 2)
	w.node(1).m.cfg.ProducerIdle, w.node(2).m.cfg.ProducerIdle = message.Minute, message.Minute
	w.create(p0, message.TopicConfig{RetentionTime: -1}, 1, 2)
	w.node(1).produce(message.AcksAll, numbered(batch("a", 1), 5, 0))
	w.run()
	for _, n := range w.nodes {
		require.Equal(t, 1, n.m.Log(p0).Producers())
	}
	w.pass(3 * message.Minute)
	for _, n := range w.nodes {
		require.Zero(t, n.m.Log(p0).Producers())
		require.False(t, n.m.replicas[p0].idle.IsSet())
	}
}

// Recovery can use a checkpoint only when the log reaches as far.
func TestACheckpointTellsOnlyOfWhatIsFlushed(t *testing.T) {
	w := newWorld(t, 3)
	w.create(p0, message.TopicConfig{}, 1, 2, 3)
	w.setISR(p0, 1, 2)
	w.holdAlters = true
	w.run()
	w.node(1).alters = nil
	w.elect(p0, 1, 1, 2)
	w.run()
	n := w.node(3)
	n.m.cfg.CheckpointBatches = 1
	n.holdDisk = true
	w.commit(nil, []BrokerState{{Node: 3, Epoch: 3}})
	w.setISR(p0, 1, 2)
	w.put(1, "a", "b")
	w.pass(message.Second)
	require.EqualValues(t, 2, n.view(p0).HighWatermark, "committed without it")
	require.EqualValues(t, 0, n.view(p0).Flushed)
	require.Zero(t, n.disks[p0].mark.At)
	n.holdDisk = false
	w.run()
	require.EqualValues(t, 2, n.disks[p0].mark.At)
}

func TestARestartGoesOnFromACheckpoint(t *testing.T) {
	w := newWorld(t, 2)
	w.create(p0, message.TopicConfig{}, 1, 2)
	n := w.node(2)
	n.m.cfg.CheckpointBatches = 4
	for i := range 6 {
		w.node(1).produce(message.AcksAll, numbered(batch("a", 1), 5, record.Sequence(i)))
		w.pass(message.Second)
	}
	mark := n.disks[p0].mark
	require.Equal(t, []record.Offset{3, 3}, []record.Offset{mark.At, mark.HighWatermark}, "what is settled and flushed")
	n.do(func(m *Manager, _ message.Now, out *Out) { m.Stop(out) })
	require.EqualValues(t, 6, n.disks[p0].mark.At)
	n.crash()
	n.start()
	require.EqualValues(t, 6, n.view(p0).HighWatermark)
	require.Equal(t, w.node(1).m.Log(p0).Digest(), n.m.Log(p0).Digest())
}

// A replica that was touched is told of once, and forgotten with the next step when
// nobody asked: else those that were deleted would be kept as long as the node runs.
func TestWhatNobodyAsksForIsForgotten(t *testing.T) {
	w := newWorld(t, 1)
	touched := func() (ids []record.PartitionID) {
		w.node(1).m.Touched(func(id record.PartitionID) { ids = append(ids, id) })
		return ids
	}
	w.create(p0, message.TopicConfig{}, 1)
	m := w.node(1).m
	m.Begin()
	require.Equal(t, []record.PartitionID{p0}, touched(), "what was touched before the first step")
	require.Empty(t, touched())
	w.put(1, "a")
	require.Len(t, m.touched, 1)
	m.Begin()
	require.Empty(t, m.touched)
	w.put(1, "b")
	require.Equal(t, []record.PartitionID{p0}, touched(), "it is told of again")
}
