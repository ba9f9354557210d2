package sim

import (
	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/record"
)

// mending is the part of INV-13 about how damage ends. A copy of which a read has found
// that it is damaged cannot tell what else is: nothing of it is kept, so the log begins
// anew. What recovery has found lies behind the end that it tells of, and a cut there
// takes it away, too. And nobody gives up what the controller still counts on: it may be
// the last copy, and may lead yet.
type mending struct {
	of []mendingNode
}

// mendingNode is one run of a node.
type mendingNode struct {
	recovered map[record.PartitionID]bool // its recovery found these damaged
	damaged   map[record.PartitionID]bool // these are, as it knows; true: a read has found it
}

// started takes in what a recovery has found.
func (m *mending) started(n *Node, found *effect.Recovered) {
	for int(n.id) >= len(m.of) {
		m.of = append(m.of, mendingNode{})
	}
	of := mendingNode{recovered: map[record.PartitionID]bool{}, damaged: map[record.PartitionID]bool{}}
	for i := range found.Logs {
		if l := &found.Logs[i]; l.Damage != "" {
			of.recovered[l.ID] = true
			of.damaged[l.ID] = false
		}
	}
	m.of[n.id] = of
}

// stepped judges the replicas of a node that a step has mended, or begun to.
func (m *mending) stepped(w *World, n *Node, out []effect.Effect) {
	if int(n.id) >= len(m.of) {
		return
	}
	of := &m.of[n.id]
	for _, r := range w.book.touched {
		id, v := r.part.id, &r.view
		byRead, known := of.damaged[id]
		switch {
		case v.Damage != "" && !known:
			of.damaged[id] = !of.recovered[id]
		case v.Damage == "" && known:
			delete(of.damaged, id)
			delete(of.recovered, id)
			m.ends(w, n, r, byRead, out)
		}
	}
}

// ends judges the step in which a copy counts as sound again.
func (m *mending) ends(w *World, n *Node, r *replicaBook, byRead bool, out []effect.Effect) {
	cut, anew := false, false
	for _, e := range out {
		switch e := e.(type) {
		case effect.DeleteLog:
			if e.Log == r.part.id {
				return // there is nothing left of it
			}
		case effect.Reset:
			anew = anew || e.Log == r.part.id
		case effect.Truncate:
			cut = cut || e.Log == r.part.id
		}
	}
	switch state := r.part.state; {
	case !anew && (byRead || !cut):
		w.fail("INV-13", n.id, "damage is kept", "node %d takes its copy of partition %s for sound again and has kept what was damaged", n.id, r.part.id)
	case state != nil && !r.part.off() && counted(state, n.id):
		w.fail("INV-13", n.id, "a copy that is counted on is given up", "node %d gives up what it has of partition %s, which is damaged, but is among those in sync (%v) or eligible (%v)", n.id, r.part.id, state.ISR, state.ELR)
	}
}
