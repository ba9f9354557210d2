package simdisk

import (
	"bytes"
	"slices"

	"github.com/tamarack-mq/tamarack/core/chance"
)

// Limit tells how many bytes from the start of a file may be damaged; 0 spares
// the file. durable is how much of it is durable. A nil Limit allows all that
// is durable.
type Limit func(path string, durable int64) int64

// Kind is a kind of damage.
type Kind string

// Kinds of damage.
const (
	Flip      Kind = "flip"
	Misdirect Kind = "misdirect"
	Lose      Kind = "lose"
	Unread    Kind = "unread"
	Cut       Kind = "cut"
	LoseAll   Kind = "lose folder"
)

// Damage is what a fault did to durable data.
type Damage struct {
	Kind   Kind
	Path   string
	Offset int64 // the first byte that is hit
	Size   int64 // bytes that are hit
	Bit    uint8 // of the byte at Offset; for Flip
}

// victim is a file that may be hit, below limit.
type victim struct {
	path  string
	in    *folder
	name  string
	file  *content
	limit int64
}

// victims lists, in the order of paths, the files whose name and content are
// durable and that limit allows to be hit.
func (d *Disk) victims(limit Limit) []victim {
	var list []victim
	var visit func(f *folder, path string)
	visit = func(f *folder, path string) {
		for _, e := range f.durable {
			i, found := f.seen.find(e.name)
			if !found || !f.seen[i].is(e) {
				continue
			}
			if e.dir != nil {
				visit(e.dir, path+e.name+"/")
				continue
			}
			durable := min(e.file.durable, int64(len(e.file.data)))
			bound := durable
			if limit != nil {
				bound = min(bound, limit(path+e.name, durable))
			}
			list = append(list, victim{path + e.name, f, e.name, e.file, bound})
		}
	}
	visit(d.root, "")
	return list
}

// pick chooses a durable byte that may be hit, each with the same chance.
func pick(list []victim, random *chance.Stream) (v victim, off int64, ok bool) {
	var sum int64
	for _, v := range list {
		sum += max(v.limit, 0)
	}
	if sum == 0 {
		return victim{}, 0, false
	}
	at := random.Below(sum)
	for _, v := range list {
		if at < v.limit {
			return v, at, true
		}
		at -= max(v.limit, 0)
	}
	panic("simdisk: the sum of the parts is not the whole")
}

// rot changes durable bytes under everybody's eyes, without making them dirty.
func (c *content) rot(off int64, b []byte) {
	c.own()
	copy(c.data[off:], b)
	for i := range c.dirty {
		p := &c.dirty[i]
		if first := p.number * pageSize; p.kept && first < off+int64(len(b)) && off < first+int64(len(p.old)) {
			from := max(off, first)
			copy(p.old[from-first:], b[from-off:])
		}
	}
}

// cut makes a file end at an offset below its durable end, at once and for good.
func (c *content) cut(at int64) {
	c.own()
	c.bad = slices.DeleteFunc(c.bad, func(n int64) bool { return n*sectorSize >= at })
	c.dirty = slices.DeleteFunc(c.dirty, func(p page) bool { return p.number*pageSize >= at })
	for i := range c.dirty {
		if p := &c.dirty[i]; p.kept {
			p.old = p.old[:min(int64(len(p.old)), at-p.number*pageSize)]
		}
	}
	c.data, c.durable = c.data[:at:at], at
}

// FlipBit turns one bit of durable data, on the disk and in the page cache.
// False: there is nothing that may be hit.
func (d *Disk) FlipBit(random *chance.Stream, limit Limit) (Damage, bool) {
	v, off, ok := pick(d.victims(limit), random)
	if !ok {
		return Damage{}, false
	}
	bit := uint8(random.Below(8))
	v.file.rot(off, []byte{v.file.data[off] ^ 1<<bit})
	return Damage{Kind: Flip, Path: v.path, Offset: off, Size: 1, Bit: bit}, true
}

// SpoilSector makes one sector of durable data unreadable, until it is written
// whole. False: there is nothing that may be hit.
func (d *Disk) SpoilSector(random *chance.Stream, limit Limit) (Damage, bool) {
	v, off, ok := pick(d.victims(limit), random)
	if !ok {
		return Damage{}, false
	}
	off -= off % sectorSize
	v.file.bad = append(v.file.bad, off/sectorSize)
	return Damage{Kind: Unread, Path: v.path, Offset: off, Size: sectorSize}, true
}

// unreadable says whether a range holds bytes that cannot be read.
func (c *content) unreadable(off, size int64) bool {
	for _, n := range c.bad {
		if off < (n+1)*sectorSize && n*sectorSize < off+size {
			return true
		}
	}
	return false
}

// heal makes the sectors readable that are written whole, or up to the end of
// the file.
func (c *content) heal(off, size int64) {
	if len(c.bad) == 0 {
		return
	}
	end := max(int64(len(c.data)), off+size)
	c.bad = slices.DeleteFunc(c.bad, func(n int64) bool {
		return off <= n*sectorSize && min((n+1)*sectorSize, end) <= off+size
	})
}

// Misdirect overwrites up to a page of durable data, in whole sectors, by bytes
// that belong elsewhere: a write that went to the wrong place. False: nothing
// may be hit, or what was written was there before, or shows says of a file's content
// before and after that nothing could tell; nil: something always can.
func (d *Disk) Misdirect(random *chance.Stream, limit Limit, shows func(path string, before, after []byte) bool) (Damage, bool) {
	v, off, ok := pick(d.victims(limit), random)
	source, from, ok2 := pick(d.victims(nil), random)
	if !ok || !ok2 {
		return Damage{}, false
	}
	off -= off % sectorSize
	size := min(random.Between(1, pageSize/sectorSize)*sectorSize, v.limit-off, int64(len(source.file.data))-from)
	stray := bytes.Clone(source.file.data[from : from+size])
	if bytes.Equal(stray, v.file.data[off:off+size]) {
		return Damage{}, false
	}
	if shows != nil {
		after := bytes.Clone(v.file.data)
		copy(after[off:], stray)
		if !shows(v.path, v.file.data, after) {
			return Damage{}, false
		}
	}
	same := int64(0)
	for stray[same] == v.file.data[off+same] {
		same++
	}
	v.file.rot(off, stray)
	return Damage{Kind: Misdirect, Path: v.path, Offset: off + same, Size: size - same}, true
}

// LoseFile lets one file vanish whose name and content are durable. limit
// spares those files for which it returns 0. Who has the file open can still
// read it.
func (d *Disk) LoseFile(random *chance.Stream, limit Limit) (Damage, bool) {
	fit := slices.DeleteFunc(d.victims(nil), func(v victim) bool {
		return limit != nil && limit(v.path, v.limit) <= 0
	})
	if len(fit) == 0 {
		return Damage{}, false
	}
	v := fit[random.Below(int64(len(fit)))]
	d.forget(entry{file: v.file})
	v.file.lost = true
	v.in.seen.unset(v.name)
	v.in.durable.unset(v.name)
	return Damage{Kind: Lose, Path: v.path, Size: int64(len(v.file.data))}, true
}

// LoseFolder lets one folder vanish with all that is in it, if its name is durable.
// limit spares those for whose path, which ends in a slash, it returns 0. Who has a
// file of it open can still read and write that.
func (d *Disk) LoseFolder(random *chance.Stream, limit Limit) (Damage, bool) {
	var fit []entry
	for _, e := range d.root.durable {
		i, found := d.root.seen.find(e.name)
		if e.dir != nil && found && d.root.seen[i].is(e) && (limit == nil || limit(e.name+"/", 1) > 0) {
			fit = append(fit, e)
		}
	}
	if len(fit) == 0 {
		return Damage{}, false
	}
	v := fit[random.Below(int64(len(fit)))]
	for _, e := range v.dir.seen {
		d.forget(e)
	}
	for _, of := range []names{v.dir.seen, v.dir.durable} {
		for _, e := range of {
			if e.file != nil {
				e.file.lost = true
			}
		}
	}
	d.root.seen.unset(v.name)
	d.root.durable.unset(v.name)
	return Damage{Kind: LoseAll, Path: v.name + "/"}, true
}

// CutFile takes away what is durable of a file from some byte on, and all behind it,
// as a system may that forgets how long a file was. False: there is nothing that may
// be hit.
func (d *Disk) CutFile(random *chance.Stream, limit Limit) (Damage, bool) {
	v, off, ok := pick(d.victims(limit), random)
	if !ok {
		return Damage{}, false
	}
	size := int64(len(v.file.data))
	v.file.cut(off)
	d.count(v.file, int(size))
	return Damage{Kind: Cut, Path: v.path, Offset: off, Size: size - off}, true
}

// FlipAt turns one bit at a place of a file that is durable there, as FlipBit does.
// False: there is no such file, or it is not.
func (d *Disk) FlipAt(path string, off int64, bit uint8) (Damage, bool) {
	for _, v := range d.victims(nil) {
		if v.path == path && off < v.limit {
			v.file.rot(off, []byte{v.file.data[off] ^ 1<<bit})
			return Damage{Kind: Flip, Path: path, Offset: off, Size: 1, Bit: bit}, true
		}
	}
	return Damage{}, false
}
