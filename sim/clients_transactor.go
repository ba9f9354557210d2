package sim

import (
	"github.com/tamarack-mq/tamarack/core/client"
)

// transactor publishes transactions of some records each, in one spurt or in
// several, to any of its topics.
type transactor struct {
	transacting
	made int64 // transactions
	left int   // records of the present one that are still to be published
}

func (t *transactor) begin(u *user) {
	if u.listed() {
		u.beginList()
		return
	}
	u.next(u.some(u.plan.Every))
}

func (t *transactor) act(u *user, arg uint64) {
	if u.closing {
		return
	}
	if what, ok := t.due(arg); what != 0 {
		switch {
		case ok && what == scriptQuits:
			t.quit(u)
		case ok && what == scriptLeaves:
			t.transacted(u, t.leave(u))
		case ok && what == scriptAdds:
			t.spurt(u)
		case ok:
			t.transacted(u, t.finish(u, t.decides(u)))
		}
		return
	}
	w := u.world
	switch {
	case u.listed() && w.phase <= draining:
		t.actListed(u)
	case t.now != nil || w.phase > draining && t.proved(u) || t.enough(u):
	case w.phase > draining && (!t.owes(u) || w.hindered(u)): // as yet
		u.next(lookEvery)
	case w.phase <= draining && u.naps():
		u.next(u.some(u.plan.Every))
	default:
		t.start(u)
	}
}

// enough says that it has made as many transactions as its plan says.
func (t *transactor) enough(u *user) bool {
	return u.plan.Count > 0 && t.made >= int64(u.plan.Count)
}

// proved says that it has proved that it can go on: by a transaction that has
// committed since the last fault ended.
func (*transactor) proved(u *user) bool {
	p := &u.world.plan.Phases
	return u.committedAt >= p.Warm+p.Faults
}

// owes says that it has still to prove it, and can: topics are there.
func (t *transactor) owes(u *user) bool {
	return !t.proved(u) && !t.enough(u) && len(t.topics(u)) > 0
}

// topics are those into which it publishes: at rest what was deleted does not come
// back.
func (t *transactor) topics(u *user) []string {
	w := u.world
	if w.phase <= draining {
		return u.plan.Topics
	}
	var there []string
	for _, name := range u.plan.Topics {
		if w.newest().TopicNamed(name) != nil {
			there = append(there, name)
		}
	}
	return there
}

// spurt publishes some of what the transaction shall hold.
func (t *transactor) spurt(u *user) {
	n, topics := t.left, t.topics(u)
	if len(topics) == 0 {
		t.transacted(u, t.finish(u, false))
		return
	}
	if n > 1 && u.random.OneIn(2) {
		n = int(u.random.Between(1, int64(n)))
	}
	batch := make(client.Inputs, 0, n)
	for range n {
		op := ClientOp{Do: "publish", Topic: topics[u.random.Below(int64(len(topics)))]}
		if u.plan.Keys > 0 {
			op.Key = u.drawKey()
		}
		batch = append(batch, t.one(u, &op))
	}
	t.left -= n
	u.step(batch)
	if t.left > 0 {
		t.later(u, u.some(u.plan.Every/2), scriptAdds)
	} else {
		t.later(u, t.lingers(u), scriptEnds)
	}
}

// one prepares one record.
func (t *transactor) one(u *user, op *ClientOp) client.Input {
	if u.world.options.Record {
		u.note(*op)
	}
	t.sent++
	in := client.Publish{Topic: op.Topic, Partition: client.AnyPartition, Value: u.value(t.sent, op.Size)}
	if op.Partition != nil {
		in.Partition = int32(*op.Partition)
	}
	if op.Key != "" {
		in.Key = []byte(op.Key)
	}
	return t.publish(u, in)
}

// actListed does what is due, as long as there is a transaction to do it in.
func (t *transactor) actListed(u *user) {
	var batch client.Inputs
	for !t.busy() {
		op := u.takeList()
		if op == nil {
			break
		}
		switch {
		case op.Do == "begin" && t.now == nil:
			t.start(u)
		case op.Do == "begin" || t.now == nil: // the one before has not ended, or did not begin
		case op.Do == "publish":
			batch = append(batch, t.one(u, op))
		default:
			if batch != nil {
				u.step(batch)
				batch = nil
			}
			t.transacted(u, t.finish(u, op.Do == "commit"))
		}
	}
	if batch != nil {
		u.step(batch)
	}
	if t.busy() {
		u.listAsked = false
		return
	}
	u.awaitList()
}

func (t *transactor) done(u *user, o *openOp, r *client.Result) {
	if o.what == opQuit {
		u.hasQuit()
	}
	if o.of == nil {
		return
	}
	t.transacted(u, t.told(u, o, r))
}

// transacted goes on after a transaction has begun or ended.
func (t *transactor) transacted(u *user, so course) {
	switch {
	case so == onItsWay || !u.up || u.closing:
	case u.listed():
		u.awaitList()
	case so == begun:
		t.left = int(u.random.Between(1, int64(max(1, u.plan.Burst))))
		t.spurt(u)
	default: // what is tried again is published anew
		if so == committed {
			t.made++
		}
		u.next(u.some(u.plan.Every))
	}
}

func (t *transactor) event(*user, *client.Event) {}

func (t *transactor) idle(u *user) (string, bool) {
	if u.closing {
		return "a close that does not end", false
	}
	return t.waits()
}

// stuck says that it goes on to try, and has not proved that it can go on.
func (t *transactor) stuck(u *user) bool {
	return t.owes(u) && (t.now == nil || u.world.now-t.now.since < lately)
}
