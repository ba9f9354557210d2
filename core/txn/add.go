package txn

import (
	"slices"

	"github.com/tamarack-mq/tamarack/core/ledger"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/order"
	"github.com/tamarack-mq/tamarack/core/record"
)

// Add handles a broker's AddToTransaction. It is answered by an AddedToTransaction,
// now or in a later call.
//
// A request for the next transaction may come while the markers of the one before
// are being written. That its partitions wait for their end is written meanwhile;
// when both are done it is answered. Whoever takes over then finds them waiting, so
// nothing more needs to be in the log for that.
func (c *Coordinator) Add(now message.Now, from message.NodeID, m *message.AddToTransaction, out *Out) {
	a := &adding{home: c, from: from, m: m, since: now.Mono}
	s, no := c.serves(m.TransactionalID)
	if no != nil {
		a.answer(no.Code)
	} else {
		s.add(now, a, &out.Out)
		s.follow(now, &out.Out)
		s.Flush(now, &out.Out)
	}
	c.collect(out)
}

// adding is an AddToTransaction that is being answered: a waiter of the ledger.
type adding struct {
	home     *Coordinator
	from     message.NodeID
	m        *message.AddToTransaction
	since    message.Time
	code     message.Code // the answer when nothing fails
	held     bool         // the transaction before it is not over
	ready    bool         // what the answer rests on is committed
	answered bool
}

// Ready says that what the answer rests on is committed.
func (a *adding) Ready(message.Now, *ledger.Out) {
	if a.ready = true; !a.held {
		a.answer(a.code)
	}
}

// Failed says that it is not known.
func (a *adding) Failed(code message.Code, _ *ledger.Out) { a.answer(code) }

func (a *adding) answer(code message.Code) {
	if a.answered {
		return
	}
	a.answered = true
	a.home.told(a.from, a.m.BrokerEpoch, message.OtherAddition{Request: a.m.Request, Code: code})
}

// again says that b is the same question: its asker waits for one answer.
func (a *adding) again(b *adding) bool {
	return a.from == b.from && a.m.BrokerEpoch == b.m.BrokerEpoch && a.m.Request == b.m.Request
}

// add decides an AddToTransaction.
//
// Where a transaction begins, the leaders of all its partitions ask at about the same
// time. The first question alone would be a record and a flush, for which the others
// would have to wait before theirs. So those that came together the last time are
// gathered for a moment, and written as one record.
func (s *shard) add(now message.Now, a *adding, out *ledger.Out) {
	e := s.state.entries[a.m.TransactionalID]
	if a.code = s.mayAdd(e, a); e != nil { // who has got an answer, though it was no good one, waits no more
		e.held = slices.DeleteFunc(e.held, func(h *adding) bool { return h.answered })
	}
	switch {
	case a.code == message.ConcurrentTransactions && (slices.ContainsFunc(e.held, a.again) || slices.ContainsFunc(e.gathering, a.again)):
		return // one answer will do
	case a.code == message.ConcurrentTransactions && len(e.held)+len(e.gathering) < s.home.cfg.MaxHeld:
		a.code, a.held = message.None, true
		if len(e.waiting) == 0 {
			s.gather(now, e, a, out)
			return
		}
		e.held = append(e.held, a)
		s.join(now, e, a)
	case a.code != message.None:
		s.Tell(now, a, ledger.Confirmed, out)
		return
	case e.phase != Ongoing:
		if !slices.ContainsFunc(e.gathering, a.again) {
			s.gather(now, e, a, out)
		}
		return
	default:
		s.join(now, e, a)
	}
	s.Tell(now, a, ledger.Written, out)
}

// join adds to a transaction that is open, or that waits.
func (s *shard) join(now message.Now, e *entry, a *adding) {
	if e.opening {
		e.usual = order.Union(e.usual, a.m.Partitions)
	}
	v := e.value
	part := &v.partitions
	if e.phase.prepared() {
		part = &v.waiting
	}
	if len(order.Without(a.m.Partitions, *part)) > 0 {
		*part = order.Union(*part, a.m.Partitions)
		s.write(now, e.name, v)
	}
}

// gather keeps a question for a transaction that has no partitions yet until those
// have asked that usually do.
func (s *shard) gather(now message.Now, e *entry, a *adding, out *ledger.Out) {
	if len(e.gathering) == 0 {
		e.gatherUntil = now.Mono.Add(s.home.cfg.Gather)
		s.state.timers.Sooner(&e.timer, e.gatherUntil)
	}
	e.gathering = append(e.gathering, a)
	if len(order.Without(e.usual, asked(e.gathering))) == 0 {
		s.gathered(now, e, out)
	}
}

func asked(list []*adding) (set []record.PartitionID) {
	for _, a := range list {
		set = order.Union(set, a.m.Partitions)
	}
	return set
}

// gathered begins a transaction with what was gathered for it, if anything was.
func (s *shard) gathered(now message.Now, e *entry, out *ledger.Out) {
	if e == nil || len(e.gathering) == 0 {
		return
	}
	list := e.gathering
	e.gathering, e.opening = nil, true
	e.usual = asked(list)
	v := e.value
	if v.phase.prepared() {
		v.waiting, e.held = e.usual, append(e.held, list...)
		s.nextRound(e, e.roundAt)
	} else {
		v.phase, v.ended, v.started, v.partitions = Ongoing, nobody, now.Wall, e.usual
	}
	s.write(now, e.name, v)
	for _, a := range list {
		s.Tell(now, a, ledger.Written, out)
	}
	s.After(now, func(message.Now, *ledger.Out) { e.opening = false }, out)
}

func (s *shard) mayAdd(e *entry, a *adding) message.Code {
	if no := stranger(e, Identity{a.m.ID, a.m.Epoch}); no != nil {
		return no.Code
	}
	switch {
	case len(a.m.Partitions) == 0:
		return message.InvalidRequest
	case slices.ContainsFunc(a.m.Partitions, func(p record.PartitionID) bool { return p.Index < 0 }):
		return message.InvalidRequest
	}
	open := order.Union(e.partitions, asked(e.gathering))
	if e.phase.prepared() {
		open = order.Union(e.waiting, asked(e.gathering))
	}
	switch {
	case len(order.Union(open, a.m.Partitions)) > s.home.cfg.MaxPartitions:
		return message.TransactionAbortable
	case e.phase.prepared():
		return message.ConcurrentTransactions
	}
	return message.None
}

// proceed begins the transaction that waits for the one that is complete now.
func (s *shard) proceed(now message.Now, e *entry, out *ledger.Out) {
	if e == nil || !e.phase.complete() {
		return
	}
	for _, a := range e.gathering {
		a.held = false
	}
	s.gathered(now, e, out)
	held := e.held
	e.held = nil
	if len(e.waiting) == 0 {
		return
	}
	v := e.value
	v.phase, v.ended, v.started = Ongoing, nobody, now.Wall
	v.partitions, v.waiting = v.waiting, nil
	s.write(now, e.name, v)
	for _, a := range held {
		if a.held = false; a.ready {
			a.answer(a.code)
		}
	}
}

// impatient answers what is held for too long.
func (s *shard) impatient(now message.Now, e *entry) {
	for len(e.held) > 0 && now.Mono.Sub(e.held[0].since) >= s.home.cfg.HoldTime {
		e.held[0].answer(message.ConcurrentTransactions)
		e.held = e.held[1:]
	}
}
