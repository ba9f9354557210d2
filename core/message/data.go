package message

import "github.com/tamarack-mq/tamarack/core/record"

// Produce appends record batches. Records of one partition are one batch in
// Kafka's format v2 as the producer built it: base offset 0, leader epoch -1.
type Produce struct {
	Acks       Acks
	Timeout    Duration // how long the leader may wait for the in-sync set
	Partitions []ProducePartition
	// TransactionalID is whose transaction the batches with the transactional
	// attribute belong to; empty: there are none.
	TransactionalID string
}

// ProducePartition is what one partition gets.
type ProducePartition struct {
	ID      record.PartitionID
	Records []byte `codec:"-"`
}

// ProduceReply has one entry for each entry of the Produce, in its order.
type ProduceReply struct{ Partitions []ProducedPartition }

// ProducedPartition says where the batch stands. On a duplicate the offset is
// that of the first append. Leader and LeaderEpoch are a hint when Code is
// NotLeaderOrFollower (KIP-951).
type ProducedPartition struct {
	ID          record.PartitionID
	Code        Code
	BaseOffset  record.Offset
	LogStart    record.Offset
	Leader      NodeID
	LeaderEpoch record.LeaderEpoch
}

// Isolation chooses what a consumer may see.
type Isolation int8

// Values of Isolation: up to the high watermark, or up to the last stable offset.
const (
	ReadUncommitted Isolation = 0
	ReadCommitted   Isolation = 1
)

// Fetch reads records as a consumer does. It is held back until MinBytes are
// there or MaxWait is over. MaxBytes bounds the reply, as the broker's own limit
// does; the last partition that is served gets a batch even beyond that.
type Fetch struct {
	MaxWait    Duration
	MinBytes   int32
	MaxBytes   int32
	Isolation  Isolation
	Partitions []FetchPartition
}

// FetchPartition asks for one partition from Offset on. LeaderEpoch fences
// (NoLeaderEpoch: not known); LastEpoch is the epoch of the record before
// Offset, by which the leader sees that histories parted (KIP-320).
type FetchPartition struct {
	ID          record.PartitionID
	LeaderEpoch record.LeaderEpoch
	Offset      record.Offset
	LastEpoch   record.LeaderEpoch
	MaxBytes    int32
}

// FetchReply has one entry for each entry of the Fetch, in its order.
type FetchReply struct{ Partitions []FetchedPartition }

// FetchedPartition carries whole batches. The first may begin below the offset
// that was asked for; the reader skips to it. Diverging is set when the
// reader's history and the leader's part: it tells the end of the last epoch
// that both have.
type FetchedPartition struct {
	ID            record.PartitionID
	Code          Code
	HighWatermark record.Offset
	LastStable    record.Offset
	LogStart      record.Offset
	Diverging     *EpochEnd
	Leader        NodeID
	LeaderEpoch   record.LeaderEpoch
	Records       []byte `codec:"-"`
	// Aborted comes with ReadCommitted: the aborted transactions that have records
	// in Records, by the offsets of their first ones.
	Aborted []AbortedTransaction
}

// EpochEnd is an epoch and the offset behind its last record.
type EpochEnd struct {
	Epoch record.LeaderEpoch
	End   record.Offset
}

// Timestamps with a meaning in ListOffsets.
const (
	Latest   record.Timestamp = -1
	Earliest record.Timestamp = -2
)

// ListOffsets asks for the first offset at or after a timestamp, for the log
// start (Earliest) or for the end of what may be read (Latest): the high watermark
// or, with ReadCommitted, the last stable offset. Times are looked for below that.
type ListOffsets struct {
	Partitions []ListOffsetsPartition
	Isolation  Isolation
}

// ListOffsetsPartition is the question for one partition.
type ListOffsetsPartition struct {
	ID          record.PartitionID
	LeaderEpoch record.LeaderEpoch
	Timestamp   record.Timestamp
}

// ListOffsetsReply has one entry for each entry of the request.
type ListOffsetsReply struct{ Partitions []ListedOffset }

// ListedOffset is the answer for one partition. When no record is that late,
// Offset is what Latest gives and Timestamp is -1.
type ListedOffset struct {
	ID          record.PartitionID
	Code        Code
	Offset      record.Offset
	Timestamp   record.Timestamp
	LeaderEpoch record.LeaderEpoch
}

// OffsetForLeaderEpoch asks where an epoch ends (KIP-320).
type OffsetForLeaderEpoch struct{ Partitions []EpochQuestion }

// EpochQuestion asks one partition for the end of Epoch.
type EpochQuestion struct {
	ID          record.PartitionID
	LeaderEpoch record.LeaderEpoch // the asker's view of the leadership; fences
	Epoch       record.LeaderEpoch
}

// OffsetForLeaderEpochReply has one entry for each entry of the request.
type OffsetForLeaderEpochReply struct{ Partitions []EpochAnswer }

// EpochAnswer gives the largest epoch that is not above the one asked for, and
// its end.
type EpochAnswer struct {
	ID    record.PartitionID
	Code  Code
	Epoch record.LeaderEpoch
	End   record.Offset
}

// DeleteRecords moves the log start of partitions up to an offset (-1: to the
// last stable offset). Beyond the last stable offset it is out of range: nothing
// is deleted that belongs to a transaction without an outcome.
type DeleteRecords struct{ Partitions []DeleteRecordsPartition }

// DeleteRecordsPartition names one partition and its new log start.
type DeleteRecordsPartition struct {
	ID     record.PartitionID
	Before record.Offset
}

// DeleteRecordsReply has one entry for each entry of the request.
type DeleteRecordsReply struct{ Partitions []DeletedRecords }

// DeletedRecords tells the log start of one partition.
type DeletedRecords struct {
	ID       record.PartitionID
	Code     Code
	LogStart record.Offset
}

// EachPayload visits the record bytes.
func (m *Produce) EachPayload(visit func(*[]byte)) {
	for i := range m.Partitions {
		visit(&m.Partitions[i].Records)
	}
}

// EachPayload visits the record bytes.
func (m *FetchReply) EachPayload(visit func(*[]byte)) {
	for i := range m.Partitions {
		visit(&m.Partitions[i].Records)
	}
}
