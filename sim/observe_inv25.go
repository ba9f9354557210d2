package sim

import (
	"slices"

	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/group"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
	"github.com/tamarack-mq/tamarack/core/txn"
)

// pendingPositions is INV-25: positions of a transaction that has not ended are
// never told as stable ones, and each is resolved once, with the outcome of its
// transaction: stored, or dropped. Those of one request become pending together or not
// at all. What a group is told is what the log of its shard
// has stored at some time between the question and the answer, and an answer that a
// position is pending comes when that is committed.
type pendingPositions struct{ blind }

func (*pendingPositions) Invariant() string { return "INV-25" }

func (*pendingPositions) Looks() scope { return ofMoves | ofGroupsTold }

func (o *pendingPositions) Stepped(w *World, n *Node, _ effect.Input, out []effect.Effect) {
	b := &w.book.transactions
	if b.states == 0 {
		return
	}
	if b.fresh(w) {
		for i := range b.positions {
			o.record(w, n, b, &b.positions[i])
		}
	}
	for _, e := range out {
		reply, ok := e.(effect.Reply)
		if !ok {
			continue
		}
		switch m := reply.Msg.(type) {
		case *message.FetchOffsetsReply:
			o.told(w, n, n.asker(reply.Token), m)
		case *message.CommitTransactionOffsetsReply:
			o.pends(w, n, n.asker(reply.Token).request, m)
		}
	}
}

// record judges one committed record about a position.
func (o *pendingPositions) record(w *World, n *Node, b *transactionsBook, r *positionRecord) {
	switch {
	case r.Kind != group.Pends || r.shard.lost():
	case r.Gone && r.was.ID >= 0:
		o.resolved(w, n, b, r)
	case !r.Gone && r.was.ID >= 0 && r.was.Epoch != r.Epoch:
		w.fail("INV-25", n.id, "a pending position is replaced by the next transaction", "shard %s has at offset %d a position of group %q in partition %s for producer %d, epoch %d, in the place of one of epoch %d that was not resolved", r.shard.part.id, r.at, r.Group, r.Partition, r.ID, r.Epoch, r.was.Epoch)
	}
}

// resolved judges what becomes of a pending position. It is not stored when its
// topic is gone, nor when its member has committed another one later.
func (o *pendingPositions) resolved(w *World, n *Node, b *transactionsBook, r *positionRecord) {
	one := b.each[txn.Identity{ID: r.ID, Epoch: r.was.Epoch}]
	stored := r.resolves
	switch {
	case b.producerAdrift(w, r.ID):
	case one == nil || !one.decided || !r.fence.known || r.fence.epoch <= r.was.Epoch:
		w.fail("INV-25", n.id, "a pending position is resolved before its transaction", "shard %s resolves at offset %d a position of group %q in partition %s for producer %d, epoch %d, but that transaction has not ended there", r.shard.part.id, r.at, r.Group, r.Partition, r.ID, r.was.Epoch)
	case stored && !one.commits && r.changed:
		w.fail("INV-25", n.id, "a position of an aborted transaction is stored", "shard %s stores before offset %d the position %d of group %q in partition %s, but the transaction of producer %d, epoch %d, was aborted", r.shard.part.id, r.at, r.was.Offset, r.Group, r.Partition, r.ID, r.was.Epoch)
	case !stored && one.commits && !r.followed && w.newest().Partition(r.Partition) != nil:
		w.fail("INV-25", n.id, "a position of a committed transaction is dropped", "shard %s drops at offset %d the position %d of group %q in partition %s, but the transaction of producer %d, epoch %d, was committed", r.shard.part.id, r.at, r.was.Offset, r.Group, r.Partition, r.ID, r.was.Epoch)
	}
}

// told judges the positions that a group is told.
func (o *pendingPositions) told(w *World, n *Node, by caller, m *message.FetchOffsetsReply) {
	asked, ok := by.request.(*message.FetchOffsets)
	if !ok || m.Code != message.None {
		return
	}
	s := w.book.transactions.shardAt(w.groupShard(asked.Group))
	if s == nil || s.lost() {
		return
	}
	for i := range m.Offsets {
		got, at := &m.Offsets[i], claim{asked.Group, m.Offsets[i].ID}
		if !s.said(at, got.Offset, by.since) {
			w.fail("INV-25", n.id, "a group is told a position that is not stored", "node %d tells group %q the position %d for partition %s, which was not stored at any time since it was asked", n.id, asked.Group, got.Offset, got.ID)
			return
		}
		waits := func(p pendingAt) bool {
			return p.Group == at.group && p.Partition == at.id && p.since < by.since
		}
		if p := slices.IndexFunc(s.pending, waits); asked.Stable && p >= 0 {
			w.fail("INV-25", n.id, "a position is told as stable while a transaction may change it", "node %d tells group %q the stable position %d for partition %s, while one of producer %d, epoch %d, is pending", n.id, asked.Group, got.Offset, got.ID, s.pending[p].ID, s.pending[p].Epoch)
			return
		}
	}
}

// pends judges the answer that positions are pending.
func (o *pendingPositions) pends(w *World, n *Node, request message.Request, m *message.CommitTransactionOffsetsReply) {
	asked, ok := request.(*message.CommitTransactionOffsets)
	if !ok || m.Code != message.None || len(m.Offsets) != len(asked.Offsets) {
		return
	}
	if no := slices.IndexFunc(m.Offsets, func(c message.CommittedOffset) bool { return !wentWell(c) }); no >= 0 && slices.ContainsFunc(m.Offsets, wentWell) {
		w.fail("INV-25", n.id, "a part of a request becomes pending", "node %d takes positions of group %q into the transaction of producer %d, epoch %d, but not the one of the same request in partition %s: %v", n.id, asked.Group, asked.ID, asked.Epoch, m.Offsets[no].ID, m.Offsets[no].Code)
		return
	}
	s := w.book.transactions.shardAt(w.groupShard(asked.Group))
	if s == nil || s.lost() {
		return
	}
	for i := range m.Offsets {
		p := pended{claim{asked.Group, asked.Offsets[i].ID}, asked.ID, asked.Epoch, asked.Offsets[i].Offset}
		if m.Offsets[i].Code == message.None && !s.pended[p] {
			w.fail("INV-25", n.id, "a position is called pending that is not committed", "node %d answers that the position %d of group %q in partition %s is part of the transaction of producer %d, epoch %d, but its shard has not committed that", n.id, p.offset, asked.Group, p.id, asked.ID, asked.Epoch)
			return
		}
	}
}

// pended is a position that was pending at some time.
type pended struct {
	claim
	producer record.ProducerID
	epoch    record.ProducerEpoch
	offset   record.Offset
}
