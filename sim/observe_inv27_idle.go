package sim

import (
	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/log"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/order"
	"github.com/tamarack-mq/tamarack/core/record"
)

// idleProducers is INV-27 for producers that expire: no replica forgets one before
// it has been silent for the plan's time, whatever the replica went through, and
// each forgets those that were silent for twice as long. (It counts on its own
// clock, which may be off, and looks a few times in that time.)
type idleProducers struct{ blind }

func (*idleProducers) Invariant() string { return "INV-27" }

func (*idleProducers) Looks() scope { return ofMoves | ofTicks | ofProduced }

// heardOf is what a replica has been told by whom, and when, in this run of its
// node.
type heardOf struct {
	since Span // of the run, or of when the log was last cut
	last  map[record.ProducerID]heard
}

// heard is the last batch of a producer.
type heard struct {
	at      Span
	end     record.Offset
	decided Span // when the replica learned that it is committed
}

// hears notes who has appended.
func (r *replicaBook) hears(w *World, batches []byte) {
	if w.plan.Timing.ProducerIdle == 0 {
		return
	}
	for it := record.Batches(batches); it.Next(); {
		if id := it.Header.ProducerID; id >= 0 { // markers too: they are about a producer
			if r.heard.last == nil {
				r.heard.last = map[record.ProducerID]heard{}
			}
			r.revives(w, &it.Header)
			r.heard.last[id] = heard{at: w.now, end: it.Header.End()}
		}
	}
}

// revives notes a marker that a leader may have written because it had forgotten its
// producer, and with it that it had written one before. Such a repeat ends nothing.
func (r *replicaBook) revives(w *World, h *record.Header) {
	at := link{h.LeaderEpoch, h.BaseOffset}
	if r.part.links.at(at) != nil || !h.Attributes.Control() {
		return
	}
	if last, heard := r.heard.last[h.ProducerID]; !heard || w.now-last.at >= w.plan.Timing.ProducerIdle*4/5 {
		if r.part.revived == nil {
			r.part.revived = map[link]bool{}
		}
		r.part.revived[at] = true
	}
}

// decides notes whose last batches the replica has just learned to be committed.
func (r *replicaBook) decides(w *World) {
	for id, h := range r.heard.last {
		if h.end > r.was.high && h.end <= r.view.HighWatermark {
			h.decided = w.now
			r.heard.last[id] = h
		}
	}
}

// deaf forgets that: what was heard may have been cut away.
func (r *replicaBook) deaf(w *World) { r.heard = heardOf{since: w.now} }

func (o *idleProducers) Stepped(w *World, n *Node, in effect.Input, out []effect.Effect) {
	if w.plan.Timing.ProducerIdle == 0 {
		return
	}
	_, tick := in.(effect.Tick)
	for _, r := range w.book.touched {
		if r.view.HighWatermark > r.was.high {
			r.decides(w)
		}
		if tick {
			o.kept(w, n, r)
		}
	}
	for _, e := range out {
		if m, ok := produceReply(e); ok {
			for i := range m.Partitions {
				if m.Partitions[i].Code == message.UnknownProducerID {
					w.mark(markProducerUnknown)
				}
			}
		}
	}
}

func produceReply(e effect.Effect) (*message.ProduceReply, bool) {
	if r, ok := e.(effect.Reply); ok {
		m, ok := r.Msg.(*message.ProduceReply)
		return m, ok
	}
	return nil, false
}

// kept says that a replica knows all that were heard of lately.
func (o *idleProducers) kept(w *World, n *Node, r *replicaBook) {
	c := n.Core()
	if c == nil || len(r.heard.last) == 0 || r.part.off() {
		return
	}
	if l := c.Replicas().Log(r.part.id); l != nil {
		o.judge(w, n, r, l)
	}
}

func (*idleProducers) judge(w *World, n *Node, r *replicaBook, l *log.Log) {
	idle := w.plan.Timing.ProducerIdle
	for _, id := range order.Keys(r.heard.last) {
		last := r.heard.last[id].at
		switch known := l.Knows(id); {
		case !known && w.now-last < idle*4/5:
			w.fail("INV-27", n.id, "a producer is forgotten that is not idle", "node %d has forgotten producer %d in partition %s, which appended %v ago; the time is %v", n.id, id, r.part.id, w.now-last, idle)
			return
		case !known:
			w.mark(markProducerForgotten)
			delete(r.heard.last, id)
		}
	}
}

func (o *idleProducers) Rested(w *World) {
	idle := w.plan.Timing.ProducerIdle
	if idle == 0 {
		return
	}
	for _, p := range w.book.list {
		for _, r := range p.replicas {
			if r == nil || !w.nodes[r.node].up || w.nodes[r.node].Core() == nil {
				continue
			}
			n := w.nodes[r.node]
			o.kept(w, n, r)
			if l := n.Core().Replicas().Log(p.id); l != nil && w.failure == nil {
				o.gone(w, n, r, l)
			}
		}
	}
}

// gone says that a replica has forgotten all that were silent for long. While what
// they appended is not decided, as where nobody may lead any more, they stay; and
// until it looks next after that, which it does four times in the plan's time. So do
// those who have left a transaction open that nobody ends any more, or that ends where
// a replica which is cut off for good does not hear of it.
func (*idleProducers) gone(w *World, n *Node, r *replicaBook, l *log.Log) {
	idle := w.plan.Timing.ProducerIdle
	if l.Settled() < l.End() {
		return
	}
	for _, id := range order.Keys(r.heard.last) {
		h := r.heard.last[id]
		last := max(h.at, r.heard.since, n.woke)
		if r.leavesOpen(id) && (r.part.forgets() || w.producerGivenUp(id) || n.forGood) {
			continue
		}
		if l.Knows(id) && w.now-last > 2*idle+2*Second && w.now-h.decided > idle/2+2*Second {
			w.fail("INV-27", n.id, "an idle producer is not forgotten", "node %d knows producer %d in partition %s, which has been silent for %v; the time is %v", n.id, id, r.part.id, w.now-last, idle)
			return
		}
	}
}

// leavesOpen says that the last that a replica holds of a producer is of a transaction
// that has not ended.
func (r *replicaBook) leavesOpen(id record.ProducerID) bool {
	for i := len(r.memory.batches) - 1; i >= 0; i-- {
		if h := &r.memory.batches[i]; h.ProducerID == id {
			return h.Attributes.Transactional() && !h.Attributes.Control()
		}
	}
	return false
}
