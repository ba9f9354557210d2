package simdisk

// Loose is a file or a folder of which a power cut at this moment may take
// something.
type Loose struct {
	Path  string // of a folder with a slash at its end; "/" is the disk itself
	Names int    // of a folder: how many changes of names are not synced
	Pages int    // of a file: how many pages are not synced
	// Durable and Seen are the sizes of a file that a power cut would leave and
	// that a process sees.
	Durable, Seen int64
}

// Left says what a power cut leaves of one file or folder, each thing that was
// not synced for itself. What is not spoken of is as it was synced last.
type Left struct {
	Path string `json:"path"` // as in Loose
	// Names has a letter for each change of a folder that was not synced, in the
	// order in which they were made: + it is left, - it is undone.
	Names string `json:"names,omitempty"`
	// Pages has a letter for each page of a file that was not synced, in rising
	// order: + it is as written, - as it was before, ~ its first half is as
	// written (torn between sectors), ? what was never durable of it is garbage.
	Pages string `json:"pages,omitempty"`
	// Size is the size of a file whose size was not synced.
	Size int64 `json:"size,omitempty"`
}

// CrashAt lets the disk stop inside its op-th operation, counted as Ops does
// since the disk was made: also when that comes in a later life, while storage
// recovers. Of a write, part bytes are then taken; any other operation is done
// when part is above zero. 0 disarms.
func (d *Disk) CrashAt(op, part int64) { d.exactOp, d.exactPart, d.exactHit = op, part, false }

// CrashedAt tells that the disk has stopped where CrashAt said, since then.
func (d *Disk) CrashedAt() bool { return d.exactHit }

// Loose lists what a power cut may take, in an order that is the same each time.
func (d *Disk) Loose() []Loose {
	var list []Loose
	for _, l := range d.loose() {
		if l.dir != nil {
			list = append(list, Loose{Path: l.path, Names: len(l.dir.pending)})
			continue
		}
		list = append(list, Loose{Path: l.path, Pages: len(l.file.dirty), Durable: l.file.durable, Seen: int64(len(l.file.data))})
	}
	return list
}

// CrashTo cuts the power like Crash and leaves exactly what left says. It
// returns how many of its entries fit nothing that was unsynced.
func (d *Disk) CrashTo(left []Left) (misfits int) {
	d.newLife()
	said := map[string]*Left{}
	for i := range left {
		said[left[i].Path] = &left[i]
	}
	loose := d.loose()
	for _, l := range loose {
		how := said[l.path]
		if how == nil {
			how = &Left{Size: -1}
		} else {
			delete(said, l.path)
		}
		if l.dir != nil {
			l.dir.leave(how.Names)
		} else {
			l.file.leave(how.Pages, how.Size)
		}
	}
	d.root.revive()
	d.used = d.root.used()
	return len(said)
}

// loosened is a Loose with the thing itself.
type loosened struct {
	path string
	dir  *folder
	file *content
}

// loose walks all that has a name, had one that a power cut would bring back, or
// is to get one.
func (d *Disk) loose() (list []loosened) {
	dirs, files, paths := map[*folder]bool{}, map[*content]bool{}, map[string]bool{}
	add := func(l loosened) {
		for paths[l.path] { // several files had or are to have one name
			l.path += "'"
		}
		paths[l.path] = true
		list = append(list, l)
	}
	var visit func(f *folder, path string)
	look := func(e entry, path string) {
		switch {
		case e.dir != nil && !dirs[e.dir]:
			visit(e.dir, path+e.name+"/")
		case e.file != nil && !files[e.file]:
			files[e.file] = true
			if len(e.file.dirty) > 0 || e.file.durable != int64(len(e.file.data)) {
				add(loosened{path: path + e.name, file: e.file})
			}
		}
	}
	visit = func(f *folder, path string) {
		dirs[f] = true
		if len(f.pending) > 0 {
			add(loosened{path: "/" + path, dir: f})
		}
		for _, e := range f.seen {
			look(e, path)
		}
		for _, e := range f.durable { // what lost its name, or has another now
			look(e, path+"was:")
		}
		for _, c := range f.pending {
			if c.target.name != "" {
				look(c.target, path+"meant:")
			}
		}
	}
	visit(d.root, "")
	return list
}

// leave decides the names of a folder.
func (f *folder) leave(names string) {
	for i, c := range f.pending {
		if i < len(names) && names[i] == '+' {
			c.apply(&f.durable)
		}
	}
	f.pending = nil
}

// revive lets processes see what is durable, here and below.
func (f *folder) revive() {
	f.seen = append(names(nil), f.durable...)
	for _, e := range f.seen {
		if e.dir != nil {
			e.dir.revive()
		} else {
			e.file.gone = false
		}
	}
}

// leave decides the pages and the size of a file.
func (c *content) leave(pages string, size int64) {
	seen := int64(len(c.data))
	c.data, c.shared = append([]byte(nil), c.data...), false
	switch low, high := min(c.durable, seen), max(c.durable, seen); {
	case size < 0:
		size = c.durable
	case c.durable > seen && size != seen:
		size = c.durable // a truncation is undone or not
	default:
		size = min(max(size, low), high)
	}
	if size > seen {
		c.grow(size)
	}
	for i := range c.dirty {
		how := byte('-')
		if i < len(pages) && !c.dirty[i].clean {
			how = pages[i]
		}
		c.settleAs(&c.dirty[i], seen, how)
	}
	c.data = c.data[:size]
	c.durable, c.dirty = size, nil
}

// settleAs is settle for a page whose fate is known.
func (c *content) settleAs(p *page, seen int64, how byte) {
	from, to := p.span(int64(len(c.data)))
	for s := from; s < to; s += sectorSize {
		end := min(s+sectorSize, to)
		if how == '+' || how == '~' && s < from+(to-from+1)/2 {
			c.restore(p, min(max(s, seen), end), end)
			continue
		}
		c.restore(p, s, end)
		if how == '?' {
			for i := max(s, c.durable); i < end; i++ {
				c.data[i] = byte(0xA5 ^ i)
			}
		}
	}
}
