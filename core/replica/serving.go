package replica

import (
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// session is what a leader knows of one follower's fetches, over all partitions
// that the follower pulls from this broker (KIP-227). The follower states a
// position only when it has changed, and may have a second fetch under way,
// which asks the leader to answer the first at once. Fetches that come twice or
// out of order are seen by their sequence.
type session struct {
	node     message.NodeID
	epoch    message.BrokerEpoch
	id       uint64
	sequence uint32 // of the newest fetch
	seats    map[record.PartitionID]*seat

	news   []*seat // those that may have news, in order
	urgent bool    // some of it is worth an answer by itself

	holding  bool // a fetch waits for news
	held     heldFetch
	next     heldFetch // came while an answer is being read
	hasNext  bool
	deadline timer // of the held fetch, or of news that waited long enough
	reading  bool
	hot      bool
}

// heldFetch is a fetch that is to be answered.
type heldFetch struct {
	sequence uint32
	bytes    int32 // no records when 0
	until    message.Time
}

// seat is one partition in a session. Its peer is nil as long as this broker
// does not lead in the epoch that the follower follows: then the position waits
// for the metadata to arrive here.
type seat struct {
	s      *session
	at     message.ReplicaFetchPartition // as stated last
	stated uint64                        // how often
	peer   *peer

	code      message.Code // to be told
	diverging *message.EpochEnd

	toldHigh  record.Offset
	toldStart record.Offset
	queued    bool // in s.news
	awaiting  bool // the follower has been given something and states a position next
}

// ReplicaFetch takes a follower's fetch.
func (m *Manager) ReplicaFetch(now message.Now, from message.NodeID, r *message.ReplicaFetch, out *Out) {
	if m.halted {
		return
	}
	if s := m.admit(from, r, out); s != nil {
		s.fetched(m, now, r, out)
	}
	m.finish(now, out)
}

// admit finds the session that a fetch belongs to, or opens it. It turns away
// runs of the follower that are not the one in the metadata (KIP-903); one that
// the metadata does not have yet will come again.
func (m *Manager) admit(from message.NodeID, r *message.ReplicaFetch, out *Out) *session {
	refuse := func(code message.Code) *session {
		out.Send(from, &message.ReplicaFetchReply{BrokerEpoch: m.epoch, Session: r.Session, Sequence: r.Sequence, Code: code})
		return nil
	}
	known := m.brokers[from].Epoch
	switch {
	case !m.current || r.BrokerEpoch > known:
		return refuse(message.BrokerNotAvailable)
	case r.BrokerEpoch < known:
		return refuse(message.StaleBrokerEpoch)
	}
	s := m.session(from)
	switch {
	case s != nil && r.Session < s.id: // a leftover of a session before
		return nil
	case r.Sequence == 0 && s != nil && r.Session == s.id: // comes twice
		return nil
	case r.Sequence == 0:
		m.dropSession(from)
		s = &session{node: from, epoch: r.BrokerEpoch, id: r.Session, seats: map[record.PartitionID]*seat{}}
		s.deadline.Due = s
		m.sessions = append(m.sessions, s)
		return s
	case s == nil || r.Session != s.id:
		return refuse(message.FetchSessionNotFound)
	case r.Sequence <= s.sequence: // comes twice
		return nil
	case r.Sequence != s.sequence+1: // one is lost
		return refuse(message.InvalidFetchSessionEpoch)
	}
	s.sequence = r.Sequence
	return s
}

func (m *Manager) session(node message.NodeID) *session {
	for _, s := range m.sessions {
		if s.node == node {
			return s
		}
	}
	return nil
}

// dropSession forgets a follower's session.
func (m *Manager) dropSession(node message.NodeID) {
	for i, s := range m.sessions {
		if s.node != node {
			continue
		}
		m.timers.Stop(&s.deadline)
		for _, r := range m.leaders {
			if p := r.lead.peer(node); p != nil {
				p.stand()
			}
		}
		s.holding, s.hasNext, s.seats = false, false, nil
		m.sessions = append(m.sessions[:i], m.sessions[i+1:]...)
		return
	}
}

// fetched takes the positions of a fetch, and answers or holds it. A fetch that
// is held already is answered now: the follower waits for nothing with it.
func (s *session) fetched(m *Manager, now message.Now, r *message.ReplicaFetch, out *Out) {
	if s.holding { // before the new positions: the answer is about the old ones
		s.give(m, now, out)
	}
	for _, id := range r.Forget {
		if seat := s.seats[id]; seat != nil {
			seat.leave()
			delete(s.seats, id)
		}
	}
	for i := range r.Partitions {
		at := &r.Partitions[i]
		place := s.seats[at.ID]
		if place == nil {
			place = &seat{s: s}
			s.seats[at.ID] = place
		}
		if place.stated == 0 || place.at.LeaderEpoch != at.LeaderEpoch {
			place.toldHigh, place.toldStart = -1, at.LogStart
		}
		place.at = *at
		place.stated++
		s.take(m, now, place, out)
	}
	fetch := heldFetch{r.Sequence, min(r.MaxBytes, m.cfg.FetchBytes), within(now.Mono, r.MaxWait)}
	if s.reading {
		s.next, s.hasNext = fetch, true
		return
	}
	s.hold(m, now, fetch)
}

// hold keeps a fetch until there is news.
func (s *session) hold(m *Manager, now message.Now, fetch heldFetch) {
	s.holding, s.held = true, fetch
	until := fetch.until
	s.urgent = len(s.seats) == 0 // nothing to wait for: the follower has left
	for _, seat := range s.news {
		if seat.awaiting {
			continue
		}
		if seat.worthAnswering(fetch.bytes > 0) {
			s.urgent = true
			break
		}
		if seat.hasNews(fetch.bytes > 0) {
			until = min(until, now.Mono.Add(m.cfg.NewsDelay))
		}
	}
	m.timers.Set(&s.deadline, until)
	s.heat(m)
}

func (s *session) heat(m *Manager) {
	if !s.hot && s.holding && s.urgent && !s.reading {
		s.hot = true
		m.hotSessions = append(m.hotSessions, s)
	}
}

// take judges a stated position: it is waited on, refused, found to diverge, or
// counted. Only what is not found to diverge counts.
func (s *session) take(m *Manager, now message.Now, place *seat, out *Out) {
	at := &place.at
	place.leave()
	place.awaiting, place.code, place.diverging = false, message.None, nil
	r := m.replicas[at.ID]
	switch {
	case r == nil || !r.placed || at.LeaderEpoch > r.state.LeaderEpoch:
		return // the metadata is on its way
	case at.LeaderEpoch < r.state.LeaderEpoch:
		place.code = message.FencedLeaderEpoch
		place.queue(m, true)
		return
	case r.lead == nil:
		place.code = message.NotLeaderOrFollower
		place.queue(m, true)
		return
	}
	p := r.lead.peer(s.node)
	if p == nil {
		return // not placed there, as far as is known here
	}
	p.stand()
	p.seat, place.peer = place, p
	l := r.lead
	end := r.log.End()
	switch {
	case r.damage.what != "":
		place.code = message.StorageError
	case at.Offset < r.log.Start():
		place.code = message.OffsetOutOfRange
	case at.LastEpoch == record.NoLeaderEpoch && r.log.KnowsBelow(at.Offset):
		place.code = message.OffsetOutOfRange // the follower knows nothing of what was there: it is told
	default:
		place.diverging = diverges(r.log, at.Offset, at.LastEpoch)
		if place.diverging == nil && at.Offset > end {
			place.code = message.OffsetOutOfRange
		}
	}
	if place.code != message.None || place.diverging != nil {
		place.queue(m, true)
		return
	}
	p.hear(m, now, s.epoch, at, out)
	if place.worthAnswering(true) {
		place.queue(m, true)
	} else if place.toldHigh < l.r.highWatermark {
		place.news(m, now, false)
	}
}

// leave takes the seat away from its peer.
func (p *seat) leave() {
	if p.peer != nil {
		p.peer.seat = nil
		p.peer = nil
	}
}

// queue puts the seat among those with news.
func (p *seat) queue(m *Manager, urgent bool) {
	if !p.queued {
		p.queued = true
		p.s.news = append(p.s.news, p)
	}
	if urgent && !p.awaiting {
		p.s.urgent = true
		p.s.heat(m)
	}
}

// news says that something about the seat's partition has changed. A moved high
// watermark alone is not urgent: it waits a little for records to travel with.
func (p *seat) news(m *Manager, now message.Now, urgent bool) {
	if urgent && p.s.held.bytes == 0 && !p.worthAnswering(false) {
		urgent = false
	}
	p.queue(m, urgent)
	if !urgent && !p.awaiting && p.s.holding && !p.s.reading {
		m.timers.Sooner(&p.s.deadline, now.Mono.Add(m.cfg.NewsDelay))
	}
}

// worthAnswering says whether the seat has news for which a held fetch is
// answered at once.
func (p *seat) worthAnswering(records bool) bool {
	if p.code != message.None || p.diverging != nil {
		return true
	}
	return records && p.at.Offset < p.end() || p.peer != nil && p.toldStart < p.peer.l.start
}

// end is the log end of the leader; 0 without one.
func (p *seat) end() record.Offset {
	if p.peer == nil {
		return 0
	}
	return p.peer.l.r.log.End()
}

func (p *seat) hasNews(records bool) bool {
	return p.worthAnswering(records) || p.peer != nil && p.toldHigh < p.peer.l.r.highWatermark
}

// expire answers the held fetch with what there is.
func (s *session) expire(m *Manager, now message.Now, out *Out) {
	if s.holding {
		s.give(m, now, out)
	}
}

// ReplicaProgress takes how far a follower has flushed, ahead of its next
// fetch. It counts no further than a fetch has shown histories to match.
func (m *Manager) ReplicaProgress(now message.Now, from message.NodeID, r *message.ReplicaProgress, out *Out) {
	if m.halted {
		return
	}
	for i := range r.Partitions {
		at := &r.Partitions[i]
		l, code := m.leading(at.ID)
		if code != message.None || l.epoch != at.LeaderEpoch {
			continue
		}
		if p := l.peer(from); p != nil && p.brokerEpoch == r.BrokerEpoch && p.matched >= 0 {
			p.hearFlushed(m, now, at.Flushed, out)
		}
	}
	m.finish(now, out)
}
