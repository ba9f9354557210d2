package client

import (
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// Op names one operation of the application. The caller makes it up; its Done
// carries it. Every input with an Op is answered by exactly one Done.
type Op uint64

// AnyPartition leaves the choice of the partition to the partitioner.
const AnyPartition int32 = -1

// Input is something that happened to a client.
type Input interface{ isInput() }

// Publish sends one record. Key and value may be nil, which is not the same as
// empty. They, and the headers, must not change until the Done.
type Publish struct {
	Op        Op
	Topic     string
	Partition int32 // AnyPartition: by key, or sticky round robin without one
	Key       []byte
	Value     []byte
	Headers   []record.RecordHeader
	Timestamp record.Timestamp // 0: now
}

// FlushAll sends what lingers. It is done when every record that was published
// before it has its result.
type FlushAll struct{ Op Op }

// Begin begins a transaction of a producer with a transactional id. It is done when
// the coordinator has given an identity for it and the one before has ended. One is
// open at a time; every Publish up to its End belongs to it.
type Begin struct {
	Op      Op
	Timeout message.Duration // 0: AskTimeout
}

// AddOffsets commits positions of the group that this client reads for with the
// transaction that is open. Offsets are as in Commit. It needs AtLeastOnce without
// AutoCommit.
type AddOffsets struct {
	Op      Op
	Offsets []CommitOffset
}

// End ends the transaction that is open. A commit waits for the results of all that
// was published and added, and is refused with Abortable when any of it failed: then
// the transaction is still open, and only an abort ends it. An abort gives up what
// has no result yet, and calls off a Begin that waits, or a commit that nobody waits for
// any more: when the coordinator has been asked for that, both are Unknown. With Timeout
// (0: AskTimeout) over, the outcome is Unknown when the coordinator may have decided;
// the client goes on asking until it knows, and the next Begin waits for that. A
// transaction that nothing was sent for ends without its coordinator. What comes after
// an end is for Attempt to say.
type End struct {
	Op      Op
	Commit  bool
	Timeout message.Duration
}

// Rewind reads again from the group's committed positions on what was handed over
// and not committed: after a transaction that did not commit, or of which that is
// not known. Records that were handed over before must be forgotten.
type Rewind struct{ Op Op }

// Style is when a position is committed, seen from the processing of its
// records.
type Style uint8

// The styles of delivery.
const (
	// AtLeastOnce commits after processing: Commit covers what earlier Polls
	// returned. A crash in between repeats records and skips none.
	AtLeastOnce Style = iota
	// AtMostOnce commits positions before the records are handed over. A crash
	// in between skips records and repeats none.
	AtMostOnce
)

// Reset is where to begin when there is no position, or when the position is
// no longer in the log.
type Reset uint8

// The policies of Reset.
const (
	ResetEarliest Reset = iota
	ResetLatest
	// ResetNone stops the partition and tells the application (Stuck), which
	// must Seek.
	ResetNone
)

// Subscribe joins a group and reads the partitions that the coordinator gives
// this member. A client with a transactional id takes it over, as with Begin. A
// second Subscribe to the same group changes the topics. It is
// done at once; what is assigned comes as events.
type Subscribe struct {
	Op       Op
	Group    string
	Instance string // static member's name, unique in the group; empty: dynamic
	Topics   []string
	Style    Style
	Reset    Reset
	// AutoCommit commits by itself, from time to time, before partitions are
	// given up and at the end, what the application was given and has come
	// back from with another Poll, but nothing while a transaction is open, or was
	// aborted and nothing is rewound. Only for AtLeastOnce, and not with AddOffsets.
	AutoCommit bool
}

// Place is one partition as applications name it.
type Place struct {
	Topic     string
	Partition int32
}

// Position is where to begin in a partition: at Offset when Kind is AtOffset,
// at the first record that is not older than Timestamp when it is AtTime.
type Position struct {
	Kind      PositionKind
	Offset    record.Offset
	Timestamp record.Timestamp
}

// PositionKind tells how a Position is meant.
type PositionKind uint8

// The kinds of Position.
const (
	AtEarliest PositionKind = iota
	AtLatest
	AtOffset
	AtTime
	// AtCommitted is the group's committed position, or what the reset policy
	// says when there is none.
	AtCommitted
)

// Start is a partition to read and where to begin.
type Start struct {
	Place
	From Position
}

// Assign reads partitions without being a member of a group, in place of what
// was assigned before. With Group set, positions can be committed to that
// group from outside, which its coordinator refuses while it has members.
type Assign struct {
	Op         Op
	Partitions []Start
	Reset      Reset
	Group      string
	Style      Style
}

// Seek moves the position in one partition that is being read.
type Seek struct {
	Op Op
	Start
}

// Poll asks for up to Max records (0: the default). It is done as soon as
// there is one, or empty after Wait. Polls are answered in their order. To
// poll also says that everything given before has been processed. With
// AtMostOnce it is done when the positions are committed, which may be later
// than Wait.
type Poll struct {
	Op   Op
	Max  int
	Wait message.Duration
}

// Commit stores positions of the group. Offsets nil covers everything that
// Polls have returned. It is refused (Misused) from a Begin until its transaction is
// committed or a Rewind has come: an abort would find the records skipped.
type Commit struct {
	Op      Op
	Offsets []CommitOffset
}

// CommitOffset is a position to be stored: the offset of the next record to be
// processed, and the epoch of the record before it (NoLeaderEpoch: not known).
type CommitOffset struct {
	Place
	Offset      record.Offset
	LeaderEpoch record.LeaderEpoch
	Note        string
	// Stretch is that of the Delivery of the records before Offset: the position is
	// refused (NotOwned) if the partition was taken away since, even if it has come
	// back, or if its position was moved. 0: not checked.
	Stretch uint64
}

// Pause stops the delivery of partitions, which stay assigned. Nil: all.
type Pause struct {
	Op         Op
	Partitions []Place
}

// Resume ends a Pause. Nil: all.
type Resume struct {
	Op         Op
	Partitions []Place
}

// Positions asks for the next offset that the application will be given, for
// each partition being read. It is done at once.
type Positions struct{ Op Op }

// Committed asks the coordinator for the group's committed positions. Nil: of
// the partitions being read.
type Committed struct {
	Op         Op
	Partitions []Place
}

// Unsubscribe stops reading: it commits what AutoCommit covers, leaves the
// group and forgets all partitions. A static member keeps its partitions until
// its session runs out.
type Unsubscribe struct{ Op Op }

// Close sends what was published, unsubscribes and ends the client. Everything
// that comes later is refused with Closed.
type Close struct{ Op Op }

// Ask sends any request: administration, groups, raw data. It is retried while
// the answer is a retriable code and Timeout (0: the default) is not over.
type Ask struct {
	Op      Op
	Request message.Request
	Target  Target
	Timeout message.Duration
	Once    bool // never retried, whatever the answer is
}

// TargetKind tells how a Target is meant.
type TargetKind uint8

// The kinds of Target.
const (
	AnyBroker   TargetKind = iota
	EveryBroker            // one request to each registered broker that is not fenced
	Controller             // the active controller's node; any broker while it is not known
	Coordinator            // of Target.TransactionalID or, when that is empty, of Target.Group
	LeaderOf               // of Target.Place, or of Target.Partition when Topic is empty
	TheNode                // Target.Node
)

// Target says who should answer an Ask.
type Target struct {
	Kind      TargetKind
	Group     string
	Place     Place
	Partition record.PartitionID
	Node      message.NodeID
	// TransactionalID is for Coordinator.
	TransactionalID string
}

func (t Target) office() office {
	if t.TransactionalID != "" {
		return office{transactionalID: t.TransactionalID}
	}
	return office{group: t.Group}
}

// Answered brings the reply to a Call. A reply to a call that the client has
// given up is ignored.
type Answered struct {
	Call  uint64
	Reply message.Reply
}

// Reason is why a call has failed.
type Reason uint8

// The reasons.
const (
	// Unsent: the request was never handed to the network (no connection could
	// be made). It has certainly not taken effect.
	Unsent Reason = iota
	// Broken: the connection ended before the reply. The request may have
	// taken effect, or may still do so.
	Broken
)

// Failed says that a Call will not be answered.
type Failed struct {
	Call   uint64
	Reason Reason
}

// Tick says that time has passed.
type Tick struct{}

// Inputs are several inputs in one step. What they cause is sent once, at the
// end, so that many Publishes make one batch.
type Inputs []Input

func (Publish) isInput()     {}
func (FlushAll) isInput()    {}
func (Begin) isInput()       {}
func (AddOffsets) isInput()  {}
func (End) isInput()         {}
func (Rewind) isInput()      {}
func (Subscribe) isInput()   {}
func (Assign) isInput()      {}
func (Seek) isInput()        {}
func (Poll) isInput()        {}
func (Commit) isInput()      {}
func (Pause) isInput()       {}
func (Resume) isInput()      {}
func (Positions) isInput()   {}
func (Committed) isInput()   {}
func (Unsubscribe) isInput() {}
func (Close) isInput()       {}
func (Ask) isInput()         {}
func (Answered) isInput()    {}
func (Failed) isInput()      {}
func (Tick) isInput()        {}
func (Inputs) isInput()      {}
