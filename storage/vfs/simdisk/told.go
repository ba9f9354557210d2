package simdisk

import (
	"strings"

	"github.com/tamarack-mq/tamarack/core/chance"
)

// notes are what a power cut leaves, by folder or file; nil: nobody asks.
type notes map[any]*Left

// of is where to note what is left of a folder or a file; nil: nobody asks.
func (n notes) of(thing any) *Left { return n[thing] }

func (l *Left) name(kept bool) {
	if l == nil {
		return
	}
	if kept {
		l.Names += "+"
	} else {
		l.Names += "-"
	}
}

func (l *Left) page(how byte) {
	if l != nil {
		l.Pages += string(how)
	}
}

func (l *Left) size(size int64) {
	if l != nil {
		l.Size = size
	}
}

// CrashTold is Crash, and tells what it left in the terms of CrashTo. What was
// torn or became garbage is told as such: CrashTo makes of it what it always
// makes of that, and not the same bytes. What is as it was synced last is not
// told.
func (d *Disk) CrashTold(random *chance.Stream) (left []Left) {
	told := notes{}
	loose := d.loose()
	durable := make([]int64, len(loose))
	all := make([]Left, len(loose))
	for i, l := range loose {
		all[i].Path = l.path
		if l.dir != nil {
			told[l.dir] = &all[i]
		} else {
			told[l.file], durable[i] = &all[i], l.file.durable
		}
	}
	d.newLife()
	d.root.crash(random, told)
	d.used = d.root.used()
	for i := range all {
		l := &all[i]
		if strings.ContainsAny(l.Names+l.Pages, "+~?") || loose[i].file != nil && l.Size != durable[i] && l.Pages != "" {
			left = append(left, *l)
		}
	}
	return left
}
