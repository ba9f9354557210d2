package sim

import (
	"slices"
	"strconv"
	"strings"

	"github.com/tamarack-mq/tamarack/core/group"
	"github.com/tamarack-mq/tamarack/core/log"
	"github.com/tamarack-mq/tamarack/core/metadata"
	"github.com/tamarack-mq/tamarack/core/record"
	"github.com/tamarack-mq/tamarack/core/replica"
)

// leftoverUnrest is the part of INV-34 about what is to go: logs that are placed
// elsewhere or whose topic is deleted, records beyond the limits of their topic,
// positions of deleted topics, and those of groups that have been empty for too
// long.
func (w *World) leftoverUnrest(add complain) {
	image := w.newest()
	for _, n := range w.nodes[1:] {
		c := n.Core()
		if c == nil || n.forGood {
			continue
		}
		for _, id := range c.Replicas().Partitions() {
			if p := image.Partition(id); p == nil || !slices.Contains(p.Replicas, n.node()) {
				add("a log is left", "node %d holds a log of partition %s, which is not placed there", n.id, id)
			}
		}
		w.keptUnrest(add, n, image)
	}
	for _, t := range image.Topics() {
		if r := log.RetentionOf(t.Config); !t.Config.Internal && (t.Config.RetentionBytes > 0 || t.Config.RetentionTime > 0) {
			for _, p := range t.Partitions {
				w.limitUnrest(add, t, w.book.part(p.ID), r)
			}
		}
	}
}

// keptUnrest looks at the positions that the shards of one node keep.
func (w *World) keptUnrest(add complain, n *Node, image *metadata.Image) {
	keep := w.plan.Timing.OffsetRetention
	now := n.clock.now(w.now).Wall
	n.Core().Groups().EachKept(func(_ int32, k group.Kept) bool {
		switch {
		case image.Topic(k.Partition.Topic) == nil:
			add("positions of a deleted topic are left", "node %d keeps one of group %q in partition %s", n.id, k.Group, k.Partition)
		case keep > 0 && k.Since >= 0 && Span(now-k.Since)*Millisecond > keep+w.clocksApart()+Second:
			add("positions are kept beyond their time", "node %d keeps one of group %q in partition %s, which nobody has used for %v", n.id, k.Group, k.Partition, Span(now-k.Since)*Millisecond)
		}
		return true
	})
}

// limitUnrest holds the log of a leader against the limits of its topic. They work
// by the chunk, so what is certain is no more than that the first chunk must go:
// how much that holds at most is known, and the latest record in so much of the
// log. Nothing goes from the first record on of a transaction that may stay open.
func (w *World) limitUnrest(add complain, t *metadata.Topic, p *partBook, limits log.Retention) {
	most, ok := w.largestChunk(t)
	if !ok || p.state == nil || p.off() || int(p.state.Leader) >= len(w.nodes) || p.state.Leader < 1 {
		return
	}
	r := w.book.replica(int32(p.state.Leader), p.id)
	n := w.nodes[p.state.Leader]
	stable := p.high
	if w.transacted && w.mayStayOpen(p) {
		if leader := w.replicaAt(p, p.state.Leader, &replica.View{}); leader != nil {
			stable = leader.LastStable
		}
	}
	var size, biggest int64
	latest, old := record.Timestamp(-1), false
	for i := range r.memory.batches {
		h := &r.memory.batches[i]
		if h.End() <= r.memory.start || h.End() > p.high {
			continue
		}
		if size <= most+biggest {
			if h.End() > stable {
				return
			}
			latest = max(latest, h.MaxTimestamp)
			old = true
		}
		size += int64(h.Size())
		biggest = max(biggest, int64(h.Size()))
	}
	if limits.Bytes > 0 && size > limits.Bytes+most+biggest {
		add("records beyond the size of their topic are left", "%d bytes of %d in %s", size, limits.Bytes, w.tellPartition(p.state))
	}
	begun := w.plan.Phases.Warm + w.plan.Phases.Faults + w.plan.Phases.Drain
	wall := n.clock.now(w.now).Wall - record.Timestamp((w.now-begun)/Millisecond)
	if old && limits.Age > 0 && latest+record.Timestamp(Span(limits.Age)/Millisecond) < wall {
		add("records beyond the time of their topic are left", "%v too long, in %s", Span(wall-latest)*Millisecond-Span(limits.Age), w.tellPartition(p.state))
	}
}

// largestChunk is how many bytes a chunk of a topic's logs may have before a batch
// is one too many, whatever became of the settings that the plan asks for; false:
// that is not known.
func (w *World) largestChunk(t *metadata.Topic) (int64, bool) {
	most := int64(t.Config.SegmentBytes)
	if most <= 0 || t.Name == chaosTopic {
		return 0, false
	}
	for i := range w.plan.Topics {
		if p := &w.plan.Topics[i]; p.Name == t.Name {
			most = max(most, int64(p.SegmentBytes))
		}
	}
	for i := range w.plan.Faults {
		f := &w.plan.Faults[i]
		if f.Kind != AlterTopic || f.Topic != t.Name {
			continue
		}
		for _, s := range f.Set {
			if keyOf(s) != "segment-bytes" {
				continue
			}
			kib, err := strconv.Atoi(strings.TrimSuffix(strings.TrimPrefix(s, "segment-bytes="), "KiB"))
			if err != nil {
				return 0, false // for a time it had the default
			}
			most = max(most, int64(kib)<<10)
		}
	}
	return most, true
}
