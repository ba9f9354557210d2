package sim

import (
	"slices"

	"github.com/tamarack-mq/tamarack/core/client"
	"github.com/tamarack-mq/tamarack/core/record"
	"github.com/tamarack-mq/tamarack/history"
)

// worker is a member of a group that reads, works and writes: it polls committed
// records, and for each publishes others; these and its positions are one
// transaction. When that does not commit, it makes another one of the same records, or
// begins again from what its group has committed.
type worker struct {
	member
	transacting
	sifting
	work []client.Delivery // polled, and not part of a transaction yet
	// before is work as it was before the present transaction took some of it: count
	// records. Who tries again takes the same, whoever owns their partitions now.
	before []client.Delivery
	count  int
	same   bool // work is what was left by a transaction that is tried again
}

func (k *worker) begin(u *user) { k.member.begin(u) }

func (k *worker) act(u *user, arg uint64) {
	if u.closing {
		return
	}
	if what, ok := k.due(arg); what != 0 {
		switch {
		case ok && what == scriptQuits:
			k.quit(u)
		case ok && what == scriptLeaves:
			k.transacted(u, k.leave(u))
		case ok:
			k.transacted(u, k.finish(u, k.decides(u)))
		}
		return
	}
	switch {
	case u.listed():
		k.actListed(u)
	case k.polling || k.transacting.now != nil:
	case len(k.work) > 0:
		k.start(u)
	case u.plan.Stop > 0 && u.world.now >= u.plan.Stop:
		k.close(u)
	default:
		k.poll(u, k.most(u))
		u.holdOn()
	}
}

// most draws how many records to poll: fewer, when with more it does not come to the
// end within the time limit of a transaction.
func (k *worker) most(u *user) int {
	if u.world.phase >= draining {
		return u.takes() // it must come to the end now
	}
	if k.sifting.most > 0 {
		return k.sifting.most
	}
	return int(u.random.Between(1, 30))
}

// actListed does what is due, if it makes sense now.
func (k *worker) actListed(u *user) {
	for !u.closing && !k.polling && !k.busy() {
		op := u.takeList()
		if op == nil {
			u.awaitList()
			return
		}
		switch open := k.transacting.now != nil; {
		case op.Do == "begin" && !open:
			k.start(u)
		case op.Do == "poll" && !open:
			k.poll(u, op.Count)
		case op.Do == "close" && !open:
			k.close(u)
		case op.Do == "work" && open:
			k.process(u, op.Count)
		case (op.Do == "commit" || op.Do == "abort") && open:
			k.transacted(u, k.finish(u, op.Do == "commit"))
		}
	}
	u.listAsked = false
}

// process publishes the outputs for the first so many records that were polled, 0:
// for all, and makes their positions part of the transaction.
func (k *worker) process(u *user, count int) {
	if u.world.options.Record {
		u.note(ClientOp{Do: "work", Count: count})
	}
	k.before = slices.Clone(k.work)
	now, all := k.take(count)
	k.count = 0
	for i := range now {
		k.count += len(now[i].Records)
	}
	offsets, at := positionsAfter(now)
	if k.transacting.now.number%8 == 4 && u.plan.Abort > 0 && u.world.phase < draining {
		// It comes to nothing: no record was sent when it is given up.
		k.add(u, k.member.name(u), k.epoch, offsets, at)
		k.transacting.now.dropped = true
		return
	}
	var batch client.Inputs
	for i := range now {
		k.transacting.now.inputs += len(now[i].Records)
		for j := range now[i].Records {
			for copy := range max(1, u.plan.Fan) {
				batch = append(batch, k.output(u, &now[i].Records[j], copy))
			}
		}
	}
	if all && !k.same && k.transacting.now.number%4 == 0 {
		offsets = nil // but for records of which it may have lost the partition
	}
	early := k.transacting.now.number%2 == 0 // the order does not matter
	if early {
		k.add(u, k.member.name(u), k.epoch, offsets, at)
	}
	u.step(batch)
	if !early {
		k.add(u, k.member.name(u), k.epoch, offsets, at)
	}
}

// take takes the first so many records out of what was polled.
func (k *worker) take(count int) (now []client.Delivery, all bool) {
	for len(k.work) > 0 {
		d := &k.work[0]
		if count == 0 || len(d.Records) <= count {
			now = append(now, *d)
			k.work = k.work[1:]
			if count -= len(d.Records); count == 0 {
				break
			}
			count = max(count, 0)
			continue
		}
		part := *d
		part.Records = d.Records[:count]
		part.Next = part.Records[count-1].Offset + 1
		now = append(now, part)
		d.Records = d.Records[count:]
		break
	}
	return now, len(k.work) == 0
}

// positionsAfter are the positions behind what was polled, for the client and for
// the history.
func positionsAfter(list []client.Delivery) (offsets []client.CommitOffset, at []history.Position) {
	for i := range list {
		d := &list[i]
		o := client.CommitOffset{Place: d.Place, Offset: d.Next, LeaderEpoch: record.NoLeaderEpoch, Stretch: d.Stretch}
		if last := &d.Records[len(d.Records)-1]; last.Offset+1 == d.Next {
			o.LeaderEpoch = last.LeaderEpoch
		}
		offsets = append(offsets, o)
		at = append(at, position(d.PlacedID, d.Next))
	}
	return offsets, at
}

// output is one of the records that follow from an input. Its value tells which
// one, and where it goes follows from that.
func (k *worker) output(u *user, input *client.Record, copy int) client.Input {
	k.sent++
	v := history.AppendProduct(nil, string(u.value(k.sent, 1)), copy, input.Value)
	into := u.plan.Into[(productPlace(input.Value)+copy)%len(u.plan.Into)]
	return k.publish(u, client.Publish{Topic: into, Partition: client.AnyPartition, Key: input.Key, Value: v})
}

func (k *worker) done(u *user, o *openOp, r *client.Result) {
	switch {
	case o.of != nil:
		k.transacted(u, k.told(u, o, r))
	case o.what == opQuit:
		u.hasQuit()
	case o.what == opPoll:
		k.polling = false
		if k.polled(u, r) > 0 {
			k.work, k.same = append(k.work, r.Polled...), false
		}
		if u.listed() {
			u.awaitList()
			return
		}
		u.next(u.some(u.plan.Every))
	default:
		k.member.done(u, o, r)
	}
}

// transacted goes on after a transaction has begun or ended.
func (k *worker) transacted(u *user, so course) {
	if !u.up || u.closing {
		return
	}
	switch so {
	case onItsWay, gone:
		return
	case begun:
		if u.listed() {
			break
		}
		if len(k.work) == 0 {
			k.transacted(u, k.finish(u, false))
			return
		}
		count := k.part(u, k.work)
		if k.transacting.now.attempt.Repeats() {
			count = k.count
		} else if count == 0 && u.random.OneIn(5) {
			count = int(u.random.Between(1, 10))
		}
		k.process(u, count)
		k.later(u, k.lingers(u), scriptEnds)
		return
	case committed:
		if len(k.work) == 0 {
			k.sifting.most = 0
		}
	case again:
		k.work, k.same = k.before, true
	case undone:
		k.looks(u, k.before)
		k.work, k.same = nil, false
		u.world.history.Moment(history.Operation{
			Client: int32(u.plan.ID), Session: u.session, Kind: history.Assigned, Error: history.ByRewind,
			Invoke: int64(u.world.now), Group: u.plan.Group, Epoch: k.epoch, Style: history.ExactlyOnce,
		})
		for id := range k.owned {
			k.owned[id] = -1 // it is to be looked up: the member is not at rest before it knows
		}
		u.goesBack()
	}
	if u.listed() {
		u.awaitList()
		return
	}
	u.next(u.some(u.plan.Every))
}

// idle: what is polled last has become part of a transaction, and that is over.
func (k *worker) idle(u *user) (string, bool) {
	if len(k.work) > 0 {
		return "records that it has not worked on", false
	}
	if what, ok := k.waits(); !ok {
		return what, false
	}
	return k.member.idle(u)
}

// event takes in that partitions are taken away: what was polled of them is another
// member's now.
func (k *worker) event(u *user, e *client.Event) {
	k.member.event(u, e)
	switch e.Kind {
	case client.Revoked, client.Lost, client.Truncated, client.Repositioned:
		for _, p := range e.Partitions {
			for i := range k.work {
				if k.work[i].ID == p.ID {
					k.work = append(k.work[:i:i], k.work[i+1:]...)
					break
				}
			}
		}
	}
}
