package sim

import (
	"slices"

	"github.com/tamarack-mq/tamarack/core/client"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/history"
)

// transaction is one that a client makes, or has made and not heard the end of.
type transaction struct {
	number int64  // over the whole history
	id     int64  // in the history
	verb   string // what was asked for; "": nothing yet
	open   int    // records and positions without a result
	sent   int    // records
	inputs int    // records that a worker makes it from
	began  bool
	since  Span // when it was asked for

	attempt client.Attempt // which one it is, and what has failed of it
	dropped bool           // whatever becomes of it, the application does not want it
	left    bool           // the application does not wait for it any more
	verdict client.Verdict // what it has come to, while its abort is waited for
}

// transacting is what those have in common who make transactions: one after the
// other, driven as the public client drives them. What comes after each step is for
// client.Attempt to say. Who is fenced ends, and is started again as somebody new,
// unless the faults are over and another one does its work.
type transacting struct {
	now  *transaction // nil: none
	sent int64        // records, counted
	next client.Attempt
}

// course is what has become of the present transaction.
type course uint8

const (
	onItsWay  course = iota
	begun            // records can be added
	committed        // so was what it held
	undone           // it is over, and what it held does not count, as far as is known
	again            // it is aborted, and the same is tried once more
	gone             // the process has ended
)

// scriptEnds is the argument of the action that ends a transaction, scriptAdds that of
// one that adds more to it, and scriptLeaves that of one that does not wait for its
// Begin or its commit any more. Their transaction's number comes behind.
const (
	scriptEnds   = 2
	scriptAdds   = 3
	scriptLeaves = 5
)

// later asks for an action about the present transaction.
func (t *transacting) later(u *user, d Span, what uint64) {
	u.world.in(d, event{kind: evScript, place: u.index, run: u.run, arg: what | uint64(t.now.number)<<8})
}

// endsSoon has the present transaction ended, when nobody has asked for that.
func (t *transacting) endsSoon(u *user) {
	if t.now != nil && t.now.began && t.now.verb == "" {
		t.later(u, Millisecond, scriptEnds)
	}
}

// due says whether an action is meant for the transaction that is open, and what
// it is.
func (t *transacting) due(arg uint64) (what uint64, ok bool) {
	if what = arg & 0xff; t.now == nil || arg>>8 != uint64(t.now.number) {
		return what, false
	}
	switch what {
	case scriptLeaves:
		return what, !t.now.began || t.now.verb == "commit"
	case scriptQuits:
		return what, t.now.verb == "commit"
	}
	return what, t.now.began && t.now.verb == ""
}

// start asks for a transaction.
func (t *transacting) start(u *user) {
	w := u.world
	if w.options.Record {
		u.note(ClientOp{Do: "begin"})
	}
	w.transactions++
	x := &transaction{number: w.transactions, since: w.now, attempt: t.next}
	t.next = client.Attempt{}
	x.id = w.history.Begin(history.Operation{
		Client: int32(u.plan.ID), Session: u.session, Kind: history.Transact, Invoke: int64(w.now),
		Group: u.plan.Group, Style: history.ExactlyOnce, Transaction: x.number, TransactionalID: u.plan.Transactional,
		Offset: history.None, HighWatermark: history.None, LogStart: history.None,
	})
	t.now = x
	u.askFor(x, opBegin, history.Operation{Verb: "begin"}, func(op client.Op) client.Input {
		return client.Begin{Op: op, Timeout: u.patience()}
	})
	t.mayLeave(u)
}

// mayLeave draws whether the application will not wait for what it has just asked for.
func (t *transacting) mayLeave(u *user) {
	if p := int64(u.plan.Leave); p > 0 && t.now != nil && u.world.phase < draining && u.trying.Percent(p) {
		t.later(u, Millisecond<<u.trying.Below(11), scriptLeaves)
	}
}

// leave does not wait any more: what is not asked of the cluster yet is called off.
// What that comes to is told as the end of what was asked for.
func (t *transacting) leave(u *user) course {
	x := t.now
	u.world.mark(markLeft)
	x.left = true
	if x.verdict = x.attempt.Left(x.began); !x.verdict.Abort {
		return t.over(u, x, x.verdict, &client.Result{})
	}
	u.askFor(x, opEnd, history.Operation{Verb: "abort"}, func(op client.Op) client.Input {
		return client.End{Op: op, Timeout: u.patience()}
	})
	return onItsWay
}

// patience is how long a transaction may take to begin and to end.
func (u *user) patience() message.Duration {
	return message.Duration(u.world.plan.Timing.ClientDelivery)
}

// askFor is ask for something that is part of a transaction.
func (u *user) askFor(x *transaction, what opKind, op history.Operation, make func(client.Op) client.Input) {
	u.askAs(&openOp{id: -1, what: what, of: x}, op, make)
}

// publish prepares a record of the present transaction.
func (t *transacting) publish(u *user, in client.Publish) client.Input {
	x := t.now
	o := u.publishes(&in, t.sent, x.number)
	o.of = x
	x.open++
	x.sent++
	return in
}

// add makes positions part of the present transaction; nil: of all that was polled.
func (t *transacting) add(u *user, member string, epoch int64, offsets []client.CommitOffset, at []history.Position) {
	x := t.now
	x.open++
	u.askFor(x, opCommit, history.Operation{
		Kind: history.Commit, Group: u.plan.Group, Style: history.ExactlyOnce, Member: member, Epoch: epoch,
		Positions: at, Transaction: x.number,
	}, func(op client.Op) client.Input { return client.AddOffsets{Op: op, Offsets: offsets} })
}

// finish ends the present transaction as the application wants it, or as it must.
// It waits for the end of a commit, and of two aborts in three.
func (t *transacting) finish(u *user, commit bool) course {
	x := t.now
	if u.world.options.Record {
		verb := "abort"
		if commit {
			verb = "commit"
		}
		u.note(ClientOp{Do: verb})
	}
	if commit && !x.dropped {
		if x.verdict = x.attempt.Filled(); x.verdict.Next == client.ToCommit {
			wait, quits := t.mayQuit(u)
			t.end(u, x, true, wait)
			if quits && t.now == x {
				t.quitsSoon(u)
			} else {
				t.mayLeave(u)
			}
			return onItsWay
		}
	} else {
		x.verdict = x.attempt.Dropped()
	}
	return t.abort(u, x)
}

// abort has a transaction aborted that is open and cannot, or shall not, be committed.
func (t *transacting) abort(u *user, x *transaction) course {
	if x.number%3 > 0 {
		t.end(u, x, false, u.patience())
		return onItsWay
	}
	t.now = nil
	t.end(u, x, false, u.patience())
	return t.after(u, x)
}

// after is what comes after a transaction that is over.
func (t *transacting) after(u *user, x *transaction) course {
	switch p := int64(u.plan.Retry); {
	case x.verdict.Next == client.ToGoOn:
		return committed
	case x.verdict.Next == client.ToTryAgain && p > 0 && u.trying.Percent(p):
		t.next = *x.attempt.Again()
		u.world.mark(markTriedAgain)
		return again
	}
	return undone
}

func (t *transacting) end(u *user, x *transaction, commit bool, wait message.Duration) {
	x.verb = "abort"
	if commit {
		x.verb = "commit"
	}
	u.world.history.Amend(x.id, func(op *history.Operation) { op.Verb = x.verb })
	u.askFor(x, opEnd, history.Operation{Verb: x.verb}, func(op client.Op) client.Input {
		return client.End{Op: op, Commit: commit, Timeout: wait}
	})
}

// told takes in the result of something that is part of a transaction.
func (t *transacting) told(u *user, o *openOp, r *client.Result) course {
	x := o.of
	switch o.what {
	case opPublish, opCommit:
		x.open--
		x.attempt.Added(r)
		return onItsWay
	case opBegin:
		v := x.attempt.Began(r)
		if v.Next == client.ToFill {
			x.began = true
			return begun
		}
		return t.over(u, x, v, r)
	}
	switch end, _ := o.ask.(client.End); {
	case x.left && !end.Commit: // what became of it is told by what was called off
		return t.fenced(u, x, r)
	case x.left:
		v := x.verdict
		v.Outcome = r.Outcome
		if r.Err == nil {
			v = x.attempt.Ended(r)
		}
		return t.over(u, x, v, r)
	case x.verb == "abort": // it was not asked for the other outcome, or that was refused
		return t.over(u, x, x.verdict, r)
	}
	if x.verdict = x.attempt.Ended(r); x.verdict.Abort {
		return t.abort(u, x)
	}
	if x.verdict.Next == client.ToGoOn {
		if x.sent > 0 { // else the client need not ask the cluster
			u.committedAt = u.world.now
		}
		u.takesMore(x)
		if x.attempt.Repeats() {
			u.world.mark(markCommittedAgain)
		}
	}
	return t.over(u, x, x.verdict, r)
}

// over notes the end of a transaction. Who is fenced ends with it.
func (t *transacting) over(u *user, x *transaction, v client.Verdict, r *client.Result) course {
	w := u.world
	x.verdict = v
	w.history.End(x.id, int64(w.now), outcomeOf(v.Outcome), func(op *history.Operation) {
		if r.Err != nil {
			op.Error = r.Err.Error()
		}
	})
	switch {
	case t.fenced(u, x, r) == gone:
		return gone
	case t.now != x:
		return onItsWay // another one has begun to be made
	}
	t.now = nil
	return t.after(u, x)
}

// fenced ends a process that is told that it makes no more transactions. It is started
// again, unless it is replaced.
func (t *transacting) fenced(u *user, x *transaction, r *client.Result) course {
	if r.Err == nil || r.Err.Problem != client.Fenced && r.Err.Problem != client.Fatal {
		return onItsWay
	}
	if u.outlived(x) { // and not because somebody else has taken its id
		u.halved = min(u.halved+1, mostHalved)
	}
	u.world.markFenced(u, x, r.Err.Code)
	t.now = nil
	outlived := u.outlived(x)
	u.die()
	if outlived || !u.replaced() {
		u.startIn(u.some(2 * Second))
	}
	return gone
}

// replaced says that a process that is fenced need not come back: the faults are over,
// and another one with its id runs that does the same work. Two that share an id fence
// each other as often as they start, and the cluster can do nothing about that: it is
// held to what one of them can do, as an operator would end the other.
func (u *user) replaced() bool {
	return u.world.phase >= draining && slices.ContainsFunc(u.world.clients, func(other *user) bool {
		return other != u && other.up && other.worksFor(u.plan)
	})
}

// worksFor says that a client takes the same id for the same work, for good.
func (u *user) worksFor(p *ClientPlan) bool {
	mine := u.plan
	return !u.closing && mine.Stop == 0 && mine.Transactional == p.Transactional &&
		mine.Role == p.Role && mine.Group == p.Group && slices.Equal(mine.Topics, p.Topics)
}

// outlived says that a transaction has been open for longer than it may.
func (u *user) outlived(x *transaction) bool {
	return u.plan.Limit > 0 && u.world.now-x.since > u.plan.Limit
}

// takes is how many records a worker that must come to the end makes a transaction
// from: half as many each time that one was open for too long.
func (u *user) takes() int { return max(3, 100>>u.halved) }

const mostHalved = 5

// takesMore doubles what a worker takes, when a transaction from all of that has ended
// so soon that one from twice as much will end in time. What one before was too long
// for is over: the brokers were away, or the worker itself was slow.
func (u *user) takesMore(x *transaction) {
	if u.halved > 0 && x.inputs >= u.takes() && u.world.now-x.since < u.plan.Limit/4 {
		u.halved--
	}
}

// lingers is for how long a transaction stays open after all was added to it; now
// and then for longer than it may.
func (t *transacting) lingers(u *user) Span {
	if u.world.phase >= draining {
		return Millisecond
	}
	if u.plan.Limit > 0 && u.plan.Dawdle > 0 && u.random.Percent(int64(u.plan.Dawdle)) {
		return u.plan.Limit*9/10 + Span(u.random.Below(int64(u.plan.Limit/2)))
	}
	if u.plan.Slow == 0 {
		return Millisecond + u.slow
	}
	return u.some(u.plan.Slow) + u.slow
}

// decides whether the application gives a transaction up.
func (t *transacting) decides(u *user) (commit bool) {
	return u.world.phase >= draining || !u.random.Percent(int64(u.plan.Abort))
}

// present is the transaction that a client makes now; nil: none.
func (t *transacting) present() *transaction { return t.now }

// busy says that a transaction is about to begin or to end.
func (t *transacting) busy() bool { return t.now != nil && (!t.now.began || t.now.verb != "") }

// waits says what a transaction that is not over waits for.
func (t *transacting) waits() (string, bool) {
	if t.now != nil {
		return "a transaction that does not end", false
	}
	return "", true
}

// transacts says that somebody in a plan makes transactions: then logs hold more
// than records, and some of those are aborted.
func (p *Plan) transacts() bool {
	for i := range p.Clients {
		if p.Clients[i].Role.transacts() {
			return true
		}
	}
	return false
}

// transacts says that a client of a role makes transactions.
func (r Role) transacts() bool { return r == Worker || r == Transactor }

// joins says that a client of a role is a member of a group that polls.
func (r Role) joins() bool { return r == MemberOf || r == Worker || r == Processor }

// publishes says that a client of a role publishes by means of its client machine.
func (r Role) publishes() bool { return r == Producer || r == Processor || r.transacts() }
