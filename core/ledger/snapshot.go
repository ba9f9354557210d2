package ledger

import (
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// snapshot is a rewrite of the whole live state into the log, between a begin
// and an end mark, after which everything before the begin mark can go. It is
// written in parts, one append at a time, between the records of the requests
// that go on meanwhile. That is safe since records are upserts of whole values:
// whatever is alive at the end was written by the snapshot after the begin mark,
// or by a request after it, and of both the later one holds.
type snapshot struct {
	run    uint64
	parts  []string // still to be written, in order
	begin  record.Offset
	before int // records in the log before the begin mark
}

// maybeSnapshot starts a snapshot when the log holds many more records than
// there are live keys.
func (l *Ledger[C]) maybeSnapshot(now message.Now, out *Out) {
	fresh := l.book.Live() + 2 // what a snapshot leaves: its keys and its marks
	worth := max(l.desk.cfg.SnapshotMinimum, l.desk.cfg.SnapshotFactor*fresh)
	if l.phase != Serving || l.snapshot != nil || l.records <= worth {
		return
	}
	l.snapshot = &snapshot{run: l.desk.last + 1, parts: l.book.Parts(), before: l.records}
	l.writes = append(l.writes, entry[C]{mark: markBegin, run: l.snapshot.run})
	l.append(now, out, func(now message.Now, base record.Offset, out *Out) {
		l.snapshot.begin = base // so the mark is alone: what goes with it may take several batches
		for _, c := range l.book.Head() {
			l.writes = append(l.writes, entry[C]{change: c})
		}
		l.continueSnapshot(now, out)
	})
}

// continueSnapshot writes the next parts, about one batch of them.
func (l *Ledger[C]) continueSnapshot(now message.Now, out *Out) {
	run, size := l.snapshot, 0
	var scratch []byte
	for len(run.parts) > 0 && (size == 0 || size < l.desk.cfg.MaxBatchBytes/2) {
		l.book.Part(run.parts[0], func(c C) {
			e := entry[C]{change: c}
			scratch, _ = e.appendRecord(scratch[:0])
			size += len(scratch) + recordOverhead
			l.writes = append(l.writes, e)
		})
		run.parts = run.parts[1:]
	}
	if len(run.parts) > 0 {
		l.append(now, out, func(now message.Now, _ record.Offset, out *Out) { l.continueSnapshot(now, out) })
		return
	}
	run.parts = nil
	l.writes = append(l.writes, entry[C]{mark: markEnd, run: run.run})
	l.append(now, out, func(_ message.Now, _ record.Offset, out *Out) { l.endSnapshot(out) })
}

// recordOverhead is about what a batch adds to each record.
const recordOverhead = 8

// endSnapshot lets the log before the snapshot go.
func (l *Ledger[C]) endSnapshot(out *Out) {
	l.records -= l.snapshot.before
	out.Trims = append(out.Trims, Trim{Shard: l.index, Epoch: l.epoch, Before: l.snapshot.begin})
	l.snapshot = nil
}
