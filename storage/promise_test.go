package storage

import (
	"bytes"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tamarack-mq/tamarack/core/chance"
	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/record"
	"github.com/tamarack-mq/tamarack/storage/vfs/simdisk"
)

// Group commit costs one sync a flush, and next to nothing is written but the
// payload.
func TestAFlushIsOneSyncAndWritesThePayloadOnce(t *testing.T) {
	d := simdisk.New()
	s, _, err := Open(d, Options{}, 1)
	require.NoError(t, err)
	do(t, s, effect.CreateLog{Log: logA}, effect.Flush{Log: logA})
	fill(t, s, logA, 0, 1, 1)
	do(t, s, effect.Flush{Log: logA})
	before, payload := d.Stats(), int64(0)
	const flushes = 1024
	for i := range record.Offset(flushes) {
		a := appendOf(logA, batchOf(3+i*8, 1, 8, 1024, 0))
		payload += int64(len(a.Batches))
		do(t, s, a, effect.Flush{Log: logA})
	}
	after := d.Stats()
	require.LessOrEqual(t, after.Syncs-before.Syncs, int64(flushes+flushes/256), "and one for the marks now and then")
	require.Less(t, float64(after.BytesWritten-before.BytesWritten), 1.01*float64(payload))
	require.Equal(t, int64(2*flushes+flushes/256), after.Writes-before.Writes, "the batches and a mark")
}

// A flush claims no more than what was in the log when it began: what is appended while
// it syncs needs another one, and a power cut behind that takes nothing.
func TestAFlushClaimsOnlyWhatItBeganWith(t *testing.T) {
	for seed := range uint64(20) {
		d, s := newStore(t, small)
		do(t, s, effect.CreateLog{Log: logA})
		fill(t, s, logA, 0, 1, 1)
		do(t, s, effect.Flush{Log: logA}) // with the epochs, which are synced first
		fill(t, s, logA, 3, 1, 1)
		late := appendOf(logA, batchOf(6, 1, 3, 30, 0))
		require.False(t, s.Waits(late))
		d.Meanwhile(func() { do(t, s, late) })
		do(t, s, effect.Flush{Log: logA}, effect.Flush{Log: logA})
		d.Crash(chance.New(seed))
		_, found := open(t, d, small)
		require.Empty(t, found.Logs[0].Damage)
		require.Equal(t, late.End, found.Logs[0].End)
	}
}

// An append that flushes its log itself must wait while a flush is under way.
func TestAnAppendThatBeginsASegmentWaitsForAFlush(t *testing.T) {
	_, s := newStore(t, small)
	require.True(t, s.Waits(appendOf(logA, batchOf(0, 1, 3, 30, 0))), "there is no such log")
	do(t, s, effect.CreateLog{Log: logA})
	for at := record.Offset(0); ; at += 3 {
		a := appendOf(logA, batchOf(at, 1, 3, 30, 0))
		if s.Waits(a) {
			require.Positive(t, at)
			break
		}
		do(t, s, a)
	}
}

// A truncation over many segments leaves no gap, wherever it is cut off.
func TestATruncationLeavesNoGap(t *testing.T) {
	for ops := int64(1); ; ops++ {
		done := false
		for seed := range uint64(20) {
			random := chance.New(seed)
			d, s := newStore(t, small)
			do(t, s, effect.CreateLog{Log: logA})
			fill(t, s, logA, 0, 1, 30) // six segments
			do(t, s, effect.Flush{Log: logA})
			d.CrashAfter(ops, random)
			done = s.Do(effect.Truncate{Log: logA, To: 6}) == nil
			d.Crash(random)
			_, found := open(t, d, small)
			why := fmt.Sprintf("operation %d, seed %d", ops, seed)
			require.Empty(t, found.Logs[0].Damage, why)
			require.GreaterOrEqual(t, found.Logs[0].End, record.Offset(6), why)
			if done {
				require.Equal(t, record.Offset(6), found.Logs[0].End, why)
			}
		}
		if done {
			require.Greater(t, ops, int64(10))
			return
		}
	}
}

// A cut inside an older segment of which there is no index makes one, of what stays. It
// does not write it: that would be a file more that must go again, and an operation
// more that fails and of which nobody hears.
func TestATruncationPassesOverNoFailedOperation(t *testing.T) {
	for only := simdisk.OpWrite; only <= simdisk.OpSyncDir; only++ {
		for nth := int64(1); ; nth++ {
			d, s := withoutIndex(t)
			d.FailOp(only, nth, chance.New(uint64(nth)))
			err := s.Do(effect.Truncate{Log: logA, To: 6})
			if d.Failures() == 0 {
				require.NoError(t, err)
				require.NotContains(t, files(t, d, "7-0"), filepath.Base(indexPath(&segment{path: segmentPath("7-0", 0)})))
				break
			}
			require.ErrorIs(t, err, simdisk.ErrIO, "operation %d of kind %d", nth, only)
		}
	}
}

// What lies behind a cut is to go: that it is damaged keeps nobody from cutting.
func TestATruncationTakesDamageWithIt(t *testing.T) {
	d, s := withoutIndex(t)
	flip(t, d, segmentPath("7-0", 0), int64(3*len(batchOf(0, 1, 3, 30, 0))+7)) // the offset of the fourth batch
	do(t, s, effect.Truncate{Log: logA, To: 6})
	want := fill(t, s, logA, 6, 2, 8)
	do(t, s, effect.Flush{Log: logA})
	got, err := readAll(s, logA, 6, 30, 1000)
	require.NoError(t, err)
	require.Equal(t, string(bytes.Join(want, nil)), string(got))
	_, found := reopen(t, d, small)
	require.Empty(t, found.Logs[0].Damage)
	require.Equal(t, record.Offset(30), found.Logs[0].End)
}

// withoutIndex is a log of six segments, of the first of which there is no index.
func withoutIndex(t *testing.T) (*simdisk.Disk, *Store) {
	d, s := newStore(t, small)
	do(t, s, effect.CreateLog{Log: logA})
	fill(t, s, logA, 0, 1, 30)
	do(t, s, effect.Flush{Log: logA})
	s, _ = reopen(t, d, small)
	require.NoError(t, removeFile(d, indexPath(&segment{path: segmentPath("7-0", 0)})))
	return d, s
}

// An index that a crash leaves behind tells of batches that are gone. If it
// stayed, it could later pass for that of other batches in their place.
func TestAnIndexThatTellsOfLostBatchesGoes(t *testing.T) {
	seen := 0
	for seed := range uint64(200) {
		random := chance.New(seed)
		d, s := newStore(t, small)
		do(t, s, effect.CreateLog{Log: logA})
		fill(t, s, logA, 0, 1, 2)
		do(t, s, effect.Flush{Log: logA})
		fill(t, s, logA, 6, 1, 2)
		do(t, s, effect.Checkpoint{Log: logA, At: 6})
		d.Crash(random)
		path := indexPath(&segment{path: segmentPath("7-0", 0)})
		told := func() int64 {
			b, err := readFile(d, path)
			require.NoError(t, err)
			if x := decodeIndex(b, 0, 1); x != nil {
				return x.size
			}
			return 0
		}
		before := told()
		_, found := open(t, d, small)
		if before > found.Logs[0].Bytes {
			seen++
		}
		d.Crash(random)
		require.LessOrEqual(t, told(), found.Logs[0].Bytes, "seed %d", seed)
	}
	require.Positive(t, seen)
}

// The marks of many logs live in one file that grows; none is lost on the way.
func TestTheMarksOfManyLogsSurvive(t *testing.T) {
	d, s := newStore(t, small)
	for i := range int32(300) {
		id := record.PartitionID{Topic: 3, Index: i}
		do(t, s, effect.CreateLog{Log: id, Start: record.Offset(i)})
		fill(t, s, id, record.Offset(i), 1, 1)
		do(t, s, effect.Flush{Log: id}, effect.TrimPrefix{Log: id, Start: record.Offset(i + 1)})
		if i%3 == 0 {
			do(t, s, effect.DeleteLog{Log: id})
		}
	}
	d.Crash(chance.New(1))
	_, found := open(t, d, small)
	require.Len(t, found.Logs, 200)
	for _, l := range found.Logs {
		require.Equal(t, record.Offset(l.ID.Index+1), l.Start)
		require.Equal(t, record.Offset(l.ID.Index+3), l.End)
		require.Empty(t, l.Damage)
	}
}
