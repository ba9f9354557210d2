package replica

import (
	"github.com/tamarack-mq/tamarack/core/message"
)

// advance moves the high watermark as far as it can go: to the least durable
// log end over the maximal ISR, this leader's own included; only while the ISR
// has min.insync members (KAFKA-15583); never back; and not before that end has
// reached the start of this epoch, because below it the positions prove nothing
// that the leaders before have not proven already.
func (l *leader) advance(m *Manager, now message.Now, out *Out) {
	r := l.r
	if !l.enoughInSync() || r.damage.what != "" {
		return
	}
	least := r.flushed
	for _, p := range l.peers {
		if p.counted {
			least = min(least, p.flushed)
		}
	}
	if least < l.epochStart || least <= r.highWatermark {
		return
	}
	if least > r.log.End() {
		m.halt(r, "the high watermark would pass the end of the log", out)
		return
	}
	r.highWatermark = least
	r.log.Settle(least)
	r.takeCare(m, now) // what is settled can grow old
	m.touch(r)
	l.acked.release(m, l, least, out)
	for _, p := range l.peers {
		if p.seat != nil {
			p.seat.news(m, now, false)
		}
	}
	l.wakeFetches(m, now, out)
	l.wakeReplays(m, out)
	l.agreeOnStart(m, now, out)
	l.retireBySize(m, now, out)
	r.checkpointIfDue(m, out)
}
