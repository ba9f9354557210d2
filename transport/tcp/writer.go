package tcp

import (
	"errors"
	"net"
	"sync"
	"syscall"
	"time"

	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/transport/codec"
)

// outbox is what waits to be written to one connection. Any goroutine may add
// to it. Its writer goroutine takes all that there is at once, so that what
// piled up during one write goes out with the next. While that goroutine sleeps,
// push writes a little in its place, which spares waking it.
type outbox struct {
	mu      sync.Mutex
	waiting []outgoing
	bytes   int
	closed  bool
	last    bool       // nothing more is added; the writer ends once it has written all
	asleep  bool       // the writer waits for wake
	pushing bool       // push uses w: the writer waits for its end
	quiet   bool       // something was added quietly since push was called
	w       *writer    // of a connection that stands; used by the writer goroutine, or by push while that sleeps
	spare   []outgoing // of push
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

// pushBytes is the most that push writes itself.
const pushBytes = 64 << 10

// push lets go what was added quietly: a little is written at once, as far as
// the kernel takes it without waiting; else the writer is woken.
func (o *outbox) push(inline bool) {
	o.mu.Lock()
	o.quiet = false
	if !o.asleep || len(o.waiting) == 0 {
		o.mu.Unlock()
		return
	}
	o.asleep = false
	if !inline || o.w == nil || o.w.raw == nil || o.bytes > pushBytes {
		o.mu.Unlock()
		o.signal()
		return
	}
	all, w := o.waiting, o.w
	o.waiting, o.bytes, o.pushing = o.spare, 0, true
	o.mu.Unlock()
	done := w.tryWrite(all)
	clear(all)
	o.mu.Lock()
	o.spare, o.pushing = all[:0], false
	if done && len(o.waiting) == 0 && !o.closed && !o.last {
		o.asleep = true
		o.mu.Unlock()
		w.wrote()
		return
	}
	o.mu.Unlock()
	o.signal()
}

func (o *outbox) signal() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// take waits until something is queued and gives all of it, in exchange for an
// empty list, or until push has left something unwritten. more is false when
// nothing will come any more.
func (o *outbox) take(empty []outgoing) (all []outgoing, more bool) {
	for {
		o.mu.Lock()
		if o.pushing {
			o.mu.Unlock()
			<-o.wake
			continue
		}
		if o.closed {
			o.mu.Unlock()
			return nil, false
		}
		if len(o.waiting) > 0 || o.w != nil && o.w.unfinished() {
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

// attach says which writer serves the outbox; nil: none, there is no connection.
func (o *outbox) attach(w *writer) {
	o.mu.Lock()
	o.w = w
	o.mu.Unlock()
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

// writer encodes messages and writes them to a connection, many at once. One
// goroutine at a time uses it.
type writer struct {
	conn    net.Conn
	raw     syscall.RawConn // for writes that do not wait; nil: there are none
	stall   time.Duration
	heads   []byte    // encoded heads, one behind the other
	cuts    []headCut // which piece of heads stands before which payload
	payload [][]byte
	pieces  net.Buffers // memory for rest
	rest    net.Buffers // what is to be written, in order
	bytes   int         // of all that is encoded
	failed  error       // of tryWrite
	counted func(bytes int)
	left    func() // called when messages have left
}

func newWriter(conn net.Conn, stall time.Duration, counted func(int), left func()) *writer {
	w := &writer{conn: conn, stall: stall, counted: counted, left: left}
	if c, ok := conn.(syscall.Conn); ok {
		w.raw, _ = c.SyscallConn()
	}
	return w
}

func (w *writer) wrote() {
	if w.left != nil {
		w.left()
	}
}

// unfinished says that tryWrite could not write everything.
func (w *writer) unfinished() bool { return w.failed != nil || len(w.rest) > 0 }

// headCut says that heads up to end are written before payload from index
// payload on.
type headCut struct{ end, payload int }

// write encodes and writes a list of messages, after what tryWrite has left.
func (w *writer) write(list []outgoing) error {
	if w.failed != nil {
		return w.failed
	}
	if len(w.rest) > 0 {
		if err := w.flush(); err != nil {
			return err
		}
	}
	for i := range list {
		if err := w.encode(&list[i]); err != nil {
			return err
		}
		if w.bytes >= writeBytes || len(w.payload)+len(w.cuts) >= writePieces-1 {
			w.assemble()
			if err := w.flush(); err != nil {
				return err
			}
		}
	}
	w.assemble()
	return w.flush()
}

// tryWrite encodes and writes a list of messages without waiting. It says
// whether all is done; if not, write must be called for the rest.
func (w *writer) tryWrite(list []outgoing) bool {
	for i := range list {
		if w.failed = w.encode(&list[i]); w.failed != nil {
			return false
		}
	}
	w.assemble()
	var wrote int
	var err error
	failed := w.raw.Write(func(fd uintptr) bool {
		wrote, err = writev(int(fd), w.rest)
		return true
	})
	switch {
	case failed != nil:
		w.failed = failed
		return false
	case err != nil && !errors.Is(err, syscall.EAGAIN) && !errors.Is(err, syscall.EINTR):
		w.failed = err
		return false
	}
	w.consume(max(wrote, 0))
	if len(w.rest) > 0 {
		return false
	}
	w.clean()
	return true
}

// consume takes what was written off the rest.
func (w *writer) consume(n int) {
	for n > 0 {
		if first := w.rest[0]; n < len(first) {
			w.rest[0] = first[n:]
			return
		}
		n -= len(w.rest[0])
		w.rest[0] = nil
		w.rest = w.rest[1:]
	}
}

func (w *writer) encode(o *outgoing) error {
	var err error
	before, first := len(w.heads), len(w.payload)
	w.heads, w.payload, err = codec.Encode(w.heads, w.payload, o.correlation, o.m)
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
	return nil
}

// assemble lines up heads and payloads in rest, which must be empty.
func (w *writer) assemble() {
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
	w.pieces, w.rest = pieces, pieces
}

// flush hands the rest to the kernel and waits until it has taken all of it.
func (w *writer) flush() error {
	if len(w.rest) == 0 {
		return nil
	}
	if err := w.conn.SetWriteDeadline(time.Now().Add(w.stall)); err != nil {
		return err
	}
	if _, err := w.rest.WriteTo(w.conn); err != nil {
		return err
	}
	w.clean()
	return w.conn.SetWriteDeadline(time.Time{}) // tryWrite sets none
}

// clean forgets what has been written and keeps the memory.
func (w *writer) clean() {
	if w.counted != nil {
		w.counted(w.bytes)
	}
	clear(w.payload)
	clear(w.pieces)
	w.payload, w.cuts, w.bytes, w.rest = w.payload[:0], w.cuts[:0], 0, nil
	w.heads = w.heads[:0]
	if cap(w.heads) > writeBytes {
		w.heads = nil
	}
}

// run writes what comes into the outbox until that is closed or a write fails.
func (w *writer) run(o *outbox) error {
	o.attach(w)
	defer o.attach(nil)
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
		w.wrote()
	}
}
