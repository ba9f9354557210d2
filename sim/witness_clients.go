package sim

import (
	"fmt"
	"strings"

	"github.com/tamarack-mq/tamarack/core/client"
	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/record"
	"github.com/tamarack-mq/tamarack/history"
	"github.com/tamarack-mq/tamarack/transport/simnet"
	"github.com/tamarack-mq/tamarack/witness"
)

func (u *user) place() witness.Place { return witness.ClientAt(u.plan.ID) }

// asks tells that an operation begins.
func (r *recorder) asks(u *user, o *openOp, op *history.Operation) {
	row := witness.Row{Place: u.place(), What: witness.Ask, Name: opNames[o.what], Cause: r.now(), Group: u.plan.Group}
	switch o.what {
	case opPublish:
		row.Text = fmt.Sprintf("topic %s, value %s", op.Topic, short(op.Value))
	case opCommit:
		row.Parts = places(op.Positions)
	}
	if op.Verb != "" {
		row.Text = strings.TrimSpace(op.Verb + " " + op.Topic)
	}
	if row.Text == "" {
		row.Text = o.text
	}
	if o.what == opBegin || o.what == opEnd {
		row.Transactional = u.plan.Transactional
	}
	r.open[o] = r.begins(row)
}

func short(b []byte) string {
	if len(b) > 24 {
		return fmt.Sprintf("%q… (%d bytes)", b[:24], len(b))
	}
	return fmt.Sprintf("%q", b)
}

func places(list []history.Position) []witness.Part {
	var parts []witness.Part
	for _, p := range list {
		parts = append(parts, about(record.PartitionID{Topic: record.TopicID(p.TopicID), Index: p.Partition}, record.Offset(p.Offset), witness.None)...)
	}
	return parts
}

// answered tells how an operation has ended.
func (r *recorder) answered(u *user, o *openOp, result *client.Result) {
	row := witness.Row{
		Place: u.place(), What: witness.Done, Name: opNames[o.what], Code: result.Outcome.String(),
		Cause: r.now(), Begin: witness.None, Group: u.plan.Group, Text: describeResult(o, result),
	}
	if at, ok := r.open[o]; ok {
		row.Begin, row.Transactional = at, r.run.Rows[at].Transactional
		delete(r.open, o)
	}
	switch o.what {
	case opPublish:
		if p := &result.Published; result.Outcome == client.OK && p.ID.Topic != 0 {
			row.Parts = about(p.ID, p.Offset, p.Offset+1)
		}
	case opPoll:
		for i := range result.Polled {
			if d := &result.Polled[i]; len(d.Records) > 0 {
				row.Parts = append(row.Parts, about(d.ID, d.Records[0].Offset, d.Records[len(d.Records)-1].Offset+1)...)
			}
		}
	case opCommit, opCommitted:
		for i := range result.Offsets {
			row.Parts = append(row.Parts, about(result.Offsets[i].ID, result.Offsets[i].Offset, witness.None)...)
		}
	}
	r.begins(row)
}

// calls tells that a request leaves a client.
func (r *recorder) calls(u *user, node int, e *client.Call) {
	row := witness.Row{Place: u.place(), Peer: witness.NodeAt(node), What: witness.Call, Name: e.Request.Kind().String(), Cause: r.now(), Text: describe(e.Request)}
	row.Parts, row.Group, row.Code = tell(e.Request)
	row.Transactional = transactionalOf(e.Request)
	r.add(row)
	r.counts = r.world.net.Counts
}

// tells says what a client was told unasked.
func (r *recorder) tells(u *user, e *client.Event) {
	row := witness.Row{Place: u.place(), What: witness.Told, Group: e.Group, Cause: r.now(), Text: describeEvent(e)}
	for _, p := range e.Partitions {
		row.Parts = append(row.Parts, about(p.ID, witness.None, witness.None)...)
	}
	r.add(row)
}

// life tells that a process starts, ends, stops for a while or goes on.
func (r *recorder) life(at witness.Place, what witness.What, how string) {
	row := witness.Row{Place: at, What: what, Name: how, Cause: r.now()}
	switch what {
	case witness.Down, witness.ClientDown, witness.Pause, witness.ClientPause:
		r.begins(row)
		r.downs[at] = r.input
		return
	case witness.Start, witness.ClientStart, witness.Wake, witness.ClientWake:
		if before, ok := r.downs[at]; ok && row.Cause < 0 {
			row.Cause = before
		}
	}
	r.begins(row)
}

// started tells what a node found on its disk.
func (r *recorder) started(n *Node, found *effect.Recovered) {
	at := witness.NodeAt(int(n.id))
	r.life(at, witness.Start, "")
	r.run.Rows[r.input].Text = fmt.Sprintf("run %d with %d logs and %d journal frames", n.run, len(found.Logs), len(found.Journal))
	for i := range found.Logs {
		l := &found.Logs[i]
		p := witness.NewPart(l.ID)
		p.Start, p.End, p.Flushed, p.High = int64(l.Start), int64(l.End), int64(l.End), int64(l.HighWatermark)
		row := witness.Row{Place: at, What: witness.Found, Cause: r.input, Parts: []witness.Part{p}, Text: l.Damage}
		if l.Damage != "" {
			row.Code = "damaged"
		}
		r.ends[where{n.id, 0, l.ID}] = l.End
		r.add(row)
	}
	for b := range r.stands {
		if b.node == n.id {
			delete(r.stands, b)
		}
	}
}

// fault and calm tell that a fault begins and ends.
func (r *recorder) fault(i int, f *Fault) {
	row := witness.Row{What: witness.Fault, Name: string(f.Kind), Cause: witness.None, Text: f.String()}
	if n := r.world.target(f); n != nil {
		row.Place = witness.NodeAt(int(n.id))
	}
	if f.Client > 0 {
		row.Place = witness.ClientAt(f.Client)
	}
	if f.Peer > 0 {
		row.Peer = r.place(simnet.Endpoint(f.Peer))
	}
	r.faults[i] = r.begins(row)
}

func (r *recorder) calm(i int, f *Fault) {
	row := witness.Row{What: witness.FaultEnd, Name: string(f.Kind), Cause: witness.None, Text: f.String()}
	if at, ok := r.faults[i]; ok {
		row.Cause, row.Place, row.Peer = at, r.run.Rows[at].Place, r.run.Rows[at].Peer
	}
	r.begins(row)
}

// phase and mark tell what their names say.
func (r *recorder) phase(name string) {
	r.begins(witness.Row{What: witness.Phase, Name: name, Cause: witness.None})
}

func (r *recorder) mark(name string) {
	r.add(witness.Row{What: witness.Mark, Name: name, Cause: r.now()})
}
