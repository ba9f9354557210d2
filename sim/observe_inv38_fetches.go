package sim

import (
	"cmp"
	"slices"

	"github.com/tamarack-mq/tamarack/core/message"
)

// modestFetches is INV-38 for what a node may be sent by its leaders: the fetches that
// are with them ask together for no more records than the node may have appended and not
// flushed. Each may also ask for one byte that there is no room for, so that it gets a
// batch in any case.
//
// A fetch counts until it is answered or its session is over, or for as long as the
// leader may hold it: after that the follower may have given it up without a word. One
// that asked under an earlier registration of the node does not count either: with the
// new one the node takes no answer to it.
type modestFetches struct {
	of [][]openFetch // by node
}

// openFetch is a fetch that may be with a leader.
type openFetch struct {
	leader            message.NodeID
	epoch             message.BrokerEpoch // of the node
	session, sequence uint64
	bytes             int64
	until             Span
}

// started: a run has asked for nothing.
func (f *modestFetches) started(w *World, n *Node) {
	if f.of == nil {
		f.of = make([][]openFetch, len(w.nodes))
	}
	f.of[n.id] = f.of[n.id][:0]
}

// answered takes note of an answer, and of the end of a session: by an error, or because
// the answer to an earlier fetch is missing.
func (f *modestFetches) answered(n *Node, from message.NodeID, m *message.ReplicaFetchReply) {
	f.of[n.id] = slices.DeleteFunc(f.of[n.id], func(o openFetch) bool {
		return o.leader == from && o.session == m.Session && (o.sequence <= uint64(m.Sequence) || m.Code != message.None)
	})
}

// sent judges a fetch. limit is how much the node may have appended and not flushed.
func (f *modestFetches) sent(w *World, n *Node, to message.NodeID, m *message.ReplicaFetch, limit int64) {
	open := slices.DeleteFunc(f.of[n.id], func(o openFetch) bool {
		return o.until <= w.now || o.epoch < m.BrokerEpoch || o.leader == to && o.session != m.Session
	})
	open = append(open, openFetch{to, m.BrokerEpoch, m.Session, uint64(m.Sequence), int64(m.MaxBytes), w.now + Span(m.MaxWait)})
	f.of[n.id] = open
	together := int64(0)
	for i := range open {
		together += open[i].bytes
	}
	if together > limit+int64(len(open)) {
		w.fail("INV-38", n.id, "leaders are asked for more than there is room for", "node %d has %d fetches with leaders, which ask for %d bytes together, and may have %d bytes that are not flushed", n.id, len(open), together, limit)
	}
}

// unflushedLimit is how much a node may have appended and not flushed.
func (w *World) unflushedLimit() int64 { return int64(cmp.Or(w.plan.Cluster.Unflushed, 64<<20)) }
