package sim

import (
	"slices"

	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
	"github.com/tamarack-mq/tamarack/core/txn"
)

// statesTopic is the internal topic of the transaction coordinators.
const statesTopic = txn.TopicName

// transactionsBook is what is committed of transactions: what their coordinators
// have written, the records and markers in the partitions, and what the shards of
// groups hold of positions. It is brought up to date by follow, before anybody
// judges by it; what a step has brought is in the lists at the end.
type transactionsBook struct {
	states, offsets record.TopicID  // 0: not there yet
	looked          message.Version // of the image in which they were looked for last
	shards          []*shardLog     // of both topics, by number of the partition
	list            []*shardLog     // of transactions
	logs            []*endsLog      // of all other partitions, by number
	ids             map[string]txn.Transaction
	each            map[txn.Identity]*transactionBook
	given           map[txn.Identity]string // by which transactional id an identity was given out
	owners          map[record.ProducerID]string

	stamp     uint64 // the step that was followed last
	said      []stateRecord
	positions []positionRecord
	batches   []decidedBatch
}

// transactionBook is one transaction, by the identity of its records.
type transactionBook struct {
	name              string
	named             []record.PartitionID // that take part, as committed
	decided, complete bool
	commits           bool               // what was decided
	asked             bool               // ... by its producer
	by                record.LeaderEpoch // ... and by the coordinator in this epoch
	turn              txn.Identity       // what the producer gets for the next
	over              Span               // when something later was committed; -1: nothing yet
}

// decidedBatch is a batch of a transaction, or a marker, that is newly committed.
type decidedBatch struct {
	part *partBook
	log  *endsLog
	*record.Header
}

// endsLog is what is committed of transactions in one partition.
type endsLog struct {
	to     record.Offset
	open   []openSpan // by first offset
	ended  []endedSpan
	marked map[txn.Identity]endedSpan // by the identity of the marker
	epochs map[record.ProducerID]record.ProducerEpoch
}

// openSpan is a transaction that has no committed marker yet.
type openSpan struct {
	id    record.ProducerID
	epoch record.ProducerEpoch
	first record.Offset
}

// endedSpan is one that has. One without a record in the partition has First -1, and
// is not among the ended.
type endedSpan struct {
	id            record.ProducerID
	first, marker record.Offset
	record.Marker
}

// follow takes in a step. The first observer of transactions has it done for all.
func (b *transactionsBook) follow(w *World, n *Node, out []effect.Effect) {
	b.stamp, b.said, b.positions, b.batches = w.stats.Steps, b.said[:0], b.positions[:0], b.batches[:0]
	if !b.known(w) {
		return
	}
	for _, e := range out {
		if a, ok := e.(effect.Append); ok && (a.Log.Topic == b.states || a.Log.Topic == b.offsets) {
			b.shard(w.book.part(a.Log)).write(n.id, w.stats.Steps, w.now, a)
		}
	}
	for _, r := range w.book.touched {
		p := r.part
		switch {
		case p.high == 0 || p.deleted:
		case p.id.Topic == b.states || p.id.Topic == b.offsets:
			if s := b.shard(p); s.to < p.high && !s.lost() {
				b.takeShard(s, w.now)
			}
		case b.states != 0:
			if l := b.log(p); l.to < p.high && !p.unclean {
				b.takeLog(p, l)
			}
		}
	}
}

// known looks whether there are internal topics.
func (b *transactionsBook) known(w *World) bool {
	if image := w.newest(); image != nil && (b.states == 0 || b.offsets == 0) && image.Version() != b.looked {
		b.looked = image.Version()
		if t := image.TopicNamed(statesTopic); t != nil {
			b.states = t.ID
		}
		if t := image.TopicNamed(offsetsTopic); t != nil {
			b.offsets = t.ID
		}
	}
	return b.states != 0 || b.offsets != 0
}

// fresh says whether the lists are of the step at hand.
func (b *transactionsBook) fresh(w *World) bool { return b.stamp == w.stats.Steps }

// adrift says that nothing can be said about the transactions of an id any more: what
// its coordinator had written was given up. Coordinators of other shards have no part
// in them. An id that is not known ("") may be any shard's.
func (b *transactionsBook) adrift(w *World, name string) bool {
	image := w.newest()
	if name == "" || image == nil || image.Topic(b.states) == nil {
		return slices.ContainsFunc(b.list, (*shardLog).lost)
	}
	t := image.Topic(b.states)
	p := w.shard(t, txn.Shard(name, int32(len(t.Partitions))))
	s := b.shardAt(p)
	return p.off() || s != nil && s.lost()
}

// producerAdrift says so of the transactions of a producer. Producer ids are given out
// once in a cluster: who owned one owns it for good.
func (b *transactionsBook) producerAdrift(w *World, id record.ProducerID) bool {
	return b.adrift(w, b.owners[id])
}

func (b *transactionsBook) shard(p *partBook) *shardLog {
	for p.nr >= len(b.shards) {
		b.shards = append(b.shards, nil)
	}
	if b.shards[p.nr] == nil {
		s := newShardLog(p, p.id.Topic == b.states)
		if b.shards[p.nr] = s; s.states {
			b.list = append(b.list, s)
		}
	}
	return b.shards[p.nr]
}

// shardAt is the shard of a partition; nil: it is none, or none that was ever seen.
func (b *transactionsBook) shardAt(p *partBook) *shardLog {
	if p != nil && p.nr < len(b.shards) {
		return b.shards[p.nr]
	}
	return nil
}

func (b *transactionsBook) log(p *partBook) *endsLog {
	for p.nr >= len(b.logs) {
		b.logs = append(b.logs, nil)
	}
	if b.logs[p.nr] == nil {
		b.logs[p.nr] = &endsLog{}
	}
	return b.logs[p.nr]
}

// open are the transactions that have no committed marker in a partition.
func (b *transactionsBook) open(p *partBook) []openSpan {
	if p.nr < len(b.logs) && b.logs[p.nr] != nil {
		return b.logs[p.nr].open
	}
	return nil
}

func (b *transactionsBook) takeShard(s *shardLog, now Span) {
	s.committed(func(batch *writtenBatch) {
		for i := range batch.states {
			b.state(&batch.states[i], now)
		}
		for i := range batch.positions {
			s.position(&batch.positions[i], now)
		}
		b.said = append(b.said, batch.states...)
		b.positions = append(b.positions, batch.positions...)
	})
}

// state takes in one committed record of a coordinator.
func (b *transactionsBook) state(r *stateRecord, now Span) {
	if b.ids == nil {
		b.ids, b.each, b.given = map[string]txn.Transaction{}, map[txn.Identity]*transactionBook{}, map[txn.Identity]string{}
		b.owners = map[record.ProducerID]string{}
	}
	name := r.now.TransactionalID
	r.before = b.ids[name]
	if r.gone {
		delete(b.ids, name)
		return
	}
	b.ids[name] = r.now
	b.owners[r.now.Now.ID], b.owners[r.now.Turn.ID] = name, name
	if r.repeats() {
		return
	}
	if len(r.now.Waiting) > 0 { // part of the transaction that follows, whoever coordinates it then
		b.one(r.now.Turn, name).named = r.now.Waiting
	}
	if r.waits() {
		return
	}
	if old := b.each[r.before.Ended]; r.before.Phase != 0 && old != nil && r.now.Ended != r.before.Ended && old.over < 0 {
		old.over = now
	}
	switch t := &r.now; t.Phase {
	case txn.Empty:
		b.given[t.Now] = name
	case txn.Ongoing:
		b.one(t.Now, name).named = t.Partitions
	case txn.PrepareCommit, txn.PrepareAbort:
		of := r.before.Now
		one := b.one(of, name)
		if !one.decided {
			one.decided, one.commits, one.asked, one.by, one.turn = true, t.Phase == txn.PrepareCommit, t.Ended == of, r.epoch, t.Turn
		}
	case txn.CompleteCommit, txn.CompleteAbort:
		if prepared(r.before.Phase) {
			b.one(before(r.before.Now), name).complete = true
		} else if one := b.one(r.before.Now, name); !one.decided { // an abort of nothing
			one.decided, one.asked, one.complete, one.by, one.turn = true, true, true, r.epoch, t.Turn
		}
	}
}

// before is the identity of the transaction that a marker ends.
func before(marker txn.Identity) txn.Identity {
	return txn.Identity{ID: marker.ID, Epoch: marker.Epoch - 1}
}

// repeats says that a record says nothing new: a snapshot does so.
func (r *stateRecord) repeats() bool {
	a, c := r.before, r.now
	same := slices.Equal(a.Partitions, c.Partitions) && slices.Equal(a.Waiting, c.Waiting)
	return same && a.TransactionalID == c.TransactionalID && a.Phase == c.Phase && a.Now == c.Now && a.Ended == c.Ended &&
		a.Turn == c.Turn && a.Timeout == c.Timeout && a.Started == c.Started && a.Updated == c.Updated && a.Incarnation == c.Incarnation
}

// waits says that a record only adds to what waits for the end of a transaction.
func (r *stateRecord) waits() bool {
	return !r.gone && prepared(r.now.Phase) && r.before.Phase == r.now.Phase
}

func (b *transactionsBook) one(who txn.Identity, name string) *transactionBook {
	if b.each[who] == nil {
		b.each[who] = &transactionBook{name: name, over: -1}
	}
	return b.each[who]
}

// takeLog takes in what is newly committed of a partition.
func (b *transactionsBook) takeLog(p *partBook, l *endsLog) {
	batches := (&logFacts{batches: p.committed}).from(l.to)
	for i := range batches {
		h := &batches[i]
		if h.ProducerID >= 0 && h.Attributes.Transactional() {
			l.take(h)
			b.batches = append(b.batches, decidedBatch{p, l, h})
		}
	}
	l.to = p.high
}

func (l *endsLog) take(h *record.Header) {
	if l.marked == nil {
		l.marked, l.epochs = map[txn.Identity]endedSpan{}, map[record.ProducerID]record.ProducerEpoch{}
	}
	l.epochs[h.ProducerID] = max(l.epochs[h.ProducerID], h.ProducerEpoch)
	at := slices.IndexFunc(l.open, func(o openSpan) bool { return o.id == h.ProducerID })
	if !h.Attributes.Control() {
		if at < 0 {
			l.open = append(l.open, openSpan{h.ProducerID, h.ProducerEpoch, h.BaseOffset})
		}
		return
	}
	end := endedSpan{h.ProducerID, -1, h.BaseOffset, h.Marker}
	if at >= 0 {
		end.first = l.open[at].first
		l.open = slices.Delete(l.open, at, at+1)
		l.ended = append(l.ended, end)
	}
	l.marked[txn.Identity{ID: h.ProducerID, Epoch: h.ProducerEpoch}] = end
}

// stable is the last stable offset for a high watermark that is not above the true
// one. It follows from the committed records alone.
func (l *endsLog) stable(high record.Offset) record.Offset {
	at := high
	if len(l.open) > 0 {
		at = min(at, l.open[0].first)
	}
	for i := len(l.ended) - 1; i >= 0 && l.ended[i].marker >= high; i-- {
		at = min(at, l.ended[i].first)
	}
	return at
}

// aborted are the aborted transactions with records in [from, to), by first offset.
func (l *endsLog) aborted(from, to record.Offset) []message.AbortedTransaction {
	var list []message.AbortedTransaction
	for i := len(l.ended) - 1; i >= 0 && l.ended[i].marker >= from; i-- {
		if e := &l.ended[i]; e.Outcome == record.Aborted && e.first < to {
			list = append(list, message.AbortedTransaction{ID: e.id, First: e.first})
		}
	}
	slices.SortFunc(list, func(a, b message.AbortedTransaction) int { return int(a.First - b.First) })
	return list
}
