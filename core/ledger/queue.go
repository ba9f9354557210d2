package ledger

import (
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// Until is what an answer has to wait for.
type Until uint8

const (
	// Written: all that was decided before is committed.
	Written Until = iota
	// Confirmed: a record that was appended after this moment is committed, too.
	Confirmed
)

// Waiter is told once how it went with what was decided before it.
type Waiter interface {
	// Ready says that it is committed.
	Ready(now message.Now, out *Out)
	// Failed says that it is not known whether it takes effect: NotCoordinator,
	// the memory is dropped; RequestTimedOut, it takes too long.
	Failed(code message.Code, out *Out)
}

// Answer queues the reply to a request behind what was decided.
func (l *Ledger[C]) Answer(now message.Now, token message.Token, request message.Request, reply message.Reply, until Until, out *Out) {
	l.enqueue(now, queued{token: token, request: request, reply: reply}, until, out)
}

// Tell queues a waiter behind what was decided.
func (l *Ledger[C]) Tell(now message.Now, w Waiter, until Until, out *Out) {
	l.enqueue(now, queued{waiter: w}, until, out)
}

// After has then happen once all that was decided is committed; it does not
// happen when that fails. It has no time limit.
func (l *Ledger[C]) After(now message.Now, then func(message.Now, *Out), out *Out) {
	l.append(now, out, nil)
	l.queue.push(queued{after: then})
}

func (l *Ledger[C]) enqueue(now message.Now, entry queued, until Until, out *Out) {
	l.append(now, out, nil)
	entry.due = now.Mono.Add(l.desk.cfg.AnswerTimeout)
	l.patience = min(l.patience, entry.due)
	l.desk.stale = true
	if until == Confirmed {
		l.reads = append(l.reads, entry)
		l.queue.waiting++
		return
	}
	l.queue.push(entry)
}

// queued is an append under way (ticket is not 0), or what waits for the appends
// before it.
type queued struct {
	ticket  uint64
	written bool
	base    record.Offset
	then    func(message.Now, record.Offset, *Out)

	token   message.Token
	request message.Request // what reply answers
	reply   message.Reply
	waiter  Waiter                  // in place of a reply
	after   func(message.Now, *Out) // in place of a reply, and nobody waits for it
	due     message.Time
	over    bool // it was answered when it was due
}

// late answers what has waited for too long: a leader that is cut off may never
// hear that it leads no more, and nobody is to wait for ever. What was decided
// stays under way, so its outcome is not known. It returns when the next one is
// due.
func late(now message.Time, entries []queued, out *Out) message.Time {
	next := message.Never
	for i := range entries {
		switch e := &entries[i]; {
		case e.ticket != 0 || e.over || e.after != nil:
		case e.due > now:
			next = min(next, e.due)
		default:
			e.over = true
			e.fail(message.RequestTimedOut, "the in-sync replicas have not taken it in time; it may still take effect", out)
		}
	}
	return next
}

// fail tells that the outcome is not known.
func (e *queued) fail(code message.Code, detail string, out *Out) {
	if e.waiter != nil {
		e.waiter.Failed(code, out)
		return
	}
	out.Replies = append(out.Replies, Reply{e.token, message.Fail(e.request, code, detail)})
}

// drain answers everybody who waits for nothing any more.
func (l *Ledger[C]) drain(now message.Now, out *Out) {
	for {
		entry, ok := l.queue.pop()
		if !ok {
			if l.queue.waiting == 0 {
				l.patience = message.Never
			}
			return
		}
		switch {
		case entry.over:
		case entry.ticket != 0:
			if entry.then != nil {
				entry.then(now, entry.base, out)
			}
		case entry.after != nil:
			entry.after(now, out)
		case entry.waiter != nil:
			entry.waiter.Ready(now, out)
		default:
			out.Replies = append(out.Replies, Reply{entry.token, entry.reply})
		}
	}
}

// queue holds appends and replies in the order in which they were decided. A
// reply leaves it once everything before it is committed.
type queue struct {
	entries []queued
	first   int // what is before it has left
	pending int // appends in the queue
	waiting int // all else in the queue, and reads that are not in it yet
}

func (q *queue) push(entry queued) {
	if q.first == len(q.entries) {
		q.entries, q.first = q.entries[:0], 0
	}
	if q.first > 64 && q.first > len(q.entries)/2 {
		kept := copy(q.entries, q.entries[q.first:])
		clear(q.entries[kept:])
		q.entries, q.first = q.entries[:kept], 0
	}
	if entry.ticket != 0 {
		q.pending++
	} else {
		q.waiting++
	}
	q.entries = append(q.entries, entry)
}

// done marks an append as committed.
func (q *queue) done(ticket uint64, base record.Offset) {
	for i := q.first; i < len(q.entries); i++ {
		if q.entries[i].ticket == ticket {
			q.entries[i].written, q.entries[i].base = true, base
			return
		}
	}
}

// pop takes the first entry out, unless it is an append that is still under way.
func (q *queue) pop() (queued, bool) {
	if q.first == len(q.entries) || q.entries[q.first].ticket != 0 && !q.entries[q.first].written {
		return queued{}, false
	}
	entry := q.entries[q.first]
	q.entries[q.first] = queued{}
	q.first++
	if entry.ticket != 0 {
		q.pending--
	} else {
		q.waiting--
	}
	return entry, true
}
