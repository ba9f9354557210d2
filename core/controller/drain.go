package controller

import (
	"fmt"
	"slices"

	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/metadata"
)

// drainBroker decides that a broker is to hold nothing, or may hold something
// again. What follows from it are chores: see drain.
func (c *Controller) drainBroker(m *message.DrainBroker) *decision {
	reply := &message.DrainBrokerReply{}
	d := &decision{reply: reply}
	b := c.image.Broker(m.Node)
	switch {
	case b == nil:
		reply.Code, reply.Detail = message.BrokerIDNotRegistered, fmt.Sprintf("broker %d is not registered", m.Node)
		return d
	case b.Draining != m.Undo:
		return d // it is so already
	}
	if !m.Undo {
		if most, others := c.mostReplicas(m.Node), c.others(m.Node); most > others {
			reply.Code = message.InvalidReplicationFactor
			reply.Detail = fmt.Sprintf("partitions on brokers that are drained would have %d replicas, but besides broker %d only %d brokers are there to hold them", most, m.Node, others)
			return d
		}
	}
	state := *b
	state.Draining = !m.Undo
	d.changes = []message.Change{{Broker: &state}}
	return d
}

// mostReplicas is the highest replication factor of what has to move when a broker
// is drained: of what it holds, and of what those hold that are being drained
// already. These may need the broker although it holds nothing itself.
func (c *Controller) mostReplicas(n message.NodeID) (most int) {
	leaves := func(m message.NodeID) bool { return m == n || c.image.Shuns(m) }
	for p := range c.image.Partitions() {
		if slices.ContainsFunc(p.Replicas, leaves) {
			most = max(most, metadata.Factor(p), len(p.Target))
		}
	}
	return most
}

// others counts the brokers besides one that may be given replicas.
func (c *Controller) others(n message.NodeID) (count int) {
	for _, b := range c.image.Brokers() {
		if b.Node != n && !b.Draining {
			count++
		}
	}
	return count
}

// unregister forgets a broker that holds nothing. A registration that its last
// run had sent may still come; it is turned away like that of any run that was
// replaced.
func (c *Controller) unregister(m *message.UnregisterBroker) *decision {
	reply := &message.UnregisterBrokerReply{}
	d := &decision{reply: reply}
	b := c.image.Broker(m.Node)
	switch held := c.image.Hosts(m.Node); {
	case b == nil:
		reply.Code, reply.Detail = message.BrokerIDNotRegistered, fmt.Sprintf("broker %d is not registered", m.Node)
	case c.holdsLog(m.Node):
		reply.Code, reply.Detail = message.InvalidRequest, fmt.Sprintf("node %d is a controller: remove it from those first", m.Node)
	case held > 0:
		reply.Code, reply.Detail = message.InvalidRequest, fmt.Sprintf("broker %d still holds %d replicas: drain it first, and wait until it is empty", m.Node, held)
	case !b.Fenced:
		reply.Code, reply.Detail = message.InvalidRequest, fmt.Sprintf("broker %d is running: stop it first", m.Node)
	default:
		c.supersede(m.Node, b.Incarnation)
		d.changes = []message.Change{{RemoveBroker: &message.RemoveBrokerChange{Node: m.Node, Epoch: b.Epoch}}}
	}
	return d
}

// drain takes leaderships, then replicas away from brokers that are being
// drained. It keeps no plan: each time it looks at what is still there, so that
// another controller goes on where this one ended, and what failed is tried
// again when something has changed.
func (c *Controller) drain() *decision {
	const atOnce = 1000
	a := c.active
	if !a.drain {
		return nil
	}
	redirect := a.redirect
	a.drain, a.redirect = false, false
	room := c.cfg.MovesAtOnce - c.image.Moving()
	if !redirect && !c.worthDraining(room) {
		return nil
	}
	brokers, racks := c.candidates()
	onRack := make([]int, racks)
	d := &decision{}
	for p := range c.image.Partitions() {
		next := c.leadElsewhere(p)
		if under := metadata.Moving(p); next == nil && (room > 0 || under) {
			if next = c.moveOff(p, brokers, onRack); next != nil && !under {
				room--
			}
		}
		if next == nil {
			continue
		}
		d.changes = append(d.changes, message.Change{Partition: next})
		if len(d.changes) == atOnce {
			a.drain, a.redirect = true, redirect
			break
		}
	}
	if len(d.changes) == 0 {
		return nil
	}
	return d
}

// worthDraining says whether a look at all partitions can bring anything: there
// are leaderships to take away, or replicas, and room for a good many moves.
func (c *Controller) worthDraining(room int) bool {
	replicas := 0
	for _, b := range c.image.Brokers() {
		if b.Draining {
			if c.image.Leads(b.Node) > 0 {
				return true
			}
			replicas += c.image.Hosts(b.Node)
		}
	}
	return replicas > 0 && room > c.cfg.MovesAtOnce/2
}

// leadElsewhere gives a partition that a broker leads which is being drained to
// another one in sync, or returns nil.
func (c *Controller) leadElsewhere(p *message.PartitionChange) *message.PartitionChange {
	if !c.image.Shuns(p.Leader) {
		return nil
	}
	for _, n := range p.Replicas {
		if slices.Contains(p.ISR, n) && c.able(n) && !c.image.Shuns(n) {
			return successor(p, n, p.ISR, p.ELR)
		}
	}
	return nil
}

// moveOff begins the move of a partition from brokers that are being drained to
// others, which are chosen as those of new partitions are. When the partition is on
// its way to the one that is drained, those that it comes from are among them, and
// perhaps the only ones. It returns nil when there is nothing to move, nobody to
// move it to, or nobody to copy from.
func (c *Controller) moveOff(p *message.PartitionChange, brokers []candidate, onRack []int) *message.PartitionChange {
	of := p.Replicas
	if metadata.Moving(p) {
		of = p.Target
	}
	if p.Leader == message.NoNode || !slices.ContainsFunc(of, c.image.Shuns) {
		return nil
	}
	clear(onRack)
	for i := range brokers {
		if b := &brokers[i]; slices.Contains(of, b.id) {
			onRack[b.rack]++
		}
	}
	target, taken := slices.Clone(of), slices.Clone(of)
	for i, n := range target {
		if !c.image.Shuns(n) {
			continue
		}
		b := c.choose(brokers, taken, onRack, i == 0)
		if b == nil || !b.able {
			return nil
		}
		target[i], taken = b.id, append(taken, b.id)
		onRack[b.rack]++
		b.replicas++
		if i == 0 {
			b.leads++
		}
	}
	next, _, _ := c.moveTo(p, target)
	return next
}
