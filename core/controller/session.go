package controller

import (
	"slices"

	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
)

// session is what the active controller knows of one live broker.
type session struct {
	epoch    message.BrokerEpoch
	deadline message.Time // when it counts as dead

	// sent is how far its image will be once all pushes have arrived. It is
	// not known before the broker has spoken to this controller.
	known    bool
	spoke    bool // it has sent a heartbeat: the run that registered is alive
	sent     message.Version
	pushedAt message.Time

	// chores
	unfence bool
	leave   bool         // it wants to shut down
	graceAt message.Time // when it may leave although nobody takes over; 0: not leaving
}

// heartbeat keeps a session alive. It is answered from the image at once; what
// has to be decided because of it follows as a chore (KIP-631).
func (c *Controller) heartbeat(now message.Time, from message.NodeID, m *message.BrokerHeartbeat, out *effect.Out) {
	if c.active == nil {
		c.refuse(from, m, message.NotController, out)
		return
	}
	b := c.image.Broker(m.Node)
	if b == nil || b.Epoch != m.Epoch || from != m.Node {
		c.refuse(from, m, message.StaleBrokerEpoch, out)
		return
	}
	s := c.touch(now, b)
	s.spoke = true
	if m.WantShutdown && (!b.ShuttingDown || c.image.Leads(m.Node) > 0) {
		s.leave, c.active.chores = true, true
		if s.graceAt == 0 {
			s.graceAt = now.Add(c.cfg.ShutdownGrace)
		}
	}
	if b.Fenced && !m.WantShutdown && !b.ShuttingDown && m.Applied >= message.Version(b.Epoch) {
		s.unfence, c.active.chores = true, true
	}
	out.Send(from, &message.BrokerHeartbeatReply{
		Epoch:       m.Epoch,
		Fenced:      b.Fenced,
		MayShutdown: b.ShuttingDown && c.image.Leads(m.Node) == 0,
		Controller:  c.id,
	})
	c.catchUp(now, from, s, m.Applied, out)
}

// touch renews the session of a broker, or opens one.
func (c *Controller) touch(now message.Time, b *message.BrokerChange) *session {
	a := c.active
	s := a.sessions[b.Node]
	if s == nil || s.epoch != b.Epoch {
		s = &session{epoch: b.Epoch}
		a.sessions[b.Node] = s
	}
	s.deadline = now.Add(c.cfg.SessionTimeout)
	a.expireAt = min(a.expireAt, s.deadline)
	return s
}

// renew gives every unfenced broker a full session: to begin with, and after a
// time in which this controller could not have heard of anybody.
func (c *Controller) renew(now message.Time) {
	for _, b := range c.image.Brokers() {
		if !b.Fenced {
			c.touch(now, b)
		}
	}
}

// forgive renews the sessions when this controller was woken much later than
// it asked for: it was not running, and its silence is not the brokers' fault.
func (c *Controller) forgive(now message.Time) {
	if c.active == nil {
		return
	}
	if at := c.Wake(); at != message.Never && now.Sub(at) > c.cfg.SessionTimeout/2 {
		c.renew(now)
	}
}

// expire turns sessions that ran out into chores.
func (c *Controller) expire(now message.Time) {
	a := c.active
	if a == nil || now < a.expireAt {
		return
	}
	a.expireAt = message.Never
	for _, b := range c.image.Brokers() {
		s := a.sessions[b.Node]
		switch {
		case s == nil:
		case s.deadline > now:
			a.expireAt = min(a.expireAt, s.deadline)
		case b.Fenced:
			delete(a.sessions, b.Node)
		default:
			a.chores = true
		}
	}
}

// note looks at a change that was applied just now. A run of a broker that was
// registered has a session, and its image is empty: a push can go out at once.
func (c *Controller) note(now message.Time, version message.Version, change *message.Change) {
	if c.active == nil {
		return
	}
	if b := change.Broker; b != nil && message.Version(b.Epoch) == version {
		c.touch(now, b).known = true
	}
	c.noteMove(change)
	p := change.Partition
	if p == nil || len(p.ISR) < 2 {
		return
	}
	if p.Leader != p.Replicas[0] && slices.Contains(p.ISR, p.Replicas[0]) {
		c.balanceLater(now)
	}
	// Somebody can take over now from a leader that wants to go.
	if b, s := c.image.Broker(p.Leader), c.active.sessions[p.Leader]; s != nil && b.ShuttingDown {
		s.leave, c.active.chores = true, true
	}
}

// push sends the newest changes to all live brokers.
func (c *Controller) push(now message.Time, out *effect.Out) {
	if len(c.result.Committed) == 0 && c.result.Restored == nil {
		return
	}
	for _, b := range c.image.Brokers() {
		if s := c.active.sessions[b.Node]; s != nil && s.known && s.epoch == b.Epoch && now < s.deadline {
			c.send(now, b.Node, s, out)
		}
	}
}

// catchUp sends what a broker lacks, unless that may still be on its way.
func (c *Controller) catchUp(now message.Time, to message.NodeID, s *session, applied message.Version, out *effect.Out) {
	if !s.known || applied > s.sent || applied < s.sent && now.Sub(s.pushedAt) >= c.cfg.ResendAfter {
		s.known, s.sent = true, applied
	}
	c.send(now, to, s, out)
}

func (c *Controller) send(now message.Time, to message.NodeID, s *session, out *effect.Out) {
	if s.sent >= c.history.last {
		return
	}
	m := &message.MetadataPush{From: s.sent, To: c.image.Version()}
	changes, ok := c.history.since(s.sent)
	if ok && s.sent > 0 {
		m.Changes = changes
	} else {
		m.From, m.Snapshot, m.Changes = 0, true, c.image.Snapshot()
	}
	s.sent, s.pushedAt = m.To, now
	out.Send(to, m)
}
