package storage

import (
	"errors"
	"io/fs"
	"slices"

	"github.com/tamarack-mq/tamarack/storage/vfs"
)

// twins are the file of epochs and its copy, written one after the other. Frames
// do not reach across sectors and are never written anew with other content, so
// that no crash takes one that was synced from either.
type twins struct {
	vfs.File
	copy vfs.File
}

// openTwins opens both, and makes what is missing.
func openTwins(d vfs.FS, dir string) (t twins, created bool, err error) {
	var made bool
	if t.File, created, err = openOrCreate(d, join(dir, epochsName)); err != nil {
		return t, false, err
	}
	if t.copy, made, err = openOrCreate(d, join(dir, epochsCopy)); err != nil {
		return t, false, errors.Join(err, t.File.Close())
	}
	return t, created || made, nil
}

func openOrCreate(d vfs.FS, path string) (f vfs.File, created bool, err error) {
	f, err = d.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		f, err = d.Create(path)
		return f, true, err
	}
	return f, false, err
}

func (t twins) WriteAt(b []byte, off int64) (int, error) {
	if n, err := t.File.WriteAt(b, off); err != nil || n < len(b) {
		return n, err
	}
	return t.copy.WriteAt(b, off)
}

func (t twins) Truncate(size int64) error {
	return errors.Join(t.File.Truncate(size), t.copy.Truncate(size))
}

func (t twins) Sync() error { return errors.Join(t.File.Sync(), t.copy.Sync()) }

func (t twins) Close() error { return errors.Join(t.File.Close(), t.copy.Close()) }

// readEpochs reads both files and takes what is intact in either. apart says that
// they do not agree: one has to be made good.
func readEpochs(d vfs.FS, dir string) (t epochTable, apart bool, err error) {
	one, err := readIntact(d, join(dir, epochsName))
	if err != nil {
		return t, false, err
	}
	two, err := readIntact(d, join(dir, epochsCopy))
	if err != nil {
		return t, false, err
	}
	t = decodeEpochs(one)
	other := decodeEpochs(two)
	apart = !slices.Equal(t.list, other.list) || t.open != other.open
	open := t.open && other.open
	if len(other.list) > len(t.list) {
		t = other
	}
	t.open = open
	return t, apart, nil
}

// readIntact is readFile, and nothing where the device cannot read it.
func readIntact(d vfs.FS, path string) ([]byte, error) {
	b, err := readFile(d, path)
	if errors.Is(err, vfs.ErrUnreadable) {
		return nil, nil
	}
	return b, err
}
