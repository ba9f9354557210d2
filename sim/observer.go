package sim

import (
	"math/bits"
	"time"

	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/quorum"
)

// Observer enforces one invariant over all nodes while a run goes on. It is
// told of the steps of all nodes (see Looks), of each right after it, before any effect
// of that step is carried out, and looks only at what the step could have changed: the
// world's book says which replicas that are.
type Observer interface {
	// Invariant is the name of what it enforces: "INV-5".
	Invariant() string
	// Started is called when a node has recovered and before its first step;
	// the book still holds what was known of its disk before.
	Started(w *World, n *Node, found *effect.Recovered)
	// Stepped is called after a node took in and gave out. An observer that has
	// nothing to see in most steps says so by a method Looks; whoever lets it look
	// at more brings that up to date.
	Stepped(w *World, n *Node, in effect.Input, out []effect.Effect)
	// Rested is called once, when the cluster has come to rest.
	Rested(w *World)
}

// blind is embedded by observers that do not look at everything.
type blind struct{}

func (blind) Started(*World, *Node, *effect.Recovered)             {}
func (blind) Stepped(*World, *Node, effect.Input, []effect.Effect) {}
func (blind) Rested(*World)                                        {}

// newObservers is the table of all judges over nodes, in the order in which
// they look: those that say what is committed come before those that build on
// it.
func newObservers() []Observer {
	return []Observer{
		&offsetsOnce{}, &replicaAgreement{}, &nothingCut{}, &soundHighWatermark{},
		&completeInSync{}, &singleLeaders{}, &decidedReads{}, &trueAnswers{},
		&exactRecovery{}, &derivedState{}, &damageSeen{}, &syncFirst{}, &cutsOnce{},
		&retentionBounds{}, &joinsAtStart{}, &toldOfTruncations{}, &votes{}, &commitRule{}, &heldEntries{}, &snapshotsOnce{}, &oneHistory{}, &oneOwner{}, &ownPositions{},
		&oneDecision{}, &trulyFenced{}, &betweenEnds{}, &oneOutcome{}, &pendingPositions{}, &lastingFences{}, &wholeTransactions{}, &openKept{}, &keptByLimits{},
		&staleInert{}, &membersThere{}, &epochsOnce{}, &lateBeats{}, &groupRefusals{}, &coordinatorReplay{}, &loadedStates{}, &committedOffsets{}, &sequences{}, &idleProducers{}, &boundedWork{},
		&safeMoves{}, &ownedLogs{}, &heldToThrottle{}, &toldAsCommitted{}, &settingsInForce{}, &quorumInForce{},
		&closedFiles{}, &shortJournals{}, &shortHistories{}, &countedCache{}, &memberDeadlines{}, &wokenInTime{}, &promptDecisions{}, &keptEligible{}, &goneInOrder{}, &quorumSnapshots{}, &shardSnapshots{}, &configurationsMeet{}, &stillLeads{},
	}
}

// observe lets the book look at a step, and then every observer that has
// something to see in it.
func (w *World) observe(n *Node, in effect.Input, out []effect.Effect) {
	took := w.options.checking
	if took == nil {
		w.check(n, in, out)
		return
	}
	switch w.stats.Steps % timedEvery {
	case 0:
		begun := time.Now()
		w.check(n, in, out)
		*took += ofStep(time.Since(begun))
		return
	case timedEvery / 2:
		*took -= ofClock()
	}
	w.check(n, in, out)
}

// check is observe without a clock.
func (w *World) check(n *Node, in effect.Input, out []effect.Effect) {
	w.quorum.known, w.quorum.read, w.quorum.heardRead = false, false, false
	asked := w.book.stepped(w, n, in, out)
	if w.witness != nil {
		w.witness.stood(n)
	}
	w.concerns = w.scopeOf(n, in, asked) | w.always
	for set := w.lookers.at(&w.looks, w.concerns); set != 0; set &= set - 1 {
		w.observers[bits.TrailingZeros64(set)].Stepped(w, n, in, out)
	}
}

// quorumOf is the view of a node's controller after the step at hand, for all that
// look at it. The node has one.
func (w *World) quorumOf(n *Node) *quorum.View {
	if q := &w.quorum; !q.known || q.node != n.id {
		q.known, q.node = true, n.id
		n.Core().Controller().QuorumInto(&q.view)
	}
	return &w.quorum.view
}

// quorumSeen is what quorumOf was told in the step at hand.
type quorumSeen struct {
	known bool
	node  int32
	view  quorum.View

	read bool // told is of the step at hand
	told []toldVoter

	heardRead bool // heard, and whether there is any, are of the step at hand
	heardAny  bool
	heard     raftMessage
}

// toldVoter is a message of the engine that a voter sends in a step.
type toldVoter struct {
	to message.NodeID
	raftMessage
}

// toldVoters are the messages of the engine in the step at hand, read once for all that
// look at them. The list is good until the next step.
func (w *World) toldVoters(out []effect.Effect) []toldVoter {
	q := &w.quorum
	if q.read {
		return q.told
	}
	q.read, q.told = true, q.told[:0]
	for _, e := range out {
		if send, ok := e.(effect.Send); ok {
			if m, ok := send.Msg.(*message.Quorum); ok {
				if r, ok := readRaft(m.Data); ok {
					q.told = append(q.told, toldVoter{send.To, r})
				}
			}
		}
	}
	return q.told
}

// heardVoter is the message of the engine that came in with the step at hand, if one did,
// read once for all that look at it.
func (w *World) heardVoter(in effect.Received) (m raftMessage, ok bool) {
	if q := &w.quorum; !q.heardRead {
		q.heardRead, q.heardAny = true, false
		if m, ok := in.Msg.(*message.Quorum); ok {
			q.heard, q.heardAny = readRaft(m.Data)
		}
	}
	return w.quorum.heard, w.quorum.heardAny
}

// nowAndThen is how often a judge looks that is too dear to look each time:
// after so many things that may concern it.
func (w *World) nowAndThen(often int) int {
	if w.plan.Strict {
		return 1
	}
	return often
}
