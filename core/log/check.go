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
//   - transactional batches: UnsupportedVersion, until there are transactions
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
	case h.Attributes.Transactional():
		return refuse(message.UnsupportedVersion)
	case h.ProducerID == record.NoProducerID:
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
	case h.ProducerEpoch > run.epoch:
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
