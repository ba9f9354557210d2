package group

import "github.com/tamarack-mq/tamarack/core/message"

// timer is a deadline of a member, or of a group when member is nil. It may
// stand earlier in the heap than what it stands for is due: a heartbeat moves
// the deadline and leaves the heap alone; when the timer comes up it is put
// back. So there is one entry for each member, and refreshing it is free.
type timer struct {
	at     message.Time
	place  int // index in the heap plus one; 0: not in it
	group  *group
	member *member
}

// timers is a binary heap by time.
type timers struct{ heap []*timer }

// next is when the first timer comes up.
func (h *timers) next() message.Time {
	if len(h.heap) == 0 {
		return message.Never
	}
	return h.heap[0].at
}

// set puts t into the heap, or moves it.
func (h *timers) set(t *timer, at message.Time) {
	if t.place == 0 {
		h.heap = append(h.heap, t)
		t.place = len(h.heap)
	}
	t.at = at
	h.down(h.up(t.place - 1))
}

// soonerBy makes sure that t comes up at or before at.
func (h *timers) soonerBy(t *timer, at message.Time) {
	if t.place == 0 || at < t.at {
		h.set(t, at)
	}
}

// remove takes t out; nothing happens when it is not in.
func (h *timers) remove(t *timer) {
	if t.place == 0 {
		return
	}
	i, last := t.place-1, len(h.heap)-1
	h.swap(i, last)
	h.heap[last] = nil
	h.heap = h.heap[:last]
	t.place = 0
	if i < last {
		h.down(h.up(i))
	}
}

func (h *timers) swap(i, j int) {
	h.heap[i], h.heap[j] = h.heap[j], h.heap[i]
	h.heap[i].place, h.heap[j].place = i+1, j+1
}

func (h *timers) up(i int) int {
	for i > 0 {
		parent := (i - 1) / 2
		if h.heap[parent].at <= h.heap[i].at {
			break
		}
		h.swap(i, parent)
		i = parent
	}
	return i
}

func (h *timers) down(i int) {
	for {
		child := 2*i + 1
		if child >= len(h.heap) {
			return
		}
		if child+1 < len(h.heap) && h.heap[child+1].at < h.heap[child].at {
			child++
		}
		if h.heap[i].at <= h.heap[child].at {
			return
		}
		h.swap(i, child)
		i = child
	}
}
