package replica

import (
	"slices"

	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// How a transaction begins in a partition (KIP-890). A leader whose log has no
// open transaction of a batch's producer and epoch does not know whether that
// transaction is still going on. It keeps the batch and asks the transaction's
// coordinator to make the partition a part of it. Only when that is committed
// there is the batch appended: from then on its marker comes for certain. What
// the answer permits needs no end: a marker carries the next epoch, after which
// the log itself refuses the batch.

// Verify asks the coordinator of a transactional id to make a partition a part of
// the transaction of exactly this producer and epoch. Manager.Verified answers it.
// It may come again with the same ticket as long as no answer has come.
type Verify struct {
	Ticket          uint64
	TransactionalID string
	ID              record.ProducerID
	Epoch           record.ProducerEpoch
	Partition       record.PartitionID
}

// verification is a question that waits for its answer, and the batches that wait
// for it, in order.
type verification struct {
	l       *leader
	ask     Verify
	pause   message.Duration // after the next answer that tells nothing
	timer   timer
	batches []unverified
}

// unverified is one of them.
type unverified struct {
	wait   *produceWait
	index  int32
	header record.Header
	batch  []byte
}

func (u *unverified) bytes() int64 { return int64(len(u.batch)) + 64 }

// verify says whether a client's batch of a transaction can be judged by the log
// alone. If not it waits, and the coordinator is asked; unless it waits in vain.
func (l *leader) verify(m *Manager, now message.Now, w *produceWait, index int32, r *message.Produce, h *record.Header, out *Out) (waits bool, code message.Code) {
	v := l.verification(h.ProducerID, h.ProducerEpoch)
	switch {
	case r.Acks != message.AcksAll: // else what it commits may be lost
		return false, message.InvalidRequiredAcks
	case v == nil && !l.r.log.NeedsVerification(h):
		return false, message.None
	case r.TransactionalID == "":
		return false, message.InvalidRequest
	}
	if v == nil {
		// That the transaction before has no marker here yet, its coordinator
		// knows better, and has it wait.
		if c := l.r.log.Check(h).Code; c != message.None && c != message.ConcurrentTransactions {
			return false, c
		}
	}
	u := unverified{wait: w, index: index, header: *h, batch: r.Partitions[index].Records}
	if m.heldBytes+u.bytes() > m.cfg.HeldBytes {
		return false, message.BrokerNotAvailable
	}
	m.heldBytes += u.bytes()
	if v == nil {
		v = &verification{l: l, pause: m.cfg.VerifyPause, ask: Verify{
			Ticket: m.token(), TransactionalID: r.TransactionalID,
			ID: h.ProducerID, Epoch: h.ProducerEpoch, Partition: l.r.id,
		}}
		v.timer.Due = v
		m.verifications[v.ask.Ticket] = v
		l.verifications = append(l.verifications, v)
		v.expire(m, now, out)
	}
	v.batches = append(v.batches, u)
	return true, message.None
}

// verification is the question about a producer and epoch that is on its way, or nil.
func (l *leader) verification(id record.ProducerID, epoch record.ProducerEpoch) *verification {
	for _, v := range l.verifications {
		if v.ask.ID == id && v.ask.Epoch == epoch {
			return v
		}
	}
	return nil
}

// expire asks, for the first time or again.
func (v *verification) expire(m *Manager, now message.Now, out *Out) {
	out.Verify = append(out.Verify, v.ask)
	m.timers.Set(&v.timer, now.Mono.Add(m.cfg.VerifyRetry))
}

// Verified takes the answer to a Verify: None when the coordinator has committed
// that the partition is a part of the transaction. After a code that is Retriable
// it is asked again until the time of the produces is over; any other is the
// answer to them.
func (m *Manager) Verified(now message.Now, ticket uint64, code message.Code, out *Out) {
	v := m.verifications[ticket]
	if m.halted || v == nil {
		return
	}
	if code.Retriable() {
		m.timers.Set(&v.timer, now.Mono.Add(v.pause))
		v.pause = min(2*v.pause, m.cfg.RetryMax)
		return
	}
	v.end(m)
	for i := range v.batches {
		u := &v.batches[i]
		added := addition{code: code, base: -1}
		if v.l.r.damage.what != "" {
			added.code = message.StorageError
		}
		if added.code == message.None {
			added = v.l.add(m, now, &u.header, u.batch, message.AcksAll, out)
		}
		if !v.l.outcome(u.wait, u.index, message.AcksAll, added) {
			u.wait.settled(m, out)
		}
	}
	m.finish(now, out)
}

// end takes a verification off all lists. Its batches stay with it.
func (v *verification) end(m *Manager) {
	m.timers.Stop(&v.timer)
	delete(m.verifications, v.ask.Ticket)
	v.l.verifications = slices.DeleteFunc(v.l.verifications, func(o *verification) bool { return o == v })
	for i := range v.batches {
		m.heldBytes -= v.batches[i].bytes()
	}
}

// failUnverified answers all batches that wait for a coordinator. Nothing of them
// was written.
func (l *leader) failUnverified(m *Manager, code message.Code, out *Out) {
	for len(l.verifications) > 0 {
		v := l.verifications[0]
		v.end(m)
		for i := range v.batches {
			u := &v.batches[i]
			answer := &u.wait.reply.Partitions[u.index]
			answer.Code, answer.BaseOffset = code, -1
			answer.Leader, answer.LeaderEpoch = m.hint(l.r.id)
			u.wait.settled(m, out)
		}
	}
}

// dropUnverified takes out the batches of a produce whose time is over.
func (l *leader) dropUnverified(m *Manager, w *produceWait, late func(index int32)) {
	for i := len(l.verifications) - 1; i >= 0; i-- {
		v := l.verifications[i]
		v.batches = slices.DeleteFunc(v.batches, func(u unverified) bool {
			if u.wait != w {
				return false
			}
			m.heldBytes -= u.bytes()
			late(u.index)
			return true
		})
		if len(v.batches) == 0 {
			v.end(m)
		}
	}
}
