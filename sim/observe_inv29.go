package sim

import (
	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/group"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
	"github.com/tamarack-mq/tamarack/core/txn"
)

// lastingFences is INV-29 for transactions: the fencing of a producer lasts, in the
// partitions, in the shards of groups and at the coordinator, through restarts,
// snapshots, retention and failovers. The epochs of a producer in a partition are
// judged with its sequences; here are the epochs of coordinators in markers, the
// fences in shards of groups, and what producers are answered under an epoch that
// was over when they asked.
type lastingFences struct {
	blind
	coordinators map[markedBy]record.LeaderEpoch
	asked        map[asking]txn.Identity // what a transactional id had when a producer asked for one
}

// markedBy is a producer in a partition.
type markedBy struct {
	id       record.PartitionID
	producer record.ProducerID
}

func (*lastingFences) Invariant() string { return "INV-29" }

func (*lastingFences) Looks() scope { return ofMoves | ofProduces | ofIdentities | ofTurns }

func (o *lastingFences) Stepped(w *World, n *Node, in effect.Input, out []effect.Effect) {
	b := &w.book.transactions
	if b.states == 0 {
		return
	}
	if o.asked == nil {
		o.coordinators, o.asked = map[markedBy]record.LeaderEpoch{}, map[asking]txn.Identity{}
	}
	if b.fresh(w) {
		o.committed(w, n, b)
	}
	if r, ok := in.(effect.Requested); ok {
		switch asked := r.Msg.(type) {
		case *message.InitProducerID:
			if asked.TransactionalID != "" {
				had := txn.Identity{ID: record.NoProducerID}
				if t, known := b.ids[asked.TransactionalID]; known {
					had = t.Turn
				}
				o.asked[asking{n.id, n.run, r.Token}] = had
			}
		case *message.Produce:
			if asked.TransactionalID != "" {
				o.produced(w, n, b, r.Token, asked, out)
			}
		}
	}
	for _, e := range out {
		reply, ok := e.(effect.Reply)
		if !ok {
			continue
		}
		switch m := reply.Msg.(type) {
		case *message.InitProducerIDReply:
			if asked, ok := n.asker(reply.Token).request.(*message.InitProducerID); ok && asked.TransactionalID != "" {
				o.given(w, n, b, reply.Token, asked, m)
			}
		case *message.EndTransactionReply:
			if asked, ok := n.asker(reply.Token).request.(*message.EndTransaction); ok && m.Code == message.None {
				o.ended(w, n, b, n.asker(reply.Token).since, asked)
			}
		}
	}
}

// committed judges markers, in partitions and in shards of groups.
func (o *lastingFences) committed(w *World, n *Node, b *transactionsBook) {
	for i := range b.batches {
		h := &b.batches[i]
		if !h.Attributes.Control() {
			continue
		}
		at := markedBy{h.part.id, h.ProducerID}
		if before, known := o.coordinators[at]; known && h.Marker.CoordinatorEpoch < before && !h.part.revived[link{h.LeaderEpoch, h.BaseOffset}] {
			w.fail("INV-29", n.id, "a marker of a fenced coordinator is taken", "partition %s has at offset %d a marker of producer %d by the coordinator of epoch %d, behind one of epoch %d", h.part.id, h.BaseOffset, h.ProducerID, h.Marker.CoordinatorEpoch, before)
			return
		}
		o.coordinators[at] = max(o.coordinators[at], h.Marker.CoordinatorEpoch)
	}
	for i := range b.positions {
		r := &b.positions[i]
		switch {
		case r.Gone || !r.fence.known || r.shard.lost():
		case r.Kind == group.Fences && (r.Epoch < r.fence.epoch || r.Coordinator < r.fence.coordinator):
			w.fail("INV-29", n.id, "a fence of a group's shard falls", "the fence of producer %d in shard %s goes at offset %d from epoch %d of coordinator epoch %d back to %d of %d", r.ID, r.shard.part.id, r.at, r.fence.epoch, r.fence.coordinator, r.Epoch, r.Coordinator)
			return
		case r.Kind == group.Pends && r.Epoch < r.fence.epoch:
			w.fail("INV-29", n.id, "a position of a fenced producer is taken", "shard %s has at offset %d a position of group %q of producer %d in epoch %d, behind a marker that begins epoch %d", r.shard.part.id, r.at, r.Group, r.ID, r.Epoch, r.fence.epoch)
			w.aboutPosition(r)
			return
		}
	}
}

// given judges an identity that is given to a producer: it is what the transactional
// id has from then on, and beyond all that it had when the producer asked; but that a
// producer that asks again is told the same.
func (o *lastingFences) given(w *World, n *Node, b *transactionsBook, token message.Token, asked *message.InitProducerID, m *message.InitProducerIDReply) {
	at, name := asking{n.id, n.run, token}, asked.TransactionalID
	had := o.asked[at]
	delete(o.asked, at)
	who := txn.Identity{ID: m.ID, Epoch: m.Epoch}
	switch {
	case m.Code != message.None || b.adrift(w, name):
	case b.given[who] != name:
		w.fail("INV-29", n.id, "an identity is given that is not committed", "node %d gives %q the producer id %d with epoch %d, but no coordinator has committed that", n.id, name, m.ID, m.Epoch)
	case who == had && asked.Incarnation != 0:
	case who.ID == had.ID && who.Epoch <= had.Epoch && b.leads(w, n, name):
		w.fail("INV-29", n.id, "an epoch is given that was over", "node %d gives %q the producer id %d with epoch %d, but it was at epoch %d before it was asked", n.id, name, m.ID, m.Epoch, had.Epoch)
	}
}

// ended judges the end of a transaction that was granted: whoever has been followed
// by another before it asked is fenced. Only a coordinator that has not heard of its
// successor may repeat an answer that was true.
func (o *lastingFences) ended(w *World, n *Node, b *transactionsBook, since Span, asked *message.EndTransaction) {
	one := b.each[txn.Identity{ID: asked.ID, Epoch: asked.Epoch}]
	if one == nil || one.over < 0 || one.over >= since || b.adrift(w, asked.TransactionalID) || !b.leads(w, n, asked.TransactionalID) {
		return
	}
	w.fail("INV-29", n.id, "a fenced producer ends a transaction", "node %d grants the %s of the transaction of %q, producer %d, epoch %d, but the transactional id had gone on before it was asked", n.id, outcome(asked.Commit), asked.TransactionalID, asked.ID, asked.Epoch)
}

// leads says whether a node leads the shard of a transactional id. One that led it
// before and has not heard of its successor may say again what was true.
func (b *transactionsBook) leads(w *World, n *Node, name string) bool {
	image := w.newest()
	if image == nil || image.Topic(b.states) == nil {
		return false
	}
	shards := int32(len(image.Topic(b.states).Partitions))
	p := image.Partition(record.PartitionID{Topic: b.states, Index: txn.Shard(name, shards)})
	return p != nil && p.Leader == n.node()
}

// produced judges a produce that is answered in the step that brought it, by the
// epochs that were committed before.
func (o *lastingFences) produced(w *World, n *Node, b *transactionsBook, token message.Token, asked *message.Produce, out []effect.Effect) {
	eachAnswered(token, asked, out, func(got *message.ProducedPartition, batch []byte) { o.stored(w, n, b, got, batch) })
}

func (o *lastingFences) stored(w *World, n *Node, b *transactionsBook, got *message.ProducedPartition, batch []byte) {
	p := w.book.known(got.ID)
	if got.Code != message.None || p == nil || p.unclean || p.deleted || p.nr >= len(b.logs) || b.logs[p.nr] == nil {
		return
	}
	r := p.replica(n.id)
	if r.view.HighWatermark < p.high { // it has not heard of all
		return
	}
	h, err := record.DecodeHeader(batch)
	if err == nil && h.ProducerID >= 0 && h.ProducerEpoch < b.logs[p.nr].epochs[h.ProducerID] {
		w.fail("INV-29", n.id, "a fenced producer is answered as if it were not", "node %d answers producer %d in epoch %d that its batch is in partition %s at offset %d, but the producer is at epoch %d there", n.id, h.ProducerID, h.ProducerEpoch, got.ID, got.BaseOffset, b.logs[p.nr].epochs[h.ProducerID])
	}
}
