package sim

import (
	"slices"
	"time"

	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/metadata"
	"github.com/tamarack-mq/tamarack/core/quorum"
	"github.com/tamarack-mq/tamarack/core/record"
)

// promptDecisions is INV-34 while faults go on: a controller that is there and decides
// other things does not leave undone for long what it can do. A move ends that has all
// that it waits for, and a partition has a leader when one of those who may lead it is
// in service. And a broker that shuts down and leads still, as nobody can take over, is
// let go when it has waited for long enough under one that has not lost its office
// meanwhile.
type promptDecisions struct {
	blind
	office  office
	since   Span // when that office began
	version message.Version
	undone  map[record.PartitionID]leftUndone
	leaving map[message.NodeID]leftUndone
}

// office is one time for which a controller decides. Who loses its office and gets it
// back has it in another term: in between nobody decides, and who waits for leave to
// shut down begins to wait anew, as the controller keeps no note of that in its log.
type office struct {
	node int32
	run  uint32 // of its process
	term quorum.Term
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
	// Longer than a controller lets a broker wait for somebody to take over (5 s), with
	// the heartbeats before and after that as late as they may be (a session each).
	letGo = 15 * Second
)

func (*promptDecisions) Invariant() string { return "INV-34" }

func (*promptDecisions) Looks() scope { return ofImages }

func (o *promptDecisions) Stepped(w *World, n *Node, _ effect.Input, _ []effect.Effect) {
	image := w.newest()
	if image == nil || image.Version() == o.version {
		return
	}
	o.version = image.Version()
	o.under(w.now, officeOf(w.nodes[max(0, w.book.meta.active)]))
	for p := range image.Partitions() {
		o.look(w, p, couldDecide(image, p))
	}
	for _, b := range image.Brokers() {
		o.leaves(w, b.Node, b.ShuttingDown && !b.Fenced && image.Leads(b.Node) > 0)
	}
}

// officeOf is the office of a controller; of one that is down it is that of nobody.
func officeOf(n *Node) office {
	if n == nil || !n.up || n.Core() == nil || n.Core().Controller() == nil {
		return office{}
	}
	return office{n.id, n.run, n.Core().Controller().View().Quorum.Term}
}

// under takes in who decides. What the one before left undone is not held against it.
func (o *promptDecisions) under(now Span, by office) {
	if by == o.office && by != (office{}) {
		return
	}
	clear(o.undone)
	clear(o.leaving)
	o.office, o.since = by, now
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
		if !slices.Contains(stay, m) {
			return ""
		}
	}
	if len(stay) < t.Config.LeastInsync(len(p.Target)) {
		return ""
	}
	return "the end of a move"
}
