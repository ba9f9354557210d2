package simdisk

import (
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/tamarack-mq/tamarack/storage/vfs"
)

var (
	errNotEmpty = errors.New("the folder is not empty")
	errAcross   = errors.New("both names must lie in the same folder")
	errFull     = fmt.Errorf("%w: all of the simulated disk is used", vfs.ErrNoRoom) // wrapped, as an operating system's is
)

// handle is an open file.
type handle struct {
	disk *Disk
	life uint64
	file *content
}

// Create opens a file and empties it if it exists.
func (d *Disk) Create(name string) (vfs.File, error) {
	skip, crash := d.begin(OpCreate)
	if skip {
		return nil, crash
	}
	in, last, err := d.walk("create", name)
	if err != nil {
		return nil, first(crash, err)
	}
	file := &content{}
	if i, found := in.seen.find(last); found {
		if file = in.seen[i].file; file == nil {
			return nil, first(crash, &fs.PathError{Op: "create", Path: name, Err: fs.ErrExist})
		}
		d.used -= int64(len(file.data))
		file.truncate(0)
	} else if d.free() == 0 { // a name takes room as well
		return nil, first(crash, errFull)
	} else {
		in.do(change{target: entry{name: last, file: file}})
	}
	if crash != nil {
		return nil, crash
	}
	return d.opens(file), nil
}

// Open opens an existing file.
func (d *Disk) Open(name string) (vfs.File, error) {
	if d.crashed {
		return nil, ErrCrashed
	}
	in, last, err := d.walk("open", name)
	if err != nil {
		return nil, err
	}
	i, found := in.seen.find(last)
	if !found || in.seen[i].file == nil {
		return nil, missing("open", name)
	}
	return d.opens(in.seen[i].file), nil
}

// opens makes a handle and counts it.
func (d *Disk) opens(file *content) *handle {
	if d.open == nil {
		d.open = map[*content]int{}
	}
	d.open[file]++
	return &handle{d, d.life, file}
}

func (h *handle) usable() error {
	if h.disk == nil {
		return fs.ErrClosed
	}
	if h.disk.crashed || h.life != h.disk.life {
		return ErrCrashed
	}
	return nil
}

func (h *handle) begin(op Op) (skip bool, err error) {
	if err := h.usable(); err != nil {
		return true, err
	}
	return h.disk.begin(op)
}

// ReadAt reads what the process sees.
func (h *handle) ReadAt(b []byte, off int64) (int, error) {
	if err := h.usable(); err != nil {
		return 0, err
	}
	if off >= int64(len(h.file.data)) {
		return 0, io.EOF
	}
	n := copy(b, h.file.data[off:])
	if h.file.unreadable(off, int64(n)) {
		return 0, vfs.ErrUnreadable
	}
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}

// WriteAt takes all of b, or a part of it with the error that says why.
func (h *handle) WriteAt(b []byte, off int64) (int, error) {
	if err := h.usable(); err != nil {
		return 0, err
	}
	d, n := h.disk, int64(len(b))
	_, fail := d.begin(OpWrite)
	d.stats.Writes++
	switch {
	case fail != nil && d.exactHit:
		n = h.part(off, n, min(d.exactPart, n))
	case errors.Is(fail, ErrIO):
		n = h.part(off, n, d.failOp.random.Between(0, n))
	case fail != nil: // the armed crash comes inside this write
		n = h.part(off, n, d.crashIn.random.Between(0, n))
	case d.failWrite.due():
		d.failures++
		n, fail = h.part(off, n, d.failWrite.random.Between(0, n)), ErrIO
	}
	if fits := d.room(h.file, off, n); fits < n {
		n = fits
		if fail == nil {
			fail = errFull
		}
	}
	h.put(b[:n], off)
	return int(n), fail
}

// part is how many of n bytes at off a write takes that is interrupted after
// about so many: any number of those that are added to the file, but whole
// sectors of those that are there already.
func (h *handle) part(off, n, about int64) int64 {
	end := off + about
	if end < int64(len(h.file.data)) && end < off+n {
		end -= end % sectorSize
	}
	return max(end, off) - off
}

// room is how many of n bytes at off still fit.
func (d *Disk) room(c *content, off, n int64) int64 {
	size := int64(len(c.data))
	if c.gone || d.capacity == 0 || off+n <= size {
		return n
	}
	return max(0, min(n, size+d.free()-off))
}

func (h *handle) put(b []byte, off int64) {
	if len(b) == 0 {
		return
	}
	before := len(h.file.data)
	h.file.write(b, off)
	h.disk.stats.BytesWritten += int64(len(b))
	h.disk.count(h.file, before)
}

func (d *Disk) count(c *content, before int) {
	if !c.gone {
		d.used += int64(len(c.data) - before)
	}
}

// Truncate sets the size.
func (h *handle) Truncate(size int64) error {
	skip, crash := h.begin(OpTruncate)
	if skip {
		return crash
	}
	before := int64(len(h.file.data))
	if size > before && h.disk.room(h.file, before, size-before) < size-before {
		return first(crash, errFull)
	}
	h.file.truncate(size)
	h.disk.count(h.file, int(before))
	return crash
}

// Size is the size that the process sees.
func (h *handle) Size() (int64, error) {
	if err := h.usable(); err != nil {
		return 0, err
	}
	return int64(len(h.file.data)), nil
}

// Sync makes content and size durable.
func (h *handle) Sync() error {
	skip, crash := h.begin(OpSync)
	if errors.Is(crash, ErrIO) {
		h.file.failSync(h.disk.failOp.random)
		return crash
	}
	if skip {
		return crash
	}
	h.disk.stats.Syncs++
	if h.disk.syncFails.due() {
		h.disk.failures++
		h.file.failSync(h.disk.syncFails.random)
		return ErrIO
	}
	h.file.sync()
	if do := h.disk.meanwhile; do != nil && crash == nil {
		h.disk.meanwhile = nil
		do()
	}
	return crash
}

// Close ends the use of the file.
func (h *handle) Close() error {
	if d := h.disk; d != nil && d.life == h.life {
		if d.open[h.file]--; d.open[h.file] == 0 {
			delete(d.open, h.file)
		}
	}
	h.disk = nil
	return nil
}
