package group

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core/ledger"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
	"github.com/tamarack-mq/tamarack/core/verify"
)

// enlisting is a commit of one position in a transaction, from outside.
func enlisting(group string, producer record.ProducerID, epoch record.ProducerEpoch, id record.PartitionID, offset record.Offset) *message.CommitTransactionOffsets {
	return &message.CommitTransactionOffsets{
		TransactionalID: fmt.Sprintf("t%d", producer), ID: producer, Epoch: epoch,
		Group: group, MemberEpoch: -1, Offsets: []message.GroupOffset{{ID: id, Offset: offset, LeaderEpoch: 7}},
	}
}

// verified lets the coordinator of a transaction answer the only question there is.
func (b *bench) verified(code message.Code) {
	b.t.Helper()
	require.Len(b.t, b.questions, 1)
	q := b.questions[0]
	b.questions = nil
	b.c.Verified(b.now, q.Ticket, code, &b.out)
	b.settle()
}

// pending commits a position in a transaction and lets it be verified if that is
// asked for.
func (b *bench) pending(r *message.CommitTransactionOffsets) *message.CommitTransactionOffsetsReply {
	b.t.Helper()
	token := b.send(r)
	if len(b.questions) > 0 {
		b.verified(message.None)
	}
	require.Contains(b.t, b.answers, token)
	b.sound()
	return b.answer(token).(*message.CommitTransactionOffsetsReply)
}

// resolve brings the marker of a transaction.
func (b *bench) resolve(producer record.ProducerID, epoch record.ProducerEpoch, coordinator record.LeaderEpoch, commit bool) message.Code {
	b.t.Helper()
	b.ticket++
	b.c.Resolve(b.now, 0, Marker{ID: producer, Epoch: epoch, CoordinatorEpoch: coordinator, Commit: commit}, b.ticket, &b.out)
	b.settle()
	require.Contains(b.t, b.resolved, b.ticket)
	b.sound()
	return b.resolved[b.ticket]
}

func (b *bench) stable(group string, ids ...record.PartitionID) message.Code {
	return b.ask(&message.FetchOffsets{Group: group, IDs: ids, Stable: true}).(*message.FetchOffsetsReply).Code
}

func TestAPositionOfATransactionHoldsFromItsMarkerOn(t *testing.T) {
	for _, commit := range []bool{true, false} {
		b := newBench(t, Config{})
		ids := parts(b.topic("orders", 2), 0, 1)
		b.ask(outside("g", ids[0], 5))

		waiting := b.send(enlisting("g", 9, 3, ids[0], 8))
		require.Equal(t, []verify.Question{{Ticket: 1, Part: verify.Part{TransactionalID: "t9", ID: 9, Epoch: 3}}}, b.questions)
		require.NotContains(t, b.answers, waiting, "nothing is stored before the transaction has the partition")
		require.Equal(t, message.None, b.stable("g"))
		b.verified(message.None)
		require.Equal(t, &message.CommitTransactionOffsetsReply{Offsets: []message.CommittedOffset{{ID: ids[0]}}}, b.answer(waiting))

		b.failover()
		require.Equal(t, record.Offset(5), b.position("g", ids[0]), "it is pending")
		require.Equal(t, message.UnstableOffsetCommit, b.stable("g"))
		require.Equal(t, message.UnstableOffsetCommit, b.stable("g", ids...))
		require.Equal(t, message.None, b.stable("g", ids[1]), "the transaction does not touch it")
		require.Equal(t, message.None, b.stable("h"))

		require.Equal(t, message.None, b.pending(enlisting("g", 9, 3, ids[1], 2)).Offsets[0].Code)
		require.Empty(t, b.questions, "what is pending shows that the partition takes part")

		require.Equal(t, message.None, b.resolve(9, 4, 1, commit))
		want := map[bool][]record.Offset{true: {8, 2}, false: {5, message.NoOffset}}[commit]
		for range 2 {
			require.Equal(t, message.None, b.stable("g"))
			require.Equal(t, want, []record.Offset{b.position("g", ids[0]), b.position("g", ids[1])})
			b.failover()
			require.Equal(t, message.None, b.resolve(9, 4, 1, !commit), "a marker that comes again changes nothing")
		}
	}
}

// One transaction may hold positions of several groups. The marker finds them all.
func TestAMarkerEndsThePositionsOfAllGroups(t *testing.T) {
	b := newBench(t, Config{})
	p := parts(b.topic("orders", 1), 0)[0]
	for i, group := range []string{"g", "f", "h"} {
		require.Equal(t, message.None, b.pending(enlisting(group, 9, 3, p, record.Offset(8+i))).Offsets[0].Code)
	}
	b.failover()
	require.Equal(t, message.None, b.resolve(9, 4, 1, true))
	for range 2 {
		for i, group := range []string{"g", "f", "h"} {
			require.Equal(t, message.None, b.stable(group))
			require.Equal(t, record.Offset(8+i), b.position(group, p))
		}
		b.failover()
	}
}

// A late commit finds the fence that the marker of its transaction left, also when
// the coordinator has said yes before (KIP-890).
func TestNothingOfATransactionComesAfterItsMarker(t *testing.T) {
	b := newBench(t, Config{})
	p := parts(b.topic("orders", 1), 0)[0]
	late := b.send(enlisting("g", 9, 3, p, 8))
	require.Equal(t, message.None, b.resolve(9, 4, 1, true))
	b.verified(message.None)
	require.Equal(t, message.InvalidProducerEpoch, b.answer(late).(*message.CommitTransactionOffsetsReply).Code)
	b.failover()
	reply := b.ask(enlisting("g", 9, 3, p, 8)).(*message.CommitTransactionOffsetsReply)
	require.Equal(t, message.InvalidProducerEpoch, reply.Code)
	require.Equal(t, "the transaction of producer 9 with epoch 3 has ended: the producer is at epoch 4", reply.Detail)
	require.Empty(t, b.questions)

	require.Equal(t, message.None, b.pending(enlisting("g", 9, 4, p, 9)).Offsets[0].Code, "the next transaction")
	require.Equal(t, message.None, b.resolve(9, 4, 1, true), "the marker of the one before comes again")
	require.Equal(t, message.UnstableOffsetCommit, b.stable("g"), "and does not touch it")
	require.Equal(t, message.TransactionCoordinatorFenced, b.resolve(9, 5, 0, false), "an old coordinator")
	require.Equal(t, message.None, b.resolve(9, 5, 2, true))
	require.Equal(t, record.Offset(9), b.position("g", p))
	require.Equal(t, message.InvalidRequest, b.resolve(9, 0, 2, true))
	require.Equal(t, message.InvalidRequest, b.resolve(-1, 5, 2, true))
}

func TestTheMemberIsFencedInATransactionToo(t *testing.T) {
	b := newBench(t, Config{MaxNote: 3})
	orders := b.topic("orders", 2)
	ids := parts(orders, 0, 1)
	a, z := b.process("g", "a", "orders"), b.process("g", "z", "orders")
	a.beat()
	z.beat()
	a.beat()
	a.beat()
	z.beat()
	request := func(p *process, id record.PartitionID, offset record.Offset) *message.CommitTransactionOffsets {
		r := enlisting("g", 9, 3, id, offset)
		r.Member, r.MemberEpoch = p.id, p.epoch
		return r
	}
	require.Equal(t, message.UnknownMemberID, b.ask(enlisting("g", 9, 3, ids[0], 1)).(*message.CommitTransactionOffsetsReply).Code)
	early := request(a, ids[0], 1)
	early.MemberEpoch--
	require.Equal(t, message.StaleMemberEpoch, b.ask(early).(*message.CommitTransactionOffsetsReply).Code)
	nameless := enlisting("g", 9, 3, ids[0], 1)
	nameless.MemberEpoch = 0
	require.Equal(t, message.UnknownMemberID, b.ask(nameless).(*message.CommitTransactionOffsetsReply).Code)
	require.Empty(t, b.questions, "who may not commit has nothing asked for it")

	both := request(a, ids[0], 1)
	both.Offsets = append(both.Offsets, message.GroupOffset{ID: ids[1]}, message.GroupOffset{ID: ids[0], Note: "long"})
	require.Equal(t, &message.CommitTransactionOffsetsReply{
		Code:   message.StaleMemberEpoch,
		Detail: fmt.Sprintf("position 0 for partition %v is refused: STALE_MEMBER_EPOCH; none of the 3 is part of the transaction", ids[1]),
		Offsets: []message.CommittedOffset{
			{ID: ids[0], Code: message.OperationNotAttempted}, {ID: ids[1], Code: message.StaleMemberEpoch}, {ID: ids[0], Code: message.OffsetMetadataTooLarge},
		},
	}, b.pending(both), "z has the other one")
	require.Equal(t, message.None, b.stable("g"), "nothing is pending")

	waiting := request(z, ids[1], 4)
	waiting.ID, waiting.TransactionalID = 10, "t10"
	held := b.send(waiting)
	z.epoch = message.LeaveEpoch
	z.beat()
	b.verified(message.None)
	require.Equal(t, message.UnknownMemberID, b.answer(held).(*message.CommitTransactionOffsetsReply).Code, "it has left in between")
}

// Who commits all the same what was refused in part moves nothing. What was taken before,
// as a whole, is moved.
func TestPositionsOfATransactionAreTakenTogether(t *testing.T) {
	b := newBench(t, Config{MaxNote: 3})
	ids := parts(b.topic("orders", 2), 0, 1)
	whole := enlisting("g", 9, 3, ids[0], 4)
	require.Equal(t, &message.CommitTransactionOffsetsReply{Offsets: []message.CommittedOffset{{ID: ids[0]}}}, b.pending(whole))
	half := enlisting("g", 9, 3, ids[0], 7)
	half.Offsets = append(half.Offsets, message.GroupOffset{ID: ids[1], Offset: 8, Note: "long"})
	require.Equal(t, []message.CommittedOffset{{ID: ids[0], Code: message.OperationNotAttempted}, {ID: ids[1], Code: message.OffsetMetadataTooLarge}},
		b.pending(half).Offsets)
	require.Equal(t, message.None, b.resolve(9, 4, 1, true))
	require.Equal(t, record.Offset(4), b.position("g", ids[0]))
	require.Equal(t, message.NoOffset, b.position("g", ids[1]))

	alone := b.ask(&message.CommitOffsets{Group: "g", MemberEpoch: -1, Offsets: half.Offsets}).(*message.CommitOffsetsReply)
	require.Equal(t, []message.CommittedOffset{{ID: ids[0]}, {ID: ids[1], Code: message.OffsetMetadataTooLarge}}, alone.Offsets, "outside of transactions each is for itself")
	require.Equal(t, record.Offset(7), b.position("g", ids[0]))
}

// A late attempt is known by its number, and what its member has stored since is
// not set back by the end of the transaction.
func TestALateAttemptInATransactionIsRefused(t *testing.T) {
	b := newBench(t, Config{})
	p := parts(b.topic("orders", 1), 0)[0]
	a := b.process("g", "a", "orders")
	a.beat()
	commit := func(number uint64, offset record.Offset) message.Code {
		r := enlisting("g", 9, 3, p, offset)
		r.Member, r.MemberEpoch, r.Number = a.id, a.epoch, number
		return b.pending(r).Offsets[0].Code
	}
	require.Equal(t, message.None, commit(2, 20))
	require.Equal(t, message.OutOfOrderSequence, commit(1, 10))
	require.Equal(t, message.None, commit(2, 20), "a repeat")
	plain := b.ask(&message.CommitOffsets{Group: "g", Member: "a", MemberEpoch: a.epoch, Number: 3,
		Offsets: []message.GroupOffset{{ID: p, Offset: 30}}}).(*message.CommitOffsetsReply)
	require.Equal(t, message.None, plain.Offsets[0].Code)
	require.Equal(t, message.OutOfOrderSequence, commit(2, 20))
	require.Equal(t, message.None, b.resolve(9, 4, 1, true))
	require.Equal(t, record.Offset(30), b.position("g", p))
}

func TestAskersWaitForTheCoordinatorOfTheTransaction(t *testing.T) {
	b := newBench(t, Config{})
	p := parts(b.topic("orders", 1), 0)[0]
	first := b.send(enlisting("g", 9, 3, p, 1))
	b.pass(499 * message.Millisecond)
	second := b.send(enlisting("h", 9, 3, p, 2))
	require.Len(t, b.questions, 1, "one question for all")
	b.pass(message.Millisecond)
	require.Len(t, b.questions, 2, "no answer came")
	require.Equal(t, b.questions[0], b.questions[1])
	b.questions = b.questions[:1]
	b.verified(message.ConcurrentTransactions)
	b.pass(5 * message.Millisecond)
	require.Len(t, b.questions, 1, "asked again soon")
	b.questions = nil
	b.pass(4495 * message.Millisecond)
	require.Equal(t, message.RequestTimedOut, b.answer(first).(*message.CommitTransactionOffsetsReply).Code)
	require.NotContains(t, b.answers, second)
	b.questions = b.questions[:1]
	b.verified(message.ProducerFenced)
	require.Equal(t, message.ProducerFenced, b.answer(second).(*message.CommitTransactionOffsetsReply).Code)
	require.Equal(t, message.Never, b.c.Wake(), "no group was made, and nothing waits")
	b.c.Verified(b.now, 1, message.None, &b.out)
	require.Equal(t, Out{}, b.out, "an answer that comes again")

	third := b.send(enlisting("g", 9, 3, p, 1))
	b.c.Resign(b.now, 0, b.epoch, &b.out)
	b.settle()
	require.Equal(t, message.NotCoordinator, b.answer(third).(*message.CommitTransactionOffsetsReply).Code)
	require.Equal(t, message.NotLeaderOrFollower, func() message.Code {
		b.c.Resolve(b.now, 0, Marker{ID: 9, Epoch: 4, CoordinatorEpoch: 1}, 99, &b.out)
		b.settle()
		return b.resolved[99]
	}())
}

func TestWhatCannotBeATransactionIsRefused(t *testing.T) {
	b := newBench(t, Config{})
	p := parts(b.topic("orders", 1), 0)[0]
	for detail, change := range map[string]func(*message.CommitTransactionOffsets){
		"a transactional id has 1 to 249 bytes; this one has 0":                                            func(r *message.CommitTransactionOffsets) { r.TransactionalID = "" },
		"producer -1 with epoch 3: a transaction needs the id and the epoch that its coordinator gave out": func(r *message.CommitTransactionOffsets) { r.ID = -1 },
		"producer 9 with epoch -1: a transaction needs the id and the epoch that its coordinator gave out": func(r *message.CommitTransactionOffsets) { r.Epoch = -1 },
		"a commit names at least one position":                                                             func(r *message.CommitTransactionOffsets) { r.Offsets = nil },
	} {
		r := enlisting("g", 9, 3, p, 1)
		change(r)
		reply := b.ask(r).(*message.CommitTransactionOffsetsReply)
		require.Equal(t, message.InvalidRequest, reply.Code)
		require.Equal(t, detail, reply.Detail)
	}
	require.Equal(t, message.InvalidGroupID, b.ask(enlisting("", 9, 3, p, 1)).(*message.CommitTransactionOffsetsReply).Code)
}

func TestWhatIsPendingKeepsItsGroup(t *testing.T) {
	b := newBench(t, Config{OffsetRetention: message.Hour, EmptyGroupRetention: message.Hour})
	ids := parts(b.topic("orders", 2), 0, 1)
	b.ask(outside("g", ids[1], 5))
	b.pending(enlisting("g", 9, 3, ids[0], 8))
	require.Equal(t, message.NonEmptyGroup, b.ask(&message.DeleteGroup{Group: "g"}).(*message.DeleteGroupReply).Code)
	require.Equal(t, message.UnstableOffsetCommit,
		b.ask(&message.DeleteOffsets{Group: "g", IDs: ids}).(*message.DeleteOffsetsReply).Offsets[0].Code)
	require.Equal(t, message.NoOffset, b.position("g", ids[1]), "the others can go")
	b.ask(outside("g", ids[1], 5))
	b.pass(day)
	require.Equal(t, record.Offset(5), b.position("g", ids[1]))
	b.failover()
	b.pass(day)
	require.Equal(t, record.Offset(5), b.position("g", ids[1]))
	b.c.EachKept(func(_ int32, k Kept) bool {
		require.Equal(t, occupied, k.Since)
		return true
	})
	var pending []Pending
	b.c.EachPending(func(_ int32, p Pending) bool {
		pending = append(pending, p)
		return true
	})
	require.Equal(t, []Pending{{Group: "g", Partition: ids[0], ID: 9, Epoch: 3, Offset: 8}}, pending)
	require.Equal(t, message.None, b.resolve(9, 4, 1, true))
	b.pass(message.Minute)
	require.Equal(t, []record.Offset{8, message.NoOffset}, []record.Offset{b.position("g", ids[0]), b.position("g", ids[1])},
		"the other one was only kept for the transaction")
	b.pass(message.Hour)
	require.Equal(t, message.GroupIDNotFound, b.ask(&message.DescribeGroup{Group: "g"}).(*message.DescribeGroupReply).Code)
}

func TestAPositionOfATopicThatWasDeletedIsNotStored(t *testing.T) {
	b := newBench(t, Config{})
	p := parts(b.topic("orders", 1), 0)[0]
	b.pending(enlisting("g", 9, 3, p, 8))
	b.topic("orders", 0)
	require.Equal(t, message.UnstableOffsetCommit, b.stable("g"))
	require.Equal(t, message.None, b.resolve(9, 4, 1, true))
	require.Equal(t, message.NoOffset, b.position("g", p))
	require.Equal(t, message.None, b.stable("g"))
}

func TestFencesOfSilentProducersGo(t *testing.T) {
	b := newBench(t, Config{ProducerIdle: message.Hour})
	p := parts(b.topic("orders", 1), 0)[0]
	require.Equal(t, message.None, b.resolve(9, 4, 1, true))
	b.pass(30 * message.Minute)
	b.failover()
	b.pending(enlisting("g", 10, 1, p, 8))
	require.Equal(t, message.None, b.resolve(10, 2, 1, true))
	b.pending(enlisting("g", 10, 2, p, 9))
	require.Equal(t, 2, b.c.Views()[0].Fences)
	b.pass(31 * message.Minute)
	require.Equal(t, 1, b.c.Views()[0].Fences)
	b.pass(day)
	require.Equal(t, 1, b.c.Views()[0].Fences, "its transaction is open")
	require.Equal(t, message.None, b.resolve(10, 3, 1, false))
	b.pass(message.Hour)
	require.Equal(t, 0, b.c.Views()[0].Fences)
	b.sound()
}

// A crash may cut the end of a transaction between two of its batches. Then nothing
// more becomes pending before the marker comes again for what is left.
func TestAMarkerThatIsCutInTwoIsFinishedByItsRepeat(t *testing.T) {
	b := newBench(t, Config{Ledger: ledger.Config{MaxBatchBytes: 100}})
	ids := parts(b.topic("orders", 9), 0, 1, 2, 3, 4, 5, 6, 7)
	for i, id := range ids {
		b.pending(enlisting("g", 9, 3, id, record.Offset(10+i)))
	}
	before := len(b.log)
	b.hold = true
	b.ticket++
	b.c.Resolve(b.now, 0, Marker{ID: 9, Epoch: 4, CoordinatorEpoch: 1, Commit: true}, b.ticket, &b.out)
	b.settle()
	require.Greater(t, len(b.log), before+3, "it takes several batches")
	require.Empty(t, b.resolved, "it is not committed")
	b.commit(before + 2)
	b.failover() // what is behind is lost
	b.hold = false
	require.Equal(t, message.UnstableOffsetCommit, b.stable("g"))
	require.Equal(t, message.InvalidProducerEpoch,
		b.ask(enlisting("g", 9, 3, ids[0], 99)).(*message.CommitTransactionOffsetsReply).Code)
	require.Equal(t, message.ConcurrentTransactions, b.pending(enlisting("g", 9, 4, ids[0], 99)).Code, "whatever the coordinator says")
	next := b.send(enlisting("g", 9, 4, ids[0], 99))
	require.NotContains(t, b.answers, next, "it waits for the marker, which its coordinator knows about")
	require.Equal(t, message.None, b.resolve(9, 4, 2, true))
	for i, id := range ids {
		require.Equal(t, record.Offset(10+i), b.position("g", id))
	}
	b.verified(message.None)
	require.Equal(t, message.None, b.answer(next).(*message.CommitTransactionOffsetsReply).Code)
	require.Equal(t, message.UnstableOffsetCommit, b.stable("g", ids[0]))
}

func TestASnapshotHasWhatIsPendingAndWhatIsFenced(t *testing.T) {
	b := newBench(t, Config{Ledger: ledger.Config{SnapshotMinimum: 50, MaxBatchBytes: 600}})
	ids := parts(b.topic("orders", 2), 0, 1)
	b.pending(enlisting("g", 9, 3, ids[0], 8))
	for i := range 300 {
		producer, epoch := record.ProducerID(20+i%3), record.ProducerEpoch(i/3)
		require.Equal(t, message.None, b.pending(enlisting(fmt.Sprintf("g%d", i%5), producer, epoch, ids[1], record.Offset(i))).Offsets[0].Code)
		require.Equal(t, message.None, b.resolve(producer, epoch+1, 1, i%2 == 0))
		b.trim()
		b.sound()
	}
	require.Greater(t, b.start, record.Offset(500))
	digest, _ := b.c.Digest(0)
	b.failover()
	after, _ := b.c.Digest(0)
	require.Equal(t, digest, after)
	require.Equal(t, 3, b.c.Views()[0].Fences)
	require.Equal(t, message.UnstableOffsetCommit, b.stable("g"))
}
