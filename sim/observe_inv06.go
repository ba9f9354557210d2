package sim

import (
	"slices"

	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
	"github.com/tamarack-mq/tamarack/core/replica"
)

// completeInSync is INV-6: every member of the controller's in-sync set, and of
// the eligible set, holds every committed record; the leader's replication set
// contains the controller's in-sync set; and (INV-1, seen from the nodes) a new
// leader has every committed record.
type completeInSync struct{ blind }

func (*completeInSync) Invariant() string { return "INV-6" }

func (*completeInSync) Looks() scope { return ofReplicas | ofImages }

func (o *completeInSync) Stepped(w *World, n *Node, _ effect.Input, _ []effect.Effect) {
	for _, c := range w.book.meta.changed {
		if c.part.adrift(c.new.LeaderEpoch) || c.part.high == 0 {
			continue
		}
		for _, m := range c.new.ISR {
			o.complete(w, c.part, m, "in-sync")
		}
		for _, m := range c.new.ELR {
			o.complete(w, c.part, m, "eligible")
		}
	}
	for _, r := range w.book.touched {
		v, p := &r.view, r.part
		if v.Role != replica.Leading || r.adrift() {
			continue
		}
		if r.was.role != replica.Leading || r.was.epoch != v.LeaderEpoch {
			o.elected(w, n, r)
		}
		if p.state == nil || p.state.LeaderEpoch != v.LeaderEpoch || p.state.PartitionEpoch > v.PartitionEpoch {
			continue
		}
		for _, m := range p.state.ISR {
			if !slices.Contains(v.MaximalISR, m) {
				w.fail("INV-6", n.id, "a leader leaves an in-sync member out", "node %d leads partition %s and does not wait for node %d, which is in the controller's in-sync set %v (its own is %v)", n.id, v.ID, m, p.state.ISR, v.MaximalISR)
				return
			}
		}
	}
}

// complete judges one member of a set.
func (o *completeInSync) complete(w *World, p *partBook, m message.NodeID, set string) {
	if !w.atlas.clean(int32(m), p.id) {
		return
	}
	r := p.at(int32(m))
	if r != nil && r.exists && r.durable >= p.high {
		return
	}
	end := "no log at all"
	if r != nil && r.exists {
		end = "flushed only up to " + itoa(int(r.durable))
	}
	w.fail("INV-6", int32(m), "an "+set+" member lacks committed records", "node %d is in the %s set of partition %s, which is committed up to %d, but has %s", m, set, p.id, p.high, end)
	w.aboutRecord(p.id, p.firstLacking(r))
}

// firstLacking is the first committed record that a replica has not flushed, of
// those that readers are still shown: what is below the log start is nobody's loss.
func (p *partBook) firstLacking(r *replicaBook) record.Offset {
	first := p.shownStart
	if r != nil && r.exists {
		first = max(first, r.durable)
	}
	return max(0, min(first, p.high-1))
}

// firstOther is where a log begins to be another one than was committed.
func (p *partBook) firstOther(l *logFacts) record.Offset {
	for i := range p.committed {
		c := &p.committed[i]
		if c.End() <= l.start {
			continue
		}
		at := l.from(c.BaseOffset)
		if len(at) == 0 || !sameBatch(c, &at[0]) {
			return c.BaseOffset
		}
	}
	return p.high
}

// elected judges a replica that has just begun to lead. One that learns so late
// of its leadership that another has followed on it is not judged: what was
// committed since came from later leaders.
func (o *completeInSync) elected(w *World, n *Node, r *replicaBook) {
	v, p := &r.view, r.part
	if p.state == nil || p.state.LeaderEpoch != v.LeaderEpoch {
		return
	}
	if v.End < p.high {
		w.fail("INV-1", n.id, "a new leader lacks committed records", "node %d leads partition %s in epoch %d with a log that ends at %d, but %d was committed", n.id, v.ID, v.LeaderEpoch, v.End, p.high)
		return
	}
	a, b := batchBefore(&r.memory, p.high), batchBefore(&logFacts{batches: p.committed}, p.high)
	if a != nil && b != nil && !sameBatch(a, b) {
		w.fail("INV-1", n.id, "a new leader has other records than were committed", "node %d leads partition %s in epoch %d with a batch of epoch %d at %d, where one of epoch %d at %d was committed", n.id, v.ID, v.LeaderEpoch, a.LeaderEpoch, a.BaseOffset, b.LeaderEpoch, b.BaseOffset)
		w.aboutRecord(v.ID, p.firstOther(&r.memory))
	}
}
