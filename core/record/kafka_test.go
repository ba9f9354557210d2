package record_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
	"pgregory.net/rapid"

	"github.com/tamarack-mq/tamarack/core/record"
)

// These tests hold the format against an implementation of others: franz-go's
// kmsg, which is generated from Kafka's own definitions.

func kafkaBatch(t require.TestingT, batch []byte) kmsg.RecordBatch {
	var k kmsg.RecordBatch
	require.NoError(t, k.ReadFrom(batch))
	return k
}

func kafkaRecords(t require.TestingT, k kmsg.RecordBatch) []kmsg.Record {
	var list []kmsg.Record
	for rest := k.Records; len(rest) > 0; {
		r := kmsg.NewRecord()
		require.NoError(t, r.ReadFrom(rest))
		size := len(r.AppendTo(nil))
		rest = rest[size:]
		list = append(list, r)
	}
	return list
}

func bytesOrNil() *rapid.Generator[[]byte] {
	return rapid.OneOf(rapid.Just([]byte(nil)), rapid.SliceOfN(rapid.Byte(), 0, 40),
		rapid.Map(rapid.IntRange(60, 9000), func(n int) []byte { return make([]byte, n) }))
}

func entries() *rapid.Generator[[]entry] {
	times := rapid.OneOf(rapid.Int64Range(1_700_000_000_000, 1_700_000_100_000),
		rapid.SampledFrom([]int64{-1, 0, math.MaxInt64 / 2, math.MinInt64 / 2}))
	one := rapid.Custom(func(t *rapid.T) entry {
		e := entry{At: record.Timestamp(times.Draw(t, "at")), Key: bytesOrNil().Draw(t, "key"),
			Value: bytesOrNil().Draw(t, "value")}
		for range rapid.IntRange(0, 3).Draw(t, "headers") {
			e.Headers = append(e.Headers, record.RecordHeader{
				Key: []byte(rapid.StringN(0, 9, 30).Draw(t, "header")), Value: bytesOrNil().Draw(t, "header value")})
		}
		return e
	})
	return rapid.SliceOfN(one, 1, 70)
}

func TestOurBatchesAreKafkas(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		wrote := entries().Draw(t, "records")
		batch := build(t, wrote...)
		base := record.Offset(rapid.Int64Range(0, math.MaxInt64/2).Draw(t, "base"))
		epoch := record.LeaderEpoch(rapid.Int32Min(0).Draw(t, "leader epoch"))
		record.Stamp(batch, base, epoch)
		if rapid.Bool().Draw(t, "idempotent") {
			record.SetProducer(batch, record.ProducerID(rapid.Int64Min(0).Draw(t, "producer")),
				record.ProducerEpoch(rapid.Int16Min(0).Draw(t, "producer epoch")),
				record.Sequence(rapid.Int32Min(0).Draw(t, "sequence")))
		}
		h, err := record.Validate(batch)
		require.NoError(t, err)

		k := kafkaBatch(t, batch)
		require.Equal(t, kmsg.RecordBatch{
			FirstOffset: int64(base), Length: h.Length, PartitionLeaderEpoch: int32(epoch), Magic: 2,
			CRC: int32(h.CRC), Attributes: int16(h.Attributes), LastOffsetDelta: h.LastOffsetDelta,
			FirstTimestamp: int64(h.BaseTimestamp), MaxTimestamp: int64(h.MaxTimestamp),
			ProducerID: int64(h.ProducerID), ProducerEpoch: int16(h.ProducerEpoch),
			FirstSequence: int32(h.BaseSequence), NumRecords: h.Count, Records: record.Payload(batch),
		}, k)
		require.Equal(t, batch, k.AppendTo(nil))

		theirs := kafkaRecords(t, k)
		require.Len(t, theirs, len(wrote))
		for i, r := range theirs {
			require.Equal(t, int32(i), r.OffsetDelta)
			got := entry{At: record.Timestamp(k.FirstTimestamp + r.TimestampDelta64), Key: r.Key, Value: r.Value}
			for _, header := range r.Headers {
				got.Headers = append(got.Headers, record.RecordHeader{Key: []byte(header.Key), Value: header.Value})
			}
			require.Equal(t, wrote[i], got)
		}
		again, _ := read(t, batch)
		require.Equal(t, wrote, again)
	})
}

func TestKafkasBatchesAreOurs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		wrote := entries().Draw(t, "records")
		first, latest := wrote[0].At, wrote[0].At
		var payload []byte
		for i, e := range wrote {
			r := kmsg.NewRecord()
			r.TimestampDelta64, r.OffsetDelta = int64(e.At-first), int32(i)
			r.Key, r.Value = e.Key, e.Value
			for _, header := range e.Headers {
				r.Headers = append(r.Headers, kmsg.Header{Key: string(header.Key), Value: header.Value})
			}
			r.Length = int32(len(r.AppendTo(nil)) - 1) // a length of 0 takes one byte
			payload = r.AppendTo(payload)
			latest = max(latest, e.At)
		}
		k := kmsg.RecordBatch{
			FirstOffset: 77, Length: int32(record.HeaderSize - 12 + len(payload)), PartitionLeaderEpoch: 3, Magic: 2,
			LastOffsetDelta: int32(len(wrote) - 1), FirstTimestamp: int64(first), MaxTimestamp: int64(latest),
			ProducerID: 5, ProducerEpoch: 6, FirstSequence: 7, NumRecords: int32(len(wrote)), Records: payload,
		}
		k.CRC = int32(record.Checksum(k.AppendTo(nil)))

		batch := k.AppendTo(nil)
		_, err := record.Validate(batch)
		require.NoError(t, err)
		got, offsets := read(t, batch)
		require.Equal(t, wrote, got)
		require.Equal(t, record.Offset(77), offsets[0])

		ours := build(t, wrote...)
		record.Stamp(ours, 77, 3)
		record.SetProducer(ours, 5, 6, 7)
		require.Equal(t, batch, ours, "byte for byte the same batch")
	})
}

func TestHeaderRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := record.Header{
			BaseOffset:      record.Offset(rapid.Int64().Draw(t, "base")),
			Length:          rapid.Int32Range(record.HeaderSize-12, math.MaxInt32-12).Draw(t, "length"),
			LeaderEpoch:     record.LeaderEpoch(rapid.Int32().Draw(t, "epoch")),
			CRC:             rapid.Uint32().Draw(t, "crc"),
			Attributes:      record.Attributes(rapid.Int16().Draw(t, "attributes")),
			LastOffsetDelta: rapid.Int32().Draw(t, "delta"),
			BaseTimestamp:   record.Timestamp(rapid.Int64().Draw(t, "first")),
			MaxTimestamp:    record.Timestamp(rapid.Int64().Draw(t, "latest")),
			ProducerID:      record.ProducerID(rapid.Int64().Draw(t, "producer")),
			ProducerEpoch:   record.ProducerEpoch(rapid.Int16().Draw(t, "producer epoch")),
			BaseSequence:    record.Sequence(rapid.Int32().Draw(t, "sequence")),
			Count:           rapid.Int32().Draw(t, "count"),
		}
		b := make([]byte, record.HeaderSize)
		record.EncodeHeader(b, &h)
		got, err := record.DecodeHeader(b)
		require.NoError(t, err)
		require.Equal(t, h, got)
	})
}
