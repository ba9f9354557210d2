package client

import (
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// Outcome tells what is known about an operation.
type Outcome uint8

// The outcomes.
const (
	// OK: it took effect.
	OK Outcome = iota
	// NotDone: it has not taken effect and never will.
	NotDone
	// Unknown: it may have taken effect, or may still do so.
	Unknown
)

// String is "ok", "failed" or "unknown".
func (o Outcome) String() string {
	switch o {
	case OK:
		return "ok"
	case NotDone:
		return "failed"
	}
	return "unknown"
}

// Result is how an operation ended. Err is nil exactly when Outcome is OK.
// Which of the other fields is set depends on the operation.
type Result struct {
	Outcome   Outcome
	Err       *Error
	Published Published         // Publish
	Polled    []Delivery        // Poll
	Offsets   []PartitionOffset // Positions, Committed, Commit
	Reply     message.Reply     // Ask; also the refusing reply of a failed one
	Replies   []NodeReply       // Ask of EveryBroker
}

// Published is where a record stands. Offset is -1 with acks=0.
type Published struct {
	ID        record.PartitionID
	Offset    record.Offset
	Timestamp record.Timestamp // as sent
}

// Delivery are records of one partition, in offset order. Offsets may have
// gaps. Keys, values and headers share memory with the fetched batch and must
// not be changed.
type Delivery struct {
	PlacedID
	Records []Record
	// Next is the position after these records: what Commit would store.
	Next record.Offset
	// Stretch is what a CommitOffset for these records should carry.
	Stretch uint64
	// HighWatermark, LastStable and LogStart are as last seen. The lag is
	// HighWatermark - Next or, with ReadCommitted, LastStable - Next: no more than
	// that can be read.
	HighWatermark record.Offset
	LastStable    record.Offset
	LogStart      record.Offset
}

// Record is one record as it was published.
type Record struct {
	Offset      record.Offset
	LeaderEpoch record.LeaderEpoch
	Timestamp   record.Timestamp
	Key         []byte
	Value       []byte
	Headers     []record.RecordHeader
}

// PartitionOffset is a position in one partition, or what became of committing
// it. Offset is NoOffset where there is none.
type PartitionOffset struct {
	PlacedID
	Offset      record.Offset
	LeaderEpoch record.LeaderEpoch
	Note        string
	Code        message.Code
}

// NodeReply is what one node answered; Err is set when it did not.
type NodeReply struct {
	Node  message.NodeID
	Reply message.Reply
	Err   *Error
}

// Problem is what went wrong, for programs to decide by.
type Problem uint8

// The problems.
const (
	// Refused: a broker said no; Code tells why.
	Refused Problem = iota + 1
	// TimedOut: the time for the operation is over. Code is the last refusal,
	// or None when there was no answer at all.
	TimedOut
	// BufferFull: too many records wait for their result. Slow down and try
	// again when some have come.
	BufferFull
	// TooLarge: the record is larger than the topic takes in one batch.
	TooLarge
	// NoSuchTopic: no broker knows the topic or partition.
	NoSuchTopic
	// NotReading: nothing is subscribed or assigned, or not this partition.
	NotReading
	// NotOwned: the partition was taken away from this member meanwhile.
	NotOwned
	// Misused: the operation makes no sense as it stands; Detail tells why.
	Misused
	// Closed: the client is closed or closing.
	Closed
	// Abortable: the transaction has failed and must be aborted; Because tells why
	// (0: it was being aborted). The producer goes on with the next one.
	Abortable
	// Fenced: the transactional producer is over: another one has taken its id, a
	// transaction was open for too long, or the id expired. Make a new client.
	Fenced
	// Fatal: the transactional producer is over: the end of a transaction was answered
	// with what it can do nothing about. Nobody has taken its id. Make a new client.
	Fatal
)

// Error is why an operation did not succeed. Its Code can be matched with
// errors.Is(err, message.OffsetOutOfRange) and the like.
type Error struct {
	Problem Problem
	Because Problem      // with Abortable: what made it so
	Code    message.Code // None: no broker said it
	Detail  string       // what, where, and what to do about it
}

// Error says all of it.
func (e *Error) Error() string {
	s := e.Detail
	if s == "" {
		s = e.Problem.String()
	}
	if e.Code != message.None {
		s += " (" + e.Code.String() + ")"
	}
	return s
}

// Unwrap gives the code of the broker, if there is one.
func (e *Error) Unwrap() error {
	if e.Code == message.None {
		return nil
	}
	return e.Code
}

// String is a short description.
func (p Problem) String() string {
	switch p {
	case Refused:
		return "the broker refused"
	case TimedOut:
		return "no answer in time"
	case BufferFull:
		return "too many records wait for their result"
	case TooLarge:
		return "the record is larger than the topic takes"
	case NoSuchTopic:
		return "no broker knows the topic or partition"
	case NotReading:
		return "the partition is not being read"
	case NotOwned:
		return "the partition was taken away"
	case Misused:
		return "the operation makes no sense"
	case Closed:
		return "the client is closed"
	case Abortable:
		return "the transaction can only be aborted"
	case Fenced:
		return "the transactional producer is over"
	case Fatal:
		return "the transactional producer cannot go on"
	}
	return "no problem"
}
