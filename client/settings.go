package client

import (
	"context"
	"fmt"

	protocol "github.com/tamarack-mq/tamarack/core/client"
	"github.com/tamarack-mq/tamarack/core/message"
)

// AlterConfig changes settings of a topic or of nodes while they run, and waits
// until the controller has committed that. They hold on a node as soon as it has
// heard of them. All of it is done, or nothing.
func (c *Client) AlterConfig(ctx context.Context, m message.AlterConfig) error {
	r, err := c.Ask(ctx, &m, protocol.Target{Kind: protocol.Controller})
	if err != nil {
		return err
	}
	reply, ok := r.(*message.AlterConfigReply)
	if !ok {
		return unexpected(r)
	}
	what := "topic " + m.Topic
	switch {
	case m.Topic != "":
	case m.Node == message.NoNode:
		what = "the settings of all nodes"
	default:
		what = fmt.Sprintf("the settings of node %d", m.Node)
	}
	return refusal(reply.Code, reply.Detail, what)
}

// DescribeTopicConfig lists the settings of a topic, and which of them are its
// own. A topic that no broker knows is waited for as long as one that is published to.
func (c *Client) DescribeTopicConfig(ctx context.Context, topic string) ([]message.SettingInfo, error) {
	m, err := c.describeConfig(ctx, topic, protocol.Target{Kind: protocol.AnyBroker})
	if err != nil {
		return nil, err
	}
	return m.Settings, refusal(m.Code, m.Detail, "topic "+topic)
}

// DescribeNodeConfig lists the settings of a node as they hold there now, and
// where each value comes from. NoNode: of the node that answers, which is named.
func (c *Client) DescribeNodeConfig(ctx context.Context, node message.NodeID) (message.NodeID, []message.SettingInfo, error) {
	to := protocol.Target{Kind: protocol.AnyBroker}
	if node != message.NoNode {
		to = protocol.Target{Kind: protocol.TheNode, Node: node}
	}
	m, err := c.describeConfig(ctx, "", to)
	if err != nil {
		return node, nil, err
	}
	return m.Node, m.Settings, nil
}

func (c *Client) describeConfig(ctx context.Context, topic string, to protocol.Target) (*message.DescribeConfigReply, error) {
	r, err := c.Ask(ctx, &message.DescribeConfig{Topic: topic}, to)
	if err != nil {
		return nil, err
	}
	m, ok := r.(*message.DescribeConfigReply)
	if !ok {
		return nil, unexpected(r)
	}
	return m, nil
}

// AlterControllers adds a node to those that hold the cluster's metadata, or
// removes it from them. An addition is committed when this returns, and done when
// Metadata names the node among the voters: first it catches up.
func (c *Client) AlterControllers(ctx context.Context, node message.NodeID, remove bool) error {
	r, err := c.Ask(ctx, &message.AlterControllers{Node: node, Remove: remove}, protocol.Target{Kind: protocol.Controller})
	if err != nil {
		return err
	}
	m, ok := r.(*message.AlterControllersReply)
	if !ok {
		return unexpected(r)
	}
	return refusal(m.Code, m.Detail, fmt.Sprintf("controller %d", node))
}
