package sim

import (
	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// decidedReads is INV-8: what a consumer is sent lies below the true high
// watermark and is what was committed there. INV-13 is checked on the way: a
// node whose disk was hit must not serve a batch with a bad checksum.
type decidedReads struct{ blind }

func (*decidedReads) Invariant() string { return "INV-8" }

func (*decidedReads) Looks() scope { return ofFetched }

func (o *decidedReads) Stepped(w *World, n *Node, _ effect.Input, out []effect.Effect) {
	for _, e := range out {
		reply, ok := e.(effect.Reply)
		if !ok {
			continue
		}
		m, ok := reply.Msg.(*message.FetchReply)
		if !ok {
			continue
		}
		for i := range m.Partitions {
			o.served(w, n, &m.Partitions[i])
		}
	}
}

// served judges what one partition of a reply holds.
func (o *decidedReads) served(w *World, n *Node, f *message.FetchedPartition) {
	p := w.book.known(f.ID)
	if f.Code != message.None || p == nil || !p.replica(n.id).answers() {
		return
	}
	if f.HighWatermark > p.high {
		w.fail("INV-8", n.id, "a reader is shown a high watermark that nobody reached", "node %d answers a fetch of partition %s with the high watermark %d, but only %d is committed", n.id, f.ID, f.HighWatermark, p.high)
		return
	}
	if len(f.Records) == 0 {
		return
	}
	var theirs []record.Header
	it := record.Batches(f.Records)
	for i := 0; it.Next(); i++ {
		if i == 0 {
			theirs = (&logFacts{batches: p.committed}).from(it.Header.BaseOffset)
		}
		switch {
		case it.Header.End() > p.high:
			w.fail("INV-8", n.id, "a reader is sent undecided records", "node %d sends a reader records of partition %s up to %d, but only %d is committed", n.id, f.ID, it.Header.End(), p.high)
			return
		case i < len(theirs) && !sameBatch(&it.Header, &theirs[i]):
			w.fail("INV-8", n.id, "a reader is sent other records than were committed", "node %d sends a reader at offset %d of partition %s a batch of epoch %d, where one of epoch %d at %d is committed", n.id, it.Header.BaseOffset, f.ID, it.Header.LeaderEpoch, theirs[i].LeaderEpoch, theirs[i].BaseOffset)
			return
		case w.atlas.hurt(n.id) && record.Checksum(it.Bytes) != it.Header.CRC:
			w.fail("INV-13", n.id, "a damaged batch is served", "node %d, whose disk was hit, sends a reader a batch of partition %s at offset %d with a wrong checksum", n.id, f.ID, it.Header.BaseOffset)
			return
		}
	}
	if it.Err() != nil {
		w.fail("INV-36", n.id, "a reader is sent bytes that are no batches", "node %d sends a reader of partition %s what is no sequence of whole batches: %v", n.id, f.ID, it.Err())
	}
}
