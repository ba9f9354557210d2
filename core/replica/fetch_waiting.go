package replica

import (
	"github.com/tamarack-mq/tamarack/core/message"
)

// fetchWait is one Fetch of a consumer.
type fetchWait struct {
	token   message.Token
	request *message.Fetch
	timer   timer
	parts   []fetchPart // where it waits
}

// fetchPart is its place among those who wait at one leader.
type fetchPart struct {
	wait *fetchWait
	l    *leader
	slot int // index in l.fetches
}

// ready says whether there is something to answer. A Fetch of nothing is
// answered at once.
func (w *fetchWait) ready(m *Manager) bool {
	bytes := int64(0)
	for i := range w.request.Partitions {
		s := m.look(&w.request.Partitions[i], w.request.Isolation)
		if s.code != message.None && !s.waits || s.diverging != nil {
			return true
		}
		bytes += s.bytes
	}
	return bytes >= int64(w.request.MinBytes) || len(w.request.Partitions) == 0
}

// wait lets the Fetch wait at all its partitions.
func (w *fetchWait) wait(m *Manager, now message.Now) {
	w.timer.Due = w
	m.timers.Set(&w.timer, within(now.Mono, w.request.MaxWait))
	w.parts = make([]fetchPart, len(w.request.Partitions))
	for i := range w.parts {
		l, _ := m.leading(w.request.Partitions[i].ID) // else it would be ready
		w.parts[i] = fetchPart{wait: w, l: l, slot: len(l.fetches)}
		l.fetches = append(l.fetches, &w.parts[i])
	}
}

// answer takes the Fetch off all lists and answers it.
func (w *fetchWait) answer(m *Manager, now message.Now, out *Out) {
	m.timers.Stop(&w.timer)
	for i := range w.parts {
		p := &w.parts[i]
		list := p.l.fetches
		last := list[len(list)-1]
		list[p.slot] = last
		last.slot = p.slot
		list[len(list)-1] = nil
		p.l.fetches = list[:len(list)-1]
	}
	w.respond(m, out)
}

func (w *fetchWait) expire(m *Manager, now message.Now, out *Out) { w.answer(m, now, out) }

// wakeFetches answers the consumers for whom there is enough now.
func (l *leader) wakeFetches(m *Manager, now message.Now, out *Out) {
	for i := len(l.fetches) - 1; i >= 0; i-- {
		if i < len(l.fetches) && l.fetches[i].wait.ready(m) {
			l.fetches[i].wait.answer(m, now, out)
		}
	}
}
