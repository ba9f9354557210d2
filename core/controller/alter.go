package controller

import (
	"slices"

	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// alter decides over in-sync sets that a leader proposes. Each is a
// compare-and-set on the leader epoch and the partition epoch (KIP-497).
func (c *Controller) alter(m *message.AlterPartition) *decision {
	reply := &message.AlterPartitionReply{Request: m.Request, Controller: c.id}
	d := &decision{reply: reply}
	if b := c.image.Broker(m.Node); b == nil || b.Epoch != m.Epoch {
		reply.Code = message.StaleBrokerEpoch
		return d
	}
	reply.Partitions = make([]message.AlteredISR, 0, len(m.Partitions))
	seen := make(map[record.PartitionID]bool, len(m.Partitions))
	// A leader on its way out stays until the change is committed: whoever is
	// elected was in sync, or eligible, before.
	r := &rules{image: c.image, able: c.image.Live}
	for i := range m.Partitions {
		proposal := &m.Partitions[i]
		outcome := message.AlteredISR{ID: proposal.ID}
		if seen[proposal.ID] {
			outcome.Code = message.InvalidRequest
			reply.Partitions = append(reply.Partitions, outcome)
			continue
		}
		seen[proposal.ID] = true
		p := c.image.Partition(proposal.ID)
		outcome.Code = c.judge(m.Node, p, proposal)
		if outcome.Code == message.None {
			next := r.next(p, nodes(proposal.ISR))
			if next == nil { // it is so already: the leader wants all that it proposed before to be void
				next = successor(p, p.Leader, p.ISR, p.ELR)
			}
			d.changes = append(d.changes, message.Change{Partition: next})
			outcome.PartitionEpoch = next.PartitionEpoch
		}
		reply.Partitions = append(reply.Partitions, outcome)
	}
	return d
}

func nodes(members []message.Member) []message.NodeID {
	ids := make([]message.NodeID, len(members))
	for i, m := range members {
		ids[i] = m.Node
	}
	return ids
}

// judge says whether a leader may have the in-sync set that it proposes.
func (c *Controller) judge(leader message.NodeID, p *message.PartitionChange, proposal *message.AlterISR) message.Code {
	switch {
	case p == nil && c.image.Topic(proposal.ID.Topic) == nil:
		return message.UnknownTopicID
	case p == nil:
		return message.UnknownTopicOrPartition
	case proposal.LeaderEpoch < p.LeaderEpoch:
		return message.FencedLeaderEpoch
	case proposal.LeaderEpoch > p.LeaderEpoch || proposal.PartitionEpoch > p.PartitionEpoch:
		return message.NotController // it knows of changes that this one does not
	case p.Leader != leader:
		return message.InvalidRequest
	case proposal.PartitionEpoch < p.PartitionEpoch:
		return message.InvalidUpdateVersion
	}
	ids := nodes(proposal.ISR)
	if !slices.Contains(ids, leader) {
		return message.InvalidRequest
	}
	for i, n := range ids {
		if !slices.Contains(p.Replicas, n) || slices.Contains(ids[:i], n) {
			return message.InvalidRequest
		}
	}
	for _, member := range proposal.ISR {
		if !c.mayBeInSync(p, member) {
			return message.IneligibleReplica
		}
	}
	return message.None
}

// mayBeInSync says whether a broker may be in sync: in the very run in which
// it was seen to have caught up (KIP-903), unfenced and, if it is not a member
// yet, not shutting down (KIP-841). A member that leaves may stay until
// somebody can take over from it.
func (c *Controller) mayBeInSync(p *message.PartitionChange, m message.Member) bool {
	b := c.image.Broker(m.Node)
	if b == nil || b.Fenced || b.Epoch != m.Epoch {
		return false
	}
	return !b.ShuttingDown || slices.Contains(p.ISR, m.Node)
}
