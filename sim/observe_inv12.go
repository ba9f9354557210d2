package sim

import (
	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/log"
	"github.com/tamarack-mq/tamarack/core/record"
	"github.com/tamarack-mq/tamarack/core/replica"
)

// derivedState is INV-12: epoch table, producer table and bounds equal what a
// fold over the log gives. It is checked after each load and each truncation,
// and after every so many appends. And of each record that a log holds it knows the
// leader epoch: who leads with a log that starts lower cannot tell a follower where
// their histories part.
type derivedState struct{ blind }

func (*derivedState) Invariant() string { return "INV-12" }

func (*derivedState) Looks() scope { return ofCuts | ofAppends }

// rebuildEvery is the number of appends to one replica between two rebuilds.
const rebuildEvery = 200

func (o *derivedState) Stepped(w *World, n *Node, _ effect.Input, out []effect.Effect) {
	for _, e := range out {
		switch e := e.(type) {
		case effect.Truncate:
			w.book.replica(n.id, e.Log).appends = rebuildEvery
		case effect.TrimPrefix:
			if c := n.Core(); c != nil {
				o.trimmed(w, n, w.book.replica(n.id, e.Log), e.Start, c.Replicas().Log(e.Log))
			}
		}
	}
	for _, r := range w.book.touched {
		if v := &r.view; v.Start != r.was.start || v.Role != r.was.role {
			if c := n.Core(); c != nil {
				if l := c.Replicas().Log(r.part.id); l != nil {
					o.known(w, n, r, l.Start(), l.End(), l.KnownFrom())
				}
			}
		}
		if r.appends >= w.nowAndThen(rebuildEvery) {
			r.appends = 0
			o.compare(w, n, r)
		}
	}
}

// trimmed judges that a log start that moves leaves the epoch of the record before it
// known: a reader and a follower that are there name it, and would be told that their
// history is another one. A rebuild forgets it in the same way, so the batches say it.
func (o *derivedState) trimmed(w *World, n *Node, r *replicaBook, start record.Offset, kept *log.Log) {
	gone := r.memory.from(start - 1)
	if kept == nil || kept.Start() != start || len(gone) == 0 || gone[0].BaseOffset >= start || r.forgetful || start <= r.revived {
		return
	}
	if epoch := gone[0].LeaderEpoch; kept.EndOf(epoch).Epoch != epoch {
		w.fail("INV-12", n.id, "the epoch before a log start is forgotten", "node %d moves the start of partition %s to %d, behind a record of epoch %d, and knows nothing of that epoch any more", n.id, r.part.id, start, epoch)
	}
}

func (o *derivedState) Rested(w *World) {
	for _, p := range w.book.list {
		for _, r := range p.replicas {
			if r != nil && w.nodes[r.node].up {
				o.compare(w, w.nodes[r.node], r)
			}
		}
	}
}

// known judges where the history of epochs begins in a log of some bounds.
func (o *derivedState) known(w *World, n *Node, r *replicaBook, start, end, from record.Offset) {
	if start == end || from <= start {
		return
	}
	w.fail("INV-12", n.id, "a log starts below the epochs that it knows", "the log of partition %s on node %d begins at %d, and node %d knows the leader epochs of its records only from %d on", r.part.id, n.id, start, n.id, from)
}

// compare rebuilds one log from its batches.
func (o *derivedState) compare(w *World, n *Node, r *replicaBook) {
	c := n.Core()
	if c == nil || w.failure != nil {
		return
	}
	o.judge(w, n, r, c.Replicas().Log(r.part.id))
}

func (o *derivedState) judge(w *World, n *Node, r *replicaBook, kept *log.Log) {
	batches := r.memory.batches
	if r.forgetful && !r.view.Matched && r.view.Role != replica.Leading {
		return // what it cannot know it is told when it begins anew
	}
	if kept == nil || kept.End() != r.memory.end {
		return
	}
	if kept.Start() < r.revived { // and the book has them no more, or in part
		batches = r.memory.from(r.revived)
		for len(batches) > 0 && batches[0].BaseOffset < r.revived {
			batches = batches[1:]
		}
	}
	if len(batches) == 0 {
		return
	}
	if r.view.Role == replica.Idle && kept.Start() > r.memory.start && kept.Start() == kept.KnownFrom() {
		return // recovery knew less, and the disk is told with the first role
	}
	if kept.Start() != r.memory.start {
		w.fail("INV-12", n.id, "derived state differs from a rebuild", "the log of partition %s on node %d begins at %d, and what node %d has derived from it at %d", r.part.id, n.id, r.memory.start, n.id, kept.Start())
		return
	}
	rebuilt, err := log.Rebuild(batches, kept.Start())
	if err != nil {
		w.fail("INV-12", n.id, "a log cannot be rebuilt from its batches", "the log of partition %s on node %d cannot be rebuilt: %v", r.part.id, n.id, err)
		return
	}
	if diff := kept.Differs(rebuilt, batches[0].BaseOffset); diff != "" {
		w.fail("INV-12", n.id, "derived state differs from a rebuild", "what node %d has derived from the log of partition %s is not what a rebuild gives: %s", n.id, r.part.id, diff)
	}
}
