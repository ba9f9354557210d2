package core

import (
	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/metadata"
)

// describe answers a Metadata request from this broker's image.
func (n *Node) describe(now message.Time, token message.Token, r *message.Metadata, out *effect.Out) {
	if n.image.Version() == 0 {
		out.Reply(token, &message.Refused{
			Code:   message.BrokerNotAvailable,
			Detail: "node " + n.cfg.ID.String() + " has not heard from a controller yet: try again, or another node",
		})
		return
	}
	m := &message.MetadataReply{
		ClusterID: n.image.ClusterID(), Version: n.image.Version(), Controller: n.life.target,
		ControllerSilent: n.life.unheard(now), Throttle: n.image.Throttle(),
	}
	if c := n.image.Controllers(); c != nil {
		m.Voters, m.Learners = c.Voters, c.Learners
	}
	for _, b := range n.image.Brokers() {
		m.Brokers = append(m.Brokers, message.BrokerInfo{
			ID: b.Node, Address: b.Address, Rack: b.Rack, Epoch: b.Epoch, Fenced: b.Fenced, Draining: b.Draining,
			Replicas: int32(n.image.Hosts(b.Node)), Leads: int32(n.image.Leads(b.Node)),
		})
	}
	if r.Topics == nil && r.IDs == nil {
		for _, t := range n.image.Topics() {
			m.Topics = append(m.Topics, describeTopic(t))
		}
	}
	for _, name := range once(r.Topics) {
		if t := n.image.TopicNamed(name); t != nil {
			m.Topics = append(m.Topics, describeTopic(t))
		} else {
			m.Topics = append(m.Topics, message.TopicInfo{Code: message.UnknownTopicOrPartition, Name: name})
		}
	}
	for _, id := range once(r.IDs) {
		if t := n.image.Topic(id); t != nil {
			m.Topics = append(m.Topics, describeTopic(t))
		} else {
			m.Topics = append(m.Topics, message.TopicInfo{Code: message.UnknownTopicID, ID: id})
		}
	}
	out.Reply(token, m)
}

// once drops what comes again, so that the size of a reply is bounded by the
// cluster's and not by how often a client asks for the same.
func once[T comparable](list []T) []T {
	seen := make(map[T]struct{}, len(list))
	kept := make([]T, 0, len(list))
	for _, v := range list {
		if _, again := seen[v]; !again {
			seen[v] = struct{}{}
			kept = append(kept, v)
		}
	}
	return kept
}

func describeTopic(t *metadata.Topic) message.TopicInfo {
	info := message.TopicInfo{
		Name: t.Name, ID: t.ID, Internal: t.Config.Internal, Config: t.Config,
		Partitions: make([]message.PartitionInfo, len(t.Partitions)),
	}
	for i, p := range t.Partitions {
		// A PartitionChange is immutable, so its lists can be shared.
		info.Partitions[i] = message.PartitionInfo{
			Index: p.ID.Index, Leader: p.Leader, LeaderEpoch: p.LeaderEpoch, PartitionEpoch: p.PartitionEpoch,
			Replicas: p.Replicas, ISR: p.ISR, ELR: p.ELR, Adding: p.Adding, Target: p.Target,
		}
	}
	return info
}
