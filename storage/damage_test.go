package storage

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tamarack-mq/tamarack/core/chance"
	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/record"
	"github.com/tamarack-mq/tamarack/storage/vfs/simdisk"
)

// damaged makes a flushed log with segments at 0, 15 and 30, and crashes.
func damaged(t *testing.T, hurt func(d *simdisk.Disk)) (*simdisk.Disk, [][]byte) {
	t.Helper()
	d, s := newStore(t, small)
	do(t, s, effect.CreateLog{Log: logA})
	batches := fill(t, s, logA, 0, 1, 12)
	do(t, s, effect.Flush{Log: logA})
	require.NoError(t, s.SyncMarks())
	hurt(d)
	d.Crash(chance.New(1))
	return d, batches
}

func flip(t *testing.T, d *simdisk.Disk, path string, at int64) {
	t.Helper()
	f, err := d.Open(path)
	require.NoError(t, err)
	b := make([]byte, 1)
	_, err = f.ReadAt(b, at)
	require.NoError(t, err)
	_, err = f.WriteAt([]byte{b[0] ^ 4}, at)
	require.NoError(t, err)
	require.NoError(t, f.Sync())
}

// Damage is reported with the end that can be trusted, found again as long as
// nobody gives the rest up, and never cut away or served (INV-13).
func TestDamageIsNoTornTail(t *testing.T) {
	first, second, third := segmentPath("7-0", 0), segmentPath("7-0", 15), segmentPath("7-0", 30)
	batch := int64(len(batchOf(0, 1, 3, 30, 0)))
	for name, c := range map[string]struct {
		hurt func(d *simdisk.Disk)
		end  record.Offset
		says string
	}{
		"a bit in the last batch":  {func(d *simdisk.Disk) { flip(t, d, third, batch+70) }, 33, "checksum"},
		"a bit in the middle":      {func(d *simdisk.Disk) { flip(t, d, second, 2*batch+70) }, 21, "checksum"},
		"a leader epoch":           {func(d *simdisk.Disk) { flip(t, d, first, 3*batch+15) }, 9, "epoch"},
		"an offset":                {func(d *simdisk.Disk) { flip(t, d, first, 3*batch+7) }, 9, "offset"},
		"a length":                 {func(d *simdisk.Disk) { flip(t, d, first, 3*batch+11) }, 9, ""},
		"a segment in the middle":  {func(d *simdisk.Disk) { require.NoError(t, d.Remove(second)) }, 15, "next segment begins at 30"},
		"the last segment":         {func(d *simdisk.Disk) { require.NoError(t, d.Remove(third)) }, 30, "up to 36 were durable"},
		"the first segment":        {func(d *simdisk.Disk) { require.NoError(t, d.Remove(first)) }, 0, "first segment begins at 15"},
		"all segments":             {func(d *simdisk.Disk) { require.NoError(t, removeAll(d, "7-0")) }, 0, "no segment"},
		"the marks":                {func(d *simdisk.Disk) { require.NoError(t, d.Remove(marksName)) }, 36, "marks were lost"},
		"the end of the last file": {func(d *simdisk.Disk) { cutFile(t, d, third, batch) }, 33, "up to 36 were durable"},
		"the end of another file":  {func(d *simdisk.Disk) { cutFile(t, d, second, 5*batch-1) }, 27, "no whole batch"},
	} {
		t.Run(name, func(t *testing.T) {
			d, batches := damaged(t, func(d *simdisk.Disk) {
				c.hurt(d)
				_ = d.SyncDir("7-0")
				require.NoError(t, d.SyncDir(""))
			})
			s, found := open(t, d, small)
			require.Len(t, found.Logs, 1)
			log := found.Logs[0]
			require.Equal(t, c.end, log.End)
			require.Contains(t, log.Damage, c.says)
			require.NotEmpty(t, log.Damage)
			kept := batches[:c.end/3]
			require.Equal(t, headers(kept...), log.Headers)
			got, err := readAll(s, logA, 0, c.end, 500)
			require.NoError(t, err)
			require.Equal(t, string(bytes.Join(kept, nil)), string(got))

			d.Crash(chance.New(2))
			again, refound := open(t, d, small)
			require.Equal(t, found, refound, "it is left as it is")
			for name, act := range map[string]effect.Effect{
				"truncate": effect.Truncate{Log: logA, To: c.end},
				"append":   appendOf(logA, batchOf(c.end, 2, 1, 10, 0)),
				"reset":    effect.Reset{Log: logA, Start: 100},
			} {
				d := d.Clone()
				again, _ = open(t, d, small)
				do(t, again, act, effect.Flush{Log: logA})
				d.Crash(chance.New(3))
				_, healed := open(t, d, small)
				require.Empty(t, healed.Logs[0].Damage, name)
				end := map[string]record.Offset{"truncate": c.end, "append": c.end + 1, "reset": 100}[name]
				require.Equal(t, end, healed.Logs[0].End, name)
			}
		})
	}
}

// Where a log starts the marks alone tell. Without them the first file that is there may
// not be the first that there was, and the core is told so until the log is put in order.
func TestAStartIsGuessedOnceTheMarksAreLost(t *testing.T) {
	first := segmentPath("7-0", 0)
	for name, c := range map[string]struct {
		lost    []string
		start   record.Offset
		guessed bool
	}{
		"the marks":                       {[]string{marksName}, 0, false},
		"the marks and the first segment": {[]string{marksName, first}, 15, true},
	} {
		t.Run(name, func(t *testing.T) {
			d, _ := damaged(t, func(d *simdisk.Disk) {
				for _, path := range c.lost {
					require.NoError(t, d.Remove(path))
				}
				require.NoError(t, d.SyncDir("7-0"))
				require.NoError(t, d.SyncDir(""))
			})
			_, found := open(t, d, small)
			require.Equal(t, c.start, found.Logs[0].Start)
			require.Equal(t, c.guessed, found.Logs[0].StartGuessed)
			require.Contains(t, found.Logs[0].Damage, "marks were lost")

			d.Crash(chance.New(2)) // before anything was done about it
			s, again := open(t, d, small)
			require.Equal(t, found, again)
			do(t, s, effect.Reset{Log: logA, Start: 0}, effect.Flush{Log: logA})
			d.Crash(chance.New(3))
			_, healed := open(t, d, small)
			require.Empty(t, healed.Logs[0].Damage)
			require.False(t, healed.Logs[0].StartGuessed)
		})
	}
}

func cutFile(t *testing.T, d *simdisk.Disk, path string, size int64) {
	t.Helper()
	f, err := d.Open(path)
	require.NoError(t, err)
	require.NoError(t, f.Truncate(size))
	require.NoError(t, f.Sync())
}

func TestDamageIsNeverServed(t *testing.T) {
	_, s := func() (*simdisk.Disk, *Store) {
		d, s := newStore(t, small)
		do(t, s, effect.CreateLog{Log: logA})
		fill(t, s, logA, 0, 1, 12)
		flip(t, d, segmentPath("7-0", 0), 100)
		flip(t, d, segmentPath("7-0", 15), 12+3)
		return d, s
	}()
	for _, from := range []record.Offset{0, 15} {
		_, err := s.Read(effect.Slice{Log: logA, From: from, To: 36, MaxBytes: 1000})
		var damage *DamageError
		require.ErrorAs(t, err, &damage)
		require.Equal(t, from, damage.Offset)
		require.Equal(t, segmentPath("7-0", from), damage.Path)
	}
	got, err := s.Read(effect.Slice{Log: logA, From: 18, To: 36, MaxBytes: 1})
	require.NoError(t, err, "what lies beside it is served")
	require.Len(t, headers(got), 1)
	require.NoError(t, s.Flush(logA), "and the store goes on")
}

// A read walks over batches that lie before what it looks for, and believes their
// lengths. Whatever these say, what it gives is what was written, or damage.
func TestADamagedLengthBeforeWhatIsReadIsDamage(t *testing.T) {
	for _, interval := range []int32{100, 4096} {
		opts := small
		opts.SegmentBytes, opts.IndexInterval = 4096, interval
		d, s := newStore(t, opts)
		do(t, s, effect.CreateLog{Log: logA})
		batches := fill(t, s, logA, 0, 1, 12)
		size := int64(len(batches[0]))
		var damage *DamageError
		for bit := range int64(4 * 8) {
			for hurt := range int64(5) {
				f, err := d.Open(segmentPath("7-0", 0))
				require.NoError(t, err)
				at, mask := hurt*size+8+bit/8, byte(1)<<(bit%8)
				turn := func() {
					b := make([]byte, 1)
					_, err = f.ReadAt(b, at)
					require.NoError(t, err)
					_, err = f.WriteAt([]byte{b[0] ^ mask}, at)
					require.NoError(t, err)
				}
				turn()
				for k, batch := range batches {
					for _, most := range []int32{1, 500} {
						got, err := s.Read(effect.Slice{Log: logA, From: record.Offset(3 * k), To: 36, MaxBytes: most})
						if err != nil {
							require.ErrorAs(t, err, &damage, "bit %d of the length of batch %d", bit, hurt)
						} else {
							require.True(t, bytes.HasPrefix(bytes.Join(batches[k:], nil), got) && len(got) >= len(batch), "bit %d of the length of batch %d, read from %d", bit, hurt, k)
						}
					}
				}
				turn()
			}
		}
	}
}

// Damage below a checkpoint is not looked for at a start. A truncation that runs
// into it sees to it that the next start does: else that would fail again at
// every start, for ever.
func TestDamageThatATruncationFindsIsReportedByTheNextStart(t *testing.T) {
	d, s := newStore(t, small)
	do(t, s, effect.CreateLog{Log: logA})
	batches := fill(t, s, logA, 0, 1, 12)
	do(t, s, effect.Flush{Log: logA}, effect.Checkpoint{Log: logA, At: 36, State: []byte("all")}, effect.Flush{Log: logA})
	require.NoError(t, s.SyncMarks())
	flip(t, d, segmentPath("7-0", 15), int64(2*len(batches[0])+7)) // the offset of a batch
	d.Crash(chance.New(1))
	s, found := open(t, d, small)
	require.Empty(t, found.Logs[0].Damage)
	var damage *DamageError
	require.ErrorAs(t, s.Do(effect.Truncate{Log: logA, To: 24}), &damage)
	d.Crash(chance.New(2))
	_, found = open(t, d, small)
	require.Equal(t, record.Offset(21), found.Logs[0].End)
	require.NotEmpty(t, found.Logs[0].Damage)
}

// A batch names its leader epoch outside its checksum: the file of epochs has to tell,
// or its copy. What one of them has lost is made good from the other. When both have,
// the epochs of batches that were durable are not known, and no batch is believed.
func TestALeaderEpochIsBelievedOnlyWithAWitness(t *testing.T) {
	one, two := join("7-0", epochsName), join("7-0", epochsCopy)
	lose := func(path string) func(d *simdisk.Disk) {
		return func(d *simdisk.Disk) { require.NoError(t, d.Remove(path)) }
	}
	bend := func(path string) func(d *simdisk.Disk) { return func(d *simdisk.Disk) { flip(t, d, path, 2) } }
	for name, hurt := range map[string]func(d *simdisk.Disk){
		"nothing": func(*simdisk.Disk) {}, "the file bent": bend(one), "the copy bent": bend(two),
		"the file lost": lose(one), "the copy lost": lose(two),
		"the file cut": func(d *simdisk.Disk) { cutFile(t, d, one, 0) },
	} {
		t.Run(name, func(t *testing.T) {
			both := func(d *simdisk.Disk) {
				hurt(d)
				require.NoError(t, d.SyncDir("7-0"))
			}
			d, batches := damaged(t, both)
			_, found := open(t, d, small)
			require.Empty(t, found.Logs[0].Damage)
			require.Equal(t, headers(batches...), found.Logs[0].Headers)
			for _, path := range []string{one, two} {
				b, err := readFile(d, path)
				require.NoError(t, err)
				require.Equal(t, epochStart{1, 0}.appendTo(nil), b, path)
			}

			d, _ = damaged(t, func(d *simdisk.Disk) {
				both(d)
				flip(t, d, segmentPath("7-0", 30), int64(len(batches[0]))+15) // the epoch of the last batch
			})
			_, found = open(t, d, small)
			require.EqualValues(t, 33, found.Logs[0].End)
			require.Contains(t, found.Logs[0].Damage, "another leader epoch")
		})
	}

	d, _ := damaged(t, func(d *simdisk.Disk) { bend(one)(d); bend(two)(d) })
	_, found := open(t, d, small)
	require.EqualValues(t, 0, found.Logs[0].End)
	require.Contains(t, found.Logs[0].Damage, "nothing tells any more with which leader epoch")
}

// A crash may leave neither file whole, but only of epochs that begin behind all
// that was durable. There the batches tell: what they say was promised to nobody.
func TestEpochsThatACrashHasTornAreTakenFromTheBatches(t *testing.T) {
	d, s := newStore(t, small)
	do(t, s, effect.CreateLog{Log: logA})
	batches := fill(t, s, logA, 0, 1, 3)
	do(t, s, effect.Flush{Log: logA})
	batches = append(batches, fill(t, s, logA, 9, 2, 1)...)
	d.Kill()
	for _, name := range []string{epochsName, epochsCopy} {
		cutFile(t, d, join("7-0", name), epochFrame+3)
	}
	_, found := open(t, d, small)
	require.Empty(t, found.Logs[0].Damage)
	require.Equal(t, headers(batches...), found.Logs[0].Headers)
	b, err := readFile(d, join("7-0", epochsCopy))
	require.NoError(t, err)
	require.Equal(t, epochStart{2, 9}.appendTo(epochStart{1, 0}.appendTo(nil)), b)
}

// What producers did in records that retention has taken is known from the
// checkpoint alone. Without it the log is all there and yet not what it was, and
// says so until another one is written: when it has been told by others, or when
// nobody knows more. As long as all records are there they tell the same.
func TestACheckpointThatIsLostIsDamageOnceTheFirstRecordsAreGone(t *testing.T) {
	path := join("7-0", checkpointName)
	for name, hurt := range map[string]func(d *simdisk.Disk){
		"lost":    func(d *simdisk.Disk) { require.NoError(t, d.Remove(path)); require.NoError(t, d.SyncDir("7-0")) },
		"flipped": func(d *simdisk.Disk) { flip(t, d, path, 20) },
	} {
		t.Run(name, func(t *testing.T) {
			d, s := newStore(t, small)
			do(t, s, effect.CreateLog{Log: logA})
			batches := fill(t, s, logA, 0, 1, 12)
			checkpoint := effect.Checkpoint{Log: logA, At: 36, HighWatermark: 36, State: []byte("all")}
			do(t, s, checkpoint)
			d.Kill()
			whole := d.Clone()
			hurt(whole)
			_, found := open(t, whole, small)
			require.Empty(t, found.Logs[0].Damage)
			require.Equal(t, headers(batches...), found.Logs[0].Headers)

			s, _ = open(t, d, small)
			do(t, s, effect.TrimPrefix{Log: logA, Start: 15})
			hurt(d)
			d.Crash(chance.New(1))
			s, found = open(t, d, small)
			require.Equal(t, effect.RecoveredLog{
				ID: logA, Start: 15, End: 36, CheckpointAt: 15, HighWatermark: 36, Headers: headers(batches[5:]...),
				Damage: "storage: log 7/0 is damaged at offset 36 (7-0/checkpoint at byte 0): the checkpoint cannot be read, " +
					"and nothing else tells what producers did below the log start, 15",
				Bytes: int64(len(bytes.Join(batches[5:], nil))), Config: found.Logs[0].Config,
			}, found.Logs[0])
			got, err := readAll(s, logA, 15, 36, 500)
			require.NoError(t, err)
			require.Equal(t, string(bytes.Join(batches[5:], nil)), string(got))

			d.Crash(chance.New(2))
			s, again := open(t, d, small)
			require.Equal(t, found, again, "it is left as it is")
			do(t, s, effect.Truncate{Log: logA, To: 36}, appendOf(logA, batchOf(36, 2, 1, 10, 0)), effect.Flush{Log: logA})
			d.Crash(chance.New(3))
			s, again = open(t, d, small)
			require.EqualValues(t, 37, again.Logs[0].End)
			require.Contains(t, again.Logs[0].Damage, "nothing else tells", "neither do new records")

			d.Kill()
			reset := d.Clone()
			s, _ = open(t, reset, small)
			do(t, s, effect.Reset{Log: logA, Start: 15})
			reset.Crash(chance.New(4))
			_, again = open(t, reset, small)
			require.Empty(t, again.Logs[0].Damage, "who begins anew is told what there was")

			s, _ = open(t, d, small)
			do(t, s, effect.Truncate{Log: logA, To: 37}, checkpoint)
			d.Crash(chance.New(5))
			_, again = open(t, d, small)
			require.Empty(t, again.Logs[0].Damage)
			require.Equal(t, checkpoint.State, again.Logs[0].Checkpoint)
		})
	}
}

// A log of which nothing can be kept is put in order by a cut at its start, and
// begins anew there. Nobody tells it again what producers did in records that were
// gone before: its checkpoint did, and stays. One that is lost is missed as before.
func TestACutAtTheStartOfADamagedLogKeepsItsCheckpoint(t *testing.T) {
	checkpoint := effect.Checkpoint{Log: logA, At: 36, HighWatermark: 36, State: []byte("all")}
	path := join("7-0", checkpointName)
	cut := func(t *testing.T, hurt func(d *simdisk.Disk)) *simdisk.Disk {
		d, s := newStore(t, small)
		do(t, s, effect.CreateLog{Log: logA})
		fill(t, s, logA, 0, 1, 12)
		do(t, s, checkpoint, effect.TrimPrefix{Log: logA, Start: 36})
		d.Kill()
		require.NoError(t, removeFile(d, indexPath(s.logs[logA].last()))) // else nobody looks
		flip(t, d, s.logs[logA].last().path, 20)
		hurt(d)
		s, found := open(t, d, small)
		require.Contains(t, found.Logs[0].Damage, "damaged at offset 30")
		do(t, s, effect.Truncate{Log: logA, To: 36})
		return d
	}
	kept := func(t *testing.T, d *simdisk.Disk) (*Store, effect.RecoveredLog) {
		s, found := open(t, d, small)
		l := found.Logs[0]
		require.Empty(t, l.Damage)
		require.Equal(t, checkpoint.State, l.Checkpoint)
		require.EqualValues(t, 36, l.Start)
		return s, l
	}

	d := cut(t, func(*simdisk.Disk) {})
	d.Crash(chance.New(1))
	s, _ := kept(t, d)
	do(t, s, appendOf(logA, batchOf(36, 2, 1, 10, 0)), effect.Flush{Log: logA})
	d.Crash(chance.New(2))
	_, l := kept(t, d)
	require.EqualValues(t, 37, l.End)
	d.Kill()
	require.NoError(t, d.Remove(path))
	_, found := open(t, d, small)
	require.Contains(t, found.Logs[0].Damage, "nothing else tells")

	d = cut(t, func(d *simdisk.Disk) { require.NoError(t, d.Remove(path)) })
	d.Crash(chance.New(3))
	_, found = open(t, d, small)
	require.Contains(t, found.Logs[0].Damage, "nothing else tells", "also of the log that took its place")
}

// The index of an older segment is made again by the first read that needs it. That
// it cannot be written says nothing about the records.
func TestAnIndexThatCannotBeWrittenIsNoDamage(t *testing.T) {
	d, batches := damaged(t, func(*simdisk.Disk) {})
	s, _ := open(t, d, small)
	path := indexPath(&segment{path: segmentPath("7-0", 0)})
	if err := d.Remove(path); err != nil {
		require.ErrorIs(t, err, fs.ErrNotExist)
	}
	d.FailWrite(1, chance.New(4))
	got, err := s.Read(effect.Slice{Log: logA, From: 6, To: 9, MaxBytes: 1000})
	require.NoError(t, err)
	require.Equal(t, string(batches[2]), string(got))
	require.NoError(t, s.Flush(logA), "and the store goes on")
}

func TestADamagedJournalIsReportedUntilItIsReplaced(t *testing.T) {
	frames := [][]byte{[]byte("one"), []byte("two"), []byte("three")}
	for name, c := range map[string]struct {
		hurt func(d *simdisk.Disk)
		kept int
	}{
		"a frame":       {func(d *simdisk.Disk) { flip(t, d, quorumName, journalHeader+32+frameHeader) }, 1},
		"the last":      {func(d *simdisk.Disk) { flip(t, d, quorumName, journalHeader+64) }, 2},
		"the header":    {func(d *simdisk.Disk) { flip(t, d, quorumName, 9) }, 0},
		"the whole":     {func(d *simdisk.Disk) { require.NoError(t, d.Remove(quorumName)) }, 0},
		"all but frame": {func(d *simdisk.Disk) { cutFile(t, d, quorumName, journalHeader+32) }, 1},
	} {
		t.Run(name, func(t *testing.T) {
			d, s := newStore(t, small)
			for _, f := range frames {
				require.NoError(t, s.SaveQuorum(f))
			}
			require.NoError(t, s.SyncMarks())
			c.hurt(d)
			require.NoError(t, d.SyncDir(""))
			d.Crash(chance.New(1))
			s, found := open(t, d, small)
			require.NotEmpty(t, found.JournalDamaged)
			require.Len(t, found.Journal, c.kept)
			d.Crash(chance.New(2))
			s, again := open(t, d, small)
			require.Equal(t, found, again)
			require.NoError(t, s.SaveQuorum([]byte("on")))
			require.NoError(t, s.SaveQuorum([]byte("and on")))
			d.Crash(chance.New(3))
			s, found = open(t, d, small)
			require.Equal(t, append(again.Journal, []byte("on"), []byte("and on")), found.Journal)
			require.NotEmpty(t, found.JournalDamaged, "what was lost is still lost")
			require.NoError(t, s.ReplaceQuorum(frames))
			d.Crash(chance.New(4))
			_, found = open(t, d, small)
			require.Equal(t, frames, found.Journal)
			require.Empty(t, found.JournalDamaged)
		})
	}
}

// One fault in what is guarded, wherever it is: nothing wrong is ever read, no
// flushed record is missing without a word, and what recovery says it says
// again.
func TestOneFaultAnywhereIsNeverSilent(t *testing.T) {
	kinds := map[string]int{}
	for seed := range uint64(seeds(t)) * 60 {
		w := newWorkload(seed)
		d := simdisk.New()
		var err error
		w.s, _ = open(t, d, small)
		require.NoError(t, w.run(60))
		random := chance.New(seed + 77)
		if random.OneIn(2) {
			require.NoError(t, w.s.SyncMarks())
		}
		var damage simdisk.Damage
		var ok bool
		limit := func(path string, _ int64) int64 { return w.s.Guarded(path) }
		switch random.Below(3) {
		case 0:
			damage, ok = d.FlipBit(random, limit)
		case 1:
			damage, ok = d.Misdirect(random, limit, nil)
		case 2:
			damage, ok = d.LoseFile(random, limit)
		}
		if !ok {
			continue
		}
		why := fmt.Sprintf("seed %d, %+v", seed, damage)
		w.checkContent(t, why+", running")
		if random.OneIn(2) {
			d.Crash(random)
		} else {
			d.Kill()
		}
		var found effect.Recovered
		w.s, found, err = Open(d, small, 42)
		require.NoError(t, err, why)
		w.checkDamaged(t, found, why)
		kinds[kindOf(damage, found)]++
		d.Crash(random)
		var again effect.Recovered
		w.s, again, err = Open(d, small, 42)
		require.NoError(t, err, why)
		for i, l := range found.Logs { // below a checkpoint it may be found later
			if l.Damage == "" && again.Logs[i].Damage != "" && again.Logs[i].End <= l.CheckpointAt {
				found.Logs[i] = again.Logs[i]
			}
		}
		require.Equal(t, found, again, why)
		w.checkContent(t, why)
		for _, l := range again.Logs {
			do(t, w.s, effect.Truncate{Log: l.ID, To: l.End}, effect.Checkpoint{Log: l.ID, At: l.End, State: []byte("that is all")})
		}
		require.NoError(t, w.s.ReplaceQuorum(nil), why)
		d.Crash(random)
		_, healed := open(t, d, small)
		require.Empty(t, healed.JournalDamaged, why)
		for i, l := range healed.Logs {
			require.Empty(t, l.Damage, why)
			require.Equal(t, again.Logs[i].End, l.End, why)
		}
	}
	t.Log(kinds)
}

func kindOf(d simdisk.Damage, found effect.Recovered) string {
	place := d.Path[strings.LastIndexAny(d.Path, "./")+1:]
	for _, l := range found.Logs {
		if l.Damage != "" {
			return string(d.Kind) + " " + place + " reported"
		}
	}
	if found.JournalDamaged != "" {
		return string(d.Kind) + " " + place + " reported"
	}
	return string(d.Kind) + " " + place + " harmless or latent"
}

// checkDamaged holds what recovery says against what was flushed.
func (w *workload) checkDamaged(t *testing.T, found effect.Recovered, why string) {
	if found.JournalDamaged == "" {
		require.Equal(t, w.m.frames, found.Journal, why)
	} else {
		require.LessOrEqual(t, len(found.Journal), len(w.m.frames), why)
		for i, f := range found.Journal {
			require.Equal(t, w.m.frames[i], f, why)
		}
	}
	byID := map[record.PartitionID]effect.RecoveredLog{}
	for _, l := range found.Logs {
		byID[l.ID] = l
	}
	for i := range w.m.logs {
		l := &w.m.logs[i]
		got, ok := byID[l.id]
		if !l.exists || !l.born && !ok {
			continue
		}
		require.True(t, ok, why)
		require.LessOrEqual(t, got.End, l.end, why)
		if got.Damage == "" {
			require.Equal(t, l.start, got.Start, why)
			require.GreaterOrEqual(t, got.End, l.flushed, "%s: log %v lost records without a word", why, l.id)
		}
	}
	w.checkContent(t, why)
}

// checkContent reads all logs: each batch is right or an error.
func (w *workload) checkContent(t *testing.T, why string) {
	for i := range w.m.logs {
		l := &w.m.logs[i]
		p := w.s.logs[l.id]
		if !l.exists || p == nil {
			continue
		}
		for _, b := range l.batches {
			h := headers(b)[0]
			if h.BaseOffset < p.start || h.End() > p.end {
				continue
			}
			got, err := w.s.Read(effect.Slice{Log: l.id, From: h.BaseOffset, To: h.End(), MaxBytes: 1})
			var damage *DamageError
			if errors.As(err, &damage) {
				continue
			}
			require.NoError(t, err, why)
			require.Equal(t, b, got, "%s: log %v at %d", why, l.id, h.BaseOffset)
		}
	}
}
