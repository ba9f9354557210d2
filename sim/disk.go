package sim

import (
	"cmp"
	"errors"
	"slices"

	"github.com/tamarack-mq/tamarack/core/chance"
	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/record"
	"github.com/tamarack-mq/tamarack/storage"
	"github.com/tamarack-mq/tamarack/storage/vfs/simdisk"
)

// drive is a node's disk and the driver in front of it. It works in lanes that
// run side by side, as the real driver does: one for the changes of logs, one
// for their flushes, one for the quorum journal, and one for each read. A lane
// does its file operations when its time is over, all at once; a crash that
// comes inside one of them is armed in the simulated disk. On some nodes an append may
// come while a flush of its log syncs a file, as it does where lanes are threads.
//
// Flushes are collected while one runs (group commit): a flush claims only what
// was appended when it began, although the disk may have made more durable.
type drive struct {
	node  *Node
	disk  *simdisk.Disk
	store *storage.Store
	time  *chance.Stream // latencies
	chaos *chance.Stream // what crashes and damage do
	rare  *chance.Stream // and what the kinds do that came last
	mixed *chance.Stream // what comes in the middle of a flush; nil: nothing does

	logs map[record.PartitionID]*openLog

	queue    []effect.Effect // changes of logs that have not begun
	writing  []effect.Effect // those under way
	want     []flushed       // flushes asked for, of what is appended
	flushing []flushed       // those under way
	journal  []effect.Effect
	saving   int // how many of journal are under way

	writeBusy, flushBusy bool
	noRoom               bool
	reads                []effect.Input // results by slot, on their way to the core; nil: free
	freeReads            []uint64

	stalled       bool
	slow          int64 // times slower
	slowRead      Span  // each read takes up to this longer
	armed         bool  // a crash inside an operation is armed
	armedAs       death
	fullOnPurpose bool        // a fault has taken the room away
	failRecovery  int64       // the operation of the next start that fails: see FailRecovery; 0: none
	failures      int64       // of the disk that were spoken of
	exact         *ExactCrash // the power goes now, as the plan says
	done          []effect.Input
}

// openLog is what the driver knows about a log: who holds a pointer to it can
// tell whether the log was deleted and made again meanwhile.
type openLog struct {
	cut      effect.Cut
	appended record.Offset
	pending  int   // changes other than appends that wait: reads must come behind them
	segment  int64 // bytes of a segment, by the settings of the log
}

// flushed is one flush: what it claims when it is done.
type flushed struct {
	log *openLog
	in  effect.Flushed
}

func (d *drive) init(n *Node) {
	d.node = n
	d.disk = simdisk.New()
	d.time = n.random.Split("disk/latency")
	d.chaos = n.random.Split("disk/chaos")
	d.rare = n.random.Split("disk/rare")
	d.slow = 1
	if mixed := n.random.Split("disk/mixed"); mixed.OneIn(mixedOneIn) {
		d.mixed = mixed
	}
}

// mixedOneIn is one in how many nodes appends while it flushes.
const mixedOneIn = 8

func (d *drive) options() storage.Options {
	o := storage.Options{ClusterID: clusterID, NodeID: d.node.node(), CacheBytes: 256 << 10, MarksEvery: 16, JournalReserve: 16 << 10}
	if c := d.node.world.plan.Disk.Cache; c != 0 {
		o.CacheBytes = int64(c)
	}
	o.SegmentBytes, o.OpenFiles = int32(d.node.world.plan.Disk.Segment), d.node.world.plan.Disk.OpenFiles
	if s := d.node.settings; s != nil {
		o.CacheBytes, o.MarksEvery = cmp.Or(int64(s.Cache), o.CacheBytes), cmp.Or(s.Marks, o.MarksEvery)
	}
	return o
}

// open recovers the disk. When an armed crash comes in the middle of that, the
// node stays down and tries again a little later.
func (d *drive) open() (effect.Recovered, bool) {
	w := d.node.world
	if d.failRecovery > 0 {
		w.atlas.ails[d.node.id].failing = true
		d.disk.FailOp(simdisk.Op(d.failRecovery/100), max(1, d.failRecovery%100), d.rare)
		d.failRecovery = 0
	}
	w.atlas.beforeStart(d.node)
	store, found, err := storage.Open(d.disk, d.options(), d.node.random.Split("disk").Uint64()+uint64(d.node.run))
	if d.disk.Crashed() {
		w.mark(markCrashedInRecovery)
		d.powerCut(d.armedAs.lossy)
		d.node.startIn(100 * Millisecond)
		return found, false
	}
	d.heard("a start", false, err)
	if err != nil {
		// An empty disk without room for the least bytes of a data folder is refused.
		if !(errors.Is(err, storage.ErrNoRoom) && d.fullOnPurpose) && !w.atlas.excuses(d.node, err) {
			w.fail("INV-11", d.node.id, "a data folder cannot be opened", "node %d cannot recover its disk: %v", d.node.id, err)
		}
		d.disk.Kill()
		d.node.startIn(10 * Second)
		return found, false
	}
	d.store = store
	d.disarm()
	d.disk.FailOp(0, 0, nil)
	w.atlas.opened(d.node.id)
	d.recovered(&found)
	d.logs = make(map[record.PartitionID]*openLog, len(found.Logs))
	for i := range found.Logs {
		l := &found.Logs[i]
		d.logs[l.ID] = &openLog{appended: l.End, segment: d.segmentBytes(l.Config)}
	}
	return found, true
}

// take queues an effect that the disk is to carry out.
func (d *drive) take(e effect.Effect) {
	switch e := e.(type) {
	case effect.Read:
		if d.readable(&e) {
			d.startRead(e)
			return
		}
		d.queue = append(d.queue, e)
	case effect.FindTime:
		if l := d.logs[e.Log]; l != nil && l.pending == 0 && e.To <= l.appended {
			d.startRead(e)
			return
		}
		d.queue = append(d.queue, e)
	case effect.SaveQuorum, effect.ReplaceQuorum:
		d.journal = append(d.journal, e)
	case effect.Append, effect.Flush:
		d.queue = append(d.queue, e)
	default:
		if l := d.logs[logOf(e)]; l != nil {
			l.pending++
		}
		d.queue = append(d.queue, e)
	}
}

// readable says whether all that a read asks for has been carried out. Else it
// waits in the lane of the changes: effects on one log keep their order.
func (d *drive) readable(e *effect.Read) bool {
	for i := range e.Slices {
		s := &e.Slices[i]
		if l := d.logs[s.Log]; l == nil || l.pending > 0 || s.To > l.appended {
			return false
		}
	}
	return true
}

// startRead reads at once, so that no later change comes between, and hands the
// result over after a while.
func (d *drive) startRead(e effect.Effect) {
	var in effect.Input
	after := Span(d.node.world.plan.Disk.Read)
	switch e := e.(type) {
	case effect.Read:
		results := make([]effect.ReadResult, len(e.Slices))
		for i, s := range e.Slices {
			results[i].Batches, results[i].Err = d.store.Read(s)
			d.heard("a read", true, results[i].Err)
			if results[i].Err != nil {
				d.node.world.mark(markDamagedReadRefused)
			}
		}
		in = effect.ReadDone{Token: e.Token, Results: results}
	case effect.FindTime:
		after *= 2
		t := effect.TimeFound{Token: e.Token}
		t.Found, t.Offset, t.Timestamp, t.Err = d.store.FindTime(e)
		d.heard("a search", true, t.Err)
		in = t
	}
	var slot uint64
	if k := len(d.freeReads); k > 0 {
		slot = d.freeReads[k-1]
		d.freeReads = d.freeReads[:k-1]
		d.reads[slot] = in
	} else {
		slot = uint64(len(d.reads))
		d.reads = append(d.reads, in)
	}
	t := d.delay(after)
	if p := &d.node.world.plan.Disk; p.ReadTail > 0 && d.time.Below(1000) < int64(p.ReadTail) {
		t += d.delay(p.TailScale)
	}
	if d.slowRead > 0 {
		t += Span(d.time.Below(int64(d.slowRead)))
	}
	d.schedule(evRead, slot, t)
}

func (d *drive) schedule(kind eventKind, arg uint64, after Span) {
	n := d.node
	n.world.in(after, event{kind: kind, place: n.id, run: n.run, arg: arg})
}

// delay draws how long one operation takes whose median is base.
func (d *drive) delay(base Span) Span {
	if base <= 0 {
		base = Microsecond
	}
	if d.node.world.plan.Disk.Steady {
		return base * Span(d.slow)
	}
	return (base/2 + Span(d.time.Below(int64(base)+1))) * Span(d.slow)
}

// flushDelay draws how long one flush takes.
func (d *drive) flushDelay() Span {
	p := &d.node.world.plan.Disk
	t := d.delay(p.Flush)
	var tail Span
	if p.FlushTail > 0 && d.time.Below(1000) < int64(p.FlushTail) {
		tail = d.delay(p.TailScale)
	}
	if s := d.node.world.decider; s != nil {
		tail = s.flush(d.node, tail)
	}
	return t + tail
}

// begin starts what can start.
func (d *drive) begin() {
	if d.stalled {
		return
	}
	if !d.writeBusy && len(d.queue) > 0 && !d.noRoom {
		d.writing, d.queue = d.queue, d.writing[:0]
		d.writeBusy = true
		var t Span
		for _, e := range d.writing {
			switch e.(type) {
			case effect.Append:
				t += d.delay(d.node.world.plan.Disk.Append)
			case effect.Flush, effect.Read, effect.FindTime:
			default: // these are durable when they return
				t += d.flushDelay()
			}
		}
		d.schedule(evWritten, 0, t)
	}
	if !d.flushBusy && len(d.want) > 0 {
		d.flushing, d.want = d.want, d.flushing[:0]
		d.flushBusy = true
		d.schedule(evFlushed, 0, d.flushDelay())
	}
	if d.saving == 0 && len(d.journal) > 0 {
		d.saving = 1
		if _, single := d.journal[0].(effect.ReplaceQuorum); !single {
			for d.saving < len(d.journal) {
				if _, ok := d.journal[d.saving].(effect.SaveQuorum); !ok {
					break
				}
				d.saving++
			}
		}
		d.schedule(evJournal, 0, d.flushDelay())
	}
}

// postpone puts a lane's completion off while the disk is stalled.
func (d *drive) postpone(kind eventKind, arg uint64) bool {
	if d.stalled {
		d.schedule(kind, arg, 100*Millisecond)
	}
	return d.stalled
}

// written does the changes of logs whose time is over.
func (d *drive) written() {
	if d.postpone(evWritten, 0) {
		return
	}
	d.done = d.done[:0]
	batch := d.writing
	for i, e := range batch {
		if err := d.change(e); err != nil {
			if errors.Is(err, storage.ErrNoRoom) {
				d.runFull(batch[i:])
				break
			}
			n := d.node
			n.world.book.node(n.id).torn = e
			d.failed(logOf(e), false, "a change of a log", err)
			return
		}
	}
	clear(batch)
	d.writing = batch[:0]
	d.writeBusy = false
	d.report()
}

// change carries out one change of a log.
func (d *drive) change(e effect.Effect) error {
	w, n := d.node.world, d.node
	switch e := e.(type) {
	case effect.Append:
		before := d.store.Shape(e.Log)
		err := d.store.Append(e)
		d.heard("an append", false, err)
		if err != nil {
			return err
		}
		l := d.logs[e.Log]
		d.rolled(e, l, before)
		l.cut, l.appended = e.Cut, e.End
		w.book.wrote(n, e)
		d.done = append(d.done, effect.Appended{Log: e.Log, Cut: e.Cut, End: e.End})
		return nil
	case effect.Flush:
		if l := d.logs[e.Log]; l != nil {
			d.wantFlush(l, effect.Flushed{Log: e.Log, Cut: e.Cut, End: l.appended})
		}
		return nil
	case effect.Read, effect.FindTime:
		d.startRead(e)
		return nil
	}
	err := d.store.Do(e)
	d.heard("a change of a log", false, err)
	if err != nil {
		return err
	}
	if l := d.logs[logOf(e)]; l != nil {
		l.pending = max(0, l.pending-1)
	}
	w.book.changed(n, e)
	switch e := e.(type) {
	case effect.CreateLog:
		d.logs[e.Log] = &openLog{appended: e.Start, segment: d.segmentBytes(e.Config)}
	case effect.ConfigureLog:
		d.logs[e.Log].segment = d.segmentBytes(e.Config)
	case effect.DeleteLog:
		delete(d.logs, e.Log)
	case effect.Truncate:
		d.logs[e.Log].cut, d.logs[e.Log].appended = e.Cut, e.To
	case effect.Reset:
		d.logs[e.Log].cut, d.logs[e.Log].appended = e.Cut, e.Start
	}
	return nil
}

// wantFlush asks for a flush; one of the same log that has not begun is widened.
func (d *drive) wantFlush(l *openLog, f effect.Flushed) {
	for i := range d.want {
		if d.want[i].log == l && d.want[i].in.Cut == f.Cut {
			d.want[i].in.End = f.End
			return
		}
	}
	d.want = append(d.want, flushed{l, f})
}

// flushed makes durable what a flush covers.
func (d *drive) flushed() {
	if d.postpone(evFlushed, 0) {
		return
	}
	w, n := d.node.world, d.node
	d.done = d.done[:0]
	for _, f := range d.flushing {
		if d.logs[f.in.Log] != f.log {
			continue
		}
		to := f.log.appended
		late := d.appendMeanwhile(f)
		err := d.store.Flush(f.in.Log)
		d.disk.Meanwhile(nil)
		d.heard("a flush", false, err)
		if late.err != nil {
			n.world.book.node(n.id).torn = late.what
			d.failed(f.in.Log, false, "a change of a log", late.err)
			return
		}
		if err != nil {
			if errors.Is(err, storage.ErrNoRoom) {
				d.want = append(d.want, f)
				continue
			}
			d.failed(f.in.Log, false, "a flush", err)
			return
		}
		w.book.flushed(n, f.in.Log, to)
		d.done = append(d.done, f.in)
	}
	d.flushing = d.flushing[:0]
	d.flushBusy = false
	d.report()
}

// lateAppend is an append that came in the middle of a flush and failed.
type lateAppend struct {
	what effect.Effect
	err  error
}

// appendMeanwhile has the next append to a log, if that is the next change of it and is
// under way, carried out in the middle of a flush of the same log: the flush does not
// cover it. One that finds no room is left to its own time.
func (d *drive) appendMeanwhile(f flushed) *lateAppend {
	failed := &lateAppend{}
	if d.mixed == nil || d.noRoom || !d.mixed.OneIn(2) {
		return failed
	}
	at := slices.IndexFunc(d.writing, func(e effect.Effect) bool {
		_, flush := e.(effect.Flush) // it only asks for one
		return !flush && logOf(e) == f.in.Log
	})
	if at < 0 {
		return failed
	}
	a, ok := d.writing[at].(effect.Append)
	if !ok || d.store.Waits(a) {
		return failed
	}
	d.disk.Meanwhile(func() {
		err := d.change(a)
		switch {
		case errors.Is(err, storage.ErrNoRoom):
			return
		case err != nil:
			failed.what, failed.err = a, err
			return
		}
		d.node.world.mark(markAppendedWhileFlushing)
		d.writing = slices.Delete(d.writing, at, at+1)
	})
	return failed
}

// journalled makes frames of the quorum journal durable.
func (d *drive) journalled() {
	if d.postpone(evJournal, 0) {
		return
	}
	n := d.node
	batch := d.journal[:d.saving]
	var seq uint64
	var err error
	if r, ok := batch[0].(effect.ReplaceQuorum); ok {
		seq, err = r.Seq, d.store.ReplaceQuorum(r.Frames)
	} else {
		frames := make([][]byte, len(batch))
		for i := range batch {
			s := batch[i].(effect.SaveQuorum)
			frames[i], seq = s.Frame, s.Seq
		}
		err = d.store.SaveQuorum(frames...)
	}
	d.heard("a save of the quorum journal", false, err)
	if errors.Is(err, storage.ErrNoRoom) {
		d.schedule(evJournal, 0, 500*Millisecond)
		return
	}
	if err != nil {
		n.world.book.node(n.id).torn = batch[0]
		d.failed(record.PartitionID{}, true, "a save of the quorum journal", err)
		return
	}
	n.world.book.journalled(n, batch)
	if _, ok := batch[0].(effect.ReplaceQuorum); ok {
		n.world.mark(markQuorumSnapshot)
	}
	clear(batch)
	d.journal = append(d.journal[:0], d.journal[d.saving:]...)
	d.saving = 0
	d.done = append(d.done[:0], effect.QuorumSaved{Seq: seq})
	d.report()
}

// read hands the result of a read over.
func (d *drive) read(slot uint64) {
	if d.postpone(evRead, slot) {
		return
	}
	d.done = append(d.done[:0], d.reads[slot])
	d.reads[slot] = nil
	d.freeReads = append(d.freeReads, slot)
	d.report()
}

// report hands completions to the core.
func (d *drive) report() {
	if d.crashedNow() {
		return
	}
	n := d.node
	run := n.run
	done := d.done
	d.done = nil // a step may come back here
	for _, in := range done {
		n.step(in)
		if n.run != run || !n.up {
			return
		}
	}
	clear(done)
	d.done = done[:0]
	d.begin()
}

// crashedNow lets the node die when a crash that was armed has come inside an
// operation.
func (d *drive) crashedNow() bool {
	if !d.disk.Crashed() {
		return false
	}
	d.node.world.mark(markCrashedInWrite)
	d.armed = false
	d.node.fall(d.armedAs)
	return true
}

// failed tells the core that the disk has failed.
func (d *drive) failed(log record.PartitionID, journal bool, op string, err error) {
	if d.crashedNow() {
		return
	}
	n := d.node
	if !n.world.atlas.excuses(n, err) {
		n.world.fail("INV-11", n.id, "storage fails on a disk that is well", "on node %d %s fails although no fault was planted: %v", n.id, op, err)
		return
	}
	n.diskFailed = true
	n.world.mark(markDiskFailed)
	if n.world.atlas.ails[n.id].writes {
		n.world.atlas.ails[n.id].writes = false
		n.world.mark(markWriteFailed)
	}
	run := n.run
	n.step(effect.DiskFailed{Log: log, Journal: journal, Op: op, Detail: err.Error()})
	if n.world.failure == nil && n.up && n.run == run {
		n.world.fail("INV-37", n.id, "a node goes on after its disk failed", "node %d was told that %s failed and does not halt", n.id, op)
	}
}

// logOf is the log that an effect is about.
func logOf(e effect.Effect) record.PartitionID {
	switch e := e.(type) {
	case effect.Append:
		return e.Log
	case effect.Flush:
		return e.Log
	case effect.CreateLog:
		return e.Log
	case effect.ConfigureLog:
		return e.Log
	case effect.DeleteLog:
		return e.Log
	case effect.Truncate:
		return e.Log
	case effect.Reset:
		return e.Log
	case effect.TrimPrefix:
		return e.Log
	case effect.Checkpoint:
		return e.Log
	}
	return record.PartitionID{}
}
