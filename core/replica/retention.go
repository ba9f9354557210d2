package replica

import (
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// The shortest and longest pause between two looks at a log that has something
// to forget, and the pause when what is due cannot go yet. The longest one also
// bounds what a jump of the wall clock can delay.
const (
	careMin   = message.Second
	careAgain = 30 * message.Second
	careMax   = message.Hour
)

// careTimer is a replica as the owner of the timer by which records grow old.
type careTimer replica

func (c *careTimer) expire(m *Manager, now message.Now, out *Out) {
	r := (*replica)(c)
	if r.lead != nil {
		r.lead.retire(m, now, out)
		r.takeCareAfter(m, now, careAgain)
	}
}

// takeCare arms the timer by which records are retired, if the replica leads and
// the log holds any that time will ever retire. One that is armed already comes
// soon enough: records grow old in their order.
func (r *replica) takeCare(m *Manager, now message.Now) {
	if !r.care.IsSet() {
		r.takeCareAfter(m, now, careMin)
	}
}

// takeCareAfter is takeCare with a pause of at least least, whatever the timer was
// armed for. With nothing to grow old it is not armed: it may stand for limits that
// do not hold any more, and would keep the next record from arming it.
func (r *replica) takeCareAfter(m *Manager, now message.Now, least message.Duration) {
	if r.lead == nil {
		return
	}
	if at, ok := r.log.RetireAt(r.retention); ok {
		m.timers.Set(&r.care, now.Mono.Add(max(untilWall(now.Wall, at), least)))
	} else {
		m.timers.Stop(&r.care)
	}
}

// idleTimer is a replica as the owner of the timer by which idle producers are
// forgotten.
type idleTimer replica

func (c *idleTimer) expire(m *Manager, now message.Now, _ *Out) {
	r := (*replica)(c)
	r.log.ExpireProducers(now.Mono, m.cfg.ProducerIdle)
	m.touch(r)
	r.watchProducers(m, now)
}

// watchProducers arms the timer by which idle producers are forgotten, if the log
// knows any.
func (r *replica) watchProducers(m *Manager, now message.Now) {
	if !r.idle.IsSet() && r.log.Producers() > 0 {
		m.timers.Set(&r.idle, now.Mono.Add(max(m.cfg.ProducerIdle/4, careMin)))
	}
}

// untilWall is the time from now to at, held to careMax.
func untilWall(now, at record.Timestamp) message.Duration {
	if at <= now {
		return 0
	}
	if ms := at - now; ms > 0 && ms < record.Timestamp(careMax/message.Millisecond) {
		return message.Duration(ms) * message.Millisecond
	}
	return careMax
}

// retire moves the log start as the topic's limits on age and size ask for,
// never above the high watermark (KAFKA-5634), nor into a transaction that is open.
func (l *leader) retire(m *Manager, now message.Now, out *Out) {
	if start := l.r.log.Retire(now.Wall, l.r.highWatermark, l.r.retention); start > l.start {
		l.moveStart(m, now, start, out)
	}
}

// retireBySize looks at the size each time that records have been committed, and
// when a leadership begins: what the one before was asked for and could not do any
// more would else wait for a record, which need not come.
func (l *leader) retireBySize(m *Manager, now message.Now, out *Out) {
	if limit := l.r.retention.Bytes; limit > 0 && l.r.log.Bytes() > limit {
		l.retire(m, now, out)
	}
}
