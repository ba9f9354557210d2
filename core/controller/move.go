package controller

import (
	"fmt"
	"slices"

	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/metadata"
	"github.com/tamarack-mq/tamarack/core/record"
)

// How a partition moves to other replicas (KIP-455). The new ones are added to
// its replicas, copy as any follower does, and join the in-sync set by their
// leader's proposal. When all of them are in it, and enough of the target with
// them, the leadership goes to the target if it is not there, and then, with
// another decision, the replicas become the target: under a new leader epoch,
// so that nothing that was heard of those who left can count when they come
// back. Until then the move can be called off, and the original replicas are
// what is left.

// alterReassignments begins moves, calls them off, and sets the throttle.
func (c *Controller) alterReassignments(m *message.AlterReassignments) *decision {
	reply := &message.AlterReassignmentsReply{}
	d := &decision{reply: reply}
	if m.Throttle < -1 || m.Throttle > message.LargestThrottle {
		reply.Code, reply.Detail = message.InvalidRequest, "the throttle is a number of bytes a second, at most 1 TiB, or -1 for no limit"
		return d
	}
	if rate := max(0, m.Throttle); m.Throttle != 0 && rate != c.image.Throttle() {
		d.changes = append(d.changes, message.Change{Throttle: &message.ThrottleChange{BytesPerSecond: rate}})
	}
	seen := make(map[record.PartitionID]bool, len(m.Partitions))
	for _, r := range m.Partitions {
		outcome := message.AlteredReassignment{ID: r.ID}
		p := c.image.Partition(r.ID)
		var next *message.PartitionChange
		switch {
		case seen[r.ID]:
			outcome.Code, outcome.Detail = message.InvalidRequest, "the partition is named twice"
		case p == nil:
			outcome.Code = message.UnknownTopicOrPartition
		case len(r.Replicas) == 0:
			next, outcome.Code, outcome.Detail = c.callOff(p)
		default:
			next, outcome.Code, outcome.Detail = c.moveTo(p, r.Replicas)
		}
		seen[r.ID] = true
		if next != nil {
			d.changes = append(d.changes, message.Change{Partition: next})
		}
		reply.Partitions = append(reply.Partitions, outcome)
	}
	return d
}

// moveTo begins the move of a partition. One that is under way is replaced:
// what it has added stays until the new one is over, since records may be
// committed there.
func (c *Controller) moveTo(p *message.PartitionChange, target []message.NodeID) (*message.PartitionChange, message.Code, string) {
	if why := c.unfit(p, target); why != "" {
		return nil, message.InvalidReplicaAssignment, why
	}
	switch {
	case slices.Equal(target, p.Target):
		return nil, message.None, ""
	case slices.Equal(target, metadata.Original(p)):
		if metadata.Moving(p) {
			return c.callOff(p)
		}
		return nil, message.None, ""
	}
	next := *p
	next.Target = slices.Clone(target)
	next.PartitionEpoch++
	for _, n := range target {
		if !slices.Contains(next.Replicas, n) {
			next.Replicas = append(slices.Clip(next.Replicas), n)
			next.Adding = append(slices.Clip(next.Adding), n)
		}
	}
	return &next, message.None, ""
}

// unfit says why a partition may not move to a target.
func (c *Controller) unfit(p *message.PartitionChange, target []message.NodeID) string {
	for i, n := range target {
		switch b := c.image.Broker(n); {
		case slices.Contains(target[:i], n):
			return fmt.Sprintf("broker %d is named twice", n)
		case b == nil:
			return fmt.Sprintf("broker %d is not registered", n)
		case b.Draining: // to keep one there, among more than before, may leave it no way out
			return fmt.Sprintf("broker %d is being drained: it holds no replicas until that is taken back", n)
		}
	}
	if least := int(c.image.Topic(p.ID.Topic).Config.MinInsync); len(target) < least {
		return fmt.Sprintf("%d replicas are fewer than min.insync.replicas, %d", len(target), least)
	}
	return ""
}

// fewest is how many replicas a partition may come down to: those of before its
// move, or those of its target.
func fewest(p *message.PartitionChange) int {
	if metadata.Moving(p) {
		return min(metadata.Factor(p), len(p.Target))
	}
	return len(p.Replicas)
}

// callOff returns a partition to its original replicas. What the added ones
// alone hold would be lost by that, so it waits until those that stay hold
// everything as often as min.insync asks for.
func (c *Controller) callOff(p *message.PartitionChange) (*message.PartitionChange, message.Code, string) {
	if !metadata.Moving(p) {
		return nil, message.NoReassignmentInProgress, "the partition is not on its way to other replicas"
	}
	base := *p
	base.Replicas, base.Adding, base.Target = metadata.Original(p), nil, nil
	r := &rules{image: c.image, able: c.able}
	isr := r.inOrder(&base, p.ISR)
	elr := r.eligible(&base, isr)
	leader := p.Leader
	if slices.Contains(p.Adding, leader) {
		leader, _ = r.elect(&base, isr)
		if !slices.Contains(isr, leader) {
			leader = message.NoNode
		}
	}
	counted := func(n message.NodeID) bool { return slices.Contains(p.ISR, n) || slices.Contains(p.ELR, n) }
	if slices.ContainsFunc(p.Adding, counted) && (leader == message.NoNode || len(isr)+len(elr) < r.minInsync(p)) {
		return nil, message.EligibleLeadersNotAvailable, fmt.Sprintf(
			"of the replicas of before, %v, only %v are in sync, and others of the move may hold what those lack: wait until they have caught up",
			base.Replicas, isr)
	}
	next := successor(&base, leader, isr, elr)
	if len(p.Adding) > 0 && next.LeaderEpoch == p.LeaderEpoch {
		next.LeaderEpoch++
	}
	return next, message.None, ""
}

// finish is the next step towards the end of a move, or nil while it must wait
// for replicas to catch up.
func (c *Controller) finish(p *message.PartitionChange) *message.PartitionChange {
	base := *p
	base.Replicas, base.Adding, base.Target = p.Target, nil, nil
	r := &rules{image: c.image, able: c.able}
	isr := r.inOrder(&base, p.ISR)
	for _, n := range p.Target {
		if slices.Contains(p.Adding, n) && !slices.Contains(isr, n) {
			return nil
		}
	}
	if len(isr) < r.minInsync(&base) || p.Leader == message.NoNode {
		return nil
	}
	if !slices.Contains(isr, p.Leader) {
		leader, _ := r.elect(&base, isr)
		if leader == message.NoNode || !slices.Contains(isr, leader) {
			return nil
		}
		return successor(p, leader, p.ISR, p.ELR)
	}
	next := successor(&base, p.Leader, isr, r.eligible(&base, isr))
	if len(p.Target) < len(p.Replicas) {
		next.LeaderEpoch++
	}
	return next
}

// noteMove looks at a change for what it means for moves.
func (c *Controller) noteMove(change *message.Change) {
	a := c.active
	switch {
	case change.Partition != nil && metadata.Moving(change.Partition):
		a.moved = append(a.moved, change.Partition.ID)
	case change.Topic != nil: // perhaps min.insync is another one
		if t := c.image.Topic(change.Topic.ID); t != nil && c.image.Moving() > 0 {
			for _, p := range t.Partitions {
				a.moved = append(a.moved, p.ID)
			}
		}
	}
	if c.image.Draining() > 0 && (change.Partition != nil || change.Broker != nil) {
		a.drain = true
		if change.Broker != nil || slices.ContainsFunc(change.Partition.Target, c.image.Shuns) {
			a.redirect = true
		}
	}
}

// resumeMoves has a controller that begins to decide look at every move.
func (c *Controller) resumeMoves() {
	a := c.active
	a.drain = c.image.Draining() > 0
	a.redirect = a.drain
	if c.image.Moving() == 0 {
		return
	}
	for p := range c.image.Partitions() {
		if metadata.Moving(p) {
			a.moved = append(a.moved, p.ID)
		}
	}
}

// moves takes moves further whose partitions have changed.
func (c *Controller) moves() *decision {
	const atOnce = 1000
	a := c.active
	d := &decision{}
	seen := map[record.PartitionID]bool{}
	for len(a.moved) > 0 && len(d.changes) < atOnce {
		id := a.moved[0]
		a.moved = a.moved[1:]
		p := c.image.Partition(id)
		if p == nil || !metadata.Moving(p) || seen[id] {
			continue
		}
		seen[id] = true
		if next := c.finish(p); next != nil {
			d.changes = append(d.changes, message.Change{Partition: next})
		}
	}
	if len(d.changes) == 0 {
		a.moved = nil
		return nil
	}
	return d
}
