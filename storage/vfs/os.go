package vfs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// OS returns the file system below a folder of this machine. It makes the
// folder, and makes its name durable, if it does not exist.
func OS(dir string) (FS, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if err := makeDurable(dir); err != nil {
		return nil, translate(err)
	}
	return osFS(dir), nil
}

// makeDurable makes a folder and those above it, and syncs each name.
func makeDurable(dir string) error {
	info, err := os.Stat(dir)
	switch {
	case err == nil && info.IsDir():
		return nil
	case err == nil:
		return fmt.Errorf("vfs: %s is a file; a data folder is needed", dir)
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	parent := filepath.Dir(dir)
	if err := makeDurable(parent); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return syncDir(parent)
}

func syncDir(path string) error {
	d, err := patient(path, os.O_RDONLY)
	if err != nil {
		return err
	}
	err = d.Sync()
	return errors.Join(err, d.Close())
}

// osFS is the path of the folder.
type osFS string

func (o osFS) path(name string) string { return filepath.Join(string(o), filepath.FromSlash(name)) }

func (o osFS) Create(name string) (File, error) {
	return opened(patient(o.path(name), os.O_RDWR|os.O_CREATE|os.O_TRUNC))
}

func (o osFS) Open(name string) (File, error) {
	return opened(patient(o.path(name), os.O_RDWR))
}

// shortPause and shortLimit are how long opening a file waits for a descriptor
// from one attempt to the next, and in all.
const (
	shortPause = 5 * time.Millisecond
	shortLimit = 10 * time.Second
)

// patient opens a file. Descriptors that have run out come back when files and
// connections are closed: taking that for a failure of the disk, or of the file,
// would end the node, or have a sound log fetched anew.
func patient(path string, flag int) (*os.File, error) {
	for waited := time.Duration(0); ; waited += shortPause {
		f, err := os.OpenFile(path, flag, 0o644)
		if !errors.Is(err, syscall.EMFILE) && !errors.Is(err, syscall.ENFILE) {
			return f, err
		}
		if waited >= shortLimit {
			return nil, fmt.Errorf("%w: raise the limit of open files (ulimit -n), or lower that of connections", err)
		}
		time.Sleep(shortPause)
	}
}

func opened(f *os.File, err error) (File, error) {
	if err != nil {
		return nil, translate(err)
	}
	return &osFile{f}, nil
}

func (o osFS) Remove(name string) error { return translate(os.Remove(o.path(name))) }

func (o osFS) Rename(from, to string) error { return translate(os.Rename(o.path(from), o.path(to))) }

func (o osFS) Mkdir(name string) error {
	err := os.Mkdir(o.path(name), 0o755)
	if errors.Is(err, fs.ErrExist) {
		if info, stat := os.Stat(o.path(name)); stat == nil && info.IsDir() {
			return nil
		}
	}
	return translate(err)
}

func (o osFS) ReadDir(name string) ([]Entry, error) {
	list, err := os.ReadDir(o.path(name)) // sorted
	if err != nil {
		return nil, translate(err)
	}
	entries := make([]Entry, len(list))
	for i, e := range list {
		entries[i] = Entry{Name: e.Name(), Dir: e.IsDir()}
		if e.IsDir() {
			continue
		}
		info, err := e.Info()
		if err != nil {
			return nil, err
		}
		entries[i].Size = info.Size()
	}
	return entries, nil
}

func (o osFS) SyncDir(name string) error { return translate(syncDir(o.path(name))) }

func (o osFS) Free() (int64, error) { return free(string(o)) }

func (o osFS) Lock(name string) (io.Closer, error) {
	f, err := os.OpenFile(o.path(name), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, translate(err)
	}
	if err := lock(f); err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil // the lock ends with the descriptor
}

type osFile struct{ f *os.File }

func (o *osFile) ReadAt(b []byte, off int64) (int, error) {
	n, err := o.f.ReadAt(b, off)
	if errors.Is(err, syscall.EIO) {
		err = fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	return n, err
}

func (o *osFile) WriteAt(b []byte, off int64) (int, error) {
	n, err := o.f.WriteAt(b, off) // goes on after a short write until an error
	return n, translate(err)
}

func (o *osFile) Truncate(size int64) error { return translate(o.f.Truncate(size)) }

func (o *osFile) Size() (int64, error) {
	info, err := o.f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// Sync makes content and size durable.
func (o *osFile) Sync() error { return syncData(o.f) }

func (o *osFile) Close() error { return o.f.Close() }

// translate gives a full disk and a used-up quota one name.
func translate(err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return fmt.Errorf("%w: %w", ErrNoRoom, err)
	}
	return err
}
