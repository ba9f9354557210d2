package replica

import (
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// puller is this broker's fetch session with one leader, over all partitions
// that it follows there. One fetch is always with the leader, waiting for news.
// A second one goes out only when something must not wait, such as a partition
// that has just come under this leader; the leader answers the first one then.
// Whenever an answer is missing, the session is given up and opened anew.
type puller struct {
	node  message.NodeID
	parts []*replica // that follow this leader

	open     bool
	epoch    message.BrokerEpoch // of this broker when the session was opened
	session  uint64
	sequence uint32  // of the newest fetch
	expected uint32  // of the next answer
	asked    []int32 // bytes that the fetches ask for that are with the leader, oldest first

	moved    []*replica // those whose position is to be stated
	forget   []record.PartitionID
	urgent   bool
	progress []*replica  // those whose flushed end is to be reported
	restated []*follower // those whose position both fetches that are with the leader may be about; see pace.go

	pausing  bool  // before the session is opened anew
	clock    timer // the end of that pause; else of the wait for an answer
	attempts int

	delayed []*replica // refused by the leader; tried again when delay runs out
	delay   timer
	hot     bool
}

// maxInFlight is how many fetches may be with a leader at once.
const maxInFlight = 2

func (m *Manager) puller(node message.NodeID) *puller {
	for _, p := range m.pullers {
		if p.node == node {
			return p
		}
	}
	p := &puller{node: node}
	p.clock.Due, p.delay.Due = (*pullClock)(p), (*pullDelay)(p)
	m.pullers = append(m.pullers, p)
	return p
}

func (p *puller) heat(m *Manager) {
	if !p.hot {
		p.hot = true
		m.hotPullers = append(m.hotPullers, p)
	}
}

// urge has the next fetch go out without waiting for an answer.
func (p *puller) urge(m *Manager) {
	p.urgent = true
	p.heat(m)
}

// join adds a replica.
func (p *puller) join(m *Manager, r *replica) {
	if len(p.parts) == 0 {
		m.leadersFollowed++
	}
	r.follow.slot = len(p.parts)
	p.parts = append(p.parts, r)
	p.stale(m, r, true)
}

// leave takes a replica out.
func (p *puller) leave(m *Manager, r *replica) {
	f := r.follow
	last := p.parts[len(p.parts)-1]
	p.parts[f.slot] = last
	last.follow.slot = f.slot
	p.parts[len(p.parts)-1] = nil
	p.parts = p.parts[:len(p.parts)-1]
	if len(p.parts) == 0 {
		m.leadersFollowed--
	}
	if f.moved {
		p.moved = remove(p.moved, r)
	}
	if f.reports {
		p.progress = remove(p.progress, r)
	}
	if f.delayed {
		p.delayed = remove(p.delayed, r)
	}
	if p.open {
		p.forget = append(p.forget, r.id)
	}
	p.heat(m)
}

// stale has a replica's position stated with the next fetch, or when its turn
// comes.
func (p *puller) stale(m *Manager, r *replica, urgent bool) {
	if m.pace.parks(m, r) {
		return
	}
	if !r.follow.moved {
		r.follow.moved = true
		p.moved = append(p.moved, r)
	}
	p.urgent = p.urgent || urgent
	p.heat(m)
}

// report tells the leader what has become durable. The pending fetch need not
// be answered for that.
func (p *puller) report(m *Manager, out *Out) {
	if len(p.progress) == 0 {
		return
	}
	msg := &message.ReplicaProgress{BrokerEpoch: m.epoch, Partitions: make([]message.ReplicaFlushed, 0, len(p.progress))}
	for _, r := range p.progress {
		r.follow.reports = false
		msg.Partitions = append(msg.Partitions, message.ReplicaFlushed{ID: r.id, LeaderEpoch: r.follow.epoch, Flushed: r.flushed})
	}
	clear(p.progress)
	p.progress = p.progress[:0]
	if p.open {
		out.Send(p.node, msg)
	}
}

// pull sends a fetch if one is due and nothing speaks against it.
func (p *puller) pull(m *Manager, now message.Now, out *Out) {
	switch {
	case p.pausing, len(p.asked) == maxInFlight, len(p.asked) > 0 && !p.urgent:
		return
	case len(p.parts) == 0 && !(p.open && len(p.forget) > 0):
		p.open = p.open && len(p.asked) > 0
		return
	case m.congested():
		return // a flush comes, and then this is tried again
	case p.outdated(m):
		return // the next Tick gives the session up
	}
	if p.open {
		p.sequence++
	} else {
		p.begin(m)
	}
	fetch := &message.ReplicaFetch{
		BrokerEpoch: m.epoch, Session: p.session, Sequence: p.sequence,
		MaxWait: m.cfg.FetchWait, MaxBytes: m.room(), Forget: p.forget,
	}
	if len(p.moved) > 0 {
		fetch.Partitions = make([]message.ReplicaFetchPartition, 0, len(p.moved))
	}
	for _, r := range p.moved {
		r.follow.moved = false
		r.follow.stated = p.sequence
		fetch.Partitions = append(fetch.Partitions, r.position(m, now))
	}
	clear(p.moved)
	p.moved, p.forget, p.urgent = p.moved[:0], nil, false
	p.asked = append(p.asked, fetch.MaxBytes)
	m.asked += int64(fetch.MaxBytes)
	p.watch(m, now)
	out.Send(p.node, fetch)
}

// begin opens a session: it holds all partitions, but for those whose turn has
// not come.
func (p *puller) begin(m *Manager) {
	m.sessionsOpened++
	p.session = uint64(m.epoch)<<24 + m.sessionsOpened // answers to an earlier run, or session, are no answers
	p.open, p.epoch, p.sequence, p.expected = true, m.epoch, 0, 0
	p.forget = nil
	p.moved = p.moved[:0]
	m.pace.overtaken(m, p)
	for _, r := range p.parts {
		m.pace.settle(m, r) // no answer comes in the session before
		if r.follow.moved = !m.pace.parks(m, r); r.follow.moved {
			p.moved = append(p.moved, r)
		}
	}
}

// outdated says that the session is of an earlier registration of this broker: leaders
// take no more fetches in it. One that was opened since is not given up: its first fetch
// is with the leader, which would answer it for nobody.
func (p *puller) outdated(m *Manager) bool { return p.open && p.epoch != m.epoch }

// room is how many bytes of records may come with the answer to the next fetch. What
// may still be appended before the disk has caught up is divided evenly among all the
// fetches that can be with leaders, so that none waits for what others do not use, and
// all that are under way together ask for no more than UnflushedBytes. It is never
// none, lest a leader take that for a wish to have no records: one batch comes in any
// case. With a disk that is low on room it is none: log starts still come, by which room
// is made.
func (m *Manager) room() int32 {
	if m.diskLow {
		return 0
	}
	share := (m.cfg.UnflushedBytes - m.unflushed) / int64(maxInFlight*max(1, m.leadersFollowed))
	return int32(max(1, min(int64(m.cfg.FetchBytes), share, m.cfg.UnflushedBytes-m.asked)))
}

// answered notes that the oldest fetches, so many of them, are not with the leader any more.
func (p *puller) answered(m *Manager, n int) {
	for _, bytes := range p.asked[:n] {
		m.asked -= int64(bytes)
	}
	p.asked = p.asked[:copy(p.asked, p.asked[n:])]
}

func (p *puller) watch(m *Manager, now message.Now) {
	if len(p.asked) > 0 {
		m.timers.Set(&p.clock, now.Mono.Add(m.cfg.FetchWait+m.cfg.FetchGrace))
	} else {
		m.timers.Stop(&p.clock)
	}
}

// reopen gives the session up, and opens another one after a pause.
func (p *puller) reopen(m *Manager, now message.Now) {
	p.open, p.pausing = false, true
	p.answered(m, len(p.asked))
	pause := m.backoff(p.attempts)
	p.attempts++
	m.timers.Set(&p.clock, now.Mono.Add(pause))
}

// backoff is the pause after so many attempts in a row that came to nothing.
func (m *Manager) backoff(attempts int) message.Duration {
	pause := min(m.cfg.RetryMin<<min(attempts, 20), m.cfg.RetryMax)
	return pause + message.Duration(m.random.Below(int64(pause/2)+1))
}

// pullClock is a puller as the owner of its clock.
type pullClock puller

func (c *pullClock) expire(m *Manager, now message.Now, out *Out) {
	p := (*puller)(c)
	if p.pausing {
		p.pausing = false
		p.heat(m)
		return
	}
	p.reopen(m, now)
}

// pullDelay is a puller as the owner of its delay.
type pullDelay puller

func (d *pullDelay) expire(m *Manager, now message.Now, out *Out) {
	p := (*puller)(d)
	for _, r := range p.delayed {
		r.follow.delayed = false
		p.stale(m, r, true)
	}
	clear(p.delayed)
	p.delayed = p.delayed[:0]
}

// postpone tries a replica again later.
func (p *puller) postpone(m *Manager, now message.Now, r *replica) {
	f := r.follow
	if !f.delayed {
		f.delayed = true
		p.delayed = append(p.delayed, r)
	}
	m.timers.Sooner(&p.delay, now.Mono.Add(m.backoff(f.attempts)))
	f.attempts++
}

// ReplicaFetchReply takes a leader's answer. Answers come in the order of the
// fetches, or the session is over.
func (m *Manager) ReplicaFetchReply(now message.Now, from message.NodeID, r *message.ReplicaFetchReply, out *Out) {
	if m.halted {
		return
	}
	p := m.puller(from)
	if !p.open || r.Session != p.session || r.Sequence < p.expected || r.BrokerEpoch < m.brokers[from].Epoch {
		return
	}
	if r.Sequence > p.expected || r.Code != message.None {
		p.reopen(m, now)
		return
	}
	p.expected++
	p.answered(m, 1)
	m.pace.overtaken(m, p)
	p.attempts = 0
	p.watch(m, now)
	p.heat(m)
	for i := range r.Partitions {
		news := &r.Partitions[i]
		replica := m.replicas[news.ID]
		if replica == nil || replica.follow == nil || replica.follow.from != p || replica.follow.epoch != news.LeaderEpoch {
			continue
		}
		replica.follow.hear(m, now, r.Sequence, news, out)
		if m.halted {
			return
		}
	}
	m.finish(now, out)
}
