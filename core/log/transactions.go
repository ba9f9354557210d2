package log

import (
	"cmp"
	"slices"
	"sort"

	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// transactions are what of a log's transactions no producer's state tells alone.
type transactions struct {
	open    []*producer // those that have one open, by its first offset
	ended   []span      // with the marker in the tail, by marker
	aborted []span      // by marker: those whose marker is not below the log start
}

// span is a transaction that has ended.
type span struct {
	id     record.ProducerID
	first  record.Offset
	marker record.Offset
	// least bounds the first offsets of those that have ended behind it from
	// below, so that a search knows where to stop.
	least record.Offset
}

// changed takes in that a batch has opened a transaction of one producer, or a
// marker has ended the one that began at was.
func (t *transactions) changed(one *producer, was spot, h *record.Header) {
	if one.live.open.is() {
		t.open = append(t.open, one)
		return
	}
	i := slices.Index(t.open, one)
	t.open = slices.Delete(t.open, i, i+1)
	s := span{id: one.id, first: was.offset(), marker: h.BaseOffset, least: h.BaseOffset}
	if len(t.open) > 0 {
		s.least = min(s.least, t.open[0].live.open.offset())
	}
	t.ended = append(t.ended, s)
	if h.Marker.Outcome == record.Aborted {
		t.aborted = append(t.aborted, s)
	}
}

// settle forgets those that ended below settled, if they were not aborted.
func (t *transactions) settle(settled record.Offset) {
	gone := 0
	for gone < len(t.ended) && t.ended[gone].marker < settled {
		gone++
	}
	if gone > 0 {
		t.ended = slices.Delete(t.ended, 0, gone)
	}
}

// rollBack goes back to where the tail begins. The live state of all producers is
// the settled one already.
func (t *transactions) rollBack(p *producers, tail record.Offset) {
	if len(t.open) == 0 && len(t.ended) == 0 {
		return
	}
	open := slices.Clone(t.open)
	for i := range t.ended {
		open = append(open, p.get(t.ended[i].id))
	}
	t.setOpen(open)
	t.ended = t.ended[:0]
	for len(t.aborted) > 0 && t.aborted[len(t.aborted)-1].marker >= tail {
		t.aborted = t.aborted[:len(t.aborted)-1]
	}
}

// setOpen makes those of some producers that have a transaction open the only ones.
func (t *transactions) setOpen(some []*producer) {
	some = slices.DeleteFunc(some, func(p *producer) bool { return !p.live.open.is() })
	slices.SortFunc(some, func(a, b *producer) int {
		return cmp.Or(cmp.Compare(a.live.open, b.live.open), cmp.Compare(a.id, b.id))
	})
	t.open = slices.Compact(some)
}

// trim forgets what was aborted below start.
func (t *transactions) trim(start record.Offset) {
	gone := sort.Search(len(t.aborted), func(i int) bool { return t.aborted[i].marker >= start })
	if gone > 0 {
		t.aborted = append([]span(nil), t.aborted[gone:]...)
	}
}

// adopt takes what a snapshot says was aborted. The open ones are set.
func (t *transactions) adopt(aborted []span, at record.Offset) {
	least := at
	if len(t.open) > 0 {
		least = min(least, t.open[0].live.open.offset())
	}
	for i := len(aborted) - 1; i >= 0; i-- {
		aborted[i].least = least
		least = min(least, aborted[i].first)
	}
	t.aborted = aborted
}

// passedOver forgets transactions that began below first, when nothing is known
// of the batches from the checkpoint up to there. The log start has passed over
// them since, and does not while a transaction is open: they have ended, or go on
// with a batch behind first, which opens them again.
func (p *producers) passedOver(first record.Offset) {
	for _, one := range p.transactions.open {
		if one.live.open.below(first) {
			one.live.open, one.settled.open = 0, 0
		}
	}
	p.transactions.setOpen(p.transactions.open)
}

// LastStable is the last stable offset (LSO) for a high watermark: the first
// offset of the oldest transaction that is open, or whose marker is not committed
// yet. Without such a one it is the high watermark. Who reads committed records
// sees nothing above it: all transactions below have ended, and how is told by
// Aborted. It never falls while the high watermark does not.
func (l *Log) LastStable(highWatermark record.Offset) record.Offset {
	t, stable := &l.producers.transactions, highWatermark
	if len(t.open) > 0 {
		stable = min(stable, t.open[0].live.open.offset())
	}
	for i := range t.ended {
		if t.ended[i].marker >= highWatermark {
			stable = min(stable, t.ended[i].first)
		}
	}
	return stable
}

// AbortedBehind says whether there is an aborted transaction with its marker at or
// behind an offset.
func (l *Log) AbortedBehind(from record.Offset) bool {
	all := l.producers.transactions.aborted
	return len(all) > 0 && all[len(all)-1].marker >= from
}

// Aborted are the aborted transactions with records in [from, to), by first
// offset; nil when there is none.
func (l *Log) Aborted(from, to record.Offset) []message.AbortedTransaction {
	all := l.producers.transactions.aborted
	var list []message.AbortedTransaction
	for i := sort.Search(len(all), func(i int) bool { return all[i].marker >= from }); i < len(all); i++ {
		if s := &all[i]; s.first < to {
			list = append(list, message.AbortedTransaction{ID: s.id, First: s.first})
		}
		if all[i].least >= to {
			break
		}
	}
	slices.SortFunc(list, func(a, b message.AbortedTransaction) int { return cmp.Compare(a.First, b.First) })
	return list
}
