//go:build linux || darwin || freebsd || dragonfly

package vfs

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// free is the number of bytes that an ordinary user can still write below a
// folder.
func free(dir string) (int64, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return 0, err
	}
	return int64(s.Bavail) * int64(s.Bsize), nil
}

// lock takes a file for this process, as long as the descriptor is open.
func lock(f *os.File) error {
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return ErrLocked
	}
	return err
}
