package sim

import (
	"slices"

	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/group"
	"github.com/tamarack-mq/tamarack/core/record"
	"github.com/tamarack-mq/tamarack/core/replica"
	"github.com/tamarack-mq/tamarack/core/txn"
)

// betweenEnds is INV-31: what belongs to a transaction stands between its beginning
// and its end. A leader appends a record of a transaction only when the coordinator
// has committed that the partition takes part in it (KIP-890), and the coordinator
// of a group lets a position become pending only when its shard does; and behind the
// marker, which begins the next epoch, nothing of it is committed any more.
type betweenEnds struct{ blind }

func (*betweenEnds) Invariant() string { return "INV-31" }

func (*betweenEnds) Looks() scope { return ofMoves | ofAppends }

func (o *betweenEnds) Stepped(w *World, n *Node, _ effect.Input, out []effect.Effect) {
	b := &w.book.transactions
	if !b.fresh(w) || b.states == 0 {
		return
	}
	for _, e := range out {
		if a, ok := e.(effect.Append); ok && a.Log.Topic != b.states && a.Log.Topic != b.offsets {
			o.appends(w, n, b, a)
		}
	}
	for i := range b.batches {
		if h := &b.batches[i]; !h.Attributes.Control() {
			o.committed(w, n, h)
		}
	}
	for i := range b.positions {
		if r := &b.positions[i]; r.Kind == group.Pends && !r.Gone {
			o.pends(w, n, b, r)
		}
	}
}

// appends judges what a leader takes. What its followers copy was judged then.
func (o *betweenEnds) appends(w *World, n *Node, b *transactionsBook, a effect.Append) {
	r := w.book.replica(n.id, a.Log)
	if r.view.Role != replica.Leading || r.part.deleted {
		return
	}
	batches, _ := r.memory.within(a.Base, a.End)
	for i := range batches {
		h := &batches[i]
		if h.ProducerID < 0 || !h.Attributes.Transactional() || h.Attributes.Control() || h.LeaderEpoch != r.view.LeaderEpoch {
			continue
		}
		if who := (txn.Identity{ID: h.ProducerID, Epoch: h.ProducerEpoch}); !b.takesPart(who, a.Log) && !b.producerAdrift(w, who.ID) {
			w.fail("INV-31", n.id, "a record of a transaction that its partition has no part in", "node %d appends to partition %s at offset %d a batch of a transaction of producer %d, epoch %d, but no coordinator has committed that the partition takes part in it", n.id, a.Log, h.BaseOffset, h.ProducerID, h.ProducerEpoch)
			return
		}
	}
}

// takesPart says whether a coordinator has committed that a partition takes part in
// a transaction.
func (b *transactionsBook) takesPart(who txn.Identity, id record.PartitionID) bool {
	one := b.each[who]
	return one != nil && slices.Contains(one.named, id)
}

// committed judges a committed record by the markers before it.
func (o *betweenEnds) committed(w *World, n *Node, h *decidedBatch) {
	if end, ended := h.log.marked[txn.Identity{ID: h.ProducerID, Epoch: h.ProducerEpoch + 1}]; ended && end.marker < h.BaseOffset {
		w.fail("INV-31", n.id, "a record behind the end of its transaction", "partition %s has at offset %d a batch of a transaction of producer %d, epoch %d, which has its marker at %d", h.part.id, h.BaseOffset, h.ProducerID, h.ProducerEpoch, end.marker)
		w.alsoAt(h.part.id, h.BaseOffset, end.marker)
	}
}

// pends judges a position that becomes pending.
func (o *betweenEnds) pends(w *World, n *Node, b *transactionsBook, r *positionRecord) {
	if who := (txn.Identity{ID: r.ID, Epoch: r.Epoch}); !b.takesPart(who, r.shard.part.id) && !b.producerAdrift(w, who.ID) {
		w.fail("INV-31", n.id, "a position of a transaction that its shard has no part in", "shard %s has at offset %d a position of group %q in a transaction of producer %d, epoch %d, but no coordinator has committed that the shard takes part in it", r.shard.part.id, r.at, r.Group, r.ID, r.Epoch)
		w.aboutPosition(r)
	}
}
