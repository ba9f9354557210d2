package client

import (
	"context"

	protocol "github.com/tamarack-mq/tamarack/core/client"
	"github.com/tamarack-mq/tamarack/core/message"
)

// Reassign moves partitions to other replicas, or calls moves off, and sets the
// throttle (see message.AlterReassignments). It returns once that is committed;
// Metadata tells when the moves are over. The first partition for which it is
// refused makes it an error, but what the others were asked holds.
func (c *Client) Reassign(ctx context.Context, r message.AlterReassignments) error {
	reply, err := c.Ask(ctx, &r, protocol.Target{Kind: protocol.Controller})
	if err != nil {
		return err
	}
	m, ok := reply.(*message.AlterReassignmentsReply)
	if !ok {
		return unexpected(reply)
	}
	for _, p := range m.Partitions {
		if p.Code != message.None {
			return refusal(p.Code, p.Detail, "partition "+p.ID.String())
		}
	}
	return refusal(m.Code, m.Detail, "reassignment")
}

// DrainBroker has all replicas of a broker moved to others, or, with undo, lets
// it have some again. Metadata tells how many it still holds.
func (c *Client) DrainBroker(ctx context.Context, node message.NodeID, undo bool) error {
	r, err := c.Ask(ctx, &message.DrainBroker{Node: node, Undo: undo}, protocol.Target{Kind: protocol.Controller})
	if err != nil {
		return err
	}
	m, ok := r.(*message.DrainBrokerReply)
	if !ok {
		return unexpected(r)
	}
	return refusal(m.Code, m.Detail, "broker "+node.String())
}

// UnregisterBroker forgets a broker that was drained and stopped.
func (c *Client) UnregisterBroker(ctx context.Context, node message.NodeID) error {
	r, err := c.Ask(ctx, &message.UnregisterBroker{Node: node}, protocol.Target{Kind: protocol.Controller})
	if err != nil {
		return err
	}
	m, ok := r.(*message.UnregisterBrokerReply)
	if !ok {
		return unexpected(r)
	}
	return refusal(m.Code, m.Detail, "broker "+node.String())
}
