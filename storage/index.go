package storage

import (
	"encoding/binary"
	"math"
	"sort"

	"github.com/tamarack-mq/tamarack/core/record"
)

// index tells where in a segment some of its batches begin. It holds nothing
// that the segment does not hold: it is written without being synced, and made
// anew when it is missing, damaged or does not fit.
type index struct {
	interval int64
	entries  []indexEntry // the first is that of the first batch
	size     int64        // bytes of the segment that are indexed
	end      record.Offset
	latest   record.Timestamp // at least the latest of all batches
}

// indexEntry is one batch.
type indexEntry struct {
	offset record.Offset
	pos    int64
	before record.Timestamp // at least the latest of all batches before it; of the first, noTime
}

// noTime is the latest time of no batch at all.
const noTime record.Timestamp = math.MinInt64

// newIndex is the index of an empty segment.
func newIndex(base record.Offset, interval int64) *index {
	return &index{interval: interval, end: base, latest: noTime}
}

// add indexes the batch that begins at the indexed end.
func (x *index) add(h *record.Header) {
	if n := len(x.entries); n == 0 || x.size-x.entries[n-1].pos >= x.interval {
		x.entries = append(x.entries, indexEntry{h.BaseOffset, x.size, x.latest})
	}
	x.size += int64(h.Size())
	x.end = h.End()
	x.latest = max(x.latest, h.MaxTimestamp)
}

// cut forgets what lies at and behind an offset. pos is where that is.
func (x *index) cut(end record.Offset, pos int64) {
	n := len(x.entries)
	for n > 0 && x.entries[n-1].pos >= pos {
		n--
	}
	x.entries = x.entries[:n:n]
	x.size, x.end = pos, end
	if n == 0 {
		x.latest = noTime // or the next first batch has one before it, and searches by time stop there
	}
}

// find returns the last entry at or below an offset; ok is false when there is
// none.
func (x *index) find(off record.Offset) (e indexEntry, ok bool) {
	i := sort.Search(len(x.entries), func(i int) bool { return x.entries[i].offset > off })
	if i == 0 {
		return indexEntry{}, false
	}
	return x.entries[i-1], true
}

// findTime returns an entry before which no batch is as late as at.
func (x *index) findTime(at record.Timestamp) (e indexEntry, ok bool) {
	i := sort.Search(len(x.entries), func(i int) bool { return x.entries[i].before >= at })
	if i == 0 {
		return indexEntry{}, false
	}
	return x.entries[i-1], true
}

// snapshot is the index as it is now, for readers that hold no lock.
func (x *index) snapshot() index {
	s := *x
	s.entries = x.entries[:len(x.entries):len(x.entries)]
	return s
}

const (
	indexKind = "TMIX"
	indexHead = 8 + 8 + 8
	entrySize = 8 + 8 + 8
)

func (x *index) encode() []byte {
	b := make([]byte, 0, indexHead+len(x.entries)*entrySize)
	b = binary.BigEndian.AppendUint64(b, uint64(x.size))
	b = binary.BigEndian.AppendUint64(b, uint64(x.end))
	b = binary.BigEndian.AppendUint64(b, uint64(x.latest))
	for _, e := range x.entries {
		b = binary.BigEndian.AppendUint64(b, uint64(e.offset))
		b = binary.BigEndian.AppendUint64(b, uint64(e.pos))
		b = binary.BigEndian.AppendUint64(b, uint64(e.before))
	}
	return seal(indexKind, b)
}

// decodeIndex reads the index of a segment that begins at base. It returns nil
// when it is damaged or not of that segment.
func decodeIndex(b []byte, base record.Offset, interval int64) *index {
	p, ok := unseal(indexKind, b)
	if !ok || len(p) < indexHead || (len(p)-indexHead)%entrySize != 0 {
		return nil
	}
	x := newIndex(base, interval)
	x.size = int64(binary.BigEndian.Uint64(p))
	x.end = record.Offset(binary.BigEndian.Uint64(p[8:]))
	x.latest = record.Timestamp(binary.BigEndian.Uint64(p[16:]))
	offset, pos := base, int64(0)
	for p = p[indexHead:]; len(p) > 0; p = p[entrySize:] {
		e := indexEntry{
			offset: record.Offset(binary.BigEndian.Uint64(p)),
			pos:    int64(binary.BigEndian.Uint64(p[8:])),
			before: record.Timestamp(binary.BigEndian.Uint64(p[16:])),
		}
		first := len(x.entries) == 0
		if first && (e.offset != base || e.pos != 0 || e.before != noTime) || !first && (e.offset <= offset || e.pos <= pos) {
			return nil
		}
		offset, pos = e.offset, e.pos
		x.entries = append(x.entries, e)
	}
	if empty := len(x.entries) == 0; x.end < base || x.size < 0 || empty != (x.size == 0) || !empty && (x.size <= pos || x.end <= offset) {
		return nil
	}
	return x
}
