package replica

import (
	"errors"

	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// ListOffsets answers with log starts, the ends of what may be read, and offsets by
// time. A leader that may not show its high watermark yet answers LeaderNotAvailable.
func (m *Manager) ListOffsets(now message.Now, token message.Token, r *message.ListOffsets, out *Out) {
	if m.halted {
		return
	}
	q := &listing{token: token, reply: &message.ListOffsetsReply{Partitions: make([]message.ListedOffset, len(r.Partitions))}}
	for i := range r.Partitions {
		q.ask(m, i, r, out)
	}
	if q.left == 0 {
		out.Reply(token, q.reply)
	}
	m.finish(now, out)
}

// listing is one ListOffsets, some of whose answers the disk has to find.
type listing struct {
	token message.Token
	reply *message.ListOffsetsReply
	left  int
}

// timeQuestion is one partition of a listing.
type timeQuestion struct {
	q     *listing
	index int
	l     *leader
	to    record.Offset // what might be read when it was asked
}

func (q *listing) ask(m *Manager, i int, r *message.ListOffsets, out *Out) {
	p := &r.Partitions[i]
	answer := &q.reply.Partitions[i]
	*answer = message.ListedOffset{ID: p.ID, Offset: -1, Timestamp: -1, LeaderEpoch: record.NoLeaderEpoch}
	l, code := m.leading(p.ID)
	if code == message.None {
		code = l.fence(p.LeaderEpoch)
	}
	switch {
	case code != message.None:
		answer.Code = code
		return
	case l.r.damage.what != "":
		answer.Code = message.StorageError
		return
	case !l.shown() || p.Timestamp != message.Latest && !l.startAgreed:
		answer.Code = message.LeaderNotAvailable
		return
	}
	answer.LeaderEpoch = l.epoch
	to := l.sees(0, r.Isolation).to
	switch {
	case p.Timestamp == message.Latest:
		answer.Offset = to
	case p.Timestamp == message.Earliest:
		answer.Offset = l.shownStart()
	case p.Timestamp < 0:
		answer.Code = message.InvalidRequest
	default:
		q.left++
		token := m.token()
		m.times[token] = timeQuestion{q, i, l, to}
		out.Add(effect.FindTime{Token: token, Log: p.ID, At: p.Timestamp, To: to})
	}
}

// TimeFound takes that completion.
func (m *Manager) TimeFound(now message.Now, in effect.TimeFound, out *Out) {
	t, ok := m.times[in.Token]
	if m.halted || !ok {
		return
	}
	delete(m.times, in.Token)
	if in.Err != nil && !errors.Is(in.Err, effect.ErrGone) && m.still(t.l) {
		t.l.r.foundDamage(m, in.Err, out)
	}
	answer := &t.q.reply.Partitions[t.index]
	switch {
	case !m.still(t.l):
		answer.Code, answer.LeaderEpoch = message.NotLeaderOrFollower, record.NoLeaderEpoch
	case t.l.r.damage.what != "": // found by this read or, meanwhile, by another
		answer.Code, answer.LeaderEpoch = message.StorageError, record.NoLeaderEpoch
	case in.Err != nil:
		answer.Code = message.LeaderNotAvailable // the log changed meanwhile: ask again
	case in.Found:
		answer.Offset, answer.Timestamp = in.Offset, in.Timestamp
	default:
		answer.Offset = t.to
	}
	t.q.left--
	if t.q.left == 0 {
		out.Reply(t.q.token, t.q.reply)
	}
	m.finish(now, out)
}

// OffsetForLeaderEpoch answers where epochs end.
func (m *Manager) OffsetForLeaderEpoch(now message.Now, token message.Token, r *message.OffsetForLeaderEpoch, out *Out) {
	if m.halted {
		return
	}
	reply := &message.OffsetForLeaderEpochReply{Partitions: make([]message.EpochAnswer, len(r.Partitions))}
	for i := range r.Partitions {
		p := &r.Partitions[i]
		answer := &reply.Partitions[i]
		*answer = message.EpochAnswer{ID: p.ID, Epoch: record.NoLeaderEpoch, End: -1}
		l, code := m.leading(p.ID)
		if code == message.None {
			code = l.fence(p.LeaderEpoch)
		}
		if answer.Code = code; code == message.None {
			end := l.r.log.EndOf(p.Epoch)
			answer.Epoch, answer.End = end.Epoch, end.End
		}
	}
	out.Reply(token, reply)
	m.finish(now, out)
}
