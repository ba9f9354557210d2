package group

import (
	"github.com/tamarack-mq/tamarack/core/ledger"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// RecordKind tells what a Record is about.
type RecordKind uint8

// Kinds of Record.
const (
	Stored  RecordKind = iota // a position is stored
	Pends                     // a position of a transaction that has not ended
	Fences                    // a producer's transactions up to an epoch have ended
	Another                   // anything else
)

// Record is one record of a shard's log as it tells the history of positions.
// What it sets is removed when Gone is true.
type Record struct {
	Kind      RecordKind
	Gone      bool
	Group     string             // but of Fences
	Partition record.PartitionID // but of Fences
	Offset    record.Offset      // but of Fences
	At        record.Timestamp   // wall time of the commit, but of Fences; a snapshot repeats it

	ID          record.ProducerID    // of Pends and Fences
	Epoch       record.ProducerEpoch // of Pends: the transaction's; of Fences: the one after it
	Coordinator record.LeaderEpoch   // of Fences

	// Whose commit it is; Number 0: of one that is not counted.
	Member      string
	MemberEpoch message.MemberEpoch
	Number      uint64
}

// EachRecord visits the records of whole batches of a shard's log, the marks of the
// ledger left out. For observers.
func EachRecord(batches []byte, visit func(at record.Offset, r Record)) error {
	return ledger.Each(batches, decode, func(at record.Offset, c change) { visit(at, c.told()) })
}

func (c change) told() Record {
	r := Record{Kind: Another, Gone: c.value == nil, Group: c.key.group, Partition: c.key.id, ID: c.key.producer}
	switch c.key.kind {
	case kindOffset:
		r.Kind = Stored
	case kindPending:
		r.Kind = Pends
	case kindProducer:
		r.Kind = Fences
	}
	switch v := c.value.(type) {
	case offsetValue:
		r.position(v)
	case pendingValue:
		r.Epoch = v.epoch
		r.position(v.position)
	case producerValue:
		r.Epoch, r.Coordinator = v.epoch, v.coordinator
	}
	return r
}

func (r *Record) position(v offsetValue) {
	r.Offset, r.At = v.offset, v.at
	r.Member, r.MemberEpoch, r.Number = v.by.member, v.by.epoch, v.by.number
}
