package txn

import (
	"slices"

	"github.com/tamarack-mq/tamarack/core/ledger"
	"github.com/tamarack-mq/tamarack/core/message"
)

// Add handles a broker's AddToTransaction. It is answered by an AddedToTransaction,
// now or in a later call.
//
// A request for the next transaction that comes while the markers of the one
// before are being written waits for them: its asker would only come again.
func (c *Coordinator) Add(now message.Now, from message.NodeID, m *message.AddToTransaction, out *Out) {
	a := &adding{home: c, from: from, m: m, since: now.Mono}
	s, no := c.serves(m.TransactionalID)
	if no != nil {
		a.answer(no.code)
	} else {
		s.add(now, a, &out.Out)
		s.follow(now, &out.Out)
		s.Flush(now, &out.Out)
	}
	c.collect(out)
}

// adding is an AddToTransaction that is being answered: a waiter of the ledger.
type adding struct {
	home  *Coordinator
	from  message.NodeID
	m     *message.AddToTransaction
	since message.Time
	code  message.Code // the answer when nothing fails
}

// Ready says that what the answer rests on is committed.
func (a *adding) Ready(message.Now, *ledger.Out) { a.answer(a.code) }

// Failed says that it is not known.
func (a *adding) Failed(code message.Code, _ *ledger.Out) { a.answer(code) }

func (a *adding) answer(code message.Code) {
	a.home.send(a.from, &message.AddedToTransaction{BrokerEpoch: a.m.BrokerEpoch, Request: a.m.Request, Code: code})
}

// again says that b is the same question: its asker waits for one answer.
func (a *adding) again(b *adding) bool {
	return a.from == b.from && a.m.BrokerEpoch == b.m.BrokerEpoch && a.m.Request == b.m.Request
}

// add decides an AddToTransaction.
func (s *shard) add(now message.Now, a *adding, out *ledger.Out) {
	e := s.state.entries[a.m.TransactionalID]
	a.code = s.mayAdd(e, a)
	switch {
	case a.code == message.ConcurrentTransactions && slices.ContainsFunc(e.held, a.again):
		return // one answer will do
	case a.code == message.ConcurrentTransactions && len(e.held) < s.home.cfg.MaxHeld:
		e.held = append(e.held, a)
		return
	case a.code != message.None:
		s.Tell(now, a, ledger.Confirmed, out)
		return
	}
	if e.phase != Ongoing || len(without(a.m.Partitions, e.partitions)) > 0 {
		v := e.value
		if v.phase != Ongoing {
			v.phase, v.ended, v.started = Ongoing, nobody, now.Wall
		}
		v.partitions = union(v.partitions, a.m.Partitions)
		s.write(now, e.name, v)
	}
	s.Tell(now, a, ledger.Written, out)
}

func (s *shard) mayAdd(e *entry, a *adding) message.Code {
	if no := stranger(e, Identity{a.m.ID, a.m.Epoch}); no != nil {
		return no.code
	}
	switch {
	case len(a.m.Partitions) == 0:
		return message.InvalidRequest
	case e.phase.prepared():
		return message.ConcurrentTransactions
	case len(union(e.partitions, a.m.Partitions)) > s.home.cfg.MaxPartitions:
		return message.TransactionAbortable
	}
	for _, p := range a.m.Partitions {
		if p.Index < 0 {
			return message.InvalidRequest
		}
	}
	return message.None
}

// resume goes on with what was held until the transaction before was complete.
func (s *shard) resume(now message.Now, name string, out *ledger.Out) {
	e := s.state.entries[name]
	if e == nil {
		return
	}
	held := e.held
	e.held = nil
	for _, a := range held {
		s.add(now, a, out)
	}
}

// impatient answers what is held for too long.
func (s *shard) impatient(now message.Now, e *entry) {
	for len(e.held) > 0 && now.Mono.Sub(e.held[0].since) >= s.home.cfg.HoldTime {
		e.held[0].answer(message.ConcurrentTransactions)
		e.held = e.held[1:]
	}
}
