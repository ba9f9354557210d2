package txn

import (
	"github.com/tamarack-mq/tamarack/core/ledger"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// Request handles a client's InitProducerID with a transactional id,
// EndTransaction, ListTransactions or DescribeTransaction. It is answered exactly
// once, now or in a later call. (FindCoordinator is not handled here.)
func (c *Coordinator) Request(now message.Now, token message.Token, m message.Request, out *Out) {
	if _, ok := m.(*message.ListTransactions); ok {
		c.list(now, token, out)
		return
	}
	name, known := nameOf(m)
	if !known {
		out.Refuse(token, m, ledger.Refused(message.InvalidRequest, "a transaction coordinator does not answer %v", m.Kind()))
		return
	}
	s, no := c.serves(name)
	if no != nil {
		out.Refuse(token, m, no)
		return
	}
	s.gathered(now, s.state.entries[name], &out.Out)
	reply, no := s.handle(now, m)
	until := ledger.Written
	if no != nil {
		reply, until = message.Fail(m, no.Code, no.Detail), ledger.Confirmed
	} else if _, ok := m.(*message.DescribeTransaction); ok {
		until = ledger.Confirmed
	}
	s.Answer(now, token, m, reply, until, &out.Out)
	s.follow(now, &out.Out)
	s.Flush(now, &out.Out)
	c.collect(out)
}

// handle decides one request.
func (s *shard) handle(now message.Now, m message.Request) (message.Reply, *ledger.Refusal) {
	switch m := m.(type) {
	case *message.InitProducerID:
		return s.init(now, m)
	case *message.EndTransaction:
		return s.end(now, m)
	case *message.DescribeTransaction:
		return s.describe(m)
	}
	panic("txn: nameOf let a request through that handle does not know")
}

// nameOf names the transactional id that a request is about; known is false for
// requests that are not this coordinator's.
func nameOf(m message.Request) (name string, known bool) {
	switch m := m.(type) {
	case *message.InitProducerID:
		return m.TransactionalID, true
	case *message.EndTransaction:
		return m.TransactionalID, true
	case *message.DescribeTransaction:
		return m.TransactionalID, true
	}
	return "", false
}

// serves finds the shard of a transactional id, when it can take a request.
func (c *Coordinator) serves(name string) (*shard, *ledger.Refusal) {
	if name == "" || len(name) > maxName {
		return nil, ledger.Refused(message.InvalidRequest, "a transactional id has 1 to %d bytes; this one has %d", maxName, len(name))
	}
	return c.shards.Serving(name, c.view)
}

// stranger refuses a producer whose turn it is not.
func stranger(e *entry, who Identity) *ledger.Refusal {
	if who.ID < 0 || who.Epoch < 0 { // nobody's: what was never given cannot be fenced
		return ledger.Refused(message.InvalidRequest, "producer %d with epoch %d: a transaction needs the id and the epoch that its coordinator gave out", who.ID, who.Epoch)
	}
	if e == nil {
		return ledger.Refused(message.InvalidProducerIDMapping, "the transactional id is not known, or was not used for so long that it expired: ask for a producer id again")
	}
	turn := e.turn()
	code := e.standing(who)
	switch {
	case code == message.None:
		return nil
	case code == message.ProducerFenced && e.overrun.limit > 0 && e.overrun.by == who:
		return ledger.Refused(code, "producer %d with epoch %d is fenced: its transaction took longer than %d ms, and was aborted", who.ID, who.Epoch, e.overrun.limit/message.Millisecond)
	case code == message.ProducerFenced:
		return ledger.Refused(code, "producer %d with epoch %d is fenced: another producer has taken the transactional id", who.ID, who.Epoch)
	case code == message.InvalidProducerEpoch:
		return ledger.Refused(code, "producer %d is at epoch %d; nobody was given %d", who.ID, turn.Epoch, who.Epoch)
	default:
		return ledger.Refused(code, "the transactional id belongs to producer %d, not to %d", turn.ID, who.ID)
	}
}

// init decides an InitProducerID: each incarnation fences the one before it. A
// question that comes again, since its answer was lost or because the network has
// kept it, is no incarnation of its own: who has got the answer goes on. (Kafka has
// each of them fence, and KIP-360 helps only those who have an identity already.)
func (s *shard) init(now message.Now, m *message.InitProducerID) (message.Reply, *ledger.Refusal) {
	cfg := &s.home.cfg
	timeout := m.Timeout
	switch {
	case timeout == 0:
		timeout = min(cfg.Timeout, cfg.MaxTimeout)
	case timeout < message.Millisecond:
		return nil, ledger.Refused(message.InvalidTransactionTimeout, "a transaction may be open for 1 ms to %d ms; %d ns are asked for",
			cfg.MaxTimeout/message.Millisecond, timeout)
	case timeout > cfg.MaxTimeout:
		return nil, ledger.Refused(message.InvalidTransactionTimeout, "a transaction may be open for 1 ms to %d ms; %d ms are asked for",
			cfg.MaxTimeout/message.Millisecond, timeout/message.Millisecond)
	}
	e := s.state.entries[m.TransactionalID]
	who := Identity{record.NoProducerID, 0}
	var last overrun
	if e != nil {
		again := m.Incarnation != 0 && m.Incarnation == e.incarnation
		switch {
		case again && e.phase == Empty:
			return &message.InitProducerIDReply{ID: e.now.ID, Epoch: e.now.Epoch}, nil
		case again:
			return nil, ledger.Refused(message.InvalidTxnState, "this producer has its identity already, and has begun a transaction with it: the question comes late, and changes nothing")
		case e.phase == Ongoing:
			s.abort(now, e, e.overrun)
			return nil, ledger.Refused(message.ConcurrentTransactions, "the transaction that an earlier producer left open is being aborted; try again")
		case e.phase.prepared():
			return nil, ledger.Refused(message.ConcurrentTransactions, "the end of the transaction before is being written; try again")
		}
		who = Identity{e.now.ID, e.now.Epoch + 1}
		last = e.overrun
	}
	if e == nil || e.now.Epoch >= cfg.LastEpoch-1 {
		id, ok := s.home.ids.Take()
		if !ok {
			return nil, ledger.Refused(message.CoordinatorLoadInProgress, "this broker has no producer ids left, and has asked for more; try again")
		}
		who = Identity{id, 0}
	}
	s.write(now, m.TransactionalID, value{
		phase: Empty, now: who, next: record.NoProducerID, ended: nobody, timeout: timeout, started: notStarted,
		incarnation: m.Incarnation, overrun: last,
	})
	return &message.InitProducerIDReply{ID: who.ID, Epoch: who.Epoch}, nil
}

// end decides an EndTransaction.
func (s *shard) end(now message.Now, m *message.EndTransaction) (message.Reply, *ledger.Refusal) {
	e, who := s.state.entries[m.TransactionalID], Identity{m.ID, m.Epoch}
	if e != nil && e.ended == who && who != nobody {
		if e.phase.commits() != m.Commit {
			return nil, ledger.Refused(message.InvalidTxnState, "the transaction is decided already: it is %v", e.phase)
		}
		return granted(&e.value), nil
	}
	if no := stranger(e, who); no != nil {
		return nil, no
	}
	switch {
	case e.phase.prepared():
		return nil, ledger.Refused(message.ConcurrentTransactions, "the end of the transaction before is being written; try again")
	case e.phase != Ongoing && m.Commit:
		return nil, ledger.Refused(message.InvalidTxnState, "no partition has a record of this transaction, so there is nothing to commit")
	}
	v := e.value
	v.ended = who
	v.now.Epoch++
	if v.now.Epoch >= s.home.cfg.LastEpoch {
		id, ok := s.home.ids.Take()
		if !ok {
			return nil, ledger.Refused(message.CoordinatorLoadInProgress, "this broker has no producer ids left, and has asked for more; try again")
		}
		v.next = id
	}
	switch {
	case e.phase != Ongoing:
		v = v.completed(CompleteAbort)
	case m.Commit:
		v.phase = PrepareCommit
	default:
		v.phase = PrepareAbort
	}
	s.write(now, e.name, v)
	return granted(&e.value), nil
}

func granted(v *value) message.Reply {
	turn := v.turn()
	return &message.EndTransactionReply{ID: turn.ID, Epoch: turn.Epoch}
}

// completed is the value when all markers are written.
func (v value) completed(as Phase) value {
	v.phase, v.now, v.next = as, v.turn(), record.NoProducerID
	v.started, v.partitions = notStarted, nil
	return v
}
