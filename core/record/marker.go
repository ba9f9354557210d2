package record

import (
	"encoding/binary"
	"math"
)

// Outcome is how a transaction ended.
type Outcome int8

// The outcomes; NoOutcome is that of no marker at all.
const (
	NoOutcome Outcome = iota
	Aborted
	Committed
)

// String names the outcome.
func (o Outcome) String() string {
	switch o {
	case Aborted:
		return "abort"
	case Committed:
		return "commit"
	}
	return "none"
}

// Marker is the content of a control batch: the end of the transaction that its
// producer had open in the partition. The zero Marker is none.
type Marker struct {
	Outcome Outcome
	// CoordinatorEpoch is the leader epoch in which the transaction coordinator
	// led its shard when it decided to write the marker.
	CoordinatorEpoch LeaderEpoch
}

// The types of control records, as they stand in keys.
const (
	abortType  = 0
	commitType = 1
)

// What a marker's record holds (Kafka's EndTxnMarker), with big-endian numbers.
// Versions above 0 only add bytes behind these.
//
//	key    version (int16), type (int16)
//	value  version (int16), coordinator epoch (int32)
const (
	markerKeySize   = 4
	markerValueSize = 6
)

// MarkerSize is the size of a batch that BuildMarker makes.
const MarkerSize = HeaderSize + 17

// BuildMarker makes the control batch that ends a transaction of a producer:
// base offset 0, no leader epoch (see Stamp). epoch is one above that of the
// transaction, and fences it. It panics when the marker has no outcome.
func BuildMarker(at Timestamp, id ProducerID, epoch ProducerEpoch, m Marker) []byte {
	var kind uint16
	switch m.Outcome {
	case Aborted:
		kind = abortType
	case Committed:
		kind = commitType
	default:
		panic("record: a marker has no outcome")
	}
	content := make([]byte, 0, markerKeySize+markerValueSize)
	content = binary.BigEndian.AppendUint16(content, 0)
	content = binary.BigEndian.AppendUint16(content, kind)
	content = binary.BigEndian.AppendUint16(content, 0)
	content = binary.BigEndian.AppendUint32(content, uint32(m.CoordinatorEpoch))
	var b Builder
	b.Reserve(MarkerSize)
	b.base, b.max, b.buf = at, at, b.buf[:HeaderSize]
	b.encode(0, content[:markerKeySize], content[markerKeySize:], nil)
	b.count = 1
	b.seal(b.buf, transactionalBit|controlBit)
	SetProducer(b.buf, id, epoch, NoSequence)
	return b.buf
}

// FillMarker sets h.Marker from the whole batch that h was decoded of. Whoever
// decodes headers to fold them, and does not walk with Batches or Validate, calls
// it. A control batch that ends no transaction has no marker.
func FillMarker(h *Header, batch []byte) {
	if h.Attributes.Control() {
		h.Marker, _ = markerOf(h, Payload(batch))
	}
}

// markerOf reads the one record of a control batch.
func markerOf(h *Header, payload []byte) (Marker, bool) {
	const ends = transactionalBit | controlBit
	if h.Attributes&^appendTimeBit != ends || h.Count != 1 || h.LastOffsetDelta != 0 ||
		h.ProducerID < 0 || h.ProducerEpoch < 0 || h.BaseSequence != NoSequence {
		return Marker{}, false
	}
	it := Records(h, payload)
	if !it.Next() || len(it.rest) > 0 {
		return Marker{}, false
	}
	key, value := it.Record.Key, it.Record.Value
	if len(key) < markerKeySize || len(value) < markerValueSize {
		return Marker{}, false
	}
	epoch := binary.BigEndian.Uint32(value[2:])
	if binary.BigEndian.Uint16(key) > math.MaxInt16 || binary.BigEndian.Uint16(value) > math.MaxInt16 || epoch > math.MaxInt32 {
		return Marker{}, false
	}
	m := Marker{CoordinatorEpoch: LeaderEpoch(epoch)}
	switch binary.BigEndian.Uint16(key[2:]) {
	case abortType:
		m.Outcome = Aborted
	case commitType:
		m.Outcome = Committed
	default:
		return Marker{}, false
	}
	return m, true
}
