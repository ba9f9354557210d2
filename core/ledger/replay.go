package ledger

import (
	"fmt"

	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// replay is what loading has seen of a log besides its state.
type replay struct {
	started  bool
	start    record.Offset // of the first record
	records  int
	begin    place // the snapshot that began last
	complete place // the last one that has its end
}

// place is a place in the log: an offset and how many records came before it.
type place struct {
	set    bool
	run    uint64
	offset record.Offset
	before int
}

// take looks at one record on its way into the book.
func (r *replay) take(at record.Offset, m mark, run uint64) {
	if !r.started {
		r.started, r.start = true, at
	}
	switch m {
	case markBegin:
		r.begin = place{set: true, run: run, offset: at, before: r.records}
	case markEnd:
		if r.begin.set && r.begin.run == run {
			r.complete = r.begin
		}
	}
	r.records++
}

// load starts a replay from the log start.
func (l *Ledger[C]) load(out *Out) {
	l.phase, l.replay, l.retryAt = Loading, replay{}, message.Never
	l.book.Reset()
	out.Loads = append(out.Loads, Load{l.index, l.epoch})
}

// replayed takes the next part of the log.
func (l *Ledger[C]) replayed(now message.Now, batches []byte, done bool, out *Out) {
	err := each(batches, l.book.Decode, func(at record.Offset, e entry[C]) {
		l.replay.take(at, e.mark, e.run)
		if e.mark == 0 {
			l.book.Apply(e.change)
		}
	})
	if err != nil {
		out.Halt = fmt.Sprintf("shard %d of %s: %v; it was written by a newer release, or the log is damaged: "+
			"start the newer release, or restore the partition", l.index, l.desk.cfg.Topic, err)
		return
	}
	if done {
		l.serve(now, out)
	}
}

// serve ends loading.
func (l *Ledger[C]) serve(now message.Now, out *Out) {
	l.phase = Serving
	l.records = l.replay.records
	if c := l.replay.complete; c.set {
		l.records -= c.before
		if c.offset > l.replay.start {
			out.Trims = append(out.Trims, Trim{Shard: l.index, Epoch: l.epoch, Before: c.offset})
		}
	}
	l.book.Begin(now, out)
	l.Flush(now, out)
}
