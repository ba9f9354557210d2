package sim

import "github.com/tamarack-mq/tamarack/core/effect"

// offsetsOnce is INV-3: within a log offsets are contiguous and epochs never
// fall. That each offset names one record for ever is what INV-2 and INV-5 make
// of it: no batch is committed where another one was.
type offsetsOnce struct{ blind }

func (*offsetsOnce) Invariant() string { return "INV-3" }

func (*offsetsOnce) Looks() scope { return ofAppends }

func (o *offsetsOnce) Stepped(w *World, n *Node, _ effect.Input, out []effect.Effect) {
	for _, e := range out {
		a, ok := e.(effect.Append)
		if !ok {
			continue
		}
		r := w.book.replica(n.id, a.Log)
		batches, before := r.memory.within(a.Base, a.End)
		end := a.Base
		for i := range batches {
			h := &batches[i]
			if h.BaseOffset != end {
				w.fail("INV-3", n.id, "offsets are not contiguous", "node %d appends to partition %s a batch that starts at %d where the log ends at %d", n.id, a.Log, h.BaseOffset, end)
				return
			}
			if before+i > 0 && h.LeaderEpoch < r.memory.batches[before+i-1].LeaderEpoch {
				w.fail("INV-3", n.id, "epochs fall within a log", "node %d appends to partition %s a batch of epoch %d behind one of epoch %d", n.id, a.Log, h.LeaderEpoch, r.memory.batches[before+i-1].LeaderEpoch)
				return
			}
			end = h.End()
		}
		if end != a.End || len(batches) == 0 {
			w.fail("INV-3", n.id, "an append does not hold what it says", "node %d appends to partition %s what it calls [%d, %d), but the batches end at %d", n.id, a.Log, a.Base, a.End, end)
			return
		}
		if before > 0 && r.memory.batches[before-1].End() != a.Base {
			w.fail("INV-3", n.id, "offsets are not contiguous", "node %d appends to partition %s at %d where the log ends at %d", n.id, a.Log, a.Base, r.memory.batches[before-1].End())
			return
		}
	}
}
