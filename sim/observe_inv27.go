package sim

import (
	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
	"github.com/tamarack-mq/tamarack/core/txn"
)

// sequences is INV-27 and INV-29 as the logs show them: what is committed of a
// producer is a sequence without a gap and without a repeat, which begins at 0
// in each of its epochs, and its epochs never fall. A marker begins an epoch of its
// producer, in which there is no batch yet. And a leader that has one of a producer's
// last batches never refuses it as out of order. No two producers are ever given one
// id: each would be taken for the other. Only the incarnations of one transactional id
// share it, and each of them has another epoch.
type sequences struct {
	blind
	parts []*sequenced // by number of the partition
	asked map[request]asker
	given map[record.ProducerID]handed
	turns map[txn.Identity]uint64 // each is one incarnation's: which
}

// request is a question for a producer id, by the node and its token.
type request struct {
	node  int32
	token message.Token
}

// asker is who asks for a producer id: under which transactional id, and as which
// incarnation, so that a repeated question may get the same answer again.
type asker struct {
	transactional string
	incarnation   uint64
}

// handed tells by which node an id was given out, and under which transactional id.
type handed struct {
	node          int32
	transactional string
}

// sequenced is what is committed of one partition, by producer.
type sequenced struct {
	to        record.Offset // all below has been looked at
	givenUp   int           // how often records were given up before
	producers map[record.ProducerID]expected
	// before are the producers that were seen before records were given up last, or
	// before something that is missing from the account of what is left, or back;
	// partial says that something is.
	before  map[record.ProducerID]bool
	partial bool
	last    link          // the batch that was looked at last
	end     record.Offset // of it
}

// again begins anew with what is left of a partition.
func (s *sequenced) again(p *partBook) {
	s.forget()
	*s = sequenced{producers: s.producers, givenUp: len(p.surrendered), before: s.before}
}

// forget takes in that nothing is known of how the producers went on.
func (s *sequenced) forget() {
	for id := range s.producers {
		if s.before == nil {
			s.before = map[record.ProducerID]bool{}
		}
		s.before[id] = true
	}
	s.producers = map[record.ProducerID]expected{}
}

// expected is the epoch of a producer and the next sequence in it.
type expected struct {
	epoch record.ProducerEpoch
	next  record.Sequence
}

// remembered is how many batches of a producer a leader must know again.
const remembered = 5

func (*sequences) Invariant() string { return "INV-27" }

func (*sequences) Looks() scope { return ofMoves | ofProduces | ofIdentities | ofTurns }

func (o *sequences) Stepped(w *World, n *Node, in effect.Input, out []effect.Effect) {
	for _, r := range w.book.touched {
		if p := r.part; p.high > 0 && !p.adrift(r.view.LeaderEpoch) && !p.unknown {
			o.committed(w, n, p)
		}
	}
	if r, ok := in.(effect.Requested); ok {
		switch asked := r.Msg.(type) {
		case *message.Produce:
			o.answered(w, n, r.Token, asked, out)
		case *message.InitProducerID:
			if asked.TransactionalID != "" {
				if o.asked == nil {
					o.asked = map[request]asker{}
				}
				o.asked[request{n.id, r.Token}] = asker{asked.TransactionalID, asked.Incarnation}
			}
		}
	}
	for _, e := range out {
		if r, ok := e.(effect.Reply); ok {
			if m, ok := r.Msg.(*message.InitProducerIDReply); ok {
				who := request{n.id, r.Token}
				if m.Code == message.None {
					o.named(w, n, txn.Identity{ID: m.ID, Epoch: m.Epoch}, o.asked[who])
				}
				delete(o.asked, who)
			}
		}
	}
}

// named notes that an identity was given to a producer.
func (o *sequences) named(w *World, n *Node, who txn.Identity, by asker) {
	if o.given == nil {
		o.given, o.turns = map[record.ProducerID]handed{}, map[txn.Identity]uint64{}
	}
	before, twice := o.given[who.ID]
	holder, held := o.turns[who]
	switch {
	case twice && (by.transactional == "" || by.transactional != before.transactional):
		w.fail("INV-27", n.id, "one id for two producers", "node %d gives a producer the id %d, which node %d has given to another", n.id, who.ID, before.node)
		return
	case held && by.transactional != "" && w.transactionsGivenUp(by.transactional): // with what it had given out
	case held && (holder != by.incarnation || holder == 0):
		w.fail("INV-27", n.id, "one epoch for two incarnations", "node %d gives a producer of %q the id %d with epoch %d, which another one has", n.id, by.transactional, who.ID, who.Epoch)
		return
	}
	o.given[who.ID], o.turns[who] = handed{n.id, by.transactional}, by.incarnation
}

// committed looks at what is newly committed of one partition.
func (o *sequences) committed(w *World, n *Node, p *partBook) {
	for p.nr >= len(o.parts) {
		o.parts = append(o.parts, &sequenced{producers: map[record.ProducerID]expected{}})
	}
	s := o.parts[p.nr]
	if s.givenUp != len(p.surrendered) { // begin anew with what is left
		s.again(p)
	}
	if s.to >= p.high {
		return
	}
	batches := (&logFacts{batches: p.committed}).from(s.to)
	for i := range batches {
		h := &batches[i]
		// Nobody can tell what producers did in retired records that the account has not.
		if s.givenUp > 0 && p.parted(s.last, s.end, h) {
			s.forget()
			s.partial = true
		}
		o.next(w, n, p, s, h)
		s.last, s.end = linkOf(h), h.End()
	}
	s.to = p.high
}

func (o *sequences) next(w *World, n *Node, p *partBook, s *sequenced, h *record.Header) {
	if h.ProducerID < 0 {
		return
	}
	if w.failure != nil {
		return // what comes behind the first gap or repeat follows from it
	}
	due, known := s.producers[h.ProducerID]
	if h.Attributes.Control() {
		if known && h.ProducerEpoch <= due.epoch && !p.revived[link{h.LeaderEpoch, h.BaseOffset}] {
			w.fail("INV-29", n.id, "a late marker is taken", "partition %s has at offset %d a marker of producer %d that begins epoch %d, behind one of epoch %d", p.id, h.BaseOffset, h.ProducerID, h.ProducerEpoch, due.epoch)
		}
		if known && h.ProducerEpoch <= due.epoch {
			p.repeats++
			return
		}
		s.producers[h.ProducerID] = expected{epoch: h.ProducerEpoch}
		return
	}
	switch {
	case known && h.ProducerEpoch < due.epoch:
		w.fail("INV-29", n.id, "a fenced producer is taken", "partition %s has at offset %d a batch of producer %d in epoch %d, behind one of epoch %d", p.id, h.BaseOffset, h.ProducerID, h.ProducerEpoch, due.epoch)
	case !known && s.partial && s.before[h.ProducerID]: // its first batches are retired, also from the account
	case (!known || h.ProducerEpoch > due.epoch) && h.BaseSequence != 0:
		w.fail("INV-27", n.id, "a producer's sequence does not begin at its beginning", "partition %s has at offset %d the first batch of producer %d in epoch %d, which has the sequence %d", p.id, h.BaseOffset, h.ProducerID, h.ProducerEpoch, h.BaseSequence)
	case known && h.ProducerEpoch == due.epoch && h.BaseSequence != due.next:
		w.fail("INV-27", n.id, "a producer's sequence has a gap or a repeat", "partition %s has at offset %d a batch of producer %d, epoch %d, with the sequence %d where %d was due", p.id, h.BaseOffset, h.ProducerID, h.ProducerEpoch, h.BaseSequence, due.next)
		for i := range p.committed {
			if b := &p.committed[i]; sameSequence(b, h) && b.BaseOffset < h.BaseOffset {
				w.alsoAt(p.id, h.BaseOffset, b.BaseOffset)
				break
			}
		}
	}
	s.producers[h.ProducerID] = expected{h.ProducerEpoch, record.AddSequence(h.BaseSequence, h.Count)}
}

// sameSequence says whether two batches are one to their producer.
func sameSequence(a, b *record.Header) bool {
	return a.ProducerID == b.ProducerID && a.ProducerEpoch == b.ProducerEpoch && a.BaseSequence == b.BaseSequence
}

// answered looks at a produce that is answered in the step that brought it: its
// verdict is about the log as it is now.
func (o *sequences) answered(w *World, n *Node, token message.Token, asked *message.Produce, out []effect.Effect) {
	eachAnswered(token, asked, out, func(got *message.ProducedPartition, batch []byte) { o.judged(w, n, got, batch) })
}

// eachAnswered visits what a step answers of a produce, with the batch that it is about.
func eachAnswered(token message.Token, asked *message.Produce, out []effect.Effect, visit func(*message.ProducedPartition, []byte)) {
	for _, e := range out {
		reply, ok := e.(effect.Reply)
		if !ok || reply.Token != token {
			continue
		}
		m, ok := reply.Msg.(*message.ProduceReply)
		if !ok || len(m.Partitions) != len(asked.Partitions) {
			return
		}
		for i := range m.Partitions {
			visit(&m.Partitions[i], asked.Partitions[i].Records)
		}
	}
}

func (o *sequences) judged(w *World, n *Node, got *message.ProducedPartition, batch []byte) {
	p := w.book.known(got.ID)
	if p == nil || !p.replica(n.id).answers() || p.unknown || got.Code != message.None && got.Code != message.OutOfOrderSequence && got.Code != message.UnknownProducerID {
		return
	}
	h, err := record.DecodeHeader(batch)
	if err != nil || h.ProducerID < 0 {
		return
	}
	r := w.book.replica(n.id, got.ID)
	if idle := w.plan.Timing.ProducerIdle; idle > 0 && got.Code == message.UnknownProducerID && w.now-r.heard.last[h.ProducerID].at >= idle*4/5 {
		return // it was forgotten by right
	}
	if got.Code == message.None {
		if got.BaseOffset+record.Offset(h.Count) <= r.view.HighWatermark {
			w.mark(markDuplicateAnswered)
		}
		return
	}
	seen := 0
	for i := len(r.memory.batches) - 1; i >= 0 && seen < remembered; i-- {
		b := &r.memory.batches[i]
		if b.ProducerID != h.ProducerID || b.BaseOffset < r.memory.start {
			continue
		}
		if b.ProducerEpoch != h.ProducerEpoch {
			return
		}
		if b.BaseSequence == h.BaseSequence && b.Count == h.Count {
			w.fail("INV-27", n.id, "a repeat is refused", "node %d refuses as out of order a batch of producer %d, epoch %d, sequence %d, which stands in partition %s at offset %d", n.id, h.ProducerID, h.ProducerEpoch, h.BaseSequence, got.ID, b.BaseOffset)
			return
		}
		seen++
	}
}
