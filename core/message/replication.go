package message

import "github.com/tamarack-mq/tamarack/core/record"

// ReplicaFetch is how a follower pulls from a leader. There is one session for
// each pair of brokers, over all partitions that one leads and the other
// follows (KIP-227): a fetch names only the partitions whose position changed
// since the one before it, and forgets those that left. The leader answers
// when any partition of the session has news, or when MaxWait is over.
type ReplicaFetch struct {
	BrokerEpoch BrokerEpoch // of the follower's run (KIP-903)
	Session     uint64      // made up by the follower; a new one holds everything
	Sequence    uint32      // 0 opens the session; then one more each time
	MaxWait     Duration
	MaxBytes    int32
	Partitions  []ReplicaFetchPartition
	Forget      []record.PartitionID
}

// ReplicaFetchPartition is the follower's position in one partition.
type ReplicaFetchPartition struct {
	ID          record.PartitionID
	LeaderEpoch record.LeaderEpoch // of the leadership that the follower follows
	Offset      record.Offset      // the follower's log end
	LastEpoch   record.LeaderEpoch // epoch of its last record; NoLeaderEpoch: it knows nothing below Offset, and is to be told (CarryOver)
	Flushed     record.Offset      // how far its log is on disk
	LogStart    record.Offset
	MaxBytes    int32 // of records, but for one batch; 0: as many as fit
}

// ReplicaFetchReply holds only partitions with news: records, a moved high
// watermark or log start, a divergence or an error.
type ReplicaFetchReply struct {
	BrokerEpoch BrokerEpoch // of the leader's run
	Session     uint64
	Sequence    uint32
	Code        Code // of the whole session
	Partitions  []ReplicaFetchedPartition
}

// ReplicaFetchedPartition is the news of one partition. LeaderEpoch is the
// leadership that speaks; a follower of another one ignores it.
type ReplicaFetchedPartition struct {
	ID            record.PartitionID
	Code          Code
	LeaderEpoch   record.LeaderEpoch
	HighWatermark record.Offset
	LogStart      record.Offset
	Diverging     *EpochEnd
	// CarryOver comes with Diverging and with OffsetOutOfRange, which may make
	// the follower start anew at LogStart: what the leader knows of the records
	// below it. Its form is the leader's log's own.
	CarryOver []byte
	Records   []byte `codec:"-"`
}

// ReplicaProgress tells a leader, without waiting for the pending fetch to be
// answered, how far a follower has flushed. It is not answered.
type ReplicaProgress struct {
	BrokerEpoch BrokerEpoch
	Partitions  []ReplicaFlushed
}

// ReplicaFlushed is the progress of one partition.
type ReplicaFlushed struct {
	ID          record.PartitionID
	LeaderEpoch record.LeaderEpoch
	Flushed     record.Offset
}

// EachPayload visits the record bytes.
func (m *ReplicaFetchReply) EachPayload(visit func(*[]byte)) {
	for i := range m.Partitions {
		visit(&m.Partitions[i].Records)
	}
}
