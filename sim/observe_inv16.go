package sim

import (
	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/pack"
)

// votes is INV-16: at most one vote for each voter and term, across crashes,
// and at most one leader in each term.
type votes struct {
	blind
	given   map[ballot]message.NodeID
	leaders map[uint64]int32
}

// ballot is one voter's say in one term.
type ballot struct {
	node int32
	term uint64
}

func (*votes) Invariant() string { return "INV-16" }

func (o *votes) Stepped(w *World, n *Node, _ effect.Input, out []effect.Effect) {
	for _, e := range out {
		send, ok := e.(effect.Send)
		if !ok {
			continue
		}
		q, ok := send.Msg.(*message.Quorum)
		if !ok {
			continue
		}
		m, ok := readRaft(q.Data)
		if !ok {
			continue
		}
		switch m.kind {
		case raftVoteReply:
			if !m.reject {
				o.voted(w, n, m.term, send.To)
			}
		case raftVote:
			o.voted(w, n, m.term, message.NodeID(n.id)) // a candidate votes for itself
		case raftAppend, raftHeartbeat, raftSnapshot:
			o.leads(w, n, m.term)
		}
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
	if before, ok := o.leaders[term]; ok && before != n.id {
		w.fail("INV-16", n.id, "two leaders in one term", "node %d leads the quorum in term %d, in which node %d led it", n.id, term, before)
		return
	}
	o.leaders[term] = n.id
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
	kind, term, index, commit uint64
	reject                    bool
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
	m.kind, m.term = r.Uint(), r.Uint()
	r.Uint() // the term of the entry before
	m.index, m.commit, m.reject = r.Uint(), r.Uint(), r.Bool()
	return m, r.Err() == nil
}
