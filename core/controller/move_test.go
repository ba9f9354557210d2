package controller

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// reassign asks for a move and gives the outcome.
func (w *world) reassign(id record.PartitionID, to ...message.NodeID) message.AlteredReassignment {
	w.t.Helper()
	reply := w.ask(&message.AlterReassignments{Partitions: []message.Reassignment{{ID: id, Replicas: to}}})
	return reply.(*message.AlterReassignmentsReply).Partitions[0]
}

// moving shows the replicas of a partition in short.
func (w *world) moving(id record.PartitionID) []any {
	p := w.boss().image.Partition(id)
	return []any{p.Replicas, p.Adding, p.Target}
}

type ids = []message.NodeID

func TestAMoveEndsWhenAllThatItAddsAreInSync(t *testing.T) {
	w := newWorld(t, 1, 1, 5, Config{BalanceAfter: -1})
	w.ready()
	p := p0(w.create("t", ids{11, 12, 13}))
	require.Equal(t, message.AlteredReassignment{ID: p}, w.reassign(p, 14, 15, 12))
	require.Equal(t, []any{ids{11, 12, 13, 14, 15}, ids{14, 15}, ids{14, 15, 12}}, w.moving(p))
	require.Equal(t, "leader 11 epoch 0/1 isr [11 12 13]", w.state(p))

	require.Equal(t, message.None, w.propose(p, 11, 12, 13, 14))
	require.Equal(t, "leader 11 epoch 0/2 isr [11 12 13 14]", w.state(p), "15 is still missing")
	require.Equal(t, message.None, w.propose(p, 11, 12, 13, 14, 15))
	w.settle()
	// First the leadership goes, then the replicas, each in an epoch of its own.
	require.Equal(t, "leader 14 epoch 2/5 isr [14 15 12]", w.state(p))
	require.Equal(t, []any{ids{14, 15, 12}, ids(nil), ids(nil)}, w.moving(p))
	require.Equal(t, []int{0, 1, 0, 1, 1}, w.hosts())
}

// hosts are the numbers of replicas by broker.
func (w *world) hosts() (counts []int) {
	for _, id := range w.ids {
		counts = append(counts, w.boss().image.Hosts(id))
	}
	return counts
}

func TestAMoveWaitsForMinInsyncOfThoseThatStay(t *testing.T) {
	w := newWorld(t, 2, 1, 4, Config{BalanceAfter: -1})
	w.ready()
	p := p0(w.create("t", ids{11, 12, 13}))
	require.Equal(t, message.None, w.propose(p, 12, 13, 11))
	w.crashBroker(13)
	w.until("13 is fenced", func() bool { return !w.boss().image.Live(13) })
	w.reassign(p, 13, 14)
	require.Equal(t, message.None, w.propose(p, 11, 12, 14))
	require.Equal(t, []any{ids{11, 12, 13, 14}, ids{14}, ids{13, 14}}, w.moving(p), "14 alone is not enough")
	w.startBroker(13)
	w.ready()
	require.Equal(t, message.None, w.propose(p, 11, 12, 13, 14))
	w.settle()
	require.Equal(t, []any{ids{13, 14}, ids(nil), ids(nil)}, w.moving(p))
}

// Adding a replica to a topic with one must not stop its producers: the second
// counts for min.insync when it is there.
func TestReplicasBeingAddedDoNotRaiseMinInsync(t *testing.T) {
	w := newWorld(t, 3, 1, 3, Config{BalanceAfter: -1})
	w.ready()
	p := p0(w.create("t", ids{11}))
	w.reassign(p, 11, 12, 13)
	r := &rules{image: w.boss().image}
	require.Equal(t, 1, r.minInsync(w.boss().image.Partition(p)))
	require.Equal(t, message.None, w.propose(p, 11, 12, 13))
	w.settle()
	require.Equal(t, 2, r.minInsync(w.boss().image.Partition(p)))
	require.Equal(t, "leader 11 epoch 0/3 isr [11 12 13]", w.state(p), "nobody left: the leadership goes on")
}

func TestAMoveThatIsCalledOffLeavesNoTrace(t *testing.T) {
	w := newWorld(t, 4, 1, 4, Config{BalanceAfter: -1})
	w.ready()
	p := p0(w.create("t", ids{12, 11}))
	require.Equal(t, message.NoReassignmentInProgress, w.reassign(p).Code)
	w.reassign(p, 11, 13)
	require.Equal(t, message.None, w.propose(p, 12, 11))
	require.Equal(t, message.None, w.reassign(p).Code)
	require.Equal(t, []any{ids{12, 11}, ids(nil), ids(nil)}, w.moving(p), "in the order of before")
	require.Equal(t, int32(1), int32(w.boss().image.Partition(p).LeaderEpoch), "what 13 has said counts no more")
	w.reassign(p, 13, 14)
	require.Equal(t, message.None, w.reassign(p, 12, 11).Code, "to move back is to call off")
	require.Equal(t, []any{ids{12, 11}, ids(nil), ids(nil)}, w.moving(p))
}

// Records may be committed that only the added replicas hold.
func TestAMoveIsNotCalledOffWhileTheAddedAreNeeded(t *testing.T) {
	w := newWorld(t, 5, 1, 4, Config{BalanceAfter: -1})
	w.ready()
	p := p0(w.create("t", ids{11, 12}))
	w.reassign(p, 13, 14)
	require.Equal(t, message.None, w.propose(p, 11, 12, 13))
	require.Equal(t, message.None, w.propose(p, 11, 13))
	require.Equal(t, message.AlteredReassignment{
		ID: p, Code: message.EligibleLeadersNotAvailable,
		Detail: "of the replicas of before, [11 12], only [11] are in sync, and others of the move may hold what those lack: wait until they have caught up",
	}, w.reassign(p))
	require.Equal(t, message.None, w.propose(p, 11, 12, 13))
	require.Equal(t, message.None, w.reassign(p).Code)
	require.Equal(t, "leader 11 epoch 1/5 isr [11 12]", w.state(p))
}

func TestASecondMoveTakesThePlaceOfTheFirst(t *testing.T) {
	w := newWorld(t, 6, 1, 5, Config{BalanceAfter: -1})
	w.ready()
	p := p0(w.create("t", ids{11, 12}))
	w.reassign(p, 13, 12)
	require.Equal(t, message.None, w.propose(p, 11, 12, 13))
	w.settle()
	require.Equal(t, []any{ids{13, 12}, ids(nil), ids(nil)}, w.moving(p))
	w.reassign(p, 11, 14)
	w.reassign(p, 11, 15)
	require.Equal(t, []any{ids{13, 12, 11, 14, 15}, ids{11, 14, 15}, ids{11, 15}}, w.moving(p), "14 goes with the others")
	require.Equal(t, message.None, w.propose(p, 12, 13, 11, 15))
	w.settle()
	require.Equal(t, []any{ids{11, 15}, ids(nil), ids(nil)}, w.moving(p))
}

func TestAnotherControllerGoesOnWithMoves(t *testing.T) {
	w := newWorld(t, 7, 3, 4, Config{BalanceAfter: -1})
	w.ready()
	p := p0(w.create("t", ids{11, 12}))
	w.reassign(p, 13, 14)
	old := w.boss().id
	w.crashVoter(old)
	w.until("another controller", func() bool { return w.boss() != nil && w.boss().id != old })
	w.ready()
	require.Equal(t, message.None, w.propose(p, 11, 12, 13, 14))
	w.settle()
	require.Equal(t, []any{ids{13, 14}, ids(nil), ids(nil)}, w.moving(p))
}

func TestBadMovesAreRefused(t *testing.T) {
	w := newWorld(t, 8, 1, 4, Config{BalanceAfter: -1})
	w.ready()
	id := w.ask(&message.CreateTopic{Name: "t", Replicas: [][]message.NodeID{{11, 12}}, Config: message.TopicConfig{MinInsync: 2}}).(*message.CreateTopicReply).ID
	p := p0(id)
	w.ask(&message.DrainBroker{Node: 14})
	for _, c := range []struct {
		to     ids
		detail string
	}{
		{ids{11, 11}, "broker 11 is named twice"},
		{ids{11, 19}, "broker 19 is not registered"},
		{ids{11, 14}, "broker 14 is being drained: it holds no replicas until that is taken back"},
		{ids{13}, "1 replicas are fewer than min.insync.replicas, 2"},
	} {
		require.Equal(t, message.AlteredReassignment{ID: p, Code: message.InvalidReplicaAssignment, Detail: c.detail}, w.reassign(p, c.to...))
	}
	require.Equal(t, message.UnknownTopicOrPartition, w.reassign(p0(999), 11).Code)
	require.Equal(t, message.None, w.reassign(p, 11, 12).Code, "it is so already")
	require.Equal(t, "leader 11 epoch 0/0 isr [11 12]", w.state(p))
	for _, rate := range []int64{-2, message.LargestThrottle + 1} {
		require.Equal(t, message.InvalidRequest, w.ask(&message.AlterReassignments{Throttle: rate}).(*message.AlterReassignmentsReply).Code)
	}
	w.ask(&message.AlterReassignments{Throttle: 5000})
	require.EqualValues(t, 5000, w.brokers[12].image.Throttle())
	w.ask(&message.AlterReassignments{Throttle: -1})
	require.Zero(t, w.brokers[12].image.Throttle())
}

func TestLeadershipMovesToANamedReplica(t *testing.T) {
	w := newWorld(t, 9, 1, 3, Config{BalanceAfter: -1})
	w.ready()
	p := p0(w.create("t", ids{11, 12, 13}))
	elect := func(to message.NodeID) message.ElectedLeader {
		return w.ask(&message.ElectLeaders{Partitions: []record.PartitionID{p}, Leader: to}).(*message.ElectLeadersReply).Partitions[0]
	}
	require.Equal(t, message.ElectedLeader{ID: p, Leader: 13, LeaderEpoch: 1}, elect(13))
	require.Equal(t, message.ElectionNotNeeded, elect(13).Code)
	require.Equal(t, message.None, w.propose(p, 13, 11))
	require.Equal(t, message.EligibleLeadersNotAvailable, elect(12).Code, "not in sync")
	require.Equal(t, message.InvalidRequest, w.ask(&message.ElectLeaders{Leader: 11}).(*message.ElectLeadersReply).Code, "of which partitions?")
}
