package sim

import (
	"strconv"

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
	if what, ok := t.due(arg); what != 0 {
		switch {
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
	case t.now != nil || w.phase > draining || u.plan.Count > 0 && t.made >= int64(u.plan.Count):
	case u.naps():
		u.next(u.some(u.plan.Every))
	default:
		t.start(u)
	}
}

// spurt publishes some of what the transaction shall hold.
func (t *transactor) spurt(u *user) {
	n := t.left
	if n > 1 && u.random.OneIn(2) {
		n = int(u.random.Between(1, int64(n)))
	}
	batch := make(client.Inputs, 0, n)
	for range n {
		op := ClientOp{Do: "publish", Topic: u.plan.Topics[u.random.Below(int64(len(u.plan.Topics)))]}
		if u.plan.Keys > 0 {
			op.Key = "k" + strconv.Itoa(int(u.random.Below(int64(u.plan.Keys))))
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

// busy says that a transaction is about to begin or to end.
func (t *transacting) busy() bool { return t.now != nil && (!t.now.began || t.now.verb != "") }

func (t *transactor) done(u *user, o *openOp, r *client.Result) {
	if o.of == nil {
		return
	}
	t.transacted(u, t.told(u, o, r))
}

// transacted goes on after a transaction has begun or ended.
func (t *transactor) transacted(u *user, so course) {
	switch {
	case so == onItsWay || !u.up:
	case u.listed():
		u.awaitList()
	case so == begun:
		t.left = int(u.random.Between(1, int64(max(1, u.plan.Burst))))
		t.spurt(u)
	default:
		if so == committed {
			t.made++
		}
		u.next(u.some(u.plan.Every))
	}
}

func (t *transactor) event(*user, *client.Event) {}

func (t *transactor) idle(*user) (string, bool) { return t.waits() }
