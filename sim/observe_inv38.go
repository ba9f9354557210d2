package sim

import (
	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
)

// boundedWork is INV-38: no queue grows without limit while faults go on, no
// single step does an unreasonable amount of work, and a follower asks for each
// partition once, and for no more than it has room for.
type boundedWork struct {
	blind
	fetches modestFetches
}

// Bounds far above what any plan of this simulator needs.
const (
	maxEffects  = 20_000 // of one step
	maxBacklog  = 50_000 // operations waiting for one disk
	maxRequests = 20_000 // unanswered on one node
	maxUnderway = 20_000 // packets on one link
)

func (*boundedWork) Invariant() string { return "INV-38" }

func (o *boundedWork) Started(w *World, n *Node, _ *effect.Recovered) { o.fetches.started(w, n) }

func (o *boundedWork) Stepped(w *World, n *Node, in effect.Input, out []effect.Effect) {
	if w.isAbout(ofCopies) {
		o.copies(w, n, in, out)
	}
	_, asks := in.(effect.Requested)
	switch {
	case len(out) > maxEffects:
		w.fail("INV-38", n.id, "one step does too much", "node %d asks for %d effects in one step", n.id, len(out))
	case n.drive.backlog() > maxBacklog:
		w.fail("INV-38", n.id, "the disk's queue grows without limit", "%d operations wait for the disk of node %d", n.drive.backlog(), n.id)
	case asks && len(n.tokens) > maxRequests: // else there are no more than before
		w.fail("INV-38", n.id, "waiting requests grow without limit", "%d requests wait for an answer of node %d", len(n.tokens), n.id)
	case w.stats.Steps%4096 == 0 && w.net.Underway() > maxUnderway:
		w.fail("INV-38", n.id, "messages pile up on a link", "%d packets are under way on one link", w.net.Underway())
	}
}

// copies judges what a follower asks for.
func (o *boundedWork) copies(w *World, n *Node, in effect.Input, out []effect.Effect) {
	if r, ok := in.(effect.Received); ok {
		if m, ok := r.Msg.(*message.ReplicaFetchReply); ok {
			o.fetches.answered(n, r.From, m)
		}
	}
	for _, e := range out {
		if send, ok := e.(effect.Send); ok {
			if m, ok := send.Msg.(*message.ReplicaFetch); ok {
				o.once(w, n, m)
				o.fetches.sent(w, n, send.To, m, w.unflushedLimit())
			}
		}
	}
}

// once judges that a fetch names no partition twice: one that is left over from an
// earlier session would be asked for again with each later one.
func (o *boundedWork) once(w *World, n *Node, m *message.ReplicaFetch) {
	for i := range m.Partitions {
		id := m.Partitions[i].ID
		for k := range i { // a fetch names few: it costs less to look at them than to note them
			if m.Partitions[k].ID == id {
				w.fail("INV-38", n.id, "a fetch names a partition twice", "node %d asks for partition %s twice in one fetch", n.id, id)
				return
			}
		}
	}
}
