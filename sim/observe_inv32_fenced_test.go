package sim

import (
	"fmt"
	"testing"

	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
	"github.com/tamarack-mq/tamarack/core/txn"
)

func TestWhoIsToldThatItIsFencedIs(t *testing.T) {
	words := `tells "t", producer 7 with epoch %d, that it is fenced, but it is its turn`
	timedOut := func(phase txn.Phase, e record.ProducerEpoch) txn.Transaction {
		t := decided(phase, e, part)
		t.Ended = nobody
		return t
	}
	begun := []txn.Transaction{empty(0), empty(1)}
	ended := decided(txn.PrepareCommit, 1, part)
	unsaid := decided(txn.PrepareAbort, 1, part)
	unsaid.Ended = nobody // its coordinator does not know any more that it was asked
	for name, c := range map[string]struct {
		then  []txn.Transaction
		told  record.ProducerEpoch // what somebody was told last
		epoch record.ProducerEpoch
		lie   bool
	}{
		"it has its identity":               {nil, 1, 1, true},
		"it had the one before":             {nil, 1, 0, false},
		"its identity is on its way":        {nil, 0, 1, false},
		"its transaction is open":           {[]txn.Transaction{ongoing(1, part)}, 1, 1, true},
		"it was open for too long":          {[]txn.Transaction{ongoing(1, part), timedOut(txn.PrepareAbort, 1)}, 1, 1, false},
		"the next is nobody's":              {[]txn.Transaction{ongoing(1, part), timedOut(txn.PrepareAbort, 1)}, 1, 2, false},
		"the next is another's":             {[]txn.Transaction{ongoing(1, part), timedOut(txn.PrepareAbort, 1), timedOut(txn.CompleteAbort, 1), empty(3)}, 3, 3, true},
		"it has ended the one before":       {[]txn.Transaction{ongoing(1, part), ended}, 2, 1, false},
		"it has ended one, and goes on":     {[]txn.Transaction{ongoing(1, part), ended}, 2, 2, true},
		"it was told, and that is lost":     {[]txn.Transaction{ongoing(1, part), unsaid}, 2, 2, true},
		"it goes on, and has taken so long": {[]txn.Transaction{ongoing(1, part), ended, decided(txn.CompleteCommit, 1), ongoing(2, part), timedOut(txn.PrepareAbort, 2)}, 2, 2, false},
		"another has taken its place":       {[]txn.Transaction{empty(2)}, 2, 1, false},
		"the transactional id was over":     {[]txn.Transaction{{}}, 1, 1, false},
	} {
		who := txn.Identity{ID: 7, Epoch: c.epoch}
		b := batch(0, 1, "x")
		record.SetTransactional(b, who.ID, who.Epoch, 0)
		for kind, ask := range map[string]func(p *theatre, o Observer){
			"produce": func(p *theatre, o Observer) {
				p.answers(o, &message.Produce{TransactionalID: "t", Partitions: []message.ProducePartition{{ID: part, Records: b}}}, p.now,
					&message.ProduceReply{Partitions: []message.ProducedPartition{{ID: part, Code: message.ProducerFenced}}})
			},
			"end": func(p *theatre, o Observer) {
				p.answers(o, &message.EndTransaction{TransactionalID: "t", ID: who.ID, Epoch: who.Epoch}, p.now,
					&message.EndTransactionReply{Code: message.ProducerFenced})
			},
			"positions": func(p *theatre, o Observer) {
				p.answers(o, &message.CommitTransactionOffsets{TransactionalID: "t", ID: who.ID, Epoch: who.Epoch}, p.now,
					&message.CommitTransactionOffsetsReply{Code: message.ProducerFenced})
			},
			"another's id": func(p *theatre, o Observer) {
				p.answers(o, &message.EndTransaction{TransactionalID: "u", ID: who.ID, Epoch: who.Epoch}, p.now,
					&message.EndTransactionReply{Code: message.ProducerFenced})
			},
		} {
			t.Run(name+", "+kind, func(t *testing.T) {
				p := newTheatre(t)
				for _, state := range append(begun, c.then...) {
					p.state(nil, state)
				}
				o := &trulyFenced{}
				for e := record.ProducerEpoch(0); e <= c.told; e++ {
					if id := seven(e); e < 2 {
						p.answers(o, &message.InitProducerID{TransactionalID: "t"}, p.now, &message.InitProducerIDReply{ID: id.ID, Epoch: id.Epoch})
					} else if e == c.told {
						p.answers(o, &message.EndTransaction{TransactionalID: "t", ID: 7, Epoch: e - 1}, p.now, &message.EndTransactionReply{ID: id.ID, Epoch: id.Epoch})
					}
				}
				p.answers(o, &message.EndTransaction{TransactionalID: "t", ID: 7, Epoch: c.epoch}, p.now, &message.EndTransactionReply{Code: message.NotCoordinator, ID: 7, Epoch: c.told + 1})
				p.passed()
				if ask(p, o); c.lie && kind != "another's id" {
					p.refused("INV-32", fmt.Sprintf(words, c.epoch))
				} else {
					p.passed()
				}
			})
		}
	}
}
