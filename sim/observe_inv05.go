package sim

import (
	"slices"

	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
	"github.com/tamarack-mq/tamarack/core/replica"
)

// soundHighWatermark is INV-5: a leader's high watermark never exceeds what
// every member of its widest possible in-sync set holds, flushed and matched;
// it moves only with at least min.insync members. No local one exceeds the
// local end, nor what was ever committed.
//
// What a leader calls committed is taken over into the book here: it is the one
// sequence by which everything else is judged.
type soundHighWatermark struct{ blind }

func (*soundHighWatermark) Invariant() string { return "INV-5" }

func (*soundHighWatermark) Looks() scope {
	return ofCuts | ofMoves | ofImages | ofProduces
}

func (o *soundHighWatermark) Stepped(w *World, n *Node, in effect.Input, out []effect.Effect) {
	if asked, ok := in.(effect.Requested); ok {
		if m, ok := asked.Msg.(*message.Produce); ok && m.Acks == message.AcksAll {
			o.takes(w, n, m, out)
		}
	}
	for _, r := range w.book.touched {
		v := &r.view
		if v.Role == replica.Idle || r.adrift() {
			continue
		}
		if v.HighWatermark > v.End {
			w.fail("INV-5", n.id, "a high watermark above the log end", "node %d has the high watermark of partition %s at %d, but its log ends at %d", n.id, v.ID, v.HighWatermark, v.End)
			return
		}
		if v.HighWatermark <= r.part.high {
			continue
		}
		if v.Role != replica.Leading && v.HighWatermark > r.part.survived {
			w.fail("INV-5", n.id, "a follower's high watermark above every leader's", "node %d has the high watermark of partition %s at %d, but no leader has come beyond %d", n.id, v.ID, v.HighWatermark, r.part.high)
			return
		}
		if v.Role == replica.Leading {
			o.moved(w, n, r)
		}
	}
}

// takes judges that a leader which knows that too few are in sync refuses what it could
// not commit. Records of before, which were kept back for the disk, are none of these.
func (o *soundHighWatermark) takes(w *World, n *Node, asked *message.Produce, out []effect.Effect) {
	for _, e := range out {
		a, ok := e.(effect.Append)
		if !ok {
			continue
		}
		v := &w.book.replica(n.id, a.Log).view
		if v.Role != replica.Leading || len(v.ISR) >= v.MinInsync {
			continue
		}
		for i := range asked.Partitions {
			if p := &asked.Partitions[i]; p.ID == a.Log && sameRecords(a.Batches, p.Records) {
				w.fail("INV-5", n.id, "records are taken below min.insync", "node %d takes records under acks=all for partition %s with %d in sync where %d are needed", n.id, a.Log, len(v.ISR), v.MinInsync)
				return
			}
		}
	}
}

// sameRecords says whether two batches hold the same, wherever they stand.
func sameRecords(a, b []byte) bool {
	one, err := record.DecodeHeader(a)
	other, err2 := record.DecodeHeader(b)
	return err == nil && err2 == nil && one.CRC == other.CRC
}

// moved judges that a leader calls more committed than anybody did before.
func (o *soundHighWatermark) moved(w *World, n *Node, r *replicaBook) {
	v, p := &r.view, r.part
	// What it knows from before an unclean election, and what that has left, it brings along.
	if brings := v.HighWatermark <= min(p.survived, r.was.knew); len(v.ISR) < v.MinInsync && !brings {
		w.fail("INV-5", n.id, "a high watermark moves below min.insync", "node %d moves the high watermark of partition %s to %d with %d in sync where %d are needed", n.id, v.ID, v.HighWatermark, len(v.ISR), v.MinInsync)
		return
	}
	mine := r.memory.from(p.high)
	if len(mine) > 0 && mine[0].BaseOffset > p.high && mine[0].BaseOffset > r.memory.start {
		w.fail("INV-5", n.id, "a leader commits beyond a gap", "node %d moves the high watermark of partition %s from %d to %d, but its log has a gap at %d", n.id, v.ID, p.high, v.HighWatermark, p.high)
		return
	}
	for _, m := range v.MaximalISR {
		o.holds(w, n, r, m, "the widest in-sync set of its leader")
	}
	if p.state != nil && p.state.LeaderEpoch == v.LeaderEpoch {
		for _, m := range p.state.ISR {
			if !slices.Contains(v.MaximalISR, m) {
				o.holds(w, n, r, m, "the controller's in-sync set")
			}
		}
	}
	for i := range mine {
		if mine[i].End() > v.HighWatermark {
			break
		}
		p.committed = append(doubled(p.committed), mine[i])
	}
	p.high = v.HighWatermark
}

// holds judges whether one member holds, flushed, all that its leader calls
// committed.
func (o *soundHighWatermark) holds(w *World, n *Node, r *replicaBook, m message.NodeID, set string) {
	v := &r.view
	other := r.part.at(int32(m))
	if !w.atlas.clean(int32(m), v.ID) || w.failure != nil {
		return
	}
	if r.part.leftIn[m] > v.LeaderEpoch {
		return // it left and deleted its log; this leadership is over and does not know yet
	}
	var end record.Offset = -1
	if other != nil && other.exists {
		end = other.durable
	}
	if end < v.HighWatermark {
		w.fail("INV-5", n.id, "a high watermark above what a member holds", "node %d moves the high watermark of partition %s to %d, but node %d, of %s, has flushed only up to %d", n.id, v.ID, v.HighWatermark, m, set, end)
		return
	}
	if other == r {
		return
	}
	a, b := batchBefore(&r.memory, v.HighWatermark), batchBefore(&other.disk, v.HighWatermark)
	if a != nil && b != nil && !sameBatch(a, b) {
		w.fail("INV-5", n.id, "a high watermark above what a member matches", "node %d moves the high watermark of partition %s to %d, but node %d, of %s, holds another batch below it", n.id, v.ID, v.HighWatermark, m, set)
	}
}

// batchBefore is the batch that ends at or below an offset; nil: none is known.
func batchBefore(l *logFacts, at record.Offset) *record.Header {
	rest := l.from(at)
	k := len(l.batches) - len(rest)
	if k == 0 {
		return nil
	}
	return &l.batches[k-1]
}
