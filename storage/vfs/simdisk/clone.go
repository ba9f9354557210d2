package simdisk

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

// Clone returns an independent disk in the same state, unsynced data included.
// The clone is as after Kill: nothing is open, locked or armed. It shares file
// contents with the original until one of them changes them.
func (d *Disk) Clone() *Disk {
	c := cloner{files: map[*content]*content{}, dirs: map[*folder]*folder{}}
	clone := &Disk{root: c.folder(d.root), capacity: d.capacity, used: d.used, stats: d.stats}
	return clone
}

// cloner remembers what it has copied: a file may have one name that is seen,
// another that is durable, and be the target of changes.
type cloner struct {
	files map[*content]*content
	dirs  map[*folder]*folder
}

func (c cloner) folder(f *folder) *folder {
	if done, ok := c.dirs[f]; ok {
		return done
	}
	clone := &folder{}
	c.dirs[f] = clone
	clone.seen, clone.durable = c.names(f.seen), c.names(f.durable)
	clone.pending = slices.Clone(f.pending)
	for i := range clone.pending {
		if t := &clone.pending[i].target; t.name != "" {
			*t = c.entry(*t)
		}
	}
	return clone
}

func (c cloner) names(n names) names {
	clone := make(names, len(n))
	for i, e := range n {
		clone[i] = c.entry(e)
	}
	return clone
}

func (c cloner) entry(e entry) entry {
	if e.dir != nil {
		return entry{name: e.name, dir: c.folder(e.dir)}
	}
	return entry{name: e.name, file: c.content(e.file)}
}

func (c cloner) content(f *content) *content {
	if done, ok := c.files[f]; ok {
		return done
	}
	f.data = f.data[:len(f.data):len(f.data)]
	f.shared = true
	clone := &content{data: f.data, durable: f.durable, shared: true, gone: f.gone}
	clone.dirty, clone.bad = slices.Clone(f.dirty), slices.Clone(f.bad)
	for i := range clone.dirty {
		clone.dirty[i].old = slices.Clone(clone.dirty[i].old)
	}
	c.files[f] = clone
	return clone
}

// Digest folds all that a process would see, names and contents, into one
// number. Equal disks have equal digests.
func (d *Disk) Digest() uint64 {
	h := digest(0x9e3779b97f4a7c15)
	h.folder(d.root)
	return uint64(h)
}

type digest uint64

func (h *digest) word(w uint64) {
	hi, lo := bits.Mul64(uint64(*h)^w, 0xd6e8feb86659fd93)
	*h = digest(hi ^ lo ^ bits.RotateLeft64(uint64(*h), 23))
}

func (h *digest) bytes(b []byte) {
	h.word(uint64(len(b)))
	for len(b) >= 8 {
		h.word(binary.LittleEndian.Uint64(b))
		b = b[8:]
	}
	var rest [8]byte
	copy(rest[:], b)
	h.word(binary.LittleEndian.Uint64(rest[:]))
}

func (h *digest) folder(f *folder) {
	h.word(uint64(len(f.seen)))
	for _, e := range f.seen {
		h.bytes([]byte(e.name))
		if e.dir != nil {
			h.folder(e.dir)
		} else {
			h.bytes(e.file.data)
		}
	}
}
