package simdisk

import "sync"

// rooms are pieces of memory that files have outgrown, or that belonged to disks
// that were given up, for the files of other disks. Nearly all that a simulated
// disk costs is memory: to make it anew for each run, and to clear it, costs more
// than what is done with it.
var rooms [len(roomSizes)]sync.Pool

var roomSizes = [...]int{1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10}

// roomFor is memory for at least size bytes. Nothing is said about what is in it.
func roomFor(size int) []byte {
	for i, s := range roomSizes {
		if size > s {
			continue
		}
		if p := rooms[i].Get(); p != nil {
			return (*p.(*[]byte))[:0]
		}
		return make([]byte, 0, s)
	}
	return make([]byte, 0, size+256<<10)
}

// giveBack takes memory of roomFor back. Nobody may use it any more.
func giveBack(b []byte) {
	for i, s := range roomSizes {
		if cap(b) == s {
			rooms[i].Put(&b)
		}
	}
}

// Drop gives the memory of a disk to others. It must not be used any more, nor
// any file of it; a clone may be.
func (d *Disk) Drop() {
	d.newLife()
	d.root.drop()
	d.root = &folder{}
}

func (f *folder) drop() {
	for _, list := range []names{f.seen, f.durable} {
		for _, e := range list {
			if e.dir != nil {
				e.dir.drop()
			} else {
				e.file.drop()
			}
		}
	}
	for _, c := range f.pending {
		if c.target.file != nil {
			c.target.file.drop()
		}
	}
}

// drop is for a file that nobody uses any more, or that has got other memory.
func (c *content) drop() {
	if !c.shared && c.data != nil {
		giveBack(c.data)
	}
	c.data = nil
}
