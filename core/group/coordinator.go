// Package group is the group coordinator: members, epochs, assignment and
// committed offsets of the consumer groups whose shard this broker leads. It
// reconciles on the server's side, in the manner of KIP-848.
//
// A shard is one partition of the internal topic TopicName. Its state is the
// fold of the records in that partition and of nothing else: a handler decides
// by writing changes, each change is applied to the state by state.apply and
// becomes one record, and replay feeds the same records to the same apply.
//
// # Pending state
//
// Changes are applied when they are decided, before their records are
// committed, so that the next request is decided against everything that is
// already on its way into the log; the log keeps their order. What makes this
// safe is that nobody outside sees it: every reply, also of a read and also an
// error, waits in the shard's queue behind the last append that was pending
// when it was made. When an append fails, the memory may be ahead of the log
// or behind it (the records may yet commit): the shard answers NotCoordinator
// to all who wait, drops its memory whole, appends a barrier record until one
// commits (from then on nothing written before it is undecided), and replays.
// The other ways were to hold requests back until the one before is committed
// (one request a round trip and shard) or to keep versions of every map to
// roll back to (Kafka's timeline structures); failed appends are rare enough
// to pay with a replay.
//
// # Epochs
//
// All epochs of a group come from one counter that only rises, also over the
// deletion of the group. Every change of what a member may own draws a new
// member epoch, so a member epoch names exactly one assignment of one member:
// a late or repeated heartbeat can never confirm what it has not seen.
package group

import (
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// TopicName is the internal topic whose partitions hold the groups.
const TopicName = "__consumer_offsets"

// Config bounds what groups may do. Zero fields mean the default.
type Config struct {
	SessionTimeout      message.Duration // for members that name none; 45 s
	MinSessionTimeout   message.Duration // 1 s
	MaxSessionTimeout   message.Duration // 30 min
	RebalanceTimeout    message.Duration // for members that name none; 5 min
	HeartbeatInterval   message.Duration // told to members; 5 s, never above a third of the session
	MaxMembers          int              // members of one group; 1000
	MaxNote             int              // bytes of GroupOffset.Note; 4096
	OffsetRetention     message.Duration // life of the offsets of an empty group; 7 days
	EmptyGroupRetention message.Duration // life of an empty group without offsets; 1 h
	MaxBatchBytes       int              // bytes of one appended batch; 512 KiB
	MaxWaiting          int              // replies that wait for one shard's appends; 10000
	SnapshotMinimum     int              // records in a log before a snapshot is worth it; 10000
	SnapshotFactor      int              // ... and this many records per live key; 4
	RetryBackoff        message.Duration // between attempts to append after a failed one; 100 ms
}

// TopicView tells which topics there are. It is the broker's image of the
// cluster, read live: it must never go back to an older version.
type TopicView interface {
	ByName(name string) (id record.TopicID, partitions int32, ok bool)
	ByID(id record.TopicID) (name string, partitions int32, ok bool)
}

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

// Empty forgets everything and keeps the memory.
func (o *Out) Empty() {
	clear(o.Replies)
	clear(o.Appends)
	*o = Out{Replies: o.Replies[:0], Appends: o.Appends[:0], Loads: o.Loads[:0], Trims: o.Trims[:0]}
}

// Coordinator holds all shards that this broker leads.
type Coordinator struct{ cfg Config }

// New returns a coordinator that leads nothing. It needs no randomness.
func New(cfg Config) *Coordinator { return &Coordinator{cfg: cfg} }

// Lead starts the leadership of a shard in an epoch: it is loaded before it
// serves. Ignored unless epoch is higher than any that was led or resigned.
func (c *Coordinator) Lead(now message.Now, shard int32, epoch record.LeaderEpoch, out *Out) {
	panic("not built yet")
}

// Resign ends the leadership of a shard in every epoch up to epoch, forgets
// its state and answers NotCoordinator to those who wait.
func (c *Coordinator) Resign(now message.Now, shard int32, epoch record.LeaderEpoch, out *Out) {
	panic("not built yet")
}

// Replayed hands over the next committed batches of a Load, in order from the
// log start; done says that these were the last, and the shard begins to serve.
// The batches may be changed after the call.
func (c *Coordinator) Replayed(now message.Now, shard int32, epoch record.LeaderEpoch, batches []byte, done bool, out *Out) {
	panic("not built yet")
}

// Wrote completes the Append of a ticket: code None says that it is committed
// with its first record at base.
func (c *Coordinator) Wrote(now message.Now, ticket uint64, code message.Code, base record.Offset, out *Out) {
	panic("not built yet")
}

// Request handles a client's GroupHeartbeat, CommitOffsets, FetchOffsets,
// ListGroups, DescribeGroup, DeleteGroup or DeleteOffsets. It is answered
// exactly once, now or in a later call. (FindCoordinator is not handled here.)
func (c *Coordinator) Request(now message.Now, token message.Token, m message.Request, out *Out) {
	panic("not built yet")
}

// Topics says that the topics in changed were made, grown or deleted, as view
// shows. With changed nil everything is looked at. It must be called once with
// the broker's image before the first Lead, and then for each change before
// any Lead that comes from the same or a later version.
func (c *Coordinator) Topics(now message.Now, view TopicView, changed []record.TopicID, out *Out) {
	panic("not built yet")
}

// Tick lets deadlines pass.
func (c *Coordinator) Tick(now message.Now, out *Out) { panic("not built yet") }

// Wake is when the next Tick is wanted; message.Never when nothing waits.
func (c *Coordinator) Wake() message.Time { panic("not built yet") }
