package sim

import "github.com/tamarack-mq/tamarack/core/effect"

// boundedWork is INV-38: no queue grows without limit while faults go on, and
// no single step does an unreasonable amount of work.
type boundedWork struct{ blind }

// Bounds far above what any plan of this simulator needs.
const (
	maxEffects  = 20_000 // of one step
	maxBacklog  = 50_000 // operations waiting for one disk
	maxRequests = 20_000 // unanswered on one node
	maxUnderway = 20_000 // packets on one link
)

func (*boundedWork) Invariant() string { return "INV-38" }

func (o *boundedWork) Stepped(w *World, n *Node, _ effect.Input, out []effect.Effect) {
	switch {
	case len(out) > maxEffects:
		w.fail("INV-38", n.id, "one step does too much", "node %d asks for %d effects in one step", n.id, len(out))
	case n.drive.backlog() > maxBacklog:
		w.fail("INV-38", n.id, "the disk's queue grows without limit", "%d operations wait for the disk of node %d", n.drive.backlog(), n.id)
	case len(n.tokens) > maxRequests:
		w.fail("INV-38", n.id, "waiting requests grow without limit", "%d requests wait for an answer of node %d", len(n.tokens), n.id)
	case w.stats.Steps%4096 == 0 && w.net.Underway() > maxUnderway:
		w.fail("INV-38", n.id, "messages pile up on a link", "%d packets are under way on one link", w.net.Underway())
	}
}
