// Package simdisk is a disk for simulated nodes. It keeps what a process sees
// (the page cache) apart from what would survive a power cut: every page of
// 4 KiB that was written and not synced, every change of a folder that was not
// synced. It can be crashed at any operation and inside a write, fail a sync,
// run full, rot, and be swapped for an empty one.
//
// It is deterministic: all chance comes from a stream that is handed in. It is
// for one thread; runs share nothing.
package simdisk

import (
	"io"

	"github.com/tamarack-mq/tamarack/core/chance"
	"github.com/tamarack-mq/tamarack/storage/vfs"
)

// Disk is a simulated disk and the page cache in front of it.
type Disk struct{}

var _ vfs.FS = (*Disk)(nil)

// New returns an empty disk without a limit.
func New() *Disk { panic("not built yet") }

// Crash cuts the power: each unsynced page is kept, dropped or torn at 512
// bytes, each unsynced change of a folder kept or undone. Open files become
// useless, locks are gone, armed faults are forgotten. The disk can be used
// again at once.
func (d *Disk) Crash(random *chance.Stream) { panic("not built yet") }

// Kill ends the process and not the machine: open files become useless, locks
// are gone, and what was written stays in the page cache.
func (d *Disk) Kill() { panic("not built yet") }

// CrashAfter lets the disk stop in the middle of the ops-th operation from now
// on (1: the next). A write is then taken in part. From there on every
// operation fails with ErrCrashed until Crash or Kill is called. 0 disarms.
func (d *Disk) CrashAfter(ops int64, random *chance.Stream) { panic("not built yet") }

// Crashed tells that an armed crash has come.
func (d *Disk) Crashed() bool { panic("not built yet") }

// Ops counts the operations since the disk was made.
func (d *Disk) Ops() int64 { panic("not built yet") }

// FailSync lets the n-th sync of a file from now on fail (1: the next). Each of
// its unsynced pages is then durable after all, or still unsynced, or taken
// for clean although it is not durable, so that no later sync will save it.
// 0 disarms.
func (d *Disk) FailSync(n int64, random *chance.Stream) { panic("not built yet") }

// FailWrite lets the n-th write from now on fail with an I/O error after a part
// of it was taken. 0 disarms.
func (d *Disk) FailWrite(n int64, random *chance.Stream) { panic("not built yet") }

// SetCapacity limits the sum of all file sizes, in bytes. Less than what is
// used is allowed: then nothing can grow. 0: no limit.
func (d *Disk) SetCapacity(bytes int64) { panic("not built yet") }

// Used is the sum of all file sizes in bytes.
func (d *Disk) Used() int64 { panic("not built yet") }

// Limit tells how many bytes from the start of a file may be damaged; 0 spares
// the file. durable is how much of it is durable. nil allows all that is durable.
type Limit func(path string, durable int64) int64

// Damage is what a fault did to durable data.
type Damage struct {
	Path   string
	Offset int64
	Bit    uint8  // of the byte at Offset; for FlipBit
	Size   int64  // bytes that are hit
	Kind   string // "flip", "misdirect", "lose"
}

// FlipBit turns one bit of durable data, in the page cache too. False: there is
// nothing that may be hit.
func (d *Disk) FlipBit(random *chance.Stream, limit Limit) (Damage, bool) { panic("not built yet") }

// Misdirect overwrites up to one page of durable data of a file by bytes that
// belong elsewhere.
func (d *Disk) Misdirect(random *chance.Stream, limit Limit) (Damage, bool) {
	panic("not built yet")
}

// LoseFile lets one file vanish whose name and content are durable. limit
// spares those files for which it returns 0.
func (d *Disk) LoseFile(random *chance.Stream, limit Limit) (Damage, bool) {
	panic("not built yet")
}

// Swap replaces the disk by an empty one of the same capacity. Like Kill, it
// ends whoever uses it.
func (d *Disk) Swap() { panic("not built yet") }

// Clone returns an independent disk in the same state, unsynced data and armed
// faults included. Open files stay with the original; the clone is as after Kill.
func (d *Disk) Clone() *Disk { panic("not built yet") }

// Digest folds all that a process would see into one number.
func (d *Disk) Digest() uint64 { panic("not built yet") }

func (d *Disk) Create(name string) (vfs.File, error)     { panic("not built yet") }
func (d *Disk) Open(name string) (vfs.File, error)       { panic("not built yet") }
func (d *Disk) Remove(name string) error                 { panic("not built yet") }
func (d *Disk) Rename(from, to string) error             { panic("not built yet") }
func (d *Disk) Mkdir(name string) error                  { panic("not built yet") }
func (d *Disk) ReadDir(name string) ([]vfs.Entry, error) { panic("not built yet") }
func (d *Disk) SyncDir(name string) error                { panic("not built yet") }
func (d *Disk) Free() (int64, error)                     { panic("not built yet") }
func (d *Disk) Lock(name string) (io.Closer, error)      { panic("not built yet") }
