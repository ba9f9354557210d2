package client

import (
	"fmt"
	"slices"

	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// buffer is what was fetched of a partition and not handed over yet: bytes as
// they came, read record by record when they are handed over.
type buffer struct {
	chunks  []chunk // those not begun
	size    int64   // of them and of the one being read
	reading int64   // of the one being read; 0: none is
	batches record.BatchIterator
	header  record.Header
	records record.RecordIterator
	inBatch bool
	aborted aborted // of the chunk being read
}

// chunk is what one fetch gave.
type chunk struct {
	bytes   []byte
	aborted []message.AbortedTransaction
}

// maxCorrupt is how many replies in a row may be unreadable before the
// application is told.
const maxCorrupt = 5

// discard empties the buffer.
func (f *flow) discard() {
	f.k.buffered -= f.buffer.size
	f.buffer = buffer{}
}

// take checks fetched batches and puts them into the buffer. The first may
// begin below the position; the reader skips to it. dropped are the aborted
// transactions among them.
func (f *flow) take(fetched []byte, dropped []message.AbortedTransaction) {
	kept := 0
	it := record.Batches(fetched)
	for it.Next() {
		h := &it.Header
		if record.Checksum(it.Bytes) != h.CRC || h.LastOffsetDelta < 0 || h.BaseOffset < 0 || h.End() <= h.BaseOffset {
			f.unreadable("a batch is damaged")
			break
		}
		kept += len(it.Bytes)
		if h.End() > f.at {
			f.at, f.atEpoch = h.End(), h.LeaderEpoch
			f.corrupt = 0
		}
	}
	if kept == 0 || f.at == f.given {
		if kept == 0 && len(fetched) > 0 && it.Err() != nil {
			f.unreadable("what the broker sent is no batch")
		}
		return
	}
	f.buffer.chunks = append(f.buffer.chunks, chunk{fetched[:kept], dropped})
	f.buffer.size += int64(kept)
	f.k.buffered += int64(kept)
}

// unreadable tries again, and tells the application when that does not help.
func (f *flow) unreadable(what string) {
	if f.corrupt++; f.corrupt < maxCorrupt || f.at > f.given {
		f.pauseAfter()
		f.k.c.cluster.want()
		return
	}
	f.corrupt = 0
	f.stop(&Error{Problem: Refused, Code: message.CorruptMessage, Detail: fmt.Sprintf(
		"%s/%d at offset %d: %s: Seek past it, or let the broker repair it", f.place.Topic, f.place.Partition, f.at, what)})
}

// pop hands over up to limit records, in order, from given on.
func (f *flow) pop(limit int) (out []Record) {
	b := &f.buffer
	for len(out) < limit && f.stage == reading {
		if !b.inBatch {
			if !f.nextBatch() {
				break
			}
			out = slices.Grow(out, max(0, min(limit-len(out), int(b.header.Count), len(b.batches.Bytes))))
		}
		if !b.records.Next() {
			b.inBatch = false
			if b.records.Err() != nil {
				f.brokenBatch("its records cannot be read")
				break
			}
			f.passed(&b.header)
			continue
		}
		r := &b.records.Record
		if r.Offset < f.given {
			continue
		}
		out = append(out, Record{Offset: r.Offset, LeaderEpoch: b.header.LeaderEpoch, Timestamp: r.Timestamp,
			Key: r.Key, Value: r.Value, Headers: r.Headers.List()})
		f.given, f.givenEpoch, f.used = r.Offset+1, b.header.LeaderEpoch, true
	}
	return out
}

// nextBatch opens the next batch that holds records for the application.
func (f *flow) nextBatch() bool {
	b := &f.buffer
	for {
		if b.reading == 0 {
			if len(b.chunks) == 0 {
				return false
			}
			b.batches = record.Batches(b.chunks[0].bytes)
			b.reading = int64(len(b.chunks[0].bytes))
			b.aborted.begin(b.chunks[0].aborted)
			b.chunks = b.chunks[1:]
		}
		if !b.batches.Next() {
			f.k.buffered -= b.reading
			b.size -= b.reading
			b.reading = 0
			f.drain = f.drain && b.size > 0
			f.k.stir = true
			continue
		}
		b.header = b.batches.Header
		dropped := b.aborted.drops(&b.header)
		switch {
		case b.header.End() <= f.given:
		case dropped || b.header.Attributes.Control():
			f.skipped(&b.header)
		case b.header.Attributes.Codec() != record.NoCodec:
			f.brokenBatch("it is compressed with " + b.header.Attributes.Codec().String() + ", which this client cannot read")
			return false
		default:
			b.records = record.Records(&b.header, record.Payload(b.batches.Bytes))
			b.inBatch = true
			return true
		}
	}
}

// passed moves the position behind a batch whose last records are not for the
// application.
func (f *flow) passed(h *record.Header) {
	if h.End() > f.given {
		f.given, f.givenEpoch = h.End(), h.LeaderEpoch
	}
}

// skipped moves the position over a batch of which nothing is for the application.
// There is nothing to come back from either, so what it has processed moves along.
func (f *flow) skipped(h *record.Header) {
	back := f.given == f.processed
	f.passed(h)
	f.used = true
	if back {
		f.processed, f.processedEpoch = f.given, f.givenEpoch
	}
}

// brokenBatch stops the flow at a batch whose checksum is right but whose
// content is of no use.
func (f *flow) brokenBatch(what string) {
	f.stop(&Error{Problem: Refused, Code: message.CorruptMessage, Detail: fmt.Sprintf(
		"%s/%d: the batch at offset %d cannot be handed over: %s: Seek past it", f.place.Topic, f.place.Partition, f.buffer.header.BaseOffset, what)})
}
