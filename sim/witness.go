package sim

import (
	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
	"github.com/tamarack-mq/tamarack/core/replica"
	"github.com/tamarack-mq/tamarack/transport/simnet"
	"github.com/tamarack-mq/tamarack/witness"
)

// recorder tells a witness what happens. A run without one has none, and pays a
// nil check at each place where something could be told.
type recorder struct {
	world *World
	run   *witness.Run

	input int32 // the row that what happens now follows from
	event uint64
	base  int32 // the row of the first effect of the step at hand

	packet   simnet.Packet // the one that is about to arrive
	counts   simnet.Counts // as last looked at
	requests map[asked]int32
	reads    map[asked]int32
	saves    map[asked]int32
	appends  map[where][]upTo
	flushes  map[where][]upTo
	ends     map[where]record.Offset // of logs, as cores have asked for them
	quiet    bool                    // the step at hand is a tick without a row
	stands   map[*replicaBook]stand
	open     map[*openOp]int32 // rows where operations began
	downs    map[witness.Place]int32
	faults   map[int]int32
}

// asked is something that a node was asked, or asks, under a number.
type asked struct {
	node   int32
	run    uint32
	number uint64
}

// where is a log on a node.
type where struct {
	node int32
	run  uint32 // of the node: nothing completes what an earlier one asked for; 0: whichever
	log  record.PartitionID
}

// upTo is a row that asked for a log to be written or flushed up to end.
type upTo struct {
	cut effect.Cut
	end record.Offset
	row int32
}

// stand is how a replica stood when it was last told.
type stand struct {
	role              replica.Role
	epoch             record.LeaderEpoch
	start, end, flush record.Offset
	high              record.Offset
	leader            message.NodeID
	partitionEpoch    message.PartitionEpoch
}

func newRecorder(w *World, run *witness.Run) *recorder {
	*run = witness.Run{
		Title: w.plan.Name, Seed: w.plan.Seed, Nodes: w.plan.Cluster.Nodes, Topics: map[record.TopicID]string{},
		Offsets: offsetsTopic,
		Rows:    make([]witness.Row, 0, 1<<14),
	}
	for i := range w.plan.Clients {
		c := &w.plan.Clients[i]
		run.Clients = append(run.Clients, witness.Client{ID: c.ID, Role: string(c.Role), Group: c.Group})
	}
	return &recorder{
		world: w, run: run, input: witness.None,
		requests: map[asked]int32{}, reads: map[asked]int32{}, saves: map[asked]int32{},
		appends: map[where][]upTo{}, flushes: map[where][]upTo{}, ends: map[where]record.Offset{}, stands: map[*replicaBook]stand{},
		open: map[*openOp]int32{}, downs: map[witness.Place]int32{}, faults: map[int]int32{},
	}
}

// now is the row that something at this moment follows from.
func (r *recorder) now() int32 {
	if r.event != r.world.stats.Events {
		r.event, r.input = r.world.stats.Events, witness.None
	}
	return r.input
}

// add appends a row. What the network makes of things next follows from it.
func (r *recorder) add(row witness.Row) int32 {
	r.now()
	row.Event, row.Time = r.world.stats.Events, int64(r.world.now)
	if row.What != witness.Done && row.What != witness.Reply {
		row.Begin = witness.None
	}
	const longest = 400
	if len(row.Text) > longest {
		row.Text = row.Text[:longest] + "…"
	}
	at := int32(len(r.run.Rows))
	r.run.Rows = append(r.run.Rows, row)
	r.world.net.Cause = at
	return at
}

// begins adds a row from which the rest of the event follows.
func (r *recorder) begins(row witness.Row) int32 {
	at := r.add(row)
	r.input = at
	return at
}

func (r *recorder) place(e simnet.Endpoint) witness.Place {
	if int(e) < len(r.world.nodes) {
		return witness.NodeAt(int(e))
	}
	return witness.ClientAt(r.world.clientID(e))
}

// coming remembers a packet that the network may not let through.
func (r *recorder) coming(p *simnet.Packet) {
	r.now()
	r.packet, r.counts = *p, r.world.net.Counts
}

// astray tells what became of a packet that was not delivered.
func (r *recorder) astray() {
	c := &r.world.net.Counts
	what := witness.Lost
	switch {
	case c.Held > r.counts.Held:
		what = witness.Held
	case c.Late > r.counts.Late:
		what = witness.Late
	}
	r.missed(what, &r.packet, "")
}

// missed tells that a packet was not delivered.
func (r *recorder) missed(what witness.What, p *simnet.Packet, why string) {
	row := witness.Row{Place: r.place(p.To), Peer: r.place(p.From), What: what, Cause: p.Cause, Text: why}
	row.Name = carries(p)
	r.add(row)
}

// sent tells that the network lost what was just sent.
func (r *recorder) sent(to simnet.Endpoint) {
	c := &r.world.net.Counts
	if c.Lost == r.counts.Lost && c.Overflown == r.counts.Overflown {
		return
	}
	cause := r.world.net.Cause
	from := &r.run.Rows[cause]
	r.add(witness.Row{Place: r.place(to), Peer: from.Place, What: witness.Lost, Name: from.Name, Cause: cause})
}

// carries is the kind of message in a packet, or what it tells of a connection.
func carries(p *simnet.Packet) string {
	switch {
	case p.Msg != nil:
		return p.Msg.Kind().String()
	case p.Kind == simnet.Refused:
		return "refused"
	}
	return "broken"
}

// arrived tells that a packet has come to a node or a client.
func (r *recorder) arrived(p *simnet.Packet) {
	row := witness.Row{Place: r.place(p.To), Peer: r.place(p.From), Cause: p.Cause}
	switch p.Kind {
	case simnet.Message:
		row.What = witness.Recv
	case simnet.Request:
		row.What = witness.Request
	case simnet.Reply:
		row.What = witness.Answer
	case simnet.Broken, simnet.Refused:
		row.What = witness.Cut
	}
	row.Name = carries(p)
	if p.Msg != nil {
		row.Parts, row.Group, row.Code = tell(p.Msg)
		row.Transactional = transactionalOf(p.Msg)
		if c := p.Cause; c >= 0 && r.run.Rows[c].Name == row.Name {
			row.Text = r.run.Rows[c].Text // the same message
		} else {
			row.Text = describe(p.Msg)
		}
	}
	r.begins(row)
}

// stepped tells what a core took in and gave out.
func (r *recorder) stepped(n *Node, in effect.Input, out []effect.Effect) {
	r.tookIn(n, in, len(out))
	r.base = int32(len(r.run.Rows))
	for _, e := range out {
		r.gaveOut(n, e)
	}
}

// carrying says which effect of a step the driver is about to carry out.
func (r *recorder) carrying(i int) {
	r.world.net.Cause, r.counts = r.base+int32(i), r.world.net.Counts
}

// stood tells which replicas and what metadata a step has changed.
func (r *recorder) stood(n *Node) {
	b := r.world.book
	for _, c := range b.touched {
		v := &c.view
		now := stand{v.Role, v.LeaderEpoch, v.Start, v.End, v.Flushed, v.HighWatermark, v.Leader, v.PartitionEpoch}
		if r.stands[c] == now {
			continue
		}
		r.stands[c] = now
		r.loud(n)
		p := witness.NewPart(v.ID)
		p.Epoch, p.Start, p.End, p.Flushed, p.High = int32(v.LeaderEpoch), int64(v.Start), int64(v.End), int64(v.Flushed), int64(v.HighWatermark)
		p.Leader = int32(v.Leader)
		p.Nodes = ids(v.ISR)
		r.add(witness.Row{
			Place: witness.NodeAt(int(n.id)), What: witness.State, Name: v.Role.String(), Cause: r.input,
			Parts: []witness.Part{p}, Text: standing(v),
		})
	}
	for _, c := range b.meta.changed {
		text := changing(c.old, c.new)
		if text == "" {
			continue
		}
		r.loud(n)
		p := witness.NewPart(c.new.ID)
		p.Epoch, p.Leader, p.Nodes = int32(c.new.LeaderEpoch), int32(c.new.Leader), ids(c.new.ISR)
		if t := r.world.newest().Topic(c.new.ID.Topic); t != nil {
			r.run.Topics[t.ID] = t.Name
		}
		r.add(witness.Row{
			Place: witness.NodeAt(int(n.id)), What: witness.Meta, Cause: r.input,
			Parts: []witness.Part{p}, Text: text,
		})
	}
}

func ids(nodes []message.NodeID) []int32 {
	if len(nodes) == 0 {
		return nil
	}
	out := make([]int32, len(nodes))
	for i, n := range nodes {
		out[i] = int32(n)
	}
	return out
}

// broke tells the end of a run that failed.
func (r *recorder) broke(f *Failure) {
	place := witness.NodeAt(f.Node)
	r.add(witness.Row{Place: place, What: witness.Broken, Name: f.Invariant, Cause: r.now(), Text: f.Sentence})
	r.run.Failure = &witness.Failure{
		Invariant: f.Invariant, Sentence: f.Sentence, Event: f.Event, Time: int64(f.Time), Place: place,
	}
}

// finish closes the account.
func (r *recorder) finish() {
	w := r.world
	r.run.End, r.run.Events = int64(w.now), w.stats.Events
	f := r.run.Failure
	if f == nil {
		return
	}
	f.Subject = w.failure.Subject.witnessed()
}
