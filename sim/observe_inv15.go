package sim

import (
	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/replica"
)

// retentionBounds is INV-15: log start <= high watermark <= end on every
// replica, the start never falls, not across leaders either once it was shown,
// and nothing at or above the high watermark is retired.
type retentionBounds struct{ blind }

func (*retentionBounds) Invariant() string { return "INV-15" }

func (*retentionBounds) Looks() scope { return ofCuts | ofMoves | ofImages }

func (o *retentionBounds) Stepped(w *World, n *Node, _ effect.Input, out []effect.Effect) {
	for _, e := range out {
		t, ok := e.(effect.TrimPrefix)
		if !ok {
			continue
		}
		w.mark(markTrimmed)
		r := w.book.replica(n.id, t.Log)
		if t.Start > max(r.part.high, r.part.survived) && !r.adrift() {
			w.fail("INV-15", n.id, "undecided records are retired", "node %d moves the start of partition %s to %d, but only %d is committed", n.id, t.Log, t.Start, r.part.high)
			return
		}
	}
	for _, r := range w.book.touched {
		v := &r.view
		if v.Role == replica.Idle || r.adrift() {
			continue
		}
		if v.Role == replica.Following && (v.Start > v.HighWatermark || v.HighWatermark > v.End) {
			w.fail("INV-15", n.id, "bounds of a follower's log are out of order", "node %d follows in partition %s with start %d, high watermark %d and end %d", n.id, v.ID, v.Start, v.HighWatermark, v.End)
			w.aboutRecord(v.ID, -1) // none in particular
			return
		}
		if v.Role != replica.Leading {
			continue
		}
		if v.Start > v.End || v.Shown && v.Start > v.HighWatermark {
			w.fail("INV-15", n.id, "bounds of a log are out of order", "node %d leads partition %s with start %d, high watermark %d and end %d", n.id, v.ID, v.Start, v.HighWatermark, v.End)
			w.aboutRecord(v.ID, -1) // none in particular
			return
		}
		if !v.Shown || v.ShownStart < 0 || r.part.state == nil || r.part.state.LeaderEpoch != v.LeaderEpoch {
			continue // a deposed leader that does not know it yet proves nothing
		}
		if v.ShownStart < r.part.shownStart {
			w.fail("INV-15", n.id, "a log start falls", "node %d leads partition %s and shows the start %d, but %d was shown before", n.id, v.ID, v.ShownStart, r.part.shownStart)
			return
		}
		r.part.shownStart = v.ShownStart
	}
}
