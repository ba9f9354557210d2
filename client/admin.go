package client

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	protocol "github.com/tamarack-mq/tamarack/core/client"
	"github.com/tamarack-mq/tamarack/core/message"
)

func itoa(n int32) string { return strconv.Itoa(int(n)) }

// Ask sends any request to whoever target names and returns the reply. It is
// tried again while the answer is a code that may pass, until ctx ends.
func (c *Client) Ask(ctx context.Context, r message.Request, target protocol.Target) (message.Reply, error) {
	res, err := c.run(ctx, func(op protocol.Op) protocol.Input {
		return protocol.Ask{Op: op, Request: r, Target: target, Timeout: left(ctx)}
	})
	if err != nil {
		return nil, err
	}
	return res.Reply, nil
}

// left is how long a call may take: until ctx ends, or the default.
func left(ctx context.Context) message.Duration {
	deadline, ok := ctx.Deadline()
	if !ok {
		return 0
	}
	return message.Duration(max(time.Until(deadline), time.Millisecond))
}

// AskAll sends a request to every live broker.
func (c *Client) AskAll(ctx context.Context, r message.Request) ([]protocol.NodeReply, error) {
	res, err := c.run(ctx, func(op protocol.Op) protocol.Input {
		return protocol.Ask{Op: op, Request: r, Target: protocol.Target{Kind: protocol.EveryBroker}, Timeout: left(ctx)}
	})
	if err != nil {
		return nil, err
	}
	return res.Replies, nil
}

// Metadata is one broker's picture of the cluster; without topics, of all.
func (c *Client) Metadata(ctx context.Context, topics ...string) (*message.MetadataReply, error) {
	r, err := c.Ask(ctx, &message.Metadata{Topics: topics}, protocol.Target{})
	if err != nil {
		return nil, err
	}
	m, ok := r.(*message.MetadataReply)
	if !ok {
		return nil, unexpected(r)
	}
	return m, nil
}

// CreateTopic makes a topic and waits until the controller has committed it.
func (c *Client) CreateTopic(ctx context.Context, t message.CreateTopic) error {
	r, err := c.Ask(ctx, &t, protocol.Target{Kind: protocol.Controller})
	if err != nil {
		return err
	}
	m, ok := r.(*message.CreateTopicReply)
	if !ok {
		return unexpected(r)
	}
	return refusal(m.Code, m.Detail, "topic "+t.Name)
}

// DeleteTopic removes a topic and its records. That there is no such topic is told at
// once (message.UnknownTopicOrPartition), as by all that changes a topic: the controller
// knows.
func (c *Client) DeleteTopic(ctx context.Context, name string) error {
	r, err := c.Ask(ctx, &message.DeleteTopic{Name: name}, protocol.Target{Kind: protocol.Controller})
	if err != nil {
		return err
	}
	m, ok := r.(*message.DeleteTopicReply)
	if !ok {
		return unexpected(r)
	}
	return refusal(m.Code, m.Detail, "topic "+name)
}

// AddPartitions raises the number of partitions of a topic. Keys move.
func (c *Client) AddPartitions(ctx context.Context, name string, count int32) error {
	r, err := c.Ask(ctx, &message.AddPartitions{Name: name, Count: count}, protocol.Target{Kind: protocol.Controller})
	if err != nil {
		return err
	}
	m, ok := r.(*message.AddPartitionsReply)
	if !ok {
		return unexpected(r)
	}
	return refusal(m.Code, m.Detail, "topic "+name)
}

// DescribeGroup tells everything about a group.
func (c *Client) DescribeGroup(ctx context.Context, group string) (*message.DescribeGroupReply, error) {
	r, err := c.Ask(ctx, &message.DescribeGroup{Group: group}, protocol.Target{Kind: protocol.Coordinator, Group: group})
	if err != nil {
		return nil, err
	}
	m, ok := r.(*message.DescribeGroupReply)
	if !ok {
		return nil, unexpected(r)
	}
	return m, refusal(m.Code, "", "group "+group)
}

// ListGroups lists the groups of the whole cluster. Brokers that do not answer
// are left out, and named by the error.
func (c *Client) ListGroups(ctx context.Context) ([]message.GroupListing, error) {
	replies, err := c.AskAll(ctx, &message.ListGroups{})
	if err != nil {
		return nil, err
	}
	var groups []message.GroupListing
	err = fromEach(replies, func(_ message.NodeID, m *message.ListGroupsReply) { groups = append(groups, m.Groups...) })
	return groups, err
}

// fromEach hands over what each broker has answered. Those that did not answer, or
// with another reply, are named by the error.
func fromEach[R message.Reply](replies []protocol.NodeReply, take func(message.NodeID, R)) error {
	var failed []error
	for _, r := range replies {
		m, ok := r.Reply.(R)
		switch {
		case r.Err != nil:
			failed = append(failed, fmt.Errorf("node %d: %w", r.Node, r.Err))
		case !ok:
			failed = append(failed, unexpected(r.Reply))
		default:
			take(r.Node, m)
		}
	}
	return errors.Join(failed...)
}

// DeleteGroup removes a group without members, and its offsets.
func (c *Client) DeleteGroup(ctx context.Context, group string) error {
	r, err := c.Ask(ctx, &message.DeleteGroup{Group: group}, protocol.Target{Kind: protocol.Coordinator, Group: group})
	if err != nil {
		return err
	}
	m, ok := r.(*message.DeleteGroupReply)
	if !ok {
		return unexpected(r)
	}
	return refusal(m.Code, "", "group "+group)
}

// refusal makes an error of a code. It can be matched with errors.Is.
func refusal(code message.Code, detail, what string) error {
	switch {
	case code == message.None:
		return nil
	case detail == "":
		return fmt.Errorf("%s: %w", what, code)
	}
	return fmt.Errorf("%s: %s (%w)", what, detail, code)
}

func unexpected(r message.Reply) error {
	if refused, ok := r.(*message.Refused); ok {
		return refusal(refused.Code, refused.Detail, "the broker refused the request")
	}
	return fmt.Errorf("the broker answered with a %T: do client and cluster have the same release?", r)
}
