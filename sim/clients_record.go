package sim

import (
	"github.com/tamarack-mq/tamarack/core/client"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
	"github.com/tamarack-mq/tamarack/history"
)

// ask starts an operation. op says what to note in the history; a zero Kind is
// not noted. make builds the machine's input from the operation's name.
func (u *user) ask(what opKind, arg int64, op history.Operation, make func(client.Op) client.Input) *openOp {
	return u.askAs(&openOp{id: -1, what: what, arg: arg}, op, make)
}

// askAs is ask for an operation of which more is known.
func (u *user) askAs(o *openOp, op history.Operation, make func(client.Op) client.Input) *openOp {
	w := u.world
	u.lastOp++
	if op.Kind != 0 {
		op.Client, op.Invoke = int32(u.plan.ID), int64(w.now)
		if op.Session == 0 {
			op.Session = u.session
		}
		op.Offset, op.HighWatermark, op.LogStart = history.None, history.None, history.None
		o.id = w.history.Begin(op)
	}
	u.ops[u.lastOp] = o
	if w.witness != nil {
		w.witness.asks(u, o, &op)
	}
	o.ask = make(u.lastOp)
	u.comesBack(o.ask)
	u.step(o.ask)
	return o
}

// record notes how an operation ended.
func (u *user) record(o *openOp, result *client.Result) {
	w := u.world
	w.count(o, result)
	u.saysWhy(o, result)
	u.storesAsNamed(o, result)
	if o.id < 0 {
		return
	}
	outcome := outcomeOf(result.Outcome)
	w.history.End(o.id, int64(w.now), outcome, func(op *history.Operation) {
		if result.Err != nil {
			op.Error = result.Err.Error()
		}
		switch o.what {
		case opPublish:
			if outcome == history.OK {
				p := &result.Published
				op.TopicID, op.Partition, op.Offset, op.Timestamp = uint64(p.ID.Topic), p.ID.Index, int64(p.Offset), int64(p.Timestamp)
			}
		case opPoll:
			op.Records, op.Positions = u.delivered(result.Polled)
		case opCommit, opCommitted:
			if len(result.Offsets) > 0 {
				op.Positions = positions(result.Offsets)
			}
		}
	})
}

// outcomeOf is what the history calls an outcome.
func outcomeOf(o client.Outcome) history.Outcome {
	switch o {
	case client.NotDone:
		return history.Failed
	case client.Unknown:
		return history.Unknown
	}
	return history.OK
}

// count keeps the figures of the run.
func (w *World) count(o *openOp, result *client.Result) {
	s := &w.stats
	switch result.Outcome {
	case client.NotDone:
		s.Failed++
	case client.Unknown:
		s.Unknown++
	case client.OK:
		switch o.what {
		case opPublish:
			s.Acked++
			w.busy.acknowledged(w.now)
		case opPoll:
			for i := range result.Polled {
				s.Polled += uint64(len(result.Polled[i].Records))
			}
		case opCommit:
			s.Commits++
		}
	}
}

// delivered turns what a poll gave into records, and into the positions after
// them.
func (u *user) delivered(polled []client.Delivery) ([]history.Record, []history.Position) {
	n := 0
	for i := range polled {
		n += len(polled[i].Records)
	}
	if n == 0 {
		return nil, nil
	}
	records := make([]history.Record, 0, n)
	next := make([]history.Position, 0, len(polled))
	for i := range polled {
		d := &polled[i]
		for _, r := range d.Records {
			records = append(records, history.Record{
				Topic: d.Topic, TopicID: uint64(d.ID.Topic), Partition: d.Partition,
				Offset: int64(r.Offset), Timestamp: int64(r.Timestamp),
				// A fetched batch is never changed: the history may share it.
				Key: r.Key, Value: r.Value, Headers: headers(r.Headers),
			})
		}
		next = append(next, position(d.PlacedID, d.Next))
	}
	return records, next
}

func headers(list []record.RecordHeader) []history.Header {
	if len(list) == 0 {
		return nil
	}
	out := make([]history.Header, len(list))
	for i, h := range list {
		out[i] = history.Header{Key: string(h.Key), Value: h.Value}
	}
	return out
}

func position(p client.PlacedID, at record.Offset) history.Position {
	return history.Position{Topic: p.Topic, TopicID: uint64(p.ID.Topic), Partition: p.Partition, Offset: int64(at)}
}

func positions(list []client.PartitionOffset) []history.Position {
	out := make([]history.Position, 0, len(list))
	for i := range list {
		if list[i].Code == message.None {
			out = append(out, position(list[i].PlacedID, list[i].Offset))
		}
	}
	return out
}

// recordEvent notes what was assigned and what was given up.
func (u *user) recordEvent(e *client.Event) {
	op := history.Operation{
		Client: int32(u.plan.ID), Session: u.session, Invoke: int64(u.world.now),
		Group: e.Group, Epoch: int64(e.MemberEpoch), Style: u.style(),
	}
	switch e.Kind {
	case client.Assigned:
		op.Kind = history.Assigned
	case client.Revoked:
		op.Kind = history.Revoked
	case client.Lost:
		op.Kind, op.Error = history.Revoked, "lost"
	case client.Truncated, client.Repositioned:
		op.Kind, op.Error, op.Offset = history.Assigned, history.ByReset, int64(e.From)
		for _, p := range e.Partitions {
			op.Positions = append(op.Positions, position(p, e.To))
		}
		u.world.history.Moment(op)
		return
	default:
		return
	}
	for _, p := range e.Partitions {
		op.Positions = append(op.Positions, position(p, -1))
	}
	u.world.history.Moment(op)
}

// style is when a client commits what it reads.
func (u *user) style() history.Style {
	if u.plan.Role == Worker {
		return history.ExactlyOnce
	}
	return style(u.plan.Style)
}

// committed says that a client reads committed records only.
func (u *user) committed() bool { return u.plan.Committed || u.plan.Role == Worker || u.readsCommitted }

func style(s string) history.Style {
	switch s {
	case "at-least-once":
		return history.AtLeastOnce
	case "at-most-once":
		return history.AtMostOnce
	}
	return history.Manual
}
