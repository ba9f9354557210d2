package record

import (
	"encoding/binary"
	"math"
	"slices"
)

// Builder puts records into one batch, as a producer does. Records are encoded
// behind room for the header, so that nothing is copied twice. The zero
// Builder is ready, and so is one after Build.
type Builder struct {
	buf   []byte // HeaderSize bytes of room, then the records
	count int32
	base  Timestamp // of the first record
	max   Timestamp
}

// MaxBatchSize is the largest batch whose length fits its field.
const MaxBatchSize = math.MaxInt32

// Count is the number of records so far.
func (b *Builder) Count() int { return int(b.count) }

// Size is the number of bytes that the batch would have now, uncompressed.
func (b *Builder) Size() int { return max(len(b.buf), HeaderSize) }

// Reserve makes room for a batch of size bytes in one go.
func (b *Builder) Reserve(size int) {
	if cap(b.buf) < size {
		b.buf = append(make([]byte, 0, max(size, HeaderSize)), b.buf...)
	}
}

// SizeBound is an upper bound of what a record adds to a batch.
func SizeBound(key, value []byte, headers []RecordHeader) int {
	const fixed = maxVarint32 + 1 + binary.MaxVarintLen64 + 4*maxVarint32
	n := fixed + len(key) + len(value)
	for i := range headers {
		n += 2*maxVarint32 + len(headers[i].Key) + len(headers[i].Value)
	}
	return n
}

// Append adds a record. A nil key or value is kept apart from an empty one.
// Without a place in the batch (ErrTooLarge) nothing has changed: Build the
// batch and try again.
func (b *Builder) Append(at Timestamp, key, value []byte, headers []RecordHeader) error {
	if bound := SizeBound(key, value, headers); bound > MaxBatchSize-b.Size() || b.count == math.MaxInt32 {
		return invalid(ErrTooLarge, int64(bound)+int64(b.Size()), MaxBatchSize)
	}
	if b.count == 0 {
		b.base, b.max = at, at
		if cap(b.buf) < HeaderSize {
			b.buf = make([]byte, HeaderSize, HeaderSize+SizeBound(key, value, headers))
		}
		b.buf = b.buf[:HeaderSize]
	}
	b.max = max(b.max, at)
	b.encode(int64(at)-int64(b.base), key, value, headers)
	b.count++
	return nil
}

func (b *Builder) encode(timeDelta int64, key, value []byte, headers []RecordHeader) {
	size := 1 + varintSize(timeDelta) + varintSize(int64(b.count)) + bytesSize(key) + bytesSize(value) +
		varintSize(int64(len(headers)))
	for i := range headers {
		size += varintSize(int64(len(headers[i].Key))) + len(headers[i].Key) + bytesSize(headers[i].Value)
	}
	if room := size + maxVarint32; cap(b.buf)-len(b.buf) < room {
		b.buf = slices.Grow(b.buf, max(room, len(b.buf))) // doubles: most batches hold many records
	}
	buf := binary.AppendVarint(b.buf, int64(size))
	buf = append(buf, 0) // a record's attributes: none are in use
	buf = binary.AppendVarint(buf, timeDelta)
	buf = binary.AppendVarint(buf, int64(b.count))
	buf = appendBytes(buf, key)
	buf = appendBytes(buf, value)
	buf = binary.AppendVarint(buf, int64(len(headers)))
	for i := range headers {
		buf = binary.AppendVarint(buf, int64(len(headers[i].Key)))
		buf = append(buf, headers[i].Key...)
		buf = appendBytes(buf, headers[i].Value)
	}
	b.buf = buf
}

func bytesSize(v []byte) int {
	if v == nil {
		return varintSize(-1)
	}
	return varintSize(int64(len(v))) + len(v)
}

func appendBytes(buf, v []byte) []byte {
	if v == nil {
		return binary.AppendVarint(buf, -1)
	}
	return append(binary.AppendVarint(buf, int64(len(v))), v...)
}

// Build ends the batch and hands its bytes over: base offset 0, no leader
// epoch, no producer (see SetProducer). It returns nil when there is no
// record. The Builder is empty then and does not keep the bytes.
func (b *Builder) Build() []byte {
	if b.count == 0 {
		return nil
	}
	batch := b.buf
	b.seal(batch, noAttributes)
	*b = Builder{}
	return batch
}

// Empty drops all records and keeps the memory.
func (b *Builder) Empty() { *b = Builder{buf: b.buf[:0]} }

func (b *Builder) seal(batch []byte, attributes Attributes) {
	h := Header{
		Length:          int32(len(batch) - lengthEnd),
		LeaderEpoch:     NoLeaderEpoch,
		Attributes:      attributes,
		LastOffsetDelta: b.count - 1,
		BaseTimestamp:   b.base,
		MaxTimestamp:    b.max,
		ProducerID:      NoProducerID,
		ProducerEpoch:   NoProducerEpoch,
		BaseSequence:    NoSequence,
		Count:           b.count,
	}
	EncodeHeader(batch, &h)
	binary.BigEndian.PutUint32(batch[atCRC:], Checksum(batch))
}
