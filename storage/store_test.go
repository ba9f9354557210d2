package storage

import (
	"bytes"
	"errors"
	"io/fs"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tamarack-mq/tamarack/core/chance"
	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/record"
	"github.com/tamarack-mq/tamarack/storage/vfs"
	"github.com/tamarack-mq/tamarack/storage/vfs/simdisk"
)

func TestAFreshFolderGetsAnIdentityAndKeepsIt(t *testing.T) {
	d := simdisk.New()
	s, found, err := Open(d, small, 42)
	require.NoError(t, err)
	require.Equal(t, effect.Recovered{DiskID: 42, Fresh: true}, found)
	_, _, err = Open(d, small, 43)
	require.ErrorIs(t, err, ErrInUse)
	require.NoError(t, s.Close(true))
	require.ErrorIs(t, s.Flush(logA), ErrClosed)

	other := small
	other.NodeID = 2
	_, _, err = Open(d, other, 43)
	require.ErrorIs(t, err, ErrWrongNode)
	other = small
	other.ClusterID = "another"
	_, _, err = Open(d, other, 43)
	require.ErrorIs(t, err, ErrWrongCluster)

	s, found, err = Open(d, small, 43)
	require.NoError(t, err, "whoever had no right to it has changed nothing")
	require.Equal(t, effect.Recovered{DiskID: 42, Clean: true}, found)
	require.NoError(t, s.Close(false))
	_, found = open(t, d, small)
	require.Equal(t, effect.Recovered{DiskID: 42}, found)
}

func TestOneCopyOfTheIdentityIsEnoughAndNoneIsAnError(t *testing.T) {
	d, s := newStore(t, small)
	do(t, s, effect.CreateLog{Log: logA})
	require.NoError(t, s.Close(false))
	require.NoError(t, d.Remove(identityName))
	s, found := open(t, d, small)
	require.EqualValues(t, 42, found.DiskID)
	require.NoError(t, s.Close(false))
	require.NoError(t, d.Remove(identityCopy), "the lost one was written again")
	s, _ = open(t, d, small)
	require.NoError(t, s.Close(false))
	require.NoError(t, d.Remove(identityName))
	require.NoError(t, d.Remove(identityCopy))
	_, _, err := Open(d, small, 1)
	require.ErrorIs(t, err, ErrIdentityLost)
}

// A folder that cannot be listed is not taken for an empty one: it would be given a
// new identity, over all that it holds.
func TestAFolderThatCannotBeListedIsNotTakenForAFreshOne(t *testing.T) {
	d, s := newStore(t, small)
	do(t, s, effect.CreateLog{Log: logA})
	require.NoError(t, s.Close(false))
	require.NoError(t, d.Remove(identityName))
	require.NoError(t, d.Remove(identityCopy))
	before := files(t, d, "")
	_, _, err := Open(unlisted{d}, small, 1)
	require.ErrorIs(t, err, fs.ErrPermission)
	require.Equal(t, before, files(t, d, ""))
}

// unlisted is a folder whose names cannot be read.
type unlisted struct{ vfs.FS }

func (unlisted) ReadDir(string) ([]vfs.Entry, error) { return nil, fs.ErrPermission }

func TestWhatWasAppendedIsReadFromMemoryAndFromDisk(t *testing.T) {
	for name, cache := range map[string]int64{"memory": 1 << 20, "disk": -1, "both": 700} {
		t.Run(name, func(t *testing.T) {
			opts := small
			opts.CacheBytes = cache
			d, s := newStore(t, opts)
			do(t, s, effect.CreateLog{Log: logA})
			batches := fill(t, s, logA, 0, 1, 20)
			want := bytes.Join(batches, nil)
			check := func() {
				for _, most := range []int32{0, 300, 500, 5000} {
					got, err := readAll(s, logA, 0, 60, most)
					require.NoError(t, err)
					require.Equal(t, want, got)
				}
				for from := range record.Offset(60) {
					got, err := s.Read(effect.Slice{Log: logA, From: from, To: 60})
					require.NoError(t, err)
					require.Equal(t, batches[from/3], got, "the batch that holds %d, whatever the limit", from)
				}
				got, err := s.Read(effect.Slice{Log: logA, From: 4, To: 8, MaxBytes: 5000})
				require.NoError(t, err)
				require.Equal(t, batches[1], got, "not the batch that holds To")
				got, err = s.Read(effect.Slice{Log: logA, From: 60, To: 70, MaxBytes: 5000})
				require.NoError(t, err)
				require.Empty(t, got)
				_, err = s.Read(effect.Slice{Log: logA, From: 61, To: 70, MaxBytes: 5000})
				require.ErrorIs(t, err, ErrOutOfRange)
			}
			check()
			do(t, s, effect.Flush{Log: logA})
			check()
			require.NoError(t, s.Close(true))
			var found effect.Recovered
			s, found = open(t, d, opts)
			require.Equal(t, []effect.RecoveredLog{{ID: logA, End: 60, Headers: headers(batches...), Bytes: int64(len(want))}}, found.Logs)
			check()
		})
	}
}

func TestSegmentsHoldBatchesAndNothingElse(t *testing.T) {
	d, s := newStore(t, small)
	do(t, s, effect.CreateLog{Log: logA, Start: 100})
	var want []byte
	for _, b := range fill(t, s, logA, 100, 1, 12) {
		want = append(want, b...)
	}
	do(t, s, effect.Flush{Log: logA})
	require.Equal(t, []string{
		"00000000000000000100.index", "00000000000000000100.log",
		"00000000000000000115.index", "00000000000000000115.log",
		"00000000000000000130.log", "epochs", "epochs.copy",
	}, files(t, d, "7-0"))
	var got []byte
	for _, base := range []record.Offset{100, 115, 130} {
		b, err := readFile(d, segmentPath("7-0", base))
		require.NoError(t, err)
		got = append(got, b...)
	}
	require.Equal(t, want, got)
}

func TestACallThatBreaksAPromiseChangesNothing(t *testing.T) {
	d, s := newStore(t, small)
	do(t, s, effect.CreateLog{Log: logA})
	fill(t, s, logA, 0, 5, 2)
	before := d.Digest()
	gap := appendOf(logA, batchOf(9, 5, 1, 10, 0))
	older := appendOf(logA, batchOf(6, 4, 1, 10, 0))
	short := appendOf(logA, batchOf(6, 5, 1, 10, 0))
	short.Batches = short.Batches[:len(short.Batches)-1]
	lying := appendOf(logA, batchOf(6, 5, 1, 10, 0))
	lying.End++
	for _, e := range []effect.Effect{
		gap, older, short, lying, effect.CreateLog{Log: logA}, effect.Truncate{Log: logA, To: 7},
		effect.Truncate{Log: logA, To: 1}, effect.TrimPrefix{Log: logA, Start: 7},
		effect.Checkpoint{Log: logA, At: 7}, effect.Send{},
	} {
		require.ErrorIs(t, s.Do(e), errMisuse, "%T", e)
	}
	require.ErrorIs(t, s.Do(effect.DeleteLog{Log: record.PartitionID{}}), ErrNoLog)
	require.Equal(t, before, d.Digest())
	fill(t, s, logA, 6, 5, 1)
}

func TestTruncationTakesRecordsEpochsAndCheckpointBack(t *testing.T) {
	for to := record.Offset(0); to <= 36; to += 3 {
		d, s := newStore(t, small)
		do(t, s, effect.CreateLog{Log: logA})
		batches := append(fill(t, s, logA, 0, 1, 6), fill(t, s, logA, 18, 2, 6)...)
		do(t, s, effect.Flush{Log: logA}, effect.Checkpoint{Log: logA, At: 30, HighWatermark: 30, State: []byte("thirty")})
		do(t, s, effect.Truncate{Log: logA, Cut: 1, To: to})
		kept := batches[:to/3]
		next := batchOf(to, 3, 1, 50, 0)
		d.Crash(chance.New(uint64(to)))
		s, found := open(t, d, small)
		require.Len(t, found.Logs, 1)
		log := found.Logs[0]
		require.Empty(t, log.Damage)
		require.Equal(t, to, log.End)
		require.Equal(t, min(30, to), log.HighWatermark)
		if to >= 30 {
			require.Equal(t, "thirty", string(log.Checkpoint))
			require.Equal(t, headers(kept[10:]...), log.Headers)
		} else {
			require.Nil(t, log.Checkpoint)
			require.Equal(t, headers(kept...), log.Headers)
		}
		do(t, s, appendOf(logA, next), effect.Flush{Log: logA})
		got, err := readAll(s, logA, 0, to+1, 500)
		require.NoError(t, err)
		require.Equal(t, bytes.Join(append(slices.Clone(kept), next), nil), got)
		_, found = reopen(t, d, small)
		require.Equal(t, to+1, found.Logs[0].End)
	}
}

func TestTrimMovesTheStartAndRemovesWholeSegments(t *testing.T) {
	d, s := newStore(t, small)
	do(t, s, effect.CreateLog{Log: logA})
	batches := fill(t, s, logA, 0, 1, 12) // segments at 0, 15, 30
	do(t, s, effect.Flush{Log: logA})
	do(t, s, effect.TrimPrefix{Log: logA, Start: 16})
	require.NotContains(t, files(t, d, "7-0"), "00000000000000000000.log")
	_, err := s.Read(effect.Slice{Log: logA, From: 15, To: 20, MaxBytes: 100})
	require.ErrorIs(t, err, ErrOutOfRange)
	got, err := readAll(s, logA, 16, 36, 10000)
	require.NoError(t, err)
	require.Equal(t, bytes.Join(batches[5:], nil), got, "the batch that holds the start is there as a whole")
	d.Crash(chance.New(1))
	s, found := open(t, d, small)
	require.Equal(t, record.Offset(16), found.Logs[0].Start)
	require.Equal(t, record.Offset(36), found.Logs[0].End)
	do(t, s, effect.TrimPrefix{Log: logA, Start: 36})
	require.Equal(t, []string{"00000000000000000030.log", "epochs", "epochs.copy"}, files(t, d, "7-0"), "the last segment stays")
	fill(t, s, logA, 36, 1, 1)
	_, found = reopen(t, d, small)
	require.Equal(t, record.Offset(36), found.Logs[0].Start)
	require.Equal(t, record.Offset(39), found.Logs[0].End)
}

func TestResetStartsALogAnew(t *testing.T) {
	for _, start := range []record.Offset{0, 5, 500} {
		d, s := newStore(t, small)
		do(t, s, effect.CreateLog{Log: logA, Start: 3})
		fill(t, s, logA, 3, 1, 12)
		do(t, s, effect.TrimPrefix{Log: logA, Start: 20}, effect.Checkpoint{Log: logA, At: 39, State: []byte("x")})
		do(t, s, effect.Reset{Log: logA, Start: start})
		d.Crash(chance.New(1))
		s, found := open(t, d, small)
		require.Equal(t, []effect.RecoveredLog{{ID: logA, Start: start, End: start, CheckpointAt: start, HighWatermark: start}}, found.Logs)
		fill(t, s, logA, start, 1, 1)
	}
}

func TestADeletedLogIsGoneAndCanBeMadeAgain(t *testing.T) {
	d, s := newStore(t, small)
	do(t, s, effect.CreateLog{Log: logA})
	fill(t, s, logA, 0, 1, 12)
	do(t, s, effect.Flush{Log: logA}, effect.DeleteLog{Log: logA})
	_, err := s.Read(effect.Slice{Log: logA, To: 3})
	require.ErrorIs(t, err, ErrNoLog)
	require.NotContains(t, files(t, d, ""), "7-0")
	do(t, s, effect.CreateLog{Log: logA, Start: 9}, effect.Flush{Log: logA})
	_, found := reopen(t, d, small)
	require.Equal(t, []effect.RecoveredLog{{ID: logA, Start: 9, End: 9, CheckpointAt: 9, HighWatermark: 9}}, found.Logs)
	d2, s := newStore(t, small)
	do(t, s, effect.CreateLog{Log: logA}, effect.Flush{Log: logA}, effect.DeleteLog{Log: logA})
	d2.Crash(chance.New(3))
	_, found = open(t, d2, small)
	require.Empty(t, found.Logs)
}

func TestTheQuorumJournalKeepsFramesInOrder(t *testing.T) {
	d, s := newStore(t, small)
	require.NoError(t, s.SaveQuorum([]byte("one"), nil, []byte("three")))
	require.NoError(t, s.SaveQuorum(bytes.Repeat([]byte("x"), 1000)))
	d.Crash(chance.New(1))
	s, found := open(t, d, small)
	require.Equal(t, [][]byte{[]byte("one"), {}, []byte("three"), bytes.Repeat([]byte("x"), 1000)}, found.Journal)
	require.NoError(t, s.ReplaceQuorum([][]byte{[]byte("snapshot")}))
	require.NoError(t, s.SaveQuorum([]byte("next")))
	require.NoError(t, s.Close(true))
	_, found = open(t, d, small)
	require.Equal(t, [][]byte{[]byte("snapshot"), []byte("next")}, found.Journal)
	require.Empty(t, found.JournalDamaged)
}

func TestAFullDiskRefusesAndLosesNothing(t *testing.T) {
	d, s := newStore(t, small)
	do(t, s, effect.CreateLog{Log: logA})
	fill(t, s, logA, 0, 1, 3)
	require.NoError(t, s.SaveQuorum([]byte("before")))
	for room := int64(0); room < 300; room += 7 {
		d.SetCapacity(d.Used() + room)
		end := record.Offset(9)
		big := appendOf(logA, batchOf(end, 2, 1, 400, 0))
		require.ErrorIs(t, s.Do(big), ErrNoRoom)
		require.ErrorIs(t, s.SaveQuorum(make([]byte, 1000)), ErrNoRoom)
		require.ErrorIs(t, s.ReplaceQuorum([][]byte{make([]byte, 1000)}), ErrNoRoom)
		require.ErrorIs(t, s.Do(effect.Checkpoint{Log: logA, At: 9, State: make([]byte, 1000)}), ErrNoRoom)
		got, err := readAll(s, logA, 0, 9, 1000)
		require.NoError(t, err)
		require.Len(t, headers(got), 1)
		require.NoError(t, s.Flush(logA), "what is there can be made durable")
	}
	require.NoError(t, s.Do(effect.TrimPrefix{Log: logA, Start: 6}), "making room needs none")
	require.NoError(t, s.Do(effect.Truncate{Log: logA, To: 6}))
	d.SetCapacity(0)
	do(t, s, appendOf(logA, batchOf(6, 2, 1, 400, 0)), effect.Flush{Log: logA})
	require.NoError(t, s.SaveQuorum([]byte("after")))
	d.Crash(chance.New(4))
	_, found := open(t, d, small)
	require.Equal(t, record.Offset(6), found.Logs[0].Start)
	require.Equal(t, record.Offset(7), found.Logs[0].End)
	require.Equal(t, [][]byte{[]byte("before"), []byte("after")}, found.Journal)
}

// A log that finds no room for its first file leaves nothing behind, and is made later.
func TestAFullDiskMakesNoLog(t *testing.T) {
	logB := record.PartitionID{Topic: logA.Topic, Index: logA.Index + 1}
	d, s := newStore(t, small)
	do(t, s, effect.CreateLog{Log: logA})
	free := len(s.marks.free)
	d.SetCapacity(d.Used())
	for range 3 {
		require.ErrorIs(t, s.Do(effect.CreateLog{Log: logB}), ErrNoRoom)
		require.Len(t, s.marks.free, free)
		_, err := d.ReadDir(folderOf(logB))
		require.ErrorIs(t, err, fs.ErrNotExist)
	}
	d.SetCapacity(0)
	do(t, s, effect.CreateLog{Log: logB})
	require.Len(t, s.marks.free, free-1)
}

func TestAFullDiskCanBeOpened(t *testing.T) {
	d, s := newStore(t, small)
	do(t, s, effect.CreateLog{Log: logA})
	batches := fill(t, s, logA, 0, 1, 12)
	do(t, s, effect.Flush{Log: logA})
	d.Crash(chance.New(9))
	d.SetCapacity(1)
	s, found := open(t, d, small)
	require.Equal(t, record.Offset(36), found.Logs[0].End)
	got, err := readAll(s, logA, 0, 36, 1000)
	require.NoError(t, err)
	require.Equal(t, bytes.Join(batches, nil), got)
}

// The mark of a clean shutdown saves time, as indexes and checkpoints do: a disk
// without room for it does not stand in the way of a shutdown in good order.
func TestAFullDiskCanBeClosedInGoodOrder(t *testing.T) {
	d, s := newStore(t, small)
	do(t, s, effect.CreateLog{Log: logA})
	batches := fill(t, s, logA, 0, 1, 12)
	d.SetCapacity(d.Used())
	require.NoError(t, s.Close(true))
	d.Crash(chance.New(9))
	s, found := open(t, d, small)
	require.False(t, found.Clean)
	require.Equal(t, record.Offset(36), found.Logs[0].End, "it was flushed all the same")
	got, err := readAll(s, logA, 0, 36, 1000)
	require.NoError(t, err)
	require.Equal(t, bytes.Join(batches, nil), got)
}

func TestAFailedSyncOrWriteEndsTheStore(t *testing.T) {
	ends := map[string]func(*Store) error{
		"flush":   func(s *Store) error { return s.Flush(logA) },
		"journal": func(s *Store) error { return s.SaveQuorum([]byte("x")) },
		"replace": func(s *Store) error { return s.ReplaceQuorum([][]byte{[]byte("x")}) },
		"trim":    func(s *Store) error { return s.Do(effect.TrimPrefix{Log: logA, Start: 3}) },
		"cut": func(s *Store) error { // what is flushed: the mark is lowered first
			return errors.Join(s.Flush(logA), s.Do(effect.Truncate{Log: logA, To: 3}))
		},
		"roll": func(s *Store) error {
			return s.Do(appendOf(logA, batchOf(9, 1, 1, 900, 0)))
		},
	}
	for name, act := range ends {
		for _, arm := range []func(*simdisk.Disk){
			func(d *simdisk.Disk) { d.FailSync(1, chance.New(1)) },
			func(d *simdisk.Disk) { d.FailWrite(1, chance.New(1)) },
		} {
			d, s := newStore(t, small)
			do(t, s, effect.CreateLog{Log: logA}, effect.Flush{Log: logA})
			fill(t, s, logA, 0, 1, 3)
			arm(d)
			require.ErrorIs(t, act(s), simdisk.ErrIO, name)
			require.ErrorIs(t, s.Flush(logA), ErrFailed, "a sync is never tried again")
			require.ErrorIs(t, s.SaveQuorum(nil), ErrFailed)
			require.ErrorIs(t, s.Do(effect.CreateLog{Log: record.PartitionID{Topic: 1}}), ErrFailed)
			_, err := s.Read(effect.Slice{Log: logA, To: 3})
			require.ErrorIs(t, err, ErrFailed)
			require.ErrorIs(t, s.Close(true), ErrFailed)
			_, found := open(t, d, small)
			require.False(t, found.Clean)
		}
	}
}

// After a failed sync the page cache shows bytes that the disk does not have.
// A start that trusts them must make them durable.
func TestAStartMakesDurableWhatItFinds(t *testing.T) {
	for seed := range uint64(60) {
		random := chance.New(seed)
		d, s := newStore(t, small)
		do(t, s, effect.CreateLog{Log: logA}, effect.Flush{Log: logA})
		fill(t, s, logA, 0, 1, 3)
		d.FailSync(random.Between(1, 2), random)
		require.Error(t, errors.Join(s.Flush(logA), s.SaveQuorum([]byte("x"))))
		_, first := reopen(t, d, small)
		d.Crash(random)
		_, second := open(t, d, small)
		require.Equal(t, first, second, "seed %d", seed)
	}
}

// A power cut may take the name of a segment and leave that of its index.
func TestAnIndexWithoutItsSegmentGoes(t *testing.T) {
	d, s := newStore(t, small)
	do(t, s, effect.CreateLog{Log: logA})
	fill(t, s, logA, 0, 1, 3)
	do(t, s, effect.Flush{Log: logA})
	stray := "7-0/00000000000000000900.index"
	f, err := d.Create(stray)
	require.NoError(t, err)
	_, err = f.WriteAt([]byte("of a segment that is no more"), 0)
	require.NoError(t, err)
	require.NoError(t, f.Close())
	_, found := reopen(t, d, small)
	require.Len(t, found.Logs, 1)
	require.Empty(t, found.Logs[0].Damage)
	require.NotContains(t, files(t, d, "7-0"), "00000000000000000900.index")
}

func TestATimeIsFoundInEverySegment(t *testing.T) {
	for _, how := range []string{"running", "clean start", "crash", "indexes lost"} {
		d, s := newStore(t, small)
		do(t, s, effect.CreateLog{Log: logA})
		var at record.Offset
		times := []record.Timestamp{}
		random := chance.New(5)
		for range 40 { // times that go back and forth
			b := batchOf(at, 1, 2, 20, record.Timestamp(at)*10+record.Timestamp(random.Below(100)))
			h := headers(b)[0]
			times = append(times, h.BaseTimestamp, h.BaseTimestamp+1)
			do(t, s, appendOf(logA, b))
			at += 2
		}
		do(t, s, effect.Flush{Log: logA}, effect.Checkpoint{Log: logA, At: 60}, effect.TrimPrefix{Log: logA, Start: 11})
		switch how {
		case "clean start":
			require.NoError(t, s.Close(true))
			s, _ = open(t, d, small)
		case "crash", "indexes lost":
			d.Crash(random)
			s, _ = open(t, d, small)
		}
		if how == "indexes lost" {
			for _, name := range files(t, d, "7-0") {
				if _, ok := parseSegment(name, indexSuffix); ok {
					require.NoError(t, d.Remove("7-0/"+name))
				}
			}
		}
		for want := record.Timestamp(-5); want < 1000; want += 3 {
			var expected record.Offset
			ok := false
			for off := record.Offset(11); off < 70 && !ok; off++ {
				expected, ok = off, times[off] >= want
			}
			found, off, ts, err := s.FindTime(effect.FindTime{Log: logA, At: want, To: 70})
			require.NoError(t, err)
			require.Equal(t, ok, found, "%s: %d", how, want)
			if ok {
				require.Equal(t, expected, off, "%s: %d", how, want)
				require.Equal(t, times[off], ts)
			}
		}
	}
}

func TestTimesAreFoundInASegmentThatWasCutAtItsBeginning(t *testing.T) {
	d := simdisk.New()
	s, _ := open(t, d, small)
	do(t, s, effect.CreateLog{Log: logA}, appendOf(logA, batchOf(0, 1, 2, 20, 900)), effect.Flush{Log: logA})
	do(t, s, effect.Truncate{Log: logA, To: 0})
	for at := record.Offset(0); at < 70; at += 2 { // more than a segment, so that the index of the first is written
		do(t, s, appendOf(logA, batchOf(at, 2, 2, 20, record.Timestamp(at))))
	}
	do(t, s, effect.Flush{Log: logA})
	for _, how := range []string{"at once", "clean start"} {
		if how == "clean start" {
			require.NoError(t, s.Close(true))
			s, _ = open(t, d, small)
		}
		for want := record.Timestamp(0); want < 70; want++ {
			found, off, ts, err := s.FindTime(effect.FindTime{Log: logA, At: want, To: 70})
			require.NoError(t, err)
			require.Equal(t, []any{true, record.Offset(want), want}, []any{found, off, ts}, "%s: %d", how, want)
		}
	}
}

func TestManyLogsNeedFewOpenFiles(t *testing.T) {
	opts := small
	opts.OpenFiles = 4
	d := &counting{FS: simdisk.New()}
	s, _, err := Open(d, opts, 1)
	require.NoError(t, err)
	for i := range int32(100) {
		id := record.PartitionID{Topic: 1, Index: i}
		do(t, s, effect.CreateLog{Log: id})
		fill(t, s, id, 0, 1, 1)
		do(t, s, effect.Flush{Log: id})
	}
	for i := range int32(100) {
		id := record.PartitionID{Topic: 1, Index: i}
		_, err := readAll(s, id, 0, 3, 100)
		require.NoError(t, err)
	}
	require.LessOrEqual(t, d.open, 4+2, "and the marks and the journal")
	require.NoError(t, s.Close(true))
	require.Zero(t, d.open)
}

// A log that holds what is not flushed keeps its files open. When many do, they
// are flushed without being asked.
func TestManyUnflushedLogsNeedFewOpenFiles(t *testing.T) {
	opts := small
	opts.OpenFiles = 8
	d := &counting{FS: simdisk.New()}
	s, _, err := Open(d, opts, 1)
	require.NoError(t, err)
	most := 0
	for i := range int32(100) {
		id := record.PartitionID{Topic: 1, Index: i}
		do(t, s, effect.CreateLog{Log: id})
		fill(t, s, id, 0, 1, 1)
		most = max(most, d.open)
	}
	require.LessOrEqual(t, most, 8+3*(8/2+1)+2, "idle ones, three of each log that is not flushed, the marks and the journal")
	for i := range int32(100) {
		do(t, s, effect.Flush{Log: record.PartitionID{Topic: 1, Index: i}})
	}
	require.NoError(t, s.Close(true))
	require.Zero(t, d.open)
}

// counting counts open files.
type counting struct {
	vfs.FS
	open int
}

func (c *counting) Open(name string) (vfs.File, error)   { return c.count(c.FS.Open(name)) }
func (c *counting) Create(name string) (vfs.File, error) { return c.count(c.FS.Create(name)) }
func (c *counting) count(f vfs.File, err error) (vfs.File, error) {
	if err == nil {
		c.open++
		return &countedFile{f, c}, nil
	}
	return f, err
}

type countedFile struct {
	vfs.File
	c *counting
}

func (f *countedFile) Close() error { f.c.open--; return f.File.Close() }

// What there was no room for is taken back. When that fails, half of it is left, and
// the store must be opened again: it may not be said that there is no room, as if the
// same call could be made once there is.
func TestHalfAWriteThatStaysIsNoWantOfRoom(t *testing.T) {
	for _, c := range []struct {
		what  string
		undo  int64 // the truncation that takes back what there was no room for
		write func(s *Store) error
	}{
		{"append", 1, func(s *Store) error { return s.Append(appendOf(logA, batchOf(9, 2, 1, 400, 0))) }},
		{"epochs and an append", 1, func(s *Store) error { return s.Append(appendOf(logA, batchOf(9, 2, 2, 400, 0))) }},
		{"journal", 2, func(s *Store) error { return s.SaveQuorum(make([]byte, 1000)) }},
	} {
		t.Run(c.what, func(t *testing.T) {
			d, s := newStore(t, small)
			do(t, s, effect.CreateLog{Log: logA})
			fill(t, s, logA, 0, 1, 3)
			require.NoError(t, s.SaveQuorum([]byte("before")))
			d.SetCapacity(d.Used() + 40)
			require.ErrorIs(t, c.write(s), ErrNoRoom, "it is taken back")
			require.ErrorIs(t, c.write(s), ErrNoRoom, "and again")
			d.FailOp(simdisk.OpTruncate, c.undo, chance.New(1))
			for _, err := range []error{c.write(s), c.write(s), s.SaveQuorum([]byte("x")), s.Flush(logA)} {
				require.ErrorIs(t, err, errUndo)
				require.ErrorIs(t, err, simdisk.ErrIO)
				require.NotErrorIs(t, err, ErrNoRoom)
			}
			d.SetCapacity(0)
			require.ErrorIs(t, c.write(s), ErrFailed)
			d.Kill()
			_, found := open(t, d, small)
			require.Equal(t, record.Offset(9), found.Logs[0].End)
			require.Equal(t, [][]byte{[]byte("before")}, found.Journal)
		})
	}
}
