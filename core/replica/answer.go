package replica

import (
	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
)

// answer answers the held fetch at the end of a step in which urgent news came.
func (s *session) answer(m *Manager, now message.Now, out *Out) {
	if s.holding && s.urgent && !s.reading {
		s.give(m, now, out)
	}
}

// give answers the held fetch with all the news there is. Records have to be
// read first; everything else is then told as it stands when they are there.
func (s *session) give(m *Manager, now message.Now, out *Out) {
	m.timers.Stop(&s.deadline)
	s.holding, s.urgent = false, false
	a := &sessionAnswer{s: s, reply: &message.ReplicaFetchReply{
		BrokerEpoch: m.epoch, Session: s.id, Sequence: s.held.sequence,
	}}
	a.collect(int64(s.held.bytes))
	if len(a.slices) == 0 {
		a.send(m, now, nil, out)
		return
	}
	s.reading = true
	m.read(a, a.slices, out)
}

// sessionAnswer is an answer whose records are being read.
type sessionAnswer struct {
	s      *session
	reply  *message.ReplicaFetchReply
	slices []effect.Slice
	parts  []answerPart
}

// answerPart is one partition of it. slice is -1 for one without records.
type answerPart struct {
	seat   *seat
	stated uint64 // the position that it is about
	l      *leader
	slice  int
}

// collect goes through the seats with news, as far as the bytes reach. What
// finds no room stays, and comes first next time.
func (a *sessionAnswer) collect(bytes int64) {
	s := a.s
	wanted := bytes > 0
	kept := s.news[:0]
	a.parts = make([]answerPart, 0, len(s.news))
	for _, p := range s.news {
		switch {
		case p.awaiting, !wanted && p.hasNews(true) && !p.hasNews(false):
			kept = append(kept, p)
			continue
		case !p.hasNews(wanted):
			p.queued = false
			continue
		}
		part := answerPart{seat: p, stated: p.stated, slice: -1}
		if p.peer != nil {
			part.l = p.peer.l
		}
		p.awaiting = p.code != message.None || p.diverging != nil
		if !p.awaiting && p.at.Offset < part.l.r.log.End() {
			bytes = a.want(&part, bytes)
		}
		a.parts = append(a.parts, part)
		if p.queued = !p.awaiting && p.at.Offset < p.end(); p.queued {
			kept = append(kept, p) // its records found no room
		}
	}
	clear(s.news[len(kept):])
	s.news = kept
}

// want asks for the records of a seat, if there is room for any. It returns how
// much room is left.
func (a *sessionAnswer) want(part *answerPart, bytes int64) int64 {
	p := part.seat
	if bytes <= 0 {
		return 0
	}
	end := p.end()
	p.awaiting = true
	part.slice = len(a.slices)
	most := bytes
	if p.at.MaxBytes > 0 {
		most = min(most, int64(p.at.MaxBytes))
	}
	a.slices = append(a.slices, effect.Slice{Log: p.at.ID, From: p.at.Offset, To: end, MaxBytes: int32(most)})
	return bytes - min(most, part.l.tail.between(p.at.Offset, end))
}

// done sends the answer once its records are read.
func (a *sessionAnswer) done(m *Manager, now message.Now, results []effect.ReadResult, out *Out) {
	s := a.s
	s.reading = false
	if m.session(s.node) == s {
		a.send(m, now, results, out)
	}
}

// send sends the answer, and holds the fetch that has come meanwhile.
func (a *sessionAnswer) send(m *Manager, now message.Now, results []effect.ReadResult, out *Out) {
	s := a.s
	a.reply.Partitions = make([]message.ReplicaFetchedPartition, 0, len(a.parts))
	for _, part := range a.parts {
		a.tell(m, part, results, out)
	}
	out.Send(s.node, a.reply)
	switch {
	case len(s.seats) == 0 && !s.hasNext:
		m.dropSession(s.node)
	case s.hasNext:
		s.hasNext = false
		s.hold(m, now, s.next)
	}
}

// tell adds one partition. While the records were read the leadership may have
// ended, or the follower may have stated another position: then there is
// nothing to tell, and the seat has been judged anew.
func (a *sessionAnswer) tell(m *Manager, part answerPart, results []effect.ReadResult, out *Out) {
	p := part.seat
	if p.stated != part.stated {
		return
	}
	news := message.ReplicaFetchedPartition{
		ID: p.at.ID, Code: p.code, LeaderEpoch: p.at.LeaderEpoch, HighWatermark: -1, LogStart: -1,
	}
	if part.l != nil {
		if p.peer == nil || p.peer.l != part.l {
			return
		}
		r := part.l.r
		news.HighWatermark, news.LogStart, news.Diverging = r.highWatermark, part.l.start, p.diverging
		if p.diverging != nil || p.code == message.OffsetOutOfRange {
			news.LogStart, news.CarryOver = r.log.Start(), r.log.CarryOver() // of one moment
		}
		if p.code == message.None && p.diverging == nil { // else they are not taken
			p.toldHigh, p.toldStart = r.highWatermark, part.l.start
		}
	}
	if part.slice >= 0 && news.Code == message.None && news.Diverging == nil {
		if err := results[part.slice].Err; err != nil {
			news.Code = part.l.r.readFailed(m, p.at.Offset, err, out)
		} else {
			news.Records = results[part.slice].Batches
		}
	}
	a.reply.Partitions = append(a.reply.Partitions, news)
}
