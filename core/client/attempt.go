package client

import "github.com/tamarack-mq/tamarack/core/message"

// Attempt is one attempt at a transaction, as whoever makes it goes through it: Begin,
// records and positions, End. It says after each step what comes next, so that the
// blocking client and the simulated ones decide alike.
//
// The rule behind it: the same records are processed again at once only when the
// attempt before is certain never to take effect. In all other cases who makes
// transactions goes back to what its group has committed, and is told there whether
// they did.
//
// An attempt is told of by its own results only: what still comes of an earlier one
// concerns that one. The zero value is the first attempt.
type Attempt struct {
	number int    // how many came before
	failed *Error // why it can only be aborted; nil: nothing has failed
}

// mostAttempts is how often one transaction is tried: what does not pass by itself
// must not hold the records behind it for ever.
const mostAttempts = 5

// Next is what whoever makes a transaction does next.
type Next uint8

// The next steps.
const (
	ToFill     Next = iota // publish, and add positions: the transaction is open
	ToCommit               // ask for the End that commits
	ToGoOn                 // it is committed: poll for the next records
	ToTryAgain             // Begin again with the same records; or, for who does not want to, ToRewind
	ToRewind               // Rewind, and forget what was polled
)

// Verdict is what a step of an attempt has come to.
type Verdict struct {
	Next Next
	// Abort has an End that aborts asked for first. Nobody needs to wait for its
	// result: the next Begin does.
	Abort bool
	// Outcome is what is known of the transaction when it is over: OK with ToGoOn, else
	// NotDone or Unknown.
	Outcome Outcome
	// Err is why it was not committed; nil: nothing was wrong with it.
	Err *Error
}

// Again is the attempt after this one.
func (a *Attempt) Again() *Attempt { return &Attempt{number: a.number + 1} }

// Repeats says that another attempt came before.
func (a *Attempt) Repeats() bool { return a.number > 0 }

// Began takes in the result of the Begin.
func (a *Attempt) Began(r *Result) Verdict {
	if r.Err != nil {
		return Verdict{Next: ToRewind, Outcome: NotDone, Err: r.Err}
	}
	return Verdict{Next: ToFill}
}

// Added takes in the result of a Publish or an AddOffsets.
func (a *Attempt) Added(r *Result) {
	if r.Err != nil {
		a.Fails(r.Err)
	}
}

// Fails has the attempt end in an abort because something could not be added.
func (a *Attempt) Fails(e *Error) {
	if a.failed == nil {
		a.failed = e
	}
}

// Failure is why the attempt can only be aborted; nil: nothing has failed so far.
func (a *Attempt) Failure() *Error { return a.failed }

// Filled is for when all was added that belongs to the transaction.
func (a *Attempt) Filled() Verdict {
	if a.failed == nil {
		return Verdict{Next: ToCommit}
	}
	return a.aborted(a.failed)
}

// Dropped is for a transaction that its application gives up for a reason of its own.
func (a *Attempt) Dropped() Verdict {
	return Verdict{Next: ToRewind, Abort: true, Outcome: NotDone}
}

// Ended takes in the result of the End that was to commit.
func (a *Attempt) Ended(r *Result) Verdict {
	switch {
	case r.Err == nil:
		return Verdict{Next: ToGoOn, Outcome: OK}
	case r.Outcome == Unknown || r.Err.Problem == Fenced || r.Err.Problem == Fatal || r.Err.Problem == Closed:
		return Verdict{Next: ToRewind, Outcome: r.Outcome, Err: r.Err}
	}
	return a.aborted(r.Err) // it is still open
}

// Left is for when whoever waits for a Begin, or for the End that was to commit, does
// not wait any more. What was not asked of the cluster yet is called off. asked: it was
// the End, which may have been.
func (a *Attempt) Left(asked bool) Verdict {
	v := Verdict{Next: ToRewind, Abort: true, Outcome: NotDone, Err: &Error{Problem: TimedOut, Detail: "begin: its answer was not waited for"}}
	if asked {
		v.Outcome, v.Err.Detail = Unknown, "commit: its answer was not waited for"
	}
	return v
}

// aborted ends an attempt that is open and cannot be committed because of e.
func (a *Attempt) aborted(e *Error) Verdict {
	v := Verdict{Next: ToRewind, Abort: true, Outcome: NotDone, Err: e}
	if mayPass(e) && a.number+1 < mostAttempts {
		v.Next = ToTryAgain
	}
	switch e.Problem {
	case Abortable, Fenced, Fatal, Closed:
	default:
		why := *e
		why.Because, why.Problem = why.Problem, Abortable
		v.Err = &why
	}
	return v
}

// mayPass says that the cause of an abort may be gone when the same is tried again. It
// will not be after TransactionAbortable: that a transaction has too many partitions.
func mayPass(e *Error) bool {
	why := e.Problem
	if why == Abortable {
		why = e.Because
	}
	switch why {
	case TimedOut:
		return true
	case Refused:
		switch e.Code {
		case message.InvalidProducerEpoch, message.OutOfOrderSequence, message.UnknownProducerID, message.InvalidTxnState:
			return true
		}
		return e.Code.Retriable()
	}
	return false
}
