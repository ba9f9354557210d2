// Package simdisk is a disk for simulated nodes. It keeps what a process sees
// (the page cache) apart from what would survive a power cut: every page of
// 4 KiB that was written and not synced, every change of a folder that was not
// synced. It can be crashed at any operation and inside a write, fail a sync,
// run full, rot, and be swapped for an empty one.
//
// It is deterministic: all chance comes from a stream that is handed in. It is
// for one thread; runs share nothing.
//
// What it assumes about real disks: a sector of 512 bytes is written whole or
// not at all, and a page that was synced and not written again stays. What
// rots is asked for by name: see FlipBit, Misdirect and LoseFile.
package simdisk

import (
	"errors"
	"io"

	"github.com/tamarack-mq/tamarack/core/chance"
	"github.com/tamarack-mq/tamarack/storage/vfs"
)

// ErrCrashed is what every operation gives between an armed crash and the call
// of Crash or Kill, and what a file gives that was opened before it.
var ErrCrashed = errors.New("simdisk: the node that used the disk has crashed")

// ErrIO is the failure that FailSync, FailWrite and FailOp inject.
var ErrIO = errors.New("simdisk: input/output error")

// Disk is a simulated disk and the page cache in front of it.
type Disk struct {
	root     *folder
	life     uint64 // rises with every Crash, Kill and Swap: older files are useless
	capacity int64  // in bytes; 0: no limit
	used     int64
	locked   []string
	open     map[*content]int // how often each file is open
	stats    Stats

	crashed   bool
	crashIn   countdown
	crashOnly Op    // what crashIn counts; 0: every operation
	exactOp   int64 // see CrashAt
	exactPart int64
	exactHit  bool
	syncFails countdown
	failWrite countdown
	failOp    countdown
	failOnly  Op    // what failOp counts; 0: every operation
	failures  int64 // injected ones that came

	meanwhile func() // see Meanwhile
}

// Stats counts what was asked of a disk since it was made.
type Stats struct {
	Ops          int64 // operations that change something, syncs included
	Writes       int64
	BytesWritten int64
	Syncs        int64 // of files and of folders
}

var _ vfs.FS = (*Disk)(nil)

// New returns an empty disk without a limit.
func New() *Disk { return &Disk{root: &folder{}} }

// Meanwhile has something done once, in the middle of the next sync of a file: when
// the file is durable as it was, and before whoever asked for that hears of it. So
// what another thread of the process writes while a sync runs is not durable with it.
// nil: nothing is to be done.
func (d *Disk) Meanwhile(do func()) { d.meanwhile = do }

// countdown is an armed fault: it comes when left has fallen to zero.
type countdown struct {
	left   int64
	random *chance.Stream
}

func (c *countdown) arm(n int64, random *chance.Stream) { *c = countdown{max(n, 0), random} }

// due counts one operation and tells whether the fault comes with it.
func (c *countdown) due() bool {
	if c.left == 0 {
		return false
	}
	c.left--
	return c.left == 0
}

// CrashAfter lets the disk stop in the middle of the ops-th operation from now
// on (1: the next) that changes something. A write is then taken in part, any
// other operation done or not done. From there on every operation fails with
// ErrCrashed until Crash or Kill is called. 0 disarms.
func (d *Disk) CrashAfter(ops int64, random *chance.Stream) {
	d.crashIn.arm(ops, random)
	d.crashOnly = 0
}

// CrashInside is CrashAfter, but counts operations of one kind only.
func (d *Disk) CrashInside(only Op, ops int64, random *chance.Stream) {
	d.crashIn.arm(ops, random)
	d.crashOnly = only
}

// Op is a kind of operation that changes something.
type Op uint8

// The kinds of operations.
const (
	OpWrite Op = iota + 1
	OpSync
	OpTruncate
	OpCreate
	OpMkdir
	OpRename
	OpRemove
	OpSyncDir
)

// Crashed tells that an armed crash has come.
func (d *Disk) Crashed() bool { return d.crashed }

// Ops counts the operations that changed something, or tried to, since the
// disk was made. Syncs are among them.
func (d *Disk) Ops() int64 { return d.stats.Ops }

// Stats returns what was asked of the disk since it was made.
func (d *Disk) Stats() Stats { return d.stats }

// FailSync lets the n-th sync of a file from now on fail (1: the next). Each of
// its unsynced pages is then durable after all, or still unsynced, or taken
// for clean although it is not durable, so that no later sync will save it
// ("Can Applications Recover from fsync Failures?", USENIX ATC 2020). 0 disarms.
func (d *Disk) FailSync(n int64, random *chance.Stream) { d.syncFails.arm(n, random) }

// FailWrite lets the n-th write from now on fail with ErrIO after a part of it
// was taken. 0 disarms.
func (d *Disk) FailWrite(n int64, random *chance.Stream) { d.failWrite.arm(n, random) }

// FailOp lets the n-th operation of one kind from now on (only 0: of any kind) fail
// with ErrIO. A write is then taken in part, a failed sync of a file leaves what one
// of FailSync does, and any other operation is done or not done. Of a folder this
// means that a later sync makes good what one that failed has left: a file system
// that loses changes of its own structure stops altogether. 0 disarms.
func (d *Disk) FailOp(only Op, n int64, random *chance.Stream) {
	d.failOp.arm(n, random)
	d.failOnly = only
}

// Failures counts the failures that were injected, since the disk was made.
func (d *Disk) Failures() int64 { return d.failures }

// SetCapacity limits the sum of all file sizes, in bytes. Less than what is
// used is allowed: then nothing can grow. Where nothing is left no file can be made
// either. 0: no limit.
func (d *Disk) SetCapacity(bytes int64) { d.capacity = bytes }

// Used is the sum of all file sizes in bytes.
func (d *Disk) Used() int64 { return d.used }

// Free is what the capacity leaves.
func (d *Disk) Free() (int64, error) {
	if d.crashed {
		return 0, ErrCrashed
	}
	return d.free(), nil
}

func (d *Disk) free() int64 {
	if d.capacity == 0 {
		return 1 << 50
	}
	return max(d.capacity-d.used, 0)
}

// begin counts an operation. skip tells that it must not be done, with the
// error to return; else the error is to be returned after it was done.
func (d *Disk) begin(op Op) (skip bool, err error) {
	if d.crashed {
		return true, ErrCrashed
	}
	d.stats.Ops++
	if d.stats.Ops == d.exactOp {
		d.crashed, d.exactHit = true, true
		return d.exactPart <= 0, ErrCrashed
	}
	if (d.crashOnly == 0 || d.crashOnly == op) && d.crashIn.due() {
		d.crashed = true
		return d.crashIn.random.OneIn(2), ErrCrashed
	}
	if (d.failOnly == 0 || d.failOnly == op) && d.failOp.due() {
		d.failures++
		return d.failOp.random.OneIn(2), ErrIO
	}
	return false, nil
}

// first is the error of an operation that was to end with one, and had another reason
// to fail besides.
func first(end, other error) error {
	if end != nil {
		return end
	}
	return other
}

// newLife makes all that is open useless.
func (d *Disk) newLife() {
	d.life++
	d.locked = nil
	clear(d.open)
	d.crashed = false
	d.crashIn, d.syncFails, d.failWrite, d.failOp = countdown{}, countdown{}, countdown{}, countdown{}
	d.exactHit, d.meanwhile = false, nil
}

// Kill ends the process and not the machine: open files become useless, locks
// are gone, armed faults are forgotten, and what was written stays in the page
// cache.
func (d *Disk) Kill() { d.newLife() }

// Swap replaces the disk by an empty one of the same capacity. Like Kill, it
// ends whoever uses it.
func (d *Disk) Swap() {
	d.newLife()
	d.root = &folder{}
	d.used = 0
}

// Lock keeps others from locking the name in this life of the node.
func (d *Disk) Lock(name string) (io.Closer, error) {
	if d.crashed {
		return nil, ErrCrashed
	}
	for _, l := range d.locked {
		if l == name {
			return nil, vfs.ErrLocked
		}
	}
	d.locked = append(d.locked, name)
	return &lock{d, d.life, name}, nil
}

type lock struct {
	disk *Disk
	life uint64
	name string
}

func (l *lock) Close() error {
	if l.life != l.disk.life {
		return nil
	}
	for i, name := range l.disk.locked {
		if name == l.name {
			l.disk.locked = append(l.disk.locked[:i:i], l.disk.locked[i+1:]...)
			break
		}
	}
	return nil
}
