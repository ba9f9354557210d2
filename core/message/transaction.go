package message

import "github.com/tamarack-mq/tamarack/core/record"

// AbortedTransaction is one aborted transaction of a partition as a reader of
// committed records needs to know it: the records of the producer from First on,
// up to the producer's next abort marker, are to be skipped.
type AbortedTransaction struct {
	ID    record.ProducerID
	First record.Offset
}

// EndTransaction commits or aborts the transaction that a producer has open. It
// is answered as soon as the decision is committed: from then on the outcome is
// certain, though markers are still on their way. A repeated one gets the same
// answer. A commit that nothing was added to is refused with InvalidTxnState; an
// abort of nothing is granted.
type EndTransaction struct {
	TransactionalID string
	ID              record.ProducerID
	Epoch           record.ProducerEpoch
	Commit          bool
}

// EndTransactionReply tells the identity for the next transaction: each has an
// epoch of its own (KIP-890). The id is another one when the epochs of the old
// one are used up.
type EndTransactionReply struct {
	Code   Code
	Detail string
	ID     record.ProducerID
	Epoch  record.ProducerEpoch
}

// CommitTransactionOffsets stores positions of a group as part of a transaction
// (KIP-447): they hold when it commits. It goes to the group's coordinator, and
// is fenced by the member's epoch as well as by the producer's. Member, MemberEpoch
// and Number are as in CommitOffsets.
type CommitTransactionOffsets struct {
	TransactionalID string
	ID              record.ProducerID
	Epoch           record.ProducerEpoch
	Group           string
	Member          string
	MemberEpoch     MemberEpoch
	Offsets         []GroupOffset
	Number          uint64
}

// CommitTransactionOffsetsReply has one entry for each offset. They are taken together
// or not at all: when one cannot be, Code and Detail say why, its entry has the code as
// well, and those that were in order have OperationNotAttempted.
type CommitTransactionOffsetsReply struct {
	Code    Code
	Detail  string
	Offsets []CommittedOffset
}

// ListTransactions asks one broker for the transactional ids that it coordinates
// (KIP-664). It is answered as ListGroups is.
type ListTransactions struct{}

// ListTransactionsReply answers ListTransactions.
type ListTransactionsReply struct {
	Code         Code
	Transactions []TransactionListing
}

// TransactionListing is one transactional id.
type TransactionListing struct {
	TransactionalID string
	State           string // Empty, Ongoing, PrepareCommit, PrepareAbort, CompleteCommit, CompleteAbort
	ID              record.ProducerID
	Epoch           record.ProducerEpoch
}

// DescribeTransaction asks the coordinator for everything about a transactional
// id (KIP-664).
type DescribeTransaction struct{ TransactionalID string }

// DescribeTransactionReply is the state of a transactional id. Partitions are
// those of the transaction that is open, or whose markers are not all written.
type DescribeTransactionReply struct {
	Code            Code
	Detail          string
	TransactionalID string
	State           string
	ID              record.ProducerID
	Epoch           record.ProducerEpoch
	Timeout         Duration
	Started         record.Timestamp // wall time when it became Ongoing; -1: no transaction is open
	Partitions      []record.PartitionID
}

// AddToTransaction asks a transaction coordinator, before the first record of a
// transaction is written to a partition, to make that partition a part of it.
// The leader of the partition asks, or the coordinator of a group whose positions
// are to be stored; a client cannot (KIP-890). Answered by AddedToTransaction.
type AddToTransaction struct {
	BrokerEpoch     BrokerEpoch // of the asker's run; the answer tells it again
	Request         uint64      // made up by the asker
	TransactionalID string
	ID              record.ProducerID
	Epoch           record.ProducerEpoch
	Partitions      []record.PartitionID
}

// AddedToTransaction says with None that all the partitions are part of the
// transaction of exactly that producer and epoch, in what is committed.
type AddedToTransaction struct {
	BrokerEpoch BrokerEpoch
	Request     uint64
	Code        Code
	Others      []OtherAddition // answers to more questions of that broker, so that it can act on all at once
}

// OtherAddition is one answer more of an AddedToTransaction.
type OtherAddition struct {
	Request uint64
	Code    Code
}

// WriteMarkers is how a transaction coordinator has the end of a transaction
// written to the partitions that one broker leads. Epoch is one above that of the
// transaction, so that nothing of it can come behind the marker. Answered by
// WroteMarkers.
type WriteMarkers struct {
	BrokerEpoch      BrokerEpoch        // of the coordinator's run; the answer tells it again
	Request          uint64             // made up by the coordinator
	CoordinatorEpoch record.LeaderEpoch // of the coordinator's shard; an older coordinator is fenced
	ID               record.ProducerID
	Epoch            record.ProducerEpoch
	Commit           bool
	Partitions       []record.PartitionID
}

// WroteMarkers has one entry for each partition of the WriteMarkers.
type WroteMarkers struct {
	BrokerEpoch BrokerEpoch
	Request     uint64
	Results     []MarkerResult
}

// MarkerResult is the outcome for one partition: None says that a marker is
// committed there, by this request or by one before it.
type MarkerResult struct {
	ID   record.PartitionID
	Code Code
}

// failTransaction answers requests about transactions, or returns nil for others.
func failTransaction(r Request, code Code, detail string) Reply {
	switch r := r.(type) {
	case *EndTransaction:
		return &EndTransactionReply{Code: code, Detail: detail, ID: record.NoProducerID, Epoch: record.NoProducerEpoch}
	case *CommitTransactionOffsets:
		m := &CommitTransactionOffsetsReply{Code: code, Detail: detail, Offsets: make([]CommittedOffset, len(r.Offsets))}
		for i, o := range r.Offsets {
			m.Offsets[i] = CommittedOffset{ID: o.ID, Code: code}
		}
		return m
	case *ListTransactions:
		return &ListTransactionsReply{Code: code}
	case *DescribeTransaction:
		return &DescribeTransactionReply{
			Code: code, Detail: detail, TransactionalID: r.TransactionalID,
			ID: record.NoProducerID, Epoch: record.NoProducerEpoch, Started: -1,
		}
	}
	return nil
}

// Kind is KindEndTransaction.
func (*EndTransaction) Kind() Kind { return KindEndTransaction }

// Kind is KindEndTransactionReply.
func (*EndTransactionReply) Kind() Kind { return KindEndTransactionReply }

// Kind is KindCommitTransactionOffsets.
func (*CommitTransactionOffsets) Kind() Kind { return KindCommitTransactionOffsets }

// Kind is KindCommitTransactionOffsetsReply.
func (*CommitTransactionOffsetsReply) Kind() Kind { return KindCommitTransactionOffsetsReply }

// Kind is KindListTransactions.
func (*ListTransactions) Kind() Kind { return KindListTransactions }

// Kind is KindListTransactionsReply.
func (*ListTransactionsReply) Kind() Kind { return KindListTransactionsReply }

// Kind is KindDescribeTransaction.
func (*DescribeTransaction) Kind() Kind { return KindDescribeTransaction }

// Kind is KindDescribeTransactionReply.
func (*DescribeTransactionReply) Kind() Kind { return KindDescribeTransactionReply }

// Kind is KindAddToTransaction.
func (*AddToTransaction) Kind() Kind { return KindAddToTransaction }

// Kind is KindAddedToTransaction.
func (*AddedToTransaction) Kind() Kind { return KindAddedToTransaction }

// Kind is KindWriteMarkers.
func (*WriteMarkers) Kind() Kind { return KindWriteMarkers }

// Kind is KindWroteMarkers.
func (*WroteMarkers) Kind() Kind { return KindWroteMarkers }

func (*EndTransaction) isRequest()           {}
func (*CommitTransactionOffsets) isRequest() {}
func (*ListTransactions) isRequest()         {}
func (*DescribeTransaction) isRequest()      {}

func (*EndTransactionReply) isReply()           {}
func (*CommitTransactionOffsetsReply) isReply() {}
func (*ListTransactionsReply) isReply()         {}
func (*DescribeTransactionReply) isReply()      {}
