package ledger

import (
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// Out gathers what one call wants done. Within one shard, Appends are to be
// appended in the order given.
type Out struct {
	Replies []Reply
	Appends []Append
	Loads   []Load
	Trims   []Trim
	Halt    string // not empty: the coordinator found its own state impossible
}

// Reply answers the request that came with Token.
type Reply struct {
	Token message.Token
	Msg   message.Reply
}

// Append wants a batch appended to a shard's partition with acks=all,
// under leader epoch Epoch or not at all. Answered by one Wrote.
type Append struct {
	Shard  int32
	Epoch  record.LeaderEpoch
	Ticket uint64
	Batch  []byte
}

// Load wants a shard's partition read from its log start up to its high
// watermark, once that has reached the start of Epoch. Answered by Replayed.
type Load struct {
	Shard int32
	Epoch record.LeaderEpoch
}

// Trim says that replay needs no record below Before any more: the log start
// may move there. Not answered; a lost one is asked for again by the next
// leader.
type Trim struct {
	Shard  int32
	Epoch  record.LeaderEpoch
	Before record.Offset
}
