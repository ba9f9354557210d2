package storage

import (
	"slices"
	"sort"
	"sync"

	"github.com/tamarack-mq/tamarack/core/record"
)

// tail keeps the newest appends of all logs in memory, up to a budget: nearly
// all reads are of what was just written. It keeps the bytes that were handed
// to Append, and copies nothing. When the budget is used up the oldest append of
// all goes, so that a log that rests soon keeps nothing.
type tail struct {
	budget int64

	mu    sync.Mutex
	used  int64
	next  uint64      // number of the next append
	order []tailOrder // by age; some may be gone already
	live  int         // appends that are kept
}

// tailLog is the part of one log. tail.mu guards it.
type tailLog struct{ chunks []chunk }

// chunk is one append.
type chunk struct {
	base, end record.Offset
	batches   []byte
	number    uint64
}

type tailOrder struct {
	log    *tailLog
	number uint64
}

// chunkCost is what keeping an append costs besides its bytes.
const chunkCost = 96

func (c *chunk) cost() int64 { return int64(len(c.batches)) + chunkCost }

func (t *tail) add(l *tailLog, base, end record.Offset, batches []byte) {
	if t.budget <= 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if n := len(l.chunks); n > 0 && l.chunks[n-1].end != base {
		t.forget(l, 0, n)
	}
	c := chunk{base, end, batches, t.next}
	t.next++
	l.chunks = append(l.chunks, c)
	t.order = append(t.order, tailOrder{l, c.number})
	t.live++
	for t.used += c.cost(); t.used > t.budget; t.order = t.order[1:] {
		if oldest := t.order[0]; len(oldest.log.chunks) > 0 && oldest.log.chunks[0].number == oldest.number {
			t.forget(oldest.log, 0, 1)
		}
	}
	if len(t.order) > 2*t.live+1024 {
		t.order = slices.DeleteFunc(slices.Clone(t.order), func(o tailOrder) bool {
			return !slices.ContainsFunc(o.log.chunks, func(c chunk) bool { return c.number == o.number })
		})
	}
}

// account returns the bytes that are counted as used, and those that the logs hold.
func (t *tail) account(logs []*partition) (counted, held int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, p := range logs {
		for i := range p.tail.chunks {
			held += p.tail.chunks[i].cost()
		}
	}
	return t.used, held
}

// forget takes chunks [from, to) out. mu is held.
func (t *tail) forget(l *tailLog, from, to int) {
	for i := from; i < to; i++ {
		t.used -= l.chunks[i].cost()
		t.live--
	}
	if from == 0 {
		clear(l.chunks[:to])
		l.chunks = l.chunks[to:]
		if len(l.chunks) == 0 {
			l.chunks = nil
		}
		return
	}
	l.chunks = slices.Delete(l.chunks, from, to)
}

// cut forgets appends that reach beyond an offset.
func (t *tail) cut(l *tailLog, end record.Offset) {
	t.mu.Lock()
	defer t.mu.Unlock()
	i := sort.Search(len(l.chunks), func(i int) bool { return l.chunks[i].end > end })
	t.forget(l, i, len(l.chunks))
}

// read returns whole batches as Store.Read does. ok is false when they are not
// kept.
func (t *tail) read(l *tailLog, from, to record.Offset, most int) (batches []byte, ok bool) {
	var few [8][]byte
	parts, size := few[:0], 0
	t.mu.Lock()
	i := sort.Search(len(l.chunks), func(i int) bool { return l.chunks[i].end > from })
	if i == len(l.chunks) || l.chunks[i].base > from {
		t.mu.Unlock()
		return nil, false
	}
	for done := false; i < len(l.chunks) && !done; i++ {
		c := &l.chunks[i]
		part := c.batches
		if c.base < from || c.end > to || len(part) > most-size {
			part, done = cutOut(part, from, to, most-size, size == 0)
		}
		if len(part) > 0 {
			parts = append(parts, part)
			size += len(part)
		}
	}
	t.mu.Unlock()
	if len(parts) == 0 {
		return nil, true
	}
	if len(parts) == 1 {
		return parts[0][:size:size], true
	}
	batches = make([]byte, 0, size)
	for _, p := range parts {
		batches = append(batches, p...)
	}
	return batches, true
}

// cutOut returns those batches of b that hold records of [from, to) and none
// beyond, at most so many bytes, but the first of them in any case when one is
// needed. done tells that what follows b is not wanted.
func cutOut(b []byte, from, to record.Offset, most int, needOne bool) (part []byte, done bool) {
	first, end := 0, 0
	for it := record.Batches(b); it.Next(); {
		switch at := len(b) - len(it.Rest); {
		case it.Header.End() <= from:
			first, end = at, at
		case it.Header.End() > to, at-first > most && (end > first || !needOne):
			return b[first:end], true
		default:
			end = at
		}
	}
	return b[first:end], false
}
