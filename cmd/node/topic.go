package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tamarack-mq/tamarack/client"
	protocol "github.com/tamarack-mq/tamarack/core/client"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

func topicCommand() *cobra.Command {
	var c connection
	cmd := &cobra.Command{Use: "topic", Short: "Make, show, change and remove topics"}
	c.flags(cmd)
	cmd.AddCommand(topicCreate(&c), topicList(&c), topicDescribe(&c), topicDelete(&c), topicAdd(&c), topicElect(&c),
		topicAlter(&c), topicSettings(&c))
	return cmd
}

func topicCreate(c *connection) *cobra.Command {
	t := message.CreateTopic{}
	var retention time.Duration
	var segment, retentionBytes, maxBatch bytesValue
	var exists bool
	cmd := &cobra.Command{
		Use:   "create NAME",
		Short: "Make a topic",
		Args:  exactArgs("the topic's name"),
		RunE: func(cmd *cobra.Command, args []string) error {
			t.Name = args[0]
			if int64(segment) > math.MaxInt32 || int64(maxBatch) > math.MaxInt32 {
				return usage("sizes of segments and batches are below 2GiB")
			}
			t.Config.SegmentBytes, t.Config.MaxBatchBytes = int32(segment), int32(maxBatch)
			t.Config.RetentionBytes, t.Config.RetentionTime = int64(retentionBytes), forEver(retention)
			return c.with(cmd, func(ctx context.Context, cl *client.Client) error {
				err := cl.CreateTopic(ctx, t)
				if exists && errors.Is(err, message.TopicAlreadyExists) {
					err = nil
				}
				if err != nil {
					return err
				}
				info, err := awaitTopic(ctx, cl, t.Name)
				if err != nil {
					return err
				}
				replicas := 0
				if len(info.Partitions) > 0 {
					replicas = len(info.Partitions[0].Replicas)
				}
				c.say(cmd.OutOrStdout(), map[string]any{"topic": t.Name, "partitions": len(info.Partitions), "replicas": replicas},
					"topic %s: %s, %s each", t.Name, counted(len(info.Partitions), "partition"), counted(replicas, "replica"))
				return nil
			})
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.Int32Var(&t.Partitions, "partitions", 1, "Number of partitions; at most so many consumers of a group share the topic")
	f.Int16Var(&t.ReplicationFactor, "replicas", 3, "Number of nodes that hold each partition")
	f.Int32Var(&t.Config.MinInsync, "min-insync", 0, "Replicas that must be in sync for acks=all; 0: two, or as many as there are if less")
	f.DurationVar(&retention, "retention", 0, "Age at which records may go; 0: seven days, negative: never")
	f.Var(&retentionBytes, "retention-bytes", "Size of a partition beyond which old records may go; 0: no limit")
	f.Var(&segment, "segment-bytes", "Size of a log file before the next one is begun; 0: the node's default")
	f.Var(&maxBatch, "max-batch-bytes", "Largest batch of records; 0: 1 MiB")
	f.BoolVar(&exists, "if-not-exists", false, "Do not fail when the topic is there already")
	return cmd
}

// forEver turns any negative retention into the one that means no limit.
func forEver(d time.Duration) message.Duration { return message.Duration(max(d, -1)) }

// awaitTopic waits until the node that is asked knows a topic and each of its
// partitions has a leader.
func awaitTopic(ctx context.Context, cl *client.Client, name string) (*message.TopicInfo, error) {
	for {
		info, err := topic(ctx, cl, name)
		led := err == nil
		for i := 0; led && i < len(info.Partitions); i++ {
			led = info.Partitions[i].Leader != message.NoNode
		}
		if led {
			return info, nil
		}
		if err != nil && !errors.Is(err, message.UnknownTopicOrPartition) {
			return nil, err
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("topic %s is made, but not ready yet: %w", name, ctx.Err())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func topicList(c *connection) *cobra.Command {
	var internal bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the topics",
		Args:  exactArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.with(cmd, func(ctx context.Context, cl *client.Client) error {
				m, err := cl.Metadata(ctx)
				if err != nil {
					return err
				}
				p := c.printer(cmd.OutOrStdout(), "topic", "partitions", "replicas", "offline", "thin")
				for _, t := range m.Topics {
					if t.Internal && !internal {
						continue
					}
					offline, thin, replicas := 0, 0, 0
					for _, part := range t.Partitions {
						replicas = max(replicas, len(part.Replicas))
						if part.Leader == message.NoNode {
							offline++
						}
						if len(part.ISR) < len(part.Replicas) {
							thin++
						}
					}
					p.row(t.Name, len(t.Partitions), replicas, offline, thin)
				}
				p.end()
				return nil
			})
		},
	}
	cmd.Flags().BoolVar(&internal, "internal", false, "Show the cluster's own topics as well")
	return cmd
}

func topicDescribe(c *connection) *cobra.Command {
	var offsets bool
	cmd := &cobra.Command{
		Use:   "describe NAME",
		Short: "Show a topic's own settings, and its partitions: leaders, replicas, in-sync sets",
		Args:  exactArgs("the topic's name"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.with(cmd, func(ctx context.Context, cl *client.Client) error {
				t, err := topic(ctx, cl, args[0])
				if err != nil {
					return err
				}
				columns := []string{"partition", "leader", "epoch", "replicas", "isr", "elr"}
				if offsets {
					columns = append(columns, "start", "end")
				}
				own, err := ownSettings(ctx, cl, args[0])
				if err != nil {
					return err
				}
				if len(own) > 0 {
					c.say(cmd.OutOrStdout(), map[string]any{"topic": t.Name, "settings": own}, "settings: %s", strings.Join(own, ", "))
				}
				p := c.printer(cmd.OutOrStdout(), columns...)
				defer p.end()
				for _, part := range t.Partitions {
					row := []any{part.Index, leaderName(part.Leader), part.LeaderEpoch, nodes(part.Replicas), nodes(part.ISR), nodes(part.ELR)}
					if offsets {
						id := record.PartitionID{Topic: t.ID, Index: part.Index}
						start, err := offsetAt(ctx, cl, t.Name, id, message.Earliest)
						if err != nil {
							return err
						}
						end, err := offsetAt(ctx, cl, t.Name, id, message.Latest)
						if err != nil {
							return err
						}
						row = append(row, start, end)
					}
					p.row(row...)
				}
				return nil
			})
		},
	}
	cmd.Flags().BoolVar(&offsets, "offsets", false, "Show the first offset and the end of each partition")
	return cmd
}

func leaderName(n message.NodeID) any {
	if n == message.NoNode {
		return "none"
	}
	return int32(n)
}

// nodes prints as 1,2,3 and encodes as a list.
type nodes []message.NodeID

func (n nodes) String() string {
	if len(n) == 0 {
		return "-"
	}
	text := ""
	for i, id := range n {
		if i > 0 {
			text += ","
		}
		text += id.String()
	}
	return text
}

func topicDelete(c *connection) *cobra.Command {
	return &cobra.Command{
		Use:   "delete NAME",
		Short: "Remove a topic and all its records",
		Args:  exactArgs("the topic's name"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.with(cmd, func(ctx context.Context, cl *client.Client) error {
				if err := cl.DeleteTopic(ctx, args[0]); err != nil {
					return err
				}
				c.say(cmd.OutOrStdout(), map[string]any{"topic": args[0], "deleted": true}, "topic %s is gone", args[0])
				return nil
			})
		},
	}
}

func topicAdd(c *connection) *cobra.Command {
	var to int32
	cmd := &cobra.Command{
		Use:   "add-partitions NAME --to COUNT",
		Short: "Raise the number of partitions; keys move to other ones",
		Args:  exactArgs("the topic's name"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if to < 1 {
				return usage("--to is missing: how many partitions shall there be?")
			}
			return c.with(cmd, func(ctx context.Context, cl *client.Client) error {
				if err := cl.AddPartitions(ctx, args[0], to); err != nil {
					return err
				}
				c.say(cmd.OutOrStdout(), map[string]any{"topic": args[0], "partitions": to}, "topic %s: %d partitions", args[0], to)
				return nil
			})
		},
	}
	cmd.Flags().Int32Var(&to, "to", 0, "Number of partitions that there shall be")
	return cmd
}

func topicElect(c *connection) *cobra.Command {
	var unclean bool
	var partition, leader int32
	cmd := &cobra.Command{
		Use:   "elect [NAME]",
		Short: "Move leaderships back to the preferred replicas, or force one",
		Long: `Move the leadership of partitions to their preferred replica, the first of their
replicas: of all topics, or of one topic, or of one partition. With --leader it
moves to that node, which must be in sync. Balancing gives it back after a while;
to make it last, put that node first with node reassign.

With --unclean a partition without any replica that is known to hold everything
gets a leader all the same. RECORDS MAY BE LOST; what was given up is printed.`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usage("%q is one argument too many", args[1])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 && (unclean || leader != 0 || cmd.Flags().Changed("partition")) {
				return usage("name the topic")
			}
			if unclean && leader != 0 {
				return usage("--unclean takes whoever is there: it goes with no --leader")
			}
			return c.with(cmd, func(ctx context.Context, cl *client.Client) error {
				ask := &message.ElectLeaders{Unclean: unclean, Leader: message.NodeID(leader)}
				if len(args) == 1 {
					t, err := topic(ctx, cl, args[0])
					if err != nil {
						return err
					}
					for _, p := range t.Partitions {
						if !cmd.Flags().Changed("partition") || p.Index == partition {
							ask.Partitions = append(ask.Partitions, record.PartitionID{Topic: t.ID, Index: p.Index})
						}
					}
					if len(ask.Partitions) == 0 {
						return usage("topic %s has no partition %d", args[0], partition)
					}
				}
				return elect(ctx, cmd, c, cl, ask)
			})
		},
	}
	cmd.Flags().BoolVar(&unclean, "unclean", false, "Elect any live replica where none is eligible: may lose records")
	cmd.Flags().Int32Var(&partition, "partition", 0, "Only this partition of the topic")
	cmd.Flags().Int32Var(&leader, "leader", 0, "The node that is to lead; else the preferred one")
	return cmd
}

func elect(ctx context.Context, cmd *cobra.Command, c *connection, cl *client.Client, ask *message.ElectLeaders) error {
	r, err := cl.Ask(ctx, ask, protocol.Target{Kind: protocol.Controller})
	if err != nil {
		return err
	}
	m, ok := r.(*message.ElectLeadersReply)
	if !ok {
		return fmt.Errorf("unexpected answer %T", r)
	}
	if m.Code != message.None {
		return m.Code
	}
	names, err := topicNames(ctx, cl)
	if err != nil {
		return err
	}
	p := c.printer(cmd.OutOrStdout(), "topic", "partition", "leader", "epoch", "result", "detail")
	failed := message.None
	for _, e := range m.Partitions {
		p.row(names[e.ID.Topic], e.ID.Index, leaderName(e.Leader), e.LeaderEpoch, outcome(e.Code), e.Detail)
		if e.Code != message.None && e.Code != message.ElectionNotNeeded {
			failed = e.Code
		}
	}
	p.end()
	if failed != message.None {
		return fmt.Errorf("not every partition got a leader: %w", failed)
	}
	return nil
}

// outcome is a code as people read it.
func outcome(code message.Code) string {
	if code == message.None {
		return "ok"
	}
	return code.String()
}

// topicNames maps ids to names.
func topicNames(ctx context.Context, cl *client.Client) (map[record.TopicID]string, error) {
	m, err := cl.Metadata(ctx)
	if err != nil {
		return nil, err
	}
	names := make(map[record.TopicID]string, len(m.Topics))
	for _, t := range m.Topics {
		names[t.ID] = t.Name
	}
	return names, nil
}
