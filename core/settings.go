package core

import (
	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/metadata"
	"github.com/tamarack-mq/tamarack/core/replica"
	"github.com/tamarack-mq/tamarack/core/settings"
)

// start is what this node was started with, of all that may be set while it runs.
func (c Config) start() settings.Node {
	return settings.Node{
		settings.HeartbeatInterval: int64(c.Timing.HeartbeatInterval),
		settings.SessionTimeout:    int64(c.Timing.SessionTimeout),
		settings.ReplicaLag:        int64(c.Timing.ReplicaLag),
		settings.FetchWait:         int64(c.Timing.FetchWait),
		settings.GroupSession:      int64(c.Groups.SessionTimeout),
		settings.GroupHeartbeat:    int64(c.Groups.HeartbeatInterval),
		settings.OffsetsRetention:  int64(c.Groups.OffsetsRetention),

		settings.TransactionsMaxTimeout: int64(c.Transactions.MaxTimeout),
		settings.TransactionsExpiration: int64(c.Transactions.Expiration),
	}
}

// adopt takes up voters and settings that have changed in the image. The controller of
// this node does so by itself, from what it has committed.
func (n *Node) adopt(now message.Now, changes []message.Change) {
	for i := range changes {
		if changes[i].Controllers != nil || changes[i].Broker != nil {
			n.life.voters = n.mayLead()
			break
		}
	}
	for i := range changes {
		s := changes[i].Settings
		if s == nil || s.Node != message.NoNode && s.Node != n.cfg.ID {
			continue
		}
		holds := settings.Resolve(n.started, n.image.Settings(message.NoNode), n.image.Settings(n.cfg.ID))
		if holds != n.holds {
			n.holds = holds
			n.retime(now)
		}
		return
	}
}

// mayLead are the nodes to ask for the controller, in this order: the voters as
// far as known, those of the configuration, and all others. While this node hears
// nothing the voters may become others than all that it knows of as such; but
// whoever is up has heard of the controller. A broker that was started again knows
// nothing by itself: what the controller on its node has kept counts as well, or
// one that alone is left of the voters would look for itself among those of before.
func (n *Node) mayLead() []message.NodeID {
	images := []*metadata.Image{n.image}
	if n.controller != nil {
		images = append(images, n.controller.Image())
	}
	var list []message.NodeID
	for _, image := range images {
		if c := image.Controllers(); c != nil {
			list = append(list, c.Voters...)
		}
	}
	list = append(list, n.cfg.Voters...)
	for _, image := range images {
		for _, b := range image.Brokers() {
			list = append(list, b.Node)
		}
	}
	return once(list)
}

// retime tells the rooms by which settings they go from now on.
func (n *Node) retime(now message.Now) {
	t := &n.cfg.Timing
	t.HeartbeatInterval = n.holds.Duration(settings.HeartbeatInterval)
	t.SessionTimeout = n.holds.Duration(settings.SessionTimeout)
	t.ReplicaLag = n.holds.Duration(settings.ReplicaLag)
	t.FetchWait = n.holds.Duration(settings.FetchWait)
	n.life.retime(now.Mono, *t)
	n.replicas.SetTiming(now, replica.Timing{
		Lag: t.ReplicaLag, FetchWait: t.FetchWait, AlterRetry: t.HeartbeatInterval,
	}, &n.replicaOut)
	n.groups.SetTiming(n.holds.Duration(settings.GroupSession), n.holds.Duration(settings.GroupHeartbeat),
		n.holds.Duration(settings.OffsetsRetention))
	n.txns.SetTiming(now, n.holds.Duration(settings.TransactionsMaxTimeout), n.holds.Duration(settings.TransactionsExpiration))
}

// retime goes by other times from now on. A shorter interval than before holds
// for the heartbeat that is due next.
func (l *lifecycle) retime(now message.Time, t Timing) {
	l.cfg.Timing = t
	l.due = min(l.due, now.Add(t.HeartbeatInterval))
}

// describeConfig answers from this node's image: for a topic, or for itself.
func (n *Node) describeConfig(token message.Token, r *message.DescribeConfig, out *effect.Out) {
	reply := &message.DescribeConfigReply{}
	if r.Topic == "" {
		reply.Node = n.cfg.ID
		reply.Settings = settings.Describe(n.started, n.image.Settings(message.NoNode), n.image.Settings(n.cfg.ID))
	} else if t := n.image.TopicNamed(r.Topic); t != nil {
		reply.Settings = settings.DescribeTopic(t.Config)
	} else {
		reply.Code, reply.Detail = message.UnknownTopicOrPartition, "this node knows no topic \""+r.Topic+"\""
	}
	out.Reply(token, reply)
}

// Holds are the settings by which this node goes. Read only.
func (n *Node) Holds() settings.Node { return n.holds }

// Started is what this run was started with. Read only.
func (n *Node) Started() settings.Node { return n.started }
