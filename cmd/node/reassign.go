package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tamarack-mq/tamarack/client"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

func reassignCommand() *cobra.Command {
	var c connection
	var to string
	var partition int32
	var throttle bytesValue
	var wait bool
	cmd := &cobra.Command{
		Use:   "reassign TOPIC --to NODE,NODE,...",
		Short: "Move partitions to other replicas, while they are in use",
		Long: `Move the partitions of a topic, or one of them, to other replicas. The first node
is the preferred leader. The new replicas copy first; when they are in sync those
that are not named leave. Until then the move can be called off, and another one
takes its place.

  node reassign orders --to 4,5,6                  all partitions
  node reassign orders --to 4,5,6 --partition 2    one of them
  node reassign status                             what is under way
  node reassign cancel orders                      back to what was before
  node reassign throttle 20MiB                     what each node copies in a second`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usage("%q is one argument too many", args[1])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 || to == "" {
				return usage("name the topic, and with --to the nodes that it is to move to")
			}
			target, err := parseNodes(to)
			if err != nil {
				return err
			}
			return c.with(cmd, func(ctx context.Context, cl *client.Client) error {
				ids, err := partitionsOf(ctx, cl, args[0], cmd.Flags().Changed("partition"), partition)
				if err != nil {
					return err
				}
				ask := message.AlterReassignments{Throttle: int64(throttle)}
				for _, id := range ids {
					ask.Partitions = append(ask.Partitions, message.Reassignment{ID: id, Replicas: target})
				}
				if err := cl.Reassign(ctx, ask); err != nil {
					return err
				}
				if wait {
					if err := awaitMoves(ctx, cl, args[0], ids, target); err != nil {
						return err
					}
				}
				c.say(cmd.OutOrStdout(), map[string]any{"topic": args[0], "partitions": len(ids), "to": target, "done": wait},
					"topic %s: %s %s %s", args[0], counted(len(ids), "partition"), map[bool]string{true: "now on", false: "on the way to"}[wait], nodes(target))
				return nil
			})
		},
	}
	c.flags(cmd)
	f := cmd.Flags()
	f.StringVar(&to, "to", "", "The nodes that are to hold the partitions, the preferred leader first")
	f.Int32Var(&partition, "partition", 0, "Only this partition of the topic")
	f.Var(&throttle, "throttle", "What each node copies in a second for moves, of all topics; 0: as it is")
	f.BoolVar(&wait, "wait", false, "Wait until the moves are over")
	cmd.AddCommand(reassignStatus(&c), reassignCancel(&c), reassignThrottle(&c))
	return cmd
}

// parseNodes reads "1,4,5".
func parseNodes(text string) (list []message.NodeID, err error) {
	for _, word := range strings.Split(text, ",") {
		n, err := strconv.ParseInt(strings.TrimSpace(word), 10, 32)
		if err != nil || n < 1 {
			return nil, usage("%q is no node: give numbers of 1 and above, as in 1,4,5", word)
		}
		list = append(list, message.NodeID(n))
	}
	return list, nil
}

// partitionsOf are the partitions of a topic, or one of them.
func partitionsOf(ctx context.Context, cl *client.Client, name string, one bool, index int32) (ids []record.PartitionID, err error) {
	t, err := topic(ctx, cl, name)
	if err != nil {
		return nil, err
	}
	for _, p := range t.Partitions {
		if !one || p.Index == index {
			ids = append(ids, record.PartitionID{Topic: t.ID, Index: p.Index})
		}
	}
	if len(ids) == 0 {
		return nil, usage("topic %s has no partition %d", name, index)
	}
	return ids, nil
}

// awaitMoves waits until partitions of a topic have exactly these replicas. A
// node that has not heard of the move yet must not be taken for one that knows of
// its end.
func awaitMoves(ctx context.Context, cl *client.Client, name string, ids []record.PartitionID, target []message.NodeID) error {
	for {
		t, err := topic(ctx, cl, name)
		if err != nil {
			return err
		}
		left := 0
		for _, p := range t.Partitions {
			id := record.PartitionID{Topic: t.ID, Index: p.Index}
			if slices.Contains(ids, id) && !slices.Equal(p.Replicas, target) {
				left++
			}
		}
		if left == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%d partitions of topic %s are still on their way; they go on: see node reassign status: %w", left, name, ctx.Err())
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func reassignStatus(c *connection) *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Show the partitions that are on their way, and what they wait for",
		Args:  exactArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.with(cmd, func(ctx context.Context, cl *client.Client) error {
				m, err := cl.Metadata(ctx)
				if err != nil {
					return err
				}
				moving := 0
				p := c.printer(cmd.OutOrStdout(), "topic", "partition", "leader", "replicas", "isr", "adding", "removing", "waits-for")
				for _, t := range m.Topics {
					for _, part := range t.Partitions {
						if len(part.Target) == 0 {
							continue
						}
						moving++
						p.row(t.Name, part.Index, leaderName(part.Leader), nodes(part.Replicas), nodes(part.ISR),
							nodes(part.Adding), nodes(without(part.Replicas, part.Target)), nodes(without(part.Target, part.ISR)))
					}
				}
				p.end()
				limit := "no throttle"
				if m.Throttle > 0 {
					rate := bytesValue(m.Throttle)
					limit = fmt.Sprintf("at most %s a second to each node", rate.String())
				}
				c.say(cmd.OutOrStdout(), map[string]any{"moving": moving, "throttle": m.Throttle}, "%s on the way, %s", counted(moving, "partition"), limit)
				return nil
			})
		},
	}
}

// without are the members of a list that are not in another.
func without(list, other []message.NodeID) (rest []message.NodeID) {
	in := map[message.NodeID]bool{}
	for _, n := range other {
		in[n] = true
	}
	for _, n := range list {
		if !in[n] {
			rest = append(rest, n)
		}
	}
	return rest
}

func reassignCancel(c *connection) *cobra.Command {
	var partition int32
	cmd := &cobra.Command{
		Use:   "cancel [TOPIC]",
		Short: "Call moves off: all, those of a topic, or that of one partition",
		Long: `Call moves off, and go back to the replicas of before. It is refused, and tried
again until the time is over, while too few of those are in sync: records may be
committed that only the new replicas hold.`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usage("%q is one argument too many", args[1])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			one := cmd.Flags().Changed("partition")
			if one && len(args) == 0 {
				return usage("name the topic")
			}
			return c.with(cmd, func(ctx context.Context, cl *client.Client) error {
				m, err := cl.Metadata(ctx, args...)
				if err != nil {
					return err
				}
				ask := message.AlterReassignments{}
				for _, t := range m.Topics {
					if t.Code != message.None {
						return fmt.Errorf("topic %s: %w", t.Name, t.Code)
					}
					for _, p := range t.Partitions {
						if len(p.Target) > 0 && (!one || p.Index == partition) {
							ask.Partitions = append(ask.Partitions, message.Reassignment{ID: record.PartitionID{Topic: t.ID, Index: p.Index}})
						}
					}
				}
				if len(ask.Partitions) > 0 {
					if err := cl.Reassign(ctx, ask); err != nil {
						return err
					}
				}
				c.say(cmd.OutOrStdout(), map[string]any{"cancelled": len(ask.Partitions)}, "called off: %s", counted(len(ask.Partitions), "move"))
				return nil
			})
		},
	}
	cmd.Flags().Int32Var(&partition, "partition", 0, "Only this partition of the topic")
	return cmd
}

func reassignThrottle(c *connection) *cobra.Command {
	return &cobra.Command{
		Use:   "throttle RATE",
		Short: "Set what each node copies in a second for moves, or none",
		Long: `Set how much each node copies in a second for replicas that are being added, such
as 20MiB; none lifts the limit. Replicas in sync are never held back. With less
than what is produced a move does not end.`,
		Args: exactArgs("the rate, such as 20MiB, or none"),
		RunE: func(cmd *cobra.Command, args []string) error {
			rate := bytesValue(-1)
			if args[0] != "none" {
				if err := rate.Set(args[0]); err != nil {
					return usage("%v", err)
				}
				if rate < 1 {
					return usage("a rate is above 0; none lifts the limit")
				}
			}
			return c.with(cmd, func(ctx context.Context, cl *client.Client) error {
				if err := cl.Reassign(ctx, message.AlterReassignments{Throttle: int64(rate)}); err != nil {
					return err
				}
				c.say(cmd.OutOrStdout(), map[string]any{"throttle": max(0, int64(rate))}, "throttle: %s", args[0])
				return nil
			})
		},
	}
}
