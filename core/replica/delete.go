package replica

import (
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// How a log start moves. The leader decides on one (from retention or from
// DeleteRecords, never above the last stable offset) and tells its followers. They
// trim, and state it in their fetches once their disks have confirmed it. When
// the whole maximal ISR has done so the leader trims as well, and shows it to
// clients when its own disk has confirmed. So whoever leads next starts at least
// there: for clients a log start never falls, and what was deleted stays deleted.

// moveStart decides on a higher log start.
func (l *leader) moveStart(m *Manager, now message.Now, start record.Offset, out *Out) {
	if start > l.r.highWatermark {
		m.halt(l.r, "told to delete above the high watermark", out)
		return
	}
	l.start = max(l.start, start)
	for _, p := range l.peers {
		if p.seat != nil {
			p.seat.news(m, now, true)
		}
	}
	m.touch(l.r)
	l.agreeOnStart(m, now, out)
}

// agreeOnStart trims once the ISR has. A start that a follower brings from
// another leadership, which could not finish moving it, is taken up. A new
// leader may have trimmed before the others did, while it followed: it shows
// its log start only when the ISR has come up to it.
func (l *leader) agreeOnStart(m *Manager, now message.Now, out *Out) {
	for _, p := range l.peers {
		if p.logStart > l.start && p.logStart <= l.r.highWatermark {
			l.moveStart(m, now, p.logStart, out)
			return
		}
	}
	if !l.enoughInSync() {
		return // the eligible ones outside the ISR are not asked, and may lead next
	}
	agreed := l.start
	for _, p := range l.peers {
		if p.counted {
			agreed = min(agreed, p.logStart)
		}
	}
	if !l.startAgreed && agreed >= l.r.log.Start() {
		l.startAgreed = true
		l.startMoved(m, out)
		l.wakeFetches(m, now, out)
		m.touch(l.r)
	}
	if agreed > l.r.log.Start() {
		l.r.trim(m, agreed, out)
	}
}

// begun answers those who waited until the disk had begun the log anew.
func (l *leader) begun(m *Manager, now message.Now, out *Out) {
	l.startMoved(m, out)
	l.wakeFetches(m, now, out)
	l.wakeReplays(m, out)
}

// startMoved answers those who waited for the log start to move.
func (l *leader) startMoved(m *Manager, out *Out) {
	for i := len(l.deletes) - 1; i >= 0; i-- {
		if i < len(l.deletes) && l.deletes[i].before <= l.shownStart() {
			l.deletes[i].finish(m, message.None, out)
		}
	}
}

// DeleteRecords moves log starts up. It is answered when the records are gone
// on all in-sync replicas, and with RequestTimedOut when that takes too long;
// they may still go then.
func (m *Manager) DeleteRecords(now message.Now, token message.Token, r *message.DeleteRecords, out *Out) {
	if m.halted {
		return
	}
	d := &deletion{token: token, reply: &message.DeleteRecordsReply{Partitions: make([]message.DeletedRecords, len(r.Partitions))}}
	d.left = 1 // until all are looked at
	for i := range r.Partitions {
		d.ask(m, now, i, &r.Partitions[i], out)
	}
	d.answered(out)
	m.finish(now, out)
}

// deletion is one DeleteRecords.
type deletion struct {
	token message.Token
	reply *message.DeleteRecordsReply
	left  int
}

func (d *deletion) answered(out *Out) {
	d.left--
	if d.left == 0 {
		out.Reply(d.token, d.reply)
	}
}

// deleteWait is one partition of it that waits.
type deleteWait struct {
	d      *deletion
	index  int
	l      *leader
	before record.Offset
	timer  timer
}

func (d *deletion) ask(m *Manager, now message.Now, i int, p *message.DeleteRecordsPartition, out *Out) {
	answer := &d.reply.Partitions[i]
	*answer = message.DeletedRecords{ID: p.ID, LogStart: -1}
	l, code := m.leading(p.ID)
	if code != message.None {
		answer.Code = code
		return
	}
	before := p.Before
	if before == -1 {
		before = l.lastStable()
	}
	switch {
	case l.r.state.Config.Internal:
		answer.Code = message.InvalidTopic
	case l.r.damage.what != "":
		answer.Code = message.StorageError
	case !l.shown():
		answer.Code = message.LeaderNotAvailable
	case before < 0 || before > l.lastStable():
		answer.Code = message.OffsetOutOfRange
	case before <= l.shownStart():
		answer.LogStart = l.shownStart()
	default:
		w := &deleteWait{d: d, index: i, l: l, before: before}
		w.timer.Due = w
		m.timers.Set(&w.timer, now.Mono.Add(m.cfg.RequestTimeout))
		l.deletes = append(l.deletes, w)
		d.left++
		l.moveStart(m, now, before, out)
	}
}

// finish gives one partition its outcome.
func (w *deleteWait) finish(m *Manager, code message.Code, out *Out) {
	m.timers.Stop(&w.timer)
	w.l.deletes = remove(w.l.deletes, w)
	answer := &w.d.reply.Partitions[w.index]
	answer.Code = code
	if code == message.None {
		answer.LogStart = w.l.shownStart()
	}
	w.d.answered(out)
}

func (w *deleteWait) expire(m *Manager, _ message.Now, out *Out) {
	w.finish(m, message.RequestTimedOut, out)
}
