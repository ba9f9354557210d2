package replica

import (
	"slices"

	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// produceWait is one Produce whose reply waits.
type produceWait struct {
	token message.Token
	reply message.ProduceReply
	left  int // partitions without an outcome
	timer timer
}

// waiter is one batch whose acknowledgement waits until the log is committed,
// or written, up to end: of a client (wait), or of another room (ticket).
type waiter struct {
	end    record.Offset
	base   record.Offset
	wait   *produceWait
	index  int32
	ticket uint64
	marker bool // ticket is that of a WriteMarker
}

// waiters are those of one partition, by end.
type waiters struct {
	list  []waiter
	first int
}

func (q *waiters) size() int { return len(q.list) - q.first }

// push adds a waiter. Ends rise, but for those of duplicates.
func (q *waiters) push(w waiter) {
	i := len(q.list)
	for i > q.first && q.list[i-1].end > w.end {
		i--
	}
	q.list = slices.Insert(q.list, i, w)
}

// release answers all whose batch ends at or below end.
func (q *waiters) release(m *Manager, l *leader, end record.Offset, out *Out) {
	for q.first < len(q.list) && q.list[q.first].end <= end {
		w := q.list[q.first]
		q.list[q.first] = waiter{}
		q.first++
		w.settle(m, l, message.None, out)
	}
	q.compact()
}

// compact gives room back once it is worth the copy.
func (q *waiters) compact() {
	switch {
	case q.first == len(q.list):
		q.list, q.first = q.list[:0], 0
	case q.first > 64 && q.first > len(q.list)/2:
		n := copy(q.list, q.list[q.first:])
		clear(q.list[n:])
		q.list, q.first = q.list[:n], 0
	}
}

// failAll answers all with an error.
func (q *waiters) failAll(m *Manager, l *leader, code message.Code, out *Out) {
	list := q.list[q.first:]
	q.list, q.first = nil, 0
	for i := range list {
		list[i].settle(m, l, code, out)
	}
}

// failClients answers those of clients with an error.
func (q *waiters) failClients(m *Manager, l *leader, code message.Code, out *Out) {
	q.filter(func(w *waiter) bool {
		if w.wait == nil {
			return true
		}
		w.settle(m, l, code, out)
		return false
	})
}

func (q *waiters) filter(keep func(*waiter) bool) {
	kept := q.list[:0]
	for i := q.first; i < len(q.list); i++ {
		if keep(&q.list[i]) {
			kept = append(kept, q.list[i])
		}
	}
	clear(q.list[len(kept):])
	q.list, q.first = kept, 0
}

// settle gives one waiter its outcome.
func (w *waiter) settle(m *Manager, l *leader, code message.Code, out *Out) {
	if w.marker {
		out.Marked = append(out.Marked, Marked{Ticket: w.ticket, Code: code})
		return
	}
	if w.wait == nil {
		out.Local = append(out.Local, LocalResult{Ticket: w.ticket, Code: code, Base: w.base})
		return
	}
	if code != message.None {
		answer := &w.wait.reply.Partitions[w.index]
		answer.Code, answer.BaseOffset = code, -1
		if code == message.NotLeaderOrFollower {
			answer.Leader, answer.LeaderEpoch = m.hint(l.r.id)
		}
	}
	w.wait.settled(m, out)
}

// settled says that one more partition of a Produce has its outcome.
func (w *produceWait) settled(m *Manager, out *Out) {
	w.left--
	if w.left == 0 {
		m.timers.Stop(&w.timer)
		out.Reply(w.token, &w.reply)
	}
}

// releaseWritten answers acks=1 for what the operating system has.
func (l *leader) releaseWritten(m *Manager, out *Out) {
	if l.written.size() > 0 {
		l.written.release(m, l, l.r.appended, out)
	}
}

// expire answers a Produce whose time is over. What it has appended may still
// be committed.
func (w *produceWait) expire(m *Manager, _ message.Now, out *Out) {
	for i := range w.reply.Partitions {
		answer := &w.reply.Partitions[i]
		l, code := m.leading(answer.ID)
		if code != message.None {
			continue
		}
		late := func(index int32) {
			at := &w.reply.Partitions[index]
			at.Code, at.BaseOffset = message.RequestTimedOut, -1
		}
		keep := func(q *waiter) bool {
			if q.wait == w {
				late(q.index)
			}
			return q.wait != w
		}
		l.acked.filter(keep)
		l.written.filter(keep)
		l.dropUnverified(m, w, late)
	}
	out.Reply(w.token, &w.reply)
}
