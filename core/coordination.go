package core

import (
	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/group"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/metadata"
	"github.com/tamarack-mq/tamarack/core/record"
	"github.com/tamarack-mq/tamarack/core/txn"
)

// internalTopic is what this node knows of a topic that coordinators keep their
// state in.
type internalTopic struct {
	of     room // whose it is
	keeper keeper
	id     record.TopicID // 0: there is none yet
	shards int32
	retry  message.Time // when its creation may be asked for again
}

func (t *internalTopic) shard(index int32) record.PartitionID {
	return record.PartitionID{Topic: t.id, Index: index}
}

// seen takes over what the image says.
func (t *internalTopic) seen(topic *metadata.Topic) {
	if t.id = 0; topic != nil {
		t.id, t.shards = topic.ID, int32(len(topic.Partitions))
	}
}

// findCoordinator names the broker that leads the shard of a group, or of a
// transactional id. The first question of all has the internal topic made.
func (n *Node) findCoordinator(now message.Now, token message.Token, r *message.FindCoordinator, out *effect.Out) {
	if r.Group == "" && r.TransactionalID == "" {
		out.Reply(token, &message.FindCoordinatorReply{Code: message.InvalidGroupID})
		return
	}
	node := message.NoNode
	if g, x := &n.cfg.Groups, &n.cfg.Transactions; r.TransactionalID != "" {
		n.create(now, &n.transactions, txn.TopicName, x.Partitions, x.ReplicationFactor, x.MinInsync, out)
		node = n.coordinatorOf(&n.transactions, txn.Shard, r.TransactionalID)
	} else {
		n.create(now, &n.offsets, group.TopicName, g.Partitions, g.ReplicationFactor, g.MinInsync, out)
		node = n.coordinatorOf(&n.offsets, group.Shard, r.Group)
	}
	if node == message.NoNode {
		out.Reply(token, &message.FindCoordinatorReply{Code: message.CoordinatorNotAvailable})
		return
	}
	out.Reply(token, &message.FindCoordinatorReply{Node: node})
}

// coordinatorOf is who leads the shard of a name; NoNode when nobody does, or the
// topic is not there.
func (n *Node) coordinatorOf(t *internalTopic, shard func(name string, shards int32) int32, name string) message.NodeID {
	if t.id == 0 {
		return message.NoNode
	}
	if p := n.image.Partition(t.shard(shard(name, t.shards))); p != nil {
		return p.Leader
	}
	return message.NoNode
}

// internalRequest is the request number of what a node asks for itself: no
// client waits for the answer.
const internalRequest = 0

// create asks the controller for an internal topic, unless it is there. When two
// nodes ask at once the second gets TopicAlreadyExists, which is as good.
func (n *Node) create(now message.Now, t *internalTopic, name string, partitions int32, replicas int16, insync int32, out *effect.Out) {
	if t.id != 0 || now.Mono < t.retry {
		return
	}
	t.retry = now.Mono.Add(n.life.patience())
	out.Send(n.life.target, &message.Forward{Request: internalRequest, Body: &message.CreateTopic{
		Name: name, Partitions: partitions, ReplicationFactor: replicas,
		Config: message.TopicConfig{MinInsync: insync, RetentionTime: -1, RetentionBytes: -1, Internal: true},
	}})
}

// topicView shows the image to the rooms of coordinators.
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

func (v topicView) LeaderEpoch(p record.PartitionID) record.LeaderEpoch {
	if part := v.node.image.Partition(p); part != nil {
		return part.LeaderEpoch
	}
	return record.NoLeaderEpoch
}
