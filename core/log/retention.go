package log

import (
	"math"

	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// Defaults of a topic's settings.
const (
	DefaultChunkBytes                  = 128 << 20
	DefaultAge                         = 7 * 24 * message.Hour
	longestChunk                       = 24 * message.Hour
	chunksPerAge                       = 8
	noTimestamp       record.Timestamp = -1
)

// Retention are the limits of a log.
type Retention struct {
	Bytes int64            // keep at least this much; below 1: no limit
	Age   message.Duration // keep records at least this long; below 0: no limit
}

// RetentionOf reads the limits from a topic's settings, with their defaults.
func RetentionOf(c message.TopicConfig) Retention {
	r := Retention{Bytes: max(c.RetentionBytes, 0), Age: c.RetentionTime}
	if r.Age == 0 {
		r.Age = DefaultAge
	}
	return r
}

// chunks are stretches of settled batches, oldest first, each starting where
// the one before it ends; the last one ends at the settled point. They are what
// retention moves the log start over, so that it costs little to keep and to
// ask. Segments of storage need not have the same bounds: storage frees those
// that lie wholly below the log start.
type chunks struct {
	list   []chunk
	total  int64 // bytes of all
	limits chunkLimits

	// A log that was restored does not know its limits before SetChunks: until then
	// each batch is a chunk, from number single on.
	waiting bool
	single  int
}

type chunk struct {
	start  record.Offset
	bytes  int64
	oldest record.Timestamp // the latest of the first batch
	latest record.Timestamp // of all records
}

type chunkLimits struct {
	bytes int64
	span  message.Duration
}

// full says whether the next batch, whose records go up to latest, belongs
// into a new chunk.
func (l chunkLimits) full(c *chunk, latest record.Timestamp) bool {
	bytes, span := l.bytes, l.span
	if bytes < 1 {
		bytes = DefaultChunkBytes
	}
	if span < message.Millisecond {
		span = longestChunk
	}
	return c.bytes >= bytes || latest-c.oldest >= milliseconds(span)
}

func milliseconds(d message.Duration) record.Timestamp {
	return record.Timestamp(d / message.Millisecond)
}

func (c *chunks) add(h *record.Header) {
	if n := len(c.list); n == 0 || c.waiting || c.limits.full(&c.list[n-1], h.MaxTimestamp) {
		c.list = append(c.list, chunk{start: h.BaseOffset, oldest: h.MaxTimestamp, latest: noTimestamp})
	}
	last := &c.list[len(c.list)-1]
	last.bytes += int64(h.Size())
	last.latest = max(last.latest, h.MaxTimestamp)
	c.total += int64(h.Size())
}

// wait makes each batch that comes a chunk until the limits are known.
func (c *chunks) wait() { c.waiting, c.single = true, len(c.list) }

// group puts together what is one chunk by the limits, now that they are known.
func (c *chunks) group() {
	if !c.waiting {
		return
	}
	c.waiting = false
	list := append([]chunk(nil), c.list[:c.single]...)
	for _, one := range c.list[c.single:] {
		if n := len(list); n == 0 || c.limits.full(&list[n-1], one.oldest) {
			list = append(list, one)
			continue
		}
		last := &list[len(list)-1]
		last.bytes += one.bytes
		last.latest = max(last.latest, one.latest)
	}
	c.list = list
}

// end is the offset behind chunk i.
func (c *chunks) end(i int, settled record.Offset) record.Offset {
	if i+1 < len(c.list) {
		return c.list[i+1].start
	}
	return settled
}

// trim drops the chunks that lie wholly below start.
func (c *chunks) trim(start, settled record.Offset) {
	gone := 0
	for gone < len(c.list) && c.end(gone, settled) <= start {
		c.total -= c.list[gone].bytes
		gone++
	}
	if gone > 0 {
		c.list = append([]chunk(nil), c.list[gone:]...)
		c.single = max(c.single-gone, 0)
	}
}

// SetChunks sets how coarse retention works, from a topic's settings: the log
// start moves over chunks of about one segment's bytes, or an eighth of the
// retention age (at most a day) of records, whichever is less. It holds for
// chunks that begin from now on, and outlives Reset. To a log that was restored
// nobody has said it yet: what is settled behind the checkpoint before the first
// call gets the bounds that it would have had.
func (l *Log) SetChunks(segmentBytes int32, r Retention) {
	l.chunks.limits.bytes = int64(segmentBytes)
	l.chunks.limits.span = min(max(r.Age/chunksPerAge, 0), longestChunk)
	l.chunks.group()
}

// Retire returns the log start that the limits ask for now; Start() when
// nothing is to go. It is a batch boundary, never above LastStable(highWatermark)
// and so never above highWatermark, and changes nothing by itself: see TrimPrefix. Only the leader retires; followers
// get its log start. now is the wall clock.
//
// By size a chunk goes when what is left still has r.Bytes, and never the last
// chunk. By age it goes when its latest record is older than r.Age; a chunk
// without timestamps does not age. Chunks go from the oldest on: one that must
// stay keeps all behind it.
func (l *Log) Retire(now record.Timestamp, highWatermark record.Offset, r Retention) record.Offset {
	start, left, stable := l.start, l.Bytes(), l.LastStable(highWatermark)
	for i := range l.chunks.list {
		c := &l.chunks.list[i]
		end := l.chunks.end(i, l.settled)
		bySize := r.Bytes > 0 && i+1 < len(l.chunks.list) && left-c.bytes >= r.Bytes
		if end > stable || !bySize && !c.aged(now, r) {
			break
		}
		start, left = end, left-c.bytes
	}
	return start
}

func (c *chunk) aged(now record.Timestamp, r Retention) bool {
	return r.Age >= 0 && c.latest >= 0 && c.latest < now-milliseconds(r.Age)
}

// RetireAt is the earliest wall time at which age makes Retire move the log
// start, as far as is known now; ok is false when age never will.
func (l *Log) RetireAt(r Retention) (at record.Timestamp, ok bool) {
	if r.Age < 0 || len(l.chunks.list) == 0 {
		return 0, false
	}
	latest, age := l.chunks.list[0].latest, milliseconds(r.Age)
	if latest < 0 || latest >= math.MaxInt64-age {
		return 0, false
	}
	return latest + age + 1, true
}
