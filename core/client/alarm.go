package client

import "github.com/tamarack-mq/tamarack/core/message"

// alarm is one deadline. It belongs to what waits for it and costs nothing
// while it is not set.
type alarm struct {
	ring  func()
	at    message.Time
	order uint64
	place int // index in the heap plus one; 0: not set
}

// isSet says whether the alarm will ring.
func (a *alarm) isSet() bool { return a.place != 0 }

// alarms is a binary heap by time, then by the order in which they were set.
// It is written out because an alarm must know its place to be moved.
type alarms struct {
	heap []*alarm
	sets uint64
}

// next is the time of the earliest alarm.
func (h *alarms) next() message.Time {
	if len(h.heap) == 0 {
		return message.Never
	}
	return h.heap[0].at
}

// set lets a ring at a time, in place of the one it was set to.
func (h *alarms) set(a *alarm, at message.Time) {
	if at == message.Never {
		h.stop(a)
		return
	}
	h.sets++
	a.at, a.order = at, h.sets
	if a.place == 0 {
		h.heap = append(h.heap, a)
		a.place = len(h.heap)
	}
	h.sift(a.place - 1)
}

// soonest lets a ring at a time, if it would not ring before.
func (h *alarms) soonest(a *alarm, at message.Time) {
	if a.place == 0 || at < a.at {
		h.set(a, at)
	}
}

// hurry lets a ring at once, if it is set.
func (h *alarms) hurry(a *alarm, now message.Time) {
	if a.isSet() {
		h.set(a, now)
	}
}

// stop takes an alarm out.
func (h *alarms) stop(a *alarm) {
	if a.place == 0 {
		return
	}
	i, last := a.place-1, len(h.heap)-1
	h.swap(i, last)
	h.heap[last] = nil
	h.heap = h.heap[:last]
	a.place = 0
	if i < last {
		h.sift(i)
	}
}

// ringAll rings what is due. What an alarm sets while it rings waits for the
// next call, so that this one ends.
func (h *alarms) ringAll(now message.Time) {
	until := h.sets
	for len(h.heap) > 0 {
		a := h.heap[0]
		if a.at > now || a.order > until {
			return
		}
		h.stop(a)
		a.ring()
	}
}

// stopAll takes all alarms out.
func (h *alarms) stopAll() {
	for len(h.heap) > 0 {
		h.stop(h.heap[len(h.heap)-1])
	}
}

func (h *alarms) less(i, j int) bool {
	a, b := h.heap[i], h.heap[j]
	return a.at < b.at || a.at == b.at && a.order < b.order
}

func (h *alarms) swap(i, j int) {
	h.heap[i], h.heap[j] = h.heap[j], h.heap[i]
	h.heap[i].place, h.heap[j].place = i+1, j+1
}

// sift moves the alarm at i to where it belongs.
func (h *alarms) sift(i int) {
	for i > 0 && h.less(i, (i-1)/2) {
		h.swap(i, (i-1)/2)
		i = (i - 1) / 2
	}
	for {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(h.heap); child++ {
			if h.less(child, least) {
				least = child
			}
		}
		if least == i {
			return
		}
		h.swap(i, least)
		i = least
	}
}
