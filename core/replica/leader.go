package replica

import (
	"slices"

	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// leader is a replica in one of its leaderships. A new leadership begins with
// a new leader: nothing that was heard or promised in another epoch is left.
type leader struct {
	r          *replica
	epoch      record.LeaderEpoch
	epochStart record.Offset // the log's end when the leadership began

	peers []*peer // the other replicas, in assignment order

	proposal   *proposal // at most one is on its way (KIP-497)
	alter      timer     // the proposal is sent again, or the next may be made
	quietUntil message.Time
	lag        timer // some ISR member may have been behind for too long

	tail tail

	// start is the log start that this leader wants; see delete.go. Records
	// below it are gone for clients once the disks of the ISR have confirmed.
	start       record.Offset
	startAgreed bool // the ISR has come up to this log's start in this leadership
	deletes     []*deleteWait

	written waiters // acks=1: until the operating system has the batch
	acked   waiters // acks=all: until the high watermark has passed the batch
	fetches []*fetchPart
	replays []record.Offset // local reads that wait until the leader may show anything
}

// lead begins a leadership.
func (m *Manager) lead(now message.Now, r *replica, out *Out) {
	l := &leader{r: r, epoch: r.state.LeaderEpoch, epochStart: r.log.End(), start: r.log.Start(),
		startAgreed: r.log.Start() == 0}
	r.log.BeginEpoch(l.epoch) // on every election, records or not (KAFKA-7415)
	l.alter.Due, l.lag.Due = (*alterTimer)(l), (*lagTimer)(l)
	l.tail.begin(r.log.End())
	r.lead = l
	m.leaders = append(m.leaders, r)
	// Elected uncleanly, it may know of records that they are committed, and not have
	// flushed them. With the power they would go, and nobody else need have them: as
	// long as they are not durable they are not committed any more.
	r.highWatermark = max(r.log.Start(), min(r.highWatermark, r.flushed))
	l.seatPeers(m, now)
	m.touch(r)
	out.Led = append(out.Led, LeadershipChange{ID: r.id, Epoch: l.epoch, Leading: true})
	l.welcome(m, now, out)
	l.advance(m, now, out)
	l.agreeOnStart(m, now, out)
	l.retireBySize(m, now, out)
	l.watchLag(m, now)
	m.timers.Stop(&r.care) // of an earlier leadership
	r.takeCare(m, now)
	r.watchProducers(m, now)
}

// depose ends a leadership. Whoever waits on it learns so now: judged later,
// by offsets that another leader gives to other records, it would be told lies
// (KAFKA-1148).
func (m *Manager) depose(now message.Now, r *replica, out *Out) {
	l := r.lead
	r.lead = nil
	m.leaders = remove(m.leaders, r)
	m.timers.Stop(&l.alter)
	m.timers.Stop(&l.lag)
	l.failUnverified(m, message.NotLeaderOrFollower, out)
	l.written.failAll(m, l, message.NotLeaderOrFollower, out)
	l.acked.failAll(m, l, message.NotLeaderOrFollower, out)
	for len(l.fetches) > 0 {
		l.fetches[len(l.fetches)-1].wait.answer(m, now, out)
	}
	for len(l.deletes) > 0 {
		l.deletes[0].finish(m, message.NotLeaderOrFollower, out)
	}
	for _, p := range l.peers {
		p.stand()
	}
	out.Led = append(out.Led, LeadershipChange{ID: r.id, Epoch: l.epoch, Leading: false})
}

// seatPeers makes peers agree with the replicas of the state. Those that stay
// keep what they have shown.
func (l *leader) seatPeers(m *Manager, now message.Now) {
	s := &l.r.state
	peers := make([]*peer, 0, len(s.Replicas))
	add := func(node message.NodeID) {
		if node == m.cfg.ID || slices.ContainsFunc(peers, func(p *peer) bool { return p.node == node }) {
			return
		}
		p := l.peer(node)
		if p == nil {
			p = &peer{node: node, l: l}
			p.forget(now.Mono)
		}
		peers = append(peers, p)
	}
	for _, node := range s.Replicas {
		add(node)
	}
	for _, node := range s.ISR {
		add(node)
	}
	for _, p := range l.peers {
		if !slices.Contains(peers, p) {
			p.stand()
		}
	}
	l.peers = peers
	l.count()
}

// count marks who is in the ISR, and who counts for the high watermark: the
// ISR, and whom a proposal on its way may have added already (the maximal ISR
// of KIP-497). A proposal that takes somebody out changes nothing before it is
// committed.
func (l *leader) count() {
	for _, p := range l.peers {
		p.member = slices.Contains(l.r.state.ISR, p.node)
		p.counted = p.member || l.proposal != nil && slices.Contains(l.proposal.counts, p.node)
	}
}

// peer is what the leader knows of another replica, or nil.
func (l *leader) peer(node message.NodeID) *peer {
	for _, p := range l.peers {
		if p.node == node {
			return p
		}
	}
	return nil
}

// adopt takes a new partition epoch of the same leadership. A proposal on its
// way was made for the epoch before: it has been committed by this change, or
// can never be.
func (l *leader) adopt(m *Manager, now message.Now, out *Out) {
	l.proposal = nil
	m.timers.Stop(&l.alter)
	l.seatPeers(m, now)
	if !l.enoughInSync() {
		l.acked.failClients(m, l, message.NotEnoughReplicasAfterAppend, out)
	}
	l.welcome(m, now, out)
	l.advance(m, now, out)
	l.agreeOnStart(m, now, out)
	l.reviewISR(m, now, out)
	l.watchLag(m, now)
}

// welcome takes up positions that followers had stated before this broker knew
// that they are its followers.
func (l *leader) welcome(m *Manager, now message.Now, out *Out) {
	for _, s := range m.sessions {
		if seat := s.seats[l.r.id]; seat != nil && seat.peer == nil {
			s.take(m, now, seat, out)
		}
	}
}

// enoughInSync says whether the ISR has min.insync.replicas members.
func (l *leader) enoughInSync() bool { return len(l.r.state.ISR) >= l.r.minInsync }

// shown says whether clients may see the high watermark: not before it has
// reached the start of the epoch. Below that it may lag behind what the leader
// before has shown (KIP-207). Nor is anything shown of a log that is begun anew,
// before the disk has done it: a crash would find the one of before.
func (l *leader) shown() bool {
	return l.r.highWatermark >= l.epochStart && !l.r.beginsAnew()
}

// shownStart is the log start that clients may see, or -1 while it is not
// agreed: somebody who may lead next could still have a lower one. So could this
// replica itself, as long as the disk has not begun its log anew.
func (l *leader) shownStart() record.Offset {
	if !l.startAgreed || l.r.beginsAnew() {
		return -1
	}
	return l.r.trimmed
}
