package record_test

import (
	"bytes"
	"encoding/binary"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core/record"
)

// reseal changes header and records of a batch and makes length and checksum
// fit again, so that only the change itself is wrong.
func reseal(t testing.TB, batch []byte, change func(h *record.Header, payload []byte) []byte) []byte {
	h, err := record.DecodeHeader(batch)
	require.NoError(t, err)
	payload := change(&h, bytes.Clone(record.Payload(batch)))
	made := append(make([]byte, record.HeaderSize), payload...)
	h.Length = int32(len(made) - 12)
	record.EncodeHeader(made, &h)
	h.CRC = record.Checksum(made)
	record.EncodeHeader(made, &h)
	return made
}

// raw encodes one record whose fields need not fit.
func raw(offsetDelta int64, key int64, value string, headers int64) []byte {
	body := []byte{0}
	body = binary.AppendVarint(body, 0)
	body = binary.AppendVarint(body, offsetDelta)
	body = binary.AppendVarint(body, key)
	body = binary.AppendVarint(body, int64(len(value)))
	body = append(body, value...)
	body = binary.AppendVarint(body, headers)
	return append(binary.AppendVarint(nil, int64(len(body))), body...)
}

func TestValidateNamesWhatIsWrong(t *testing.T) {
	header := func(change func(*record.Header)) func(*record.Header, []byte) []byte {
		return func(h *record.Header, payload []byte) []byte {
			change(h)
			return payload
		}
	}
	records := func(records ...[]byte) func(*record.Header, []byte) []byte {
		return func(h *record.Header, _ []byte) []byte {
			h.Count, h.LastOffsetDelta = int32(len(records)), int32(len(records))-1
			h.MaxTimestamp = h.BaseTimestamp
			return bytes.Join(records, nil)
		}
	}
	for _, c := range []struct {
		name   string
		change func(*record.Header, []byte) []byte
		want   error
	}{
		{"nothing", header(func(*record.Header) {}), nil},
		{"records made by hand", records(raw(0, -1, "v", 0), raw(1, -1, "w", 0)), nil},
		{"an idempotent producer", header(func(h *record.Header) {
			h.ProducerID, h.ProducerEpoch, h.BaseSequence = 1, 0, 0
		}), nil},
		{"a transaction", header(func(h *record.Header) {
			h.Attributes |= 0x10
			h.ProducerID, h.ProducerEpoch, h.BaseSequence = 1, 0, 0
		}), nil},
		{"a transaction of nobody", header(func(h *record.Header) { h.Attributes |= 0x10 }), record.ErrProducer},
		{"a control batch that is no marker", header(func(h *record.Header) { h.Attributes |= 0x30 }), record.ErrMarker},
		{"an unknown codec", header(func(h *record.Header) { h.Attributes = 5 }), record.ErrAttributes},
		{"an unknown attribute", header(func(h *record.Header) { h.Attributes = 0x80 }), record.ErrAttributes},
		{"a delete horizon", header(func(h *record.Header) { h.Attributes = 0x40 }), record.ErrAttributes},
		{"no records", records(), record.ErrCount},
		{"a negative count", header(func(h *record.Header) { h.Count, h.LastOffsetDelta = -1, -2 }), record.ErrCount},
		{"offsets that span more", header(func(h *record.Header) { h.LastOffsetDelta = 3 }), record.ErrCount},
		{"a record too few", header(func(h *record.Header) { h.Count, h.LastOffsetDelta = 4, 3 }), record.ErrCount},
		{"a record too many", header(func(h *record.Header) { h.Count, h.LastOffsetDelta = 2, 1 }), record.ErrLength},
		{"a negative offset", header(func(h *record.Header) { h.BaseOffset = -1 }), record.ErrOffset},
		{"offsets without end", header(func(h *record.Header) { h.BaseOffset = math.MaxInt64 - 2 }), record.ErrOffset},
		{"half a producer", header(func(h *record.Header) { h.ProducerID = 1 }), record.ErrProducer},
		{"a negative sequence", header(func(h *record.Header) { h.ProducerID, h.ProducerEpoch = 1, 0 }), record.ErrProducer},
		{"an epoch without producer", header(func(h *record.Header) { h.ProducerEpoch = 0 }), record.ErrProducer},
		{"a late maximum", header(func(h *record.Header) { h.MaxTimestamp++ }), record.ErrTimestamp},
		{"an early maximum", header(func(h *record.Header) { h.MaxTimestamp = 1000 }), record.ErrTimestamp},
		{"a repeated offset", records(raw(0, -1, "v", 0), raw(0, -1, "w", 0)), record.ErrOffsetDelta},
		{"a first offset of 1", records(raw(1, -1, "v", 0)), record.ErrOffsetDelta},
		{"a key longer than all", records(raw(0, 100, "v", 0)), record.ErrRecord},
		{"a key length of -2", records(raw(0, -2, "v", 0)), record.ErrRecord},
		{"headers that are not there", records(raw(0, -1, "v", 2)), record.ErrRecord},
		{"a negative number of headers", records(raw(0, -1, "v", -1)), record.ErrRecord},
		{"bytes behind the fields", records([]byte{16, 0, 0, 0, 1, 1, 0, 9, 9}), record.ErrRecord},
		{"a record of no bytes", records([]byte{0}), record.ErrRecord},
		{"a record length past the end", records([]byte{80, 0, 0, 0, 1, 1, 0}), record.ErrRecord},
		{"a negative record length", records([]byte{1}), record.ErrRecord},
		{"a length of six bytes", records([]byte{0x8c, 0x80, 0x80, 0x80, 0x80, 0, 0, 0, 0, 1, 1, 0}), record.ErrRecord},
		{"a length beyond 32 bits", records([]byte{0x8c, 0x80, 0x80, 0x80, 0x20, 0, 0, 0, 1, 1, 0}), record.ErrRecord},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := record.Validate(reseal(t, build(t, three()...), c.change))
			if c.want == nil {
				require.NoError(t, err)
			} else {
				require.ErrorIs(t, err, c.want)
			}
		})
	}
}

func TestValidateWantsExactlyOneBatch(t *testing.T) {
	batch := build(t, three()...)
	for cut := range batch {
		_, err := record.Validate(batch[:cut])
		require.ErrorIs(t, err, record.ErrShort, "cut at %d", cut)
	}
	_, err := record.Validate(append(bytes.Clone(batch), 0))
	require.ErrorIs(t, err, record.ErrLength)

	old := bytes.Clone(batch)
	old[16] = 1
	_, err = record.Validate(old)
	require.ErrorIs(t, err, record.ErrMagic)

	small := bytes.Clone(batch)
	binary.BigEndian.PutUint32(small[8:], 48)
	_, err = record.Validate(small)
	require.ErrorIs(t, err, record.ErrLength)

	huge := bytes.Clone(batch)
	binary.BigEndian.PutUint32(huge[8:], math.MaxInt32)
	_, err = record.Validate(huge)
	require.ErrorIs(t, err, record.ErrLength, "a batch whose size leaves 31 bits")
}

func TestValidateSeesEveryFlippedBit(t *testing.T) {
	batch := build(t, three()...)
	for at := range batch {
		if at < 8 || at >= 12 && at < 16 {
			continue // base offset and leader epoch lie outside the checksum
		}
		for bit := range 8 {
			batch[at] ^= 1 << bit
			_, err := record.Validate(batch)
			require.Error(t, err, "byte %d, bit %d", at, bit)
			batch[at] ^= 1 << bit
		}
	}
}
