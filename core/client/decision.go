package client

import (
	"github.com/tamarack-mq/tamarack/core/message"
)

// decision is the end of a transaction that is under way.
type decision struct {
	op       Op // 0: nobody waits for it (any more)
	commit   bool
	flushed  bool // all records have their result
	maybe    bool // the coordinator may have decided so
	left     bool // nobody waits for this commit: if it comes to nothing it is aborted
	until    message.Time
	deadline alarm // of the flush
}

// endOne begins the end of a transaction.
func (t *transactor) endOne(in End) {
	switch {
	case !t.on():
		t.misused(in.Op, "end: the client has no transactional id: set Config.TransactionalID")
		return
	case t.phase != open:
		if t.fatal != nil {
			t.c.fail(in.Op, NotDone, t.fatal)
			return
		}
		if t.begin != nil && !in.Commit {
			t.failBegin(&Error{Problem: Abortable, Detail: "begin: the transaction was ended before it began"})
			t.c.succeed(in.Op, Result{})
			return
		}
		if t.end != nil && t.end.commit && !in.Commit {
			t.callOff(in)
			return
		}
		t.misused(in.Op, "end: no transaction is open: Begin one first")
		return
	}
	wait := in.Timeout
	if wait <= 0 {
		wait = t.c.cfg.AskTimeout
	}
	t.end = &decision{op: in.Op, commit: in.Commit, until: t.c.now.Mono.Add(wait)}
	if !in.Commit {
		t.abort()
		return
	}
	t.phase = gathering
	end := t.end
	end.deadline.Due = func() {
		t.failed(&Error{Problem: TimedOut, Detail: "commit: not all records and positions were stored in time"})
	}
	t.c.alarms.Set(&end.deadline, end.until)
	t.c.producer.flush(0, func() { end.flushed = true })
}

// callOff is an abort while a commit is under way: nobody waits for that any more. What
// was not asked of the coordinator is aborted. Of what was, only the coordinator can
// tell: the client never asks for the other outcome before it is told that this one
// will not be.
func (t *transactor) callOff(in End) {
	if t.phase == gathering {
		t.c.alarms.Stop(&t.end.deadline)
		t.answer(NotDone, &Error{Problem: Abortable, Detail: "commit: it was called off"})
		t.phase = open
		t.endOne(in)
		return
	}
	t.end.left = true
	e := &Error{Problem: TimedOut, Detail: "commit: it was called off when the coordinator had been asked for it"}
	t.answer(Unknown, e)
	t.c.fail(in.Op, Unknown, e)
}

// refusedCommit takes in that the coordinator has not committed and never will: the
// transaction can only be aborted, because of why.
func (t *transactor) refusedCommit(why *Error, told func() *Error) {
	left := t.end.left
	t.phase, t.failure = open, why
	t.ended(NotDone, told())
	if left {
		t.end = &decision{until: t.c.now.Mono.Add(t.c.cfg.AskTimeout)}
		t.abort()
	}
}

// abort gives up what has no result and has the coordinator decide for an abort.
// Nothing was added to a transaction that no request was sent for: it ends here,
// and its identity serves the next one.
func (t *transactor) abort() {
	t.phase = deciding
	t.drop()
	switch {
	case t.fatal != nil:
		t.phase = between
		t.ended(NotDone, t.fatal)
	case !t.touched:
		t.phase = between
		t.ended(OK, nil)
	default:
		t.askEnd()
	}
}

// decide asks for the commit of a transaction of which everything has its result.
func (t *transactor) decide() {
	t.c.alarms.Stop(&t.end.deadline)
	switch {
	case t.fatal != nil:
		t.phase = open
		t.ended(NotDone, t.fatal)
	case t.failure != nil:
		t.phase = open
		t.ended(NotDone, t.abortable())
	case !t.touched: // a commit of nothing, which a coordinator would refuse
		t.phase, t.doubt = between, false
		t.ended(OK, nil)
	default:
		t.phase = deciding
		t.askEnd()
	}
}

func (t *transactor) askEnd() {
	end := t.end
	q := &message.EndTransaction{TransactionalID: t.c.cfg.TransactionalID, ID: t.id, Epoch: t.epoch, Commit: end.commit}
	a := &ask{target: t.target(), prepare: ready(q), finish: t.decided, lasting: true}
	t.c.begin(a, max(end.until.Sub(t.c.now.Mono), message.Millisecond))
}

// decided takes in how the question for the end was answered.
func (t *transactor) decided(r Result) {
	end := t.end
	end.maybe = end.maybe || r.Outcome == Unknown
	m, ok := r.Reply.(*message.EndTransactionReply)
	switch {
	case r.Err == nil && ok && m.ID >= 0 && m.Epoch >= 0:
		t.id, t.epoch, t.phase = m.ID, m.Epoch, between
		if end.commit {
			t.keepOffsets()
			t.doubt = false
		}
		t.ended(OK, nil)
	case r.Err == nil:
		end.maybe = true
		t.ruin(message.UnknownServerError, "the answer to the end of a transaction has no producer id")
		t.unanswered(t.fatal)
	case r.Err.Problem == TimedOut:
		t.late(r.Err)
	case over(r.Err.Code) || r.Err.Code == message.InvalidProducerEpoch:
		t.fence(r.Err.Code, r.Err.Detail)
		t.unanswered(t.fatal)
	case end.commit && !end.maybe && (r.Err.Code == message.InvalidTxnState || r.Err.Code == message.TransactionAbortable):
		t.refusedCommit(r.Err, t.abortable)
	default:
		t.ruin(r.Err.Code, r.Err.Detail)
		t.unanswered(t.fatal)
	}
}

// unanswered ends the last transaction of a producer that is over.
func (t *transactor) unanswered(e *Error) {
	t.phase = between
	o := NotDone
	if t.end.maybe && t.end.commit {
		o = Unknown
	}
	t.ended(o, e)
}

// late is when the time for an end is over. Who waits is told; as long as the
// coordinator may have decided, or for an abort, it is asked on: the same question
// gets the same answer.
func (t *transactor) late(e *Error) {
	end := t.end
	if end.commit && !end.maybe {
		t.refusedCommit(e, func() *Error { return e })
		return
	}
	t.answer(Unknown, e)
	if t.c.closing != nil {
		t.phase, t.end = anonymous, nil
		return
	}
	end.until = t.c.now.Mono.Add(t.c.cfg.AskTimeout)
	t.askEnd()
}

// answer tells whoever waits for the end.
func (t *transactor) answer(o Outcome, e *Error) {
	if op := t.end.op; op != 0 {
		t.end.op = 0
		t.c.succeed(op, Result{Outcome: o, Err: e})
	}
}

// ended tells whoever waits, and goes on with the next Begin.
func (t *transactor) ended(o Outcome, e *Error) {
	t.answer(o, e)
	t.end = nil
	if t.fatal == nil {
		t.proceed()
	}
}

// keepOffsets takes in that positions were committed with the transaction.
func (t *transactor) keepOffsets() {
	for _, one := range t.offsets {
		one.keep()
	}
}

// close aborts the transaction that is open, lets a commit come to its end, and
// tells done.
func (t *transactor) close(done func()) {
	t.idle = done
	t.failBegin(&Error{Problem: Closed, Detail: "begin: the client was closed"})
	t.closeWhenIdle()
}

func (t *transactor) closeWhenIdle() {
	if t.idle == nil || t.phase == gathering || t.phase == deciding {
		return
	}
	if t.phase == open {
		t.end = &decision{until: t.c.now.Mono.Add(t.c.cfg.RequestTimeout)}
		t.abort()
		if t.phase == deciding {
			return
		}
	}
	done := t.idle
	t.idle = nil
	done()
}
