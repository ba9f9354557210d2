package sim

import (
	"slices"

	"github.com/tamarack-mq/tamarack/core/client"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/order"
	"github.com/tamarack-mq/tamarack/core/record"
	"github.com/tamarack-mq/tamarack/history"
)

// wander lets a client that reads go back and forth in what it has been given
// something of: now and then to the start, the end, an offset, a time or what its
// group has committed. Whether it polls at the moment makes no difference, nor
// whether it has arrived where it wanted to go before.
func (u *user) wander() {
	w := u.world
	if u.plan.Seek == 0 || u.closing || u.plan.Ops != nil || w.phase >= draining || !u.random.Percent(int64(u.plan.Seek)) {
		return
	}
	ids := order.KeysBy(u.given, record.PartitionID.Compare)
	if len(ids) == 0 || w.newest() == nil {
		return
	}
	id := ids[u.random.Below(int64(len(ids)))]
	t := w.newest().Topic(id.Topic)
	if t == nil {
		return
	}
	next := u.given[id] // as long as it has not set out
	for more := true; more; more = u.plan.Again > 0 && u.random.Percent(int64(u.plan.Again)) {
		u.seek(id, &client.Start{Place: client.Place{Topic: t.Name, Partition: id.Index}, From: u.drawSeek(id, next)})
	}
}

// drawSeek draws where to go. Who is to be given nothing twice says by an offset
// what it wants again, so that all can see how often each record may come.
func (u *user) drawSeek(id record.PartitionID, next record.Offset) client.Position {
	r := u.random
	kinds := int64(6)
	if u.plan.Style == "at-most-once" {
		kinds = 2
	}
	switch r.Below(kinds) {
	case 0:
		return client.Position{Kind: client.AtOffset, Offset: record.Offset(r.Between(0, int64(next)))}
	case 1:
		return client.Position{Kind: client.AtOffset, Offset: next + record.Offset(r.Between(0, 12))}
	case 2:
		return client.Position{Kind: client.AtEarliest}
	case 3:
		return client.Position{Kind: client.AtLatest}
	case 4:
		if u.plan.Group != "" {
			return client.Position{Kind: client.AtCommitted}
		}
	}
	return client.Position{Kind: client.AtTime, Timestamp: u.drawTime(id, 20_000)}
}

// seek asks to go on elsewhere.
func (u *user) seek(id record.PartitionID, s *client.Start) {
	if u.world.options.Record {
		u.note(ClientOp{Do: "seek", From: []string{tellStart(u, s)}})
	}
	u.ask(opSeek, 0, history.Operation{}, func(op client.Op) client.Input {
		u.ops[op].seeks = id
		return client.Seek{Op: op, Start: *s}
	})
}

// seekListed does a seek of the plan's list, in what is being read.
func (u *user) seekListed(op *ClientOp) {
	for _, s := range startsFrom(u, op.From) {
		if t := u.world.newest().TopicNamed(s.Topic); t != nil {
			u.seek(record.PartitionID{Topic: t.ID, Index: s.Partition}, &s)
		}
	}
}

// seeksDue does the seeks, pauses and resumptions that come with the poll at hand.
func (u *user) seeksDue() {
	for u.listAt < len(u.plan.Ops) && u.plan.Ops[u.listAt].At <= u.world.now {
		switch op := &u.plan.Ops[u.listAt]; op.Do {
		case "seek":
			u.seekListed(op)
		case "pause", "resume":
			u.holdListed(op)
		default:
			return
		}
		u.listAt++
	}
}

// landing is a seek of which nothing has come yet: where the next records must
// begin.
type landing struct {
	event  uint64 // when the client set out
	from   client.Position
	listed []record.Offset // what brokers have said since to such a question
}

// setOut notes a seek that the client has taken.
func (u *user) setOut(o *openOp, result *client.Result) {
	if result.Outcome != client.OK {
		return
	}
	w := u.world
	w.mark(markSought)
	from := o.ask.(client.Seek).From
	if before, ok := u.given[o.seeks]; ok && from.Kind == client.AtOffset && from.Offset < before {
		w.mark(markSoughtBack)
	}
	delete(u.given, o.seeks)
	u.landings[o.seeks] = &landing{event: w.stats.Events, from: from}
	p := history.Position{TopicID: uint64(o.seeks.Topic), Partition: o.seeks.Index, Offset: history.None}
	if from.Kind == client.AtOffset {
		p.Offset = int64(from.Offset)
	}
	op := history.Operation{
		Client: int32(u.plan.ID), Session: u.session, Kind: history.Assigned, Error: history.BySeek,
		Invoke: int64(w.now), Style: u.style(), Positions: []history.Position{p},
	}
	if u.plan.Role == MemberOf {
		op.Group = u.plan.Group
		if m := u.script.(*member); m.owned[o.seeks] != 0 {
			m.owned[o.seeks] = -1
		}
	}
	w.history.Moment(op)
}

// asked says whether a question for offsets looks up what a seek names.
func (l *landing) asked(at record.Timestamp) bool {
	switch l.from.Kind {
	case client.AtEarliest:
		return at == message.Earliest
	case client.AtLatest:
		return at == message.Latest
	case client.AtTime:
		return at == l.from.Timestamp
	}
	return false
}

// listedFor notes what a broker has answered to a seek.
func (u *user) listedFor(c *openCall, at record.Timestamp, got *message.ListedOffset) {
	if l := u.landings[got.ID]; l != nil && c.event >= l.event && l.asked(at) {
		l.listed = append(l.listed, got.Offset)
	}
}

// landed is INV-9 for a client that seeks: the first records that it is given then
// begin where it wanted to go, and nowhere else.
func (u *user) landed(d *client.Delivery) {
	l := u.landings[d.ID]
	if l == nil || len(d.Records) == 0 {
		return
	}
	delete(u.landings, d.ID)
	first, right := d.Records[0].Offset, false
	switch l.from.Kind {
	case client.AtOffset:
		right = first == l.from.Offset || first > l.from.Offset && u.nothingIn(d.ID, l.from.Offset, first)
	case client.AtCommitted:
		right = true // where that is others say
	default:
		right = slices.Contains(l.listed, first) ||
			slices.ContainsFunc(l.listed, func(o record.Offset) bool { return o < first && u.nothingIn(d.ID, o, first) })
	}
	if !right {
		u.world.fail("INV-9", 0, "a seek ends elsewhere", "client %d goes to %s in partition %s, brokers say %v, and is given records from %d on", u.plan.ID, seekNames[l.from.Kind], d.ID, l.listed, first)
	}
}

// nothingIn says that a partition holds nothing for a client from one offset up to
// another: markers of transactions, and for who reads committed records only perhaps
// aborted ones. Whether they were the models say.
func (u *user) nothingIn(id record.PartitionID, from, to record.Offset) bool {
	p := u.world.book.parts[id]
	if p == nil || !u.world.transacted {
		return false
	}
	batches := (&logFacts{batches: p.committed}).from(from)
	for i := range batches {
		h := &batches[i]
		if h.BaseOffset >= to {
			break
		}
		if !h.Attributes.Control() && !(h.Attributes.Transactional() && u.committed()) {
			return false
		}
	}
	return true
}

var seekNames = [...]string{"the start", "the end", "an offset", "a time", "what is committed"}

// seenTimes is how many times of records are kept of one partition.
const seenTimes = 8

// learnTimes keeps some times of records that were given, the latest among them.
func (u *user) learnTimes(polled []client.Delivery) {
	if !u.plan.Times {
		return
	}
	for i := range polled {
		d := &polled[i]
		if len(d.Records) == 0 {
			continue
		}
		seen := u.times[d.ID]
		if seen == nil {
			if u.times == nil {
				u.times = map[record.PartitionID][]record.Timestamp{}
			}
			seen = []record.Timestamp{0}
		}
		for j := range d.Records {
			seen[0] = max(seen[0], d.Records[j].Timestamp)
		}
		one := d.Records[u.random.Below(int64(len(d.Records)))].Timestamp
		if len(seen) < seenTimes {
			seen = append(seen, one)
		} else {
			seen[1+u.random.Below(seenTimes-1)] = one
		}
		u.times[d.ID] = seen
	}
}

// drawTime draws a time to look for: one that a record has, or one beside it; or
// any, up to so many milliseconds ago.
func (u *user) drawTime(id record.PartitionID, ago int64) record.Timestamp {
	if seen := u.times[id]; len(seen) > 0 && !u.random.OneIn(4) {
		u.world.mark(markSoughtExactly)
		return seen[u.random.Below(int64(len(seen)))] + record.Timestamp(u.random.Between(-1, 1))
	}
	return u.clock.now(u.world.now).Wall - record.Timestamp(u.random.Below(ago))
}
