package sim

import (
	"time"

	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/metadata"
	"github.com/tamarack-mq/tamarack/core/record"
)

// promptDecisions is INV-34 while faults go on: a controller that is there and decides
// other things does not leave undone for long what it can do. A move ends that has all
// that it waits for, and a partition has a leader when one of those who may lead it is
// in service. And a broker that shuts down and leads still, as nobody can take over, is
// let go when it has waited for long enough.
type promptDecisions struct {
	blind
	active  int32 // who decides, in which run of its process, since when
	run     uint32
	since   Span
	version message.Version
	undone  map[record.PartitionID]leftUndone
	leaving map[message.NodeID]leftUndone
}

// leftUndone is what could have been decided, since when, and how much was decided since.
type leftUndone struct {
	what    string
	since   Span
	entries int
}

// Longer than a controller needs for what it has in hand, and more.
const (
	promptly      = 5 * Second
	promptEntries = 8
	// Longer than a controller lets a broker wait for somebody to take over (5 s), also
	// when it loses its office meanwhile, gets it back and begins to count anew.
	letGo = 20 * Second
)

func (*promptDecisions) Invariant() string { return "INV-34" }

func (*promptDecisions) Looks() scope { return ofImages }

func (o *promptDecisions) Stepped(w *World, n *Node, _ effect.Input, _ []effect.Effect) {
	image := w.newest()
	if image == nil || image.Version() == o.version {
		return
	}
	o.version = image.Version()
	active := w.nodes[max(0, w.book.meta.active)]
	if active == nil || active.id != o.active || active.run != o.run || !active.up {
		clear(o.undone)
		clear(o.leaving)
		o.since = w.now
		if active != nil {
			o.active, o.run = active.id, active.run
		}
	}
	for p := range image.Partitions() {
		o.look(w, p, couldDecide(image, p))
	}
	for _, b := range image.Brokers() {
		o.leaves(w, b.Node, b.ShuttingDown && !b.Fenced && image.Leads(b.Node) > 0)
	}
}

// leaves takes in whether a broker waits for leave to shut down.
func (o *promptDecisions) leaves(w *World, id message.NodeID, waits bool) {
	u, known := o.leaving[id]
	switch {
	case !waits:
		delete(o.leaving, id)
		return
	case !known:
		if o.leaving == nil {
			o.leaving = map[message.NodeID]leftUndone{}
		}
		u.since = w.now
	}
	u.entries++
	o.leaving[id] = u
	if u.entries > promptEntries && w.now-u.since > letGo {
		w.fail("INV-34", w.book.meta.active, "a controller does not let a broker go", "node %d has decided %d other things since node %d wants to shut down, which was %v ago, and that one leads still", w.book.meta.active, u.entries, id, time.Duration(w.now-u.since))
	}
}

// look takes in what could be decided about a partition now; "": nothing.
func (o *promptDecisions) look(w *World, p *message.PartitionChange, what string) {
	u, known := o.undone[p.ID]
	switch {
	case what == "" || known && u.what != what:
		delete(o.undone, p.ID)
		return
	case !known:
		if o.undone == nil {
			o.undone = map[record.PartitionID]leftUndone{}
		}
		u = leftUndone{what: what, since: w.now}
	}
	u.entries++
	o.undone[p.ID] = u
	if u.entries > promptEntries && w.now-max(u.since, o.since) > promptly {
		w.fail("INV-34", w.book.meta.active, "a controller leaves undone: "+what, "node %d has decided %d other things since it could have done this: %s of partition %s: %s", w.book.meta.active, u.entries, what, p.ID, tellMove(p))
	}
}

// couldDecide says what a controller has all that it needs for.
func couldDecide(image *metadata.Image, p *message.PartitionChange) string {
	if p.Leader == message.NoNode {
		for _, m := range p.ISR {
			if b := image.Broker(m); image.Live(m) && !b.ShuttingDown {
				return "the election of a leader"
			}
		}
		for _, m := range p.ELR {
			if b := image.Broker(m); image.Live(m) && !b.ShuttingDown {
				return "the election of a leader"
			}
		}
		return ""
	}
	t := image.Topic(p.ID.Topic)
	if len(p.Target) == 0 || t == nil {
		return ""
	}
	stay := within(p.ISR, p.Target)
	for _, m := range within(p.Adding, p.Target) {
		if !contains(stay, m) {
			return ""
		}
	}
	if len(stay) < t.Config.LeastInsync(len(p.Target)) {
		return ""
	}
	return "the end of a move"
}
