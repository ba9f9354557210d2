package simdisk

// File is one file as a process sees it, for those who look on.
type File struct {
	Path    string
	Size    int64
	Durable int64   // the size that a power cut would leave
	Dirty   []int64 // the numbers of the pages that are not synced
	Named   bool    // its name is synced, too
}

// Opened lists the names of the files that the process has open, each as often as it
// is open, by folder and name; nameless is how many more are open that have no name
// any more, because it was taken away.
func (d *Disk) Opened() (names []string, nameless int) {
	for file, times := range d.open {
		if !file.lost {
			nameless += times
		}
	}
	var visit func(f *folder, path string)
	visit = func(f *folder, path string) {
		for _, e := range f.seen {
			if e.dir != nil {
				visit(e.dir, path+e.name+"/")
				continue
			}
			for range d.open[e.file] {
				names = append(names, path+e.name)
				nameless--
			}
		}
	}
	visit(d.root, "")
	return names, nameless
}

// Content is what a file holds, as a process sees it, for those who look on; what cannot
// be read is there as it was. nil: there is no such file. It must not be changed.
func (d *Disk) Content(name string) []byte {
	in, last, err := d.walk("look at", name)
	if err != nil {
		return nil
	}
	i, found := in.seen.find(last)
	if !found || in.seen[i].file == nil {
		return nil
	}
	return in.seen[i].file.data
}

// Files lists all files, by folder and name.
func (d *Disk) Files() []File {
	var list []File
	var visit func(f *folder, path string)
	visit = func(f *folder, path string) {
		for _, e := range f.seen {
			if e.dir != nil {
				visit(e.dir, path+e.name+"/")
				continue
			}
			file := File{Path: path + e.name, Size: int64(len(e.file.data)), Durable: e.file.durable}
			for _, p := range e.file.dirty {
				file.Dirty = append(file.Dirty, p.number)
			}
			if i, found := f.durable.find(e.name); found {
				file.Named = f.durable[i].file == e.file
			}
			list = append(list, file)
		}
	}
	visit(d.root, "")
	return list
}
