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
	// maxWaiting bounds the bytes that wait for a slow disk. Beyond it the tape
	// ends: the node is not held up.
	maxWaiting = 64 << 20
	// keepBuffer is the largest buffer that is used again.
	keepBuffer = 4 << 20
)

// Recorder writes the tape of a running node. All but Close is to be called by
// whoever steps the core; the writing is done by a goroutine of its own.
type Recorder struct {
	log     *slog.Logger
	limit   int64
	path    string
	encoder *Encoder
	steps   []byte // made since Kick
	total   int64
	ended   bool

	mu      sync.Mutex
	waiting []byte
	failed  error // of the writing
	wake    chan struct{}
	stop    chan struct{}
	done    chan struct{}
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
		log: o.Log, limit: o.Limit, path: path, encoder: encoder, total: int64(len(start)), waiting: start,
		wake: make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan struct{}),
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

// Begin notes the input of a step, before the core takes it.
func (r *Recorder) Begin(now message.Now, in effect.Input) {
	if r.ended {
		return
	}
	var err error
	if r.steps, err = r.encoder.Begin(r.steps, now, in); err != nil {
		r.end(err.Error())
	}
}

// End notes the effects of the step, before they are carried out.
func (r *Recorder) End(effects []effect.Effect) {
	if r.ended {
		return
	}
	var err error
	if r.steps, err = r.encoder.End(r.steps, effects); err != nil {
		r.end(err.Error())
	}
}

// end ends the tape before the node does.
func (r *Recorder) end(why string) {
	r.ended = true
	r.steps = r.encoder.Finish(r.steps, why)
	r.log.Warn("the recording ends here; the node goes on", "file", r.path, "reason", why)
}

// Kick lets the steps so far be written. It never waits for the disk.
func (r *Recorder) Kick() {
	if len(r.steps) == 0 {
		return
	}
	if !r.ended && r.total+int64(len(r.steps)) > r.limit {
		r.end(fmt.Sprintf("it has reached its limit of %d bytes", r.limit))
	}
	r.mu.Lock()
	if !r.ended && (r.failed != nil || len(r.waiting)+len(r.steps) > maxWaiting) {
		why := "the disk does not take it as fast as it comes"
		if r.failed != nil {
			why = r.failed.Error()
		}
		r.steps = r.steps[:0] // a tape has whole steps, up to some step
		r.end(why)
	}
	first := len(r.waiting) == 0
	r.waiting = append(r.waiting, r.steps...)
	r.mu.Unlock()
	r.total += int64(len(r.steps))
	r.steps = reuse(r.steps)
	if first {
		select {
		case r.wake <- struct{}{}:
		default:
		}
	}
}

func reuse(b []byte) []byte {
	if cap(b) > keepBuffer {
		return nil
	}
	return b[:0]
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
			case <-r.stop:
			}
		case <-r.stop:
			open = false
		}
		r.mu.Lock()
		all := r.waiting
		r.waiting = spare
		failed := r.failed
		r.mu.Unlock()
		if failed == nil && len(all) > 0 {
			if _, err := f.Write(all); err != nil {
				r.fail(err)
			}
		}
		spare = reuse(all)
	}
	if err := f.Close(); err != nil {
		r.fail(err)
	}
}

func (r *Recorder) fail(err error) {
	r.mu.Lock()
	r.failed = errors.Join(r.failed, err)
	r.mu.Unlock()
}

// Close ends the tape and waits until it is written. The core must not be stepped
// any more.
func (r *Recorder) Close() error {
	if !r.ended {
		r.ended = true
		r.steps = r.encoder.Finish(r.steps, "the node has ended")
	}
	r.Kick()
	close(r.stop)
	<-r.done
	if r.failed != nil {
		return fmt.Errorf("tape: writing %s: %w", r.path, r.failed)
	}
	return nil
}
