package simdisk

import (
	"slices"

	"github.com/tamarack-mq/tamarack/core/chance"
)

const (
	pageSize   = 4096
	sectorSize = 512
	mostSpare  = 4 // pages that a file keeps memory for
)

// content is a file without its name.
//
// data is what a process sees. What a power cut leaves is data up to durable
// bytes, but for the pages in dirty: their durable bytes are those in old, or
// still those in data where old was not kept (appends behind them change
// nothing that is durable, and most writes are appends).
type content struct {
	data    []byte
	durable int64
	dirty   []page   // in rising order
	shared  bool     // with a clone: copy before writing in place
	spare   [][]byte // the old of pages that were synced, for the next ones
	gone    bool     // has no name any more; counts no longer as used
	lost    bool     // nobody has asked for that
	bad     []int64  // numbers of sectors that cannot be read, until they are written
}

// page is a page that was written since it was last synced.
type page struct {
	number int64
	kept   bool   // old holds the durable bytes
	old    []byte // shorter than a page: zeros, or beyond the durable size
	// clean says that a failed sync made the system believe that the page is
	// durable: no sync saves it until it is written again.
	clean bool
}

// touch notes that the bytes [from, to) are about to change.
func (c *content) touch(from, to int64) {
	for n := from / pageSize; n*pageSize < to; n++ {
		p := c.page(n)
		p.clean = false
		if !p.kept && max(from, n*pageSize) < c.durable {
			c.keep(p)
		}
	}
}

// page finds or adds the entry of a page among the dirty ones.
func (c *content) page(n int64) *page {
	if last := len(c.dirty) - 1; last >= 0 && c.dirty[last].number == n {
		return &c.dirty[last]
	} else if last < 0 || c.dirty[last].number < n {
		c.dirty = append(c.dirty, page{number: n})
		return &c.dirty[last+1]
	}
	i, found := c.find(n)
	if !found {
		c.dirty = slices.Insert(c.dirty, i, page{number: n})
	}
	return &c.dirty[i]
}

func (c *content) find(n int64) (int, bool) {
	return slices.BinarySearchFunc(c.dirty, n, func(p page, n int64) int {
		switch {
		case p.number < n:
			return -1
		case p.number > n:
			return 1
		}
		return 0
	})
}

// keep saves the durable bytes of a page before they change.
func (c *content) keep(p *page) {
	p.kept = true
	if from, to := p.span(min(c.durable, int64(len(c.data)))); from < to {
		if k := len(c.spare); k > 0 {
			p.old, c.spare = c.spare[k-1][:0], c.spare[:k-1]
		}
		p.old = append(p.old, c.data[from:to]...)
	}
}

// span is the part of a page that lies below limit.
func (p *page) span(limit int64) (from, to int64) {
	from = p.number * pageSize
	return from, max(from, min(from+pageSize, limit))
}

// write puts b at off; what lies between the end and off becomes zeros.
func (c *content) write(b []byte, off int64) {
	c.heal(off, int64(len(b)))
	size := int64(len(c.data))
	c.touch(min(off, size), off+int64(len(b)))
	if off > size {
		c.grow(off)
		size = off
	}
	if off < size {
		c.own()
	}
	n := copy(c.data[off:], b)
	if end := int(off) + len(b); end > cap(c.data) {
		larger := append(roomFor(end), c.data...)
		c.drop()
		c.data, c.shared = larger, false
	}
	c.data = append(c.data, b[n:]...)
}

// own makes sure that writing in place changes no clone.
func (c *content) own() {
	if c.shared {
		c.data, c.shared = slices.Clone(c.data), false
	}
}

func (c *content) grow(size int64) {
	old := len(c.data)
	c.data = slices.Grow(c.data, int(size)-old)[:size]
	clear(c.data[old:])
}

// truncate sets the size.
func (c *content) truncate(size int64) {
	c.bad = slices.DeleteFunc(c.bad, func(n int64) bool { return n*sectorSize >= size })
	now := int64(len(c.data))
	switch {
	case size > now:
		c.touch(now, size)
		c.grow(size)
	case size < now:
		if size < c.durable {
			c.touch(size, c.durable)
		}
		c.data = c.data[:size]
		if c.shared {
			c.data = c.data[:size:size] // what is appended next must not reach into a clone
		}
	}
}

// sync makes everything durable but what a failed sync has hidden.
func (c *content) sync() {
	c.durable = int64(len(c.data))
	if len(c.dirty) == 0 {
		return
	}
	c.dirty = slices.DeleteFunc(c.dirty, func(p page) bool {
		if p.clean && p.number*pageSize < c.durable {
			return false
		}
		if p.old != nil && len(c.spare) < mostSpare {
			c.spare = append(c.spare, p.old)
		}
		return true
	})
}

// failSync is a sync that fails: see Disk.FailSync.
func (c *content) failSync(random *chance.Stream) {
	allClean := random.OneIn(2)
	c.dirty = slices.DeleteFunc(c.dirty, func(p page) bool {
		return !allClean && (p.number+1)*pageSize <= min(c.durable, int64(len(c.data))) && random.OneIn(3)
	})
	for i := range c.dirty {
		p := &c.dirty[i]
		if !allClean && random.OneIn(2) {
			continue // still unsynced
		}
		if !p.kept {
			c.keep(p)
		}
		p.clean = true
	}
}

// crash decides what is left of everything that was not synced.
func (c *content) crash(random *chance.Stream, left *Left) {
	if len(c.dirty) == 0 && int64(len(c.data)) == c.durable {
		return
	}
	data := append(roomFor(len(c.data)), c.data...)
	c.drop()
	c.data, c.shared = data, false
	seen := int64(len(c.data))
	size := sizeAfterCrash(c.durable, seen, random)
	if size > seen {
		c.grow(size)
	}
	fate := fateOf(random)
	for i := range c.dirty {
		left.page(c.settle(&c.dirty[i], seen, fate, random))
	}
	left.size(size)
	c.data = c.data[:size]
	c.durable, c.dirty = size, nil
}

// sizeAfterCrash picks the old size, the new one, or for a file that grew any
// in between.
func sizeAfterCrash(durable, seen int64, random *chance.Stream) int64 {
	if durable == seen {
		return seen
	}
	switch random.Below(3) {
	case 0:
		return durable
	case 1:
		return seen
	}
	if durable < seen {
		return random.Between(durable, seen)
	}
	return durable
}

// What becomes of the unsynced pages of one file, or names of one folder.
type fate int

const (
	dropped fate = iota
	kept
	mixed // each for itself
)

func fateOf(random *chance.Stream) fate {
	return [...]fate{dropped, kept, mixed, mixed}[random.Below(4)]
}

// settle puts a page into the state in which a crash leaves it. seen is the
// size that the process saw: bytes beyond are there only when a truncation is
// undone, and come back as they were.
func (c *content) settle(p *page, seen int64, f fate, random *chance.Stream) (how byte) {
	from, to := p.span(int64(len(c.data)))
	if from == to {
		return '-'
	}
	tear, garbage := false, false
	if f == mixed && !p.clean {
		switch random.Below(8) {
		case 0, 1, 2:
			f = kept
		case 3, 4, 5:
			f = dropped
		case 6:
			tear = true
		case 7:
			f, garbage = dropped, true
		}
	}
	if p.clean {
		f = dropped
	}
	for s := from; s < to; s += sectorSize {
		end := min(s+sectorSize, to)
		keep := f == kept || tear && random.OneIn(2)
		if keep {
			s2 := min(max(s, seen), end)
			c.restore(p, s2, end)
			continue
		}
		c.restore(p, s, end)
		if garbage {
			for i := max(s, c.durable); i < end; i++ {
				c.data[i] = byte(random.Uint64())
			}
		}
	}
	switch {
	case tear:
		return '~'
	case garbage:
		return '?'
	case f == kept:
		return '+'
	}
	return '-'
}

// restore brings back the durable bytes of [from, to), zeros where there were
// none. Where old was not kept, data still holds them.
func (c *content) restore(p *page, from, to int64) {
	if !p.kept {
		if from = max(from, c.durable); from < to {
			clear(c.data[from:to])
		}
		return
	}
	first := p.number * pageSize
	for i := from; i < to; i++ {
		c.data[i] = 0
		if at := i - first; at < int64(len(p.old)) {
			c.data[i] = p.old[at]
		}
	}
}
