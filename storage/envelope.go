package storage

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"io/fs"

	"github.com/tamarack-mq/tamarack/storage/vfs"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func checksum(b []byte) uint32 { return crc32.Checksum(b, castagnoli) }

// The small files of a data folder are envelopes: four letters that tell what
// is inside, the length of it, it, and a CRC-32C of all before.
const envelopeOverhead = 4 + 4 + 4

// seal puts a payload into an envelope. kind has four letters.
func seal(kind string, payload []byte) []byte {
	b := make([]byte, 0, len(payload)+envelopeOverhead)
	b = append(b, kind...)
	b = binary.BigEndian.AppendUint32(b, uint32(len(payload)))
	b = append(b, payload...)
	return binary.BigEndian.AppendUint32(b, checksum(b))
}

// unseal takes the payload out of an envelope. False: it is not one of that
// kind, not whole, or not intact.
func unseal(kind string, b []byte) ([]byte, bool) {
	if len(b) < envelopeOverhead || string(b[:4]) != kind {
		return nil, false
	}
	end := len(b) - 4
	if int64(binary.BigEndian.Uint32(b[4:])) != int64(end-8) || binary.BigEndian.Uint32(b[end:]) != checksum(b[:end]) {
		return nil, false
	}
	return b[8:end], true
}

// readFile returns the whole content of a file; nil and no error when there is
// no such file.
func readFile(d vfs.FS, name string) ([]byte, error) {
	f, err := d.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		return nil, err
	}
	b := make([]byte, size)
	return b, readFull(f, b, 0)
}

// readFull fills b or fails.
func readFull(f vfs.File, b []byte, off int64) error {
	if len(b) == 0 {
		return nil
	}
	n, err := f.ReadAt(b, off)
	if n == len(b) {
		return nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// writeFull writes all of b or fails (KAFKA-17181: a write may take less).
func writeFull(f vfs.File, b []byte, off int64) error {
	n, err := f.WriteAt(b, off)
	if err == nil && n < len(b) {
		return io.ErrShortWrite
	}
	return err
}

// replaceFile gives a file in folder new content, durably and at once: who
// looks after a crash finds the old content or the new. On ErrNoRoom nothing
// has changed.
func replaceFile(d vfs.FS, folder, name string, content []byte) error {
	path := join(folder, name)
	if err := writeNew(d, path+tmpSuffix, content); err != nil {
		if errors.Is(err, ErrNoRoom) {
			_ = d.Remove(path + tmpSuffix) // else the next start does
		}
		return err
	}
	if err := d.Rename(path+tmpSuffix, path); err != nil {
		return err
	}
	return d.SyncDir(folder)
}

// writeNew writes a file and makes its content, not its name, durable.
func writeNew(d vfs.FS, path string, content []byte) error {
	f, err := d.Create(path)
	if err != nil {
		return err
	}
	if err = writeFull(f, content, 0); err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// writeAgain makes durable what a file is read as: it may be in the page cache only,
// after a failed sync for ever.
func writeAgain(d vfs.FS, path string) error {
	b, err := readFile(d, path)
	if err != nil {
		return err
	}
	f, err := d.Open(path)
	if err != nil {
		return err
	}
	err = writeFull(f, b, 0)
	return errors.Join(err, f.Sync(), f.Close())
}

// removeFile deletes a file that may be missing.
func removeFile(d vfs.FS, path string) error {
	if err := d.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func updateChecksum(sum uint32, b []byte) uint32 { return crc32.Update(sum, castagnoli, b) }

// removeAll deletes a folder with the files in it. It may be missing.
func removeAll(d vfs.FS, folder string) error {
	list, err := d.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range list {
		if err := removeFile(d, join(folder, e.Name)); err != nil {
			return err
		}
	}
	return removeFile(d, folder)
}
