package record

import (
	"encoding/binary"
	"hash/crc32"
)

// Where the fields of a batch lie. The checksum covers all from the attributes
// on: base offset and leader epoch, which the leader stamps, lie outside it.
const (
	atBaseOffset      = 0
	atLength          = 8
	atLeaderEpoch     = 12
	atMagic           = 16
	atCRC             = 17
	atAttributes      = 21
	atLastOffsetDelta = 23
	atBaseTimestamp   = 27
	atMaxTimestamp    = 35
	atProducerID      = 43
	atProducerEpoch   = 51
	atBaseSequence    = 53
	atCount           = 57

	lengthEnd = 12 // Length counts the bytes from here on
	magic     = 2
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// DecodeHeader reads the header at the start of b. It fails when b is shorter
// than a header (ErrShort), when the magic is not 2 (ErrMagic) and when the
// length cannot hold a header (ErrLength). It checks nothing else, and b may
// end before the batch does: see Validate.
func DecodeHeader(b []byte) (Header, error) {
	if len(b) < HeaderSize {
		return Header{}, invalid(ErrShort, int64(len(b)), HeaderSize)
	}
	if b[atMagic] != magic {
		return Header{}, invalid(ErrMagic, int64(b[atMagic]), magic)
	}
	length := int32(binary.BigEndian.Uint32(b[atLength:]))
	if length < HeaderSize-lengthEnd || length > 1<<31-1-lengthEnd {
		return Header{}, invalid(ErrLength, int64(length), HeaderSize-lengthEnd)
	}
	return Header{
		BaseOffset:      Offset(binary.BigEndian.Uint64(b[atBaseOffset:])),
		Length:          length,
		LeaderEpoch:     LeaderEpoch(binary.BigEndian.Uint32(b[atLeaderEpoch:])),
		CRC:             binary.BigEndian.Uint32(b[atCRC:]),
		Attributes:      Attributes(binary.BigEndian.Uint16(b[atAttributes:])),
		LastOffsetDelta: int32(binary.BigEndian.Uint32(b[atLastOffsetDelta:])),
		BaseTimestamp:   Timestamp(binary.BigEndian.Uint64(b[atBaseTimestamp:])),
		MaxTimestamp:    Timestamp(binary.BigEndian.Uint64(b[atMaxTimestamp:])),
		ProducerID:      ProducerID(binary.BigEndian.Uint64(b[atProducerID:])),
		ProducerEpoch:   ProducerEpoch(binary.BigEndian.Uint16(b[atProducerEpoch:])),
		BaseSequence:    Sequence(binary.BigEndian.Uint32(b[atBaseSequence:])),
		Count:           int32(binary.BigEndian.Uint32(b[atCount:])),
	}, nil
}

// EncodeHeader writes h, its CRC field included, over the first HeaderSize
// bytes of b. It panics when b is shorter.
func EncodeHeader(b []byte, h *Header) {
	_ = b[HeaderSize-1]
	binary.BigEndian.PutUint64(b[atBaseOffset:], uint64(h.BaseOffset))
	binary.BigEndian.PutUint32(b[atLength:], uint32(h.Length))
	binary.BigEndian.PutUint32(b[atLeaderEpoch:], uint32(h.LeaderEpoch))
	b[atMagic] = magic
	binary.BigEndian.PutUint32(b[atCRC:], h.CRC)
	binary.BigEndian.PutUint16(b[atAttributes:], uint16(h.Attributes))
	binary.BigEndian.PutUint32(b[atLastOffsetDelta:], uint32(h.LastOffsetDelta))
	binary.BigEndian.PutUint64(b[atBaseTimestamp:], uint64(h.BaseTimestamp))
	binary.BigEndian.PutUint64(b[atMaxTimestamp:], uint64(h.MaxTimestamp))
	binary.BigEndian.PutUint64(b[atProducerID:], uint64(h.ProducerID))
	binary.BigEndian.PutUint16(b[atProducerEpoch:], uint16(h.ProducerEpoch))
	binary.BigEndian.PutUint32(b[atBaseSequence:], uint32(h.BaseSequence))
	binary.BigEndian.PutUint32(b[atCount:], uint32(h.Count))
}

// Checksum is the CRC-32C that a whole batch should carry.
func Checksum(batch []byte) uint32 { return crc32.Checksum(batch[atAttributes:], castagnoli) }

// Stamp gives a batch its place: the offset of its first record and the epoch
// of the leader that appends it. Both lie outside the checksum.
func Stamp(batch []byte, base Offset, epoch LeaderEpoch) {
	binary.BigEndian.PutUint64(batch[atBaseOffset:], uint64(base))
	binary.BigEndian.PutUint32(batch[atLeaderEpoch:], uint32(epoch))
}

// SetProducer gives a batch its place in the sequence of an idempotent
// producer and renews the checksum. A client does it when it numbers a batch,
// and again when it retries one after a bump of its epoch. It must own the
// bytes: a batch that was handed to a network may still be in use there.
func SetProducer(batch []byte, id ProducerID, epoch ProducerEpoch, base Sequence) {
	binary.BigEndian.PutUint64(batch[atProducerID:], uint64(id))
	binary.BigEndian.PutUint16(batch[atProducerEpoch:], uint16(epoch))
	binary.BigEndian.PutUint32(batch[atBaseSequence:], uint32(base))
	binary.BigEndian.PutUint32(batch[atCRC:], Checksum(batch))
}

// SetTransactional is SetProducer for a batch of a transaction.
func SetTransactional(batch []byte, id ProducerID, epoch ProducerEpoch, base Sequence) {
	attributes := Attributes(binary.BigEndian.Uint16(batch[atAttributes:])) | transactionalBit
	binary.BigEndian.PutUint16(batch[atAttributes:], uint16(attributes))
	SetProducer(batch, id, epoch, base)
}
