package sim

import (
	"slices"

	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// wholeTransactions is INV-8 for readers of committed records: they see nothing at
// or above the last stable offset, are not told of an offset behind it, and are told
// exactly which transactions among what they get were aborted. The last stable offset
// of each replica is the one that follows from the committed records up to its high
// watermark: so it is not above that, and does not fall.
type wholeTransactions struct{ blind }

func (*wholeTransactions) Invariant() string { return "INV-8" }

func (*wholeTransactions) Looks() scope { return ofMoves | ofFetched }

func (o *wholeTransactions) Stepped(w *World, n *Node, _ effect.Input, out []effect.Effect) {
	b := &w.book.transactions
	if b.states == 0 {
		return
	}
	for _, r := range w.book.touched {
		if r.part.nr < len(b.logs) && b.logs[r.part.nr] != nil {
			o.kept(w, n, r, b.logs[r.part.nr])
		}
	}
	for _, e := range out {
		if reply, ok := e.(effect.Reply); ok {
			if m, ok := reply.Msg.(*message.ListOffsetsReply); ok {
				o.listed(w, n, b, n.asker(reply.Token).request, m)
				continue
			}
			m, ok := reply.Msg.(*message.FetchReply)
			asked, ok2 := n.asker(reply.Token).request.(*message.Fetch)
			if ok && ok2 && asked.Isolation == message.ReadCommitted && len(asked.Partitions) == len(m.Partitions) {
				for i := range m.Partitions {
					o.served(w, n, b, asked.Partitions[i].Offset, &m.Partitions[i])
				}
			}
		}
	}
}

// listed judges where a reader of committed records is told to begin: not behind what
// is decided, which it would pass over, nor at a record that may be aborted.
func (o *wholeTransactions) listed(w *World, n *Node, b *transactionsBook, request message.Request, m *message.ListOffsetsReply) {
	asked, ok := request.(*message.ListOffsets)
	if !ok || asked.Isolation != message.ReadCommitted || len(asked.Partitions) != len(m.Partitions) {
		return
	}
	for i := range m.Partitions {
		at := &m.Partitions[i]
		p := w.book.known(at.ID)
		if at.Code != message.None || p == nil || p.unclean || p.deleted {
			continue
		}
		l := &endsLog{}
		if p.nr < len(b.logs) && b.logs[p.nr] != nil {
			l = b.logs[p.nr]
		}
		if stable := l.stable(p.high); at.Offset > stable || at.Offset == stable && at.Timestamp >= 0 {
			w.fail("INV-8", n.id, "a reader is sent behind what is decided", "node %d tells a reader of committed records the offset %d of partition %s for time %d, but the last stable offset is %d", n.id, at.Offset, at.ID, asked.Partitions[i].Timestamp, stable)
			return
		}
	}
}

// kept judges what a replica has for the last stable offset.
func (o *wholeTransactions) kept(w *World, n *Node, r *replicaBook, l *endsLog) {
	v := &r.view
	if len(l.open)+len(l.ended) == 0 || r.part.unclean || r.part.deleted || r.forgetful || v.Damage != "" ||
		v.HighWatermark > r.part.high || v.HighWatermark < v.Start || !r.exists || !w.atlas.clean(n.id, r.part.id) {
		return
	}
	// A replica that begins behind the first record of a transaction, which has ended
	// further up, does not know of it yet, or of what it had before.
	if stable := l.stable(v.HighWatermark); v.LastStable != stable && stable >= v.Start {
		w.fail("INV-8", n.id, "a last stable offset is not that of the committed records", "node %d has the last stable offset of partition %s at %d under the high watermark %d; by what is committed it is %d", n.id, r.part.id, v.LastStable, v.HighWatermark, stable)
	}
}

// served judges what a reader of committed records gets of one partition.
func (o *wholeTransactions) served(w *World, n *Node, b *transactionsBook, from record.Offset, f *message.FetchedPartition) {
	p := w.book.known(f.ID)
	if f.Code != message.None || p == nil || p.unclean || p.deleted || f.HighWatermark < 0 || f.HighWatermark > p.high {
		return
	}
	l := &endsLog{}
	if p.nr < len(b.logs) && b.logs[p.nr] != nil {
		l = b.logs[p.nr]
	}
	if stable := l.stable(f.HighWatermark); f.LastStable != stable {
		w.fail("INV-8", n.id, "a reader is told another last stable offset", "node %d answers a fetch of partition %s with the last stable offset %d under the high watermark %d; by what is committed it is %d", n.id, f.ID, f.LastStable, f.HighWatermark, stable)
		return
	}
	end := from
	for it := record.Batches(f.Records); it.Next(); {
		end = it.Header.End()
	}
	if end > from && end > f.LastStable {
		w.fail("INV-8", n.id, "a reader is sent records of a transaction that has not ended", "node %d sends a reader of committed records in partition %s what stands below %d, but the last stable offset is %d", n.id, f.ID, end, f.LastStable)
		return
	}
	var aborted []message.AbortedTransaction
	if end > from {
		aborted = l.aborted(from, end)
	}
	if !slices.Equal(aborted, f.Aborted) {
		w.fail("INV-8", n.id, "a reader is told other aborted transactions", "node %d sends a reader of partition %s the offsets from %d to %d, of which %v are of aborted transactions, and says %v", n.id, f.ID, from, end, aborted, f.Aborted)
	}
}
