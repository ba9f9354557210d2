package replica

import (
	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// LocalAppend appends a batch of another room of this broker to a partition
// that it leads in epoch. Out.Local answers it with ticket once the batch is
// committed, or at once when it cannot be appended. It does not time out, and
// does not fail when the ISR shrinks: once appended, its outcome is known when
// it is committed or the leadership ends. The Manager owns batch.
func (m *Manager) LocalAppend(now message.Now, id record.PartitionID, epoch record.LeaderEpoch, ticket uint64, batch []byte, out *Out) {
	if m.halted {
		return
	}
	result := LocalResult{Ticket: ticket, Base: -1}
	l, code := m.leading(id)
	if code != message.None || l.epoch != epoch {
		result.Code = message.NotLeaderOrFollower
		out.Local = append(out.Local, result)
		return
	}
	added := addition{base: -1}
	var h record.Header
	switch h, added.code = l.examine(batch); {
	case added.code != message.None:
	case h.Attributes.Transactional(): // of no room, and nobody has verified it
		added.code = message.InvalidRequest
	default:
		added = l.add(m, now, &h, batch, message.AcksAll, out)
	}
	result.Code, result.Base = added.code, added.base
	if added.code == message.None && added.end > l.r.highWatermark {
		l.acked.push(waiter{end: added.end, base: added.base, ticket: ticket})
	} else {
		out.Local = append(out.Local, result)
	}
	m.finish(now, out)
}

// LocalRead reads the next chunk of committed batches, from an offset on, of a
// partition that this broker leads in epoch. Out.Replayed answers it, at the
// earliest when the high watermark has reached the start of the epoch; nothing
// answers it once the leadership has ended. Read on from Replay.Next until
// Replay.Done, and begin anew when Replay.Anew says so.
func (m *Manager) LocalRead(now message.Now, id record.PartitionID, epoch record.LeaderEpoch, from record.Offset, out *Out) {
	if m.halted {
		return
	}
	l, code := m.leading(id)
	if code != message.None || l.epoch != epoch {
		return
	}
	if l.shown() {
		l.replay(m, from, out)
	} else {
		l.replays = append(l.replays, from)
	}
	m.finish(now, out)
}

// LocalTrim gives up the records below an offset of a partition that this broker
// leads in epoch, because another room of this broker has said again, in later
// records, what of them still counts. It goes no further than the high
// watermark, is not answered, and does nothing once the leadership has ended.
func (m *Manager) LocalTrim(now message.Now, id record.PartitionID, epoch record.LeaderEpoch, before record.Offset, out *Out) {
	if m.halted {
		return
	}
	l, code := m.leading(id)
	if code != message.None || l.epoch != epoch || !l.shown() {
		return
	}
	if before = min(before, l.r.highWatermark); before > l.start {
		l.moveStart(m, now, before, out)
	}
	m.finish(now, out)
}

// wakeReplays goes on with those that waited for the start of the epoch.
func (l *leader) wakeReplays(m *Manager, out *Out) {
	if len(l.replays) == 0 || !l.shown() {
		return
	}
	for _, from := range l.replays {
		l.replay(m, from, out)
	}
	l.replays = nil
}

// localRead is one chunk that is being read.
type localRead struct {
	l        *leader
	from, to record.Offset
	anew     bool
}

func (l *leader) replay(m *Manager, from record.Offset, out *Out) {
	r := l.r
	anew := from < r.log.Start()
	from = max(from, r.log.Start())
	answer := Replay{ID: r.id, Epoch: l.epoch, Next: from, Anew: anew, Done: true}
	switch {
	case r.damage.what != "":
		answer.Code, answer.Done = message.StorageError, false
		out.Replayed = append(out.Replayed, answer)
	case from >= r.highWatermark:
		out.Replayed = append(out.Replayed, answer)
	default:
		who := &localRead{l: l, from: from, to: r.highWatermark, anew: anew}
		m.read(who, []effect.Slice{{Log: r.id, From: from, To: who.to, MaxBytes: m.cfg.ReplayBytes}}, out)
	}
}

func (c *localRead) done(m *Manager, _ message.Now, results []effect.ReadResult, out *Out) {
	if !m.still(c.l) {
		return
	}
	if c.l.r.damage.what != "" { // another read has found it meanwhile
		out.Replayed = append(out.Replayed, Replay{ID: c.l.r.id, Epoch: c.l.epoch, Code: message.StorageError, Next: c.from})
		return
	}
	answer := Replay{ID: c.l.r.id, Epoch: c.l.epoch, Next: c.from, Anew: c.anew, Batches: results[0].Batches}
	it := record.Batches(answer.Batches)
	for it.Next() {
		answer.Next = it.Header.End()
	}
	err := results[0].Err
	if err == nil && answer.Next <= c.from {
		err = errNothingRead
	}
	switch {
	case err != nil && c.l.r.readFailed(m, c.from, err, out) == message.OffsetOutOfRange:
		// the log start has overtaken the read: who reads on is told
	case err != nil:
		answer.Code, answer.Batches, answer.Next = message.StorageError, nil, c.from
	}
	answer.Done = err == nil && answer.Next >= c.to
	out.Replayed = append(out.Replayed, answer)
}
