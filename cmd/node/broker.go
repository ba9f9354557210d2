package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/tamarack-mq/tamarack/client"
	"github.com/tamarack-mq/tamarack/core/message"
)

func brokerCommand() *cobra.Command {
	var c connection
	cmd := &cobra.Command{
		Use:   "broker",
		Short: "Show, drain and remove brokers",
		Long: `Show brokers, and take them out of the cluster in good order:

  node broker drain 3 --wait     its replicas go to other nodes
  (stop the process of node 3)
  node broker remove 3           the cluster forgets it

A broker is added by starting it: node serve with an id that is not in use.`,
	}
	c.flags(cmd)
	cmd.AddCommand(brokerList(&c), brokerDrain(&c), brokerUndrain(&c), brokerRemove(&c))
	return cmd
}

func brokerList(c *connection) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the brokers, and what they hold",
		Args:  exactArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.with(cmd, func(ctx context.Context, cl *client.Client) error {
				m, err := cl.Metadata(ctx)
				if err != nil {
					return err
				}
				p := c.printer(cmd.OutOrStdout(), "broker", "address", "rack", "state", "leads", "replicas")
				for _, b := range m.Brokers {
					p.row(int32(b.ID), b.Address, b.Rack, brokerState(&b), b.Leads, b.Replicas)
				}
				p.end()
				return nil
			})
		},
	}
}

// brokerState is the state of a broker in words.
func brokerState(b *message.BrokerInfo) string {
	state := "live"
	if b.Fenced {
		state = "fenced"
	}
	switch {
	case b.Draining && b.Replicas == 0:
		state += ", drained"
	case b.Draining:
		state += ", draining"
	}
	return state
}

func parseBroker(text string) (message.NodeID, error) {
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil || n < 1 {
		return 0, usage("%q is no broker: give its number, 1 or above", text)
	}
	return message.NodeID(n), nil
}

func brokerDrain(c *connection) *cobra.Command {
	var wait bool
	cmd := &cobra.Command{
		Use:   "drain BROKER",
		Short: "Move all replicas and leaderships of a broker to others",
		Long: `Have all replicas and leaderships of a broker moved to other ones, and place none
on it, until undrain takes that back. The moves obey the throttle of node reassign.
It is refused when there are too few other brokers for the topics that are there.`,
		Args: exactArgs("the broker's number"),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := parseBroker(args[0])
			if err != nil {
				return err
			}
			return c.with(cmd, func(ctx context.Context, cl *client.Client) error {
				if err := cl.DrainBroker(ctx, id, false); errors.Is(err, message.InvalidReplicationFactor) {
					return &hintError{err, "start another broker first, or lower the number of replicas of those topics with node reassign"}
				} else if err != nil {
					return err
				}
				left, err := awaitDrained(ctx, cl, id, wait)
				if err != nil {
					return err
				}
				text := fmt.Sprintf("broker %d is drained", id)
				if left > 0 {
					text = fmt.Sprintf("broker %d is being drained: %d replicas are left", id, left)
				}
				c.say(cmd.OutOrStdout(), map[string]any{"broker": id, "replicas": left}, "%s", text)
				return nil
			})
		},
	}
	cmd.Flags().BoolVar(&wait, "wait", false, "Wait until it holds nothing any more")
	return cmd
}

// awaitDrained tells how many replicas a broker holds, with wait once that is 0.
func awaitDrained(ctx context.Context, cl *client.Client, id message.NodeID, wait bool) (int32, error) {
	for {
		m, err := cl.Metadata(ctx)
		if err != nil {
			return 0, err
		}
		left := int32(0)
		for _, b := range m.Brokers {
			if b.ID == id {
				left = b.Replicas
				if !b.Draining {
					left = max(left, 1) // the node that was asked has not heard of it
				}
			}
		}
		if left == 0 || !wait {
			return left, nil
		}
		select {
		case <-ctx.Done():
			return left, fmt.Errorf("broker %d still holds %d replicas; the drain goes on: see node reassign status: %w", id, left, ctx.Err())
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func brokerUndrain(c *connection) *cobra.Command {
	return &cobra.Command{
		Use:   "undrain BROKER",
		Short: "Let a broker hold replicas again; moves under way go on",
		Args:  exactArgs("the broker's number"),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := parseBroker(args[0])
			if err != nil {
				return err
			}
			return c.with(cmd, func(ctx context.Context, cl *client.Client) error {
				if err := cl.DrainBroker(ctx, id, true); err != nil {
					return err
				}
				c.say(cmd.OutOrStdout(), map[string]any{"broker": id, "draining": false}, "broker %d may hold replicas again", id)
				return nil
			})
		},
	}
}

func brokerRemove(c *connection) *cobra.Command {
	return &cobra.Command{
		Use:   "remove BROKER",
		Short: "Forget a broker that was drained and stopped",
		Args:  exactArgs("the broker's number"),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := parseBroker(args[0])
			if err != nil {
				return err
			}
			return c.with(cmd, func(ctx context.Context, cl *client.Client) error {
				if err := cl.UnregisterBroker(ctx, id); err != nil {
					return err
				}
				c.say(cmd.OutOrStdout(), map[string]any{"broker": id, "removed": true}, "broker %d is removed", id)
				return nil
			})
		},
	}
}
