package tape

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
)

// Options say where a tape goes.
type Options struct {
	Dir   string // made when it does not exist
	Limit int64  // bytes, after which the tape ends and the node goes on; 0: DefaultLimit
	Log   *slog.Logger
}

// DefaultLimit is how large a tape may grow.
const DefaultLimit = 1 << 30

const (
	// writeEvery gathers what is written: what is younger is lost when the process
	// is killed.
	writeEvery = 20 * time.Millisecond
	// writeSize is how much is written without waiting for more.
	writeSize = 1 << 20
	// maxWaiting bounds the bytes that wait for a slow disk. Beyond it the tape
	// ends: the node is not held up.
	maxWaiting = 64 << 20
	// keepBuffer is the largest buffer that is used again.
	keepBuffer = 8 << 20
)

// Recorder writes the tape of a running node. All but Close is to be called by
// whoever steps the core; the writing is done by a goroutine of its own, from one
// of two buffers while steps go to the other.
type Recorder struct {
	log     *slog.Logger
	limit   int64
	path    string
	encoder *Encoder

	mu      sync.Mutex
	steps   []byte // not yet written
	written int64  // handed to the writer before
	inStep  bool   // steps ends within a step
	ended   bool
	failed  error // of the writing

	wake chan struct{} // there is something to write
	full chan struct{} // there is much to write
	stop chan struct{}
	done chan struct{}
}

// Record begins a tape for a core that is about to be made.
func Record(o Options, h *Header, found *effect.Recovered) (*Recorder, error) {
	encoder, start, err := NewEncoder(nil, h, found)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(o.Dir, 0o755); err != nil {
		return nil, fmt.Errorf("tape: cannot make the folder: %w", err)
	}
	name := fmt.Sprintf("node%d-%s-%016x%s", h.Config.ID, h.Started.UTC().Format("20060102T150405Z"), h.Config.Incarnation, Suffix)
	path := filepath.Join(o.Dir, name)
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("tape: %w", err)
	}
	r := &Recorder{
		log: o.Log, limit: o.Limit, path: path, encoder: encoder, steps: start,
		wake: make(chan struct{}, 1), full: make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan struct{}),
	}
	if r.limit == 0 {
		r.limit = DefaultLimit
	}
	r.wake <- struct{}{}
	go r.write(f)
	return r, nil
}

// Path is the file.
func (r *Recorder) Path() string { return r.path }

// Begin notes the input of a step, before the core takes it. It never waits for
// the disk; nor does End.
func (r *Recorder) Begin(now message.Now, in effect.Input) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		return
	}
	first := len(r.steps) == 0
	var err error
	if r.steps, err = r.encoder.Begin(r.steps, now, in); err != nil {
		r.end(err.Error())
	}
	r.inStep = !r.ended
	if first {
		signal(r.wake)
	}
}

// End notes the effects of the step, before they are carried out.
func (r *Recorder) End(effects []effect.Effect) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		return
	}
	r.inStep = false
	var err error
	r.steps, err = r.encoder.End(r.steps, effects)
	switch size := len(r.steps); {
	case err != nil:
		r.end(err.Error())
	case r.failed != nil:
		r.end(r.failed.Error())
	case size > maxWaiting:
		r.end("the disk does not take it as fast as it comes")
	case r.written+int64(size) > r.limit:
		r.end(fmt.Sprintf("it has reached its limit of %d bytes", r.limit))
	case size > writeSize:
		signal(r.full)
	}
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default: // it is known already
	}
}

// end ends the tape before the node does. r.mu is held.
func (r *Recorder) end(why string) {
	r.ended = true
	r.steps = r.encoder.Finish(r.steps, why)
	r.log.Warn("the recording ends here; the node goes on", "file", r.path, "reason", why)
}

// write is the goroutine that writes.
func (r *Recorder) write(f *os.File) {
	defer close(r.done)
	var spare []byte
	for open := true; open; {
		select {
		case <-r.wake:
			select {
			case <-time.After(writeEvery):
			case <-r.full:
			case <-r.stop:
			}
		case <-r.full:
		case <-r.stop:
			open = false
		}
		steps := r.take(spare)
		if _, err := f.Write(steps); err != nil {
			r.fail(err)
		}
		if spare = steps[:0]; cap(spare) > keepBuffer {
			spare = nil
		}
	}
	if err := f.Close(); err != nil {
		r.fail(err)
	}
}

// take takes what is to be written and leaves an empty buffer for it. It takes
// nothing after a failure.
func (r *Recorder) take(empty []byte) []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.inStep {
		signal(r.wake) // whole steps only, so that the buffer can be taken away
		return empty
	}
	steps := r.steps
	r.steps = empty
	r.written += int64(len(steps))
	if r.failed != nil {
		return steps[:0]
	}
	return steps
}

func (r *Recorder) fail(err error) {
	r.mu.Lock()
	r.failed = errors.Join(r.failed, err)
	r.mu.Unlock()
}

// Close ends the tape and waits until it is written. The core must not be stepped
// any more.
func (r *Recorder) Close() error {
	r.mu.Lock()
	if !r.ended {
		r.ended = true
		r.steps = r.encoder.Finish(r.steps, "the node has ended")
	}
	r.mu.Unlock()
	close(r.stop)
	<-r.done
	if r.failed != nil {
		return fmt.Errorf("tape: writing %s: %w", r.path, r.failed)
	}
	return nil
}
