package core

import (
	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/group"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// offsetsTopic is what this node knows of the internal topic of the groups.
type offsetsTopic struct {
	id     record.TopicID // 0: there is none yet
	shards int32
	retry  message.Time // when its creation may be asked for again
}

// findCoordinator names the broker that leads the shard of a group. The first
// question of all has the internal topic made.
func (n *Node) findCoordinator(now message.Now, token message.Token, r *message.FindCoordinator, out *effect.Out) {
	if r.TransactionalID != "" {
		n.noTransactions(token, r, out)
		return
	}
	if r.Group == "" {
		out.Reply(token, &message.FindCoordinatorReply{Code: message.InvalidGroupID})
		return
	}
	if n.offsets.id == 0 {
		n.createOffsetsTopic(now, out)
		out.Reply(token, &message.FindCoordinatorReply{Code: message.CoordinatorNotAvailable})
		return
	}
	p := n.image.Partition(record.PartitionID{Topic: n.offsets.id, Index: group.Shard(r.Group, n.offsets.shards)})
	if p == nil || p.Leader == message.NoNode {
		out.Reply(token, &message.FindCoordinatorReply{Code: message.CoordinatorNotAvailable})
		return
	}
	out.Reply(token, &message.FindCoordinatorReply{Node: p.Leader})
}

// internalRequest is the request number of what a node asks for itself: no
// client waits for the answer.
const internalRequest = 0

// createOffsetsTopic asks the controller for the internal topic. When two nodes
// ask at once the second gets TopicAlreadyExists, which is as good.
func (n *Node) createOffsetsTopic(now message.Now, out *effect.Out) {
	if now.Mono < n.offsets.retry {
		return
	}
	n.offsets.retry = now.Mono.Add(n.life.patience())
	out.Send(n.life.target, &message.Forward{Request: internalRequest, Body: &message.CreateTopic{
		Name: group.TopicName, Partitions: n.cfg.Groups.Partitions, ReplicationFactor: n.cfg.Groups.ReplicationFactor,
		Config: message.TopicConfig{
			MinInsync: n.cfg.Groups.MinInsync, RetentionTime: -1, RetentionBytes: -1, Internal: true,
		},
	}})
}

// topicView shows the image to the group room.
type topicView struct{ node *Node }

func (v topicView) ByName(name string) (record.TopicID, int32, bool) {
	if t := v.node.image.TopicNamed(name); t != nil {
		return t.ID, int32(len(t.Partitions)), true
	}
	return 0, 0, false
}

func (v topicView) ByID(id record.TopicID) (string, int32, bool) {
	if t := v.node.image.Topic(id); t != nil {
		return t.Name, int32(len(t.Partitions)), true
	}
	return "", 0, false
}
