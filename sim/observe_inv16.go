package sim

import (
	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
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
	raftAppend    = 3
	raftVote      = 5
	raftVoteReply = 6
	raftSnapshot  = 7
	raftHeartbeat = 8
)

// raftMessage is the little that is read of a message of the consensus engine.
type raftMessage struct {
	kind, term, index, commit uint64
	reject                    bool
}

// readRaft reads the numbers at the top of an encoded raftpb.Message (protocol
// buffers, proto2) and skips the rest, without allocating.
func readRaft(b []byte) (m raftMessage, ok bool) {
	for len(b) > 0 {
		key, k := varint(b)
		if k == 0 {
			return m, false
		}
		b = b[k:]
		value, k := varint(b)
		if k == 0 {
			return m, false
		}
		b = b[k:]
		if key&7 == 2 { // bytes: value is their length
			if uint64(len(b)) < value {
				return m, false
			}
			b = b[value:]
			continue
		}
		if key&7 != 0 {
			return m, false
		}
		switch key >> 3 {
		case 1:
			m.kind = value
		case 4:
			m.term = value
		case 6:
			m.index = value
		case 8:
			m.commit = value
		case 10:
			m.reject = value != 0
		}
	}
	return m, true
}

func varint(b []byte) (v uint64, n int) {
	for i := 0; i < len(b) && i < 10; i++ {
		v |= uint64(b[i]&0x7f) << (7 * i)
		if b[i] < 0x80 {
			return v, i + 1
		}
	}
	return 0, 0
}
