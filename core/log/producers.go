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

// Check decides what a leader does with a batch of a producer. It changes
// nothing; the caller appends an Accepted batch before it checks the next one.
//
//   - no producer id: Accepted
//   - unknown producer: Accepted at sequence 0, else UnknownProducerID
//   - older producer epoch: InvalidProducerEpoch
//   - newer producer epoch: Accepted at sequence 0, else OutOfOrderSequence
//   - same epoch: one of the last five batches again is a Duplicate; the next
//     sequence is Accepted; anything else is OutOfOrderSequence
//   - transactional batches: UnsupportedVersion; control batches, which no
//     client may send, and a negative producer epoch or sequence:
//     InvalidRequest
func (l *Log) Check(h *record.Header) Verdict { panic("not built yet") }

// Producers is the number of producers that the log knows.
func (l *Log) Producers() int { panic("not built yet") }

// ExpireProducers forgets producers that have appended nothing for idle. Call
// it now and then (a few times per idle), and only for logs with Producers.
// Idle time is counted on the monotonic clock between calls, and goes on
// counting across restarts from the last checkpoint, so that a jump of the
// wall clock or a record with an old timestamp never forgets a live producer.
// It returns how many were forgotten.
func (l *Log) ExpireProducers(now message.Time, idle message.Duration) int {
	panic("not built yet")
}
