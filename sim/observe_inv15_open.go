package sim

import (
	"github.com/tamarack-mq/tamarack/core/effect"
)

// openKept is INV-15 for transactions: nothing of one that is open, or of which it is
// not certain how it ended, is retired. Else a part of it could be gone before anybody
// may read it.
type openKept struct{ blind }

func (*openKept) Invariant() string { return "INV-15" }

func (*openKept) Looks() scope { return ofCuts }

func (o *openKept) Stepped(w *World, n *Node, _ effect.Input, out []effect.Effect) {
	b := &w.book.transactions
	if b.states == 0 {
		return
	}
	for _, e := range out {
		t, ok := e.(effect.TrimPrefix)
		if !ok {
			continue
		}
		r := w.book.replica(n.id, t.Log)
		p := r.part
		if p.nr >= len(b.logs) || b.logs[p.nr] == nil || p.unclean || r.adrift() {
			continue
		}
		if stable := b.logs[p.nr].stable(p.high); t.Start > stable {
			w.fail("INV-15", n.id, "records of an open transaction are retired", "node %d moves the start of partition %s to %d, but a transaction that begins at %d has not ended", n.id, t.Log, t.Start, stable)
			return
		}
	}
}
