package record

// Header is the fixed part of a record batch in Kafka's format v2 (magic 2), the
// first HeaderSize bytes, decoded.
type Header struct {
	BaseOffset      Offset
	Length          int32 // bytes behind this field: the whole batch is Length+12
	LeaderEpoch     LeaderEpoch
	CRC             uint32 // CRC-32C of everything from Attributes on
	Attributes      Attributes
	LastOffsetDelta int32
	BaseTimestamp   Timestamp
	MaxTimestamp    Timestamp
	ProducerID      ProducerID
	ProducerEpoch   ProducerEpoch
	BaseSequence    Sequence
	Count           int32

	// Marker is what a control batch holds that ends a transaction. It stands
	// behind the HeaderSize bytes: Validate, Batches and FillMarker set it,
	// DecodeHeader does not.
	Marker Marker
}

// HeaderSize is the number of bytes before the first record.
const HeaderSize = 61

// Attributes are the flags of a batch: codec in bits 0-2, timestamp type in bit
// 3, transactional in bit 4, control in bit 5.
type Attributes int16

// End is the offset behind the last record of the batch.
func (h *Header) End() Offset { return h.BaseOffset + Offset(h.LastOffsetDelta) + 1 }

// Size is the number of bytes of the whole batch.
func (h *Header) Size() int { return int(h.Length) + 12 }

// AddSequence moves a sequence n steps on. It wraps from 2^31-1 to 0.
func AddSequence(s Sequence, n int32) Sequence {
	return Sequence((int64(s) + int64(n)) & 0x7fffffff)
}
