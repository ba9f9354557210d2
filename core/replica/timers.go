package replica

import "github.com/tamarack-mq/tamarack/core/message"

// expirer is what a timer wakes.
type expirer interface {
	expire(m *Manager, now message.Now, out *Out)
}

// timer is a deadline of its owner. It lies in the owner, so that arming it
// allocates nothing.
type timer struct {
	at    message.Time
	order uint64 // of arming: breaks ties
	slot  int    // index in the heap plus one; 0: not armed
	owner expirer
}

func (t *timer) armed() bool { return t.slot != 0 }

// timers are all deadlines of a Manager: a binary heap by time, then by the
// order of arming.
type timers struct {
	heap  []*timer
	armed uint64
}

// next is the earliest deadline.
func (h *timers) next() message.Time {
	if len(h.heap) == 0 {
		return message.Never
	}
	return h.heap[0].at
}

// set arms t, or moves it.
func (h *timers) set(t *timer, at message.Time) {
	h.armed++
	t.at, t.order = at, h.armed
	if t.slot == 0 {
		h.heap = append(h.heap, t)
		t.slot = len(h.heap)
	}
	h.down(t.slot - 1)
	h.up(t.slot - 1)
}

// sooner arms t unless it is armed for an earlier time.
func (h *timers) sooner(t *timer, at message.Time) {
	if !t.armed() || at < t.at {
		h.set(t, at)
	}
}

// stop disarms t.
func (h *timers) stop(t *timer) {
	if t.slot == 0 {
		return
	}
	i, last := t.slot-1, len(h.heap)-1
	h.swap(i, last)
	h.heap[last] = nil
	h.heap = h.heap[:last]
	t.slot = 0
	if i < last {
		h.down(i)
		h.up(i)
	}
}

func (h *timers) less(i, j int) bool {
	a, b := h.heap[i], h.heap[j]
	return a.at < b.at || a.at == b.at && a.order < b.order
}

func (h *timers) swap(i, j int) {
	h.heap[i], h.heap[j] = h.heap[j], h.heap[i]
	h.heap[i].slot, h.heap[j].slot = i+1, j+1
}

func (h *timers) up(i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if !h.less(i, parent) {
			return
		}
		h.swap(i, parent)
		i = parent
	}
}

func (h *timers) down(i int) {
	for {
		child := 2*i + 1
		if child >= len(h.heap) {
			return
		}
		if child+1 < len(h.heap) && h.less(child+1, child) {
			child++
		}
		if !h.less(child, i) {
			return
		}
		h.swap(i, child)
		i = child
	}
}

// longest bounds how far ahead a deadline may lie that somebody else asked
// for, so that no arithmetic on times can overflow.
const longest = 24 * message.Hour

// within is the time d after now, with d held to what is reasonable.
func within(now message.Time, d message.Duration) message.Time {
	return now.Add(min(max(d, 0), longest))
}
