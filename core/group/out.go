package group

import (
	"github.com/tamarack-mq/tamarack/core/ledger"
	"github.com/tamarack-mq/tamarack/core/record"
	"github.com/tamarack-mq/tamarack/core/verify"
)

// TopicView tells which topics there are. It is the broker's image of the
// cluster, read live: it must never go back to an older version.
type TopicView interface {
	ByName(name string) (id record.TopicID, partitions int32, ok bool)
	ByID(id record.TopicID) (name string, partitions int32, ok bool)
	// LeaderEpoch is that of a partition's last leader; NoLeaderEpoch: there is no such partition.
	LeaderEpoch(p record.PartitionID) record.LeaderEpoch
}

// Out gathers what one call wants done.
type Out struct {
	ledger.Out
	Verify   []verify.Question // Coordinator.Verified answers; of a Partition there is only the Index
	Resolved []Resolved
}

// What the ledger wants done.
type (
	Reply  = ledger.Reply
	Append = ledger.Append
	Load   = ledger.Load
	Trim   = ledger.Trim
)
