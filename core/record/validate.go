package record

import "math"

// Validate checks that batch is exactly one well-formed batch of format v2,
// and returns its header:
//
//   - length, magic and CRC-32C (ErrShort, ErrLength, ErrMagic, ErrChecksum);
//   - only attribute bits that are known (ErrAttributes);
//   - at least one record, and as many as the offsets span (ErrCount,
//     ErrOffset): a broker that compacts would have to loosen this;
//   - producer id, epoch and sequence all there or all absent, and there in a
//     transaction (ErrProducer);
//   - uncompressed records one by one (ErrRecord, ErrCount, ErrOffsetDelta,
//     ErrLength), and the maximum timestamp is theirs (ErrTimestamp);
//   - a control batch ends a transaction (ErrMarker).
//
// Compressed records are covered by the checksum only.
func Validate(batch []byte) (Header, error) {
	h, err := DecodeHeader(batch)
	if err != nil {
		return h, err
	}
	switch size := h.Size(); {
	case len(batch) < size:
		return h, invalid(ErrShort, int64(len(batch)), int64(size))
	case len(batch) > size:
		return h, invalid(ErrLength, int64(len(batch)), int64(size))
	}
	if sum := Checksum(batch); sum != h.CRC {
		return h, invalid(ErrChecksum, int64(h.CRC), int64(sum))
	}
	if err := validateHeader(&h); err != nil {
		return h, err
	}
	if h.Attributes.Codec() == NoCodec {
		if err := validateRecords(&h, Payload(batch)); err != nil {
			return h, err
		}
	}
	if FillMarker(&h, batch); h.Attributes.Control() && h.Marker == (Marker{}) {
		return h, invalid(ErrMarker, int64(h.Attributes), int64(transactionalBit|controlBit))
	}
	return h, nil
}

func validateHeader(h *Header) error {
	if h.Attributes&^knownAttributes != 0 || h.Attributes.Codec() > highestKnownCodec {
		return invalid(ErrAttributes, int64(h.Attributes), int64(h.Attributes&knownAttributes))
	}
	if h.Count < 1 || h.LastOffsetDelta != h.Count-1 {
		return invalid(ErrCount, int64(h.Count), int64(h.LastOffsetDelta)+1)
	}
	if h.BaseOffset < 0 || h.BaseOffset > math.MaxInt64-Offset(h.Count) {
		return invalid(ErrOffset, int64(h.BaseOffset), 0)
	}
	if h.Attributes.Control() { // markers carry a producer, but no sequence
		return nil
	}
	idempotent := h.ProducerID >= 0 && h.ProducerEpoch >= 0 && h.BaseSequence >= 0
	plain := h.ProducerID == NoProducerID && h.ProducerEpoch == NoProducerEpoch && h.BaseSequence == NoSequence
	if !idempotent && (!plain || h.Attributes.Transactional()) {
		return invalid(ErrProducer, int64(h.ProducerID), int64(NoProducerID))
	}
	return nil
}

func validateRecords(h *Header, payload []byte) error {
	latest := Timestamp(math.MinInt64)
	it := Records(h, payload)
	for it.Next() {
		latest = max(latest, it.Record.Timestamp)
	}
	if it.Err() != nil {
		return it.Err()
	}
	if latest != h.MaxTimestamp {
		return invalid(ErrTimestamp, int64(h.MaxTimestamp), int64(latest))
	}
	return nil
}

// FirstAt finds the first record of a batch whose timestamp is at least at.
// Compressed records cannot be looked at: a batch whose maximum is late enough
// then answers with its first offset, from which the record is still found by
// reading on. The batch must be valid.
func FirstAt(h *Header, batch []byte, at Timestamp) (Offset, Timestamp, bool) {
	if h.MaxTimestamp < at {
		return 0, 0, false
	}
	if h.Attributes.Codec() != NoCodec {
		return h.BaseOffset, h.MaxTimestamp, true
	}
	it := Records(h, Payload(batch))
	for it.Next() {
		if it.Record.Timestamp >= at {
			return it.Record.Offset, it.Record.Timestamp, true
		}
	}
	return 0, 0, false
}
