package client

import (
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// Effect is something that the client wants done. A driver carries effects out
// in the order in which they were given.
type Effect interface{ isEffect() }

// Call sends a request to a node and brings its answer back as Answered, or as
// Failed. Calls to one node go over one connection, in order, and may be
// answered in any order. A driver sets no time limit to a call: the client
// keeps its own and ignores what comes later.
type Call struct {
	Call    uint64
	Node    message.NodeID // NoNode: whoever answers at Address (bootstrap)
	Address string
	Request message.Request
	// NoReply: the node will not answer (acks=0). The driver reports only a
	// failure to send, as Failed; it may leave even that out.
	NoReply bool
}

// Hangup gives up the connection to a node, because it left a call unanswered
// for too long. Other calls on it fail as Broken. The next Call makes a new
// connection.
type Hangup struct {
	Node    message.NodeID
	Address string
}

// Done is the result of an operation.
type Done struct {
	Op     Op
	Result Result
}

// EventKind tells what an Event is about.
type EventKind uint8

// The kinds of Event.
const (
	// Assigned: Partitions may be read from now on.
	Assigned EventKind = iota + 1
	// Revoking: Partitions must be given up; no record of them is delivered
	// from here on. The application finishes what it was given, commits, and
	// comes back with a Poll or Commit.
	Revoking
	// Revoked: Partitions were given up in good order.
	Revoked
	// Lost: Partitions were taken away: the member was fenced. What was not
	// committed will be given to another member.
	Lost
	// EpochChanged: the member has the epoch MemberEpoch now.
	EpochChanged
	// Truncated: the log no longer holds what was read from Partitions[0]
	// between To and From; the position is To now (an unclean election took
	// records back, KIP-320). With ResetNone the partition waits for a Seek.
	Truncated
	// Repositioned: the position From was not in the log any more, or there
	// was none; by the reset policy it is To now. From is NoOffset when there
	// was none.
	Repositioned
	// Stuck: Partitions[0] cannot be read and waits for a Seek. Err says why.
	Stuck
	// Expelled: the group does not take this member; Err says why. Polls fail
	// with it until the next Subscribe.
	Expelled
)

// Event tells the application what it did not ask for.
type Event struct {
	Kind        EventKind
	Group       string
	Partitions  []PlacedID
	MemberEpoch message.MemberEpoch
	From, To    record.Offset
	Err         *Error
}

// PlacedID is a partition by name and by id. Two topics that had the same name
// one after the other have different ids.
type PlacedID struct {
	Place
	ID record.PartitionID
}

func (Call) isEffect()   {}
func (Hangup) isEffect() {}
func (Done) isEffect()   {}
func (Event) isEffect()  {}

// Out gathers the effects of steps. A driver empties it in between.
type Out struct{ List []Effect }

// Add appends an effect.
func (o *Out) Add(e Effect) { o.List = append(o.List, e) }

// Empty forgets all effects and keeps the memory.
func (o *Out) Empty() {
	clear(o.List)
	o.List = o.List[:0]
}
