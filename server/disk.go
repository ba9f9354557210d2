package server

import (
	"errors"
	"sync"
	"time"

	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/record"
	"github.com/tamarack-mq/tamarack/storage"
)

// store is what the driver needs of storage.Store, whose promises about calls
// at the same time it relies on.
type store interface {
	Do(e effect.Effect) error
	Append(a effect.Append) error
	Flush(log record.PartitionID) error
	Read(slice effect.Slice) ([]byte, error)
	FindTime(f effect.FindTime) (found bool, off record.Offset, at record.Timestamp, err error)
	SaveQuorum(frames ...[]byte) error
	ReplaceQuorum(frames [][]byte) error
	SyncMarks() error
	Free() (int64, error)
	Close(clean bool) error
}

// Workers of a disk. Flushes of one file do not run side by side, those of
// several do; two workers are left for writing while all flushes wait.
const (
	diskFlushes = 4
	diskWorkers = diskFlushes + 2
)

// disk carries out what the core wants of its logs. Each log is a lane: what
// concerns it takes place in the order given. A flush of a log runs beside
// later appends to it; all that was appended while it ran is covered by the
// next one (group commit).
type disk struct {
	store  store
	inbox  *inbox
	tally  *metrics
	full   func() // called when there is no room; see space
	mu     sync.Mutex
	work   sync.Cond // there is something to do, or all is over
	idle   sync.Cond // a lane has nothing left
	lanes  map[record.PartitionID]*lane
	dirty  []*lane // of the core's goroutine: have operations since kick
	ops    queue   // lanes that have operations and wait for a worker
	syncs  queue   // lanes that want a flush and wait for a worker
	active int     // workers at work
	syncing,
	stuck int // flushes running; lanes without room
	failed  bool
	closed  bool
	running sync.WaitGroup
}

// lane is what is to be done to one log.
type lane struct {
	id       record.PartitionID
	ops      []effect.Effect
	spare    []effect.Effect
	barriers int // operations in ops, or under way, that are no appends or flushes
	busy     bool
	queued   bool
	dirty    bool
	stuck    bool // no room: the first of ops waits for it
	gone     bool // its log was deleted
	wants    bool // a flush
	syncing  bool
	inQueue  bool // of syncs
	cut      effect.Cut
	written  record.Offset
}

// newDisk starts the workers. logs are those that the store has already.
func newDisk(s store, logs []effect.RecoveredLog, b *inbox, tally *metrics, full func()) *disk {
	d := &disk{store: s, inbox: b, tally: tally, full: full, lanes: map[record.PartitionID]*lane{}}
	for i := range logs {
		d.lanes[logs[i].ID] = &lane{id: logs[i].ID, written: logs[i].End}
	}
	d.work.L, d.idle.L = &d.mu, &d.mu
	for range diskWorkers {
		d.running.Go(d.worker)
	}
	return d
}

// do queues an operation on a log. It begins with the next kick.
func (d *disk) do(log record.PartitionID, e effect.Effect) {
	d.mu.Lock()
	l := d.lanes[log]
	if l == nil {
		l = &lane{id: log}
		d.lanes[log] = l
	}
	l.ops = append(l.ops, e)
	if isBarrier(e) {
		l.barriers++
	}
	if !l.dirty {
		l.dirty = true
		d.dirty = append(d.dirty, l)
	}
	d.mu.Unlock()
}

// isBarrier says that an operation may not run beside a flush, and that no read
// may pass it.
func isBarrier(e effect.Effect) bool {
	switch e.(type) {
	case effect.Append, effect.Flush:
		return false
	}
	return true
}

// blocked says whether a read of a log must wait for what is queued before it.
func (d *disk) blocked(log record.PartitionID) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	l := d.lanes[log]
	return l != nil && l.barriers > 0
}

// pending says whether any operation on a log is not done.
func (d *disk) pending(log record.PartitionID) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	l := d.lanes[log]
	return l != nil && (len(l.ops) > 0 || l.busy)
}

// kick lets begin what was queued.
func (d *disk) kick() {
	if len(d.dirty) == 0 {
		return
	}
	d.mu.Lock()
	for i, l := range d.dirty {
		l.dirty = false
		d.enqueue(l)
		d.dirty[i] = nil
	}
	d.mu.Unlock()
	d.dirty = d.dirty[:0]
}

// enqueue gives a lane with operations to the workers. d.mu is held.
func (d *disk) enqueue(l *lane) {
	if len(l.ops) == 0 || l.busy || l.queued || l.stuck || d.failed {
		return
	}
	if isBarrier(l.ops[0]) && (l.wants || l.syncing) {
		return // the end of the flush enqueues it
	}
	l.queued = true
	d.ops.push(l)
	d.work.Signal()
}

// worker does what there is to do, writes before flushes, until the disk is
// closed and everything is done.
func (d *disk) worker() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for {
		switch {
		case d.ops.len() > 0:
			l := d.ops.pop()
			l.queued = false
			d.active++
			d.runOps(l)
			d.active--
		case d.syncs.len() > 0 && d.syncing < diskFlushes:
			l := d.syncs.pop()
			l.inQueue = false
			d.active++
			d.runFlush(l)
			d.active--
		case d.closed:
			return
		default:
			d.work.Wait()
		}
		d.rest()
	}
}

// rest tells who waits for the disk that there is nothing left to do.
func (d *disk) rest() {
	if d.active == 0 && d.ops.len() == 0 && d.syncs.len() == 0 {
		d.idle.Broadcast()
	}
}

// runOps carries out what a lane has, as far as it may, and then the flush that
// it asked for, if there is a place for it. d.mu is held but while it works.
func (d *disk) runOps(l *lane) {
	ops := l.ops
	l.ops, l.busy = l.spare[:0], true
	d.mu.Unlock()
	done, barriers, stop := d.perform(l, ops)
	d.mu.Lock()
	l.busy = false
	l.barriers -= barriers
	if rest := ops[done:]; len(rest) > 0 {
		l.ops = append(append(make([]effect.Effect, 0, len(rest)+len(l.ops)), rest...), l.ops...)
	}
	clear(ops)
	l.spare = ops[:0]
	switch {
	case stop == stopFailed || d.failed:
		d.abandon()
		return
	case stop == stopNoRoom && !l.stuck:
		l.stuck = true
		d.stuck++
	}
	if l.wants && !l.syncing && !l.inQueue {
		if d.syncing < diskFlushes {
			d.enqueue(l) // others may take on what came meanwhile
			d.runFlush(l)
			return
		}
		l.inQueue = true
		d.syncs.push(l)
	}
	d.enqueue(l)
	d.retire(l)
}

// retire forgets a lane whose log is gone.
func (d *disk) retire(l *lane) {
	if l.gone && len(l.ops) == 0 && !l.busy && !l.queued && !l.wants && !l.syncing && !l.dirty {
		delete(d.lanes, l.id)
	}
}

// stop says why perform did not do everything.
type stop uint8

const (
	stopNot stop = iota
	stopBarrier
	stopNoRoom
	stopFailed
)

// perform carries out operations in order: appends that lie side by side as
// one. It tells how many are done and how many of those were barriers.
func (d *disk) perform(l *lane, ops []effect.Effect) (done, barriers int, why stop) {
	for done < len(ops) {
		switch e := ops[done].(type) {
		case effect.Append:
			joined, flush := join(&e, ops[done+1:])
			start := time.Now()
			if err := d.store.Append(e); err != nil {
				return done, barriers, d.failure(l, "Append", err)
			}
			d.tally.wrote(len(e.Batches), time.Since(start))
			d.mu.Lock()
			l.written = e.End
			if flush {
				l.wants, l.cut = true, e.Cut
			}
			d.mu.Unlock()
			d.inbox.note(effect.Appended{Log: l.id, Cut: e.Cut, End: e.End})
			done += joined // and one more, below
		case effect.Flush:
			d.mu.Lock()
			l.wants, l.cut = true, e.Cut
			d.mu.Unlock()
		default:
			d.mu.Lock()
			flushing := l.wants || l.syncing
			d.mu.Unlock()
			if flushing {
				return done, barriers, stopBarrier
			}
			if why := d.barrier(l, e); why != stopNot {
				return done, barriers, why
			}
			barriers++
		}
		done++
	}
	return done, barriers, stopNot
}

// join extends an append by those that follow it and lie right behind it in
// memory. Flushes between them are covered by one after the last. It tells how
// many operations it took, and whether a flush was among them.
func join(a *effect.Append, next []effect.Effect) (taken int, flush bool) {
	for _, e := range next {
		switch b := e.(type) {
		case effect.Flush:
			if b.Cut != a.Cut {
				return taken, flush
			}
			flush = true
		case effect.Append:
			both, ok := joined(a.Batches, b.Batches)
			if !ok || b.Cut != a.Cut || b.Base != a.End {
				return taken, flush
			}
			a.Batches, a.End = both, b.End
		default:
			return taken, flush
		}
		taken++
	}
	return taken, flush
}

// barrier carries out what is neither an append nor a flush.
func (d *disk) barrier(l *lane, e effect.Effect) stop {
	switch e := e.(type) {
	case laneRead:
		e.run(d.store)
		return stopNot
	case laneFind:
		e.run(d.store)
		return stopNot
	}
	err := d.store.Do(e)
	if _, ok := e.(effect.Checkpoint); ok && errors.Is(err, storage.ErrNoRoom) {
		return stopNot // a lost checkpoint costs time, never truth
	}
	if err != nil {
		return d.failure(l, opName(e), err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	switch e := e.(type) {
	case effect.CreateLog:
		l.gone, l.written, l.cut = false, e.Start, e.Cut
	case effect.DeleteLog:
		l.gone = true
	case effect.Truncate:
		l.written, l.cut = min(l.written, e.To), e.Cut
	case effect.Reset:
		l.written, l.cut = e.Start, e.Cut
	}
	return stopNot
}

// failure tells a full disk from a broken one, and reports the latter once.
func (d *disk) failure(l *lane, op string, err error) stop {
	if errors.Is(err, storage.ErrNoRoom) {
		d.full()
		return stopNoRoom
	}
	d.fail(effect.DiskFailed{Log: l.id, Op: op, Detail: err.Error()})
	return stopFailed
}

func (d *disk) fail(in effect.DiskFailed) {
	d.mu.Lock()
	first := !d.failed
	d.failed = true
	d.mu.Unlock()
	if first {
		d.inbox.put(in)
	}
}

// runFlush makes durable what a lane has written. d.mu is held but while it works.
func (d *disk) runFlush(l *lane) {
	if d.failed {
		l.wants = false
		d.abandon()
		return
	}
	end, cut := l.written, l.cut
	l.wants, l.syncing = false, true
	d.syncing++
	d.mu.Unlock()
	start := time.Now()
	err := d.store.Flush(l.id)
	took := time.Since(start)
	d.mu.Lock()
	d.syncing--
	l.syncing = false
	if err != nil {
		d.mu.Unlock()
		d.fail(effect.DiskFailed{Log: l.id, Op: "Flush", Detail: err.Error()})
		d.mu.Lock()
		d.abandon()
		return
	}
	if l.wants && !l.inQueue {
		l.inQueue = true
		d.syncs.push(l)
	}
	if d.syncs.len() > 0 {
		d.work.Signal()
	}
	d.enqueue(l)
	d.retire(l)
	d.mu.Unlock()
	d.tally.flushed(took)
	d.inbox.put(effect.Flushed{Log: l.id, Cut: cut, End: end})
	d.mu.Lock()
}

// abandon drops everything after a failure: the store takes nothing any more.
// d.mu is held.
func (d *disk) abandon() {
	d.ops, d.syncs = queue{}, queue{}
	d.work.Broadcast()
}

// retry lets lanes without room try again.
func (d *disk) retry() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.stuck == 0 {
		return
	}
	for _, l := range d.lanes {
		if l.stuck {
			l.stuck = false
			d.stuck--
			d.enqueue(l)
		}
	}
}

// stuckLanes is how many logs wait for room.
func (d *disk) stuckLanes() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.stuck
}

// drain waits until everything is done that can be. It says whether it was.
func (d *disk) drain() bool {
	d.kick()
	d.mu.Lock()
	defer d.mu.Unlock()
	for !d.failed && (d.active > 0 || d.ops.len() > 0 || d.syncs.len() > 0) {
		d.idle.Wait()
	}
	return !d.failed && d.stuck == 0
}

// close ends the workers; what they have not begun is not done.
func (d *disk) close() {
	d.mu.Lock()
	d.closed = true
	d.failed = true
	d.abandon()
	d.mu.Unlock()
	d.running.Wait()
}

func opName(e effect.Effect) string {
	switch e.(type) {
	case effect.CreateLog:
		return "CreateLog"
	case effect.ConfigureLog:
		return "ConfigureLog"
	case effect.DeleteLog:
		return "DeleteLog"
	case effect.Truncate:
		return "Truncate"
	case effect.Reset:
		return "Reset"
	case effect.TrimPrefix:
		return "TrimPrefix"
	case effect.Checkpoint:
		return "Checkpoint"
	}
	return "write"
}

// queue is a first-in first-out list of lanes.
type queue struct {
	list []*lane
	head int
}

func (q *queue) len() int { return len(q.list) - q.head }

func (q *queue) push(l *lane) {
	if q.head > 64 && q.head > len(q.list)/2 || q.head == len(q.list) {
		rest := copy(q.list, q.list[q.head:])
		clear(q.list[rest:])
		q.list, q.head = q.list[:rest], 0
	}
	q.list = append(q.list, l)
}

func (q *queue) pop() *lane {
	l := q.list[q.head]
	q.list[q.head] = nil
	q.head++
	return l
}
