package client

import (
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// refresher asks for metadata: one request at a time, with a pause after each,
// to any of the known brokers, and to the bootstrap addresses when none of
// them can be reached (KIP-899).
type refresher struct {
	wanted   bool
	asking   bool
	failures int
	again    alarm // the pause is over
	age      alarm // the picture is old
	last     message.Time
	streak   int // refreshes with hardly a pause in between
	turn     int // behind the address that was asked last; see anyNode
}

func (r *refresher) init(m *cluster) {
	r.again.Due = func() {}
	r.age.Due = func() { m.want() }
}

// want says that something is not known, or that what is known was wrong.
func (m *cluster) want() { m.refresh.wanted = true }

// settle sends a request when one is wanted and the pause is over.
func (m *cluster) settle() {
	r := &m.refresh
	if !r.wanted || r.asking || r.again.IsSet() || m.c.closed {
		return
	}
	to, ok := m.anyNode()
	if !ok {
		m.pause(false)
		return
	}
	r.wanted, r.asking = false, true
	m.c.send(to, m.request(), m.c.cfg.RequestTimeout, m.refreshed)
}

// request names the topics in use.
func (m *cluster) request() *message.Metadata {
	q := &message.Metadata{Topics: make([]string, 0, len(m.used)), IDs: append([]record.TopicID{}, m.strangers...)}
	for _, t := range m.used {
		q.Topics = append(q.Topics, t.name)
	}
	return q
}

func (m *cluster) refreshed(reply message.Reply, how ending) {
	r := &m.refresh
	r.asking = false
	info, _, ok := read[*message.MetadataReply](reply, how)
	if ok = ok && m.apply(info); !ok {
		r.wanted = true
	}
	m.pause(ok)
	if ok {
		m.c.alarms.Set(&r.age, m.c.now.Mono.Add(m.c.cfg.MetadataMaxAge))
		m.c.producer.refreshed()
		m.c.consumer.refreshed()
		m.c.retryAsks()
	}
}

// pause keeps the next request away for a while, longer when many follow one
// another.
func (m *cluster) pause(ok bool) {
	r, now := &m.refresh, m.c.now.Mono
	if ok {
		r.failures = 0
	} else {
		r.failures++
	}
	if now.Sub(r.last) > 4*m.c.cfg.RetryBackoffMax {
		r.streak = 0
	}
	r.streak++
	r.last = now
	m.c.alarms.Set(&r.again, now.Add(m.c.backoff(max(r.failures, r.streak))))
}

// anyNode is a broker that can be asked anything: one of those that are not
// known to be unreachable; else a bootstrap address, or a broker that may have
// come back. Chance chooses, each time anew: a broker that answers but is cut
// off from the controller would tell the same old picture for ever. After an address
// that has not answered comes the next one: chance might choose the same for long.
func (m *cluster) anyNode() (target, bool) {
	now := m.c.now.Mono
	if n := len(m.brokers); n > 0 {
		at := int(m.c.choice.Below(int64(n)))
		for i := range n {
			b := m.brokers[(at+i)%n]
			if !b.fenced && b.failures == 0 && b.usable(now) {
				return b.target(), true
			}
		}
	}
	seeds := m.c.cfg.Bootstrap
	all := len(seeds) + len(m.brokers)
	if all == 0 {
		return target{}, false
	}
	at := int(m.c.choice.Below(int64(all)))
	if r := &m.refresh; r.failures > 0 && r.turn > 0 {
		at = r.turn % all
	}
	for i := range all {
		turn := (at + i) % all
		m.refresh.turn = turn + 1
		if turn < len(seeds) {
			return target{address: seeds[turn]}, true
		}
		if b := m.brokers[turn-len(seeds)]; b.usable(now) {
			return b.target(), true
		}
	}
	return target{}, false
}
