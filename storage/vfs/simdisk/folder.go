package simdisk

import (
	"io/fs"
	"slices"
	"strings"

	"github.com/tamarack-mq/tamarack/core/chance"
	"github.com/tamarack-mq/tamarack/storage/vfs"
)

// entry is a name in a folder: of a file, or of a folder.
type entry struct {
	name string
	file *content
	dir  *folder
}

func (e entry) is(o entry) bool { return e.file == o.file && e.dir == o.dir }

// names is a list of entries in rising order of names.
type names []entry

func (n names) find(name string) (int, bool) {
	return slices.BinarySearchFunc(n, name, func(e entry, name string) int { return strings.Compare(e.name, name) })
}

func (n *names) set(e entry) {
	i, found := n.find(e.name)
	if found {
		(*n)[i] = e
		return
	}
	*n = slices.Insert(*n, i, e)
}

func (n *names) unset(name string) {
	if i, found := n.find(name); found {
		*n = slices.Delete(*n, i, i+1)
	}
}

// folder is a set of names: those that a process sees, those that a power cut
// would leave, and how the first came from the second.
type folder struct {
	seen    names
	durable names
	pending []change
}

// change is one operation on a folder: from is taken away, what is under to
// becomes target. Either may be missing.
type change struct {
	from   string
	target entry
}

func (c change) apply(to *names) {
	if c.from != "" {
		to.unset(c.from)
	}
	if c.target.name == "" {
		return
	}
	// A rename that survives takes its file along even if an earlier one that
	// gave it the name from was lost.
	*to = slices.DeleteFunc(*to, func(e entry) bool { return e.is(c.target) })
	to.set(c.target)
}

func (f *folder) do(c change) {
	c.apply(&f.seen)
	f.pending = append(f.pending, c)
}

func (f *folder) sync() {
	if len(f.pending) == 0 {
		return
	}
	f.durable = slices.Clone(f.seen)
	f.pending = nil
}

// crash decides which unsynced changes are left, then goes down.
func (f *folder) crash(random *chance.Stream, told notes) {
	if len(f.pending) > 0 {
		left := told.of(f)
		fate := fateOf(random)
		for _, c := range f.pending {
			keep := fate == kept || fate == mixed && random.OneIn(2)
			if keep {
				c.apply(&f.durable)
			}
			left.name(keep)
		}
		f.pending = nil
		f.seen = slices.Clone(f.durable)
	}
	for _, e := range f.seen {
		if e.dir != nil {
			e.dir.crash(random, told)
		} else {
			e.file.gone = false
			e.file.crash(random, told.of(e.file))
		}
	}
}

func (f *folder) used() (sum int64) {
	for _, e := range f.seen {
		if e.dir != nil {
			sum += e.dir.used()
		} else {
			sum += int64(len(e.file.data))
		}
	}
	return sum
}

// Crash cuts the power. Each unsynced page is kept, dropped, torn at 512 bytes,
// or (where nothing was durable) garbage; a file that grew has its old size,
// the new one or one in between; each unsynced change of a folder is kept or
// undone. Open files become useless, locks are gone, armed faults are
// forgotten. The disk can be used again at once.
func (d *Disk) Crash(random *chance.Stream) {
	d.newLife()
	d.root.crash(random, nil)
	d.used = d.root.used()
}

func missing(op, name string) error { return &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist} }

// walk finds the folder that a name lies in, and the last part of the name.
func (d *Disk) walk(op, name string) (*folder, string, error) {
	at := d.root
	for rest := name; ; {
		head, tail, more := strings.Cut(rest, "/")
		if !more {
			return at, head, nil
		}
		i, found := at.seen.find(head)
		if !found || at.seen[i].dir == nil {
			return nil, "", missing(op, name)
		}
		at, rest = at.seen[i].dir, tail
	}
}

func (d *Disk) folder(op, name string) (*folder, error) {
	if name == "" {
		return d.root, nil
	}
	in, last, err := d.walk(op, name)
	if err != nil {
		return nil, err
	}
	i, found := in.seen.find(last)
	if !found || in.seen[i].dir == nil {
		return nil, missing(op, name)
	}
	return in.seen[i].dir, nil
}

// Mkdir makes a folder. It is no error when it exists.
func (d *Disk) Mkdir(name string) error {
	skip, crash := d.begin(OpMkdir)
	if skip {
		return crash
	}
	in, last, err := d.walk("mkdir", name)
	if err != nil {
		return first(crash, err)
	}
	if i, found := in.seen.find(last); found {
		if in.seen[i].dir == nil {
			return first(crash, &fs.PathError{Op: "mkdir", Path: name, Err: fs.ErrExist})
		}
		return crash
	}
	in.do(change{target: entry{name: last, dir: &folder{}}})
	return crash
}

// ReadDir lists a folder in rising order of names.
func (d *Disk) ReadDir(name string) ([]vfs.Entry, error) {
	if d.crashed {
		return nil, ErrCrashed
	}
	f, err := d.folder("readdir", name)
	if err != nil {
		return nil, err
	}
	list := make([]vfs.Entry, len(f.seen))
	for i, e := range f.seen {
		list[i] = vfs.Entry{Name: e.name, Dir: e.dir != nil}
		if e.file != nil {
			list[i].Size = int64(len(e.file.data))
		}
	}
	return list, nil
}

// SyncDir makes the names in a folder durable.
func (d *Disk) SyncDir(name string) error {
	d.stats.Syncs++
	skip, crash := d.begin(OpSyncDir)
	if skip {
		return crash
	}
	f, err := d.folder("syncdir", name)
	if err != nil {
		return first(crash, err)
	}
	f.sync()
	return crash
}

// Remove deletes a file or an empty folder.
func (d *Disk) Remove(name string) error {
	skip, crash := d.begin(OpRemove)
	if skip {
		return crash
	}
	in, last, err := d.walk("remove", name)
	if err != nil {
		return first(crash, err)
	}
	i, found := in.seen.find(last)
	if !found {
		return first(crash, missing("remove", name))
	}
	e := in.seen[i]
	if e.dir != nil && len(e.dir.seen) > 0 {
		return first(crash, &fs.PathError{Op: "remove", Path: name, Err: errNotEmpty})
	}
	d.forget(e)
	in.do(change{from: last})
	return crash
}

// forget takes a file that loses its name out of what is used.
func (d *Disk) forget(e entry) {
	if e.file != nil {
		d.used -= int64(len(e.file.data))
		e.file.gone = true
	}
}

// Rename gives a file or folder another name in the same folder. It replaces a
// file, never a folder.
func (d *Disk) Rename(from, to string) error {
	skip, crash := d.begin(OpRename)
	if skip {
		return crash
	}
	in, old, err := d.walk("rename", from)
	if err != nil {
		return first(crash, err)
	}
	i, found := in.seen.find(old)
	if !found {
		return first(crash, missing("rename", from))
	}
	target := in.seen[i]
	in2, last, err := d.walk("rename", to)
	if err != nil {
		return first(crash, err)
	}
	if in2 != in {
		return first(crash, &fs.PathError{Op: "rename", Path: to, Err: errAcross})
	}
	if i, found := in.seen.find(last); found {
		if in.seen[i].dir != nil {
			return first(crash, &fs.PathError{Op: "rename", Path: to, Err: fs.ErrExist})
		}
		d.forget(in.seen[i])
	}
	target.name = last
	in.do(change{from: old, target: target})
	return crash
}
