package replica

import (
	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
	"github.com/tamarack-mq/tamarack/core/verify"
)

// PartitionState is what the metadata image says about one partition that is
// placed on this broker, or no longer is.
type PartitionState struct {
	ID record.PartitionID
	// Removed says that the partition is gone, or not placed here any more. No
	// other field but ID counts then.
	Removed        bool
	Config         message.TopicConfig
	Replicas       []message.NodeID // in assignment order; must not be changed later
	Adding         []message.NodeID // the last of them: those that a move brings; must not be changed later
	ISR            []message.NodeID // must not be changed later
	Leader         message.NodeID   // NoNode: offline
	LeaderEpoch    record.LeaderEpoch
	PartitionEpoch message.PartitionEpoch
}

func (s *PartitionState) minInsync() int {
	return s.Config.LeastInsync(len(s.Replicas) - len(s.Adding))
}

// BrokerState is what the metadata image says about one broker.
type BrokerState struct {
	Node  message.NodeID
	Epoch message.BrokerEpoch
	// Available says that the broker may join an ISR: it is neither fenced nor
	// shutting down.
	Available bool
}

// Out gathers what one step of a Manager wants done: effects, and what other
// rooms are to be told. The caller carries all of it away and empties it.
type Out struct {
	*effect.Out
	// Alter are ISR proposals for the controller. One without an outcome is
	// given out again after Config.AlterRetry.
	Alter []message.AlterISR
	// Local are the outcomes of LocalAppend, in the order of the offsets.
	Local []LocalResult
	// Verify asks transaction coordinators; Manager.Verified answers.
	Verify []verify.Question
	// Marked are the outcomes of WriteMarker.
	Marked []Marked
	// Replayed answers LocalRead.
	Replayed []Replay
	// Led tells which leaderships began and ended here, in order.
	Led []LeadershipChange
	// Damaged are logs that this broker leads and that a read has just shown to
	// be damaged. It must register again, naming Manager.Damaged, so that the
	// controller takes them out of the in-sync sets and lets others lead.
	Damaged []record.PartitionID
}

// Empty forgets all and keeps the memory.
func (o *Out) Empty() {
	o.Out.Empty()
	clear(o.Alter)
	clear(o.Replayed)
	clear(o.Verify)
	o.Alter, o.Local, o.Replayed = o.Alter[:0], o.Local[:0], o.Replayed[:0]
	o.Led, o.Damaged = o.Led[:0], o.Damaged[:0]
	o.Verify, o.Marked = o.Verify[:0], o.Marked[:0]
}

// LocalResult is the outcome of the LocalAppend with the same Ticket. Code is
// None once the batch is committed at Base. After NotLeaderOrFollower the batch
// may be in the log or not; other codes say that it was not appended.
type LocalResult struct {
	Ticket uint64
	Code   message.Code
	Base   record.Offset
}

// Replay answers one LocalRead with committed batches from where it asked.
type Replay struct {
	ID      record.PartitionID
	Epoch   record.LeaderEpoch
	Code    message.Code  // StorageError when the log cannot be read; else None
	Batches []byte        // whole batches; must not be changed; may be empty
	Next    record.Offset // where to read on
	// Anew says that the log start has moved over records that were still to be read.
	// What they had removed would not be heard of: all that was given before counts no
	// more. What still counts has been said again from the log start on.
	Anew bool
	// Done says that all that was committed when the read was made has been
	// given, which is never less than what the log held when the leadership
	// began.
	Done bool
}

// LeadershipChange says that this broker began or ended to lead a partition in
// an epoch. All local appends of an ended leadership have been answered.
type LeadershipChange struct {
	ID      record.PartitionID
	Epoch   record.LeaderEpoch
	Leading bool
}
