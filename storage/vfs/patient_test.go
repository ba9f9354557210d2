package vfs_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/storage/vfs"
)

// Descriptors that have run out are no failure of a file: opening it waits until
// one comes back.
func TestOpeningWaitsForADescriptor(t *testing.T) {
	dir := t.TempDir()
	disk, err := vfs.OS(dir)
	require.NoError(t, err)
	f, err := disk.Create("log")
	require.NoError(t, err)
	require.NoError(t, f.Close())

	var limit syscall.Rlimit
	require.NoError(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit))
	list, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	few := limit
	few.Cur = uint64(len(list)) + 8
	require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &few))
	defer func() { require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit)) }()
	var taken []*os.File
	for {
		f, err := os.Open(filepath.Join(dir, "log"))
		if err != nil {
			require.ErrorIs(t, err, syscall.EMFILE)
			break
		}
		taken = append(taken, f)
	}
	time.AfterFunc(50*time.Millisecond, func() {
		for _, f := range taken {
			f.Close()
		}
	})
	again, err := disk.Open("log")
	require.NoError(t, err)
	require.NoError(t, again.Close())
	require.NoError(t, disk.SyncDir(""))
}
