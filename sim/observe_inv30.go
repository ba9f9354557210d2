package sim

import (
	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
	"github.com/tamarack-mq/tamarack/core/txn"
)

// oneOutcome is INV-30 as the logs show it: what the coordinator has decided, what
// the markers in all partitions say, what became of the positions of groups and
// what the producer is told are one outcome. A transaction is complete only when
// every partition that takes part has its marker committed. (That readers see all
// of it or nothing is judged by the models.)
type oneOutcome struct{ blind }

func (*oneOutcome) Invariant() string { return "INV-30" }

func (*oneOutcome) Looks() scope { return ofMoves | ofTurns }

func (o *oneOutcome) Stepped(w *World, n *Node, _ effect.Input, out []effect.Effect) {
	b := &w.book.transactions
	if b.states == 0 {
		return
	}
	if b.fresh(w) {
		for i := range b.batches {
			if h := &b.batches[i]; h.Attributes.Control() && !b.producerAdrift(w, h.ProducerID) {
				o.marker(w, n, b, h)
			}
		}
		for i := range b.said {
			if r := &b.said[i]; !r.shard.lost() && !r.gone && prepared(r.before.Phase) && !r.repeats() && !r.waits() {
				o.complete(w, n, b, r)
			}
		}
	}
	for _, e := range out {
		if reply, ok := e.(effect.Reply); ok {
			if m, ok := reply.Msg.(*message.EndTransactionReply); ok && m.Code == message.None {
				if asked, ok := n.asker(reply.Token).request.(*message.EndTransaction); ok && !b.adrift(w, asked.TransactionalID) {
					o.told(w, n, b, asked, m)
				}
			}
		}
	}
}

func prepared(p txn.Phase) bool { return p == txn.PrepareCommit || p == txn.PrepareAbort }

// marker holds a marker against what was decided.
func (o *oneOutcome) marker(w *World, n *Node, b *transactionsBook, h *decidedBatch) {
	one := b.each[txn.Identity{ID: h.ProducerID, Epoch: h.ProducerEpoch - 1}]
	if one != nil && one.decided && one.commits != (h.Marker.Outcome == record.Committed) {
		w.fail("INV-30", n.id, "a marker says another outcome than was decided", "partition %s has at offset %d a marker of producer %d that begins epoch %d and says %q, but the transaction of %q was decided: %s", h.part.id, h.BaseOffset, h.ProducerID, h.ProducerEpoch, h.Marker.Outcome, one.name, outcome(one.commits))
	}
}

func outcome(commits bool) string {
	if commits {
		return "commit"
	}
	return "abort"
}

// complete judges the end of a transaction: all its markers are there.
func (o *oneOutcome) complete(w *World, n *Node, b *transactionsBook, r *stateRecord) {
	marker := r.before.Now
	if (r.before.Phase == txn.PrepareCommit) != (r.now.Phase == txn.CompleteCommit) {
		w.fail("INV-30", n.id, "a transaction ends otherwise than was decided", "the transaction of %q was decided as %v, and is %v in shard %s at offset %d", r.now.TransactionalID, r.before.Phase, r.now.Phase, r.shard.part.id, r.at)
		return
	}
	for _, id := range r.before.Partitions {
		p := w.book.known(id)
		if p == nil || p.off() || w.newest().Partition(id) == nil {
			continue
		}
		if id.Topic != b.offsets {
			if _, there := b.log(p).marked[marker]; !there {
				w.fail("INV-30", n.id, "a transaction is complete without its marker", "the transaction of %q is %v in shard %s at offset %d, but partition %s has no marker of producer %d that begins epoch %d", r.now.TransactionalID, r.now.Phase, r.shard.part.id, r.at, id, marker.ID, marker.Epoch)
				return
			}
			continue
		}
		if s := b.shard(p); !s.lost() {
			o.resolved(w, n, s, r, marker)
		}
	}
}

// resolved judges a shard of groups in a transaction that is complete.
func (o *oneOutcome) resolved(w *World, n *Node, s *shardLog, r *stateRecord, marker txn.Identity) {
	if s.ended[marker.ID] < marker.Epoch { // the fence itself may have expired since
		w.fail("INV-30", n.id, "a transaction is complete without its marker", "the transaction of %q is %v in shard %s at offset %d, but shard %s of groups has no fence of producer %d at epoch %d", r.now.TransactionalID, r.now.Phase, r.shard.part.id, r.at, s.part.id, marker.ID, marker.Epoch)
		return
	}
	for i := range s.pending {
		if p := &s.pending[i]; p.ID == marker.ID && p.Epoch < marker.Epoch {
			w.fail("INV-30", n.id, "a transaction is complete with a position pending", "the transaction of %q is %v in shard %s at offset %d, but a position of group %q in partition %s is still pending", r.now.TransactionalID, r.now.Phase, r.shard.part.id, r.at, p.Group, p.Partition)
			return
		}
	}
}

// told judges what a producer is told of the end that it asked for.
func (o *oneOutcome) told(w *World, n *Node, b *transactionsBook, asked *message.EndTransaction, m *message.EndTransactionReply) {
	one := b.each[txn.Identity{ID: asked.ID, Epoch: asked.Epoch}]
	switch {
	case one == nil || !one.decided:
		w.fail("INV-30", n.id, "an end is answered that is not committed", "node %d answers the %s of the transaction of %q, producer %d, epoch %d, but no decision is committed", n.id, outcome(asked.Commit), asked.TransactionalID, asked.ID, asked.Epoch)
	case one.commits != asked.Commit || !one.asked:
		w.fail("INV-30", n.id, "a producer is told another outcome than was decided", "node %d grants the %s of the transaction of %q, producer %d, epoch %d, but it was decided: %s, asked for by its producer: %t", n.id, outcome(asked.Commit), asked.TransactionalID, asked.ID, asked.Epoch, outcome(one.commits), one.asked)
	case one.turn != txn.Identity{ID: m.ID, Epoch: m.Epoch}:
		w.fail("INV-30", n.id, "a producer is told another identity than was decided", "node %d tells %q to go on as producer %d, epoch %d, but %v was decided", n.id, asked.TransactionalID, m.ID, m.Epoch, one.turn)
	}
}
