package sim

import (
	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/record"
	"github.com/tamarack-mq/tamarack/core/replica"
)

// replicaAgreement is INV-2: two replicas with the same (epoch, offset) have
// equal logs up to there, and below the lower of two high watermarks logs are
// equal.
//
// The first half goes by induction: each batch is written once, by the leader
// of its epoch, and every copy must be the same batch behind the same batch.
// The second half compares each replica, as its high watermark moves, with the
// one sequence of committed batches.
type replicaAgreement struct{ blind }

func (*replicaAgreement) Invariant() string { return "INV-2" }

func (*replicaAgreement) Looks() scope { return ofAppends | ofCuts | ofMoves }

func (o *replicaAgreement) Stepped(w *World, n *Node, _ effect.Input, out []effect.Effect) {
	for _, e := range out {
		if a, ok := e.(effect.Append); ok {
			o.appended(w, n, a)
		}
	}
	for _, r := range w.book.touched {
		if r.view.HighWatermark > r.verified && !r.adrift() {
			o.compare(w, n, r)
		}
	}
}

// appended holds each new batch against the one that its leader wrote.
func (o *replicaAgreement) appended(w *World, n *Node, a effect.Append) {
	r := w.book.replica(n.id, a.Log)
	batches, before := r.memory.within(a.Base, a.End)
	for i := range batches {
		h := &batches[i]
		at := link{h.LeaderEpoch, h.BaseOffset}
		var previous link
		known := before+i > 0
		if known {
			p := &r.memory.batches[before+i-1]
			previous = link{p.LeaderEpoch, p.BaseOffset}
		}
		first := r.part.links.at(at)
		if first == nil {
			if r.view.Role != replica.Leading || r.view.LeaderEpoch != h.LeaderEpoch {
				if r.part.off() {
					continue
				}
				w.fail("INV-2", n.id, "a replica writes a batch that no leader wrote", "node %d, which does not lead partition %s in epoch %d, writes a batch of that epoch at offset %d which its leader never wrote", n.id, a.Log, h.LeaderEpoch, h.BaseOffset)
				return
			}
			r.part.links.put(at.epoch, origin{at.base, h.End(), h.CRC, previous, n.id, known})
			continue
		}
		switch {
		case first.end != h.End() || first.crc != h.CRC:
			w.fail("INV-2", n.id, "two different batches at one epoch and offset", "node %d writes at offset %d of partition %s, epoch %d, another batch than node %d wrote there", n.id, h.BaseOffset, a.Log, h.LeaderEpoch, first.node)
		case known && first.linked && first.previous != previous:
			w.fail("INV-2", n.id, "one batch behind two different batches", "the batch at offset %d of partition %s, epoch %d, follows another batch on node %d than on node %d: their logs differ below it", h.BaseOffset, a.Log, h.LeaderEpoch, n.id, first.node)
		}
	}
}

// compare holds what a replica newly knows to be committed against what is.
func (o *replicaAgreement) compare(w *World, n *Node, r *replicaBook) {
	p := r.part
	to := min(r.view.HighWatermark, p.high)
	from := max(r.verified, r.memory.start)
	if from >= to {
		r.verified = max(r.verified, to)
		return
	}
	mine := r.memory.from(from)
	theirs := (&logFacts{batches: p.committed}).from(from)
	for i := 0; i < len(mine) && i < len(theirs) && mine[i].BaseOffset < to; i++ {
		if !sameBatch(&mine[i], &theirs[i]) {
			w.fail("INV-2", n.id, "a replica differs from what is committed", "node %d knows partition %s to be committed up to %d, but holds at offset %d a batch of epoch %d where one of epoch %d at offset %d is committed", n.id, p.id, to, mine[i].BaseOffset, mine[i].LeaderEpoch, theirs[i].LeaderEpoch, theirs[i].BaseOffset)
			return
		}
	}
	r.verified = to
}

// sameBatch says whether two headers are of one batch: the checksum covers all
// that stands behind the leader epoch.
func sameBatch(a, b *record.Header) bool {
	return a.BaseOffset == b.BaseOffset && a.LeaderEpoch == b.LeaderEpoch && a.CRC == b.CRC && a.LastOffsetDelta == b.LastOffsetDelta
}
