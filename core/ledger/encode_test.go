package ledger

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core/record"
)

func samples() []entry[note] {
	return []entry[note]{
		{mark: markBegin, run: 300}, {change: note{"a", "1"}}, {change: note{"b", ""}},
		{mark: markEnd, run: 300}, {mark: markBarrier}, {change: note{"", "0"}},
	}
}

func TestRecordsComeBackAsTheyWere(t *testing.T) {
	for _, limit := range []int{1, 100, 1 << 20} {
		var back []entry[note]
		for _, batch := range encode(samples(), 5, limit) {
			_, err := record.Validate(batch)
			require.NoError(t, err)
			require.NoError(t, each(batch, decodeNote, func(_ record.Offset, e entry[note]) { back = append(back, e) }))
		}
		require.Equal(t, samples(), back)
	}
	require.Len(t, encode(samples(), 5, 1), 6, "one record a batch")
	require.Len(t, encode(samples(), 5, 1<<20), 1)
}

// The bytes are in logs for ever.
func TestTheFormatOfMarksStays(t *testing.T) {
	begin := samples()[0]
	b, split := begin.appendRecord(nil)
	require.Equal(t, "\x01\x01", string(b[:split]))
	require.Equal(t, "\x00\xac\x02", string(b[split:]))
}

func TestMarksThatThisReleaseDoesNotWriteAreRefused(t *testing.T) {
	for name, c := range map[string]struct{ key, value string }{
		"no mark":       {"\x01", "\x00\x00"},
		"unknown mark":  {"\x01\x04", "\x00\x00"},
		"mark 0":        {"\x01\x00", "\x00\x00"},
		"key too long":  {"\x01\x01\x01", "\x00\x00"},
		"tombstone":     {"\x01\x01", ""},
		"newer value":   {"\x01\x01", "\x01\x00"},
		"no run":        {"\x01\x01", "\x00"},
		"cut run":       {"\x01\x01", "\x00\x80"},
		"long run":      {"\x01\x01", "\x00\x80\x00"},
		"more behind":   {"\x01\x01", "\x00\x01\x01"},
		"run too large": {"\x01\x01", "\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"},
	} {
		_, err := decodeEntry([]byte(c.key), []byte(c.value), decodeNote)
		require.ErrorIs(t, err, errMark, name)
	}
}

// compressed is a batch of one record as a codec would leave it.
func compressed(t *testing.T, key, value string) []byte {
	var b record.Builder
	require.NoError(t, b.Append(0, []byte(key), []byte(value), nil))
	batch := b.Build()
	h, err := record.DecodeHeader(batch)
	require.NoError(t, err)
	h.Attributes |= record.Attributes(record.Gzip)
	record.EncodeHeader(batch, &h)
	return batch
}

func TestBatchesOfOthersAreRefused(t *testing.T) {
	err := Each(compressed(t, "na", "1"), decodeNote, func(record.Offset, note) {})
	require.EqualError(t, err, "the batch at offset 0 is compressed; the coordinator writes none such")
	require.Error(t, Each([]byte("short"), decodeNote, func(record.Offset, note) {}))
}

// FuzzDecode: whatever the bytes, decoding does not panic, and what it accepts
// has exactly these bytes as its encoding.
func FuzzDecode(f *testing.F) {
	for _, e := range samples() {
		b, split := e.appendRecord(nil)
		f.Add(b[:split], b[split:])
	}
	f.Fuzz(func(t *testing.T, key, value []byte) {
		e, err := decodeEntry(key, value, decodeNote)
		if err != nil {
			return
		}
		b, split := e.appendRecord(nil)
		require.Equal(t, string(key), string(b[:split]))
		require.Equal(t, string(value), string(b[split:]))
	})
}
