package replica

import (
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
	"github.com/tamarack-mq/tamarack/core/verify"
)

// How a transaction begins in a partition (KIP-890). A leader whose log has no
// open transaction of a batch's producer and epoch does not know whether that
// transaction is still going on. It keeps the batch and asks the transaction's
// coordinator to make the partition a part of it. Only when that is committed
// there is the batch appended: from then on its marker comes for certain. What
// the answer permits needs no end: a marker carries the next epoch, after which
// the log itself refuses the batch.

// unverified is a batch that waits for the coordinator of its transaction.
type unverified struct {
	l      *leader
	wait   *produceWait
	index  int32
	header record.Header
	batch  []byte
}

// verify says whether a client's batch of a transaction can be judged by the log
// alone. If not it waits, and the coordinator is asked; unless it waits in vain.
func (l *leader) verify(m *Manager, now message.Now, w *produceWait, index int32, r *message.Produce, h *record.Header, out *Out) (waits bool, code message.Code) {
	part := verify.Part{Partition: l.r.id, TransactionalID: r.TransactionalID, ID: h.ProducerID, Epoch: h.ProducerEpoch}
	behind := m.unverified.Asks(part)
	switch {
	case r.Acks != message.AcksAll: // else what it commits may be lost
		return false, message.InvalidRequiredAcks
	case !behind && !l.r.log.NeedsVerification(h):
		return false, message.None
	case r.TransactionalID == "":
		return false, message.InvalidRequest
	}
	if !behind {
		// That the transaction before has no marker here yet, its coordinator
		// knows better, and has it wait.
		if c := l.r.log.Check(h).Code; c != message.None && c != message.ConcurrentTransactions {
			return false, c
		}
	}
	u := unverified{l: l, wait: w, index: index, header: *h, batch: r.Partitions[index].Records}
	size := int64(len(u.batch)) + 64
	if m.HeldBytes()+size > m.cfg.HeldBytes {
		return false, message.BrokerNotAvailable
	}
	m.unverified.Hold(now, part, u, size, &out.Verify)
	return true, message.None
}

// Verified takes the answer to a Verify: see verify.Desk. A code that is not
// Retriable and not None is the answer to the produces that wait.
func (m *Manager) Verified(now message.Now, ticket uint64, code message.Code, out *Out) {
	if m.halted {
		return
	}
	for _, u := range m.unverified.Answered(now, ticket, code) {
		added := addition{code: code, base: -1}
		if u.l.r.damage.what != "" {
			added.code = message.StorageError
		}
		if added.code == message.None {
			added = u.l.add(m, now, &u.header, u.batch, message.AcksAll, out)
		}
		if !u.l.outcome(u.wait, u.index, message.AcksAll, added) {
			u.wait.settled(m, out)
		}
	}
	m.finish(now, out)
}

// failUnverified answers all batches that wait for a coordinator. Nothing of them
// was written.
func (l *leader) failUnverified(m *Manager, code message.Code, out *Out) {
	for _, u := range m.unverified.Abandon(l.r.id) {
		answer := &u.wait.reply.Partitions[u.index]
		answer.Code, answer.BaseOffset = code, -1
		answer.Leader, answer.LeaderEpoch = m.hint(l.r.id)
		u.wait.settled(m, out)
	}
}

// dropUnverified takes out the batches of a produce whose time is over.
func (l *leader) dropUnverified(m *Manager, w *produceWait, late func(index int32)) {
	m.unverified.Leave(l.r.id, func(u unverified) bool {
		if u.wait == w {
			late(u.index)
		}
		return u.wait == w
	})
}
