package client

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core/message"
)

// The table that decides what is tried again: only what is certain never to take
// effect, and for a cause that may pass.
func TestAnAttemptSaysWhatComesNext(t *testing.T) {
	no := func(p Problem, code message.Code) *Result {
		return &Result{Outcome: NotDone, Err: &Error{Problem: p, Code: code, Detail: "why"}}
	}
	because := func(p Problem, code message.Code) *Error {
		return &Error{Problem: Abortable, Because: p, Code: code, Detail: "why"}
	}
	left := func(detail string) *Error { return &Error{Problem: TimedOut, Detail: detail} }
	refusedCommit := &Result{Outcome: NotDone, Err: because(Refused, message.InvalidTxnState)}
	unknown := &Result{Outcome: Unknown, Err: &Error{Problem: TimedOut}}
	for _, c := range []struct {
		story string
		got   func(a *Attempt) Verdict
		want  Verdict
	}{
		{"it has begun", func(a *Attempt) Verdict { return a.Began(&Result{}) }, Verdict{Next: ToFill}},
		{"it has not begun", func(a *Attempt) Verdict { return a.Began(no(TimedOut, 0)) },
			Verdict{Next: ToRewind, Outcome: NotDone, Err: no(TimedOut, 0).Err}},
		{"all is stored", func(a *Attempt) Verdict { a.Added(&Result{}); return a.Filled() }, Verdict{Next: ToCommit}},
		{"a record was not stored in time", func(a *Attempt) Verdict {
			a.Added(no(TimedOut, 0))
			a.Added(no(TooLarge, 0)) // the first one counts
			return a.Filled()
		}, Verdict{Next: ToTryAgain, Abort: true, Outcome: NotDone, Err: because(TimedOut, 0)}},
		{"the record of an attempt may be stored, and yet it is aborted", func(a *Attempt) Verdict { a.Added(unknown); return a.Filled() },
			Verdict{Next: ToTryAgain, Abort: true, Outcome: NotDone, Err: &Error{Problem: Abortable, Because: TimedOut}}},
		{"a partition without a leader passes", func(a *Attempt) Verdict { a.Added(no(Refused, message.LeaderNotAvailable)); return a.Filled() },
			Verdict{Next: ToTryAgain, Abort: true, Outcome: NotDone, Err: because(Refused, message.LeaderNotAvailable)}},
		{"too many partitions for one transaction do not", func(a *Attempt) Verdict { a.Added(no(Refused, message.TransactionAbortable)); return a.Filled() },
			Verdict{Next: ToRewind, Abort: true, Outcome: NotDone, Err: because(Refused, message.TransactionAbortable)}},
		{"a topic of a bad name does not", func(a *Attempt) Verdict { a.Added(no(Refused, message.InvalidTopic)); return a.Filled() },
			Verdict{Next: ToRewind, Abort: true, Outcome: NotDone, Err: because(Refused, message.InvalidTopic)}},
		{"the records are another member's now", func(a *Attempt) Verdict { a.Added(no(NotOwned, 0)); return a.Filled() },
			Verdict{Next: ToRewind, Abort: true, Outcome: NotDone, Err: because(NotOwned, 0)}},
		{"the producer is over", func(a *Attempt) Verdict { a.Added(no(Fenced, message.ProducerFenced)); return a.Filled() },
			Verdict{Next: ToRewind, Abort: true, Outcome: NotDone, Err: no(Fenced, message.ProducerFenced).Err}},
		{"the producer cannot go on", func(a *Attempt) Verdict { a.Added(no(Fatal, message.InvalidRequest)); return a.Filled() },
			Verdict{Next: ToRewind, Abort: true, Outcome: NotDone, Err: no(Fatal, message.InvalidRequest).Err}},
		{"the application gives it up", func(a *Attempt) Verdict { return a.Dropped() }, Verdict{Next: ToRewind, Abort: true, Outcome: NotDone}},
		{"it is committed", func(a *Attempt) Verdict { return a.Ended(&Result{}) }, Verdict{Next: ToGoOn, Outcome: OK}},
		{"the commit was refused", func(a *Attempt) Verdict { return a.Ended(refusedCommit) },
			Verdict{Next: ToTryAgain, Abort: true, Outcome: NotDone, Err: refusedCommit.Err}},
		{"the commit was never asked for in time", func(a *Attempt) Verdict { return a.Ended(no(TimedOut, 0)) },
			Verdict{Next: ToTryAgain, Abort: true, Outcome: NotDone, Err: because(TimedOut, 0)}},
		{"nobody knows", func(a *Attempt) Verdict { return a.Ended(unknown) }, Verdict{Next: ToRewind, Outcome: Unknown, Err: unknown.Err}},
		{"fenced by another one", func(a *Attempt) Verdict { return a.Ended(no(Fenced, message.ProducerFenced)) },
			Verdict{Next: ToRewind, Outcome: NotDone, Err: no(Fenced, message.ProducerFenced).Err}},
		{"an answer that makes no sense", func(a *Attempt) Verdict { return a.Ended(no(Fatal, message.InvalidRequest)) },
			Verdict{Next: ToRewind, Outcome: NotDone, Err: no(Fatal, message.InvalidRequest).Err}},
		{"the client is closed", func(a *Attempt) Verdict { return a.Ended(no(Closed, 0)) },
			Verdict{Next: ToRewind, Outcome: NotDone, Err: no(Closed, 0).Err}},
		{"nobody waits for the Begin", func(a *Attempt) Verdict { return a.Left(false) },
			Verdict{Next: ToRewind, Abort: true, Outcome: NotDone, Err: left("begin: its answer was not waited for")}},
		{"nobody waits for the commit", func(a *Attempt) Verdict { return a.Left(true) },
			Verdict{Next: ToRewind, Abort: true, Outcome: Unknown, Err: left("commit: its answer was not waited for")}},
	} {
		require.Equal(t, c.want, c.got(&Attempt{}), c.story)
	}
}

func TestATransactionIsTriedFiveTimes(t *testing.T) {
	var next []Next
	for a := new(Attempt); len(next) < 5; a = a.Again() {
		require.Nil(t, a.Failure(), "what failed before says nothing of this one")
		a.Fails(&Error{Problem: TimedOut})
		next = append(next, a.Filled().Next)
	}
	require.Equal(t, []Next{ToTryAgain, ToTryAgain, ToTryAgain, ToTryAgain, ToRewind}, next)
}

// Positions that are not stored yet would come to the coordinator after the question
// where the group stands: what polls then return again would be committed as well.
func TestACommitThatWasNotAskedForIsCalledOff(t *testing.T) {
	s := pipeline(t)
	got := s.done[s.poll(2, 0)]
	s.processed(got)
	late, r := next[*message.CommitTransactionOffsets](s)
	commit := s.end(true)
	abort := s.end(false)
	require.Equal(t, Result{Outcome: NotDone, Err: &Error{Problem: Abortable, Detail: "commit: it was called off"}}, s.done[commit])
	require.False(t, s.decided(message.None, 8).Commit)
	require.Equal(t, Result{}, s.done[abort])
	s.rewind()
	s.standsAt(10)
	s.answer(late, message.Fail(r, message.None, ""))
	s.begin()
	s.fetched(message.FetchedPartition{LastStable: 14, Records: stored(10, 5, "a", "b", "c", "d")})
	s.processed(s.done[s.poll(2, 0)])
	again := s.end(true)
	require.Equal(t, uint64(2), s.added(message.None).Number)
	require.Equal(t, message.EndTransaction{TransactionalID: "pay", ID: 40, Epoch: 8, Commit: true}, *s.decided(message.None, 9))
	require.Equal(t, Result{}, s.done[again])
}

// leftAlone is a play whose commit was called off when it had been asked for.
func leftAlone(t *testing.T) *play {
	s := opened(t, func(c *Config) { c.RequestTimeout, c.AskTimeout = message.Second, message.Minute })
	s.publish(0, "a")
	s.metadata()
	s.acknowledge()
	commit, abort := s.end(true), s.end(false)
	e := &Error{Problem: TimedOut, Detail: "commit: it was called off when the coordinator had been asked for it"}
	require.Equal(t, Result{Outcome: Unknown, Err: e}, s.done[commit])
	require.Equal(t, Result{Outcome: Unknown, Err: e}, s.done[abort])
	return s
}

func TestACommitThatWasAskedForGoesOnWithoutAnybody(t *testing.T) {
	s := leftAlone(t)
	begin := s.begin()
	require.NotContains(t, s.done, begin, "it waits for the end")
	require.True(t, s.decided(message.None, 8).Commit)
	require.Equal(t, Result{}, s.done[begin])
	s.publish(0, "b")
	require.Equal(t, []string{"7/0 40.8:0 b"}, s.acknowledge())
}

// Else it would stay open for ever, and no other one could begin.
func TestACommitWithoutAnybodyThatIsRefusedIsAborted(t *testing.T) {
	s := leftAlone(t)
	require.True(t, s.decided(message.TransactionAbortable, 0).Commit)
	require.False(t, s.decided(message.None, 8).Commit)
	require.Equal(t, Result{}, s.done[s.begin()])
}

func TestACommitWithoutAnybodyThatIsNeverAskedForIsAborted(t *testing.T) {
	s := leftAlone(t)
	c, _ := next[*message.EndTransaction](s)
	s.step(Failed{Call: c.Call, Reason: Unsent})
	for range 70 { // no coordinator is found, for longer than the client asks
		s.calls = nil
		s.pass(message.Second)
	}
	require.False(t, s.c.transactor.end.commit)
}
