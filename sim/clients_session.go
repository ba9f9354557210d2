package sim

import (
	"github.com/tamarack-mq/tamarack/core/client"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
	"github.com/tamarack-mq/tamarack/history"
)

// session is INV-35 as one client process sees it: the high watermark and the
// log start of a partition never fall from one answer to another that was asked
// for later, whichever brokers gave them. Machines keep the highest that they
// were told, so this is judged where answers come in.
type session struct {
	parts map[record.PartitionID]*sessionPart
}

// sessionPart is what a client was told of one partition, each time that it was
// more than before.
type sessionPart struct{ told []told }

type told struct {
	event       uint64
	high, start record.Offset // -1: nothing yet
}

// asks says whether the answer to a request tells the bounds of a log.
func asks(r message.Request) bool {
	switch r.(type) {
	case *message.Fetch, *message.ListOffsets:
		return true
	}
	return false
}

// heard judges the answer to a call of a client that behaves.
func (u *user) heard(c *openCall, reply message.Reply) {
	if u.plan.Role == Chaos || u.plan.Role == Malformed {
		return
	}
	switch m := reply.(type) {
	case *message.FetchReply:
		for i := range m.Partitions {
			p := &m.Partitions[i]
			if p.Code == message.None && p.HighWatermark >= 0 {
				u.saw(c, p.ID, p.HighWatermark, p.LogStart)
			}
		}
	case *message.DeleteRecordsReply:
		for i := range m.Partitions {
			if p := &m.Partitions[i]; p.Code == message.None {
				u.saw(c, p.ID, -1, p.LogStart)
			}
		}
	case *message.ListOffsetsReply:
		asked, ok := c.asked.(*message.ListOffsets)
		if !ok || len(asked.Partitions) != len(m.Partitions) {
			return
		}
		for i := range m.Partitions {
			switch p := &m.Partitions[i]; {
			case p.Code != message.None:
			case asked.Isolation == message.ReadCommitted && asked.Partitions[i].Timestamp == message.Latest: // it ends before
			case asked.Partitions[i].Timestamp == message.Latest:
				u.saw(c, p.ID, p.Offset, -1)
			case asked.Partitions[i].Timestamp == message.Earliest:
				u.saw(c, p.ID, -1, p.Offset)
			case asked.Partitions[i].Timestamp >= 0:
				u.sought(c, asked.Partitions[i].Timestamp, p)
			}
			if p := &m.Partitions[i]; p.Code == message.None {
				u.listedFor(c, asked.Partitions[i].Timestamp, p)
			}
		}
	}
}

// saw compares bounds with those that were known when they were asked for.
func (u *user) saw(c *openCall, id record.PartitionID, high, start record.Offset) {
	w := u.world
	if u.told.parts == nil {
		u.told.parts = map[record.PartitionID]*sessionPart{}
	}
	p := u.told.parts[id]
	if p == nil {
		p = &sessionPart{}
		u.told.parts[id] = p
	}
	before, last := p.before(c.event), told{high: -1, start: -1}
	if n := len(p.told); n > 0 {
		last = p.told[n-1]
	}
	if book := w.book.known(id); book != nil {
		leastHigh, leastStart := book.floors()
		switch {
		case high >= 0 && high < min(before.high, leastHigh):
			w.fail("INV-35", int32(c.node), "a client sees a high watermark fall", "client %d is told by node %d that the high watermark of partition %s is %d, but it was told %d before it asked", u.plan.ID, c.node, id, high, before.high)
		case start >= 0 && start < min(before.start, leastStart):
			w.fail("INV-35", int32(c.node), "a client sees a log start fall", "client %d is told by node %d that partition %s starts at %d, but it was told %d before it asked", u.plan.ID, c.node, id, start, before.start)
		}
	}
	if high > last.high || start > last.start {
		p.told = append(p.told, told{w.stats.Events, max(high, last.high), max(start, last.start)})
	}
}

// before is what was known before an event. What is much older than the calls
// under way is forgotten now and then.
func (p *sessionPart) before(event uint64) told {
	for i := len(p.told) - 1; i >= 0; i-- {
		if p.told[i].event < event {
			if i > 256 {
				p.told = append(p.told[:0], p.told[i:]...)
				return p.told[0]
			}
			return p.told[i]
		}
	}
	return told{high: -1, start: -1}
}

// handed notes where what the application has been given ends.
func (u *user) handed(polled []client.Delivery) {
	for i := range polled {
		u.boundsTold(&polled[i])
		u.landed(&polled[i])
		u.heldBack(&polled[i])
		u.given[polled[i].ID] = polled[i].Next
		delete(u.back, polled[i].ID)
	}
	u.learnTimes(polled)
}

// boundsTold is INV-35 for what an application is told of the bounds of a log: brokers
// have said it.
func (u *user) boundsTold(d *client.Delivery) {
	last := told{high: -1, start: -1}
	if p := u.told.parts[d.ID]; p != nil && len(p.told) > 0 {
		last = p.told[len(p.told)-1]
	}
	switch {
	case d.LogStart > last.start && d.LogStart > 0:
		u.world.fail("INV-35", 0, "a client makes up a log start", "client %d tells its application that partition %s starts at %d; brokers have told it no higher start than %d", u.plan.ID, d.ID, d.LogStart, last.start)
	case d.HighWatermark > last.high && d.HighWatermark > 0 && !u.committed():
		u.world.fail("INV-35", 0, "a client makes up a high watermark", "client %d tells its application that the high watermark of partition %s is %d; brokers have told it no higher one than %d", u.plan.ID, d.ID, d.HighWatermark, last.high)
	}
}

// cutBack judges what an application is told about its place: nobody is told of a
// truncation from further on than it was given records. What was only fetched
// ahead is the client's own affair. Nor is anybody told that committed records
// were truncated that were not given up.
//
// Who goes back to where its group stands has been given nothing from there yet, and the
// group may stand further on: others have read what was given up since.
func (u *user) cutBack(e *client.Event) {
	for _, p := range e.Partitions {
		given, ok := u.given[p.ID]
		if ok && !u.back[p.ID] && e.Kind == client.Truncated && e.From > given && !u.nothingIn(p.ID, given, e.From) {
			u.world.fail("INV-35", 0, "a client is told of a truncation of what it was never given", "client %d was given partition %s up to %d, and is told that it was truncated from %d to %d", u.plan.ID, p.ID, given, e.From, e.To)
		}
		if part := u.world.book.known(p.ID); e.Kind == client.Truncated && part != nil && !part.deleted && !part.open && !part.loss && e.To < min(e.From, part.remains()) {
			u.world.fail("INV-35", 0, "a client is told of a truncation that was none", "client %d is told that partition %s was truncated from %d to %d, but all below %d is committed and was never given up", u.plan.ID, p.ID, e.From, e.To, part.remains())
		}
		switch e.Kind {
		case client.Assigned, client.Revoked, client.Lost:
			delete(u.held, p.ID)
			fallthrough
		case client.Truncated, client.Repositioned:
			delete(u.given, p.ID)
			delete(u.back, p.ID)
			delete(u.landings, p.ID)
		}
	}
}

// goesBack has the application forget what it was given and has not committed.
func (u *user) goesBack() {
	for id := range u.given {
		u.back[id] = true
	}
	u.ask(opPlumbing, 0, history.Operation{}, func(op client.Op) client.Input { return client.Rewind{Op: op} })
}
