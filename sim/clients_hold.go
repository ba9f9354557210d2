package sim

import (
	"github.com/tamarack-mq/tamarack/core/client"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/order"
	"github.com/tamarack-mq/tamarack/core/record"
	"github.com/tamarack-mq/tamarack/history"
)

// unreadPartition is an index that no partition has.
const unreadPartition = 1_000_000

// holdOn lets a client that reads leave something alone for a while: it goes on
// polling, and is given nothing of what it has paused until it resumes that. Now and
// then it names what it does not read.
func (u *user) holdOn() {
	w := u.world
	if u.plan.Hold == 0 || u.closing || u.plan.Ops != nil || w.newest() == nil {
		return
	}
	if w.phase >= draining {
		if len(u.held) > 0 {
			u.hold(nil, false) // it must come to the end now
		}
		return
	}
	if !u.random.Percent(int64(u.plan.Hold)) {
		return
	}
	from, on := u.given, true
	if len(u.held) > 0 && u.random.OneIn(2) {
		if from, on = u.held, false; u.random.OneIn(3) {
			u.hold(nil, false)
			return
		}
	}
	ids := order.KeysBy(from, record.PartitionID.Compare)
	if len(ids) == 0 {
		return
	}
	one := ids[u.random.Below(int64(len(ids)))]
	t := w.newest().Topic(one.Topic)
	if t == nil {
		return
	}
	places := []client.Place{{Topic: t.Name, Partition: one.Index}}
	for _, id := range ids {
		if id != one && id.Topic == t.ID && u.random.OneIn(2) {
			places = append(places, client.Place{Topic: t.Name, Partition: id.Index})
		}
	}
	if u.random.OneIn(4) {
		places = append(places, client.Place{Topic: t.Name, Partition: unreadPartition})
	}
	u.hold(places, on)
}

// hold pauses partitions, or resumes them; nil: all that is read.
func (u *user) hold(places []client.Place, on bool) {
	if u.world.options.Record {
		op := ClientOp{Do: "resume"}
		if on {
			op.Do = "pause"
		}
		for _, p := range places {
			op.From = append(op.From, tellStart(u, &client.Start{Place: p}))
		}
		u.note(op)
	}
	u.ask(opHold, 0, history.Operation{}, func(op client.Op) client.Input {
		if on {
			return client.Pause{Op: op, Partitions: places}
		}
		return client.Resume{Op: op, Partitions: places}
	})
}

// holdListed does a pause or resume of the plan's list.
func (u *user) holdListed(op *ClientOp) {
	var places []client.Place
	for _, s := range startsFrom(u, op.From) {
		places = append(places, s.Place)
	}
	u.hold(places, op.Do == "pause")
}

// holds takes in how a pause or a resume has ended. That is INV-10: what is not read
// is refused by name, and then nothing has changed.
func (u *user) holds(o *openOp, result *client.Result) {
	var places []client.Place
	on := false
	switch in := o.ask.(type) {
	case client.Pause:
		places, on = in.Partitions, true
	case client.Resume:
		places = in.Partitions
	}
	stranger := false
	for _, p := range places {
		stranger = stranger || p.Partition == unreadPartition
	}
	refused := result.Outcome == client.NotDone && result.Err != nil && result.Err.Problem == client.NotReading
	switch {
	case stranger && !refused:
		u.world.fail("INV-10", 0, "what is not read is paused", "client %d names a partition that there is not among %v, to leave it alone or no longer, and is told %v", u.plan.ID, places, result.Outcome)
	case result.Outcome != client.OK:
	case places == nil:
		clear(u.held)
	default:
		u.keep(places, on)
	}
}

func (u *user) keep(places []client.Place, on bool) {
	for _, p := range places {
		id, known := u.idOf(p)
		switch {
		case !on:
			delete(u.held, id)
		case known && u.reads(id):
			if u.held == nil {
				u.held = map[record.PartitionID]record.Offset{}
			}
			u.held[id] = 0
			u.world.mark(markHeld)
		}
	}
}

// reads says that a place which the client was granted to leave alone is the
// partition of today, and not one of a deleted topic of that name.
func (u *user) reads(id record.PartitionID) bool { _, ok := u.given[id]; return ok }

// fetches is INV-10 for what is paused: it is not asked for.
func (u *user) fetches(m *message.Fetch) {
	for i := range m.Partitions {
		if _, held := u.held[m.Partitions[i].ID]; held {
			u.world.fail("INV-10", 0, "what is paused is fetched", "client %d fetches partition %s, which it was granted to leave alone", u.plan.ID, m.Partitions[i].ID)
		}
	}
}

// heldBack is INV-10 for what is paused: nothing of it is handed over. What waits for
// its commit at that moment may be.
func (u *user) heldBack(d *client.Delivery) {
	if _, held := u.held[d.ID]; held && len(d.Records) > 0 && u.plan.Style != "at-most-once" {
		u.world.fail("INV-10", 0, "what is paused is handed over", "client %d is given records of partition %s from %d on, which it was granted to leave alone", u.plan.ID, d.ID, d.Records[0].Offset)
	}
}
