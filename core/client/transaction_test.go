package client

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// transactional is a play whose client has a transactional id; its coordinator is
// node 2.
func transactional(t failer, change func(*Config)) *play {
	s := newPlay(t, func(c *Config) {
		c.TransactionalID, c.TransactionTimeout, c.Isolation = "pay", message.Minute, message.ReadCommitted
		if change != nil {
			change(c)
		}
	})
	return s
}

func (s *play) begin() Op { return s.do(func(op Op) Input { return Begin{Op: op} }) }
func (s *play) end(commit bool) Op {
	return s.do(func(op Op) Input { return End{Op: op, Commit: commit} })
}

// opened is a transactional play that knows the cluster; producer 40 with epoch 7
// has a transaction open.
func opened(t failer, change func(*Config)) *play {
	s := transactional(t, change)
	op := s.begin()
	s.coordinatorOf(2)
	c, r := next[*message.InitProducerID](s)
	require.Equal(t, &message.InitProducerID{TransactionalID: "pay", Timeout: message.Minute, Incarnation: r.Incarnation}, r)
	require.NotZero(t, r.Incarnation)
	require.Equal(t, message.NodeID(2), c.Node)
	s.answer(c, &message.InitProducerIDReply{ID: 40, Epoch: 7})
	require.Equal(t, Result{}, s.done[op])
	return s
}

// coordinatorOf answers who coordinates the transactional id, which the client asks
// again once it knows where that node is.
func (s *play) coordinatorOf(n message.NodeID) {
	s.t.Helper()
	c, r := next[*message.FindCoordinator](s)
	require.Equal(s.t, &message.FindCoordinator{TransactionalID: "pay"}, r)
	s.answer(c, &message.FindCoordinatorReply{Node: n})
	if has[*message.Metadata](s) > 0 {
		s.metadata()
		s.pass(message.Second)
		c, _ = next[*message.FindCoordinator](s)
		s.answer(c, &message.FindCoordinatorReply{Node: n})
	}
}

// acknowledge answers the oldest produce request and tells what it carried.
func (s *play) acknowledge() []string {
	s.t.Helper()
	c, r := next[*message.Produce](s)
	s.answer(c, produced(r, 100))
	return sent(r)
}

// decided answers the EndTransaction that is on its way.
func (s *play) decided(code message.Code, epoch record.ProducerEpoch) *message.EndTransaction {
	s.t.Helper()
	c, r := next[*message.EndTransaction](s)
	a := &message.EndTransactionReply{Code: code, ID: 40, Epoch: epoch}
	if code != message.None {
		a.ID, a.Epoch = record.NoProducerID, record.NoProducerEpoch
	}
	s.answer(c, a)
	return r
}

func (s *play) problem(op Op) Problem {
	s.t.Helper()
	r, ok := s.done[op]
	if !ok {
		s.t.Fatalf("operation %d has no result", op)
	}
	if r.Err == nil {
		return 0
	}
	return r.Err.Problem
}

func TestEachTransactionBeginsAtSequenceZeroOfItsEpoch(t *testing.T) {
	s := opened(t, nil)
	a, b := s.publish(0, "a"), s.publish(1, "b")
	s.metadataIfAsked()
	c, r := next[*message.Produce](s)
	require.Equal(t, "pay", r.TransactionalID)
	require.Equal(t, message.AcksAll, r.Acks)
	h, _ := record.Validate(r.Partitions[0].Records)
	require.True(t, h.Attributes.Transactional())
	require.Equal(t, []string{"7/0 40.7:0 a"}, sent(r))
	s.answer(c, produced(r, 100))
	end := s.end(true)
	require.Zero(t, has[*message.EndTransaction](s), "b has no result yet")
	require.Equal(t, []string{"7/1 40.7:0 b"}, s.acknowledge())
	require.Equal(t, &message.EndTransaction{TransactionalID: "pay", ID: 40, Epoch: 7, Commit: true}, s.decided(message.None, 8))
	for _, op := range []Op{a, b, end} {
		require.Equal(t, OK, s.done[op].Outcome)
	}
	require.Equal(t, Result{}, s.done[s.begin()], "the next identity is there")
	s.publish(0, "c")
	require.Equal(t, []string{"7/0 40.8:0 c"}, s.acknowledge())
	s.publish(0, "d")
	require.Equal(t, []string{"7/0 40.8:1 d"}, s.acknowledge())
}

func (s *play) metadataIfAsked() {
	if has[*message.Metadata](s) > 0 {
		s.metadata()
		return
	}
	s.pass(message.Second)
	if has[*message.Metadata](s) > 0 {
		s.metadata()
	}
}

func TestNothingIsPublishedOutsideATransaction(t *testing.T) {
	s := transactional(t, nil)
	require.Equal(t, Misused, s.problem(s.publish(0, "a")))
	require.Equal(t, Misused, s.problem(s.end(true)))
	s = opened(t, nil)
	require.Equal(t, Misused, s.problem(s.begin()))
	end := s.end(true)
	require.Equal(t, OK, s.done[end].Outcome)
	require.Zero(t, has[*message.EndTransaction](s), "a coordinator refuses a commit of nothing")
	require.Equal(t, Misused, s.problem(s.publish(0, "a")))
	require.Equal(t, Misused, newPlay(t, nil).problemOf(func(op Op) Input { return Begin{Op: op} }))
}

func (s *play) problemOf(f func(Op) Input) Problem { return s.problem(s.do(f)) }

func TestWhatAnEarlierProducerLeftIsWaitedFor(t *testing.T) {
	s := transactional(t, nil)
	op := s.begin()
	s.coordinatorOf(2)
	c, _ := next[*message.InitProducerID](s)
	s.answer(c, &message.InitProducerIDReply{Code: message.ConcurrentTransactions})
	require.NotContains(t, s.done, op)
	s.pass(message.Second)
	c, _ = next[*message.InitProducerID](s)
	s.answer(c, &message.InitProducerIDReply{ID: 40, Epoch: 3})
	require.Equal(t, Result{}, s.done[op])
}

// Whoever waits for an identity may give up before the coordinator does. The question
// goes on, and is asked once (INV-38); its answer serves who comes next.
func TestAnIdentityIsAskedForOnceHoweverLongItTakes(t *testing.T) {
	s := transactional(t, func(c *Config) { c.RequestTimeout, c.AskTimeout = 20*message.Second, 5*message.Second })
	first := s.begin()
	s.coordinatorOf(2)
	c, _ := next[*message.InitProducerID](s)
	s.pass(5 * message.Second)
	require.Equal(t, Result{Outcome: NotDone, Err: &Error{
		Problem: TimedOut, Code: message.CoordinatorNotAvailable, Detail: "InitProducerID: the coordinator of transactional id pay was not found",
	}}, s.done[first])
	second := s.begin()
	require.NotContains(t, s.kinds(), message.KindInitProducerID)
	s.answer(c, &message.InitProducerIDReply{ID: 40, Epoch: 7})
	require.Equal(t, Result{}, s.done[second])
}

// A record that fails takes the transaction with it: what waits is given up,
// nothing more is taken, and a commit is refused. After the abort the producer goes
// on.
func TestARecordThatFailsFailsTheTransaction(t *testing.T) {
	s := opened(t, nil)
	a, b := s.publish(0, "a"), s.publish(0, "b")
	s.metadataIfAsked()
	c, r := next[*message.Produce](s)
	late := s.publish(1, "late")
	lateCall, lateRequest := next[*message.Produce](s)
	s.answer(c, refusal(r, message.TransactionAbortable))
	require.Equal(t, Refused, s.problem(a))
	require.Equal(t, Refused, s.problem(b))
	require.Equal(t, Unknown, s.done[late].Outcome, "it is on its way")
	refused := s.done[s.publish(0, "c")].Err
	require.Equal(t, []any{Abortable, Refused, message.TransactionAbortable}, []any{refused.Problem, refused.Because, refused.Code})
	require.Equal(t, Abortable, s.problem(s.end(true)))
	require.Zero(t, has[*message.EndTransaction](s))
	abort := s.end(false)
	require.False(t, s.decided(message.None, 8).Commit)
	require.Equal(t, OK, s.done[abort].Outcome)

	s.begin()
	d := s.publish(1, "d")
	s.answer(lateCall, refusal(lateRequest, message.ProducerFenced)) // of epoch 7: nobody is fenced
	require.Equal(t, []string{"7/1 40.8:0 d"}, s.acknowledge())
	require.Equal(t, OK, s.done[d].Outcome)
	s.end(true)
	s.decided(message.None, 9)
}

// So does one that is not even taken in: whoever goes on all the same must not be told
// that the transaction is committed, which lacks it.
func TestARecordThatIsNotTakenInFailsTheTransaction(t *testing.T) {
	s := opened(t, func(c *Config) { c.BufferBytes = 300 })
	s.publish(0, "a")
	s.metadataIfAsked()
	full := s.publish(0, string(make([]byte, 300)))
	require.Equal(t, BufferFull, s.problem(full))
	s.acknowledge()
	refused := s.done[s.publish(0, "b")].Err
	require.Equal(t, []any{Abortable, BufferFull}, []any{refused.Problem, refused.Because})
	require.Equal(t, Abortable, s.problem(s.end(true)))
	require.Zero(t, has[*message.EndTransaction](s))
	abort := s.end(false)
	require.False(t, s.decided(message.None, 8).Commit)
	require.Equal(t, OK, s.done[abort].Outcome)
}

// A gap cannot be mended by another epoch, which is the transaction's.
func TestAGapFailsTheTransaction(t *testing.T) {
	s := opened(t, nil)
	a := s.publish(0, "a")
	s.metadataIfAsked()
	c, r := next[*message.Produce](s)
	s.answer(c, refusal(r, message.OutOfOrderSequence))
	require.Equal(t, []any{NotDone, message.OutOfOrderSequence}, []any{s.done[a].Outcome, s.done[a].Err.Code})
	require.Equal(t, Abortable, s.problem(s.end(true)))
}

func TestAFencedProducerIsOver(t *testing.T) {
	for _, code := range []message.Code{message.ProducerFenced, message.InvalidProducerIDMapping} {
		s := opened(t, nil)
		a := s.publish(0, "a")
		s.metadataIfAsked()
		c, r := next[*message.Produce](s)
		s.answer(c, refusal(r, code))
		for _, op := range []Op{a, s.publish(0, "b"), s.end(true), s.end(false), s.begin()} {
			require.Equal(t, Fenced, s.problem(op), code)
			require.Equal(t, NotDone, s.done[op].Outcome)
			require.ErrorIs(t, s.done[op].Err, code)
		}
		require.Zero(t, has[*message.EndTransaction](s))
	}
}

// An end that is refused for good ends the producer, and says truly why: who is fenced
// looks for another process, and there is none.
func TestAnEndThatIsRefusedForGoodEndsTheProducer(t *testing.T) {
	type told struct {
		outcome Outcome
		problem Problem
		next    Problem // of the next Begin
	}
	for _, c := range []struct {
		code   message.Code // None: the answer has no producer id
		commit bool
		want   told
	}{
		{message.ProducerFenced, true, told{NotDone, Fenced, Fenced}},
		{message.InvalidProducerEpoch, true, told{NotDone, Fenced, Fenced}},
		{message.InvalidProducerEpoch, false, told{NotDone, Fenced, Fenced}},
		{message.InvalidRequest, true, told{NotDone, Fatal, Fatal}},
		{message.InvalidRequest, false, told{NotDone, Fatal, Fatal}},
		{message.InvalidTxnState, false, told{NotDone, Fatal, Fatal}},
		{message.None, true, told{Unknown, Fatal, Fatal}},
		{message.None, false, told{NotDone, Fatal, Fatal}},
	} {
		s := opened(t, nil)
		s.publish(0, "a")
		s.metadataIfAsked()
		s.acknowledge()
		end := s.end(c.commit)
		q, _ := next[*message.EndTransaction](s)
		s.answer(q, &message.EndTransactionReply{Code: c.code, ID: record.NoProducerID, Epoch: record.NoProducerEpoch})
		got := told{s.done[end].Outcome, s.problem(end), s.problem(s.begin())}
		require.Equal(t, c.want, got, "%s, commit %t", c.code, c.commit)
	}
}

// An end is asked for again under the same epoch until the answer is there: the
// coordinator gives the same one.
func TestAnEndIsAskedForAgain(t *testing.T) {
	s := opened(t, nil)
	s.publish(0, "a")
	s.metadataIfAsked()
	s.acknowledge()
	end := s.end(true)
	c, first := next[*message.EndTransaction](s)
	s.break_(c)
	s.pass(message.Second)
	for has[*message.Metadata](s) > 0 {
		s.metadata()
	}
	s.pass(message.Second)
	s.coordinatorOf(3)
	c, again := next[*message.EndTransaction](s)
	require.Equal(t, message.NodeID(3), c.Node)
	require.Equal(t, first, again)
	s.answer(c, &message.EndTransactionReply{ID: 40, Epoch: 8})
	require.Equal(t, Result{}, s.done[end])
}

// Whoever waits for a commit is told that its outcome is not known; the client asks
// on, and the next transaction begins when it knows.
func TestACommitWithoutAnAnswerIsUnknownAndResolvedLater(t *testing.T) {
	s := opened(t, func(c *Config) { c.RequestTimeout = message.Minute })
	s.publish(0, "a")
	s.metadataIfAsked()
	s.acknowledge()
	end := s.do(func(op Op) Input { return End{Op: op, Commit: true, Timeout: 5 * message.Second} })
	s.pass(5 * message.Second)
	require.Equal(t, []any{Unknown, TimedOut}, []any{s.done[end].Outcome, s.done[end].Err.Problem})
	begin := s.begin()
	require.NotContains(t, s.done, begin)
	_, _ = next[*message.EndTransaction](s) // given up
	require.True(t, s.decided(message.None, 8).Commit)
	require.Equal(t, Result{}, s.done[begin])
}

// Then another producer takes the id: whether it was committed is not known.
func TestFencedWhileACommitIsUnknown(t *testing.T) {
	s := opened(t, nil)
	s.publish(0, "a")
	s.metadataIfAsked()
	s.acknowledge()
	end := s.end(true)
	c, r := next[*message.EndTransaction](s)
	s.answer(c, message.Fail(r, message.CoordinatorNotAvailable, ""))
	s.pass(message.Second)
	s.coordinatorOf(2)
	s.decided(message.ProducerFenced, 0)
	require.Equal(t, []any{Unknown, Fenced}, []any{s.done[end].Outcome, s.done[end].Err.Problem})
}

func TestACommitThatNobodyWasAskedForIsNotDone(t *testing.T) {
	s := opened(t, nil)
	s.publish(0, "a")
	s.metadataIfAsked()
	end := s.do(func(op Op) Input { return End{Op: op, Commit: true, Timeout: message.Second} })
	s.pass(message.Second) // the record has no answer
	require.Equal(t, []any{NotDone, Abortable, TimedOut}, []any{s.done[end].Outcome, s.done[end].Err.Problem, s.done[end].Err.Because})
	abort := s.end(false)
	s.decided(message.None, 8)
	require.Equal(t, OK, s.done[abort].Outcome)
}

func TestClosingAbortsWhatIsOpen(t *testing.T) {
	s := opened(t, nil)
	a := s.publish(0, "a")
	s.metadataIfAsked()
	closed := s.do(func(op Op) Input { return Close{op} })
	require.Equal(t, Unknown, s.done[a].Outcome)
	require.NotContains(t, s.done, closed)
	require.False(t, s.decided(message.None, 8).Commit)
	require.Equal(t, Result{}, s.done[closed])
	require.Equal(t, message.Never, s.c.Wake())
}

func TestAClosePermitsACommitThatIsUnderWay(t *testing.T) {
	s := opened(t, nil)
	s.publish(0, "a")
	s.metadataIfAsked()
	end := s.end(true)
	closed := s.do(func(op Op) Input { return Close{op} })
	s.acknowledge()
	require.True(t, s.decided(message.None, 8).Commit)
	require.Equal(t, Result{}, s.done[end])
	require.Equal(t, Result{}, s.done[closed])
}

// Nobody waits for a commit of which it is not known, when the client is closed, what
// became of it: who comes next finds out.
func TestAClosedClientLeavesACommitWithoutAnAnswer(t *testing.T) {
	s := opened(t, func(c *Config) { c.RequestTimeout = message.Minute })
	s.publish(0, "a")
	s.metadataIfAsked()
	s.acknowledge()
	end := s.do(func(op Op) Input { return End{Op: op, Commit: true, Timeout: 5 * message.Second} })
	closed := s.do(func(op Op) Input { return Close{op} })
	require.NotContains(t, s.done, closed)
	s.pass(5 * message.Second)
	require.Equal(t, []any{Unknown, TimedOut}, []any{s.done[end].Outcome, s.done[end].Err.Problem})
	require.Equal(t, Result{}, s.done[closed])
	require.Equal(t, message.Never, s.c.Wake())
}
