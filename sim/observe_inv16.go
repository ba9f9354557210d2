package sim

import (
	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/pack"
	"github.com/tamarack-mq/tamarack/core/quorum"
)

// votes is INV-16: at most one vote for each voter and term, across crashes, and
// only for a candidate whose log is at least as new as the voter's: of a later
// term, or of the same and as long. At most one leader in each term.
type votes struct {
	blind
	given   map[ballot]message.NodeID
	decided map[ballot]bool // the voter has made up its mind
	leaders map[uint64]int32
}

// ballot is one voter's say in one term.
type ballot struct {
	node int32
	term uint64
}

func (*votes) Invariant() string { return "INV-16" }

func (*votes) Looks() scope { return ofQuorum }

func (o *votes) Stepped(w *World, n *Node, in effect.Input, out []effect.Effect) {
	if r, ok := in.(effect.Received); ok {
		o.heard(w, n, r)
	}
	for _, m := range w.toldVoters(out) {
		switch m.kind {
		case raftVoteReply:
			if !m.reject {
				o.voted(w, n, m.term, m.to)
			}
		case raftVote:
			o.voted(w, n, m.term, message.NodeID(n.id)) // a candidate votes for itself
		case raftAppend, raftHeartbeat, raftSnapshot:
			o.leads(w, n, m.term)
		}
	}
}

// heard looks at a voter that was asked for its vote just now.
func (o *votes) heard(w *World, n *Node, in effect.Received) {
	if m, ok := w.heardVoter(in); ok && m.kind == raftVote {
		if c := n.Core(); c != nil && c.Controller() != nil {
			o.asked(w, n, in.From, m, w.quorumOf(n))
		}
	}
}

// asked judges the vote that a candidate got by what it says of its log. A
// request that comes once more, when the voter has got entries of that leader,
// says nothing new.
func (o *votes) asked(w *World, n *Node, candidate message.NodeID, m raftMessage, v *quorum.View) {
	at := ballot{n.id, m.term}
	if uint64(v.Term) != m.term || v.Vote == message.NoNode || o.decided[at] {
		return
	}
	if o.decided == nil {
		o.decided = map[ballot]bool{}
	}
	o.decided[at] = true
	older := m.logTerm < uint64(v.LastTerm) || m.logTerm == uint64(v.LastTerm) && m.index < uint64(v.Last)
	if v.Vote == candidate && older {
		w.fail("INV-16", n.id, "a vote for a log that is older", "node %d votes in term %d for node %d, whose log ends at %d in term %d; its own ends at %d in term %d", n.id, m.term, candidate, m.index, m.logTerm, v.Last, v.LastTerm)
	}
}

func (o *votes) voted(w *World, n *Node, term uint64, candidate message.NodeID) {
	if o.given == nil {
		o.given = map[ballot]message.NodeID{}
	}
	at := ballot{n.id, term}
	if before, ok := o.given[at]; ok && before != candidate {
		w.fail("INV-16", n.id, "two votes in one term", "node %d votes for node %d in term %d, in which it voted for node %d", n.id, candidate, term, before)
		return
	}
	o.given[at] = candidate
}

func (o *votes) leads(w *World, n *Node, term uint64) {
	if o.leaders == nil {
		o.leaders = map[uint64]int32{}
	}
	before, ok := o.leaders[term]
	switch {
	case !ok:
		o.leaders[term] = n.id
	case before != n.id:
		w.fail("INV-16", n.id, "two leaders in one term", "node %d leads the quorum in term %d, in which node %d led it", n.id, term, before)
	}
}

// Kinds of raft messages that matter here, as raftpb numbers them.
const (
	raftAppend      = 3
	raftAppendReply = 4
	raftVote        = 5
	raftVoteReply   = 6
	raftSnapshot    = 7
	raftHeartbeat   = 8
)

// raftMessage is the little that is read of a message of the consensus engine.
type raftMessage struct {
	kind, term, logTerm, index, commit uint64
	reject                             bool
}

// quorumEngine marks those messages between voters that are the engine's.
const quorumEngine = 1

// readRaft reads the numbers at the head of a message of the engine, as
// core/quorum packs it.
func readRaft(b []byte) (m raftMessage, ok bool) {
	if len(b) == 0 || b[0] != quorumEngine {
		return m, false
	}
	r := pack.Read(b[1:])
	r.Uint() // the fingerprint of the cluster
	m.kind, m.term, m.logTerm = r.Uint(), r.Uint(), r.Uint()
	m.index, m.commit, m.reject = r.Uint(), r.Uint(), r.Bool()
	return m, r.Err() == nil
}
