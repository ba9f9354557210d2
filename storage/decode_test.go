package storage

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/record"
	"pgregory.net/rapid"
)

func FuzzIdentity(f *testing.F) {
	f.Add(identity{"cluster", 3, 4}.encode())
	f.Fuzz(func(t *testing.T, b []byte) {
		if i, ok := decodeIdentity(b); ok {
			require.Equal(t, b, i.encode())
		}
	})
}

func FuzzCheckpoint(f *testing.F) {
	f.Add(encodeCheckpoint(effect.Checkpoint{At: 5, HighWatermark: 6, State: []byte("state")}))
	f.Fuzz(func(t *testing.T, b []byte) {
		if at, hw, state, ok := decodeCheckpoint(b); ok {
			require.Equal(t, b, encodeCheckpoint(effect.Checkpoint{At: at, HighWatermark: hw, State: state}))
		}
	})
}

func FuzzJournal(f *testing.F) {
	b := newJournal(3, [][]byte{[]byte("one"), nil})
	b = appendFrame(b, 2, 2, []byte("three"))
	f.Add(b)
	f.Add(append(b, make([]byte, 100)...))
	f.Fuzz(func(t *testing.T, b []byte) {
		j := decodeJournal(b)
		require.LessOrEqual(t, j.end, int64(len(b)))
		again := decodeJournal(b[:j.end])
		require.Equal(t, j.frames, again.frames, "what is behind the end does not matter for what is before")
	})
}

func FuzzIndex(f *testing.F) {
	x := newIndex(5, 10)
	for _, h := range headers(batchOf(5, 1, 2, 10, 0), batchOf(7, 1, 2, 10, 50)) {
		x.add(&h)
	}
	f.Add(x.encode())
	f.Fuzz(func(t *testing.T, b []byte) {
		if x := decodeIndex(b, 5, 10); x != nil {
			require.Equal(t, b, x.encode())
			e, ok := x.find(x.end)
			require.True(t, !ok || e.pos < x.size)
		}
	})
}

func FuzzEpochs(f *testing.F) {
	t := epochTable{list: []epochStart{{1, 0}, {3, 10}}}
	f.Add(t.encode())
	f.Fuzz(func(t *testing.T, b []byte) {
		table := decodeEpochs(b)
		require.True(t, bytes.HasPrefix(b, table.encode()))
	})
}

func FuzzMarks(f *testing.F) {
	f.Add(encodeMarks([]slot{
		{version: 1, mark: mark{live: true, start: 1}},
		{version: 7, mark: mark{live: true, id: logA, start: 3, end: 9, hw: 4, names: 5}},
	}))
	f.Fuzz(func(t *testing.T, b []byte) {
		slots, _ := decodeMarks(b)
		if len(slots) > 0 && slots[journalSlot].live {
			again, broken := decodeMarks(encodeMarks(slots))
			require.False(t, broken)
			slots[journalSlot].hw = again[journalSlot].hw
			require.Equal(t, slots, again[:len(slots)])
		}
	})
}

func FuzzNames(f *testing.F) {
	f.Add("7-0")
	f.Add("00000000000000000100.log")
	f.Fuzz(func(t *testing.T, name string) {
		if id, ok := parseFolder(name); ok {
			require.Equal(t, name, folderOf(id))
		}
		if base, ok := parseSegment(name, logSuffix); ok {
			require.Equal(t, "x/"+name, segmentPath("x", base))
		}
	})
}

// A bit that flips anywhere in the journal is never taken for the end of it,
// but for the last group of frames, which nothing that follows vouches for.
func TestAFlippedBitInTheJournalIsSeen(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		frames := rapid.SliceOfN(rapid.SliceOfN(rapid.Byte(), 0, 40), 2, 8).Draw(t, "frames")
		first := rapid.IntRange(0, len(frames)-1).Draw(t, "first")
		b := newJournal(1, frames[:first])
		last := len(b)
		for i := first; i < len(frames); i++ {
			last = len(b)
			b = appendFrame(b, uint64(i), uint64(i), frames[i])
		}
		at := rapid.IntRange(0, last-1).Draw(t, "at")
		b[at] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
		j := decodeJournal(b)
		if j.headed && j.damaged == "" {
			require.Equal(t, frames, j.frames, "the flip hit zeros between frames")
		}
		for i, f := range j.frames {
			require.Equal(t, frames[i], f)
		}
	})
}

func TestAnEpochTableAgreesOnlyWithWhatWasWritten(t *testing.T) {
	at := func(off record.Offset, epoch record.LeaderEpoch) *record.Header {
		return &record.Header{BaseOffset: off, LeaderEpoch: epoch}
	}
	table := epochTable{list: []epochStart{{1, 0}, {3, 10}}}
	require.True(t, table.agrees(at(0, 1)))
	require.True(t, table.agrees(at(9, 1)))
	require.True(t, table.agrees(at(10, 3)))
	require.False(t, table.agrees(at(9, 3)))
	require.False(t, table.agrees(at(10, 1)))
	require.False(t, table.agrees(at(50, 4)), "an epoch is written down before its first batch")
	table.open = true
	require.True(t, table.agrees(at(50, 4)))
	require.False(t, table.agrees(at(50, 2)))
	table.believed = 51
	require.False(t, table.agrees(at(50, 4)), "its frame was durable before it was")
	require.True(t, table.agrees(at(51, 4)))
}
