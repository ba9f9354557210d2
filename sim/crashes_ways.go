package sim

import (
	"strings"

	"github.com/tamarack-mq/tamarack/core/chance"
	"github.com/tamarack-mq/tamarack/storage/vfs/simdisk"
)

// ways are the ways to leave a disk at a power cut, each as data, no two of them
// the same disk.
type ways struct {
	left     [][]simdisk.Left
	unsynced int  // names, pages and sizes that a power cut may take
	all      bool // there are no others but torn and garbage pages
}

// mostSubsets bounds the subsets of which each is tried on a clone of the disk.
const mostSubsets = 4096

// waysToLeave finds up to limit ways: every subset of what is not synced, or,
// where these are too many, everything, nothing, each thing alone kept, each
// alone lost, every boundary of each file, and a sample. If there is room, torn
// and garbage pages come on top.
func waysToLeave(d *simdisk.Disk, limit int, r *chance.Stream) ways {
	c := &chooser{disk: d, limit: limit, seen: map[uint64]bool{}}
	for _, l := range d.Loose() {
		c.loose = append(c.loose, choices(l)...)
		c.files = append(c.files, l)
	}
	w := ways{unsynced: len(c.loose)}
	subsets := 1
	for i := range c.loose {
		if subsets *= c.loose[i].options; subsets > mostSubsets {
			break
		}
	}
	digits := make([]int, len(c.loose))
	if subsets <= mostSubsets {
		w.all = true
		for more := true; more; more = c.next(digits) {
			if !c.try(digits) && c.full() {
				w.all = false
				break
			}
		}
	}
	if !w.all {
		c.left, c.seen = nil, map[uint64]bool{}
		c.corners(digits)
		for tries := 0; tries < 4*limit && !c.full(); tries++ {
			for i := range digits {
				digits[i] = int(r.Below(int64(c.loose[i].options + c.loose[i].extra)))
			}
			c.try(digits)
		}
	}
	c.torn(digits)
	w.left = c.left
	return w
}

// choice is one thing that a power cut may take: a change of a name, a page, or
// the size of a file.
type choice struct {
	path    string
	what    byte // 'n', 'p' or 's'
	at      int
	sizes   []int64 // for 's'; the last is what processes saw
	options int     // 0: as it was synced last; the last: as processes saw it
	extra   int     // further ones: torn, garbage
}

func choices(l simdisk.Loose) (list []choice) {
	for i := range l.Names {
		list = append(list, choice{path: l.Path, what: 'n', at: i, options: 2})
	}
	if l.Durable != l.Seen {
		list = append(list, choice{path: l.Path, what: 's', sizes: []int64{l.Durable, l.Seen}, options: 2})
	}
	for i := range l.Pages {
		list = append(list, choice{path: l.Path, what: 'p', at: i, options: 2, extra: 2})
	}
	return list
}

// chooser turns digits, one for each choice, into what is left.
type chooser struct {
	disk  *simdisk.Disk
	files []simdisk.Loose
	loose []choice
	limit int
	left  [][]simdisk.Left
	seen  map[uint64]bool // digests of the disks that are left
}

func (c *chooser) full() bool { return len(c.left) >= c.limit }

// next counts the digits up; false: that was the last subset.
func (c *chooser) next(digits []int) bool {
	for i := range digits {
		if digits[i]++; digits[i] < c.loose[i].options {
			return true
		}
		digits[i] = 0
	}
	return false
}

// try keeps what the digits leave. False: it would be one more than the limit.
func (c *chooser) try(digits []int) bool {
	left := c.say(digits)
	disk := c.disk.Clone()
	disk.CrashTo(left)
	digest := disk.Digest()
	if c.seen[digest] {
		return true
	}
	if c.full() {
		return false
	}
	c.seen[digest] = true
	c.left = append(c.left, left)
	return true
}

func (c *chooser) say(digits []int) (left []simdisk.Left) {
	i := 0
	for _, l := range c.files {
		var names, pages strings.Builder
		size := l.Durable
		for ; i < len(c.loose) && c.loose[i].path == l.Path; i++ {
			switch ch := &c.loose[i]; ch.what {
			case 'n':
				names.WriteByte("-+"[digits[i]])
			case 'p':
				pages.WriteByte("-+~?"[digits[i]])
			default:
				size = ch.sizes[digits[i]]
			}
		}
		left = append(left, simdisk.Left{Path: l.Path, Names: names.String(), Pages: pages.String(), Size: size})
	}
	return left
}

// corners tries the ways that a fault hides in most often.
func (c *chooser) corners(digits []int) {
	set := func(v func(i int) int) {
		for i := range digits {
			digits[i] = v(i)
		}
		c.try(digits)
	}
	none, most := func(int) int { return 0 }, func(i int) int { return c.loose[i].options - 1 }
	set(none)
	set(most)
	for k := range c.loose {
		set(func(i int) int { // this one alone, with the size that shows it
			if i == k || c.loose[i].what == 's' && c.loose[i].path == c.loose[k].path {
				return most(i)
			}
			return 0
		})
		set(func(i int) int { // all but this one
			if i == k {
				return 0
			}
			return most(i)
		})
		for _, rest := range []func(int) int{none, most} { // all up to this one, of its file or folder
			set(func(i int) int {
				switch {
				case c.loose[i].path != c.loose[k].path:
					return rest(i)
				case i <= k || c.loose[i].what == 's':
					return most(i)
				}
				return 0
			})
		}
	}
}

// torn tries each page torn, and each as garbage, while all else is left.
func (c *chooser) torn(digits []int) {
	for k := range c.loose {
		for extra := range c.loose[k].extra {
			for i := range digits {
				digits[i] = c.loose[i].options - 1
			}
			digits[k] += 1 + extra
			c.try(digits)
		}
	}
}
