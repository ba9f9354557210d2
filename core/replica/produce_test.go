package replica

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

func TestARecordIsAcknowledgedWhenTheWholeISRHasFlushedIt(t *testing.T) {
	w := newWorld(t, 3)
	w.create(p0, message.TopicConfig{}, 1, 2, 3)
	l, f2, f3 := w.node(1), w.node(2), w.node(3)
	for _, n := range w.nodes {
		n.holdDisk = true
		n.look()
	}
	bytes := batch("a", 2)
	token := l.produce(message.AcksAll, bytes)
	require.Equal(t, []effect.Effect{
		effect.Append{Log: p0, Base: 0, End: 2, Batches: bytes},
		effect.Flush{Log: p0},
		effect.Read{Token: 1, Slices: []effect.Slice{{Log: p0, From: 0, To: 2, MaxBytes: 8 << 20}}},
		effect.Read{Token: 2, Slices: []effect.Slice{{Log: p0, From: 0, To: 2, MaxBytes: 8 << 20}}},
	}, l.look(), "appended, on its way to the disk, and read for both followers that wait")
	w.run()

	sends := func(n *node) (fetches, progress int) {
		for _, e := range n.look() {
			if s, ok := e.(effect.Send); ok {
				switch s.Msg.(type) {
				case *message.ReplicaFetch:
					fetches++
				case *message.ReplicaProgress:
					progress++
				}
			}
		}
		return
	}
	fetches, progress := sends(f2)
	require.Equal(t, []int{1, 0}, []int{fetches, progress}, "a follower fetches on while its disk works")

	f2.holdDisk = false
	w.run()
	fetches, progress = sends(f2)
	require.Equal(t, []int{0, 1}, []int{fetches, progress}, "and reports without waiting for the fetch")
	f3.holdDisk = false
	w.run()
	require.Nil(t, w.produced(token), "the leader's own disk counts, too")
	require.EqualValues(t, 0, l.view(p0).HighWatermark)

	l.look()
	l.holdDisk = false
	w.run()
	require.Equal(t, []effect.Effect{effect.Reply{Token: token, Msg: &message.ProduceReply{
		Partitions: []message.ProducedPartition{{ID: p0, BaseOffset: 0, LeaderEpoch: -1}},
	}}}, l.look())
	require.EqualValues(t, 2, l.view(p0).HighWatermark)

	w.pass(10 * message.Millisecond)
	require.EqualValues(t, 2, f2.view(p0).HighWatermark, "followers learn of it a little later")
	require.EqualValues(t, 2, f3.view(p0).HighWatermark)
	require.Equal(t, l.contents(p0), f2.contents(p0))
}

func TestAcksOneWaitsForTheLeaderAndAcksNoneForNobody(t *testing.T) {
	w := newWorld(t, 2)
	w.create(p0, message.TopicConfig{}, 1, 2)
	l := w.node(1)
	l.holdDisk = true
	one := l.produce(message.AcksLeader, batch("a", 1))
	none := l.produce(message.AcksNone, batch("b", 1))
	require.Empty(t, w.replies)
	l.complete(0) // Appended, not Flushed
	require.Equal(t, message.None, w.code(one))
	l.holdDisk = false
	w.run()
	require.NotContains(t, w.replies, none)
	require.Equal(t, []string{"a0", "b0"}, values(t, w.node(2).contents(p0)))

	bad := l.produce(7, batch("c", 1))
	require.Equal(t, message.InvalidRequiredAcks, w.code(bad))
}

func TestTooFewInSyncRefusesBeforeAndTellsAfter(t *testing.T) {
	w := newWorld(t, 3)
	w.create(p0, message.TopicConfig{}, 1, 2, 3)
	l := w.node(1)
	w.held = func(x wire) bool { return x.to == 1 || x.from == 1 }
	waits := l.produce(message.AcksAll, batch("a", 1))
	w.run()
	require.Nil(t, w.produced(waits))
	w.holdAlters = true // else they come back: they have all that is committed
	w.setISR(p0, 1)
	w.run()
	require.Equal(t, message.NotEnoughReplicasAfterAppend, w.code(waits))
	require.EqualValues(t, 0, l.view(p0).HighWatermark, "nothing is committed below min.insync (KAFKA-15583)")

	refused := l.produce(message.AcksAll, batch("b", 1))
	require.Equal(t, message.NotEnoughReplicas, w.code(refused))
	require.EqualValues(t, 1, l.view(p0).End, "nothing was written")
	weak := l.produce(message.AcksLeader, batch("c", 1))
	w.run()
	require.Equal(t, message.None, w.code(weak))
	require.EqualValues(t, 0, l.view(p0).HighWatermark)
}

func TestAProduceThatTheISRDoesNotReachInTimeTimesOut(t *testing.T) {
	w := newWorld(t, 2)
	w.create(p0, message.TopicConfig{}, 1, 2)
	w.held = func(x wire) bool { return x.from == 2 }
	w.node(1).m.cfg.Lag = message.Hour
	token := w.node(1).produce(message.AcksAll, batch("a", 1))
	w.pass(29 * message.Second)
	require.Nil(t, w.produced(token))
	w.pass(2 * message.Second)
	require.Equal(t, message.RequestTimedOut, w.code(token))
	require.Zero(t, w.node(1).view(p0).Waiting)
	w.held = nil
	w.pass(3 * message.Second)
	require.EqualValues(t, 1, w.node(1).view(p0).HighWatermark, "it is committed all the same")
}

func TestADuplicateWaitsLikeTheOriginalAndIsAnsweredWithItsOffset(t *testing.T) {
	w := newWorld(t, 2)
	w.create(p0, message.TopicConfig{}, 1, 2)
	l := w.node(1)
	require.Equal(t, message.None, func() message.Code {
		first := l.produce(message.AcksAll, batch("x", 3))
		w.run()
		return w.code(first)
	}())
	w.node(2).holdDisk = true
	original := l.produce(message.AcksAll, numbered(batch("a", 2), 9, 0))
	other := l.produce(message.AcksAll, numbered(batch("b", 2), 9, 2))
	again := l.produce(message.AcksAll, numbered(batch("a", 2), 9, 0))
	w.run()
	require.Nil(t, w.produced(original))
	require.Nil(t, w.produced(again), "not committed: whoever asks again waits as well")
	w.node(2).holdDisk = false
	w.run()
	require.EqualValues(t, 3, w.produced(original).BaseOffset)
	require.EqualValues(t, 3, w.produced(again).BaseOffset)
	require.EqualValues(t, 5, w.produced(other).BaseOffset)
	require.EqualValues(t, 7, l.view(p0).End, "it is there once")

	late := l.produce(message.AcksAll, numbered(batch("a", 2), 9, 0))
	require.EqualValues(t, 3, w.produced(late).BaseOffset, "committed: answered at once")
	gap := l.produce(message.AcksAll, numbered(batch("a", 2), 9, 100))
	require.Equal(t, message.OutOfOrderSequence, w.code(gap))

	w.holdAlters = true
	w.setISR(p0, 1)
	w.run()
	l.produce(message.AcksLeader, numbered(batch("c", 1), 9, 4))
	pending := l.produce(message.AcksAll, numbered(batch("c", 1), 9, 4))
	require.Equal(t, message.NotEnoughReplicasAfterAppend, w.code(pending),
		"it is in the log: the producer must not believe that it never will be")
}

func TestADuplicateIsAnsweredAheadOfWhatWasAppendedSince(t *testing.T) {
	w := newWorld(t, 2)
	w.create(p0, message.TopicConfig{}, 1, 2)
	l, f := w.node(1), w.node(2)
	f.holdDisk = true
	l.produce(message.AcksAll, numbered(batch("a", 1), 9, 0))
	w.run()
	later := l.produce(message.AcksAll, numbered(batch("b", 1), 9, 1))
	w.run()
	again := l.produce(message.AcksAll, numbered(batch("a", 1), 9, 0))
	f.complete(slices.Index(f.pending, effect.Input(effect.Flushed{Log: p0, End: 1})))
	w.run()
	require.Equal(t, message.None, w.code(again))
	require.Nil(t, w.produced(later))
}

func TestWhatCannotBeAppendedIsRefusedWithItsReason(t *testing.T) {
	w := newWorld(t, 2)
	w.create(p0, message.TopicConfig{MaxBatchBytes: 200}, 1, 2)
	l := w.node(1)
	code := func(b []byte) message.Code { return w.code(l.produce(message.AcksAll, b)) }
	require.Equal(t, message.MessageTooLarge, code(batch("a", 100)))
	torn := batch("a", 2)
	torn[len(torn)-1] ^= 1
	require.Equal(t, message.CorruptMessage, code(torn))
	require.Equal(t, message.CorruptMessage, code(batch("a", 2)[:50]))
	require.Equal(t, message.InvalidRequest, code(append(batch("a", 1), batch("b", 1)...)))
	require.EqualValues(t, 0, l.view(p0).End)

	follower := w.node(2).produce(message.AcksAll, batch("a", 1))
	require.Equal(t, &message.ProducedPartition{
		ID: p0, Code: message.NotLeaderOrFollower, BaseOffset: -1, LogStart: -1, Leader: 1, LeaderEpoch: 0,
	}, w.produced(follower), "with a hint to the leader (KIP-951)")

	l.do(func(m *Manager, now message.Now, out *Out) { m.DiskSpace(now, effect.DiskSpace{Low: true}, out) })
	require.Equal(t, message.DiskFull, code(batch("a", 1)))
	l.do(func(m *Manager, now message.Now, out *Out) { m.DiskSpace(now, effect.DiskSpace{}, out) })
	fine := l.produce(message.AcksAll, batch("a", 1))
	w.run()
	require.Equal(t, message.None, w.code(fine))
}

// KAFKA-1148, KAFKA-2960 and Redpanda's ack-survives-deposition: judged after
// the election by offsets that now name other records, the waiter would be told
// that its record is safe.
func TestADeposedLeaderAnswersWhoeverWaits(t *testing.T) {
	w := newWorld(t, 2)
	w.create(p0, message.TopicConfig{MinInsync: 1}, 1, 2)
	old, next := w.node(1), w.node(2)
	w.held = func(x wire) bool { return true }
	lost := old.produce(message.AcksAll, batch("lost", 1))
	weak := old.produce(message.AcksLeader, batch("weak", 1))
	reader := old.fetch(&message.Fetch{MaxWait: message.Hour, MinBytes: 1, MaxBytes: 1, Partitions: []message.FetchPartition{
		{ID: p0, LeaderEpoch: -1, Offset: 0, LastEpoch: -1, MaxBytes: 1},
	}})
	old.do(func(m *Manager, now message.Now, out *Out) { m.LocalAppend(now, p0, 0, 77, batch("local", 1), out) })
	require.Empty(t, w.replies)
	old.complete(slices.Index(old.pending, effect.Input(effect.Appended{Log: p0, End: 2}))) // nothing is flushed
	old.holdDisk = true
	w.elect(p0, 2)
	w.run()

	require.Equal(t, message.ProducedPartition{
		ID: p0, Code: message.NotLeaderOrFollower, BaseOffset: -1, Leader: 2, LeaderEpoch: 1,
	}, *w.produced(lost))
	require.Equal(t, message.None, w.code(weak), "it had been appended by then")
	require.Equal(t, message.NotLeaderOrFollower, w.replies[reader].(*message.FetchReply).Partitions[0].Code)
	require.Equal(t, []LocalResult{{Ticket: 77, Code: message.NotLeaderOrFollower, Base: 2}}, old.local)

	w.held, old.holdDisk = nil, false
	for range 4 {
		next.produce(message.AcksAll, batch("new", 1))
	}
	w.pass(3 * message.Second)
	require.EqualValues(t, 4, old.view(p0).HighWatermark)
	require.Equal(t, next.contents(p0), old.contents(p0))
	require.Equal(t, message.NotLeaderOrFollower, w.code(lost))
}

func TestTooMuchUnflushedHoldsProducesBackInOrder(t *testing.T) {
	w := newWorld(t, 1)
	n := w.node(1)
	n.m.cfg.UnflushedBytes, n.m.cfg.HeldBytes = 50, 500
	w.create(p0, message.TopicConfig{}, 1)
	n.holdDisk = true
	var tokens []message.Token
	for i := range 3 {
		tokens = append(tokens, n.produce(message.AcksAll, numbered(batch("a", 1), 5, record.Sequence(i))))
	}
	require.EqualValues(t, 1, n.view(p0).End, "two wait until the first is flushed")
	for range 2 {
		n.produce(message.AcksAll, batch("b", 1))
	}
	over := n.produce(message.AcksAll, batch("c", 1))
	require.Equal(t, message.BrokerNotAvailable, w.code(over), "what waits is bounded")
	w.pass(31 * message.Second)
	require.Equal(t, message.BrokerNotAvailable, w.code(tokens[2]), "and so is the time")
	require.Zero(t, n.m.heldBytes)

	again := n.produce(message.AcksAll, numbered(batch("a", 1), 5, 1))
	n.holdDisk = false
	w.run()
	require.Equal(t, message.None, w.code(again))
	require.EqualValues(t, 2, n.view(p0).HighWatermark)
	require.Zero(t, n.m.unflushed)
}

func TestAReplyWithSeveralPartitionsWaitsForAll(t *testing.T) {
	w := newWorld(t, 2)
	p1 := record.PartitionID{Topic: 7, Index: 1}
	w.create(p0, message.TopicConfig{}, 1, 2)
	w.create(p1, message.TopicConfig{MinInsync: 1}, 1)
	l := w.node(1)
	w.node(2).holdDisk = true
	w.tokens++
	l.do(func(m *Manager, now message.Now, out *Out) {
		m.Produce(now, w.tokens, &message.Produce{Acks: message.AcksAll, Timeout: message.Second, Partitions: []message.ProducePartition{
			{ID: p0, Records: batch("a", 1)}, {ID: p1, Records: batch("b", 1)}, {ID: record.PartitionID{Topic: 99}, Records: batch("c", 1)},
		}}, out)
	})
	w.run()
	require.Empty(t, w.replies)
	require.EqualValues(t, 1, l.view(p1).HighWatermark)
	w.pass(2 * message.Second)
	require.Equal(t, []message.ProducedPartition{
		{ID: p0, Code: message.RequestTimedOut, BaseOffset: -1, LeaderEpoch: -1},
		{ID: p1, BaseOffset: 0, LeaderEpoch: -1},
		{ID: record.PartitionID{Topic: 99}, Code: message.UnknownTopicOrPartition, BaseOffset: -1, LogStart: -1, LeaderEpoch: -1},
	}, w.replies[w.tokens].(*message.ProduceReply).Partitions)
}
