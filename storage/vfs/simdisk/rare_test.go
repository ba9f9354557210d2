package simdisk

import (
	"io/fs"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core/chance"
	"github.com/tamarack-mq/tamarack/storage/vfs"
)

// Each kind of operation can be made to fail. The failure is the one that was asked
// for, and is counted.
func TestAnyOperationCanFail(t *testing.T) {
	for seed := range uint64(40) {
		d := New()
		f := create(t, d, "log", "text")
		other := create(t, d, "other", "text")
		require.NoError(t, d.Mkdir("folder"))
		do := map[Op]func() error{
			OpWrite:    func() error { _, err := f.WriteAt([]byte("more"), 4); return err },
			OpSync:     f.Sync,
			OpTruncate: func() error { return f.Truncate(2) },
			OpCreate:   func() error { _, err := d.Create("third"); return err },
			OpMkdir:    func() error { return d.Mkdir("folder2") },
			OpRename:   func() error { return d.Rename("other", "another") },
			OpRemove:   func() error { return d.Remove("nothing") }, // would fail anyhow
			OpSyncDir:  func() error { return d.SyncDir("folder") },
		}
		failures := int64(0)
		for op := OpWrite; op <= OpSyncDir; op++ {
			d.FailOp(op, 1, chance.New(seed))
			if op != OpSync {
				require.NoError(t, other.Sync(), "another kind")
			}
			require.ErrorIs(t, do[op](), ErrIO)
			failures++
			require.Equal(t, failures, d.Failures())
			require.NotErrorIs(t, do[op](), ErrIO, "once")
		}
		d.FailOp(0, 2, chance.New(seed))
		require.NoError(t, f.Sync())
		require.ErrorIs(t, d.SyncDir(""), ErrIO)
		d.FailOp(OpWrite, 1, chance.New(seed))
		d.FailOp(0, 0, nil)
		_, err := f.WriteAt([]byte("x"), 0)
		require.NoError(t, err, "disarmed")
	}
}

// After a failed sync of a folder its names may be durable, and a later one makes them so.
func TestAFailedSyncOfAFolderMayHaveBeenDone(t *testing.T) {
	lost, kept := 0, 0
	for seed := range uint64(100) {
		for _, again := range []bool{false, true} {
			d := New()
			require.NoError(t, create(t, d, "early", "e").Sync())
			d.FailOp(OpSyncDir, 1, chance.New(seed))
			require.ErrorIs(t, d.SyncDir(""), ErrIO)
			if again {
				require.NoError(t, d.SyncDir(""))
			}
			d.Crash(chance.New(seed))
			_, ok := read(t, d, "early")
			switch {
			case again:
				require.True(t, ok)
			case ok:
				kept++
			default:
				lost++
			}
		}
	}
	require.Greater(t, lost, 10)
	require.Greater(t, kept, 10)
}

func TestAFileCanLoseItsEnd(t *testing.T) {
	d := New()
	f := create(t, d, "log", "durable text")
	require.NoError(t, f.Sync())
	require.NoError(t, d.SyncDir(""))
	_, err := f.WriteAt([]byte(" and more"), 12)
	require.NoError(t, err)
	hit, ok := d.CutFile(chance.New(3), func(string, int64) int64 { return 8 })
	require.True(t, ok)
	require.Equal(t, Cut, hit.Kind)
	require.Less(t, hit.Offset, int64(8))
	got, _ := read(t, d, "log")
	require.Equal(t, "durable text and more"[:hit.Offset], got)
	require.Equal(t, hit.Offset, d.Used())
	d.Crash(chance.New(3))
	got, _ = read(t, d, "log")
	require.Equal(t, "durable text"[:hit.Offset], got)
	_, ok = d.CutFile(chance.New(3), func(string, int64) int64 { return 0 })
	require.False(t, ok)
}

func TestAFolderCanVanish(t *testing.T) {
	d := New()
	require.NoError(t, d.Mkdir("a"))
	require.NoError(t, d.Mkdir("b"))
	require.NoError(t, d.SyncDir(""))
	f := create(t, d, "a/log", "text")
	create(t, d, "b/log", "other")
	hit, ok := d.LoseFolder(chance.New(1), func(path string, _ int64) int64 {
		if path == "a/" {
			return 1
		}
		return 0
	})
	require.True(t, ok)
	require.Equal(t, Damage{Kind: LoseAll, Path: "a/"}, hit)
	_, err := d.ReadDir("a")
	require.ErrorIs(t, err, fs.ErrNotExist)
	_, err = d.Create("a/next")
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.EqualValues(t, 5, d.Used())
	_, err = f.WriteAt([]byte("more"), 4)
	require.NoError(t, err, "who has it open goes on")
	require.EqualValues(t, 5, d.Used())
	_, nameless := d.Opened()
	require.Zero(t, nameless, "it was not the process that took the name away")
	d.Crash(chance.New(1))
	list, err := d.ReadDir("")
	require.NoError(t, err)
	require.Equal(t, []vfs.Entry{{Name: "b", Dir: true}}, list)
}

func TestABitCanBeTurnedAtAPlace(t *testing.T) {
	d := New()
	f := create(t, d, "marks", "aaaa")
	_, ok := d.FlipAt("marks", 1, 1)
	require.False(t, ok, "nothing of it is durable")
	require.NoError(t, f.Sync())
	require.NoError(t, d.SyncDir(""))
	_, ok = d.FlipAt("marks", 1, 1)
	require.True(t, ok)
	_, ok = d.FlipAt("marks", 4, 1)
	require.False(t, ok)
	got, _ := read(t, d, "marks")
	require.Equal(t, "acaa", got)
}
