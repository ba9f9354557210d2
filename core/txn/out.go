package txn

import (
	"github.com/tamarack-mq/tamarack/core/ledger"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// View is the broker's image of the cluster, read live: it must never go back to
// an older version.
type View interface {
	// ByName finds a topic.
	ByName(name string) (id record.TopicID, partitions int32, ok bool)
	// Leader is who leads a partition; NoNode when it is offline, or not known.
	Leader(p record.PartitionID) message.NodeID
	// Gone says that the topic of a partition was deleted. What the image does not
	// know yet is not gone.
	Gone(p record.PartitionID) bool
}

// IDs gives out producer ids, each once in the life of the cluster.
type IDs interface {
	// Take returns a fresh one; false when there is none now: more are asked for,
	// and the client is to try again.
	Take() (record.ProducerID, bool)
}

// Out gathers what one call wants done.
type Out struct {
	ledger.Out
	Sends []Send
}

// Send is a message to another broker, or to this one. It may be lost.
type Send struct {
	To  message.NodeID
	Msg message.Message
}

// What the ledger wants done.
type (
	Reply  = ledger.Reply
	Append = ledger.Append
	Load   = ledger.Load
	Trim   = ledger.Trim
)
