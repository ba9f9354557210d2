package sim

import (
	"math/bits"

	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
)

// scope says what a step was about. Most steps are about little, and most
// observers look at little: those that have nothing to see in a step are not
// called.
type scope uint16

const (
	ofReplicas scope = 1 << iota // replicas may have changed: book.touched
	ofMoves                      // what a replica is, or what is committed in it, changed: book.moved
	ofImages                     // an image moved, or a partition's state changed
	ofRequests                   // a client's request came in
	ofMessages                   // a node's message came in
	ofReads                      // a read ended
	ofSaves                      // a write of the quorum journal ended, or is asked for
	ofSends                      // the node sends to another
	ofReplies                    // the node answers a client
	ofAppends                    // the node appends to a log
	ofCuts                       // a log is made, deleted, truncated, reset or trimmed
	ofQuorum                     // the node's part in the quorum may have changed, or is told to another
	ofAny                        // every step is of this
	scopes     = iota
)

// looker is an observer that does not look at every step: Looks names those
// that it must be told of. It may be told of others.
type looker interface{ Looks() scope }

// looks are the observers of each scope: a bit for each of them, by its place in
// their list.
type looks [scopes]uint64

// looksOf are those of a list of at most 64 observers.
func looksOf(observers []Observer) (l looks) {
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
		set |= l[bits.TrailingZeros16(uint16(about))]
	}
	return set
}

// scopeOf says what a step was about, once the book has taken it in.
func (w *World) scopeOf(n *Node, in effect.Input, out []effect.Effect) scope {
	s := ofAny
	switch in := in.(type) {
	case effect.Requested:
		s |= ofRequests
	case effect.Received:
		s |= ofMessages
		if _, ok := in.Msg.(*message.Quorum); ok {
			s |= ofQuorum
		}
	case effect.ReadDone:
		s |= ofReads
	case effect.QuorumSaved:
		s |= ofSaves | ofQuorum
	case effect.Tick:
		s |= ofQuorum
	}
	for _, e := range out {
		switch e := e.(type) {
		case effect.Send:
			s |= ofSends
			if _, ok := e.Msg.(*message.Quorum); ok {
				s |= ofQuorum
			}
		case effect.Reply:
			s |= ofReplies
		case effect.Append:
			s |= ofAppends
		case effect.SaveQuorum, effect.ReplaceQuorum:
			s |= ofSaves | ofQuorum
		case effect.CreateLog, effect.DeleteLog, effect.Truncate, effect.Reset, effect.TrimPrefix:
			s |= ofCuts
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

func (*offsetsOnce) Looks() scope        { return ofAppends }
func (*replicaAgreement) Looks() scope   { return ofAppends | ofCuts | ofMoves }
func (*nothingCut) Looks() scope         { return ofCuts }
func (*soundHighWatermark) Looks() scope { return ofCuts | ofMoves | ofImages }
func (*completeInSync) Looks() scope     { return ofReplicas | ofImages }
func (*singleLeaders) Looks() scope      { return ofMoves | ofImages }
func (*decidedReads) Looks() scope       { return ofReplies }
func (*trueAnswers) Looks() scope        { return ofReplies }
func (*trulyFenced) Looks() scope        { return ofReplies }
func (*exactRecovery) Looks() scope      { return 0 }
func (*closedFiles) Looks() scope        { return 0 }
func (*derivedState) Looks() scope       { return ofCuts | ofAppends }
func (*damageSeen) Looks() scope         { return ofReads | ofReplies | ofMoves }
func (*syncFirst) Looks() scope          { return ofSaves | ofSends | ofReplies }
func (*retentionBounds) Looks() scope    { return ofCuts | ofMoves | ofImages }
func (*toldOfTruncations) Looks() scope  { return ofReplies }
func (*votes) Looks() scope              { return ofQuorum }
func (*commitRule) Looks() scope         { return ofImages }
func (*oneHistory) Looks() scope         { return ofImages }
func (*oneOwner) Looks() scope           { return ofRequests | ofReplies }
func (*coordinatorReplay) Looks() scope  { return ofReplies }
func (*committedOffsets) Looks() scope   { return ofMoves | ofRequests | ofReplies }
func (*sequences) Looks() scope          { return ofRequests | ofReplies | ofMoves }
func (*idleProducers) Looks() scope      { return ofReplicas | ofReplies }
func (*staleInert) Looks() scope         { return ofRequests | ofMessages | ofReplies | ofQuorum }
func (*safeMoves) Looks() scope          { return ofImages }
func (*ownedLogs) Looks() scope          { return ofImages | ofCuts }
