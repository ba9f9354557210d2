package txn

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core/ledger"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

func TestATransactionFromItsBeginningToItsEnd(t *testing.T) {
	b := newBench(t, Config{})
	who := b.identify("orders")
	require.Equal(t, Identity{101, 0}, who)
	require.Equal(t, "Empty", b.phase("orders"))
	require.Equal(t, message.None, b.add("orders", who, one))
	require.Equal(t, message.None, b.add("orders", who, two, three))
	require.Equal(t, message.None, b.add("orders", who, one), "it takes part already")

	started := b.now.Wall
	b.pass(message.Second)
	require.Equal(t, &message.DescribeTransactionReply{
		TransactionalID: "orders", State: "Ongoing", ID: 101, Timeout: 10 * message.Second, Started: started,
		Partitions: []record.PartitionID{one, two, three},
	}, b.ask(&message.DescribeTransaction{TransactionalID: "orders"}))

	b.mute = true
	next := b.finished("orders", who, true)
	require.Equal(t, Identity{101, 1}, next, "each transaction has an epoch of its own")
	require.Equal(t, "PrepareCommit", b.phase("orders"), "the client need not wait for markers")
	require.Equal(t, []Send{
		{1, &message.WriteMarkers{BrokerEpoch: 1, Request: 1, CoordinatorEpoch: 1, ID: 101, Epoch: 1, Commit: true, Partitions: []record.PartitionID{one, three}}},
		{2, &message.WriteMarkers{BrokerEpoch: 1, Request: 2, CoordinatorEpoch: 1, ID: 101, Epoch: 1, Commit: true, Partitions: []record.PartitionID{two}}},
	}, b.wire)
	b.release()
	require.Equal(t, "CompleteCommit", b.phase("orders"))
	require.Equal(t, []marker{{Identity{101, 1}, true, 1}}, b.parts[two].markers)

	require.Equal(t, message.None, b.add("orders", next, two))
	require.Equal(t, Identity{101, 2}, b.finished("orders", next, false))
	require.Equal(t, "CompleteAbort", b.phase("orders"))
	require.Equal(t, []marker{{Identity{101, 1}, true, 1}, {Identity{101, 2}, false, 1}}, b.parts[two].markers)
	require.Empty(t, b.c.asked)
	b.sound()
}

// Nothing is promised before it is in the committed log: not an identity, not that
// a partition takes part, not the end, and no marker is sent.
func TestEveryAnswerWaitsForTheLog(t *testing.T) {
	b := newBench(t, Config{})
	b.hold, b.mute = true, true
	b.init0("orders")
	require.Empty(t, b.answers)
	b.commit(len(b.log))
	b.settle()
	who := Identity{101, 0}
	require.Equal(t, &message.InitProducerIDReply{ID: 101}, b.answers[1])

	b.startAdd("orders", who, one)
	require.Empty(t, b.wire)
	b.commit(len(b.log))
	b.settle()
	require.Equal(t, []Send{{1, &message.AddedToTransaction{BrokerEpoch: 7, Request: 1}}}, b.wire)
	b.wire = nil

	b.send(endRequest("orders", who, true))
	require.Len(t, b.answers, 1)
	require.Empty(t, b.wire, "the decision may still be lost")
	b.refuse(message.NotEnoughReplicas, true)
	require.Equal(t, message.NotCoordinator, b.answers[2].(*message.EndTransactionReply).Code)
	b.release()
	require.Equal(t, "Ongoing", b.phase("orders"), "and it was")
	require.Empty(t, b.parts[one].markers)
	b.sound()
}

func (b *bench) init0(name string) message.Token {
	return b.send(&message.InitProducerID{TransactionalID: name})
}

func TestAnEndThatIsAskedForAgainGetsTheSameAnswer(t *testing.T) {
	for _, commit := range []bool{true, false} {
		for _, marked := range []bool{true, false} {
			b := newBench(t, Config{})
			who := b.identify("orders")
			b.add("orders", who, one)
			b.mute = !marked
			next := b.finished("orders", who, commit)
			require.Equal(t, next, b.finished("orders", who, commit))
			other := b.finish("orders", who, !commit)
			require.Equal(t, message.InvalidTxnState, other.Code)
			require.Equal(t, "the transaction is decided already: it is "+b.phase("orders"), other.Detail)
			b.failover()
			require.Equal(t, next, b.finished("orders", who, commit), "also from the next coordinator")
			b.release()
			b.add("orders", next, two)
			require.Equal(t, message.ProducerFenced, b.finish("orders", who, commit).Code, "its time is over")
			b.sound()
		}
	}
}

func TestThereIsNothingToCommitInAnEmptyTransaction(t *testing.T) {
	b := newBench(t, Config{})
	who := b.identify("orders")
	for range 2 {
		r := b.finish("orders", who, true)
		require.Equal(t, message.InvalidTxnState, r.Code)
		require.Equal(t, "no partition has a record of this transaction, so there is nothing to commit", r.Detail)
		next := b.finished("orders", who, false)
		require.Equal(t, Identity{who.ID, who.Epoch + 1}, next, "an abort of nothing is granted")
		require.Equal(t, next, b.finished("orders", who, false), "again")
		require.Equal(t, message.InvalidTxnState, b.finish("orders", who, true).Code)
		who = next
	}
	require.Empty(t, b.wire)
	b.sound()
}

func TestANewProducerAbortsWhatTheOneBeforeLeftOpen(t *testing.T) {
	b := newBench(t, Config{})
	zombie := b.identify("orders")
	b.add("orders", zombie, one)
	b.mute = true
	r := b.init("orders")
	require.Equal(t, &message.InitProducerIDReply{
		Code: message.ConcurrentTransactions, Detail: "the transaction that an earlier producer left open is being aborted; try again",
	}, r)
	require.True(t, r.Code.Retriable())
	require.Equal(t, message.ConcurrentTransactions, b.init("orders").Code, "markers are on their way")
	require.Equal(t, message.ProducerFenced, b.finish("orders", zombie, true).Code)
	require.Equal(t, message.ProducerFenced, b.finish("orders", zombie, false).Code, "it did not ask for this abort")
	b.release()
	require.Equal(t, []marker{{Identity{101, 1}, false, 1}}, b.parts[one].markers)

	require.Equal(t, message.ProducerFenced, b.finish("orders", Identity{101, 1}, false).Code, "nobody was given that epoch")
	who := b.identify("orders")
	require.Equal(t, Identity{101, 2}, who)
	require.Equal(t, message.ProducerFenced, b.add("orders", zombie, one))
	require.Equal(t, message.ProducerFenced, b.finish("orders", zombie, false).Code)
	require.Equal(t, message.None, b.add("orders", who, one))
	b.sound()
}

func TestTwoProducersUnderOneIDFenceEachOther(t *testing.T) {
	b := newBench(t, Config{})
	first := b.identify("orders")
	second := b.identify("orders")
	require.Equal(t, message.ProducerFenced, b.add("orders", first, one))
	require.Equal(t, message.None, b.add("orders", second, one))
	require.Equal(t, "Ongoing", b.phase("orders"))
	b.sound()
}

// A question for an identity that comes again is none of another producer: whoever
// has the answer goes on, also when the network brings the question late.
func TestAQuestionForAnIdentityThatComesAgainFencesNobody(t *testing.T) {
	b := newBench(t, Config{})
	zombie := b.identify("orders")
	b.add("orders", zombie, one)
	b.mute = true
	question := &message.InitProducerID{TransactionalID: "orders", Timeout: 10 * message.Second, Incarnation: 77}
	require.Equal(t, message.ConcurrentTransactions, b.ask(question).(*message.InitProducerIDReply).Code, "another producer's transaction is aborted")
	b.release()

	answer := &message.InitProducerIDReply{ID: 101, Epoch: 2}
	require.Equal(t, answer, b.ask(question))
	records := len(b.log)
	require.Equal(t, answer, b.ask(question), "the first answer was lost")
	b.failover()
	require.Equal(t, answer, b.ask(question), "also from the next coordinator")
	require.Len(t, b.log, records, "nothing is written for that")

	who := Identity{101, 2}
	late := message.Fail(question, message.InvalidTxnState, "this producer has its identity already, and has begun a transaction with it: the question comes late, and changes nothing")
	require.Equal(t, message.None, b.add("orders", who, one))
	require.Equal(t, late, b.ask(question))
	require.Equal(t, "Ongoing", b.phase("orders"))
	next := b.finished("orders", who, true)
	require.Equal(t, late, b.ask(question))
	require.Equal(t, message.None, b.add("orders", next, one), "it goes on")

	b.pass(11 * message.Second)
	require.Equal(t, "CompleteAbort", b.phase("orders"))
	require.Equal(t, late, b.ask(question), "an identity that nobody was given is not told")
	require.Equal(t, Identity{101, 5}, b.identify("orders"), "another producer")
	require.Equal(t, Identity{101, 6}, b.identify("orders"), "who does not say which it is is another one each time")
	b.sound()
}

func TestATransactionBeyondItsTimeIsAborted(t *testing.T) {
	b := newBench(t, Config{})
	who := b.identify("orders")
	b.pass(message.Minute)
	b.add("orders", who, one)
	b.pass(9 * message.Second)
	b.add("orders", who, two)
	require.Equal(t, "Ongoing", b.phase("orders"))
	b.pass(999 * message.Millisecond)
	require.Equal(t, "Ongoing", b.phase("orders"))
	b.pass(message.Millisecond)
	require.Equal(t, "CompleteAbort", b.phase("orders"), "time counts from the first partition")
	require.Equal(t, []marker{{Identity{101, 1}, false, 1}}, b.parts[two].markers)
	require.Equal(t, message.ProducerFenced, b.add("orders", who, one))
	late := "producer 101 with epoch 0 is fenced: its transaction took longer than 10000 ms, and was aborted"
	fenced := func(who Identity, detail string) {
		t.Helper()
		ask := endRequest("orders", who, true)
		require.Equal(t, message.Fail(ask, message.ProducerFenced, detail), b.ask(ask))
	}
	fenced(who, late)
	require.Equal(t, &message.InitProducerIDReply{ID: 101, Epoch: 2},
		b.ask(&message.InitProducerID{TransactionalID: "orders", Timeout: message.Minute}), "one that has more time")
	fenced(who, late)
	b.add("orders", Identity{101, 2}, one)
	b.init("orders")
	fenced(Identity{101, 2}, "producer 101 with epoch 2 is fenced: another producer has taken the transactional id")
	require.Equal(t, Identity{101, 4}, b.identify("orders"))
	b.failover()
	fenced(who, late)
	fenced(Identity{101, 2}, "producer 101 with epoch 2 is fenced: another producer has taken the transactional id")
	b.sound()
}

func TestAFailoverGivesATransactionItsTimeAgain(t *testing.T) {
	b := newBench(t, Config{})
	b.add("orders", b.identify("orders"), one)
	b.pass(9 * message.Second)
	b.now.Wall += 3_600_000 // whatever the wall says
	b.failover()
	b.pass(9999 * message.Millisecond)
	require.Equal(t, "Ongoing", b.phase("orders"))
	b.pass(message.Millisecond)
	require.Equal(t, "CompleteAbort", b.phase("orders"))
	b.sound()
}

// markers collects the WriteMarkers on the wire, and takes all off it.
func (b *bench) markers() (list []*message.WriteMarkers) {
	for _, s := range b.wire {
		if m, ok := s.Msg.(*message.WriteMarkers); ok {
			list = append(list, m)
		}
	}
	b.wire = nil
	return list
}

func TestMarkersAreSentUntilEachPartitionHasOne(t *testing.T) {
	b := newBench(t, Config{})
	who := b.identify("orders")
	b.add("orders", who, one, two, three)
	b.mute = true
	b.finished("orders", who, true)
	require.Len(t, b.markers(), 2) // lost
	b.pass(999 * message.Millisecond)
	require.Empty(t, b.wire)
	b.pass(message.Millisecond)
	again := b.markers()
	require.Len(t, again, 2)
	require.Equal(t, uint64(1), again[0].Request, "an answer to any of them counts")

	b.c.Marked(b.now, b.mark(1, again[0]), &b.out)
	b.settle()
	b.pass(message.Second)
	left := b.markers()
	require.Len(t, left, 1, "only what is missing")
	require.Equal(t, []record.PartitionID{two}, left[0].Partitions)

	b.c.Marked(b.now, &message.WroteMarkers{BrokerEpoch: 1, Request: 2, Results: []message.MarkerResult{{ID: two, Code: message.NotEnoughReplicas}}}, &b.out)
	b.settle()
	b.pass(100 * message.Millisecond)
	require.Len(t, b.markers(), 1, "an error is answered sooner")
	b.c.Marked(b.now, &message.WroteMarkers{BrokerEpoch: 1, Request: 2, Results: []message.MarkerResult{{ID: two, Code: message.TransactionCoordinatorFenced}}}, &b.out)
	b.settle()
	b.pass(999 * message.Millisecond)
	require.Empty(t, b.markers(), "another coordinator is there: no hurry")

	b.parts[two].leader = message.NoNode
	b.image()
	b.pass(10 * message.Second)
	require.Empty(t, b.markers(), "nobody leads it")
	b.lead(two, 3)
	moved := b.wire
	require.Equal(t, message.NodeID(3), moved[0].To, "the new leader hears at once")
	require.Equal(t, "PrepareCommit", b.phase("orders"))
	b.c.Marked(b.now, &message.WroteMarkers{BrokerEpoch: 99, Request: 3, Results: []message.MarkerResult{{ID: two}}}, &b.out)
	require.Equal(t, "PrepareCommit", b.phase("orders"), "that was an answer to an earlier run of this broker")
	b.release()
	require.Equal(t, "CompleteCommit", b.phase("orders"))
	b.pass(5 * message.Second)
	require.Empty(t, b.wire, "what rests costs nothing")
	b.c.Marked(b.now, &message.WroteMarkers{BrokerEpoch: 1, Request: 2, Results: []message.MarkerResult{{ID: two}}}, &b.out)
	require.Equal(t, Out{}, b.out, "late answers are nobody's")
	b.sound()
}

func TestADeletedPartitionNeedsNoMarker(t *testing.T) {
	b := newBench(t, Config{})
	who := b.identify("orders")
	unknown := record.PartitionID{Topic: 77, Index: 0}
	b.add("orders", who, one, two, unknown)
	b.parts[one].deleted = true
	next := b.finished("orders", who, true)
	b.pass(10 * message.Second)
	require.Equal(t, "PrepareCommit", b.phase("orders"), "what is not known yet is not gone")
	b.lead(unknown, 2)
	require.Equal(t, "CompleteCommit", b.phase("orders"))
	require.Len(t, b.parts[unknown].markers, 1)

	b.add("orders", next, two)
	b.mute = true
	b.finished("orders", next, true)
	b.markers()
	b.parts[two].deleted = true
	b.image()
	require.Equal(t, "CompleteCommit", b.phase("orders"), "when the last one goes it is over")
	b.sound()
}

// A crash of the coordinator after any number of its records, with the rest of
// them lost or kept.
func TestTheNextCoordinatorEndsWhatWasDecided(t *testing.T) {
	for _, commit := range []bool{true, false} {
		for steps := range 4 {
			for _, kept := range []bool{true, false} {
				b := newBench(t, Config{})
				who := b.identify("orders")
				b.hold, b.mute = true, true
				b.startAdd("orders", who, one)
				b.startAdd("orders", who, two)
				b.send(endRequest("orders", who, commit))
				b.commit(1 + steps)
				b.settle()
				if steps > 2 && len(b.wire) > 0 {
					b.deliver(len(b.wire) - 1) // one partition has its marker already
				}
				_, answered := b.answers[b.token]
				b.wire = nil
				if kept {
					b.takeOver()
				} else {
					b.failover()
				}
				b.release()
				what := fmt.Sprintf("commit %v, %d steps, kept %v", commit, steps, kept)
				if answered {
					require.Contains(t, []string{"CompleteCommit", "CompleteAbort"}, b.phase("orders"), what)
				}
				next := b.finish("orders", who, commit)
				if !kept && steps == 0 && commit {
					require.Equal(t, message.InvalidTxnState, next.Code, "nothing of it is left")
					continue
				}
				require.Equal(t, message.None, next.Code, what)
				b.pass(20 * message.Second)
				if !kept && steps == 0 {
					require.Equal(t, "CompleteAbort", b.phase("orders"), what)
					continue
				}
				require.Equal(t, commit, b.phase("orders") == "CompleteCommit", what)
				require.Len(t, b.parts[one].markers, 1, what)
				require.Equal(t, commit, b.parts[one].markers[0].Commit, what)
				b.sound()
			}
		}
	}
}

func TestADeposedCoordinatorTellsNothingOld(t *testing.T) {
	b := newBench(t, Config{})
	who := b.identify("orders")
	b.hold = true // another one coordinates by now, and has a transaction open
	commit := b.send(endRequest("orders", who, true))
	described := b.send(&message.DescribeTransaction{TransactionalID: "orders"})
	unknown := b.send(endRequest("payments", who, true))
	added := b.startAdd("orders", Identity{101, 5}, one)
	require.Empty(t, b.answers[commit], "that there is nothing to commit may be wrong by now")
	b.c.Resign(b.now, 0, b.epoch+1, &b.out)
	b.settle()
	require.Equal(t, message.NotCoordinator, b.answers[commit].(*message.EndTransactionReply).Code)
	require.Equal(t, message.NotCoordinator, b.answers[described].(*message.DescribeTransactionReply).Code)
	require.Equal(t, message.NotCoordinator, b.answers[unknown].(*message.EndTransactionReply).Code)
	require.Equal(t, message.NotCoordinator, b.added[added])
}

func TestWhenEpochsEndTheProducerGetsAnotherID(t *testing.T) {
	b := newBench(t, Config{})
	b.identify("orders")
	at := func(epoch record.ProducerEpoch, phase Phase) Identity {
		s := b.c.shards.Books()[0]
		s.Decide(change{name: "orders", value: value{phase: phase, now: Identity{101, epoch}, next: -1, ended: nobody, timeout: message.Second, started: -1}})
		s.Flush(b.now, &b.out.Out)
		b.settle()
		return Identity{101, epoch}
	}
	who := at(32766, Empty)
	require.Equal(t, message.None, b.add("orders", who, one))
	b.mute = true
	next := b.finished("orders", who, true)
	require.Equal(t, Identity{102, 0}, next)
	m := b.markers()
	require.Equal(t, record.ProducerEpoch(32767), m[0].Epoch, "the marker carries the last epoch")
	require.Equal(t, record.ProducerID(101), m[0].ID)
	b.failover()
	require.Equal(t, next, b.finished("orders", who, true))
	b.release()
	require.Equal(t, "CompleteCommit", b.phase("orders"))
	require.Equal(t, next, b.finished("orders", who, true), "again, when the id is another one")
	require.Equal(t, message.ProducerFenced, b.add("orders", who, one))
	require.Equal(t, message.ProducerFenced, b.add("orders", Identity{101, 32767}, one))
	require.Equal(t, message.None, b.add("orders", next, one))
	require.Equal(t, message.InvalidProducerIDMapping, b.add("orders", who, one))
	require.Equal(t, Identity{102, 1}, b.finished("orders", next, true))

	at(32765, Empty)
	require.Equal(t, Identity{101, 32766}, b.identify("orders"))
	require.Equal(t, Identity{103, 0}, b.identify("orders"))
	who = at(32766, Empty)
	require.Equal(t, Identity{104, 0}, b.finished("orders", who, false), "an abort of nothing takes an epoch as well")
	who = at(32766, Empty)
	b.add("orders", who, two)
	b.pass(message.Second)
	require.Equal(t, "CompleteAbort", b.phase("orders"))
	require.Equal(t, Identity{101, 32767}, b.parts[two].markers[0].Identity)
	require.Equal(t, Identity{105, 0}, b.identify("orders"))
}

func TestWithoutProducerIDsOneIsToTryAgain(t *testing.T) {
	b := newBench(t, Config{})
	b.noIDs = true
	require.Equal(t, message.CoordinatorLoadInProgress, b.init("orders").Code)
	require.Equal(t, "Dead", b.phase("orders"))
	b.noIDs = false
	b.identify("orders")
}

func TestIDsThatNobodyUsesExpire(t *testing.T) {
	b := newBench(t, Config{Expiration: message.Hour})
	idle := b.identify("idle")
	busy := b.identify("busy")
	b.mute = true
	b.add0(busy)
	b.finished("busy", busy, true)
	b.pass(59 * message.Minute)
	require.Equal(t, "Empty", b.phase("idle"))
	b.failover()
	b.wire = nil
	b.pass(59 * message.Second)
	require.Equal(t, "Empty", b.phase("idle"))
	b.pass(message.Second)
	require.Equal(t, "Dead", b.phase("idle"), "a failover does not lengthen its life")
	require.Equal(t, message.InvalidProducerIDMapping, b.add1("idle", idle))
	r := b.finish("idle", idle, false)
	require.Equal(t, message.InvalidProducerIDMapping, r.Code)
	require.Equal(t, "the transactional id is not known, or was not used for so long that it expired: ask for a producer id again", r.Detail)
	require.Equal(t, message.TransactionalIDNotFound, b.ask(&message.DescribeTransaction{TransactionalID: "idle"}).(*message.DescribeTransactionReply).Code)
	require.Equal(t, "PrepareCommit", b.phase("busy"), "a decision never expires")
	b.release()
	b.pass(2 * message.Second)
	require.Equal(t, "CompleteCommit", b.phase("busy"))
	again := b.identify("idle")
	require.NotEqual(t, idle.ID, again.ID)
	b.pass(message.Hour)
	require.Equal(t, "Dead", b.phase("busy"))
	require.Equal(t, message.Never, b.c.Wake(), "what rests costs nothing")
	b.sound()
}

func (b *bench) add0(who Identity) {
	b.startAdd("busy", who, one)
	b.wire = nil
}

func (b *bench) add1(name string, who Identity) message.Code {
	b.mute, b.wire = false, nil
	defer func() { b.mute = true }()
	return b.add(name, who, one)
}

// The first records of a transaction come while the markers of the one before are
// being written. They wait for them, rather than to ask again and again.
// What waits for the end of the transaction before is in the log, and the leaders may
// have been told so when the coordinator crashes before it writes anything more.
// Leaders that asked together the last time are waited for, and written as one record;
// but not for long.
func TestTransactionsAreListedOnceTheyAreCommitted(t *testing.T) {
	b := newBench(t, Config{})
	b.identify("payments")
	who := b.identify("orders")
	b.hold = true
	b.startAdd("orders", who, one)
	list := b.send(&message.ListTransactions{})
	require.Empty(t, b.answers[list])
	b.release()
	require.Equal(t, &message.ListTransactionsReply{Transactions: []message.TransactionListing{
		{TransactionalID: "orders", State: "Ongoing", ID: 102}, {TransactionalID: "payments", State: "Empty", ID: 101},
	}}, b.answers[list])
	require.Equal(t, []ShardView{{Epoch: 1, Serving: true, IDs: 2, Ongoing: 1}}, b.c.Views())
}

func TestALogThatGrowsIsReplacedByASnapshot(t *testing.T) {
	b := newBench(t, Config{Ledger: ledger.Config{SnapshotMinimum: 20}})
	other := b.identify("payments")
	b.add("payments", other, three)
	who := b.identify("orders")
	for range 50 {
		b.add("orders", who, one, two)
		who = b.finished("orders", who, true)
		b.trim()
		b.sound()
		require.Less(t, len(b.log), 60)
		b.payments(other)
	}
	b.failover()
	require.Equal(t, message.None, b.add("orders", who, one))
	require.Equal(t, Identity{who.ID, 51}, b.finished("orders", who, true))
	require.Len(t, b.parts[one].markers, 51)
}

// payments keeps a transaction open by asking for nothing.
func (b *bench) payments(who Identity) {
	require.Equal(b.t, message.None, b.add("payments", who, three))
}

func TestSettingsHoldForWhatComesNext(t *testing.T) {
	b := newBench(t, Config{Timeout: 40 * message.Second})
	old := b.identify("payments")
	require.Equal(t, message.None, b.add("payments", old, one))
	b.identify("idle")

	b.c.SetTiming(b.now, 8*message.Second, message.Minute)
	require.Equal(t, message.InvalidTransactionTimeout, b.init("orders").Code)
	b.init0("orders")
	described := b.ask(&message.DescribeTransaction{TransactionalID: "orders"}).(*message.DescribeTransactionReply)
	require.Equal(t, 8*message.Second, described.Timeout, "what is not asked for is no longer than the longest")
	b.c.SetTiming(b.now, message.Minute, message.Minute)
	b.init0("orders")
	described = b.ask(&message.DescribeTransaction{TransactionalID: "orders"}).(*message.DescribeTransactionReply)
	require.Equal(t, 40*message.Second, described.Timeout, "and else what it was from the beginning")
	b.pass(9999 * message.Millisecond)
	require.Equal(t, "Ongoing", b.phase("payments"), "what is open keeps its time")
	b.pass(message.Millisecond)
	require.Equal(t, "CompleteAbort", b.phase("payments"))
	b.pass(50 * message.Second)
	require.Equal(t, "Dead", b.phase("idle"), "what rests may be over sooner than it was thought")
	b.sound()
}
