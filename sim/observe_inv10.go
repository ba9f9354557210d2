package sim

import (
	"time"

	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
	"github.com/tamarack-mq/tamarack/core/settings"
)

// trueAnswers is INV-10 for producers, with INV-28: a produce that is answered
// with success names the offset at which the producer's own batch stands, and
// under acks=all it is committed there.
type trueAnswers struct{ blind }

func (*trueAnswers) Invariant() string { return "INV-10" }

func (*trueAnswers) Looks() scope { return ofProduced | ofFetched | ofDescribed }

func (o *trueAnswers) Stepped(w *World, n *Node, _ effect.Input, out []effect.Effect) {
	for _, e := range out {
		reply, ok := e.(effect.Reply)
		if !ok {
			continue
		}
		if m, ok := reply.Msg.(*message.FetchReply); ok {
			o.fetched(w, n, reply.Token, m)
		}
		if m, ok := reply.Msg.(*message.MetadataReply); ok && n.Core() != nil {
			now, holds := n.clock.now(w.now).Mono, n.Core().Holds()
			o.described(w, n, m, now.Sub(n.Core().Status(now).ControllerHeard), holds.Duration(settings.SessionTimeout))
		}
		m, ok := reply.Msg.(*message.ProduceReply)
		if !ok {
			continue
		}
		asked, ok := n.asker(reply.Token).request.(*message.Produce)
		if !ok || len(asked.Partitions) != len(m.Partitions) {
			continue
		}
		for i := range m.Partitions {
			o.produced(w, n, asked, i, &m.Partitions[i])
		}
	}
}

// produced judges one partition of a successful answer.
func (o *trueAnswers) produced(w *World, n *Node, asked *message.Produce, i int, got *message.ProducedPartition) {
	if got.Code != message.None {
		return
	}
	p := w.book.part(got.ID)
	if !w.book.replica(n.id, got.ID).answers() {
		p.stray(asked.Partitions[i].Records, got.BaseOffset)
		return
	}
	h, err := record.DecodeHeader(asked.Partitions[i].Records)
	if err != nil {
		w.fail("INV-10", n.id, "a batch that cannot be read is accepted", "node %d accepts for partition %s bytes that are no batch: %v", n.id, got.ID, err)
		return
	}
	end := got.BaseOffset + record.Offset(h.LastOffsetDelta) + 1
	var log logFacts
	if asked.Acks == message.AcksAll {
		if end > p.high {
			w.fail("INV-10", n.id, "an answer before its record is committed", "node %d answers acks=all for partition %s at [%d, %d), but only %d is committed", n.id, got.ID, got.BaseOffset, end, p.high)
			w.aboutRecord(got.ID, max(got.BaseOffset, p.high))
			return
		}
		log.batches = p.committed
	} else {
		log = w.book.replica(n.id, got.ID).memory
	}
	if h.Attributes.Transactional() && w.newest() != nil && w.transactionsGivenUp(asked.TransactionalID) {
		return // its coordinator may have given out an epoch again
	}
	there := log.from(got.BaseOffset)
	if len(there) == 0 || there[0].BaseOffset > got.BaseOffset {
		return // retired meanwhile
	}
	if w.forgotten(&h) {
		return
	}
	if there[0].BaseOffset != got.BaseOffset || there[0].CRC != h.CRC {
		w.fail("INV-28", n.id, "a producer is told of another's record", "node %d answers success for partition %s at offset %d, but the batch there is not the producer's (producer %d, epoch %d, sequence %d)", n.id, got.ID, got.BaseOffset, h.ProducerID, h.ProducerEpoch, h.BaseSequence)
	}
}

// described judges that who cannot know how the cluster stands now says so: a broker
// that no controller has answered for longer than a session.
func (o *trueAnswers) described(w *World, n *Node, m *message.MetadataReply, silence, session message.Duration) {
	if silence > session && !m.ControllerSilent {
		w.fail("INV-10", n.id, "what may be out of date is told as if it was not", "node %d describes the cluster and does not say that no controller has answered it for %v; a session is %v", n.id, time.Duration(silence), time.Duration(session))
	}
}

// fetched judges that a fetch for which nothing has come is answered when its time
// is over and not before: else whoever reads at the end of a log asks without rest.
func (o *trueAnswers) fetched(w *World, n *Node, token message.Token, m *message.FetchReply) {
	asked, ok := n.asker(token).request.(*message.Fetch)
	if !ok || asked.MinBytes < 1 || len(m.Partitions) == 0 {
		return
	}
	for i := range m.Partitions {
		p := &m.Partitions[i]
		if p.Code != message.None || p.Diverging != nil || len(p.Records) > 0 {
			return
		}
	}
	if waited := w.now - n.asker(token).since; waited < Span(asked.MaxWait)/2 { // its clock may run fast
		w.fail("INV-10", n.id, "a fetch is answered with nothing before its time", "node %d answers a fetch of %d partitions with nothing after %v; it was to wait %v", n.id, len(m.Partitions), time.Duration(waited), time.Duration(asked.MaxWait))
	}
}
