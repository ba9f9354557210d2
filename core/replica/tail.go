package replica

import (
	"math"

	"github.com/tamarack-mq/tamarack/core/record"
)

// tailMarks is how many of the newest batches a leader knows the size of.
const tailMarks = 64

// tail knows where the newest batches of a log end, in offsets and in bytes, so
// that a leader can tell how much there is to fetch without asking the disk.
type tail struct {
	total int64 // bytes appended since the leadership began
	next  int   // where the next mark goes
	marks []tailMark
}

type tailMark struct {
	end   record.Offset
	total int64
}

func (t *tail) begin(end record.Offset) { t.marks = append(t.marks, tailMark{end: end}) }

func (t *tail) push(end record.Offset, bytes int) {
	t.total += int64(bytes)
	mark := tailMark{end, t.total}
	if len(t.marks) < tailMarks {
		t.marks = append(t.marks, mark)
		return
	}
	t.marks[t.next] = mark
	t.next = (t.next + 1) % tailMarks
}

// at is the number of bytes before an offset, if a batch is known to end there.
func (t *tail) at(o record.Offset) (total int64, ok bool) {
	n := len(t.marks)
	for i := range n {
		mark := t.marks[(t.next+n-1-i)%n]
		if mark.end == o {
			return mark.total, true
		}
		if mark.end < o {
			break
		}
	}
	return 0, false
}

// between is the number of bytes from one offset to another. Where that is not
// known there is much: more than anybody waits for.
func (t *tail) between(from, to record.Offset) int64 {
	if from >= to {
		return 0
	}
	low, ok := t.at(from)
	high, ok2 := t.at(to)
	if !ok || !ok2 {
		return math.MaxInt32
	}
	return high - low
}
