package controller

import (
	"slices"

	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// register gives a run of a broker its epoch. A new incarnation is taken at
// once, so that a restarted broker is back quickly, and fences the one before
// it; a request of a run that was replaced is turned away, so that a late
// message cannot undo that (KIP-631, KIP-903).
//
// With another disk it waits until the run before it is known to be gone: it is
// fenced, or its session is over. A run that is served well must not lose its
// place, and with it the last copy of a partition, to a late message of a dead run
// on a disk that was replaced since, or to a second process under its number.
//
// The run begins fenced: it leaves every in-sync set and leads nothing. If it
// led, somebody else does, or it will itself, under a new leader epoch: after
// a restart its unflushed tail may be gone. It stays eligible where it was
// needed, because what counted as committed was flushed, but for partitions
// whose log it cannot vouch for; with another disk, for none.
func (c *Controller) register(now message.Time, from message.NodeID, m *message.RegisterBroker) *decision {
	reply := &message.RegisterBrokerReply{Incarnation: m.Incarnation, Report: m.Report, Controller: c.id}
	d := &decision{reply: reply}
	old := c.image.Broker(m.Node)
	switch {
	case m.Node < 1 || from != m.Node:
		reply.Code = message.InvalidRequest
		return d
	case m.ClusterID != c.image.ClusterID():
		reply.Code = message.ClusterIDMismatch
		return d
	case old != nil && old.Incarnation == m.Incarnation:
		reply.Epoch = old.Epoch
		if news(old, m) {
			state := *old
			state.Report = m.Report
			d.changes = append(c.disown(m.Node, m.Damaged), message.Change{Broker: &state})
		}
		return d
	case old != nil && old.DiskID != m.DiskID && c.alive(now, old):
		reply.Code = message.DuplicateBrokerRegistration
		return d
	case slices.Contains(c.active.superseded[m.Node], m.Incarnation):
		// A late message, or the live run, which a late message of a dead one has
		// replaced. The live one takes another incarnation; nobody hears what a
		// dead one is told.
		reply.Code = message.StaleBrokerEpoch
		return d
	}
	reply.Epoch = message.BrokerEpoch(c.quorum.Next())
	d.changes = append(d.changes, message.Change{Broker: &message.BrokerChange{
		Node: m.Node, Epoch: reply.Epoch, Incarnation: m.Incarnation, DiskID: m.DiskID,
		Address: m.Address, Rack: m.Rack, Fenced: true, Draining: old != nil && old.Draining, Report: m.Report,
	}})
	if old == nil {
		return d
	}
	c.supersede(m.Node, old.Incarnation)
	damaged := make(map[record.PartitionID]bool, len(m.Damaged))
	for _, id := range m.Damaged {
		damaged[id] = true
	}
	r := c.rulesWithout(m.Node)
	r.lost = func(p *message.PartitionChange, n message.NodeID) bool {
		return n == m.Node && (m.DiskID != old.DiskID || damaged[p.ID])
	}
	d.changes = c.leaveISRs(d.changes, m.Node, r)
	return d
}

// alive says whether the registered run of a broker may still be there: it has spoken
// since it was registered, and its session is not over. One process holds a disk, so
// a run on another disk is dead then, or a second process under one number.
func (c *Controller) alive(now message.Time, b *message.BrokerChange) bool {
	s := c.active.sessions[b.Node]
	return !b.Fenced || s != nil && s.epoch == b.Epoch && s.spoke && now < s.deadline
}

// news says whether a registration of a run that is registered tells of damage that
// was found since. A repeat, which waited here or came late, must change nothing: the
// replica may have been put in order since, be back in sync, or lead by an operator's
// choice. What was taken stands in the image, so that the next controller knows it, too.
func news(registered *message.BrokerChange, m *message.RegisterBroker) bool {
	return m.Report > registered.Report
}

// disown takes a running broker out of the in-sync and eligible sets of
// partitions whose log it has found damaged, and has others lead them.
func (c *Controller) disown(n message.NodeID, damaged []record.PartitionID) []message.Change {
	r := c.rulesWithout(n)
	r.lost = func(_ *message.PartitionChange, node message.NodeID) bool { return node == n }
	var changes []message.Change
	for _, id := range damaged {
		p := c.image.Partition(id)
		if p == nil || !slices.Contains(p.ISR, n) && !slices.Contains(p.ELR, n) {
			continue
		}
		if next := r.next(p, without(p.ISR, n)); next != nil {
			changes = append(changes, message.Change{Partition: next})
		}
	}
	return changes
}

// supersede remembers the last few replaced runs of a broker.
func (c *Controller) supersede(n message.NodeID, incarnation uint64) {
	const remembered = 8
	list := append(c.active.superseded[n], incarnation)
	if len(list) > remembered {
		list = slices.Delete(list, 0, 1)
	}
	c.active.superseded[n] = list
}

// rulesWithout are those that hold when a broker no longer leads. Others that are
// on their way out do as long as nobody can take over.
func (c *Controller) rulesWithout(leaver message.NodeID) *rules {
	return &rules{
		image: c.image,
		able:  func(n message.NodeID) bool { return n != leaver && c.able(n) },
		there: func(n message.NodeID) bool { return n != leaver && c.image.Live(n) },
	}
}

// leaveISRs takes a broker out of all in-sync sets, and moves what it led.
func (c *Controller) leaveISRs(changes []message.Change, n message.NodeID, r *rules) []message.Change {
	for p := range c.image.Partitions() {
		if !slices.Contains(p.ISR, n) && !slices.Contains(p.ELR, n) {
			continue
		}
		if next := r.next(p, without(p.ISR, n)); next != nil {
			changes = append(changes, message.Change{Partition: next})
		}
	}
	return changes
}

// chore makes the most urgent decision that nobody asked for.
func (c *Controller) chore(now message.Time) *decision {
	a := c.active
	if a.chores {
		for _, b := range c.image.Brokers() {
			s := a.sessions[b.Node]
			if s == nil || s.epoch != b.Epoch {
				continue
			}
			if d := c.choreOf(now, b, s); d != nil {
				return d
			}
		}
		a.chores = false
	}
	if d := c.moves(); d != nil {
		return d
	}
	if d := c.drain(); d != nil {
		return d
	}
	if now >= a.balanceAt {
		return c.balance()
	}
	return nil
}

func (c *Controller) choreOf(now message.Time, b *message.BrokerChange, s *session) *decision {
	switch {
	case now >= s.deadline && !b.Fenced:
		return c.fence(b)
	case s.leave:
		s.leave = false
		return c.leave(now, b, s)
	case s.unfence && b.Fenced && !b.ShuttingDown && now < s.deadline:
		s.unfence = false
		return c.unfence(b)
	}
	s.unfence = false
	return nil
}

// fence takes a broker out of service: nobody has heard of it, or it leaves.
func (c *Controller) fence(b *message.BrokerChange) *decision {
	state := *b
	state.Fenced = true
	changes := []message.Change{{Broker: &state}}
	return &decision{changes: c.leaveISRs(changes, b.Node, c.rulesWithout(b.Node))}
}

// unfence lets a broker serve, and lead what has no leader and needs it.
func (c *Controller) unfence(b *message.BrokerChange) *decision {
	state := *b
	state.Fenced = false
	d := &decision{changes: []message.Change{{Broker: &state}}}
	r := &rules{image: c.image, able: func(n message.NodeID) bool { return n == b.Node || c.able(n) }}
	for p := range c.image.Partitions() {
		if p.Leader != message.NoNode || !slices.Contains(p.Replicas, b.Node) {
			continue
		}
		if next := r.next(p, p.ISR); next != nil {
			d.changes = append(d.changes, message.Change{Partition: next})
		}
	}
	return d
}

// leave moves a broker that wants to shut down out of the way: leaderships
// first, and out of every in-sync set that has others. Where it is the last
// one it goes on leading until somebody can take over, or the grace is over.
func (c *Controller) leave(now message.Time, b *message.BrokerChange, s *session) *decision {
	d := &decision{}
	if !b.ShuttingDown {
		state := *b
		state.ShuttingDown = true
		d.changes = append(d.changes, message.Change{Broker: &state})
	}
	r := c.rulesWithout(b.Node)
	r.there = c.image.Live
	for p := range c.image.Partitions() {
		if !slices.Contains(p.ISR, b.Node) {
			continue
		}
		isr := p.ISR
		if len(isr) > 1 {
			isr = without(isr, b.Node)
		}
		if next := r.next(p, isr); next != nil {
			d.changes = append(d.changes, message.Change{Partition: next})
		}
	}
	switch {
	case len(d.changes) > 0:
		return d
	case !b.Fenced && now >= s.graceAt:
		return c.fence(b)
	}
	return nil
}

// allocate hands out a block of producer ids. Ids of a block whose reply is
// lost are never used (KIP-730).
func (c *Controller) allocate(m *message.AllocateProducerIDs) *decision {
	reply := &message.AllocateProducerIDsReply{Request: m.Request, Controller: c.id}
	d := &decision{reply: reply}
	if b := c.image.Broker(m.Node); b == nil || b.Epoch != m.Epoch {
		reply.Code = message.StaleBrokerEpoch
		return d
	}
	reply.First, reply.Count = c.image.NextProducerID(), c.cfg.ProducerIDBlock
	next := reply.First + record.ProducerID(reply.Count)
	d.changes = []message.Change{{ProducerIDs: &message.ProducerIDsChange{Next: next}}}
	return d
}
