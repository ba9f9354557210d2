package client

import (
	"fmt"

	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// transactor is what a producer with a transactional id has more than others: one
// transaction after the other, each under a producer epoch of its own, so that
// nothing of an earlier one can be taken for the next (KIP-890). The coordinator
// gives the first identity, after it has fenced and ended what an earlier
// incarnation left, and with each end that of the next transaction.
//
// A transaction is all or nothing: as soon as one of its records or positions has
// failed it can only be aborted, what is left of it is given up, and nothing more
// is taken. Once it has asked for a commit, this client never asks for the other
// outcome: an end is asked for until there is a certain answer, also when whoever
// asked for it does not wait any more.
type transactor struct {
	c     *Client
	phase phase
	id    record.ProducerID // of the transaction that is open, else of the next
	epoch record.ProducerEpoch
	turn  uint64 // counts transactions: lanes begin anew with each
	self  uint64 // this incarnation, so that a repeated question for its identity is known as such; 0: it has not asked

	touched bool      // something was sent that may have begun it in the cluster
	storing int       // AddOffsets without a result
	offsets []*commit // positions that are part of it
	failure *Error    // why it can only be aborted
	dropped bool      // what was left of it is given up
	doubt   bool      // it is not committed, and what was handed over was not rewound since it began
	fatal   *Error    // the producer is over

	begin    *beginning
	identity *ask // the question for one; nil: it is not asked
	end      *decision
	idle     func() // told, while the client is being closed, when all has ended
}

// phase is what a transactional producer waits for.
type phase uint8

const (
	anonymous phase = iota // an identity
	between                // a Begin
	open                   // an End
	gathering              // results of what is to be committed
	deciding               // the coordinator's answer to the end
)

// beginning is a Begin that waits.
type beginning struct {
	op       Op
	until    message.Time
	deadline alarm
}

func (t *transactor) init(c *Client) { t.c = c }

// on says that the producer is a transactional one.
func (t *transactor) on() bool { return t.c.cfg.TransactionalID != "" }

// target is the coordinator.
func (t *transactor) target() Target {
	return Target{Kind: Coordinator, TransactionalID: t.c.cfg.TransactionalID}
}

// operate begins an operation of the application.
func (t *transactor) operate(in Input) {
	switch in := in.(type) {
	case Begin:
		t.beginOne(in)
	case AddOffsets:
		t.addOffsets(in)
	case End:
		t.endOne(in)
	}
}

// beginOne begins a transaction, as soon as there is an identity for it.
func (t *transactor) beginOne(in Begin) {
	switch {
	case !t.on():
		t.misused(in.Op, "begin: the client has no transactional id: set Config.TransactionalID")
		return
	case t.fatal != nil:
		t.c.fail(in.Op, NotDone, t.fatal)
		return
	case t.phase == open || t.phase == gathering || t.begin != nil:
		t.misused(in.Op, "begin: a transaction is open: End it first")
		return
	}
	wait := in.Timeout
	if wait <= 0 {
		wait = t.c.cfg.AskTimeout
	}
	b := &beginning{op: in.Op, until: t.c.now.Mono.Add(wait)}
	b.deadline.Due = func() {
		if t.identity != nil {
			t.failBegin(t.identity.because(TimedOut))
			return
		}
		t.failBegin(&Error{Problem: TimedOut, Detail: "begin: the end of the transaction before is not certain yet: no coordinator has answered"})
	}
	t.begin = b
	t.proceed()
}

// proceed goes on with a Begin that waits, if it can.
func (t *transactor) proceed() {
	b := t.begin
	switch {
	case b == nil:
	case t.phase == between:
		t.c.alarms.Stop(&b.deadline)
		t.begin = nil
		t.phase, t.touched, t.failure, t.dropped = open, false, nil, false
		t.storing, t.offsets = 0, nil
		t.turn++
		t.doubt = true
		t.c.succeed(b.op, Result{})
	default:
		t.c.alarms.Set(&b.deadline, b.until)
		if t.phase == anonymous {
			t.identify()
		}
	}
}

// subscribed asks for an identity as soon as the client is a member of a group. What
// an earlier incarnation left open is aborted at once: positions that wait for the end
// of it may be why there is nothing to begin a transaction with.
func (t *transactor) subscribed() {
	if t.on() && t.phase == anonymous && t.c.consumer.mode == grouped {
		t.identify()
	}
}

// identify asks the coordinator who this producer is, until it is answered for good:
// whoever waits for that has a time limit of his own.
func (t *transactor) identify() {
	if t.identity != nil {
		return
	}
	if t.self == 0 {
		t.self = max(t.c.naming.Uint64(), 1)
	}
	q := &message.InitProducerID{TransactionalID: t.c.cfg.TransactionalID, Timeout: t.c.cfg.TransactionTimeout, Incarnation: t.self}
	t.identity = &ask{target: t.target(), prepare: ready(q), finish: t.identified}
	t.c.begin(t.identity, message.Never.Sub(t.c.now.Mono))
}

func (t *transactor) identified(r Result) {
	t.identity = nil
	m, ok := r.Reply.(*message.InitProducerIDReply)
	switch {
	case r.Err != nil:
		t.failBegin(r.Err)
	case !ok || m.ID < 0 || m.Epoch < 0:
		t.failBegin(&Error{Problem: Refused, Code: message.UnknownServerError, Detail: "begin: the coordinator's answer has no producer id"})
	default:
		t.id, t.epoch, t.phase = m.ID, m.Epoch, between
		t.proceed()
	}
}

func (t *transactor) failBegin(e *Error) {
	if b := t.begin; b != nil {
		t.c.alarms.Stop(&b.deadline)
		t.begin = nil
		t.c.fail(b.op, NotDone, e)
	}
}

func (t *transactor) misused(op Op, detail string) {
	t.c.fail(op, NotDone, &Error{Problem: Misused, Detail: detail})
}

// refuses says why nothing can be added to the transaction now; nil: it can.
func (t *transactor) refuses(what string) *Error {
	switch {
	case t.fatal != nil:
		return t.fatal
	case t.phase != open:
		return &Error{Problem: Misused, Detail: what + ": no transaction is open: Begin one first"}
	case t.failure != nil:
		return t.abortable()
	}
	return nil
}

// holds says that what was handed over may have gone into a transaction that can still
// be aborted, or was: a position that is committed outside of it would skip that.
func (t *transactor) holds() bool { return t.doubt || t.phase == open || t.phase == gathering }

// rewound takes in that what was handed over is to be forgotten.
func (t *transactor) rewound() { t.doubt = false }

// takes says that a transaction is the present one and may still commit.
func (t *transactor) takes(turn uint64) bool {
	return t.turn == turn && (t.phase == open || t.phase == gathering) && t.failure == nil && t.fatal == nil
}

// abortable is what is told once the transaction has failed.
func (t *transactor) abortable() *Error {
	return &Error{Problem: Abortable, Because: t.failure.Problem, Code: t.failure.Code,
		Detail: "the transaction must be aborted: " + t.failure.Detail}
}

// failed takes in that something of the transaction has failed.
func (t *transactor) failed(e *Error) {
	switch {
	case t.phase != open && t.phase != gathering || t.failure != nil || t.fatal != nil:
	case over(e.Code):
		t.fence(e.Code, anyOfThese+e.Detail)
	default:
		t.failure = e
	}
}

// over are the codes after which a producer can do nothing any more: its
// transactional id belongs to another one, or was forgotten. A partition leader's
// InvalidProducerEpoch does not belong to them: the answer to the abort tells what
// it means.
func over(code message.Code) bool {
	return code == message.ProducerFenced || code == message.InvalidProducerIDMapping
}

// means is what it means for who makes transactions that something was refused with a
// code: that the producer is over, whoever is the first to say so.
func (t *transactor) means(why Problem, code message.Code) Problem {
	if t.on() && why == Refused && over(code) {
		return Fenced
	}
	return why
}

// anyOfThese is what can be said when a partition's leader, or a group's coordinator,
// tells that a producer is over: it has the code from the transaction's coordinator,
// and no more. When that is asked itself it says which it is.
const anyOfThese = "another one has taken the id, or a transaction was open for too long, or the id expired: "

// fence ends the producer.
func (t *transactor) fence(code message.Code, detail string) {
	t.fatal = &Error{Problem: Fenced, Code: code, Detail: fmt.Sprintf(
		"the producer of transactional id %q is over: make a new client: %s",
		t.c.cfg.TransactionalID, detail)}
	t.failBegin(t.fatal)
}

// ruin ends the producer because of an answer that no coordinator gives to a client
// that does as it should.
func (t *transactor) ruin(code message.Code, detail string) {
	t.fatal = &Error{Problem: Fatal, Code: code, Detail: fmt.Sprintf(
		"the producer of transactional id %q cannot go on: the end of a transaction was answered with what it can do nothing about: make a new client: %s",
		t.c.cfg.TransactionalID, detail)}
	t.failBegin(t.fatal)
}

// settle gives up what is left of a transaction that has failed, and goes on with
// its end when everything has its result.
func (t *transactor) settle() {
	if !t.on() {
		return
	}
	if (t.failure != nil || t.fatal != nil) && (t.phase == open || t.phase == gathering) {
		t.drop()
	}
	if t.phase == gathering && t.end.flushed && (t.storing == 0 || t.dropped) {
		t.decide()
	}
	t.closeWhenIdle()
}

// drop gives up all records that have no result yet. Positions on their way to be
// stored find out by themselves: see takes.
func (t *transactor) drop() {
	if t.dropped {
		return
	}
	t.dropped = true
	p := &t.c.producer
	for _, l := range p.order {
		for len(l.batches) > 0 {
			l.giveUp(l.batches[0], Abortable)
		}
	}
	for _, topic := range t.c.cluster.used {
		waiting := topic.waiting
		topic.waiting = nil
		t.c.alarms.Stop(&topic.expiry)
		for i := range waiting {
			p.neverSent(&waiting[i], &Error{Problem: Abortable, Detail: "publish: the transaction was aborted before the record was sent"})
		}
	}
}

// addOffsets makes positions of the consumer's group part of the transaction
// (KIP-447).
func (t *transactor) addOffsets(in AddOffsets) {
	if no := t.refuses("add offsets"); no != nil {
		t.c.fail(in.Op, NotDone, no)
		return
	}
	k := &t.c.consumer
	entries, no := k.entriesFor(in.Offsets)
	switch {
	case k.group == "" || len(k.ending) > 0:
		no = &Error{Problem: Misused, Detail: "add offsets: the client reads for no group"}
	case k.auto.on || k.style != AtLeastOnce:
		no = &Error{Problem: Misused, Detail: "add offsets: positions that are committed outside of transactions as well would skip records: subscribe AtLeastOnce and without AutoCommit"}
	}
	if no != nil {
		t.failed(no) // else the rest might be committed without them
		t.c.fail(in.Op, NotDone, no)
		return
	}
	if len(entries) == 0 {
		t.c.succeed(in.Op, Result{})
		return
	}
	one := k.newCommit(t.c.cfg.AskTimeout)
	one.entries, one.transaction = entries, t.turn
	t.storing++
	one.finish = func(o Outcome, e *Error) {
		if t.turn == one.transaction {
			t.storing--
			if e != nil {
				e.Problem = t.means(e.Problem, e.Code)
				t.failed(e)
			} else {
				t.offsets = append(t.offsets, one)
			}
		}
		t.c.succeed(in.Op, Result{Outcome: o, Err: e, Offsets: one.result()})
	}
	k.commits.add(one)
}
