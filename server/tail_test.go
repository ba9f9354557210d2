package server

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/record"
)

var oak = record.PartitionID{Topic: 1, Index: 0}

// batchOf makes one batch with so many records, whose value has so many bytes.
func batchOf(base record.Offset, records, size int) []byte {
	var b record.Builder
	value := bytes.Repeat([]byte{byte(base)}, size)
	for range records {
		if err := b.Append(1, nil, value, nil); err != nil {
			panic(err)
		}
	}
	batch := b.Build()
	record.Stamp(batch, base, 1)
	return bytes.Clone(batch)
}

func appendOf(base record.Offset, records, size int) effect.Append {
	return effect.Append{Log: oak, Base: base, End: base + record.Offset(records), Batches: batchOf(base, records, size)}
}

// Small appends lie side by side and are written as one; a large one stays
// where it came in.
func TestTailLaysSmallAppendsSideBySide(t *testing.T) {
	tail := newTail(1 << 20)
	a, b, c := appendOf(0, 1, 10), appendOf(1, 2, 10), appendOf(3, 1, tailCopy)
	first, second := tail.append(&a), tail.append(&b)
	both, ok := joined(first, second)
	require.True(t, ok)
	require.Equal(t, append(bytes.Clone(a.Batches), b.Batches...), both)
	require.Same(t, &c.Batches[0], &tail.append(&c)[0])
	_, ok = joined(second, c.Batches)
	require.False(t, ok)
}

func TestTailNeverDropsWhatIsNotWritten(t *testing.T) {
	tail := newTail(tailFirst)
	for i := range record.Offset(100) {
		a := appendOf(i, 1, 1000)
		tail.append(&a)
	}
	start, ok := tail.start(oak)
	require.True(t, ok)
	require.Equal(t, record.Offset(0), start)
	tail.wrote(oak, 100)
	start, _ = tail.start(oak)
	require.Greater(t, start, record.Offset(0))
	require.LessOrEqual(t, tail.bytes, tailLast, "nothing but the last chunk is left")
}

// Whatever is appended, cut and read: a hit gives the batches that the log has
// there, from the one that holds the offset, never one that holds the end, and
// no more than asked for unless it is the first.
func TestTailReadsWhatWasAppended(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tail := newTail(rapid.IntRange(0, 100_000).Draw(t, "limit"))
		var log []effect.Append // one batch each
		end := func() record.Offset {
			if len(log) == 0 {
				return 0
			}
			return log[len(log)-1].End
		}
		written := record.Offset(0)
		t.Repeat(map[string]func(*rapid.T){
			"append": func(t *rapid.T) {
				a := appendOf(end(), rapid.IntRange(1, 3).Draw(t, "records"),
					rapid.SampledFrom([]int{1, 100, 3000, 15000, tailCopy}).Draw(t, "size"))
				log = append(log, a)
				kept := a
				kept.Batches = bytes.Clone(a.Batches)
				require.Equal(t, a.Batches, tail.append(&kept))
			},
			"write": func(t *rapid.T) {
				written = record.Offset(rapid.Int64Range(int64(written), int64(end())).Draw(t, "written"))
				tail.wrote(oak, written)
			},
			"cut": func(t *rapid.T) {
				log = log[:rapid.IntRange(0, len(log)).Draw(t, "left")]
				tail.forget(oak)
				written = min(written, end())
			},
			"read": func(t *rapid.T) {
				s := effect.Slice{Log: oak,
					From:     record.Offset(rapid.Int64Range(0, int64(end())).Draw(t, "from")),
					To:       record.Offset(rapid.Int64Range(0, int64(end())+1).Draw(t, "to")),
					MaxBytes: int32(rapid.SampledFrom([]int{1, 200, 10_000, 1 << 20}).Draw(t, "max"))}
				got, hit := tail.read(&s)
				if !hit {
					start, any := tail.start(oak)
					require.True(t, !any || s.From < start || s.From >= end(), "it should have been there")
					return
				}
				checkRead(t, log, s, got)
			},
		})
		total := 0
		for _, l := range tail.logs {
			for _, c := range l.chunks {
				total += cap(c.data)
			}
		}
		require.Equal(t, total, tail.bytes)
	})
}

func checkRead(t *rapid.T, log []effect.Append, s effect.Slice, got []byte) {
	i := 0
	for log[i].End <= s.From {
		i++
	}
	if log[i].End > s.To {
		require.Empty(t, got)
		return
	}
	require.NotEmpty(t, got)
	rest, count := got, 0
	for len(rest) > 0 {
		require.LessOrEqual(t, log[i].End, s.To)
		require.True(t, bytes.HasPrefix(rest, log[i].Batches), "batch %d", i)
		rest = rest[len(log[i].Batches):]
		count++
		i++
	}
	require.True(t, count == 1 || len(got) <= int(s.MaxBytes), "%d bytes in %d batches", len(got), count)
}

// A consumer at the tail does not walk over the chunk from its start each time.
func BenchmarkTailRead(b *testing.B) {
	tail := newTail(64 << 20)
	const batches = 1000
	for i := range record.Offset(batches) {
		a := appendOf(i, 1, 100)
		tail.append(&a)
	}
	b.ReportAllocs()
	at := record.Offset(0)
	for b.Loop() {
		tail.read(&effect.Slice{Log: oak, From: at, To: at + 1, MaxBytes: 1 << 20})
		if at++; at == batches {
			at = 0
		}
	}
}
