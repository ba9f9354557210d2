package sim

import (
	"fmt"

	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/storage/vfs/simdisk"
)

// ExactCrash is a power cut at one node whose moment and whose outcome are data:
// nothing about it is drawn. A plan may have several, of one node in the order
// in which they come. SearchCrashes makes them; a person may, too.
type ExactCrash struct {
	Node int `json:"node"`
	// Event is the event before which the power goes.
	Event uint64 `json:"event,omitempty"`
	// Op is, in place of an event, the operation of the node's disk inside which
	// the power goes, counted from the beginning of the run. It may come while the
	// node recovers. Of a write Part bytes are then taken; any other operation is
	// done when Part is above zero.
	Op   int64 `json:"op,omitempty"`
	Part int64 `json:"part,omitempty"`
	For  Span  `json:"for,omitempty"` // until the machine is back; 0: 10 ms
	// Left is what is left of all that was not synced.
	Left []simdisk.Left `json:"left,omitempty"`
}

// String tells when the power goes.
func (x *ExactCrash) String() string {
	if x.Op > 0 {
		return fmt.Sprintf("node %d inside file operation %d", x.Node, x.Op)
	}
	return fmt.Sprintf("node %d before event %d", x.Node, x.Event)
}

func (x *ExactCrash) validate(c *ClusterPlan) error {
	switch {
	case x.Node < 1 || x.Node > c.Nodes:
		return fmt.Errorf("there is no node %d", x.Node)
	case (x.Event > 0) == (x.Op > 0):
		return fmt.Errorf("give an event or a file operation, and not both")
	}
	return nil
}

// beginExact arms what is planned inside file operations, and finds the first
// event before which the power goes.
func (w *World) beginExact() {
	for i := range w.plan.Exact {
		if x := &w.plan.Exact[i]; x.Op == 0 && (w.exactNext == 0 || x.Event < w.exactNext) {
			w.exactNext = x.Event
		}
	}
	if len(w.plan.Exact) > 0 {
		for _, n := range w.nodes[1:] {
			n.drive.armExact()
		}
	}
}

// cutExact lets the power go where the plan says that it goes before this event.
func (w *World) cutExact() {
	w.exactNext = 0
	for i := range w.plan.Exact {
		x := &w.plan.Exact[i]
		switch {
		case x.Op > 0 || x.Event < w.stats.Events:
		case x.Event > w.stats.Events:
			if w.exactNext == 0 || x.Event < w.exactNext {
				w.exactNext = x.Event
			}
		default:
			w.nodes[x.Node].cutExact(x)
		}
	}
}

func (n *Node) cutExact(x *ExactCrash) {
	if !n.up { // the machine has outlived its process
		n.drive.leave(x)
		return
	}
	n.restartIn = max(x.For, 10*Millisecond)
	n.drive.exact = x
	n.fall(death{lossy: true})
}

// armExact arms the next crash of the plan that comes inside an operation of
// this disk.
func (d *drive) armExact() {
	x := d.nextExact(d.disk.Ops() + 1)
	if x == nil {
		d.disk.CrashAt(0, 0)
		return
	}
	d.disk.CrashAt(x.Op, x.Part)
}

// nextExact is the next crash that comes inside an operation, from one on; nil:
// there is none.
func (d *drive) nextExact(from int64) (next *ExactCrash) {
	p := d.node.world.plan
	for i := range p.Exact {
		x := &p.Exact[i]
		if x.Node == int(d.node.id) && x.Op >= max(1, from) && (next == nil || x.Op < next.Op) {
			next = x
		}
	}
	return next
}

// cutNow is the exact crash that has come; nil: an ordinary one.
func (d *drive) cutNow() *ExactCrash {
	if x := d.exact; x != nil {
		d.exact = nil
		return x
	}
	if d.disk.CrashedAt() {
		x := d.nextExact(d.disk.Ops())
		d.node.restartIn = max(x.For, 10*Millisecond)
		return x
	}
	return nil
}

// leave cuts the power and leaves what the plan says.
func (d *drive) leave(x *ExactCrash) {
	w := d.node.world
	if w.options.cut != nil {
		w.options.cut(w, d, x)
	}
	if misfits := d.disk.CrashTo(x.Left); misfits > 0 && w.tracing {
		w.tell("node %d: %d entries of what the plan leaves on its disk fit nothing that was unsynced", d.node.id, misfits)
	}
	w.mark(markPowerLost)
	d.armExact()
}

// recovered tells who searches what a recovery has found.
func (d *drive) recovered(found *effect.Recovered) {
	if look := d.node.world.options.recovered; look != nil {
		look(d, digestRecovered(found))
	}
}

// digestRecovered folds what a recovery has found.
func digestRecovered(found *effect.Recovered) uint64 {
	var r rolling
	for i := range found.Logs {
		l := &found.Logs[i]
		r.fold(uint64(l.ID.Topic)<<32 ^ uint64(uint32(l.ID.Index)))
		r.fold(uint64(l.Start))
		r.fold(uint64(l.End))
		r.text(l.Damage)
		r.bytes(l.Checkpoint)
		for j := range l.Headers {
			r.fold(uint64(l.Headers[j].BaseOffset)<<32 ^ uint64(l.Headers[j].CRC))
		}
	}
	for _, f := range found.Journal {
		r.fold(digestFrame(f))
	}
	r.text(found.JournalDamaged)
	return uint64(r)
}
