package log

import "github.com/tamarack-mq/tamarack/core/record"

// tail is a queue of headers, oldest first: appended at the back, settled from
// the front, truncated from the back.
type tail struct {
	headers []record.Header
	head    int // headers before it are settled already
	bytes   int64
}

// spareTail is how many settled headers may lie about, and how much memory an
// empty tail keeps.
const spareTail = 64

func (t *tail) len() int                { return len(t.headers) - t.head }
func (t *tail) at(i int) *record.Header { return &t.headers[t.head+i] }

func (t *tail) push(h *record.Header) {
	t.headers = append(t.headers, *h)
	t.bytes += int64(h.Size())
}

func (t *tail) pop() {
	t.bytes -= int64(t.at(0).Size())
	t.head++
	switch {
	case t.len() == 0 && cap(t.headers) > spareTail:
		*t = tail{}
	case t.len() == 0:
		t.headers, t.head = t.headers[:0], 0
	case t.head > spareTail && t.head > t.len():
		t.headers, t.head = append(t.headers[:0], t.headers[t.head:]...), 0
	}
}

// cut keeps the first n headers.
func (t *tail) cut(n int) {
	for i := n; i < t.len(); i++ {
		t.bytes -= int64(t.at(i).Size())
	}
	t.headers = t.headers[:t.head+n]
}
