package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tamarack-mq/tamarack/client"
	protocol "github.com/tamarack-mq/tamarack/core/client"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

func groupCommand() *cobra.Command {
	var c connection
	cmd := &cobra.Command{Use: "group", Short: "Show, reset and remove consumer groups"}
	c.flags(cmd)
	cmd.AddCommand(groupList(&c), groupDescribe(&c), groupDelete(&c), groupReset(&c))
	return cmd
}

func groupList(c *connection) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the groups",
		Args:  exactArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.with(cmd, func(ctx context.Context, cl *client.Client) error {
				groups, err := cl.ListGroups(ctx)
				p := c.printer(cmd.OutOrStdout(), "group", "state", "members")
				slices.SortFunc(groups, func(a, b message.GroupListing) int { return cmp.Compare(a.Group, b.Group) })
				for _, g := range groups {
					p.row(g.Group, g.State, g.Members)
				}
				p.end()
				return err
			})
		},
	}
}

func groupDescribe(c *connection) *cobra.Command {
	return &cobra.Command{
		Use:   "describe GROUP",
		Short: "Show a group's members, positions and lag",
		Args:  exactArgs("the group's name"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.with(cmd, func(ctx context.Context, cl *client.Client) error {
				g, err := cl.DescribeGroup(ctx, args[0])
				if err != nil {
					return err
				}
				names, err := topicNames(ctx, cl)
				if err != nil {
					return err
				}
				if !c.json {
					fmt.Fprintf(cmd.OutOrStdout(), "group %s: %s, epoch %d, %d members\n", g.Group, g.State, g.Epoch, len(g.Members))
				}
				if len(g.Members) > 0 {
					c.members(cmd.OutOrStdout(), g, names)
				}
				return c.lags(ctx, cmd.OutOrStdout(), cl, g, names)
			})
		},
	}
}

func (c *connection) members(w io.Writer, g *message.DescribeGroupReply, names map[record.TopicID]string) {
	p := c.printer(w, "member", "instance", "epoch", "topics", "assigned", "target")
	for _, m := range g.Members {
		p.row(m.Member, m.Instance, m.Epoch, strings.Join(m.Topics, ","), places(m.Assigned, names), places(m.Target, names))
	}
	p.end()
}

// lags prints where a group stands in each partition that it has a position
// in, or that one of its members reads.
func (c *connection) lags(ctx context.Context, w io.Writer, cl *client.Client, g *message.DescribeGroupReply, names map[record.TopicID]string) error {
	committed := map[record.PartitionID]record.Offset{}
	owner := map[record.PartitionID]string{}
	for _, o := range g.Offsets {
		committed[o.ID] = o.Offset
	}
	for _, m := range g.Members {
		for _, id := range m.Assigned {
			owner[id] = m.Member
			if _, ok := committed[id]; !ok {
				committed[id] = message.NoOffset
			}
		}
	}
	ids := make([]record.PartitionID, 0, len(committed))
	for id := range committed {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, record.PartitionID.Compare)
	p := c.printer(w, "topic", "partition", "committed", "end", "lag", "member")
	defer p.end()
	var failed []error
	for _, id := range ids {
		if names[id.Topic] == "" {
			continue // the topic is gone
		}
		end, err := offsetAt(ctx, cl, names[id.Topic], id, message.Latest)
		if err != nil {
			failed = append(failed, err)
			continue
		}
		at := committed[id]
		if at == message.NoOffset {
			p.row(names[id.Topic], id.Index, nil, end, nil, owner[id])
			continue
		}
		p.row(names[id.Topic], id.Index, at, end, end-at, owner[id])
	}
	return errors.Join(failed...)
}

// places prints partitions as topic/0,1,2.
func places(ids []record.PartitionID, names map[record.TopicID]string) string {
	if len(ids) == 0 {
		return "-"
	}
	sorted := slices.SortedFunc(slices.Values(ids), record.PartitionID.Compare)
	var b strings.Builder
	for i, id := range sorted {
		switch {
		case i > 0 && sorted[i-1].Topic == id.Topic:
			fmt.Fprintf(&b, ",%d", id.Index)
		case i > 0:
			fmt.Fprintf(&b, " %s/%d", names[id.Topic], id.Index)
		default:
			fmt.Fprintf(&b, "%s/%d", names[id.Topic], id.Index)
		}
	}
	return b.String()
}

func groupDelete(c *connection) *cobra.Command {
	return &cobra.Command{
		Use:   "delete GROUP",
		Short: "Remove a group without members, and its positions",
		Args:  exactArgs("the group's name"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.with(cmd, func(ctx context.Context, cl *client.Client) error {
				if err := cl.DeleteGroup(ctx, args[0]); err != nil {
					return err
				}
				c.say(cmd.OutOrStdout(), map[string]any{"group": args[0], "deleted": true}, "group %s is gone", args[0])
				return nil
			})
		},
	}
}

func groupReset(c *connection) *cobra.Command {
	var topicName, to string
	var partition int32
	var dry bool
	cmd := &cobra.Command{
		Use:     "reset-offsets GROUP --topic TOPIC --to WHERE",
		Short:   "Move the positions of a group that has no members",
		Example: "  node group reset-offsets billing --topic orders --to earliest\n  node group reset-offsets billing --topic orders --to 2026-01-31T12:00:00Z --dry-run",
		Args:    exactArgs("the group's name"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if topicName == "" || to == "" {
				return usage("--topic and --to are needed")
			}
			where, err := position(to)
			if err != nil {
				return err
			}
			return c.with(cmd, func(ctx context.Context, cl *client.Client) error {
				return c.reset(ctx, cmd.OutOrStdout(), cl, args[0], topicName, partition, where, dry)
			})
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVarP(&topicName, "topic", "t", "", "Topic whose positions move")
	f.Int32Var(&partition, "partition", -1, "Only this partition; -1: all")
	f.StringVar(&to, "to", "", "earliest, latest, an offset, or a time (RFC 3339)")
	f.BoolVar(&dry, "dry-run", false, "Only print what would be stored")
	return cmd
}

// reset moves the positions of a group, each to within what the partition holds.
func (c *connection) reset(ctx context.Context, w io.Writer, cl *client.Client, group, name string, partition int32, where protocol.Position, dry bool) error {
	t, err := topic(ctx, cl, name)
	if err != nil {
		return err
	}
	var offsets []message.GroupOffset
	for _, p := range t.Partitions {
		if partition >= 0 && p.Index != partition {
			continue
		}
		id := record.PartitionID{Topic: t.ID, Index: p.Index}
		at, err := resolve(ctx, cl, name, id, where)
		if err != nil {
			return err
		}
		offsets = append(offsets, message.GroupOffset{ID: id, Offset: at, LeaderEpoch: record.NoLeaderEpoch})
	}
	if len(offsets) == 0 {
		return usage("topic %s has no partition %d", name, partition)
	}
	if !dry {
		if err := store(ctx, cl, group, name, offsets); err != nil {
			return err
		}
	}
	p := c.printer(w, "group", "topic", "partition", "offset")
	for _, o := range offsets {
		p.row(group, name, o.ID.Index, o.Offset)
	}
	p.end()
	return nil
}

// resolve turns a position into an offset that the partition has.
func resolve(ctx context.Context, cl *client.Client, name string, id record.PartitionID, where protocol.Position) (record.Offset, error) {
	switch where.Kind {
	case protocol.AtEarliest:
		return offsetAt(ctx, cl, name, id, message.Earliest)
	case protocol.AtTime:
		return offsetAt(ctx, cl, name, id, where.Timestamp)
	}
	end, err := offsetAt(ctx, cl, name, id, message.Latest)
	if err != nil || where.Kind == protocol.AtLatest {
		return end, err
	}
	start, err := offsetAt(ctx, cl, name, id, message.Earliest)
	return min(max(where.Offset, start), end), err
}

// store commits positions from outside the group, which is refused while the
// group has members.
func store(ctx context.Context, cl *client.Client, group, topic string, offsets []message.GroupOffset) error {
	r, err := cl.Ask(ctx, &message.CommitOffsets{Group: group, MemberEpoch: -1, Offsets: offsets},
		protocol.Target{Kind: protocol.Coordinator, Group: group})
	if err != nil {
		return err
	}
	m, ok := r.(*message.CommitOffsetsReply)
	if !ok {
		return fmt.Errorf("unexpected answer %T", r)
	}
	if m.Code != message.None {
		return fmt.Errorf("group %s: %w", group, m.Code)
	}
	for _, o := range m.Offsets {
		if o.Code != message.None {
			return fmt.Errorf("group %s, partition %s/%d: %w", group, topic, o.ID.Index, o.Code)
		}
	}
	return nil
}

func commitCommand() *cobra.Command {
	var c connection
	var group, topicName string
	var index int32
	var offset int64
	var force bool
	cmd := &cobra.Command{
		Use:   "commit --group GROUP --topic TOPIC --partition N --offset N",
		Short: "Store the position of a group in one partition",
		Long:  "Store the offset of the next record that a group is to process in one partition. The group must have no members: those commit for themselves.",
		Args:  exactArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			for _, name := range []string{"group", "topic", "partition", "offset"} {
				if !cmd.Flags().Changed(name) {
					return usage("--%s is missing", name)
				}
			}
			return c.with(cmd, func(ctx context.Context, cl *client.Client) error {
				t, err := topic(ctx, cl, topicName)
				if err != nil {
					return err
				}
				id, err := partition(t, index)
				if err != nil {
					return err
				}
				end, err := offsetAt(ctx, cl, topicName, id, message.Latest)
				if err != nil && !force {
					return err
				}
				if record.Offset(offset) > end && !force {
					return &hintError{fmt.Errorf("offset %d is beyond the end of %s/%d, which is %d: the group would begin anew there", offset, topicName, index, end),
						"--force stores it all the same"}
				}
				if err := store(ctx, cl, group, topicName, []message.GroupOffset{{ID: id, Offset: record.Offset(offset), LeaderEpoch: record.NoLeaderEpoch}}); err != nil {
					return err
				}
				c.say(cmd.OutOrStdout(), map[string]any{"group": group, "topic": topicName, "partition": index, "offset": offset},
					"group %s: %s/%d at offset %d", group, topicName, index, offset)
				return nil
			})
		},
	}
	c.flags(cmd)
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVarP(&group, "group", "g", "", "Group whose position it is")
	f.StringVarP(&topicName, "topic", "t", "", "Topic")
	f.Int32Var(&index, "partition", 0, "Partition")
	f.Int64Var(&offset, "offset", 0, "Offset of the next record to be processed")
	f.BoolVar(&force, "force", false, "Store an offset beyond the partition's end, too")
	return cmd
}
