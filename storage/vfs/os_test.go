package vfs_test

import (
	"io/fs"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tamarack-mq/tamarack/storage/vfs"
	"github.com/tamarack-mq/tamarack/storage/vfs/simdisk"
)

// Both implementations tell the same story.
func TestEveryFileSystemKeepsTheContract(t *testing.T) {
	disk, err := vfs.OS(filepath.Join(t.TempDir(), "made", "on", "demand"))
	require.NoError(t, err)
	for name, fs := range map[string]vfs.FS{"os": disk, "simulated": simdisk.New()} {
		t.Run(name, func(t *testing.T) { tellStory(t, fs) })
	}
}

func tellStory(t *testing.T, d vfs.FS) {
	_, err := d.Open("nothing")
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.ErrorIs(t, d.Remove("nothing"), fs.ErrNotExist)
	_, err = d.Create("no/folder")
	require.ErrorIs(t, err, fs.ErrNotExist)

	require.NoError(t, d.Mkdir("logs"))
	require.NoError(t, d.Mkdir("logs"), "twice is no error")
	f, err := d.Create("logs/b")
	require.NoError(t, err)
	n, err := f.WriteAt([]byte("hello"), 3)
	require.NoError(t, err)
	require.Equal(t, 5, n)
	b := make([]byte, 8)
	_, err = f.ReadAt(b, 0)
	require.NoError(t, err)
	require.Equal(t, "\x00\x00\x00hello", string(b))
	n, err = f.ReadAt(b, 4)
	require.Error(t, err, "fewer bytes than asked for")
	require.Equal(t, 4, n)
	require.NoError(t, f.Truncate(4))
	require.NoError(t, f.Truncate(6))
	size, err := f.Size()
	require.NoError(t, err)
	require.EqualValues(t, 6, size)
	_, err = f.ReadAt(b[:6], 0)
	require.NoError(t, err)
	require.Equal(t, "\x00\x00\x00h\x00\x00", string(b[:6]))
	require.NoError(t, f.Sync())
	require.NoError(t, f.Close())
	require.Error(t, f.Sync())

	g, err := d.Create("logs/a")
	require.NoError(t, err)
	require.NoError(t, g.Close())
	require.NoError(t, d.Mkdir("logs/c"))
	require.NoError(t, d.SyncDir("logs"))
	require.NoError(t, d.SyncDir(""))
	list, err := d.ReadDir("logs")
	require.NoError(t, err)
	require.Equal(t, []vfs.Entry{{Name: "a"}, {Name: "b", Size: 6}, {Name: "c", Dir: true}}, list)

	require.NoError(t, d.Rename("logs/b", "logs/a"))
	require.Error(t, d.Remove("logs"), "not empty")
	require.NoError(t, d.Remove("logs/a"))
	require.NoError(t, d.Remove("logs/c"))
	require.NoError(t, d.Rename("logs", "old"))
	require.NoError(t, d.Remove("old"))
	list, err = d.ReadDir("")
	require.NoError(t, err)
	require.Empty(t, list)

	held, err := d.Lock("lock")
	require.NoError(t, err)
	_, err = d.Lock("lock")
	require.ErrorIs(t, err, vfs.ErrLocked)
	require.NoError(t, held.Close())
	held, err = d.Lock("lock")
	require.NoError(t, err)
	require.NoError(t, held.Close())
	free, err := d.Free()
	require.NoError(t, err)
	require.Positive(t, free)
}
