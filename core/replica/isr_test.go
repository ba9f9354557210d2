package replica

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

func TestAMemberThatFallsBehindLeavesAndComesBack(t *testing.T) {
	w := newWorld(t, 3)
	w.create(p0, message.TopicConfig{}, 1, 2, 3)
	w.put(1, "a")
	w.pass(message.Minute)
	require.Len(t, w.parts[p0].ISR, 3, "a partition at rest has no lag, however long it rests")

	w.node(3).holdDisk = true
	waits := w.node(1).produce(message.AcksAll, batch("b", 1))
	w.pass(3 * message.Second)
	require.Nil(t, w.produced(waits), "until a shrink is committed the high watermark waits for the slow one")
	require.Len(t, w.parts[p0].ISR, 3)
	w.pass(2 * message.Millisecond)
	require.Equal(t, []message.NodeID{1, 2}, w.parts[p0].ISR)
	require.Equal(t, message.None, w.code(waits))

	w.node(3).holdDisk = false
	w.pass(message.Millisecond)
	require.Equal(t, []message.NodeID{1, 2, 3}, w.parts[p0].ISR, "flushed again: back at once")
	require.Equal(t, 2, w.node(1).alterCount)
}

func TestUnderSteadyLoadNobodyLooksSlow(t *testing.T) {
	w := newWorld(t, 2)
	w.create(p0, message.TopicConfig{}, 1, 2)
	w.held = func(x wire) bool { return x.from == 2 } // each answer takes its time
	for range 200 {
		w.node(1).produce(message.AcksLeader, batch("a", 1))
		w.run()
		wires := w.wires
		w.wires = nil
		w.pass(100 * message.Millisecond)
		for _, x := range wires {
			w.deliver(x)
		}
		w.node(1).produce(message.AcksLeader, batch("b", 1))
	}
	require.Zero(t, w.node(1).alterCount, "at no moment was it at the end, but never far from it for long")
}

// KAFKA-7128: a fresh leader's high watermark is stale. Records above it may be
// committed, up to the start of its epoch.
func TestAReplicaJoinsOnlyWithAllUpToTheStartOfTheEpoch(t *testing.T) {
	w := newWorld(t, 3)
	w.create(p0, message.TopicConfig{MinInsync: 1}, 1, 2, 3)
	w.put(1, "a")
	w.pass(message.Second)
	w.node(3).crash()
	w.setISR(p0, 1, 2)
	w.run()
	acked := w.node(1).produce(message.AcksAll, batch("b", 1))
	w.run()
	require.Equal(t, message.None, w.code(acked))
	w.node(1).crash()
	w.elect(p0, 2, 2)
	w.node(2).holdDisk = true // its own log does not count yet: the high watermark stands
	l := w.node(2)
	l.m.replicas[p0].flushed = 1
	w.node(3).start()
	w.held = func(x wire) bool { return x.from == 2 && hasRecords(x) }
	w.pass(100 * message.Millisecond)
	v := l.view(p0)
	require.Equal(t, []record.Offset{1, 2}, []record.Offset{v.HighWatermark, v.EpochStart})
	require.EqualValues(t, 1, v.Followers[1].Flushed, "3 has all below the high watermark")
	require.Zero(t, l.alterCount, "and yet not all that may be committed")
	w.held = nil
	w.pass(message.Second)
	require.Equal(t, []message.NodeID{2, 3}, w.parts[p0].ISR)
}

func hasRecords(x wire) bool {
	r, ok := x.msg.(*message.ReplicaFetchReply)
	if !ok {
		return false
	}
	for _, p := range r.Partitions {
		if len(p.Records) > 0 {
			return true
		}
	}
	return false
}

// The maximal ISR of KIP-497 (AsyncIsr): what has been asked for may have been
// committed already.
func TestFromTheMomentOfAProposalTheHighWatermarkWaitsForTheNewMember(t *testing.T) {
	w := newWorld(t, 3)
	w.create(p0, message.TopicConfig{}, 1, 2, 3)
	w.setISR(p0, 1, 2)
	w.holdAlters = true
	w.run()
	l := w.node(1)
	require.Equal(t, []message.NodeID{1, 2}, l.view(p0).ISR)
	require.Equal(t, []message.NodeID{1, 2, 3}, l.view(p0).MaximalISR)
	require.Equal(t, []message.AlterISR{{ID: p0, LeaderEpoch: 0, PartitionEpoch: 1, ISR: []message.Member{
		{Node: 1, Epoch: 1}, {Node: 2, Epoch: 2}, {Node: 3, Epoch: 3},
	}}}, l.alters, "one proposal, with the runs that were seen to be caught up (KIP-903)")

	w.node(3).holdDisk = true
	waits := l.produce(message.AcksAll, batch("a", 1))
	w.run()
	require.Nil(t, w.produced(waits))
	w.pass(501 * message.Millisecond)
	require.Len(t, l.alters, 2, "asked again, because the answer may be lost")
	require.Equal(t, l.alters[0], l.alters[1])

	// The first copy has been committed; the second is answered by an error that
	// must not be taken for a failure.
	require.Equal(t, message.None, w.outcome(1, l.alters[0]).Code)
	l.holdMeta = true
	l.alters = l.alters[1:]
	w.holdAlters = false
	w.run()
	require.Equal(t, []message.NodeID{1, 2, 3}, l.view(p0).MaximalISR)
	require.Nil(t, w.produced(waits))
	l.holdMeta, w.node(3).holdDisk = false, false
	w.run()
	require.Equal(t, message.None, w.code(waits))
	require.Equal(t, []message.NodeID{1, 2, 3}, l.view(p0).ISR)
}

// A proposal that was refused may exist twice, and the second copy may come when
// the broker is eligible again. So the refused one counts until the partition
// epoch has moved on.
func TestARefusedMemberCountsUntilNoCopyOfTheProposalCanBeTaken(t *testing.T) {
	w := newWorld(t, 3)
	w.create(p0, message.TopicConfig{}, 1, 2, 3)
	w.setISR(p0, 1, 2)
	w.holdAlters = true
	w.run()
	l := w.node(1)
	late := l.alters[0]
	w.refuse[3] = true
	w.decide(l)
	require.Equal(t, []message.NodeID{1, 2, 3}, l.view(p0).MaximalISR)
	require.Equal(t, []message.Member{{Node: 1, Epoch: 1}, {Node: 2, Epoch: 2}}, l.alters[0].ISR, "the ISR as it stands")
	w.decide(l)
	w.run()
	require.Equal(t, []message.NodeID{1, 2}, l.view(p0).MaximalISR)
	w.refuse[3] = false
	require.Equal(t, message.InvalidUpdateVersion, w.outcome(1, late).Code)
	require.Empty(t, l.alters, "not asked again at once")
	w.holdAlters = false
	w.pass(message.Second)
	require.Equal(t, []message.NodeID{1, 2, 3}, w.parts[p0].ISR)

	// An answer may be late, and another proposal have been made meanwhile: no answer
	// ends a proposal, only the metadata does.
	w.holdAlters = true
	w.setISR(p0, 1, 2)
	w.run()
	late = l.alters[0]
	w.refuse[3] = true
	w.decide(l)
	l.alters = nil
	l.do(func(m *Manager, now message.Now, out *Out) {
		m.AlterPartitionReply(now, &message.AlterPartitionReply{Partitions: []message.AlteredISR{
			{ID: p0, PartitionEpoch: w.parts[p0].PartitionEpoch},
		}}, out)
	})
	require.Equal(t, []message.NodeID{1, 2, 3}, l.view(p0).MaximalISR)
	w.refuse[3] = false
	require.Equal(t, message.None, w.outcome(1, late).Code)
	w.run()
	require.Equal(t, []message.NodeID{1, 2, 3}, l.view(p0).ISR)

	// Nobody is refused for ever.
	w.holdAlters = false
	w.setISR(p0, 1, 2)
	w.pass(message.Second)
	require.Equal(t, []message.NodeID{1, 2, 3}, w.parts[p0].ISR)
}

// Who is refused the in-sync set as it stands, since a member of it has just become
// ineligible, asks again when its time has come, and not with each answer: the
// metadata will tell who leaves.
func TestARefusalOfTheInSyncSetAsItStandsIsNotAnsweredAtOnce(t *testing.T) {
	w := newWorld(t, 3)
	w.create(p0, message.TopicConfig{}, 1, 2, 3)
	w.setISR(p0, 1, 2)
	w.holdAlters = true
	w.run()
	l := w.node(1)
	w.refuse[2], w.refuse[3] = true, true
	w.decide(l)
	require.Equal(t, []message.Member{{Node: 1, Epoch: 1}, {Node: 2, Epoch: 2}}, l.alters[0].ISR, "the ISR as it stands")
	w.decide(l)
	require.Empty(t, l.alters)
	w.pass(500 * message.Millisecond)
	require.Len(t, l.alters, 1)
	w.decide(l)
	require.Empty(t, l.alters)

	clear(w.refuse)
	w.holdAlters = false
	w.pass(2 * message.Second)
	require.Equal(t, []message.NodeID{1, 2, 3}, w.parts[p0].ISR)
}

// KIP-841, KAFKA-13916: a fenced broker, or one that is shutting down, is not
// even proposed.
func TestAnUnavailableBrokerIsNotProposed(t *testing.T) {
	w := newWorld(t, 3)
	w.create(p0, message.TopicConfig{}, 1, 2, 3)
	w.commit(nil, []BrokerState{{Node: 3, Epoch: 3, Available: false}})
	w.setISR(p0, 1, 2)
	w.pass(5 * message.Second)
	require.Zero(t, w.node(1).alterCount)
	w.commit(nil, []BrokerState{{Node: 3, Epoch: 3, Available: true}})
	w.run()
	require.Equal(t, []message.NodeID{1, 2, 3}, w.parts[p0].ISR)
}

// KIP-903: what an earlier run of a broker has shown does not count for the one
// that the metadata knows now; its disk may have been swapped.
func TestANewRunOfABrokerStartsFromNothing(t *testing.T) {
	w := newWorld(t, 2)
	w.create(p0, message.TopicConfig{MinInsync: 1}, 1, 2)
	w.put(1, "a")
	l := w.node(1)
	w.node(2).crash()
	w.node(2).disks = map[record.PartitionID]*disk{}
	w.apart(2)
	stale := wire{2, 1, &message.ReplicaFetch{BrokerEpoch: 2, Session: 1 << 40, MaxBytes: 1, Partitions: []message.ReplicaFetchPartition{
		{ID: p0, Offset: 1, LastEpoch: 0, Flushed: 1},
	}}}
	w.node(2).start()
	w.run()
	require.Equal(t, FollowerView{Node: 2, Matched: -1, Flushed: -1, LogStart: -1, CaughtUp: w.now.Mono}, l.view(p0).Followers[0])
	waits := l.produce(message.AcksAll, batch("b", 1))
	w.together()
	l.look()
	w.deliver(stale)
	w.deliver(wire{2, 1, &message.ReplicaProgress{BrokerEpoch: 2, Partitions: []message.ReplicaFlushed{{ID: p0, Flushed: 2}}}})
	require.EqualValues(t, -1, l.view(p0).Followers[0].Flushed)
	require.Nil(t, w.produced(waits))
	w.node(2).holdDisk = true
	w.pass(2 * message.Second)
	require.EqualValues(t, 2, w.node(2).view(p0).End)
	w.deliver(wire{2, 1, &message.ReplicaProgress{BrokerEpoch: 2, Partitions: []message.ReplicaFlushed{{ID: p0, Flushed: 2}}}})
	require.EqualValues(t, 0, l.view(p0).Followers[0].Flushed)
	w.node(2).holdDisk = false
	w.pass(2 * message.Second)
	require.Equal(t, message.None, w.code(waits))
	require.Equal(t, l.contents(p0), w.node(2).contents(p0))
}

// KIP-903, old-incarnation-let-into-isr: the run that was seen to be caught up
// must be the one that the controller will see in the ISR.
func TestAnEarlierRunOfABrokerIsNotProposed(t *testing.T) {
	w := newWorld(t, 2)
	w.create(p0, message.TopicConfig{MinInsync: 1}, 1, 2)
	w.put(1, "a")
	w.pass(message.Second)
	w.commit(nil, []BrokerState{{Node: 2, Epoch: 2, Available: false}})
	w.setISR(p0, 1)
	w.run()
	w.apart(2)
	l := w.node(1)
	l.m.brokers[2] = BrokerState{Node: 2, Epoch: 7, Available: true} // another run, of which nothing was heard
	l.do(func(m *Manager, now message.Now, out *Out) { m.replicas[p0].lead.reviewISR(m, now, out) })
	require.Empty(t, l.alters)
}

// Below the start of its epoch a leader's positions prove nothing that is not
// proven: its high watermark moves when the whole ISR has come up to there.
func TestTheHighWatermarkOfANewLeaderWaitsForTheStartOfItsEpoch(t *testing.T) {
	w := newWorld(t, 3)
	w.create(p0, message.TopicConfig{}, 1, 2, 3)
	w.put(1, "a")
	w.pass(message.Second)
	w.apart(3)
	w.put(1, "b", "c")
	w.elect(p0, 2, 2, 3)
	w.run()
	l := w.node(2)
	l.m.cfg.FetchBytes = 1 // one batch for each answer
	w.together()
	answers := 0
	w.cut = func(x wire) bool {
		if x.from == 2 && hasRecords(x) {
			answers++
		}
		return x.from == 1 || x.to == 1 || answers > 1
	}
	w.pass(1500 * message.Millisecond)
	v := l.view(p0)
	require.EqualValues(t, 2, v.Followers[1].Flushed)
	require.Equal(t, []record.Offset{1, 3}, []record.Offset{v.HighWatermark, v.EpochStart})
	w.together()
	w.pass(3 * message.Second)
	require.EqualValues(t, 3, l.view(p0).HighWatermark)
}

// A replica whose log start is lower than what clients have seen would bring
// deleted records back if it led.
func TestAReplicaJoinsOnlyWithTheLogStartThatIsShown(t *testing.T) {
	w := newWorld(t, 3)
	w.create(p0, message.TopicConfig{}, 1, 2, 3)
	w.put(1, "a", "b")
	w.pass(message.Second)
	w.node(3).crash()
	w.setISR(p0, 1, 2)
	w.run()
	w.deleteBefore(1, 2)
	w.pass(message.Second)
	n := w.node(3)
	n.start()
	n.holdReads = true // and so the confirmation of its trim
	w.pass(message.Second)
	require.EqualValues(t, 2, n.view(p0).Flushed)
	require.Equal(t, []message.NodeID{1, 2}, w.parts[p0].ISR)
	n.holdReads = false
	w.pass(2 * message.Second)
	require.Equal(t, []message.NodeID{1, 2, 3}, w.parts[p0].ISR)
}

// The leader has decided on its start, and its disk has still to confirm it: who
// joins meanwhile with the old one may lead next, and show that.
func TestNoReplicaJoinsBelowAStartThatIsOnItsWay(t *testing.T) {
	w := newWorld(t, 3)
	w.create(p0, message.TopicConfig{}, 1, 2, 3)
	w.put(1, "a", "b")
	w.pass(message.Second)
	w.node(3).crash()
	w.setISR(p0, 1, 2)
	w.run()
	w.node(1).holdReads = true
	w.deleteBefore(1, 2)
	w.pass(message.Second)
	n := w.node(3)
	n.start()
	n.holdReads = true
	w.pass(message.Second)
	require.EqualValues(t, 0, w.node(1).view(p0).ShownStart)
	require.Equal(t, []message.NodeID{1, 2}, w.parts[p0].ISR)
	w.node(1).holdReads, n.holdReads = false, false
	w.pass(2 * message.Second)
	require.EqualValues(t, 2, w.node(1).view(p0).ShownStart)
	require.Equal(t, []message.NodeID{1, 2, 3}, w.parts[p0].ISR)
}

// KIP-497: a member must hold all that is committed.
func TestAReplicaJoinsOnlyWithAllBelowTheHighWatermark(t *testing.T) {
	w := newWorld(t, 3)
	w.create(p0, message.TopicConfig{}, 1, 2, 3)
	w.setISR(p0, 1, 2)
	w.held = func(x wire) bool { return x.to == 3 }
	w.node(3).holdMeta = true
	w.holdAlters = true
	w.run()
	w.node(1).alters = nil
	w.setISR(p0, 1, 2) // whatever was proposed is void
	w.held = func(x wire) bool { return x.to == 3 && hasRecords(x) }
	w.node(3).holdDisk = true
	w.node(1).m.brokers[3] = BrokerState{Node: 3, Epoch: 3}
	w.put(1, "a")
	w.node(1).m.brokers[3] = BrokerState{Node: 3, Epoch: 3, Available: true}
	w.node(1).do(func(m *Manager, now message.Now, out *Out) { m.replicas[p0].lead.reviewISR(m, now, out) })
	require.EqualValues(t, 1, w.node(1).view(p0).HighWatermark)
	require.EqualValues(t, 0, w.node(1).view(p0).Followers[1].Flushed)
	require.Empty(t, w.node(1).alters)
}

// What a follower has flushed counts no further than its history is known to
// match.
func TestProgressCountsOnlyAsFarAsHistoriesMatch(t *testing.T) {
	w := newWorld(t, 2)
	w.create(p0, message.TopicConfig{}, 1, 2)
	w.held = func(x wire) bool { return x.from == 1 }
	w.put(1, "a", "b")
	w.deliver(wire{2, 1, &message.ReplicaProgress{BrokerEpoch: 2, Partitions: []message.ReplicaFlushed{{ID: p0, Flushed: 2}}}})
	require.EqualValues(t, 0, w.node(1).view(p0).Followers[0].Flushed)
	require.EqualValues(t, 0, w.node(1).view(p0).HighWatermark)

	// And only in the epoch in which it was flushed: the follower may have cut
	// since, and have other records there that are not durable.
	w.held = nil
	w.run()
	w.elect(p0, 1)
	w.run()
	w.node(2).holdDisk = true
	w.put(1, "c")
	require.EqualValues(t, 3, w.node(1).view(p0).Followers[0].Matched)
	w.deliver(wire{2, 1, &message.ReplicaProgress{BrokerEpoch: 2, Partitions: []message.ReplicaFlushed{{ID: p0, Flushed: 3}}}})
	require.EqualValues(t, 2, w.node(1).view(p0).Followers[0].Flushed)
}

func TestAFlappingMemberIsNotAskedBackBeforeItHasCaughtUp(t *testing.T) {
	w := newWorld(t, 2)
	w.create(p0, message.TopicConfig{}, 1, 2)
	w.node(2).holdDisk = true
	w.put(1, "a")
	w.pass(4 * message.Second)
	require.Equal(t, []message.NodeID{1}, w.parts[p0].ISR)
	require.Equal(t, 1, w.node(1).alterCount, "the high watermark stands below min.insync, so that all are level with it")
}

// A follower that was out of sync may know of records that they are committed, and
// not have flushed them. When an operator lets it lead nobody else need have them:
// what a power cut would take is not committed any more, and shown to nobody.
func TestAnUncleanLeaderCallsOnlyCommittedWhatItHasFlushed(t *testing.T) {
	w := newWorld(t, 2)
	w.create(p0, message.TopicConfig{MinInsync: 1}, 1, 2)
	n := w.node(2)
	n.holdDisk = true
	w.put(1, "a", "b")
	w.setISR(p0, 1)
	w.pass(message.Second)
	require.EqualValues(t, 2, n.view(p0).HighWatermark)
	require.EqualValues(t, 0, n.view(p0).Flushed)

	w.node(1).crash()
	w.elect(p0, 2, 2)
	w.run()
	require.Equal(t, Leading, n.view(p0).Role)
	require.EqualValues(t, 0, n.view(p0).HighWatermark)
	require.False(t, n.view(p0).Shown)
	require.Equal(t, message.LeaderNotAvailable, n.readFrom(0).Code)

	n.holdDisk = false
	w.run()
	require.EqualValues(t, 2, n.view(p0).HighWatermark)
	require.Equal(t, []string{"a0", "b0"}, values(t, n.contents(p0)))
	require.EqualValues(t, 2, n.readFrom(0).HighWatermark)
}
