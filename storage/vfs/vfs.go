// Package vfs is the little that storage needs of a file system. It has two
// implementations: OS, for real machines, and simdisk.Disk, a disk that can be
// crashed, filled and damaged. The same segment, index and recovery code runs
// on both.
//
// What an implementation owes: a name and the content behind it are durable
// separately. File.Sync makes content and size durable, SyncDir makes the names
// in one folder durable; before that a power cut may undo any part of them. A
// sector of 512 bytes is written whole or not at all, and bytes that were
// durable and not written again stay as they are.
package vfs

import (
	"errors"
	"io"
)

// ErrNoRoom says that the disk is full or a quota is used up. What was asked
// for may have been done in part: a write returns how many bytes it took.
var ErrNoRoom = errors.New("vfs: no room on the disk")

// ErrUnreadable says that the device cannot give back what was written.
var ErrUnreadable = errors.New("vfs: the device cannot read it")

// ErrLocked says that another process holds the lock.
var ErrLocked = errors.New("vfs: locked by another process")

// FS is one folder and all below it. Names are relative to it and use slashes;
// the empty name is the folder itself. A name that does not exist gives an
// error that is fs.ErrNotExist. Safe for concurrent use.
type FS interface {
	// Create opens a file for reading and writing and empties it if it exists.
	Create(name string) (File, error)
	// Open opens an existing file for reading and writing.
	Open(name string) (File, error)
	// Remove deletes a file or an empty folder.
	Remove(name string) error
	// Rename gives a file or folder another name, at once for whoever looks, and
	// replaces a file of that name. Both names must lie in the same folder.
	Rename(from, to string) error
	// Mkdir makes a folder. It is no error when it exists.
	Mkdir(name string) error
	// ReadDir lists a folder in rising order of names.
	ReadDir(name string) ([]Entry, error)
	// SyncDir makes the names in a folder durable.
	SyncDir(name string) error
	// Free is the number of bytes that can still be written.
	Free() (int64, error)
	// Lock keeps others from locking the same name until the lock is closed or
	// the process ends. It fails with ErrLocked when it is held.
	Lock(name string) (io.Closer, error)
}

// Entry is one name of a folder.
type Entry struct {
	Name string
	Dir  bool
	Size int64 // of a file, in bytes
}

// File is an open file.
type File interface {
	io.ReaderAt
	io.WriterAt
	// Truncate sets the size; what it adds reads as zeros.
	Truncate(size int64) error
	Size() (int64, error)
	// Sync makes content and size durable. When it fails nothing is known about
	// what is durable, and a later success proves nothing about it.
	Sync() error
	Close() error
}
