// Package effect is the door of a node's core: the closed lists of what comes
// in (Input) and of what goes out (Effect). The core decides, a driver acts:
// it carries the effects out in the order in which they were given and hands
// their completions back as inputs. Nothing may be promised to anybody before
// the completion that backs it has come in.
//
// Order that a driver owes: effects on one log, and effects on the quorum
// journal, take place in the order given. Sends to one node keep their order
// while a connection lives. Nothing else is ordered.
package effect

import (
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// Effect is something that the core wants done.
type Effect interface{ isEffect() }

// Send passes a message to another node. It may be lost.
type Send struct {
	To  message.NodeID
	Msg message.Message
}

// Reply answers the client request that came in with Token. A driver drops it
// when the client is gone.
type Reply struct {
	Token message.Token
	Msg   message.Reply
}

// CreateLog makes an empty log that starts at Start. The log must not exist.
type CreateLog struct {
	Log    record.PartitionID
	Cut    Cut // the count that holds from here on
	Start  record.Offset
	Config LogConfig
}

// LogConfig are the settings that storage needs.
type LogConfig struct {
	SegmentBytes int32 // roll to a new segment beyond this size; 0: the default
}

// ConfigureLog changes the settings of a log. A new segment size holds from the
// next time that a segment is rolled. Not answered. The next start may undo it: see
// RecoveredLog.Config.
type ConfigureLog struct {
	Log    record.PartitionID
	Config LogConfig
}

// DeleteLog removes a log and all it holds. Not answered.
type DeleteLog struct{ Log record.PartitionID }

// Append writes whole batches, stamped with their offsets and leader epoch, at
// the end of a log. Answered by Appended when the operating system has the
// bytes, or by DiskFailed. When there is no room the driver keeps it and tries again
// (see DiskSpace).
type Append struct {
	Log     record.PartitionID
	Cut     Cut
	Base    record.Offset // offset of the first record; the log's end before
	End     record.Offset // the log's end after
	Batches []byte
}

// Flush asks that all that was appended so far be made durable. Answered by
// Flushed; a driver answers several with one.
type Flush struct {
	Log record.PartitionID
	Cut Cut
}

// Cut counts the truncations of a log since it was opened. Completions carry
// it, so that one of an append before a truncation is never taken for one
// after it. A log that is made again after its deletion begins above all that
// the one before had.
type Cut uint32

// Truncate removes all records at and above To, durably, before anything that
// follows. Cut is the count that holds from here on. Not answered.
type Truncate struct {
	Log record.PartitionID
	Cut Cut
	To  record.Offset
}

// Reset empties a log and starts it anew at Start (a follower that fell behind
// the leader's log start). Not answered.
type Reset struct {
	Log   record.PartitionID
	Cut   Cut
	Start record.Offset
}

// TrimPrefix moves the log start to Start, durably. Whole segments below it
// may go. Not answered.
type TrimPrefix struct {
	Log   record.PartitionID
	Start record.Offset
}

// Checkpoint stores derived state beside a log, so that recovery need not read
// all of it. State is the core's (leader epochs and producers at offset At).
// Not answered; a lost one costs time, never truth.
type Checkpoint struct {
	Log           record.PartitionID
	At            record.Offset
	HighWatermark record.Offset
	State         []byte
}

// Read fetches whole batches for a reply. Answered by one ReadDone.
type Read struct {
	Token  uint64
	Slices []Slice
}

// Slice is one range of one log: from the batch that holds From, up to but
// without the batch that holds To, and at most MaxBytes, but at least one
// batch. From = To gives nothing.
type Slice struct {
	Log      record.PartitionID
	From, To record.Offset
	MaxBytes int32
}

// FindTime looks for the first record whose timestamp is at least At and whose
// offset is below To. Answered by one TimeFound.
type FindTime struct {
	Token uint64
	Log   record.PartitionID
	At    record.Timestamp
	To    record.Offset
}

// SaveQuorum appends one frame to the quorum journal and makes it durable.
// Answered by QuorumSaved.
type SaveQuorum struct {
	Seq   uint64
	Frame []byte
}

// ReplaceQuorum replaces the whole quorum journal by Frames, durably and all
// at once (after a snapshot). Answered by QuorumSaved.
type ReplaceQuorum struct {
	Seq    uint64
	Frames [][]byte
}

// Halt stops the node. With Clean set it ends a controlled shutdown: the driver
// flushes, marks the logs clean and exits. Else the core found a state that is
// impossible or a disk that it cannot trust; nothing may be sent any more.
type Halt struct {
	Clean  bool
	Reason string
}

func (Send) isEffect()          {}
func (Reply) isEffect()         {}
func (CreateLog) isEffect()     {}
func (ConfigureLog) isEffect()  {}
func (DeleteLog) isEffect()     {}
func (Append) isEffect()        {}
func (Flush) isEffect()         {}
func (Truncate) isEffect()      {}
func (Reset) isEffect()         {}
func (TrimPrefix) isEffect()    {}
func (Checkpoint) isEffect()    {}
func (Read) isEffect()          {}
func (FindTime) isEffect()      {}
func (SaveQuorum) isEffect()    {}
func (ReplaceQuorum) isEffect() {}
func (Halt) isEffect()          {}

// Out gathers the effects of one step. A driver hands the same Out to every
// step and empties it in between.
type Out struct{ List []Effect }

// Add appends an effect.
func (o *Out) Add(e Effect) { o.List = append(o.List, e) }

// Send appends a Send.
func (o *Out) Send(to message.NodeID, m message.Message) { o.Add(Send{to, m}) }

// Reply appends a Reply.
func (o *Out) Reply(t message.Token, m message.Reply) { o.Add(Reply{t, m}) }

// Empty forgets all effects and keeps the memory.
func (o *Out) Empty() {
	clear(o.List)
	o.List = o.List[:0]
}
