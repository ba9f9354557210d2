package sim

import (
	"github.com/tamarack-mq/tamarack/core/client"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
	"github.com/tamarack-mq/tamarack/history"
)

// reader reads partitions outside any group, and jumps about in them: any
// offset that is retained can be read again. With a group in its plan it also
// asks now and then what that group has committed: an onlooker, whom no
// heartbeat tells that the coordinator has moved.
type reader struct {
	polling bool
	asking  bool
	polls   int
	misused bool // what it may not do has been refused
}

func (r *reader) begin(u *user) {
	if u.listed() {
		u.beginList()
		return
	}
	if starts := r.draw(u); u.plan.Misnamed {
		r.misname(u)
	} else {
		r.assign(u, starts)
	}
	r.misuse(u)
	u.next(u.some(u.plan.Every))
}

// misuse commits where there is no group to commit for, and joins a group while it reads
// by itself. Both are refused at once (INV-10): nobody could answer that later.
func (r *reader) misuse(u *user) {
	if u.plan.Group == "" && !u.plan.Misnamed {
		u.misuses("a commit for no group", &r.misused, func(op client.Op) client.Input { return client.Commit{Op: op} })
	}
	u.misuses("a second reading", &r.misused, u.elsewhere)
}

// elsewhere subscribes to the topics of the plan for another group, while something is
// read already.
func (u *user) elsewhere(op client.Op) client.Input {
	return client.Subscribe{Op: op, Group: "elsewhere", Topics: u.plan.Topics}
}

// misuses asks for what no client may do, and must be told so before anything else.
func (u *user) misuses(what string, refused *bool, make func(client.Op) client.Input) {
	*refused = false
	u.ask(opMisuse, 0, history.Operation{}, make)
	if !*refused {
		u.world.fail("INV-10", 0, "a misuse is not refused", "client %d asks for %s, and is not told that it cannot", u.plan.ID, what)
	}
}

// misused says that something was refused as a misuse of the client.
func misused(result *client.Result) bool {
	return result.Outcome == client.NotDone && result.Err.Problem == client.Misused
}

// draw draws where to begin anew: at the start, the end or somewhere between.
func (r *reader) draw(u *user) (starts []client.Start) {
	w := u.world
	for _, name := range u.plan.Topics {
		for p := range w.partitionsOf(name) {
			s := client.Start{Place: client.Place{Topic: name, Partition: int32(p)}}
			id, known := u.idOf(s.Place)
			if known = known && len(u.times[id]) > 0; known && u.random.OneIn(2) {
				s.From = client.Position{Kind: client.AtTime, Timestamp: u.drawTime(id, 20_000)}
				starts = append(starts, s)
				continue
			}
			switch u.random.Below(4) {
			case 0:
				s.From = client.Position{Kind: client.AtOffset, Offset: record.Offset(u.random.Below(200))}
			case 1:
				s.From = client.Position{Kind: client.AtTime, Timestamp: u.clock.now(w.now).Wall - record.Timestamp(u.random.Below(20_000))}
			case 2:
				s.From = client.Position{Kind: client.AtLatest}
			}
			starts = append(starts, s)
		}
	}
	return starts
}

// assign begins anew.
func (r *reader) assign(u *user, starts []client.Start) {
	w := u.world
	if w.options.Record {
		op := ClientOp{Do: "assign"}
		for i := range starts {
			op.From = append(op.From, tellStart(u, &starts[i]))
		}
		u.note(op)
	}
	u.stuck = nil
	clear(u.given)
	clear(u.held)
	clear(u.landings)
	w.history.Moment(history.Operation{
		Client: int32(u.plan.ID), Session: u.session, Kind: history.Assigned, Invoke: int64(w.now),
	})
	u.ask(opPlumbing, 0, history.Operation{}, func(op client.Op) client.Input {
		return client.Assign{Op: op, Partitions: starts, Reset: client.ResetEarliest, Group: u.plan.Group}
	})
}

func (r *reader) act(u *user, _ uint64) {
	if u.listed() {
		r.actListed(u)
		return
	}
	if r.polling {
		return
	}
	if r.polls++; r.polls%25 == 0 {
		r.assign(u, r.draw(u))
	}
	if u.plan.Group != "" && !r.asking {
		if r.polls%5 == 0 {
			r.groups(u)
		} else {
			r.committed(u)
		}
	}
	r.poll(u, int(u.random.Between(1, 100)))
	u.wander()
	u.holdOn()
}

// idOf is the partition that a place names now.
func (u *user) idOf(p client.Place) (id record.PartitionID, known bool) {
	if image := u.world.newest(); image != nil {
		if t := image.TopicNamed(p.Topic); t != nil {
			return record.PartitionID{Topic: t.ID, Index: p.Partition}, true
		}
	}
	return id, false
}

// poll asks for records, most of them at once.
func (r *reader) poll(u *user, most int) {
	if u.world.options.Record {
		u.note(ClientOp{Do: "poll", Count: most})
	}
	r.polling = true
	u.ask(opPoll, 0, history.Operation{Kind: history.Poll, Committed: u.committed()}, func(op client.Op) client.Input {
		return client.Poll{Op: op, Max: most, Wait: 300 * message.Millisecond}
	})
}

// groups asks all brokers which groups there are.
func (r *reader) groups(u *user) {
	if u.world.options.Record {
		u.note(ClientOp{Do: "groups"})
	}
	r.asking = true
	u.ask(opGroups, 0, history.Operation{}, func(op client.Op) client.Input {
		return client.Ask{Op: op, Request: &message.ListGroups{}, Target: client.Target{Kind: client.EveryBroker}, Timeout: 5 * message.Second}
	})
}

func (r *reader) done(u *user, op *openOp, result *client.Result) {
	switch op.what {
	case opGroups:
		r.asking = false
		for _, one := range result.Replies {
			if one.Reply == nil && one.Err == nil {
				u.world.fail("INV-10", 0, "a question to all brokers ends without all of them", "client %d asks all brokers for their groups and is answered before node %d has said anything", u.plan.ID, one.Node)
			}
		}
	case opPoll:
		r.polling = false
		if u.listed() {
			u.awaitList()
			return
		}
		u.next(u.some(u.plan.Every))
	case opCommitted:
		r.asking = false
	case opMisuse:
		r.misused = misused(result)
	}
}

func (r *reader) event(*user, *client.Event) {}
func (r *reader) idle(*user) (string, bool)  { return "", true }

// auditor reads every partition from its start to its end when the faults are
// over, so that the judges know what the logs hold in the end.
type auditor struct {
	left map[record.PartitionID]bool
	open map[client.Place]int64 // partitions not at their end yet, and the next offset
	over bool
	at   map[client.Place]record.Offset
}

// audit begins the final reading.
func (a *auditor) audit(u *user) {
	w := u.world
	a.open, a.over = map[client.Place]int64{}, false
	a.at = map[client.Place]record.Offset{}
	clear(u.given)
	clear(u.landings)
	var starts []client.Start
	for _, t := range w.liveTopics() {
		for p := range t.Partitions {
			place := client.Place{Topic: t.Name, Partition: int32(p)}
			a.open[place] = 0
			a.at[place] = -1
			starts = append(starts, client.Start{Place: place})
		}
	}
	u.ask(opPlumbing, 0, history.Operation{}, func(op client.Op) client.Input {
		return client.Assign{Op: op, Partitions: starts, Reset: client.ResetEarliest}
	})
	a.poll(u)
}

func (a *auditor) begin(*user) {}

func (a *auditor) act(u *user, _ uint64) { a.poll(u) }

func (a *auditor) poll(u *user) {
	u.ask(opPoll, 1, history.Operation{}, func(op client.Op) client.Input {
		return client.Poll{Op: op, Max: 1000, Wait: message.Second}
	})
}

func (a *auditor) done(u *user, op *openOp, result *client.Result) {
	switch {
	case op.what == opPositions:
		a.stands(u, result)
		return
	case op.what != opPoll:
		return
	}
	w := u.world
	for i := range result.Polled {
		d := &result.Polled[i]
		records, _ := u.delivered(result.Polled[i : i+1])
		from := int64(a.at[d.Place])
		if from < 0 && len(records) > 0 {
			from = records[0].Offset // the log start may have moved since they were fetched
		} else if from < 0 {
			from = int64(d.LogStart)
		}
		a.at[d.Place] = d.Next
		high := d.HighWatermark
		if u.readsCommitted {
			high = d.LastStable
		}
		w.history.Moment(history.Operation{
			Client: int32(u.plan.ID), Session: u.session, Kind: history.Read, Invoke: int64(w.now),
			Topic: d.Topic, TopicID: uint64(d.ID.Topic), Partition: d.Partition, Offset: from,
			Records: records, HighWatermark: int64(high), LogStart: int64(d.LogStart), Committed: u.readsCommitted,
		})
		if d.Next >= high {
			delete(a.open, d.Place)
		} else {
			a.open[d.Place] = int64(d.Next)
		}
	}
	if w.transacted {
		u.ask(opPositions, 0, history.Operation{}, func(op client.Op) client.Input { return client.Positions{Op: op} })
		return
	}
	a.goOn(u)
}

// stands takes in how far the reading has come behind the last record that was
// given: markers, and records that are aborted, are passed over without a word.
func (a *auditor) stands(u *user, result *client.Result) {
	for i := range result.Offsets {
		p := &result.Offsets[i]
		_, end := u.world.readableBy(u, u.world.book.part(p.ID))
		if at := a.at[p.Place]; p.Offset > at && (at >= 0 || p.Offset >= end) {
			a.at[p.Place] = p.Offset
		}
	}
	a.goOn(u)
}

func (a *auditor) goOn(u *user) {
	a.settle(u)
	if len(a.open) == 0 {
		a.over = true
		return
	}
	u.next(50 * Millisecond)
}

// settle drops partitions that hold nothing at all: no poll speaks of them.
func (a *auditor) settle(u *user) {
	for _, t := range u.world.liveTopics() {
		for i, p := range t.Partitions {
			place := client.Place{Topic: t.Name, Partition: int32(i)}
			if _, open := a.open[place]; !open {
				continue
			}
			part := u.world.book.known(p.ID)
			if part == nil {
				delete(a.open, place)
				continue
			}
			start, end := u.world.readableBy(u, part)
			if a.at[place] >= 0 { // what is retired under a reading, the client finds out
				start = 0
			}
			if end <= max(start, a.at[place]) {
				delete(a.open, place)
			}
		}
	}
}

// event follows when retention moves the start of a log meanwhile. It may leave
// nothing to read, so that no record tells of the new start: a reading of none does.
func (a *auditor) event(u *user, e *client.Event) {
	if e.Kind == client.Repositioned || e.Kind == client.Truncated {
		for _, p := range e.Partitions {
			if at := a.at[p.Place]; e.Kind == client.Repositioned && at >= 0 && e.To > at {
				u.world.history.Moment(history.Operation{
					Client: int32(u.plan.ID), Session: u.session, Kind: history.Read, Invoke: int64(u.world.now),
					Topic: p.Topic, TopicID: uint64(p.ID.Topic), Partition: p.Partition, Offset: int64(e.To),
					HighWatermark: history.None, LogStart: int64(e.To), Committed: u.readsCommitted,
				})
			}
			a.at[p.Place] = e.To
		}
	}
}

func (a *auditor) idle(*user) (string, bool) { return "", true }
