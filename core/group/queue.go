package group

import (
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// queued is an append under way (ticket is not 0), or a reply that waits for
// the appends before it.
type queued struct {
	ticket  uint64
	written bool
	base    record.Offset
	then    func(message.Now, record.Offset, *Out)

	token   message.Token
	request message.Request // what reply answers
	reply   message.Reply
	listing *listing // in place of a reply: one shard's part of a ListGroups
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
		case e.ticket != 0 || e.over:
		case e.due > now:
			next = min(next, e.due)
		case e.listing != nil:
			e.over = true
			e.listing.fail(out)
		default:
			e.over = true
			out.Replies = append(out.Replies, Reply{e.token, message.Fail(e.request, message.RequestTimedOut,
				"the in-sync replicas have not taken it in time; it may still take effect")})
		}
	}
	return next
}

// queue holds appends and replies in the order in which they were decided. A
// reply leaves it once everything before it is committed.
type queue struct {
	entries []queued
	first   int // what is before it has left
	pending int // appends in the queue
	waiting int // replies in the queue and reads before it
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
