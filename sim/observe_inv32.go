package sim

import (
	"cmp"
	"math"
	"slices"

	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/group"
	"github.com/tamarack-mq/tamarack/core/record"
	"github.com/tamarack-mq/tamarack/core/txn"
)

// oneDecision is INV-32: each transaction is decided once, and nothing undoes that.
// What coordinators have committed of a transactional id goes from one state to the
// next by the table below and in no other way; epochs rise with each transaction;
// what a coordinator does not do of itself is a commit; and a marker says what was
// decided before it, for a partition that takes part, in the name of a coordinator
// that is not older than who decided.
//
// As the first observer of transactions it has the book follow them.
type oneDecision struct{ blind }

func (*oneDecision) Invariant() string { return "INV-32" }

func (*oneDecision) Looks() scope { return ofMoves | ofAppends }

func (o *oneDecision) Stepped(w *World, n *Node, _ effect.Input, out []effect.Effect) {
	b := &w.book.transactions
	b.follow(w, n, out)
	for i := range b.said {
		o.state(w, n, &b.said[i])
	}
	for i := range b.batches {
		if h := &b.batches[i]; h.Attributes.Control() {
			o.marker(w, n, b, h)
		}
	}
	for i := range b.positions {
		if r := &b.positions[i]; !r.Gone && isFence(r) {
			o.fence(w, n, b, r)
		}
	}
}

// phaseAfter is the table: the states that may follow each, by the public protocol
// (KIP-98, and KIP-890 for the abort of nothing). 0 is a transactional id that is
// not known. A decision is written again with what waits for its end.
var phaseAfter = [...][]txn.Phase{
	0:                  {txn.Empty},
	txn.Empty:          {0, txn.Empty, txn.Ongoing, txn.CompleteAbort},
	txn.Ongoing:        {txn.Ongoing, txn.PrepareCommit, txn.PrepareAbort},
	txn.PrepareCommit:  {txn.PrepareCommit, txn.CompleteCommit},
	txn.PrepareAbort:   {txn.PrepareAbort, txn.CompleteAbort},
	txn.CompleteCommit: {0, txn.Empty, txn.Ongoing, txn.CompleteAbort},
	txn.CompleteAbort:  {0, txn.Empty, txn.Ongoing, txn.CompleteAbort},
}

// state judges one committed record of a coordinator.
func (o *oneDecision) state(w *World, n *Node, r *stateRecord) {
	name, was, is := r.now.TransactionalID, &r.before, &r.now
	switch {
	case r.gone && was.Phase == 0 || !r.gone && r.repeats():
		return
	case !slices.Contains(phaseAfter[was.Phase], is.Phase):
		w.fail("INV-32", n.id, "a transactional id goes to a state that cannot follow", "the transactional id %q goes from %v to %v in shard %s at offset %d", name, was.Phase, is.Phase, r.shard.part.id, r.at)
	case !r.gone && !inOrder(was, is, w.lastEpoch()):
		w.fail("INV-32", n.id, "a transactional id takes an identity out of order", "the transactional id %q goes from %v of %v, for %v next, to %v of %v, for %v next, in shard %s at offset %d",
			name, was.Phase, was.Now, was.Turn, is.Phase, is.Now, is.Turn, r.shard.part.id, r.at)
	case is.Phase == txn.Ongoing && is.Started < 0:
		w.fail("INV-32", n.id, "a transaction is open since never", "the transaction of %q, %v, is open in shard %s at offset %d, and nothing says since when", name, is.Now, r.shard.part.id, r.at)
	case is.Phase == txn.Empty && is.Incarnation != 0 && is.Incarnation == was.Incarnation:
		w.fail("INV-32", n.id, "a producer is fenced by itself", "the transactional id %q goes from %v of %v to %v for the same incarnation %d in shard %s at offset %d", name, was.Phase, was.Now, is.Now, is.Incarnation, r.shard.part.id, r.at)
	case !r.gone && was.Phase != 0 && is.Phase != txn.Empty && is.Incarnation != was.Incarnation:
		w.fail("INV-32", n.id, "it is forgotten whose a transactional id is", "the transactional id %q goes from incarnation %d to %d with %v of %v in shard %s at offset %d", name, was.Incarnation, is.Incarnation, is.Phase, is.Now, r.shard.part.id, r.at)
	case r.waits() && (was.Ended != is.Ended || !slices.Equal(was.Partitions, is.Partitions)):
		w.fail("INV-32", n.id, "a decision is replaced", "the decision of %q, %v of %v over %v, becomes one of %v over %v in shard %s at offset %d", name, is.Phase, was.Ended, was.Partitions, is.Ended, is.Partitions, r.shard.part.id, r.at)
	case !r.gone && !keepsWaiting(was, is):
		w.fail("INV-32", n.id, "what waits for the end of a transaction is forgotten", "the transactional id %q goes from %v with %v waiting to %v of %v with %v waiting in shard %s at offset %d", name, was.Phase, was.Waiting, is.Phase, is.Partitions, is.Waiting, r.shard.part.id, r.at)
	case was.Phase == txn.Ongoing && !keeps(was, is):
		w.fail("INV-32", n.id, "a transaction loses a partition", "the transaction of %q goes from the partitions %v to %v in shard %s at offset %d", name, was.Partitions, is.Partitions, r.shard.part.id, r.at)
	case is.Phase == txn.PrepareCommit && !r.waits() && is.Ended != was.Now:
		w.fail("INV-32", n.id, "a coordinator commits of itself", "the transaction of %q, %v, is committed in shard %s at offset %d, but its producer has not asked for it", name, was.Now, r.shard.part.id, r.at)
	}
}

// lastEpoch is never given to a producer: the one after it would not fit.
func (w *World) lastEpoch() record.ProducerEpoch {
	return record.ProducerEpoch(cmp.Or(w.plan.Cluster.Epochs, math.MaxInt16))
}

// inOrder judges the identities of a state after another. A producer gets another id
// when the epochs of the one that it has are used up, and not before.
func inOrder(was, is *txn.Transaction, last record.ProducerEpoch) bool {
	next := was.Turn
	next.Epoch++
	fresh := is.Turn.Epoch == 0 && is.Turn.ID != was.Turn.ID
	switch {
	case was.Phase == 0:
		return is.Now.Epoch == 0 && is.Turn == is.Now
	case is.Phase == txn.Empty:
		return is.Turn == is.Now && (is.Now == next && next.Epoch < last || fresh && next.Epoch >= last)
	case is.Phase == txn.Ongoing:
		return is.Now == was.Turn && is.Turn == is.Now
	case prepared(was.Phase) && is.Phase == was.Phase:
		return is.Now == was.Now && is.Turn == was.Turn
	case prepared(is.Phase):
		return is.Now == next && (is.Turn == is.Now && (next.Epoch < last || is.Ended != was.Turn) || fresh && next.Epoch == last && is.Ended == was.Turn)
	case prepared(was.Phase):
		return is.Now == was.Turn && is.Turn == was.Turn
	}
	return is.Now == is.Turn && is.Ended == was.Turn && (is.Now == next && next.Epoch < last || fresh && next.Epoch == last) // an abort of nothing
}

// keeps judges the partitions of a transaction that was open.
func keeps(was, is *txn.Transaction) bool {
	if is.Phase != txn.Ongoing {
		return slices.Equal(was.Partitions, is.Partitions)
	}
	return subset(was.Partitions, is.Partitions)
}

// keepsWaiting judges what waits for the end of a transaction: it does until then, and
// begins the next.
func keepsWaiting(was, is *txn.Transaction) bool {
	if is.Phase == txn.Ongoing && was.Phase != txn.Ongoing {
		return subset(was.Waiting, is.Partitions) && len(is.Waiting) == 0
	}
	return subset(was.Waiting, is.Waiting)
}

func subset(a, b []record.PartitionID) bool {
	return !slices.ContainsFunc(a, func(p record.PartitionID) bool { return !slices.Contains(b, p) })
}

// marker judges one marker that is committed.
func (o *oneDecision) marker(w *World, n *Node, b *transactionsBook, h *decidedBatch) {
	if b.producerAdrift(w, h.ProducerID) {
		return
	}
	m := h.Marker
	o.ends(w, n, b, h.part.id, txn.Identity{ID: h.ProducerID, Epoch: h.ProducerEpoch}, m.CoordinatorEpoch, h.BaseOffset)
}

// fence judges the marker of a shard of groups.
func (o *oneDecision) fence(w *World, n *Node, b *transactionsBook, r *positionRecord) {
	if b.producerAdrift(w, r.ID) || r.fence.known && r.fence.epoch == r.Epoch && r.fence.coordinator == r.Coordinator {
		return
	}
	o.ends(w, n, b, r.shard.part.id, txn.Identity{ID: r.ID, Epoch: r.Epoch}, r.Coordinator, r.at)
}

// ends judges what a marker in a partition says, by what was decided. Its outcome is
// that of INV-30.
func (o *oneDecision) ends(w *World, n *Node, b *transactionsBook, at record.PartitionID, marker txn.Identity, by record.LeaderEpoch, offset record.Offset) {
	one := b.each[before(marker)]
	switch {
	case one == nil || !one.decided:
		w.fail("INV-32", n.id, "a marker of what nobody decided", "partition %s has at offset %d a marker of producer %d that begins epoch %d, but no coordinator has decided the transaction before", at, offset, marker.ID, marker.Epoch)
	case !slices.Contains(one.named, at):
		w.fail("INV-32", n.id, "a marker where nothing was to be marked", "partition %s has at offset %d a marker of producer %d that begins epoch %d, but the transaction of %q is one of %v", at, offset, marker.ID, marker.Epoch, one.name, one.named)
	case by < one.by:
		w.fail("INV-32", n.id, "a marker of a coordinator that was replaced", "partition %s has at offset %d a marker of producer %d that begins epoch %d, by the coordinator of epoch %d, but that of epoch %d decided", at, offset, marker.ID, marker.Epoch, by, one.by)
	}
}

// isFence says whether a record of a shard of groups is a producer's fence, and a
// marker there.
func isFence(r *positionRecord) bool { return r.Kind == group.Fences }
