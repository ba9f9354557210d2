package simdisk

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tamarack-mq/tamarack/core/chance"
	"github.com/tamarack-mq/tamarack/storage/vfs"
	"pgregory.net/rapid"
)

func create(t *testing.T, d *Disk, name, text string) vfs.File {
	t.Helper()
	f, err := d.Create(name)
	require.NoError(t, err)
	_, err = f.WriteAt([]byte(text), 0)
	require.NoError(t, err)
	return f
}

func read(t require.TestingT, d *Disk, name string) (string, bool) {
	f, err := d.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return "", false
	}
	require.NoError(t, err)
	size, err := f.Size()
	require.NoError(t, err)
	b := make([]byte, size)
	if size > 0 {
		_, err = f.ReadAt(b, 0)
		require.NoError(t, err)
	}
	return string(b), true
}

func TestAfterAPowerCutOnlyWhatWasSyncedIsCertain(t *testing.T) {
	outcomes := map[string]int{}
	for seed := range uint64(200) {
		d := New()
		f := create(t, d, "log", "durable")
		require.NoError(t, f.Sync())
		require.NoError(t, d.SyncDir(""))
		_, err := f.WriteAt([]byte(" or not"), 7)
		require.NoError(t, err)
		d.Crash(chance.New(seed))
		_, err = f.WriteAt([]byte("x"), 0)
		require.ErrorIs(t, err, ErrCrashed, "a file of the life before")
		got, ok := read(t, d, "log")
		require.True(t, ok)
		require.Equal(t, "durable", got[:7])
		outcomes[got]++
	}
	require.Contains(t, outcomes, "durable")
	require.Contains(t, outcomes, "durable or not")
	require.Contains(t, outcomes, "durable\x00\x00\x00\x00\x00\x00\x00")
	require.Greater(t, len(outcomes), 5, "sizes in between and garbage")
}

func TestANameIsDurableOnlyOnceItsFolderWasSynced(t *testing.T) {
	lost := 0
	for seed := range uint64(100) {
		d := New()
		f := create(t, d, "log", "content")
		require.NoError(t, f.Sync())
		d.Crash(chance.New(seed))
		if _, ok := read(t, d, "log"); !ok {
			lost++
		}
	}
	require.Greater(t, lost, 20)
	require.Less(t, lost, 80)
}

func TestARenameReplacesAtOnceOrNotAtAll(t *testing.T) {
	seen := map[string]bool{}
	for seed := range uint64(100) {
		d := New()
		require.NoError(t, create(t, d, "a", "old").Sync())
		require.NoError(t, d.SyncDir(""))
		require.NoError(t, create(t, d, "a.tmp", "new").Sync())
		require.NoError(t, d.Rename("a.tmp", "a"))
		got, _ := read(t, d, "a")
		require.Equal(t, "new", got)
		d.Crash(chance.New(seed))
		got, ok := read(t, d, "a")
		require.True(t, ok)
		seen[got] = true
	}
	require.Equal(t, map[string]bool{"old": true, "new": true}, seen)
}

func TestAfterAFailedSyncALaterOneMayLie(t *testing.T) {
	lost := 0
	for seed := range uint64(100) {
		d := New()
		f := create(t, d, "log", "")
		require.NoError(t, f.Sync())
		require.NoError(t, d.SyncDir(""))
		_, _ = f.WriteAt([]byte("promise"), 0)
		d.FailSync(1, chance.New(seed))
		require.ErrorIs(t, f.Sync(), ErrIO)
		require.NoError(t, f.Sync(), "the system believes that it is clean")
		got, _ := read(t, d, "log")
		require.Equal(t, "promise", got)
		d.Crash(chance.New(seed))
		if got, _ = read(t, d, "log"); got != "promise" {
			lost++
		}
	}
	require.Greater(t, lost, 50)
}

func TestRewritingWhatAFailedSyncHidMakesItDurable(t *testing.T) {
	for seed := range uint64(100) {
		d := New()
		f := create(t, d, "log", "promise")
		require.NoError(t, d.SyncDir(""))
		d.FailSync(1, chance.New(seed))
		require.ErrorIs(t, f.Sync(), ErrIO)
		d.Kill()
		f, err := d.Open("log")
		require.NoError(t, err)
		_, err = f.WriteAt([]byte("promise"), 0)
		require.NoError(t, err)
		require.NoError(t, f.Sync())
		d.Crash(chance.New(seed))
		got, _ := read(t, d, "log")
		require.Equal(t, "promise", got)
	}
}

func TestAFullDiskTakesWhatFits(t *testing.T) {
	d := New()
	d.SetCapacity(10)
	f := create(t, d, "a", "12345678")
	n, err := f.WriteAt([]byte("abcd"), 8)
	require.ErrorIs(t, err, vfs.ErrNoRoom)
	require.Equal(t, 2, n)
	_, err = f.WriteAt([]byte("wxyz"), 0)
	require.NoError(t, err, "writing in place needs no room")
	require.NoError(t, f.Truncate(4))
	require.EqualValues(t, 4, d.Used())
	_, err = f.WriteAt([]byte("abcd"), 4)
	require.NoError(t, err)
	_, err = f.WriteAt([]byte("ef"), 8)
	require.NoError(t, err)
	_, err = d.Create("b")
	require.ErrorIs(t, err, vfs.ErrNoRoom, "not even for a name")
	_, err = d.Open("b")
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.NoError(t, d.Remove("a"))
	require.Zero(t, d.Used())
}

func TestAnArmedCrashStopsEverything(t *testing.T) {
	parts := map[string]bool{}
	for seed := range uint64(100) {
		d := New()
		f := create(t, d, "a", "")
		d.CrashAfter(2, chance.New(seed))
		_, err := f.WriteAt([]byte("1234"), 0)
		require.NoError(t, err)
		_, err = f.WriteAt([]byte("5678"), 4)
		require.ErrorIs(t, err, ErrCrashed)
		require.True(t, d.Crashed())
		require.ErrorIs(t, f.Sync(), ErrCrashed)
		_, err = d.Open("a")
		require.ErrorIs(t, err, ErrCrashed)
		d.Kill()
		got, _ := read(t, d, "a")
		require.Equal(t, "1234", got[:4])
		parts[got] = true
	}
	require.Len(t, parts, 5, "nothing, all, and each part")
}

func TestDamageHitsOnlyWhatIsDurableAndAllowed(t *testing.T) {
	d := New()
	require.NoError(t, d.Mkdir("logs"))
	spared := create(t, d, "logs/spared", "spared")
	hit := create(t, d, "logs/hit", "abcdefgh")
	_, ok := d.FlipBit(chance.New(1), nil)
	require.False(t, ok, "nothing is durable yet")
	require.NoError(t, spared.Sync())
	require.NoError(t, hit.Sync())
	require.NoError(t, d.SyncDir("logs"))
	require.NoError(t, d.SyncDir(""))
	limit := func(path string, durable int64) int64 {
		if path != "logs/hit" {
			return 0
		}
		return min(durable, 4)
	}
	before := d.Digest()
	random := chance.New(1)
	for range 100 {
		damage, ok := d.FlipBit(random, limit)
		require.True(t, ok)
		require.Equal(t, "logs/hit", damage.Path)
		require.Less(t, damage.Offset, int64(4))
	}
	require.NotEqual(t, before, d.Digest())
	got, _ := read(t, d, "logs/hit")
	require.Equal(t, "efgh", got[4:])
	damage, ok := d.LoseFile(random, limit)
	require.True(t, ok)
	require.Equal(t, Damage{Kind: Lose, Path: "logs/hit", Size: 8}, damage)
	d.Crash(random)
	_, ok = read(t, d, "logs/hit")
	require.False(t, ok)
	got, _ = read(t, d, "logs/spared")
	require.Equal(t, "spared", got)
}

// Whatever is done to a file, bytes that were synced and not touched since
// survive, and so do their names.
func TestWhatIsSyncedAndLeftAloneSurvives(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := New()
		f, _ := d.Create("f")
		_ = d.SyncDir("")
		var certain, known []byte // known[i]: certain[i] cannot change
		seen := []byte{}
		steps := rapid.IntRange(1, 30).Draw(t, "steps")
		for range steps {
			switch rapid.IntRange(0, 3).Draw(t, "step") {
			case 0, 1:
				off := rapid.IntRange(0, len(seen)+100).Draw(t, "off")
				b := bytes.Repeat([]byte{byte(rapid.IntRange(1, 255).Draw(t, "byte"))}, rapid.IntRange(1, 9000).Draw(t, "size"))
				_, err := f.WriteAt(b, int64(off))
				require.NoError(t, err)
				if end := off + len(b); end > len(seen) {
					seen = append(seen, make([]byte, end-len(seen))...)
				}
				copy(seen[off:], b)
				for i := off; i < min(off+len(b), len(known)); i++ {
					known[i] = 0
				}
			case 2:
				require.NoError(t, f.Sync())
				certain = bytes.Clone(seen)
				known = bytes.Repeat([]byte{1}, len(seen))
			case 3:
				size := rapid.IntRange(0, len(seen)+100).Draw(t, "truncate")
				require.NoError(t, f.Truncate(int64(size)))
				for i := min(size, len(known)); i < len(known); i++ {
					known[i] = 0
				}
				if size > len(seen) {
					seen = append(seen, make([]byte, size-len(seen))...)
				}
				seen = seen[:size]
			}
			got, _ := read(t, d, "f")
			require.Equal(t, string(seen), got)
		}
		clone := d.Clone()
		require.Equal(t, d.Digest(), clone.Digest())
		seed := rapid.Uint64().Draw(t, "seed")
		d.Crash(chance.New(seed))
		got, ok := read(t, d, "f")
		require.True(t, ok)
		for i, k := range known {
			if k == 1 {
				require.Less(t, i, len(got))
				require.Equal(t, certain[i], got[i], "byte %d", i)
			}
		}
		require.EqualValues(t, len(got), d.Used())
		clone.Crash(chance.New(seed))
		require.Equal(t, d.Digest(), clone.Digest(), "a clone crashes alike")
	})
}

func TestACloneGoesItsOwnWay(t *testing.T) {
	d := New()
	f := create(t, d, "f", "same")
	c := d.Clone()
	_, err := f.WriteAt([]byte("A"), 0)
	require.NoError(t, err)
	g, err := c.Open("f")
	require.NoError(t, err)
	_, err = g.WriteAt([]byte("B"), 4)
	require.NoError(t, err)
	one, _ := read(t, d, "f")
	two, _ := read(t, c, "f")
	require.Equal(t, []string{"Aame", "sameB"}, []string{one, two})
}

func BenchmarkAppendAndSync(b *testing.B) {
	for _, size := range []int{100, 1000, 10000} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			d := New()
			chunk := bytes.Repeat([]byte("x"), size)
			b.SetBytes(int64(size))
			b.ReportAllocs()
			var f vfs.File
			at := int64(1 << 20)
			for b.Loop() {
				if at >= 1<<20 {
					f, _ = d.Create("f")
					at = 0
				}
				_, _ = f.WriteAt(chunk, at)
				at += int64(size)
				_ = f.Sync()
			}
		})
	}
}

func TestASectorThatCannotBeReadIsHealedByWritingIt(t *testing.T) {
	d := New()
	f := create(t, d, "a", strings.Repeat("x", 2000))
	require.NoError(t, f.Sync())
	require.NoError(t, d.SyncDir(""))
	hit, ok := d.SpoilSector(chance.New(1), nil)
	require.True(t, ok)
	require.Equal(t, Unread, hit.Kind)
	b := make([]byte, 1)
	_, err := f.ReadAt(b, hit.Offset)
	require.ErrorIs(t, err, vfs.ErrUnreadable)
	_, err = f.ReadAt(b, (hit.Offset+sectorSize)%2000)
	require.NoError(t, err, "only that sector")
	_, err = f.WriteAt(b, hit.Offset)
	require.NoError(t, err)
	_, err = f.ReadAt(b, hit.Offset)
	require.ErrorIs(t, err, vfs.ErrUnreadable, "it was not written whole")
	d.Kill()
	f, err = d.Open("a")
	require.NoError(t, err)
	_, err = f.ReadAt(b, hit.Offset)
	require.ErrorIs(t, err, vfs.ErrUnreadable, "nor does a restart help")
	_, err = f.WriteAt(make([]byte, sectorSize), hit.Offset)
	require.NoError(t, err)
	_, err = f.ReadAt(b, hit.Offset)
	require.NoError(t, err)
}

// What is written in the middle of a sync is seen at once, and is not durable with it.
func TestWhatComesInTheMiddleOfASyncIsNotCovered(t *testing.T) {
	for seed := range uint64(20) {
		d := New()
		f := create(t, d, "a", "before")
		require.NoError(t, d.SyncDir(""))
		times := 0
		d.Meanwhile(func() {
			times++
			_, err := f.WriteAt([]byte("behind"), 3<<12)
			require.NoError(t, err)
		})
		require.NoError(t, f.Sync())
		text, _ := read(t, d, "a")
		require.Equal(t, 3<<12+6, len(text))
		d.Crash(chance.New(seed))
		text, _ = read(t, d, "a")
		require.True(t, strings.HasPrefix(text, "before"))
		require.Equal(t, 1, times)
		if len(text) == 6 {
			return
		}
	}
	t.Error("no power cut took what came in the middle of a sync")
}
