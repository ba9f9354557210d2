package log

import (
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// Outcome is what a leader does with a batch.
type Outcome uint8

// Outcomes of Check.
const (
	Refused   Outcome = iota // answer Code, append nothing
	Accepted                 // append it at End
	Duplicate                // it is in the log already: answer Base once End is committed
)

// Verdict is the answer of Check. Base and End are set for a Duplicate: the
// offsets that the batch got when it was first appended. The first append may
// not be committed yet, so a duplicate waits for acks like a fresh batch.
type Verdict struct {
	Outcome   Outcome
	Code      message.Code // of a refusal; else None
	Base, End record.Offset
}

func refuse(c message.Code) Verdict { return Verdict{Outcome: Refused, Code: c} }

// Check decides what a leader does with a valid batch of a client. It changes
// nothing; the caller appends an Accepted batch before it checks the next one.
//
//   - no producer id: Accepted
//   - unknown producer: Accepted at sequence 0, else UnknownProducerID
//   - older producer epoch: InvalidProducerEpoch
//   - newer producer epoch: Accepted at sequence 0, else OutOfOrderSequence
//   - same epoch: one of the last five batches again is a Duplicate; the next
//     sequence is Accepted; anything else is OutOfOrderSequence
//   - a batch of a transaction while the one of an earlier epoch has no marker
//     here yet: ConcurrentTransactions
//   - a batch outside of transactions while one is open, or in an epoch that
//     belongs to them, and one of a transaction in an epoch that does not:
//     InvalidTxnState
//   - control batches and append times, which no client may make, and a
//     negative producer epoch or sequence: InvalidRequest
//
// Kafka takes an unknown producer at any sequence since 2.5, because it may
// have lost the state to retention. Here the state outlives the records, so
// that an unknown producer is one whose first batch has not come yet, or that
// was idle for longer than the expiry. Taking its later batch would leave a
// gap (and, with several batches in flight, change their order): the older
// rule holds, and the producer tells the two apart. When all that it sent
// before is acknowledged it was forgotten, and begins a new epoch; else it
// sends its batches again in order.
func (l *Log) Check(h *record.Header) Verdict {
	switch {
	case h.Attributes.Control() || h.Attributes.AppendTime():
		return refuse(message.InvalidRequest)
	case h.ProducerID == record.NoProducerID && !h.Attributes.Transactional():
		return Verdict{Outcome: Accepted}
	case h.ProducerID < 0 || h.ProducerEpoch < 0 || h.BaseSequence < 0:
		return refuse(message.InvalidRequest)
	}
	known := l.producers.get(h.ProducerID)
	if known == nil {
		return startOfSequence(h, message.UnknownProducerID)
	}
	run := &known.live
	switch {
	case h.ProducerEpoch < run.epoch:
		return refuse(message.InvalidProducerEpoch)
	case run.open.is() && !h.Attributes.Transactional():
		return refuse(message.InvalidTxnState)
	case run.open.is() && h.ProducerEpoch > run.epoch:
		return refuse(message.ConcurrentTransactions)
	case h.ProducerEpoch > run.epoch:
		return startOfSequence(h, message.OutOfOrderSequence)
	case run.transactional != h.Attributes.Transactional():
		return refuse(message.InvalidTxnState)
	case run.count == 0: // a marker has begun the epoch
		return startOfSequence(h, message.OutOfOrderSequence)
	case h.BaseSequence == record.AddSequence(run.newest().last(), 1):
		return Verdict{Outcome: Accepted}
	}
	for _, b := range run.batches[:run.count] {
		if b.first == h.BaseSequence && b.delta == h.LastOffsetDelta {
			return Verdict{Outcome: Duplicate, Base: b.base, End: b.end()}
		}
	}
	return refuse(message.OutOfOrderSequence)
}

func startOfSequence(h *record.Header, otherwise message.Code) Verdict {
	if h.BaseSequence != 0 {
		return refuse(otherwise)
	}
	return Verdict{Outcome: Accepted}
}

// NeedsVerification says whether a batch would open a transaction in this log,
// or belongs to one that is not known here: the coordinator is to be asked
// whether the partition is part of exactly that transaction before the batch is
// accepted (KIP-890). Without it, a batch that comes after the end of its
// transaction would open one that nobody ends.
func (l *Log) NeedsVerification(h *record.Header) bool {
	if !h.Attributes.Transactional() || h.Attributes.Control() {
		return false
	}
	known := l.producers.get(h.ProducerID)
	return known == nil || !known.live.open.is() || known.live.epoch != h.ProducerEpoch
}

// CheckMarker decides what a leader does with the end of a transaction. epoch is
// the one that the marker carries, one above that of the transaction.
//
//   - a coordinator epoch below that of the producer's newest marker:
//     TransactionCoordinatorFenced
//   - an epoch above what is known: Accepted, also when nothing is open here,
//     because the marker keeps out what was sent in the transaction and is late
//   - else it is a Duplicate: nothing that it could end is left. Base and End are
//     those of the producer's newest marker, or the end of the log when there is
//     none: what the log holds of the producer counts once it is committed
//   - a negative id, epoch or coordinator epoch: InvalidRequest
func (l *Log) CheckMarker(id record.ProducerID, epoch record.ProducerEpoch, coordinator record.LeaderEpoch) Verdict {
	if id < 0 || epoch < 0 || coordinator < 0 {
		return refuse(message.InvalidRequest)
	}
	known := l.producers.get(id)
	switch {
	case known == nil:
		return Verdict{Outcome: Accepted}
	case known.live.marker.is() && coordinator < known.live.coordinator:
		return refuse(message.TransactionCoordinatorFenced)
	case epoch > known.live.epoch:
		return Verdict{Outcome: Accepted}
	case !known.live.marker.is():
		return Verdict{Outcome: Duplicate, Base: l.end, End: l.end}
	}
	at := known.live.marker.offset()
	return Verdict{Outcome: Duplicate, Base: at, End: at + 1}
}
