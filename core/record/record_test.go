package record_test

import (
	"bytes"
	"errors"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core/record"
)

// entry is a record as a test puts it in and wants it back.
type entry struct {
	At      record.Timestamp
	Key     []byte
	Value   []byte
	Headers []record.RecordHeader
}

func build(t require.TestingT, entries ...entry) []byte {
	var b record.Builder
	for _, e := range entries {
		require.NoError(t, b.Append(e.At, e.Key, e.Value, e.Headers))
	}
	return b.Build()
}

// read walks over one batch and returns copies of its records.
func read(t require.TestingT, batch []byte) (entries []entry, offsets []record.Offset) {
	h, err := record.DecodeHeader(batch)
	require.NoError(t, err)
	it := record.Records(&h, record.Payload(batch))
	for it.Next() {
		r := it.Record
		entries = append(entries, entry{r.Timestamp, bytes.Clone(r.Key), bytes.Clone(r.Value), r.Headers.List()})
		offsets = append(offsets, r.Offset)
	}
	require.NoError(t, it.Err())
	return entries, offsets
}

func three() []entry {
	return []entry{
		{At: 1000, Key: []byte("k"), Value: []byte("first")},
		{At: 990, Key: nil, Value: []byte{}, Headers: []record.RecordHeader{
			{Key: []byte("h"), Value: nil}, {Key: []byte("h"), Value: []byte("twice")}, {Key: []byte{}, Value: []byte{}}}},
		{At: 1005, Key: []byte{}, Value: nil},
	}
}

func TestBatchBringsRecordsBackAsTheyWere(t *testing.T) {
	batch := build(t, three()...)

	h, err := record.Validate(batch)
	require.NoError(t, err)
	require.Equal(t, record.Header{
		BaseOffset: 0, Length: int32(len(batch) - 12), LeaderEpoch: record.NoLeaderEpoch, CRC: h.CRC,
		LastOffsetDelta: 2, BaseTimestamp: 1000, MaxTimestamp: 1005,
		ProducerID: record.NoProducerID, ProducerEpoch: record.NoProducerEpoch, BaseSequence: record.NoSequence,
		Count: 3,
	}, h)

	entries, offsets := read(t, batch)
	require.Equal(t, three(), entries, "nil and empty keys and values are told apart")
	require.Equal(t, []record.Offset{0, 1, 2}, offsets)
}

func TestStampMovesABatchWithoutTouchingItsChecksum(t *testing.T) {
	batch := build(t, three()...)
	before := bytes.Clone(batch[21:])

	record.Stamp(batch, 7000, 12)

	h, err := record.Validate(batch)
	require.NoError(t, err)
	require.Equal(t, record.Offset(7000), h.BaseOffset)
	require.Equal(t, record.Offset(7003), h.End())
	require.Equal(t, record.LeaderEpoch(12), h.LeaderEpoch)
	require.Equal(t, before, batch[21:])
	_, offsets := read(t, batch)
	require.Equal(t, []record.Offset{7000, 7001, 7002}, offsets)
}

func TestSetProducerRenewsTheChecksum(t *testing.T) {
	batch := build(t, three()...)

	record.SetProducer(batch, 44, 3, math.MaxInt32-1)

	h, err := record.Validate(batch)
	require.NoError(t, err)
	require.Equal(t, record.ProducerID(44), h.ProducerID)
	require.Equal(t, record.ProducerEpoch(3), h.ProducerEpoch)
	require.Equal(t, record.Sequence(math.MaxInt32-1), h.BaseSequence)
	require.Equal(t, record.Sequence(0), record.AddSequence(h.BaseSequence, h.LastOffsetDelta), "sequences wrap from 2^31-1 to 0")
	entries, _ := read(t, batch)
	require.Equal(t, three(), entries)
}

func TestCompressedRecordsAreOpaque(t *testing.T) {
	plain := bytes.Clone(record.Payload(build(t, three()[0])))
	batch := reseal(t, build(t, three()[0]), func(h *record.Header, _ []byte) []byte {
		h.Attributes |= record.Attributes(record.Zstd)
		return []byte("whatever a codec makes")
	})

	h, err := record.Validate(batch)
	require.NoError(t, err)
	require.Equal(t, record.Zstd, h.Attributes.Codec())
	require.Equal(t, "whatever a codec makes", string(record.Payload(batch)))

	it := record.Records(&h, plain) // as a client does after it has decompressed
	require.True(t, it.Next())
	require.Equal(t, "first", string(it.Record.Value))
	require.False(t, it.Next())
	require.NoError(t, it.Err())
}

func TestAppendTimeStandsForAllRecords(t *testing.T) {
	batch := build(t, three()...)
	h, err := record.DecodeHeader(batch)
	require.NoError(t, err)
	h.Attributes |= 0x08
	h.MaxTimestamp = 5000
	record.EncodeHeader(batch, &h)
	h.CRC = record.Checksum(batch)
	record.EncodeHeader(batch, &h)

	_, err = record.Validate(batch)
	require.NoError(t, err)
	entries, _ := read(t, batch)
	for _, e := range entries {
		require.Equal(t, record.Timestamp(5000), e.At)
	}
}

func TestBatchesStandOneBehindTheOther(t *testing.T) {
	first, second := build(t, three()...), build(t, entry{At: 1, Value: []byte("alone")})
	record.Stamp(first, 10, 1)
	record.Stamp(second, 13, 2)
	both := append(bytes.Clone(first), second...)

	it := record.Batches(both)
	require.True(t, it.Next())
	require.Equal(t, first, it.Bytes)
	require.Equal(t, record.Offset(13), it.Header.End())
	require.True(t, it.Next())
	require.Equal(t, second, it.Bytes)
	require.Equal(t, record.Offset(13), it.Header.BaseOffset)
	require.False(t, it.Next())
	require.NoError(t, it.Err())
	require.Empty(t, it.Rest)
}

func TestBatchesStopAtAnyCut(t *testing.T) {
	whole := build(t, three()...)
	both := append(bytes.Clone(whole), whole...)
	for cut := range both {
		it := record.Batches(both[:cut])
		n := 0
		for it.Next() {
			require.Equal(t, whole, it.Bytes)
			n++
		}
		require.Equal(t, cut/len(whole), n)
		require.Len(t, it.Rest, cut%len(whole))
		if cut%len(whole) == 0 {
			require.NoError(t, it.Err())
		} else {
			require.ErrorIs(t, it.Err(), record.ErrShort)
		}
	}
}

func TestFirstAtFindsTheEarliestRecordThatIsLateEnough(t *testing.T) {
	batch := build(t, three()...) // 1000, 990, 1005
	record.Stamp(batch, 40, 0)
	h, err := record.DecodeHeader(batch)
	require.NoError(t, err)
	for _, c := range []struct {
		at     record.Timestamp
		offset record.Offset
		found  record.Timestamp
		ok     bool
	}{{at: 0, offset: 40, found: 1000, ok: true}, {at: 1000, offset: 40, found: 1000, ok: true},
		{at: 1001, offset: 42, found: 1005, ok: true}, {at: 1006}} {
		offset, found, ok := record.FirstAt(&h, batch, c.at)
		require.Equal(t, c.ok, ok)
		require.Equal(t, c.offset, offset)
		require.Equal(t, c.found, found)
	}

	h.Attributes |= record.Attributes(record.Gzip)
	offset, _, ok := record.FirstAt(&h, batch, 1005)
	require.True(t, ok)
	require.Equal(t, record.Offset(40), offset, "a compressed batch answers with its first offset")
}

func TestBuilderIsReadyAgain(t *testing.T) {
	var b record.Builder
	require.Nil(t, b.Build(), "no records, no batch")
	require.NoError(t, b.Append(1, nil, []byte("one"), nil))
	size := b.Size()
	one := b.Build()
	require.Len(t, one, size)
	require.NoError(t, b.Append(2, nil, []byte("two"), nil))
	two := b.Build()
	require.Equal(t, build(t, entry{At: 1, Value: []byte("one")}), one, "a batch is not changed by the next")
	require.Equal(t, build(t, entry{At: 2, Value: []byte("two")}), two)

	require.NoError(t, b.Append(3, nil, []byte("dropped"), nil))
	b.Empty()
	require.Zero(t, b.Count())
	require.Equal(t, record.HeaderSize, b.Size())
	require.NoError(t, b.Append(2, nil, []byte("two"), nil))
	require.Equal(t, two, b.Build())
}

func TestWalkingAllocatesNothing(t *testing.T) {
	batch := build(t, three()...)
	h, err := record.DecodeHeader(batch)
	require.NoError(t, err)
	require.Zero(t, testing.AllocsPerRun(100, func() {
		batches := record.Batches(batch)
		for batches.Next() {
			it := record.Records(&h, record.Payload(batches.Bytes))
			for it.Next() {
				it.Record.Headers.Each(func(record.RecordHeader) bool { return true })
			}
		}
		if _, err := record.Validate(batch); err != nil {
			t.Error(err)
		}
		record.Stamp(batch, 3, 4)
	}))
}

func TestErrorsNameTheProblemAndTheNumbers(t *testing.T) {
	batch := build(t, three()...)
	batch[30] ^= 1
	_, err := record.Validate(batch)
	var detail *record.InvalidError
	require.ErrorAs(t, err, &detail)
	require.ErrorIs(t, err, record.ErrChecksum)
	require.Equal(t, int64(record.Checksum(batch)), detail.Want)
	require.Contains(t, err.Error(), "checksum")
	require.False(t, errors.Is(err, record.ErrMagic))
}
