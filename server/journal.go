package server

import (
	"errors"
	"sync"
	"time"

	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/storage"
)

// journal writes the quorum's journal: in order, and all that piled up during
// one write with the next one.
type journal struct {
	store   store
	inbox   *inbox
	tally   *metrics
	full    func()
	mu      sync.Mutex
	work    sync.Cond
	waiting []effect.Effect
	busy    bool
	failed  bool
	closed  bool
	stop    chan struct{}
	running sync.WaitGroup
}

func newJournal(s store, b *inbox, tally *metrics, full func()) *journal {
	j := &journal{store: s, inbox: b, tally: tally, full: full, stop: make(chan struct{})}
	j.work.L = &j.mu
	j.running.Go(j.worker)
	return j
}

// do queues a SaveQuorum or a ReplaceQuorum.
func (j *journal) do(e effect.Effect) {
	j.mu.Lock()
	j.waiting = append(j.waiting, e)
	j.mu.Unlock()
	j.work.Broadcast()
}

func (j *journal) worker() {
	j.mu.Lock()
	defer j.mu.Unlock()
	for {
		for len(j.waiting) == 0 && !j.closed {
			j.work.Wait()
		}
		if j.closed {
			return
		}
		all := j.waiting
		j.waiting, j.busy = nil, true
		j.mu.Unlock()
		ok := j.perform(all)
		j.mu.Lock()
		j.busy = false
		if !ok {
			j.failed, j.waiting = true, nil
		}
		j.work.Broadcast()
		if !ok {
			return
		}
	}
}

// perform writes all of a list, whole runs of frames at once.
func (j *journal) perform(list []effect.Effect) bool {
	for len(list) > 0 {
		var write func() error
		var seq uint64
		var n int
		switch e := list[0].(type) {
		case effect.SaveQuorum:
			var frames [][]byte
			for n < len(list) {
				s, ok := list[n].(effect.SaveQuorum)
				if !ok {
					break
				}
				frames, seq = append(frames, s.Frame), s.Seq
				n++
			}
			write = func() error { return j.store.SaveQuorum(frames...) }
		case effect.ReplaceQuorum:
			n, seq = 1, e.Seq
			write = func() error { return j.store.ReplaceQuorum(e.Frames) }
		}
		list = list[n:]
		start := time.Now()
		if !j.insist(write) {
			return false
		}
		j.tally.saved(time.Since(start))
		j.inbox.put(effect.QuorumSaved{Seq: seq})
	}
	return true
}

// insist writes, and waits and tries again while the disk has no room. It says
// no when the write failed for another reason, or the journal was closed.
func (j *journal) insist(write func() error) bool {
	for {
		err := write()
		switch {
		case err == nil:
			return true
		case errors.Is(err, storage.ErrNoRoom):
			j.full()
		default:
			j.inbox.put(effect.DiskFailed{Journal: true, Op: "SaveQuorum", Detail: err.Error()})
			return false
		}
		select {
		case <-j.stop:
			return false
		case <-time.After(spaceInterval):
		}
	}
}

// drain waits until all is written. It says whether it was.
func (j *journal) drain() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	for (len(j.waiting) > 0 || j.busy) && !j.failed {
		j.work.Wait()
	}
	return !j.failed
}

// close ends the worker; what it has not begun is not done.
func (j *journal) close() {
	j.mu.Lock()
	j.closed, j.waiting = true, nil
	j.mu.Unlock()
	close(j.stop)
	j.work.Broadcast()
	j.running.Wait()
}
