package controller

import (
	"slices"

	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/metadata"
)

// rules give the next state of partitions. They are the one place where
// leaders, in-sync and eligible sets are decided.
type rules struct {
	image *metadata.Image
	// able says who may lead.
	able func(message.NodeID) bool
	// lost says, where it is set, whose copy of a partition is no longer to be
	// counted on: it leaves the in-sync and the eligible set.
	lost func(p *message.PartitionChange, n message.NodeID) bool
	// there says, where it is set, who goes on leading although it is not able to
	// when nobody can take over: it is shutting down but still there.
	there func(message.NodeID) bool
	// config are the settings of the topic in place of the image's: those that
	// are decided with it.
	config *message.TopicConfig
}

// able says whether a broker may lead: registered, unfenced and not on its way
// out.
func (c *Controller) able(n message.NodeID) bool {
	b := c.image.Broker(n)
	return b != nil && !b.Fenced && !b.ShuttingDown
}

// next returns the state of p with another in-sync set, or nil when that makes
// no difference. The leader epoch rises with every change of leadership and
// with nothing else, the partition epoch with every change.
func (r *rules) next(p *message.PartitionChange, isr []message.NodeID) *message.PartitionChange {
	isr = r.inOrder(p, isr)
	leader := p.Leader
	if leader == message.NoNode || !slices.Contains(isr, leader) || !r.able(leader) {
		leader, isr = r.elect(p, isr)
	}
	if leader == message.NoNode && r.there != nil && slices.Contains(isr, p.Leader) && r.there(p.Leader) {
		leader = p.Leader
	}
	elr := r.eligible(p, isr)
	if leader == p.Leader && slices.Equal(isr, p.ISR) && slices.Equal(elr, p.ELR) {
		return nil
	}
	return successor(p, leader, isr, elr)
}

// elect chooses a leader: the first able replica in assignment order from the
// in-sync set, else from the eligible ones, who then is the only one in sync
// (KIP-966), else nobody.
func (r *rules) elect(p *message.PartitionChange, isr []message.NodeID) (message.NodeID, []message.NodeID) {
	if n := r.first(p, isr); n != message.NoNode {
		return n, isr
	}
	if n := r.first(p, r.eligible(p, isr)); n != message.NoNode {
		return n, []message.NodeID{n}
	}
	return message.NoNode, isr
}

// first is the first able replica of a set, in assignment order. One that is
// being drained comes last.
func (r *rules) first(p *message.PartitionChange, set []message.NodeID) message.NodeID {
	last := message.NoNode
	for _, n := range p.Replicas {
		switch {
		case !slices.Contains(set, n) || !r.able(n):
		case !r.image.Shuns(n):
			return n
		case last == message.NoNode:
			last = n
		}
	}
	return last
}

// eligible is the eligible set beside a new in-sync set: while that is below
// min.insync the high watermark cannot move, so whoever leaves it still holds
// every committed record (KIP-966).
func (r *rules) eligible(p *message.PartitionChange, isr []message.NodeID) []message.NodeID {
	if len(isr) >= r.minInsync(p) {
		return nil
	}
	var elr []message.NodeID
	for _, n := range p.Replicas {
		was := slices.Contains(p.ISR, n) || slices.Contains(p.ELR, n)
		if was && !slices.Contains(isr, n) && !(r.lost != nil && r.lost(p, n)) {
			elr = append(elr, n)
		}
	}
	return elr
}

func (r *rules) minInsync(p *message.PartitionChange) int {
	config := r.config
	if config == nil {
		config = &r.image.Topic(p.ID.Topic).Config
	}
	return config.LeastInsync(metadata.Factor(p))
}

// inOrder puts an in-sync set into assignment order, without what is lost.
func (r *rules) inOrder(p *message.PartitionChange, isr []message.NodeID) []message.NodeID {
	ordered := make([]message.NodeID, 0, len(isr))
	for _, n := range p.Replicas {
		if slices.Contains(isr, n) && !(r.lost != nil && r.lost(p, n)) {
			ordered = append(ordered, n)
		}
	}
	return ordered
}

// successor is p after one more change.
func successor(p *message.PartitionChange, leader message.NodeID, isr, elr []message.NodeID) *message.PartitionChange {
	next := *p
	next.ISR, next.ELR = isr, elr
	next.PartitionEpoch++
	if leader != p.Leader {
		next.Leader = leader
		next.LeaderEpoch++
		next.Unclean = false
	}
	return &next
}

// without returns a set less one member.
func without(set []message.NodeID, n message.NodeID) []message.NodeID {
	rest := make([]message.NodeID, 0, len(set))
	for _, m := range set {
		if m != n {
			rest = append(rest, m)
		}
	}
	return rest
}
