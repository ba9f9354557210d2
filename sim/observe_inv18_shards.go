package sim

import (
	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/record"
)

// shardSnapshots is INV-18 for the logs of coordinators. A shard of an internal
// topic gives up the beginning of its log when a snapshot behind it says the same: what
// a replay from the new start gives equals the replay of everything that was
// ever committed.
//
// The observer has replayed everything before it goes, and goes on from there:
// it reads each record twice, from the disk of a node that still has it.
type shardSnapshots struct {
	blind
	shards map[record.PartitionID]*shardHistory
}

// shardHistory is the replay of all that a shard ever committed.
type shardHistory struct {
	era     int           // how many unclean elections have been settled
	start   record.Offset // the highest that a log of the shard begins at
	next    record.Offset // replayed so far
	state   folding
	unknown bool // records went, by damage, before they could be replayed
}

func (*shardSnapshots) Invariant() string { return "INV-18" }

func (*shardSnapshots) Looks() scope { return ofMoves }

func (o *shardSnapshots) Stepped(w *World, n *Node, _ effect.Input, _ []effect.Effect) {
	for _, r := range w.book.touched {
		if r.view.Start > r.was.start && w.newest() != nil {
			for i := range coordinators {
				if t := w.newest().TopicNamed(coordinators[i].topic); t != nil && t.ID == r.part.id.Topic {
					o.trimmed(w, n, r, &coordinators[i])
				}
			}
		}
	}
}

// trimmed judges a log start that rises: the disk still has what goes.
func (o *shardSnapshots) trimmed(w *World, n *Node, r *replicaBook, of *coordinating) {
	if o.shards == nil {
		o.shards = map[record.PartitionID]*shardHistory{}
	}
	if r.adrift() || r.part.open {
		return
	}
	h, era := o.shards[r.part.id], len(r.part.surrendered)
	if h == nil || h.era != era {
		h = &shardHistory{state: of.fold(), era: era}
		o.shards[r.part.id] = h
		if era > 0 { // from now on all is what its winner's log says
			h.start = r.part.surrendered[era-1].start
			h.next = h.start
		}
	}
	if r.view.Start <= h.start || h.unknown {
		return
	}
	h.start = r.view.Start
	from, upTo := min(h.next, h.start), r.part.high
	if upTo <= h.start {
		w.fail("INV-18", n.id, "a log of "+of.what+" is cut where no snapshot is", "the log of shard %s on node %d begins at %d from now on, but only what is below %d is committed", r.part.id, n.id, h.start, upTo)
		return
	}
	all, ok := o.read(w, n, r.part, from, upTo)
	if !ok {
		h.unknown = true
		return
	}
	o.judge(w, n, r.part.id, of, h, all)
}

// judge holds a replay from the start on against that of everything.
func (o *shardSnapshots) judge(w *World, n *Node, id record.PartitionID, of *coordinating, h *shardHistory, all []byte) {
	kept := of.fold()
	it := record.Batches(all)
	for it.Next() {
		var err error
		if it.Header.BaseOffset >= h.next {
			err = h.state.Take(it.Bytes)
			h.next = it.Header.End()
		}
		if err == nil && it.Header.End() > h.start {
			err = kept.Take(it.Bytes)
		}
		if err != nil {
			w.fail("INV-18", n.id, "a log of "+of.what+" cannot be replayed", "the log of shard %s on node %d cannot be replayed: %v", id, n.id, err)
			return
		}
	}
	if kept.Digest() != h.state.Digest() {
		w.fail("INV-18", n.id, "a log of "+of.what+" begins behind what it still needs", "what the log of shard %s on node %d says from offset %d on is not what all %d records of it say", id, n.id, h.start, h.next)
		return
	}
	w.mark(markShardSnapshotJudged)
}

// read gets committed records from a disk that has them all and counts: that of
// the node at hand, or another's.
func (o *shardSnapshots) read(w *World, n *Node, part *partBook, from, to record.Offset) ([]byte, bool) {
	for i := range part.replicas {
		id := (int(n.id) + i) % len(part.replicas)
		r := part.replicas[id]
		if r != nil && part.unclean && part.inCommon(&r.disk) < to {
			continue // it holds what was given up
		}
		if r == nil || !r.exists || r.disk.start > from || r.disk.end < to || !w.atlas.clean(r.node, part.id) || w.nodes[id].Core() == nil {
			continue
		}
		all := w.nodes[id].drive.all(part.id, from, to)
		end := from
		for it := record.Batches(all); it.Next(); {
			end = it.Header.End()
		}
		if end >= to {
			return all, true
		}
	}
	return nil, false
}
