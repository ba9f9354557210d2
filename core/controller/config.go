package controller

import (
	"fmt"

	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/settings"
)

// alterConfig changes settings of a topic, of a node or of all nodes (KIP-339).
func (c *Controller) alterConfig(m *message.AlterConfig) *decision {
	reply := &message.AlterConfigReply{}
	d := &decision{reply: reply}
	if m.Topic != "" {
		d.changes, reply.Code, reply.Detail = c.alterTopic(m)
		return d
	}
	if m.Node != message.NoNode && c.image.Broker(m.Node) == nil {
		reply.Code, reply.Detail = message.InvalidConfig, fmt.Sprintf("node %d is not registered", m.Node)
		return d
	}
	next, err := settings.Alter(c.image.Settings(m.Node), m.Node, m.Set, m.Unset)
	if err == nil {
		err = c.fits(m.Node, next)
	}
	if err != nil {
		reply.Code, reply.Detail = message.InvalidConfig, err.Error()
		return d
	}
	d.changes = []message.Change{{Settings: &message.SettingsChange{Node: m.Node, Settings: next}}}
	return d
}

// fits says whether what is to be set for one node, or for all, goes together
// with everything else that is set.
func (c *Controller) fits(node message.NodeID, next []message.Setting) error {
	if node != message.NoNode {
		return settings.Check(c.cfg.Start, c.image.Settings(message.NoNode), next)
	}
	if err := settings.Check(c.cfg.Start, next, nil); err != nil {
		return err
	}
	for _, own := range c.image.SettingsOf() {
		if own.Node == message.NoNode {
			continue
		}
		if err := settings.Check(c.cfg.Start, next, own.Settings); err != nil {
			return fmt.Errorf("node %d has settings of its own: %w", own.Node, err)
		}
	}
	return nil
}

// alterTopic changes a topic's settings, and in the same entry of the log what
// follows from them for its partitions: with a lower min.insync the high
// watermark can move without the eligible replicas, so they are none any more
// (KIP-966).
func (c *Controller) alterTopic(m *message.AlterConfig) ([]message.Change, message.Code, string) {
	t := c.image.TopicNamed(m.Topic)
	switch {
	case m.Node != message.NoNode:
		return nil, message.InvalidRequest, "settings are of a topic or of a node, not of both"
	case t == nil:
		return nil, message.UnknownTopicOrPartition, fmt.Sprintf("topic %q does not exist", m.Topic)
	case t.Config.Internal:
		return nil, message.InvalidTopic, fmt.Sprintf("topic %q belongs to the cluster", m.Topic)
	}
	next, err := settings.AlterTopic(t.Config, m.Set, m.Unset)
	if err != nil {
		return nil, message.InvalidConfig, err.Error()
	}
	for _, p := range t.Partitions {
		if code, detail := checkConfig(&next, fewest(p)); code != message.None {
			return nil, code, detail
		}
	}
	if next == t.Config {
		return nil, message.None, ""
	}
	changes := []message.Change{{Topic: &message.TopicChange{ID: t.ID, Name: t.Name, Config: next}}}
	r := &rules{image: c.image, able: c.image.Live, config: &next}
	for _, p := range t.Partitions {
		if after := r.next(p, p.ISR); after != nil {
			changes = append(changes, message.Change{Partition: after})
		}
	}
	return changes, message.None, ""
}

// retime takes up a change of settings that was applied just now.
func (c *Controller) retime(now message.Time, change *message.Change) {
	if change.Settings != nil {
		c.settle(now)
	}
}

// settle goes by the settings of the present image. Sessions that were given
// before a change get the new span from now on: a broker that may be silent for
// longer must not lose its session to the old limit.
func (c *Controller) settle(now message.Time) {
	holds := settings.Resolve(c.cfg.Start, c.image.Settings(message.NoNode), c.image.Settings(c.id))
	c.cfg.ResendAfter = holds.Duration(settings.HeartbeatInterval)
	if session := holds.Duration(settings.SessionTimeout); session != c.cfg.SessionTimeout {
		c.cfg.SessionTimeout = session
		if c.active != nil {
			c.renew(now)
		}
	}
}

// Session is how long a broker may be silent. For observers.
func (c *Controller) Session() message.Duration { return c.cfg.SessionTimeout }
