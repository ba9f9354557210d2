package controller

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// electLeaders moves leaderships by hand (KIP-460).
func (c *Controller) electLeaders(m *message.ElectLeaders) *decision {
	reply := &message.ElectLeadersReply{}
	d := &decision{reply: reply}
	try := func(id record.PartitionID, all bool) {
		outcome, next := c.electOne(id, m)
		if all && outcome.Code == message.ElectionNotNeeded {
			return
		}
		if next != nil {
			d.changes = append(d.changes, message.Change{Partition: next})
		}
		reply.Partitions = append(reply.Partitions, outcome)
	}
	if m.Leader != message.NoNode && (m.Unclean || len(m.Partitions) == 0) {
		reply.Code = message.InvalidRequest // a named leader is for named partitions, and never unclean
		return d
	}
	if len(m.Partitions) == 0 {
		for p := range c.image.Partitions() {
			try(p.ID, true)
		}
		return d
	}
	seen := make(map[record.PartitionID]bool, len(m.Partitions))
	for _, id := range m.Partitions {
		if seen[id] {
			continue
		}
		seen[id] = true
		try(id, false)
	}
	return d
}

func (c *Controller) electOne(id record.PartitionID, m *message.ElectLeaders) (message.ElectedLeader, *message.PartitionChange) {
	outcome := message.ElectedLeader{ID: id}
	p := c.image.Partition(id)
	if p == nil {
		outcome.Code = message.UnknownTopicOrPartition
		return outcome, nil
	}
	outcome.Leader, outcome.LeaderEpoch = p.Leader, p.LeaderEpoch
	wanted := cmp.Or(m.Leader, p.Replicas[0])
	var next *message.PartitionChange
	switch {
	case m.Unclean && p.Leader != message.NoNode, !m.Unclean && p.Leader == wanted:
		outcome.Code = message.ElectionNotNeeded
		outcome.Detail = fmt.Sprintf("broker %d leads", p.Leader)
		return outcome, nil
	case m.Unclean:
		next, outcome.Detail = c.uncleanly(p)
	case m.Leader != message.NoNode:
		next = c.leadBy(p, m.Leader)
	default:
		next = c.preferred(p)
	}
	if next == nil {
		outcome.Code = message.EligibleLeadersNotAvailable
		if outcome.Detail == "" {
			outcome.Detail = fmt.Sprintf("broker %d is not running, not in sync, or being drained", wanted)
		}
		return outcome, nil
	}
	outcome.Leader, outcome.LeaderEpoch = next.Leader, next.LeaderEpoch
	return outcome, next
}

// preferred moves leadership to the first of the assignment, or, with no
// leader at all, to whoever may have it; nil when neither can be.
func (c *Controller) preferred(p *message.PartitionChange) *message.PartitionChange {
	if p.Leader == message.NoNode {
		r := &rules{image: c.image, able: c.able}
		return r.next(p, p.ISR)
	}
	return c.leadBy(p, p.Replicas[0])
}

// leadBy moves leadership to one replica; nil when that cannot have it.
func (c *Controller) leadBy(p *message.PartitionChange, n message.NodeID) *message.PartitionChange {
	if n == p.Leader || !slices.Contains(p.ISR, n) || !c.able(n) || c.image.Shuns(n) {
		return nil
	}
	return successor(p, n, p.ISR, p.ELR)
}

// uncleanly makes any live replica the leader of a partition that no eligible
// one can lead. Records are given up by it, and the reply says whose.
func (c *Controller) uncleanly(p *message.PartitionChange) (*message.PartitionChange, string) {
	r := &rules{image: c.image, able: c.able}
	if next := r.next(p, p.ISR); next != nil && next.Leader != message.NoNode {
		return next, "an eligible replica was available: nothing is given up"
	}
	for _, n := range p.Replicas {
		if !c.able(n) {
			continue
		}
		next := successor(p, n, []message.NodeID{n}, nil)
		next.Unclean = true
		return next, fmt.Sprintf("unclean: broker %d leads although it was not in sync; every record that it lacks is "+
			"given up, also acknowledged ones held by the in-sync %v or the eligible %v", n, p.ISR, p.ELR)
	}
	return nil, fmt.Sprintf("none of the replicas %v is running", p.Replicas)
}

// balanceLater plans to give leaderships back to preferred replicas.
func (c *Controller) balanceLater(now message.Time) {
	if c.cfg.BalanceAfter >= 0 && c.active.balanceAt == message.Never {
		c.active.balanceAt = now.Add(c.cfg.BalanceAfter)
	}
}

// balance moves leaderships to their preferred replicas, many at a time.
func (c *Controller) balance() *decision {
	const atOnce = 1000
	d := &decision{}
	for p := range c.image.Partitions() {
		if p.Leader == message.NoNode {
			continue
		}
		if next := c.preferred(p); next != nil {
			d.changes = append(d.changes, message.Change{Partition: next})
			if len(d.changes) == atOnce {
				return d // and look again after it
			}
		}
	}
	c.active.balanceAt = message.Never
	return d
}
