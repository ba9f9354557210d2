package server

import (
	"sync"
	"sync/atomic"

	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/record"
)

// readWorkers is how many reads wait for the disk at the same time.
const readWorkers = 4

// reads answers what the core wants to know of its logs: from memory at once,
// from disk by workers. A read never passes an operation on its log that was
// asked for before it, other than an append, whose records are in memory until
// they are written.
type reads struct {
	store   store
	disk    *disk
	tail    *tail
	inbox   *inbox
	tally   *metrics
	failed  func(log record.PartitionID, err error) // told after the core; see damage
	mu      sync.Mutex
	work    sync.Cond
	jobs    []func(store)
	closed  bool
	running sync.WaitGroup
}

func newReads(s store, d *disk, t *tail, b *inbox, tally *metrics) *reads {
	r := &reads{store: s, disk: d, tail: t, inbox: b, tally: tally, failed: func(record.PartitionID, error) {}}
	r.work.L = &r.mu
	for range readWorkers {
		r.running.Go(r.worker)
	}
	return r
}

// readJob is one Read while its slices are gathered from where they are.
type readJob struct {
	answer effect.ReadDone
	open   atomic.Int32
	reads  *reads
}

// laneRead is a slice that waits its turn behind other operations on its log.
type laneRead struct {
	effect.Read
	job   *readJob
	slice effect.Slice
	index int
}

func (l laneRead) run(s store) { l.job.fetch(s, l.slice, l.index) }

// read answers a Read: at once, and then it says so and gives the answer, or
// later through the inbox.
func (r *reads) read(e effect.Read) (now effect.ReadDone, ok bool) {
	results := make([]effect.ReadResult, len(e.Slices))
	var job *readJob
	for i := range e.Slices {
		s := e.Slices[i]
		blocked := r.disk.blocked(s.Log)
		if !blocked {
			if s.From >= s.To {
				continue
			}
			if b, hit := r.tail.read(&s); hit {
				results[i].Batches = b
				r.tally.readTail(len(b))
				continue
			}
			if start, any := r.tail.start(s.Log); any && start > s.From {
				s.To = min(s.To, start) // what lies in memory may not be written yet
			}
		}
		if job == nil {
			job = &readJob{reads: r}
			job.answer = effect.ReadDone{Token: e.Token, Results: results}
			job.open.Store(1)
		}
		job.open.Add(1)
		if blocked {
			r.disk.do(s.Log, laneRead{job: job, slice: s, index: i})
			continue
		}
		r.later(func(st store) { job.fetch(st, s, i) })
	}
	if job == nil {
		return effect.ReadDone{Token: e.Token, Results: results}, true
	}
	job.done()
	return effect.ReadDone{}, false
}

// fetch reads one slice from disk.
func (j *readJob) fetch(s store, slice effect.Slice, index int) {
	result := &j.answer.Results[index]
	if slice.From < slice.To {
		result.Batches, result.Err = s.Read(slice)
		j.reads.tally.readDisk(len(result.Batches))
	}
	err := result.Err
	j.done()
	if err != nil {
		j.reads.failed(slice.Log, err)
	}
}

func (j *readJob) done() {
	if j.open.Add(-1) == 0 {
		j.reads.inbox.put(j.answer)
	}
}

// laneFind is a FindTime that waits its turn.
type laneFind struct {
	effect.FindTime
	reads *reads
}

func (l laneFind) run(s store) { l.reads.find(s, l.FindTime) }

// findTime answers a FindTime through the inbox.
func (r *reads) findTime(e effect.FindTime) {
	if r.disk.pending(e.Log) {
		r.disk.do(e.Log, laneFind{e, r})
		return
	}
	r.later(func(s store) { r.find(s, e) })
}

func (r *reads) find(s store, e effect.FindTime) {
	found, offset, at, err := s.FindTime(e)
	r.inbox.put(effect.TimeFound{Token: e.Token, Found: found, Offset: offset, Timestamp: at, Err: err})
	if err != nil {
		r.failed(e.Log, err)
	}
}

func (r *reads) later(job func(store)) {
	r.mu.Lock()
	r.jobs = append(r.jobs, job)
	r.mu.Unlock()
	r.work.Signal()
}

func (r *reads) worker() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for {
		for len(r.jobs) == 0 && !r.closed {
			r.work.Wait()
		}
		if r.closed {
			return
		}
		job := r.jobs[0]
		r.jobs[0] = nil
		r.jobs = r.jobs[1:]
		r.mu.Unlock()
		job(r.store)
		r.mu.Lock()
	}
}

// close ends the workers; reads that have not begun are not answered.
func (r *reads) close() {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.work.Broadcast()
	r.running.Wait()
}
