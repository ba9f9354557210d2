package sim

import (
	"fmt"
	"math/bits"

	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
)

// scope says what a step was about. Most steps are about little, and most
// observers look at little: those that have nothing to see in a step are not
// called.
type scope uint32

const (
	ofReplicas scope = 1 << iota // replicas may have changed: book.touched
	ofMoves                      // what a replica is, or what is committed in it, changed: book.moved
	ofImages                     // an image moved, or a partition's state changed
	ofTicks                      // time went on, and replicas may have changed with it

	// What clients ask, and are answered: that which nobody looks at has no scope.
	ofProduces   // records come in
	ofProduced   // ... are answered
	ofFetched    // a fetch is answered, or a question about offsets
	ofDescribed  // what the cluster is
	ofBeats      // a heartbeat of a member of a group comes in
	ofBeaten     // ... is answered
	ofGroups     // a question about a group or its positions comes in
	ofGroupsTold // ... is answered
	ofIdentities // a question for a producer id comes in
	ofTurns      // ... is answered, or the end of a transaction
	ofDeletions  // records are to be deleted
	ofMoving     // partitions are to move
	ofSure       // what is answered only by who has made sure that it leads, and has no scope of its own; questions of other nodes, too

	// What nodes tell each other.
	ofSessions // what a broker and its controller say that names the broker's session came in; a question for producer ids, another in-sync set or what a client asks for, or the answer to a registration, goes out
	ofCopies   // a follower asks for records, says what it holds, or is answered
	ofWakes    // a message came in, of which one of wakesEvery counts
	ofQuorum   // the node's part in the quorum may have changed, or is told to another

	ofReads   // a read ended, or a search by time
	ofSaves   // a write of the quorum journal ended, or is asked for
	ofAppends // the node appends to a log
	ofCuts    // a log is made, deleted, truncated, reset or trimmed
	ofAny     // every step is of this
	scopes    = iota
)

// ofAsked, ofHeard and ofSent are the scopes of messages: of those between clients and a
// node, of those that a node gets from another, and of those that it sends to one.
var (
	ofAsked = ofKinds{
		message.KindProduce: ofProduces, message.KindProduceReply: ofProduced,
		message.KindFetchReply: ofFetched, message.KindListOffsetsReply: ofFetched, message.KindOffsetForLeaderEpochReply: ofFetched,
		message.KindMetadataReply:  ofDescribed,
		message.KindGroupHeartbeat: ofBeats, message.KindGroupHeartbeatReply: ofBeaten,
		message.KindCommitOffsets: ofGroups, message.KindCommitOffsetsReply: ofGroupsTold,
		message.KindCommitTransactionOffsets: ofGroups, message.KindCommitTransactionOffsetsReply: ofGroupsTold,
		message.KindFetchOffsets: ofGroups, message.KindFetchOffsetsReply: ofGroupsTold,
		message.KindDescribeGroup: ofGroups, message.KindDescribeGroupReply: ofGroupsTold,
		message.KindDeleteGroup: ofGroups, message.KindDeleteGroupReply: ofGroupsTold,
		message.KindDeleteOffsets: ofGroups, message.KindDeleteOffsetsReply: ofGroupsTold,
		message.KindInitProducerID: ofIdentities, message.KindInitProducerIDReply: ofTurns,
		message.KindEndTransactionReply: ofTurns,
		message.KindDeleteRecords:       ofDeletions,
		message.KindAlterReassignments:  ofMoving,
		message.KindListGroupsReply:     ofSure, message.KindListTransactionsReply: ofSure,
		message.KindDescribeTransactionReply: ofSure,
	}
	ofHeard = ofKinds{
		message.KindQuorum:          ofQuorum,
		message.KindBrokerHeartbeat: ofSessions, message.KindBrokerHeartbeatReply: ofSessions,
		message.KindAlterPartition: ofSessions, message.KindRegisterBrokerReply: ofSessions,
		message.KindAllocateProducerIDs: ofSessions, message.KindAllocateProducerIDsReply: ofSessions,
		message.KindReplicaFetchReply: ofCopies,
		message.KindAddToTransaction:  ofSure, message.KindForward: ofSure,
	}
	ofSent = ofKinds{
		message.KindQuorum:       ofQuorum,
		message.KindReplicaFetch: ofCopies, message.KindReplicaProgress: ofCopies,
		message.KindAllocateProducerIDs: ofSessions, message.KindAlterPartition: ofSessions, message.KindForward: ofSessions,
		message.KindRegisterBrokerReply: ofSessions,
		message.KindAddedToTransaction:  ofSure, message.KindForwarded: ofSure,
	}
)

// ofKinds are the scopes of messages, by kind.
type ofKinds [1 << 8]scope

// looker is an observer that does not look at every step: Looks names those
// that it must be told of. It may be told of others.
type looker interface{ Looks() scope }

// looks are the observers of each scope: a bit for each of them, by its place in
// their list.
type looks [scopes]uint64

// mostObservers is how many have a bit in looks.
const mostObservers = 64

// looksOf are those of a list of at most mostObservers. It panics when there are more:
// those behind them would have no bit, and never look.
func looksOf(observers []Observer) (l looks) {
	if len(observers) > mostObservers {
		panic(fmt.Sprintf("there are %d observers, and looks has bits for %d: make it wider", len(observers), mostObservers))
	}
	for i, o := range observers {
		of := ofAny
		if looker, ok := o.(looker); ok {
			of = looker.Looks()
		}
		for bit := range l {
			if of&(1<<bit) != 0 {
				l[bit] |= 1 << i
			}
		}
	}
	return l
}

// at are those who have something to see in a step.
func (l *looks) at(about scope) (set uint64) {
	for ; about != 0; about &= about - 1 {
		set |= l[bits.TrailingZeros32(uint32(about))]
	}
	return set
}

// lookers are the observers that have something to see in steps that are about the same
// things: few combinations of these come again and again. Where two of them share a
// place, the one that was met last has it.
type lookers [256]struct {
	about scope // ofAny is in each that was met
	set   uint64
}

// at is looks.at.
func (l *lookers) at(looks *looks, about scope) uint64 {
	one := &l[uint32(about)*0x9e3779b1>>24]
	if one.about != about {
		one.about, one.set = about, looks.at(about)
	}
	return one.set
}

// isAbout says whether the step at hand is about any of some things. An observer that
// looks at several passes over what cannot be in a step.
func (w *World) isAbout(any scope) bool { return w.concerns&any != 0 }

// scopeOf says what a step was about, once the book has taken it in; asked is what its
// effects say (see book.asked).
func (w *World) scopeOf(n *Node, in effect.Input, asked scope) scope {
	s := ofAny | asked
	switch in := in.(type) {
	case effect.Requested:
		s |= ofAsked[in.Msg.Kind()]
	case effect.Received:
		s |= ofHeard[in.Msg.Kind()]
		if w.stats.Steps%wakesEvery == 0 {
			s |= ofWakes
		}
	case effect.ReadDone, effect.TimeFound:
		s |= ofReads
	case effect.QuorumSaved:
		s |= ofSaves | ofQuorum
	case effect.Tick:
		if c := n.Core(); c != nil && c.Controller() != nil {
			s |= ofQuorum
		}
		if len(w.book.touched) > 0 {
			s |= ofTicks
		}
	}
	if len(w.book.touched) > 0 {
		s |= ofReplicas
	}
	if w.book.moved {
		s |= ofMoves
	}
	if m := &w.book.meta; len(m.changed) > 0 || m.at(n.id).moved {
		s |= ofImages
	}
	return s
}
