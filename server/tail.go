package server

import (
	"encoding/binary"

	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/record"
)

// tail keeps the newest batches of all logs in memory. Followers and consumers
// at the end of a log are served from it at once, also what is not yet written.
// It belongs to the goroutine that steps the core.
//
// Small appends are laid side by side in chunks: one copy of them, so that what
// was appended piece by piece is written to disk, and read, in one piece. Large
// ones stay where they are, in the frame that they came in. Chunks only grow,
// so that a slice of one may be handed out and stays valid for ever.
type tail struct {
	limit  int // bytes of chunks that it tries to stay below
	bytes  int
	logs   map[record.PartitionID]*tailLog
	oldest []*chunk // all chunks in the order of their making
}

type tailLog struct {
	chunks  []*chunk // one behind the other, without gaps
	written record.Offset
	marks   [4]mark // where recent reads ended
	next    int     // mark to be overwritten
}

type chunk struct {
	log       *tailLog // nil once it was dropped
	base, end record.Offset
	data      []byte
}

// mark is a batch boundary that a reader is likely to come back to.
type mark struct {
	chunk  *chunk
	offset record.Offset
	at     int
}

// Sizes of appends and chunks, in bytes.
const (
	tailCopy     = 32 << 10 // a larger append is not copied
	tailFirst    = 4 << 10  // first chunk of a log; each is twice the one before it
	tailLast     = 256 << 10
	tailGather   = 32 << 10 // a read that gives less goes on into the next chunk
	tailGatherTo = 256 << 10
)

func newTail(limit int) *tail {
	return &tail{limit: limit, logs: map[record.PartitionID]*tailLog{}}
}

// append keeps an append and returns its bytes where they lie now. Appends that
// lie side by side can be written as one: see joined.
func (t *tail) append(a *effect.Append) []byte {
	l := t.logs[a.Log]
	if l == nil {
		l = &tailLog{written: a.Base}
		t.logs[a.Log] = l
	}
	var last *chunk
	if n := len(l.chunks); n > 0 {
		last = l.chunks[n-1]
		if last.end != a.Base { // the log was cut: see forget
			t.forget(a.Log)
			return t.append(a)
		}
	}
	size := len(a.Batches)
	if size > tailCopy {
		t.add(l, &chunk{base: a.Base, end: a.End, data: a.Batches[:size:size]})
		return a.Batches
	}
	if last == nil || cap(last.data)-len(last.data) < size {
		room := tailFirst
		if last != nil {
			room = min(max(2*cap(last.data), tailFirst), tailLast)
		}
		last = &chunk{base: a.Base, end: a.Base, data: make([]byte, 0, max(room, size))}
		t.add(l, last)
	}
	start := len(last.data)
	last.data = append(last.data, a.Batches...)
	last.end = a.End
	return last.data[start:]
}

func (t *tail) add(l *tailLog, c *chunk) {
	c.log = l
	l.chunks = append(l.chunks, c)
	t.oldest = append(t.oldest, c)
	t.bytes += cap(c.data)
	t.evict()
}

// evict drops the oldest chunks that are on disk, until the limit is kept.
func (t *tail) evict() {
	for t.bytes > t.limit && len(t.oldest) > 1 {
		c := t.oldest[0]
		if l := c.log; l != nil {
			if c.end > l.written {
				return // not yet on disk: it must be read from here
			}
			t.drop(c)
			l.chunks[0] = nil
			l.chunks = l.chunks[1:]
		}
		t.oldest[0] = nil
		t.oldest = t.oldest[1:]
	}
}

func (t *tail) drop(c *chunk) {
	t.bytes -= cap(c.data)
	c.log, c.data = nil, nil
}

// wrote says that a log is on disk up to end.
func (t *tail) wrote(log record.PartitionID, end record.Offset) {
	if l := t.logs[log]; l != nil && end > l.written {
		l.written = end
		if t.bytes > t.limit {
			t.evict()
		}
	}
}

// forget drops all of a log, when it was cut or removed.
func (t *tail) forget(log record.PartitionID) {
	l := t.logs[log]
	if l == nil {
		return
	}
	for _, c := range l.chunks {
		t.drop(c)
	}
	delete(t.logs, log)
}

// start is the offset from which on a log is held, and whether any of it is.
func (t *tail) start(log record.PartitionID) (record.Offset, bool) {
	l := t.logs[log]
	if l == nil || len(l.chunks) == 0 {
		return 0, false
	}
	return l.chunks[0].base, true
}

// read gives what a slice asks for, if it begins in memory.
func (t *tail) read(s *effect.Slice) ([]byte, bool) {
	l := t.logs[s.Log]
	if l == nil || len(l.chunks) == 0 || s.From < l.chunks[0].base {
		return nil, false
	}
	i := len(l.chunks) - 1
	for s.From < l.chunks[i].base {
		i--
	}
	c := l.chunks[i]
	if s.From >= c.end {
		return nil, false
	}
	first := l.find(c, s.From)
	end, reached := c.walk(first, s, 0)
	l.remember(c, end, reached)
	data := c.data[first:end:end]
	if len(data) >= tailGather || reached < c.end {
		return data, true
	}
	return l.gather(data, i+1, s), true
}

// gather goes on into the chunks from index i, so that a reader which crosses
// the border of a chunk does not get a crumb.
func (l *tailLog) gather(data []byte, i int, s *effect.Slice) []byte {
	for ; i < len(l.chunks) && len(data) < tailGather; i++ {
		c := l.chunks[i]
		part := *s
		part.From, part.MaxBytes = c.base, min(s.MaxBytes, tailGatherTo)
		end, reached := c.walk(0, &part, len(data))
		if end == 0 {
			break
		}
		l.remember(c, end, reached)
		data = append(data, c.data[:end]...) // capacity was cut: this copies
		if reached < c.end {
			break
		}
	}
	return data
}

// find gives the place of the batch that holds an offset of a chunk.
func (l *tailLog) find(c *chunk, offset record.Offset) int {
	at := 0
	for i := range l.marks {
		m := &l.marks[i]
		if m.chunk == c && m.offset <= offset && m.at > at {
			at = m.at
		}
	}
	for {
		size, end := batchAt(c.data, at)
		if offset < end {
			return at
		}
		at += size
	}
}

// walk goes from the batch at a place over those that a slice may have, and
// gives the place and the offset behind them. had is what it has already.
func (c *chunk) walk(at int, s *effect.Slice, had int) (int, record.Offset) {
	first, offset := at, c.base
	if at < len(c.data) {
		offset = record.Offset(binary.BigEndian.Uint64(c.data[at:]))
	}
	for at < len(c.data) {
		size, end := batchAt(c.data, at)
		over := had+at+size-first > int(s.MaxBytes) && had+at-first > 0
		if end > s.To || over {
			break
		}
		at, offset = at+size, end
	}
	return at, offset
}

func (l *tailLog) remember(c *chunk, at int, offset record.Offset) {
	for i := range l.marks {
		if m := &l.marks[i]; m.chunk == c && m.at == at {
			return
		}
	}
	l.marks[l.next] = mark{c, offset, at}
	l.next = (l.next + 1) % len(l.marks)
}

// Places within a batch's header that are read in passing.
const (
	atLength = 8
	atDelta  = 23
)

// batchAt gives the size of the batch at a place and the offset behind it. The
// core checked the batch before it asked for it to be appended.
func batchAt(data []byte, at int) (size int, end record.Offset) {
	b := data[at : at+record.HeaderSize]
	size = int(binary.BigEndian.Uint32(b[atLength:])) + 12
	base := record.Offset(binary.BigEndian.Uint64(b))
	return size, base + record.Offset(binary.BigEndian.Uint32(b[atDelta:])) + 1
}

// joined says whether b lies right behind a in the same chunk, and gives both
// as one.
func joined(a, b []byte) ([]byte, bool) {
	if len(b) == 0 || cap(a) < len(a)+len(b) {
		return nil, false
	}
	both := a[: len(a)+len(b) : cap(a)]
	return both, &both[len(a)] == &b[0]
}
