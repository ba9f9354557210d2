package group

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core/ledger"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

func outside(group string, id record.PartitionID, offset record.Offset) *message.CommitOffsets {
	return &message.CommitOffsets{Group: group, MemberEpoch: -1, Offsets: []message.GroupOffset{{ID: id, Offset: offset}}}
}

func (b *bench) position(group string, id record.PartitionID) record.Offset {
	reply := b.ask(&message.FetchOffsets{Group: group, IDs: []record.PartitionID{id}}).(*message.FetchOffsetsReply)
	require.Equal(b.t, message.None, reply.Code)
	return reply.Offsets[0].Offset
}

func TestRepliesWaitForTheRecordsThatTheyRestOn(t *testing.T) {
	b := newBench(t, Config{})
	p := parts(b.topic("orders", 1), 0)[0]
	b.ask(outside("g", p, 1))
	b.hold = true
	done := len(b.log)

	write := b.send(outside("g", p, 2))
	read := b.send(&message.FetchOffsets{Group: "g", IDs: []record.PartitionID{p}})
	list := b.send(&message.ListGroups{})
	described := b.send(&message.DescribeGroup{Group: "g"})
	refused := b.send(&message.DeleteGroup{Group: "nobody"})
	second := b.send(outside("g", p, 3))
	require.Empty(t, b.answers, "nothing is committed, so nothing is told")
	require.Equal(t, []ShardView{{Epoch: 1, Serving: true, Pending: 2, Waiting: 6, Groups: 1, Offsets: 1}}, b.c.Views())

	b.commit(done + 1)
	b.settle()
	require.Equal(t, message.None, b.answer(write).(*message.CommitOffsetsReply).Offsets[0].Code)
	require.Empty(t, b.answers, "reads, and what deletes, wait for one append more")
	b.commit(done + 2)
	b.settle()
	require.Equal(t, record.Offset(2), b.answer(read).(*message.FetchOffsetsReply).Offsets[0].Offset, "as of the moment it was asked")
	require.Equal(t, record.Offset(2), b.answer(described).(*message.DescribeGroupReply).Offsets[0].Offset)
	require.Len(t, b.answer(list).(*message.ListGroupsReply).Groups, 1)
	require.Equal(t, message.GroupIDNotFound, b.answer(refused).(*message.DeleteGroupReply).Code)
	require.Contains(t, b.answers, second)
}

func TestADeposedCoordinatorTellsNoOldPositions(t *testing.T) {
	b := newBench(t, Config{})
	p := parts(b.topic("orders", 1), 0)[0]
	b.ask(outside("g", p, 1))
	b.hold = true // others lead by now: nothing that this one appends commits
	fetch, describe := &message.FetchOffsets{Group: "g"}, &message.DescribeGroup{Group: "g"}
	first := b.send(fetch)
	written := len(b.log)
	second, third, list := b.send(describe), b.send(fetch), b.send(&message.ListGroups{})
	gone := b.send(&message.DeleteGroup{Group: "made by another coordinator"})
	forget := b.send(&message.DeleteOffsets{Group: "made by another coordinator"})
	require.Empty(t, b.answers)
	require.Len(t, b.log, written, "reads share barriers")
	b.c.Resign(b.now, 0, b.epoch+1, &b.out)
	b.settle()
	require.Equal(t, message.NotCoordinator, b.answer(first).(*message.FetchOffsetsReply).Code)
	require.Equal(t, message.NotCoordinator, b.answer(second).(*message.DescribeGroupReply).Code)
	require.Equal(t, message.NotCoordinator, b.answer(third).(*message.FetchOffsetsReply).Code)
	require.Equal(t, message.NotCoordinator, b.answer(gone).(*message.DeleteGroupReply).Code)
	require.Equal(t, message.NotCoordinator, b.answer(forget).(*message.DeleteOffsetsReply).Code)
	require.Equal(t, message.CoordinatorLoadInProgress, b.answer(list).(*message.ListGroupsReply).Code)
}

// A coordinator that is cut off may never hear that it coordinates no more.
// Nobody waits for it for ever; what it appended may take effect all the same.
func TestAReplyThatWaitsTooLongIsGivenWithoutCertainty(t *testing.T) {
	b := newBench(t, Config{})
	p := parts(b.topic("orders", 1), 0)[0]
	b.ask(outside("g", p, 1))
	b.hold = true
	write := b.send(outside("g", p, 2))
	read, list := b.send(&message.FetchOffsets{Group: "g"}), b.send(&message.ListGroups{})
	b.pass(4 * message.Second)
	require.Empty(t, b.answers)
	late := b.send(outside("g", p, 3))
	b.pass(message.Second)
	require.Equal(t, message.RequestTimedOut, b.answer(write).(*message.CommitOffsetsReply).Code)
	require.Equal(t, message.RequestTimedOut, b.answer(read).(*message.FetchOffsetsReply).Code)
	require.Equal(t, message.CoordinatorLoadInProgress, b.answer(list).(*message.ListGroupsReply).Code)
	require.Empty(t, b.answers, "the last one has time left")
	for range 3 {
		b.commit(len(b.log))
		b.settle()
	}
	require.Equal(t, message.None, b.answer(late).(*message.CommitOffsetsReply).Code)
	require.Empty(t, b.answers, "each is answered once")
	b.hold = false
	require.Equal(t, record.Offset(3), b.position("g", p))
	b.sound()
}

func TestReadsShareABarrier(t *testing.T) {
	b := newBench(t, Config{})
	p := parts(b.topic("orders", 1), 0)[0]
	b.ask(outside("g", p, 1))
	b.hold = true
	fetch := &message.FetchOffsets{Group: "g"}
	first, second, third := b.send(fetch), b.send(fetch), b.send(fetch)
	b.commit(len(b.log))
	b.settle()
	require.Contains(t, b.answers, first)
	require.NotContains(t, b.answers, second, "the barrier was on its way before it came")
	b.commit(len(b.log))
	b.settle()
	require.Contains(t, b.answers, second)
	require.Contains(t, b.answers, third)
	b.sound()
}

func TestAFailedAppendDropsTheMemoryAndLoadsAgain(t *testing.T) {
	for _, lost := range []bool{true, false} {
		b := newBench(t, Config{})
		p := parts(b.topic("orders", 1), 0)[0]
		b.ask(outside("g", p, 1))
		b.hold = true
		write := b.send(outside("g", p, 2))
		read := b.send(&message.FetchOffsets{Group: "g"})
		list := b.send(&message.ListGroups{})

		b.refuse(message.NotEnoughReplicasAfterAppend, lost)
		b.settle()
		require.Equal(t, message.NotCoordinator, b.answer(write).(*message.CommitOffsetsReply).Code)
		require.Equal(t, message.NotCoordinator, b.answer(read).(*message.FetchOffsetsReply).Code)
		require.Equal(t, message.CoordinatorLoadInProgress, b.answer(list).(*message.ListGroupsReply).Code)
		require.Equal(t, message.CoordinatorLoadInProgress, b.ask(&message.FetchOffsets{Group: "g"}).(*message.FetchOffsetsReply).Code)
		require.Equal(t, 1, b.loads, "not before it is known what became of the records")

		b.refuse(message.NotEnoughReplicas, true) // the barrier fails as well
		b.settle()
		require.Equal(t, b.now.Mono.Add(100*message.Millisecond), b.c.Wake())
		b.pass(100 * message.Millisecond)
		b.refuse(message.NotEnoughReplicas, true)
		require.Equal(t, b.now.Mono.Add(200*message.Millisecond), b.c.Wake(), "ever more patiently")
		b.pass(200 * message.Millisecond)
		require.Equal(t, 1, b.loads)
		if !lost {
			require.Len(t, b.log, 2, "group and offset were written; the second write and its barrier were cut")
		}
		b.hold = false
		b.commit(len(b.log))
		b.settle()
		require.Equal(t, 2, b.loads)
		require.Equal(t, record.Offset(1), b.position("g", p))
		b.sound()
	}
}

func TestRecordsOfAFailedAppendMayCommitLater(t *testing.T) {
	b := newBench(t, Config{})
	p := parts(b.topic("orders", 1), 0)[0]
	b.ask(outside("g", p, 1))
	b.hold = true
	b.send(outside("g", p, 2))
	b.refuse(message.RequestTimedOut, false) // it stays in the log
	b.settle()
	b.hold = false
	b.commit(len(b.log))
	b.settle()
	require.Equal(t, record.Offset(2), b.position("g", p), "the barrier made sure that the replay saw it")
	b.sound()
}

func TestNothingIsServedBeforeReplay(t *testing.T) {
	b := newBench(t, Config{})
	p := parts(b.topic("orders", 1), 0)[0]
	b.ask(outside("g", p, 1))
	b.noLoad = true
	b.failover()
	require.Equal(t, message.CoordinatorLoadInProgress, b.ask(&message.FetchOffsets{Group: "g"}).(*message.FetchOffsetsReply).Code)
	require.Equal(t, message.CoordinatorLoadInProgress, b.ask(&message.ListGroups{}).(*message.ListGroupsReply).Code)
	require.Equal(t, message.CoordinatorLoadInProgress,
		b.ask(&message.GroupHeartbeat{Group: "g", Member: "a"}).(*message.GroupHeartbeatReply).Code)
	_, serving := b.c.Digest(0)
	require.False(t, serving)
	b.replay()
	require.Equal(t, record.Offset(1), b.position("g", p))
}

// KAFKA-10614: what belongs to an earlier leadership changes nothing.
func TestLoadsAndResignationsAreFencedByEpoch(t *testing.T) {
	b := newBench(t, Config{})
	p := parts(b.topic("orders", 1), 0)[0]
	b.ask(outside("g", p, 1))
	digest, _ := b.c.Digest(0)
	b.hold = true
	b.c.Lead(b.now, 0, b.epoch, &b.out)
	b.c.Lead(b.now, 0, b.epoch-1, &b.out)
	b.c.Resign(b.now, 0, b.epoch-1, &b.out)
	b.c.Replayed(b.now, 0, b.epoch, []byte("no batch"), true, &b.out)
	b.c.Wrote(b.now, 999, message.NotLeaderOrFollower, -1, &b.out)
	require.Equal(t, Out{}, b.out)
	after, _ := b.c.Digest(0)
	require.Equal(t, digest, after)

	waiting := b.send(outside("g", p, 2))
	b.c.Resign(b.now, 0, b.epoch, &b.out)
	b.settle()
	require.Equal(t, message.NotCoordinator, b.answer(waiting).(*message.CommitOffsetsReply).Code)
	require.Equal(t, message.NotCoordinator, b.ask(&message.FetchOffsets{Group: "g"}).(*message.FetchOffsetsReply).Code)
	b.c.Lead(b.now, 0, b.epoch, &b.out)
	require.Equal(t, Out{}, b.out, "a leadership that was resigned does not come back")
	b.commit(len(b.log))
	b.settle()
	require.Empty(t, b.c.Views())
	require.Equal(t, message.Never, b.c.Wake())
}

func TestANewLeadershipDropsWhatTheOldOneKnew(t *testing.T) {
	b := newBench(t, Config{})
	p := parts(b.topic("orders", 1), 0)[0]
	b.ask(outside("g", p, 1))
	b.hold = true
	waiting := b.send(outside("g", p, 2))
	b.log = b.log[:len(b.log)-1]
	b.epoch++
	b.hold = false
	b.c.Lead(b.now, 0, b.epoch, &b.out)
	b.settle()
	require.Equal(t, message.NotCoordinator, b.answer(waiting).(*message.CommitOffsetsReply).Code)
	require.Equal(t, record.Offset(1), b.position("g", p))
}

func TestAShardThatIsFarBehindTakesNoMore(t *testing.T) {
	b := newBench(t, Config{Ledger: ledger.Config{MaxWaiting: 2}})
	p := parts(b.topic("orders", 1), 0)[0]
	b.hold = true
	b.send(outside("g", p, 1))
	b.send(outside("g", p, 2))
	reply := b.ask(outside("g", p, 3)).(*message.CommitOffsetsReply)
	require.Equal(t, message.CoordinatorLoadInProgress, reply.Code)
	b.commit(len(b.log))
	b.hold = false
	b.settle()
	require.Equal(t, record.Offset(2), b.position("g", p))
}

func TestALogThatCannotBeReadHalts(t *testing.T) {
	b := newBench(t, Config{})
	b.noLoad = true
	b.failover()
	var batch record.Builder
	require.NoError(t, batch.Append(0, []byte{9}, []byte{0}, nil))
	b.c.Replayed(b.now, 0, b.epoch, batch.Build(), true, &b.out)
	require.Equal(t, "shard 0 of __consumer_offsets: the record at offset 0 cannot be read: the key has kind 9, which this release does not know; "+
		"it was written by a newer release, or the log is damaged: start the newer release, or restore the partition", b.out.Halt)
}

func TestAStateThatCannotBeHalts(t *testing.T) {
	b := newBench(t, Config{})
	b.noLoad = true
	b.failover()
	both := memberValue{epoch: 1, previous: 1, assigned: parts(5, 0)}
	batches := ledger.Encode([]change{
		{key{kind: kindMember, group: "g", member: "a"}, both},
		{key{kind: kindMember, group: "g", member: "z"}, both},
	}, 0, 1<<20)
	b.c.Replayed(b.now, 0, b.epoch, batches[0], true, &b.out)
	require.Equal(t, `shard 0 of __consumer_offsets: group "g": partition 5/0 goes to member "z" while "a" holds it (INV-21)`, b.out.Halt)
}
