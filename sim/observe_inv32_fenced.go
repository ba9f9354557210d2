package sim

import (
	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
	"github.com/tamarack-mq/tamarack/core/txn"
)

// trulyFenced is INV-32 as a producer hears of it: who is told that it is fenced, and
// so gives up for good, is. It holds the identity that it was told last, when it asked for
// one or when it ended a transaction, until the transactional id goes on without it; and
// that is committed then, for a refusal is told behind a record that came after the
// question. An identity that is over never comes back. One that nobody was ever told, as
// after an abort that the coordinator decided for itself, nobody holds.
type trulyFenced struct {
	blind
	told map[txn.Identity]bool // somebody
}

func (*trulyFenced) Invariant() string { return "INV-32" }

func (*trulyFenced) Looks() scope { return ofProduced | ofGroupsTold | ofTurns }

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
		case *message.InitProducerIDReply:
			o.gives(m.Code, txn.Identity{ID: m.ID, Epoch: m.Epoch})
		case *message.ProduceReply:
			if asked, ok := n.asker(reply.Token).request.(*message.Produce); ok {
				o.produced(w, n, b, asked, m)
			}
		case *message.EndTransactionReply:
			if asked, ok := n.asker(reply.Token).request.(*message.EndTransaction); ok {
				o.judge(w, n, b, m.Code, asked.TransactionalID, txn.Identity{ID: asked.ID, Epoch: asked.Epoch})
			}
			o.gives(m.Code, txn.Identity{ID: m.ID, Epoch: m.Epoch})
		case *message.CommitTransactionOffsetsReply:
			if asked, ok := n.asker(reply.Token).request.(*message.CommitTransactionOffsets); ok {
				o.judge(w, n, b, m.Code, asked.TransactionalID, txn.Identity{ID: asked.ID, Epoch: asked.Epoch})
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
			o.judge(w, n, b, message.ProducerFenced, asked.TransactionalID, txn.Identity{ID: h.ProducerID, Epoch: h.ProducerEpoch})
		}
	}
}

// gives notes that somebody is told its identity. That it is a committed one, INV-29
// judges; and one that nobody uses in transactions is never anybody's turn.
func (o *trulyFenced) gives(code message.Code, who txn.Identity) {
	if code != message.None {
		return
	}
	if o.told == nil {
		o.told = map[txn.Identity]bool{}
	}
	o.told[who] = true
}

func (o *trulyFenced) judge(w *World, n *Node, b *transactionsBook, code message.Code, name string, who txn.Identity) {
	if t, known := b.ids[name]; code == message.ProducerFenced && known && t.Turn == who && o.told[who] && !b.adrift(w, name) {
		w.fail("INV-32", n.id, "a producer is told that it is fenced, and is not", "node %d tells %q, producer %d with epoch %d, that it is fenced, but it is its turn: the transactional id is %v", n.id, name, who.ID, who.Epoch, t.Phase)
	}
}
