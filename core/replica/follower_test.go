package replica

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// put appends records through a leader, to all that follow it and are not cut off.
func (w *world) put(leader int, texts ...string) {
	w.run()
	for _, text := range texts {
		w.node(leader).produce(message.AcksLeader, batch(text, 1))
	}
	w.run()
}

// apart cuts nodes off from all others.
func (w *world) apart(ids ...int) {
	w.cut = func(x wire) bool {
		for _, id := range ids {
			if int(x.from) == id || int(x.to) == id {
				return true
			}
		}
		return false
	}
}

func (w *world) together() { w.cut = nil }

// KIP-101: a follower that truncates to its own high watermark, which comes a
// round trip late, cuts what has been committed.
func TestARestartedFollowerKeepsWhatItsOwnHighWatermarkDoesNotCover(t *testing.T) {
	w := newWorld(t, 2)
	w.create(p0, message.TopicConfig{}, 1, 2)
	acked := w.node(1).produce(message.AcksAll, batch("r", 1))
	w.run() // no time passes: 2 has not been told the high watermark
	require.Equal(t, message.None, w.code(acked))
	require.EqualValues(t, 0, w.node(2).view(p0).HighWatermark)

	w.node(2).crash()
	w.apart(1)
	w.node(2).start()
	w.run()
	require.EqualValues(t, 1, w.node(2).view(p0).End)
	w.node(1).crash()
	w.elect(p0, 2, 2)
	w.together()
	w.run()
	w.put(2, "s")
	w.node(1).start()
	w.pass(3 * message.Second)
	for _, n := range w.nodes {
		require.Equal(t, []string{"r0", "s0"}, values(t, n.contents(p0)), "node %d", n.id)
	}
}

// KIP-279: after elections in quick succession a leader is asked for the end of
// an epoch that it never held.
func TestHistoriesMeetAfterQuickSuccessionsOfLeaders(t *testing.T) {
	w := newWorld(t, 3)
	w.create(p0, message.TopicConfig{MinInsync: 1}, 1, 2, 3)
	w.put(1, "a", "b")
	w.apart(2)
	w.put(1, "c", "d") // on 1 and 3 only
	w.node(1).crash()
	w.elect(p0, 2)
	w.run()
	w.apart(1, 2, 3)
	w.put(2, "x", "y", "z") // on 2 only
	w.node(2).crash()
	w.together()
	w.elect(p0, 3)
	w.run()
	w.put(3, "e")
	w.node(2).look()
	w.node(2).start()
	w.node(1).start()
	w.pass(3 * message.Second)
	for _, n := range w.nodes {
		require.Equal(t, []string{"a0", "b0", "c0", "d0", "e0"}, values(t, n.contents(p0)), "node %d", n.id)
	}
}

// The second half of KIP-279: the answer is about the leader's epochs, and is
// lowered to where the same epoch ends here. Without it this log, which is the
// shorter one, would find nothing to cut.
func TestAFollowerLowersTheCutToItsOwnHistory(t *testing.T) {
	w := newWorld(t, 2)
	w.create(p0, message.TopicConfig{}, 1, 2)
	w.put(1, "a")
	w.pass(message.Second)
	w.apart(1)
	w.put(1, "b", "c", "d")
	w.elect(p0, 2)
	w.put(2, "x")
	w.elect(p0, 1)
	w.run()
	require.EqualValues(t, 2, w.node(2).view(p0).End)
	w.node(2).look()
	w.together()
	w.pass(2 * message.Second)
	require.Contains(t, w.node(2).look(), effect.Effect(effect.Truncate{Log: p0, Cut: 1, To: 1}))
	require.Equal(t, []string{"a0", "b0", "c0", "d0"}, values(t, w.node(2).contents(p0)))
}

// KAFKA-7415: a leader that has written nothing in its epoch must still be able
// to say where a foreign epoch ends.
func TestALeaderWithoutARecordOfItsEpochTellsWhereAnotherEnds(t *testing.T) {
	w := newWorld(t, 3)
	w.create(p0, message.TopicConfig{MinInsync: 1}, 1, 2, 3)
	w.put(1, "a")
	w.elect(p0, 2)
	w.run()
	w.apart(2)
	w.put(2, "junk")
	w.elect(p0, 3, 1, 3)
	w.run()
	require.EqualValues(t, 1, w.node(3).view(p0).HighWatermark)
	w.node(2).look()
	w.together()
	w.pass(3 * message.Second)
	require.Contains(t, w.node(2).look(), effect.Truncate{Log: p0, Cut: 1, To: 1})
	require.Equal(t, []string{"a0"}, values(t, w.node(2).contents(p0)))
	require.True(t, w.node(2).view(p0).Matched, "what came with 'you diverge' was not taken, and so is told again")

	w.tokens++
	w.node(3).do(func(m *Manager, now message.Now, out *Out) {
		m.OffsetForLeaderEpoch(now, w.tokens, &message.OffsetForLeaderEpoch{Partitions: []message.EpochQuestion{
			{ID: p0, LeaderEpoch: 2, Epoch: 1}, {ID: p0, LeaderEpoch: -1, Epoch: 2},
			{ID: p0, LeaderEpoch: 1, Epoch: 1}, {ID: p0, LeaderEpoch: 3, Epoch: 1}, {ID: record.PartitionID{Topic: 9}, Epoch: 1},
		}}, out)
	})
	require.Equal(t, []message.EpochAnswer{
		{ID: p0, Epoch: 0, End: 1},
		{ID: p0, Epoch: 2, End: 1},
		{ID: p0, Code: message.FencedLeaderEpoch, Epoch: -1, End: -1},
		{ID: p0, Code: message.UnknownLeaderEpoch, Epoch: -1, End: -1},
		{ID: record.PartitionID{Topic: 9}, Code: message.UnknownTopicOrPartition, Epoch: -1, End: -1},
	}, w.replies[w.tokens].(*message.OffsetForLeaderEpochReply).Partitions)
}

// junk makes node 1 hold three records that nobody else has, and node 2 lead
// with two others; nothing has reached node 1 since.
func junk(t *testing.T, w *world) {
	w.create(p0, message.TopicConfig{MinInsync: 1}, 1, 2)
	w.put(1, "a")
	w.pass(message.Second)
	w.apart(1)
	w.put(1, "j", "k", "l")
	w.node(1).holdMeta = true
	w.elect(p0, 2, 1, 2)
	w.run()
	w.put(2, "b")
	w.together()
}

// KAFKA-14704: the answer that says 'you diverge' carries a high watermark. It
// is about another log than the one that the follower still has.
func TestADivergingAnswerIsAnsweredByACutAndByNothingElse(t *testing.T) {
	w := newWorld(t, 2)
	junk(t, w)
	n := w.node(1)
	w.held = func(x wire) bool { return true }
	n.holdMeta = false
	w.run()
	n.look()
	n.do(func(m *Manager, now message.Now, out *Out) {
		m.replicas[p0].follow.hear(m, now, 0, &message.ReplicaFetchedPartition{
			ID: p0, LeaderEpoch: 1, HighWatermark: 4, LogStart: 3, Diverging: &message.EpochEnd{Epoch: 0, End: 1},
			Records: batch("never", 1),
		}, out)
	})
	require.Equal(t, []effect.Effect{effect.Truncate{Log: p0, Cut: 1, To: 1}}, n.look())
	v := n.view(p0)
	require.Equal(t, []record.Offset{1, 1, 0}, []record.Offset{v.End, v.HighWatermark, v.Start})
	require.False(t, v.Matched)
}

// KAFKA-13141: a position whose history diverges says nothing about what its
// replica holds.
func TestAPositionThatDivergesDoesNotCount(t *testing.T) {
	w := newWorld(t, 2)
	junk(t, w)
	n, l := w.node(1), w.node(2)
	w.held = func(x wire) bool { return x.from == 2 } // its answers
	n.holdMeta = false
	acked := l.produce(message.AcksAll, batch("c", 1))
	w.run()
	require.Equal(t, []FollowerView{{Node: 1, Matched: -1, Flushed: -1, LogStart: -1, CaughtUp: w.now.Mono}}, l.view(p0).Followers)
	require.EqualValues(t, 1, l.view(p0).HighWatermark)
	require.Nil(t, w.produced(acked))
	w.held = nil
	w.run()
	require.Equal(t, message.None, w.code(acked))
	require.Equal(t, []string{"a0", "b0", "c0"}, values(t, n.contents(p0)))
}

// KIP-320: a fetch from the past, or from the future, is no progress.
func TestFetchesOfAnotherLeaderEpochDoNotCount(t *testing.T) {
	w := newWorld(t, 3)
	w.create(p0, message.TopicConfig{}, 1, 2, 3)
	w.put(1, "a")
	w.node(3).holdMeta = true
	w.apart(3)
	w.elect(p0, 2)
	w.run()
	w.together()
	w.node(3).do(func(m *Manager, now message.Now, out *Out) { // a follower that takes 2 for the leader of epoch 0
		out.Send(2, &message.ReplicaFetch{BrokerEpoch: 3, Session: 3 << 24, MaxWait: message.Second, MaxBytes: 100,
			Partitions: []message.ReplicaFetchPartition{{ID: p0, LeaderEpoch: 0, Offset: 1, LastEpoch: 0, Flushed: 1}}})
		out.Send(2, &message.ReplicaProgress{BrokerEpoch: 3, Partitions: []message.ReplicaFlushed{{ID: p0, LeaderEpoch: 0, Flushed: 1}}})
	})
	l := w.node(2)
	l.look()
	w.run()
	require.Contains(t, l.look(), effect.Effect(effect.Send{To: 3, Msg: &message.ReplicaFetchReply{
		BrokerEpoch: 2, Session: 3 << 24, Partitions: []message.ReplicaFetchedPartition{
			{ID: p0, Code: message.FencedLeaderEpoch, LeaderEpoch: 0, HighWatermark: -1, LogStart: -1},
		}}}))
	require.EqualValues(t, -1, l.view(p0).Followers[1].Flushed)
	w.deliver(wire{3, 2, &message.ReplicaFetch{BrokerEpoch: 3, Session: 3 << 24, Sequence: 1, MaxWait: message.Second, MaxBytes: 100,
		Partitions: []message.ReplicaFetchPartition{{ID: p0, LeaderEpoch: 9, Offset: 1, LastEpoch: 0, Flushed: 1}}}})
	require.EqualValues(t, -1, l.view(p0).Followers[1].Flushed, "that follower may be about to cut")

	// The other way round: the follower knows of a later epoch than the leader.
	// The leader waits for the metadata and then needs no second fetch.
	w.node(3).holdMeta = false
	w.pass(2 * message.Second)
	l.holdMeta = true
	w.elect(p0, 1)
	w.elect(p0, 2)
	w.run()
	require.Equal(t, record.LeaderEpoch(1), l.view(p0).LeaderEpoch)
	require.EqualValues(t, 1, l.view(p0).Followers[1].Flushed)
	w.apart(3)
	l.holdMeta = false
	w.run()
	require.Equal(t, record.LeaderEpoch(3), l.view(p0).LeaderEpoch)
	require.EqualValues(t, 1, l.view(p0).Followers[1].Flushed, "stated before the metadata came")
}

// KAFKA-9491: the high watermark must not stay below the new log start.
func TestAFollowerBelowTheLeadersLogStartBeginsAnewThere(t *testing.T) {
	w := newWorld(t, 3)
	w.create(p0, message.TopicConfig{}, 1, 2, 3)
	w.put(1, "a")
	w.node(3).crash()
	w.setISR(p0, 1, 2)
	w.put(1, "b", "c", "d")
	w.deleteBefore(1, 3)
	w.pass(message.Second)
	require.EqualValues(t, 3, w.node(1).view(p0).Start)
	w.node(3).look()
	w.node(3).start()
	w.cut = hasRecords
	w.pass(10 * message.Millisecond)
	require.Contains(t, w.node(3).look(), effect.Effect(effect.Reset{Log: p0, Cut: 1, Start: 3}))
	v := w.node(3).view(p0)
	require.Equal(t, []record.Offset{3, 3, 3}, []record.Offset{v.Start, v.HighWatermark, v.End})
	w.together()
	w.pass(2 * message.Second)
	v = w.node(3).view(p0)
	require.Equal(t, []record.Offset{3, 4, 4}, []record.Offset{v.Start, v.HighWatermark, v.End})
}

// DeleteRecords may put the log start inside a batch. A log that begins anew
// there begins with the whole batch, and trims it again.
func TestALogBeginsAnewInsideABatch(t *testing.T) {
	w := newWorld(t, 3)
	w.create(p0, message.TopicConfig{}, 1, 2, 3)
	w.node(3).crash()
	w.setISR(p0, 1, 2)
	w.run()
	w.node(1).produce(message.AcksAll, batch("a", 5))
	w.run()
	w.deleteBefore(1, 3)
	w.pass(message.Second)
	w.node(3).start()
	w.pass(2 * message.Second)
	v := w.node(3).view(p0)
	require.Equal(t, []record.Offset{3, 5, 5}, []record.Offset{v.Start, v.HighWatermark, v.End})
	require.Equal(t, w.node(1).contents(p0), w.node(3).contents(p0))
	require.Equal(t, []message.NodeID{1, 2, 3}, w.parts[p0].ISR)
}

// After an unclean election, which gives committed records up, a follower cannot
// cut what is settled one by one: it copies the new leader's log.
func TestAfterAnUncleanElectionAFollowerCopiesTheLogAnew(t *testing.T) {
	w := newWorld(t, 2)
	w.create(p0, message.TopicConfig{MinInsync: 1}, 1, 2)
	w.put(1, "a")
	w.node(2).crash()
	w.setISR(p0, 1)
	w.put(1, "b", "c")
	require.EqualValues(t, 3, w.node(1).view(p0).HighWatermark)
	w.apart(1)
	w.node(2).start()
	w.elect(p0, 2, 2)
	w.put(2, "x")
	w.node(1).look()
	w.together()
	w.pass(3 * message.Second)
	require.Contains(t, w.node(1).look(), effect.Effect(effect.Reset{Log: p0, Cut: 1, Start: 0}))
	require.Equal(t, []string{"a0", "x0"}, values(t, w.node(1).contents(p0)))
}

// A flush that was asked for before a cut answers for a log that is no more; what
// is left of the log must still become durable.
func TestWhatACutLeavesIsFlushed(t *testing.T) {
	w := newWorld(t, 2)
	w.create(p0, message.TopicConfig{}, 1, 2)
	n := w.node(1)
	w.put(1, "a")
	n.holdDisk = true
	w.put(1, "b")
	w.apart(2)
	w.put(1, "junk")
	w.elect(p0, 2)
	n.holdMeta = true
	w.run()
	n.look()
	w.together()
	n.holdMeta = false
	w.pass(message.Second)
	cut := slices.Index(n.look(), effect.Effect(effect.Truncate{Log: p0, Cut: 1, To: 2}))
	require.GreaterOrEqual(t, cut, 0)
	require.EqualValues(t, 1, n.view(p0).Flushed)
	n.holdDisk = false
	w.run()
	require.EqualValues(t, 2, n.view(p0).Flushed)
	require.EqualValues(t, 2, w.node(2).view(p0).HighWatermark)
}

// The epoch of a record that a follower gets tells whether it can be the
// leader's; its checksum, whether it arrived as it was sent.
func TestAFollowerTakesOnlyWhatContinuesItsLog(t *testing.T) {
	stamped := func(base record.Offset, epoch record.LeaderEpoch) []byte {
		b := batch("x", 1)
		record.Stamp(b, base, epoch)
		return b
	}
	broken := stamped(1, 0)
	broken[len(broken)-1] ^= 1
	for name, bytes := range map[string][]byte{
		"a gap": stamped(5, 0), "an epoch from the future": stamped(1, 9), "a wrong checksum": broken, "torn": stamped(1, 0)[:60],
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 2)
			w.create(p0, message.TopicConfig{}, 1, 2)
			w.put(1, "a")
			w.held = func(x wire) bool { return true }
			n := w.node(2)
			n.look()
			hear := func(records []byte) {
				n.do(func(m *Manager, now message.Now, out *Out) {
					f := m.replicas[p0].follow
					f.hear(m, now, f.from.sequence, &message.ReplicaFetchedPartition{ID: p0, HighWatermark: 1, Records: records}, out)
				})
			}
			twice := stamped(0, 0)
			hear(append(twice, bytes...))
			require.Empty(t, n.look(), "what comes twice is skipped, the rest refused")
			require.EqualValues(t, 1, n.view(p0).End)
			hear(append(stamped(1, 0), bytes...))
			require.Equal(t, []effect.Effect{
				effect.Append{Log: p0, Base: 1, End: 2, Batches: stamped(1, 0)}, effect.Flush{Log: p0},
			}, n.look(), "what is good of an answer is taken")
		})
	}
}

// KAFKA-10527 and the first rule about roles: before this run is in the
// metadata, an old image could make a broker lead on in an epoch whose unflushed
// records the crash has taken.
func TestNoRoleIsTakenBeforeTheMetadataIsCurrent(t *testing.T) {
	w := newWorld(t, 2)
	w.create(p0, message.TopicConfig{}, 1, 2)
	p1 := record.PartitionID{Topic: 7, Index: 1}
	w.create(p1, message.TopicConfig{}, 1, 2)
	w.put(1, "a")
	n := w.node(1)
	n.crash()
	n.holdMeta = true
	n.start()
	for n.applied < len(w.history)-1 { // all that an earlier run has seen
		n.learn()
	}
	n.look()
	require.Equal(t, Idle, n.view(p0).Role)
	lost := n.produce(message.AcksAll, batch("x", 1))
	require.Equal(t, message.NotLeaderOrFollower, w.code(lost))
	require.Equal(t, []record.PartitionID{p0, p1}, n.m.Partitions())

	removed := w.history[len(w.history)-1]
	removed.parts = append(removed.parts, PartitionState{ID: p1, Removed: true, Replicas: []message.NodeID{1}})
	w.history[len(w.history)-1] = removed
	delete(w.parts, p1)
	n.led = nil
	n.do(func(m *Manager, now message.Now, out *Out) {
		m.Apply(now, []PartitionState{*w.parts[p0], {ID: p1, Removed: true}}, removed.brokers, out)
	})
	require.Equal(t, []LeadershipChange{{ID: p0, Epoch: 1, Leading: true}}, n.led)
	require.Contains(t, n.look(), effect.Effect(effect.DeleteLog{Log: p1}), "nobody needs it any more")
	require.False(t, n.m.Knows(p1))
}

// The broker epoch may be told after the metadata that holds it.
func TestRolesAreTakenWhenTheEpochComesLate(t *testing.T) {
	w := newWorld(t, 1)
	n := w.node(1)
	n.m = New(Config{ID: 1}, nil, n.m.random, w.now)
	n.do(func(m *Manager, now message.Now, out *Out) {
		m.Apply(now, []PartitionState{{ID: p0, Replicas: []message.NodeID{1}, ISR: []message.NodeID{1}, Leader: 1}},
			[]BrokerState{{Node: 1, Epoch: 9, Available: true}}, out)
	})
	require.Equal(t, message.Never, n.m.Wake())
	_, held := n.m.View(p0)
	require.False(t, held)
	require.True(t, n.m.Knows(p0))
	require.Equal(t, []record.PartitionID{p0}, n.m.Partitions())
	n.m.SetEpoch(9)
	require.LessOrEqual(t, n.m.Wake(), w.now.Mono)
	w.run()
	require.Equal(t, Leading, n.view(p0).Role)
}

func TestAnEpochThatIsUsedTwiceHaltsTheNode(t *testing.T) {
	w := newWorld(t, 2)
	w.create(p0, message.TopicConfig{}, 1, 2)
	w.put(1, "a")
	again := *w.parts[p0]
	w.elect(p0, 2)
	w.run()
	again.LeaderEpoch, again.PartitionEpoch = 1, 9
	w.commit([]PartitionState{again}, nil)
	w.node(2).holdMeta = true
	w.run()
	require.Empty(t, w.node(1).halted, "following in epoch 1, then told to lead in it, with nothing of it in the log")
	again.LeaderEpoch, again.PartitionEpoch, again.Leader = 1, 10, 2
	w.commit([]PartitionState{again}, nil)
	again.PartitionEpoch, again.Leader = 11, 1
	w.commit([]PartitionState{again}, nil)
	w.run()
	require.Contains(t, w.node(1).halted, "never used twice")
	require.Equal(t, message.Never, w.node(1).m.Wake())
}
