package record_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core/record"
)

// Seeds stand in testdata/fuzz, and those that are better made than stored here.

func FuzzDecodeHeader(f *testing.F) {
	f.Add(build(f, three()...))
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := record.DecodeHeader(b)
		if err != nil {
			return
		}
		again := make([]byte, record.HeaderSize)
		record.EncodeHeader(again, &h)
		require.Equal(t, b[:record.HeaderSize], again)
		require.GreaterOrEqual(t, h.Size(), record.HeaderSize)
	})
}

// FuzzValidate makes the checksum right before it asks, so that the checks
// behind it are reached.
func FuzzValidate(f *testing.F) {
	f.Add(build(f, three()...))
	f.Fuzz(func(t *testing.T, b []byte) {
		if _, err := record.Validate(b); err == nil {
			holdValid(t, b)
		}
		h, err := record.DecodeHeader(b)
		if err != nil || h.Size() < 0 {
			return
		}
		b = bytes.Clone(b)
		h.Length = int32(len(b) - 12)
		record.EncodeHeader(b, &h)
		h.CRC = record.Checksum(b)
		record.EncodeHeader(b, &h)
		if _, err := record.Validate(b); err == nil {
			holdValid(t, b)
		}
	})
}

// holdValid asks of a valid batch that its records can be read, and that a
// batch built of them says the same.
func holdValid(t *testing.T, batch []byte) {
	h, err := record.DecodeHeader(batch)
	require.NoError(t, err)
	require.Greater(t, h.End(), h.BaseOffset)
	if h.Attributes.Codec() != record.NoCodec {
		return
	}
	entries, offsets := read(t, batch)
	require.Len(t, entries, int(h.Count))
	require.Equal(t, h.End()-1, offsets[len(offsets)-1])
	if h.Attributes.AppendTime() {
		return
	}
	again, _ := read(t, build(t, entries...))
	require.Equal(t, entries, again)
	offset, at, ok := record.FirstAt(&h, batch, h.MaxTimestamp)
	require.True(t, ok)
	require.Equal(t, h.MaxTimestamp, at)
	require.GreaterOrEqual(t, offset, h.BaseOffset)
}

func FuzzBatches(f *testing.F) {
	one := build(f, three()...)
	f.Add(append(bytes.Clone(one), one...))
	f.Fuzz(func(t *testing.T, b []byte) {
		it := record.Batches(b)
		read := 0
		for it.Next() {
			require.Len(t, it.Bytes, it.Header.Size())
			read += len(it.Bytes)
		}
		require.Equal(t, len(b), read+len(it.Rest))
		require.Equal(t, it.Err() == nil, len(it.Rest) == 0)
	})
}

func FuzzRecords(f *testing.F) {
	f.Add(int32(3), record.Payload(build(f, three()...)))
	f.Fuzz(func(t *testing.T, count int32, payload []byte) {
		h := record.Header{Count: count, BaseTimestamp: 1000}
		it := record.Records(&h, payload)
		read := int32(0)
		for it.Next() {
			require.Equal(t, record.Offset(read), it.Record.Offset)
			require.Len(t, it.Record.Headers.List(), it.Record.Headers.Len())
			read++
		}
		if it.Err() == nil {
			require.Equal(t, count, read)
		}
		require.False(t, it.Next(), "an ended walk stays ended")
	})
}
