package ledger

import (
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// append sends what was decided on its way, in batches of bounded size. then
// happens once the last of them is committed. A decision that needs more than
// one batch may be cut between two of them by a crash: rooms write in an order
// that keeps every such cut safe, and mend it in Begin.
func (l *Ledger[C]) append(now message.Now, out *Out, then func(message.Now, record.Offset, *Out)) {
	if len(l.writes) == 0 {
		return
	}
	l.records += len(l.writes)
	batches := encode(l.writes, now.Wall, l.desk.cfg.MaxBatchBytes)
	clear(l.writes)
	l.writes = l.writes[:0]
	for i, batch := range batches {
		ticket := l.desk.ticket(l)
		out.Appends = append(out.Appends, Append{Shard: l.index, Epoch: l.epoch, Ticket: ticket, Batch: batch})
		added := queued{ticket: ticket}
		if i == len(batches)-1 {
			added.then = then
		}
		l.queue.push(added)
	}
	for _, read := range l.reads {
		l.queue.push(read)
	}
	l.queue.waiting -= len(l.reads)
	clear(l.reads)
	l.reads = l.reads[:0]
}

// confirmReads appends a barrier for the reads that wait for one, unless an
// append is under way: what comes after it will do.
func (l *Ledger[C]) confirmReads(now message.Now, out *Out) {
	if len(l.reads) > 0 && l.queue.pending == 0 {
		l.writes = append(l.writes, entry[C]{mark: markBarrier})
		l.append(now, out, nil)
	}
}

// wrote completes one append.
func (l *Ledger[C]) wrote(now message.Now, ticket uint64, code message.Code, base record.Offset, out *Out) {
	switch {
	case ticket == l.barrier && code == message.None:
		l.barrier = 0
		l.load(out)
	case ticket == l.barrier:
		l.barrier = 0
		l.retryAt = now.Mono.Add(l.desk.cfg.RetryBackoff << min(l.retries, 5))
		l.retries++
	case code != message.None:
		l.retries = 0
		l.fail("an append failed ("+code.String()+"); the coordinator loads its log anew", out)
		l.phase = Settling
		l.appendBarrier(now, out)
	default:
		l.queue.done(ticket, base)
		l.drain(now, out)
		l.maybeSnapshot(now, out)
		l.finish(now, out)
	}
}

// appendBarrier writes a record that means nothing: once it is committed, so is
// everything that was appended before it, known to this node or not.
func (l *Ledger[C]) appendBarrier(now message.Now, out *Out) {
	l.retryAt = message.Never
	l.barrier = l.desk.ticket(l)
	barrier := entry[C]{mark: markBarrier, run: l.barrier}
	for _, batch := range encode([]entry[C]{barrier}, now.Wall, l.desk.cfg.MaxBatchBytes) {
		out.Appends = append(out.Appends, Append{Shard: l.index, Epoch: l.epoch, Ticket: l.barrier, Batch: batch})
	}
}

// fail drops the memory and all that waits for it. Whether what was pending
// takes effect is not known: NotCoordinator tells that.
func (l *Ledger[C]) fail(detail string, out *Out) {
	for _, e := range append(l.queue.entries[l.queue.first:], l.reads...) {
		switch {
		case e.over || e.after != nil:
		case e.ticket != 0:
			delete(l.desk.tickets, e.ticket)
		default:
			e.fail(message.NotCoordinator, detail, out)
		}
	}
	delete(l.desk.tickets, l.barrier)
	l.barrier = 0
	l.queue, l.reads, l.writes, l.snapshot, l.records = queue{}, nil, nil, nil, 0
	l.book.Reset()
	l.patience = message.Never
}
