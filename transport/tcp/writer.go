package tcp

import (
	"net"
	"sync"
	"time"

	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/transport/codec"
)

// outbox is what waits to be written to one connection. Any goroutine may add
// to it; one writer takes all that there is at once, so that what piled up
// during one write goes out with the next.
type outbox struct {
	mu      sync.Mutex
	waiting []outgoing
	bytes   int
	closed  bool
	last    bool // nothing more is added; the writer ends once it has written all
	asleep  bool // the writer waits for wake
	quiet   bool // something was added quietly since rouse was called
	wake    chan struct{}
}

type outgoing struct {
	correlation uint64
	m           message.Message
	size        int
}

func newOutbox() *outbox { return &outbox{wake: make(chan struct{}, 1)} }

// add queues a message unless limit bytes are waiting already. With quiet set
// a sleeping writer is left asleep, and rouse says (once) that someone must
// call rouse later.
func (o *outbox) add(correlation uint64, m message.Message, limit int, quiet bool) (rouse bool, err error) {
	size := sizeOf(m)
	o.mu.Lock()
	switch {
	case o.closed || o.last:
		o.mu.Unlock()
		return false, ErrClosed
	case len(o.waiting) > 0 && o.bytes+size > limit:
		o.mu.Unlock()
		return false, ErrQueueFull
	}
	o.waiting = append(o.waiting, outgoing{correlation, m, size})
	o.bytes += size
	wake := o.asleep && !quiet
	if wake {
		o.asleep = false
	}
	rouse = o.asleep && !o.quiet
	o.quiet = o.quiet || rouse
	o.mu.Unlock()
	if wake {
		o.signal()
	}
	return rouse, nil
}

// rouse wakes the writer when there is something to write.
func (o *outbox) rouse() {
	o.mu.Lock()
	asleep := o.asleep && len(o.waiting) > 0
	o.quiet = false
	if asleep {
		o.asleep = false
	}
	o.mu.Unlock()
	if asleep {
		o.signal()
	}
}

func (o *outbox) signal() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// take waits until something is queued and gives all of it, in exchange for an
// empty list. more is false when nothing will come any more.
func (o *outbox) take(empty []outgoing) (all []outgoing, more bool) {
	for {
		o.mu.Lock()
		if o.closed {
			o.mu.Unlock()
			return nil, false
		}
		if len(o.waiting) > 0 {
			all, o.waiting, o.bytes = o.waiting, empty, 0
			o.mu.Unlock()
			return all, true
		}
		if o.last {
			o.mu.Unlock()
			return nil, false
		}
		o.asleep = true
		o.mu.Unlock()
		<-o.wake
	}
}

// queued is how many bytes wait.
func (o *outbox) queued() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.bytes
}

// finish lets the writer end after what is queued now.
func (o *outbox) finish() {
	o.mu.Lock()
	o.last, o.asleep = true, false
	o.mu.Unlock()
	o.signal()
}

// close drops what is queued and ends the writer.
func (o *outbox) close() {
	o.mu.Lock()
	o.closed, o.asleep, o.waiting, o.bytes = true, false, nil, 0
	o.mu.Unlock()
	o.signal()
}

// Sizes of one write: it goes out when it has so many bytes or pieces. 1024 is
// what the kernel takes in one call.
const (
	writeBytes  = 1 << 20
	writePieces = 1024
)

// writer encodes messages and writes them to a connection, many at once.
type writer struct {
	conn    net.Conn
	stall   time.Duration
	heads   []byte    // encoded heads, one behind the other
	cuts    []headCut // which piece of heads stands before which payload
	payload [][]byte
	pieces  net.Buffers
	bytes   int
	counted func(bytes int)
}

// headCut says that heads up to end are written before payload from index
// payload on.
type headCut struct{ end, payload int }

// write encodes and writes a list of messages.
func (w *writer) write(list []outgoing) error {
	for i := range list {
		var err error
		before, first := len(w.heads), len(w.payload)
		w.heads, w.payload, err = codec.Encode(w.heads, w.payload, list[i].correlation, list[i].m)
		if err != nil {
			return err
		}
		w.bytes += len(w.heads) - before
		if len(w.payload) > first {
			w.cuts = append(w.cuts, headCut{len(w.heads), first})
			for _, p := range w.payload[first:] {
				w.bytes += len(p)
			}
		}
		if w.bytes >= writeBytes || len(w.payload)+len(w.cuts) >= writePieces {
			if err := w.flush(); err != nil {
				return err
			}
		}
	}
	return w.flush()
}

// flush hands all that is encoded to the kernel.
func (w *writer) flush() error {
	if w.bytes == 0 {
		return nil
	}
	if err := w.conn.SetWriteDeadline(time.Now().Add(w.stall)); err != nil {
		return err
	}
	err := w.send()
	if w.counted != nil {
		w.counted(w.bytes)
	}
	clear(w.payload)
	w.payload, w.cuts, w.bytes = w.payload[:0], w.cuts[:0], 0
	w.heads = w.heads[:0]
	if cap(w.heads) > writeBytes {
		w.heads = nil
	}
	return err
}

func (w *writer) send() error {
	if len(w.cuts) == 0 {
		_, err := w.conn.Write(w.heads)
		return err
	}
	pieces := w.pieces[:0]
	start := 0
	for i, cut := range w.cuts {
		pieces = append(pieces, w.heads[start:cut.end])
		start = cut.end
		end := len(w.payload)
		if i+1 < len(w.cuts) {
			end = w.cuts[i+1].payload
		}
		pieces = append(pieces, w.payload[cut.payload:end]...)
	}
	if start < len(w.heads) {
		pieces = append(pieces, w.heads[start:])
	}
	w.pieces = pieces
	_, err := pieces.WriteTo(w.conn) // uses pieces up; w.pieces keeps the memory
	clear(w.pieces)
	return err
}

// run writes what comes into the outbox until that is closed or a write fails.
func (w *writer) run(o *outbox, wrote func()) error {
	var list []outgoing
	for {
		clear(list)
		all, more := o.take(list[:0])
		if !more {
			return nil
		}
		if err := w.write(all); err != nil {
			return err
		}
		list = all
		if wrote != nil {
			wrote()
		}
	}
}
