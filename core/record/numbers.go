package record

import "strconv"

// Offset is the position of a record in its partition: the first record has
// offset 0, and each record has the offset of the one before it plus one.
type Offset int64

// LeaderEpoch numbers the leaderships of one partition. The controller gives
// each leadership a higher epoch than all before it and never reuses one.
// NoLeaderEpoch stands where none is known.
type LeaderEpoch int32

// NoLeaderEpoch is what an empty log reports as its last epoch.
const NoLeaderEpoch LeaderEpoch = -1

// ProducerID names one idempotent producer. NoProducerID marks batches of
// producers that asked for no idempotence.
type ProducerID int64

// NoProducerID is the producer id of a batch without idempotence.
const NoProducerID ProducerID = -1

// ProducerEpoch fences earlier incarnations of one ProducerID.
type ProducerEpoch int16

// NoProducerEpoch is the producer epoch of a batch without idempotence.
const NoProducerEpoch ProducerEpoch = -1

// Sequence counts the records of one (ProducerID, ProducerEpoch) in one
// partition, from 0. It wraps from 2^31-1 to 0, as in Kafka.
type Sequence int32

// NoSequence is the base sequence of a batch without idempotence.
const NoSequence Sequence = -1

// Timestamp is a wall-clock time in milliseconds since the Unix epoch, as it
// stands in record batches.
type Timestamp int64

// TopicID names a topic for ever: a topic made again under the same name gets
// another one. It is the version of the metadata that created the topic.
type TopicID uint64

// PartitionID names one partition, and the log that holds a replica of it.
type PartitionID struct {
	Topic TopicID
	Index int32
}

// String prints the id as topic/index.
func (p PartitionID) String() string {
	return strconv.FormatUint(uint64(p.Topic), 10) + "/" + strconv.FormatInt(int64(p.Index), 10)
}

// Compare orders partitions by topic, then by index.
func (p PartitionID) Compare(q PartitionID) int {
	switch {
	case p.Topic < q.Topic:
		return -1
	case p.Topic > q.Topic:
		return 1
	case p.Index < q.Index:
		return -1
	case p.Index > q.Index:
		return 1
	}
	return 0
}
