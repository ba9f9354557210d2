// Package deadline keeps the times at which the parts of a state machine want
// to act: a heap of entries that lie in what waits for them. Setting one
// allocates nothing, one that is not set costs nothing, and what is due comes
// in one order: by time, and at equal times in the order of setting.
package deadline

import "github.com/tamarack-mq/tamarack/core/message"

// Deadline is one time at which Due is due. The zero value is not set. It must
// not be copied while it is set.
type Deadline[T any] struct {
	Due T // who or what; set it before the first Set

	at    message.Time
	order uint64 // of setting: breaks ties
	slot  int    // index in the heap plus one; 0: not set
}

// IsSet says whether the deadline is in a heap.
func (d *Deadline[T]) IsSet() bool { return d.slot != 0 }

// Heap holds all deadlines of one state machine that are set. The zero value
// holds none.
type Heap[T any] struct {
	list []*Deadline[T]
	sets uint64
}

// Len is how many deadlines are set.
func (h *Heap[T]) Len() int { return len(h.list) }

// Next is the earliest time; message.Never when none is set.
func (h *Heap[T]) Next() message.Time {
	if len(h.list) == 0 {
		return message.Never
	}
	return h.list[0].at
}

// First is the deadline that comes first, or nil when none is set.
func (h *Heap[T]) First() *Deadline[T] {
	if len(h.list) == 0 {
		return nil
	}
	return h.list[0]
}

// Set sets d to a time, in place of the one that it was set to. Never stops it.
func (h *Heap[T]) Set(d *Deadline[T], at message.Time) {
	if at == message.Never {
		h.Stop(d)
		return
	}
	h.sets++
	d.at, d.order = at, h.sets
	if d.slot == 0 {
		h.list = append(h.list, d)
		d.slot = len(h.list)
	}
	h.settle(d.slot - 1)
}

// Sooner sets d to a time unless it is set to an earlier one.
func (h *Heap[T]) Sooner(d *Deadline[T], at message.Time) {
	if !d.IsSet() || at < d.at {
		h.Set(d, at)
	}
}

// Stop takes d out; nothing happens when it is not set.
func (h *Heap[T]) Stop(d *Deadline[T]) {
	if d.slot == 0 {
		return
	}
	i, last := d.slot-1, len(h.list)-1
	h.swap(i, last)
	h.list[last] = nil
	h.list = h.list[:last]
	d.slot = 0
	if i < last {
		h.settle(i)
	}
}

// StopAll takes all deadlines out.
func (h *Heap[T]) StopAll() {
	for len(h.list) > 0 {
		h.Stop(h.list[len(h.list)-1])
	}
}

// Pass takes out what is due at now, one after the other, and hands it to act.
// What act sets meanwhile waits for the next call, so that this one ends.
func (h *Heap[T]) Pass(now message.Time, act func(T)) {
	until := h.sets
	for len(h.list) > 0 {
		first := h.list[0]
		if first.at > now || first.order > until {
			return
		}
		h.Stop(first)
		act(first.Due)
	}
}

func (h *Heap[T]) less(i, j int) bool {
	a, b := h.list[i], h.list[j]
	return a.at < b.at || a.at == b.at && a.order < b.order
}

func (h *Heap[T]) swap(i, j int) {
	h.list[i], h.list[j] = h.list[j], h.list[i]
	h.list[i].slot, h.list[j].slot = i+1, j+1
}

// settle moves the deadline at i to where it belongs.
func (h *Heap[T]) settle(i int) {
	for i > 0 && h.less(i, (i-1)/2) {
		h.swap(i, (i-1)/2)
		i = (i - 1) / 2
	}
	for {
		child := 2*i + 1
		if child >= len(h.list) {
			return
		}
		if child+1 < len(h.list) && h.less(child+1, child) {
			child++
		}
		if !h.less(child, i) {
			return
		}
		h.swap(i, child)
		i = child
	}
}
