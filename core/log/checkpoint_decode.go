package log

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"

	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// decodeSnapshot reads what encode wrote. It takes nothing on trust: a
// snapshot that it returns holds whatever the rest of this package relies on.
func decodeSnapshot(b []byte) (snapshot, error) {
	if len(b) < 6 {
		return snapshot{}, fmt.Errorf("%w: %d bytes are too few", ErrCheckpoint, len(b))
	}
	body, sum := b[:len(b)-4], binary.BigEndian.Uint32(b[len(b)-4:])
	if crc32.Checksum(body, castagnoli) != sum {
		return snapshot{}, fmt.Errorf("%w: its checksum does not match", ErrCheckpoint)
	}
	if body[0] != plainVersion && body[0] != transactionalVersion {
		return snapshot{}, fmt.Errorf("%w: it has version %d, this program reads versions %d and %d",
			ErrCheckpoint, body[0], plainVersion, transactionalVersion)
	}
	if body[1]&^flagForgotten != 0 {
		return snapshot{}, fmt.Errorf("%w: it has unknown flags %#x", ErrCheckpoint, body[1])
	}
	r := reader{rest: body[2:], transactional: body[0] == transactionalVersion}
	s := snapshot{forgotten: body[1]&flagForgotten != 0}
	s.at = record.Offset(r.number("offset", 0, math.MaxInt64))
	r.epochs(&s)
	r.chunks(&s)
	r.producers(&s)
	if r.transactional {
		r.aborted(&s)
	}
	if r.err == nil && len(r.rest) > 0 {
		r.fail("%d bytes follow its end", len(r.rest))
	}
	if r.err != nil {
		return snapshot{}, r.err
	}
	return s, nil
}

// reader reads varints until the first thing that is wrong.
type reader struct {
	rest          []byte
	transactional bool // version 2
	err           error
}

func (r *reader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("%w: %s", ErrCheckpoint, fmt.Sprintf(format, args...))
	}
}

// number reads one number of [low, high].
func (r *reader) number(what string, low, high int64) int64 {
	if r.err != nil {
		return 0
	}
	v, n := binary.Varint(r.rest)
	if n <= 0 {
		r.fail("it ends inside a number (%s)", what)
		return 0
	}
	r.rest = r.rest[n:]
	if v < low || v > high {
		r.fail("%s is %d, outside [%d, %d]", what, v, low, high)
		return 0
	}
	return v
}

// list reads a count and calls each that often. An entry takes at least size
// bytes, so that a count which cannot be true is refused before memory is
// taken for it.
func (r *reader) list(what string, size int, room func(n int), each func()) {
	n := r.number(what, 0, int64(len(r.rest)/size))
	room(int(n))
	for ; n > 0 && r.err == nil; n-- {
		each()
	}
}

func (r *reader) epochs(s *snapshot) {
	epoch, start := int64(-1), int64(-1)
	r.list("number of epochs", 2, func(n int) { s.epochs = make(history, 0, n) }, func() {
		epoch = r.number("epoch", epoch+1, math.MaxInt32)
		start = r.number("epoch start", start+1, int64(s.at)-1)
		s.epochs = append(s.epochs, epochStart{record.LeaderEpoch(epoch), record.Offset(start)})
	})
}

func (r *reader) chunks(s *snapshot) {
	start, total := int64(-1), int64(0)
	r.list("number of chunks", 4, func(n int) { s.chunks = make([]chunk, 0, n) }, func() {
		start = r.number("chunk start", start+1, int64(s.at)-1)
		c := chunk{start: record.Offset(start)}
		c.bytes = r.number("chunk size", 0, math.MaxInt64-total)
		total += c.bytes
		c.oldest = record.Timestamp(r.number("timestamp", math.MinInt64, math.MaxInt64))
		c.latest = record.Timestamp(r.number("timestamp", int64(noTimestamp), math.MaxInt64))
		s.chunks = append(s.chunks, c)
	})
}

func (r *reader) producers(s *snapshot) {
	const longest = math.MaxInt64 / int64(message.Millisecond)
	id, size, least := int64(-1), 7, int64(1)
	if r.transactional {
		size, least = 5, 0
	}
	r.list("number of producers", size, func(n int) { s.producers = make([]snapshotProducer, 0, n) }, func() {
		var p snapshotProducer
		id = r.number("producer id", id+1, math.MaxInt64)
		p.id = record.ProducerID(id)
		p.run.epoch = record.ProducerEpoch(r.number("producer epoch", 0, math.MaxInt16))
		p.idle = message.Duration(r.number("idle time", 0, longest)) * message.Millisecond
		count := r.number("number of batches", least, remembered)
		end := int64(0)
		for ; count > 0 && r.err == nil; count-- {
			b := r.batch(end, s.at)
			if n := p.run.count; n > 0 && r.err == nil && b.first != record.AddSequence(p.run.newest().last(), 1) {
				r.fail("the batches of producer %d leave a gap", id)
			}
			p.run.batches[p.run.count] = b
			p.run.count++
			end = int64(b.end())
		}
		if r.transactional {
			r.transactions(&p, s.at)
		}
		s.producers = append(s.producers, p)
	})
}

// batch reads a batch that lies at or behind from and begins below at.
func (r *reader) batch(from int64, at record.Offset) batch {
	b := batch{base: record.Offset(r.number("batch offset", from, int64(at)-1))}
	b.first = record.Sequence(r.number("sequence", 0, math.MaxInt32))
	b.delta = int32(r.number("batch length", 0, min(math.MaxInt32, math.MaxInt64-1-int64(b.base))))
	return b
}

// transactions reads what version 2 says of a producer. Batches and an open
// transaction stand behind the marker, and a producer is there for a reason.
func (r *reader) transactions(p *snapshotProducer, at record.Offset) {
	kind := r.number("kind of producer", 0, kindTransactional|kindOpen|kindMarked)
	p.run.transactional = kind&kindTransactional != 0
	first := at // of what must stand behind the marker
	if p.run.count > 0 {
		first = p.run.batches[0].base
	}
	if kind&kindOpen != 0 {
		latest := at
		if p.run.count > 0 {
			latest = p.run.newest().base + 1
		}
		p.run.open = spotAt(record.Offset(r.number("first offset of a transaction", 0, int64(latest)-1)))
		first = min(first, p.run.open.offset())
	}
	if kind&kindMarked != 0 {
		p.run.marker = spotAt(record.Offset(r.number("marker", 0, int64(first)-1)))
		p.run.coordinator = record.LeaderEpoch(r.number("coordinator epoch", 0, math.MaxInt32))
	}
	switch {
	case r.err != nil:
		p.run = run{}
	case p.run.count == 0 && kind&(kindOpen|kindMarked) == 0:
		r.fail("of producer %d there is nothing", p.id)
	case kind&kindTransactional == 0 && (kind&kindOpen != 0 || p.run.count == 0):
		r.fail("the epoch of producer %d is not one of transactions, but there is one", p.id)
	}
}

func (r *reader) aborted(s *snapshot) {
	marker := int64(-1)
	r.list("number of aborted transactions", 3, func(n int) { s.aborted = make([]span, 0, n) }, func() {
		marker = r.number("marker", marker+1, int64(s.at)-1)
		a := span{marker: record.Offset(marker)}
		a.id = record.ProducerID(r.number("producer id", 0, math.MaxInt64))
		a.first = record.Offset(r.number("first offset of a transaction", 0, marker-1))
		s.aborted = append(s.aborted, a)
	})
}
