package sim

import (
	"testing"

	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
	"github.com/tamarack-mq/tamarack/core/txn"
)

func TestWhoIsToldThatItIsFencedIs(t *testing.T) {
	words := `tells "t", producer 7 with epoch 1, that it is fenced, but it is its turn`
	timedOut := func(phase txn.Phase, e record.ProducerEpoch) txn.Transaction {
		t := decided(phase, e, part)
		t.Ended = nobody
		return t
	}
	begun := []txn.Transaction{empty(0), empty(1)}
	for name, c := range map[string]struct {
		then  []txn.Transaction
		epoch record.ProducerEpoch
		lie   bool
	}{
		"it has its identity":           {nil, 1, true},
		"it had the one before":         {nil, 0, false},
		"its transaction is open":       {[]txn.Transaction{ongoing(1, part)}, 1, true},
		"it was open for too long":      {[]txn.Transaction{ongoing(1, part), timedOut(txn.PrepareAbort, 1)}, 1, false},
		"the next is nobody's":          {[]txn.Transaction{ongoing(1, part), timedOut(txn.PrepareAbort, 1)}, 2, false},
		"it has ended the one before":   {[]txn.Transaction{ongoing(1, part), decided(txn.PrepareCommit, 1, part)}, 1, false},
		"another has taken its place":   {[]txn.Transaction{empty(2)}, 1, false},
		"the transactional id was over": {[]txn.Transaction{{}}, 1, false},
	} {
		who := txn.Identity{ID: 7, Epoch: c.epoch}
		b := batch(0, 1, "x")
		record.SetTransactional(b, who.ID, who.Epoch, 0)
		for kind, ask := range map[string]func(p *theatre){
			"produce": func(p *theatre) {
				p.answers(&trulyFenced{}, &message.Produce{TransactionalID: "t", Partitions: []message.ProducePartition{{ID: part, Records: b}}}, p.now,
					&message.ProduceReply{Partitions: []message.ProducedPartition{{ID: part, Code: message.ProducerFenced}}})
			},
			"end": func(p *theatre) {
				p.answers(&trulyFenced{}, &message.EndTransaction{TransactionalID: "t", ID: who.ID, Epoch: who.Epoch}, p.now,
					&message.EndTransactionReply{Code: message.ProducerFenced})
			},
			"positions": func(p *theatre) {
				p.answers(&trulyFenced{}, &message.CommitTransactionOffsets{TransactionalID: "t", ID: who.ID, Epoch: who.Epoch}, p.now,
					&message.CommitTransactionOffsetsReply{Code: message.ProducerFenced})
			},
			"another's id": func(p *theatre) {
				p.answers(&trulyFenced{}, &message.EndTransaction{TransactionalID: "u", ID: who.ID, Epoch: who.Epoch}, p.now,
					&message.EndTransactionReply{Code: message.ProducerFenced})
			},
		} {
			t.Run(name+", "+kind, func(t *testing.T) {
				p := newTheatre(t)
				for _, state := range append(begun, c.then...) {
					p.state(nil, state)
				}
				p.passed()
				if ask(p); c.lie && kind != "another's id" {
					p.refused("INV-32", words)
				} else {
					p.passed()
				}
			})
		}
	}
}
