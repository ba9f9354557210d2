package sim

import (
	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
	"github.com/tamarack-mq/tamarack/core/txn"
)

// trulyFenced is INV-32 as a producer hears of it: who is told that it is fenced, and
// so gives up for good, is. Its transactional id has gone on without it, and that is
// committed, for a refusal is told behind a record that came after the question; and an
// identity that is over never comes back.
type trulyFenced struct{ blind }

func (*trulyFenced) Invariant() string { return "INV-32" }

func (o *trulyFenced) Stepped(w *World, n *Node, _ effect.Input, out []effect.Effect) {
	b := &w.book.transactions
	if b.states == 0 {
		return
	}
	for _, e := range out {
		reply, ok := e.(effect.Reply)
		if !ok {
			continue
		}
		switch m := reply.Msg.(type) {
		case *message.ProduceReply:
			if asked, ok := n.tokens[reply.Token].request.(*message.Produce); ok {
				o.produced(w, n, b, asked, m)
			}
		case *message.EndTransactionReply:
			if asked, ok := n.tokens[reply.Token].request.(*message.EndTransaction); ok {
				o.told(w, n, b, m.Code, asked.TransactionalID, txn.Identity{ID: asked.ID, Epoch: asked.Epoch})
			}
		case *message.CommitTransactionOffsetsReply:
			if asked, ok := n.tokens[reply.Token].request.(*message.CommitTransactionOffsets); ok {
				o.told(w, n, b, m.Code, asked.TransactionalID, txn.Identity{ID: asked.ID, Epoch: asked.Epoch})
			}
		}
	}
}

func (o *trulyFenced) produced(w *World, n *Node, b *transactionsBook, asked *message.Produce, m *message.ProduceReply) {
	for i := range m.Partitions {
		if m.Partitions[i].Code != message.ProducerFenced || i >= len(asked.Partitions) {
			continue
		}
		if h, err := record.Validate(asked.Partitions[i].Records); err == nil {
			o.told(w, n, b, message.ProducerFenced, asked.TransactionalID, txn.Identity{ID: h.ProducerID, Epoch: h.ProducerEpoch})
		}
	}
}

func (*trulyFenced) told(w *World, n *Node, b *transactionsBook, code message.Code, name string, who txn.Identity) {
	if t, known := b.ids[name]; code == message.ProducerFenced && known && t.Turn == who && given(&t) && !b.adrift(w, name) {
		w.fail("INV-32", n.id, "a producer is told that it is fenced, and is not", "node %d tells %q, producer %d with epoch %d, that it is fenced, but it is its turn: the transactional id is %v", n.id, name, who.ID, who.Epoch, t.Phase)
	}
}

// given says whether a producer was ever told whose turn it is: not after an abort that
// the coordinator decided for itself.
func given(t *txn.Transaction) bool {
	return t.Phase == txn.Empty || t.Phase == txn.Ongoing || t.Ended.ID != record.NoProducerID
}
