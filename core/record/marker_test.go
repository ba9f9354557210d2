package record_test

import (
	"bytes"
	"encoding/hex"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/tamarack-mq/tamarack/core/record"
)

var commit = record.Marker{Outcome: record.Committed, CoordinatorEpoch: 12}

// filled is the marker that whoever decodes the header by itself finds.
func filled(t *testing.T, batch []byte) record.Marker {
	t.Helper()
	h, err := record.DecodeHeader(batch)
	require.NoError(t, err)
	record.FillMarker(&h, batch)
	return h.Marker
}

func TestMarker(t *testing.T) {
	for _, m := range []record.Marker{commit, {Outcome: record.Aborted}, {Outcome: record.Aborted, CoordinatorEpoch: math.MaxInt32}} {
		batch := record.BuildMarker(1234, 77, 5, m)
		require.Len(t, batch, record.MarkerSize)
		record.Stamp(batch, 900, 3)

		h, err := record.Validate(batch)
		require.NoError(t, err)
		require.Equal(t, record.Header{
			BaseOffset: 900, Length: record.MarkerSize - 12, LeaderEpoch: 3, CRC: h.CRC, Attributes: 0x30,
			BaseTimestamp: 1234, MaxTimestamp: 1234, ProducerID: 77, ProducerEpoch: 5,
			BaseSequence: record.NoSequence, Count: 1, Marker: m,
		}, h)
		require.Equal(t, m, filled(t, batch))

		it := record.Batches(append(build(t, three()...), batch...))
		require.True(t, it.Next())
		require.Equal(t, record.Marker{}, it.Header.Marker)
		require.True(t, it.Next())
		require.Equal(t, h, it.Header)
	}
}

// What a commit marker looks like on disk and on the wire, byte for byte as
// Kafka's EndTransactionMarker writes it.
func TestMarkersAreKafkas(t *testing.T) {
	batch := record.BuildMarker(0x18c00000000, 77, 5, commit)
	record.Stamp(batch, 900, 3)
	const want = "0000000000000384" + // base offset
		"00000042" + "00000003" + "02" + // length, leader epoch, magic
		"30f6ba26" + "0030" + "00000000" + // checksum, transactional and control, last offset delta
		"0000018c00000000" + "0000018c00000000" + // timestamps
		"000000000000004d" + "0005" + "ffffffff" + "00000001" + // producer, epoch, no sequence, one record
		"20" + "00" + "00" + "00" + // record: length, attributes, deltas
		"08" + "0000" + "0001" + // key: version 0, commit
		"0c" + "0000" + "0000000c" + // value: version 0, coordinator epoch 12
		"00" // headers
	require.Equal(t, want, hex.EncodeToString(batch))

	k := kafkaBatch(t, batch)
	require.Equal(t, batch, k.AppendTo(nil))
	records := kafkaRecords(t, k)
	require.Len(t, records, 1)
	var key kmsg.ControlRecordKey
	require.NoError(t, key.ReadFrom(records[0].Key))
	require.Equal(t, kmsg.ControlRecordKey{Version: 0, Type: kmsg.ControlRecordKeyTypeCommit}, key)
	var value kmsg.EndTxnMarker
	require.NoError(t, value.ReadFrom(records[0].Value))
	require.Equal(t, kmsg.EndTxnMarker{Version: 0, CoordinatorEpoch: 12}, value)
}

// A control batch that is not a marker has none: its header says so, and so
// does each way to read it.
func TestWhatIsNoMarker(t *testing.T) {
	marker := record.BuildMarker(1234, 77, 5, commit)
	type payload = []byte
	header := func(change func(*record.Header)) func(*record.Header, payload) payload {
		return func(h *record.Header, p payload) payload { change(h); return p }
	}
	// Offsets in the payload: 5 is the key, 10 the value.
	at := func(i int, b byte) func(*record.Header, payload) payload {
		return func(_ *record.Header, p payload) payload { p[i] = b; return p }
	}
	for name, change := range map[string]func(*record.Header, payload) payload{
		"no transaction":               header(func(h *record.Header) { h.Attributes = 0x20 }),
		"compressed":                   header(func(h *record.Header) { h.Attributes |= 1 }),
		"no producer":                  header(func(h *record.Header) { h.ProducerID = record.NoProducerID }),
		"no producer epoch":            header(func(h *record.Header) { h.ProducerEpoch = record.NoProducerEpoch }),
		"a sequence":                   header(func(h *record.Header) { h.BaseSequence = 0 }),
		"a change of leader":           at(8, 2),
		"a negative version":           at(5, 0x80),
		"a value's negative version":   at(10, 0x80),
		"a negative coordinator epoch": at(12, 0x80),
	} {
		t.Run(name, func(t *testing.T) {
			batch := reseal(t, bytes.Clone(marker), change)
			_, err := record.Validate(batch)
			require.ErrorIs(t, err, record.ErrMarker)
			require.Equal(t, record.Marker{}, filled(t, batch))
			it := record.Batches(batch)
			require.True(t, it.Next())
			require.Equal(t, record.Marker{}, it.Header.Marker)
		})
	}
	two := reseal(t, bytes.Clone(marker), func(h *record.Header, p payload) payload {
		h.Count, h.LastOffsetDelta = 2, 1
		second := bytes.Clone(p)
		second[3] = 2 // offset delta 1
		return append(p, second...)
	})
	_, err := record.Validate(two)
	require.ErrorIs(t, err, record.ErrMarker, "two of them")
	require.Equal(t, record.Marker{}, filled(t, build(t, three()...)), "records of an application")
}

// A later version says more behind what version 0 says.
func TestMarkersOfLaterVersionsAreRead(t *testing.T) {
	long := reseal(t, record.BuildMarker(1234, 77, 5, commit), func(_ *record.Header, p []byte) []byte {
		p = append(p[:len(p)-1], 0xab, 0xcd, 0)
		p[0] += 2 * 2 // the record's length
		p[9] += 2 * 2 // the value's
		p[11] = 1     // the value's version
		return p
	})
	h, err := record.Validate(long)
	require.NoError(t, err)
	require.Equal(t, commit, h.Marker)
}

func TestAMarkerNeedsAnOutcome(t *testing.T) {
	require.Panics(t, func() { record.BuildMarker(0, 1, 1, record.Marker{CoordinatorEpoch: 1}) })
}

func TestSetTransactional(t *testing.T) {
	batch, same := build(t, three()...), build(t, three()...)
	record.SetTransactional(batch, 44, 3, 7)
	h, err := record.Validate(batch)
	require.NoError(t, err)
	require.True(t, h.Attributes.Transactional())
	require.False(t, h.Attributes.Control())
	record.SetProducer(same, 44, 3, 7)
	want, err := record.Validate(same)
	require.NoError(t, err)
	want.Attributes, want.CRC = h.Attributes, h.CRC
	require.Equal(t, want, h)
	entries, _ := read(t, batch)
	require.Equal(t, three(), entries)
}

func FuzzMarker(f *testing.F) {
	f.Add(record.Payload(record.BuildMarker(1234, 77, 5, commit)))
	f.Fuzz(func(t *testing.T, payload []byte) {
		h := record.Header{
			Length: int32(record.HeaderSize - 12 + len(payload)), LeaderEpoch: record.NoLeaderEpoch, Attributes: 0x30,
			BaseTimestamp: 1234, MaxTimestamp: 1234, ProducerID: 77, ProducerEpoch: 5, BaseSequence: record.NoSequence, Count: 1,
		}
		batch := append(make([]byte, record.HeaderSize), payload...)
		record.EncodeHeader(batch, &h)
		h.CRC = record.Checksum(batch)
		record.EncodeHeader(batch, &h)

		m := filled(t, batch)
		valid, err := record.Validate(batch)
		if m.Outcome == record.NoOutcome {
			require.Error(t, err)
			return
		}
		if err == nil {
			require.Equal(t, m, valid.Marker)
		}
		require.Equal(t, m, filled(t, record.BuildMarker(1234, 77, 5, m)))
	})
}
