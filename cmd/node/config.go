package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tamarack-mq/tamarack/client"
	"github.com/tamarack-mq/tamarack/core/message"
)

func configCommand() *cobra.Command {
	var c connection
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Show and change settings of nodes while they run",
		Long: `Show and change settings of nodes while they run. What is set for one node goes
before what is set for all nodes, and that before what a node was started with.`,
	}
	c.flags(cmd)
	cmd.AddCommand(configList(&c), configGet(&c), configSet(&c), configUnset(&c))
	return cmd
}

func printSettings(c *connection, cmd *cobra.Command, list []message.SettingInfo) {
	p := c.printer(cmd.OutOrStdout(), "setting", "value", "from", "meaning")
	for _, s := range list {
		p.row(s.Key, s.Value, s.Source.String(), s.Prose)
	}
	p.end()
}

func configList(c *connection) *cobra.Command {
	var node int32
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List a node's settings, their values, and where each comes from",
		Args:  exactArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.with(cmd, func(ctx context.Context, cl *client.Client) error {
				if err := isNode(ctx, cl, message.NodeID(node)); err != nil {
					return err
				}
				_, list, err := cl.DescribeNodeConfig(ctx, message.NodeID(node))
				if err == nil {
					printSettings(c, cmd, list)
				}
				return err
			})
		},
	}
	cmd.Flags().Int32Var(&node, "node", 0, "The node; 0: whichever answers")
	return cmd
}

func configGet(c *connection) *cobra.Command {
	var node int32
	cmd := &cobra.Command{
		Use:   "get SETTING",
		Short: "Print the value of one setting of a node",
		Args:  exactArgs("the setting's name"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.with(cmd, func(ctx context.Context, cl *client.Client) error {
				if err := isNode(ctx, cl, message.NodeID(node)); err != nil {
					return err
				}
				id, list, err := cl.DescribeNodeConfig(ctx, message.NodeID(node))
				if err != nil {
					return err
				}
				var names []string
				for _, s := range list {
					if s.Key == args[0] {
						c.say(cmd.OutOrStdout(), map[string]any{"node": id, "setting": s.Key, "value": s.Value, "from": s.Source.String()}, "%s", s.Value)
						return nil
					}
					names = append(names, s.Key)
				}
				return usage("there is no setting %q that can be changed while nodes run; there are: %s", args[0], strings.Join(names, ", "))
			})
		},
	}
	cmd.Flags().Int32Var(&node, "node", 0, "The node; 0: whichever answers")
	return cmd
}

func configSet(c *connection) *cobra.Command {
	var node int32
	cmd := &cobra.Command{
		Use:     "set SETTING=VALUE...",
		Short:   "Set settings, for all nodes or for one",
		Example: "  node config set replica-lag=10s\n  node config set session-timeout=6s heartbeat-interval=1s\n  node config set --node 3 fetch-wait=100ms",
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			set, err := assignments(args)
			if err != nil {
				return err
			}
			if len(set) == 0 {
				return usage("missing SETTING=VALUE")
			}
			return alterNodes(c, cmd, &message.AlterConfig{Node: message.NodeID(node), Set: set})
		},
	}
	cmd.Flags().Int32Var(&node, "node", 0, "Only for this node; 0: for all that have no value of their own")
	return cmd
}

func configUnset(c *connection) *cobra.Command {
	var node int32
	cmd := &cobra.Command{
		Use:   "unset SETTING...",
		Short: "Go back to what holds without a setting: that of all nodes, or what a node was started with",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return alterNodes(c, cmd, &message.AlterConfig{Node: message.NodeID(node), Unset: args})
		},
	}
	cmd.Flags().Int32Var(&node, "node", 0, "Only what is set for this node; 0: what is set for all")
	return cmd
}

func alterNodes(c *connection, cmd *cobra.Command, m *message.AlterConfig) error {
	return c.with(cmd, func(ctx context.Context, cl *client.Client) error {
		if err := cl.AlterConfig(ctx, *m); err != nil {
			return err
		}
		whose := "all nodes"
		if m.Node != message.NoNode {
			whose = fmt.Sprintf("node %d", m.Node)
		}
		c.say(cmd.OutOrStdout(), map[string]any{"node": m.Node, "set": len(m.Set), "unset": len(m.Unset)},
			"settings of %s: changed", whose)
		return nil
	})
}

// assignments reads SETTING=VALUE.
func assignments(args []string) (set []message.Setting, err error) {
	for _, a := range args {
		key, value, ok := strings.Cut(a, "=")
		if !ok || key == "" {
			return nil, usage("%q: write it as SETTING=VALUE", a)
		}
		set = append(set, message.Setting{Key: key, Value: value})
	}
	return set, nil
}

func topicAlter(c *connection) *cobra.Command {
	var sets, unset []string
	cmd := &cobra.Command{
		Use:   "alter NAME --set SETTING=VALUE --unset SETTING",
		Short: "Change a topic's settings while it is used",
		Example: "  node topic alter orders --set retention=48h --set min-insync=2\n" +
			"  node topic alter orders --unset retention-bytes",
		Args: exactArgs("the topic's name"),
		RunE: func(cmd *cobra.Command, args []string) error {
			set, err := assignments(sets)
			if err != nil {
				return err
			}
			if len(set)+len(unset) == 0 {
				return usage("nothing to change: give --set or --unset; node topic settings %s lists what there is", args[0])
			}
			return c.with(cmd, func(ctx context.Context, cl *client.Client) error {
				if err := cl.AlterConfig(ctx, message.AlterConfig{Topic: args[0], Set: set, Unset: unset}); err != nil {
					return err
				}
				c.say(cmd.OutOrStdout(), map[string]any{"topic": args[0], "set": len(set), "unset": len(unset)},
					"settings of topic %s: changed", args[0])
				return nil
			})
		},
	}
	cmd.Flags().StringArrayVar(&sets, "set", nil, "A setting and its value, as SETTING=VALUE; may be repeated")
	cmd.Flags().StringArrayVar(&unset, "unset", nil, "A setting that goes back to its default; may be repeated")
	return cmd
}

func topicSettings(c *connection) *cobra.Command {
	return &cobra.Command{
		Use:   "settings NAME",
		Short: "List a topic's settings, their values, and which of them are its own",
		Args:  exactArgs("the topic's name"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.with(cmd, func(ctx context.Context, cl *client.Client) error {
				if err := await(ctx, cl, args[0], client.AnyPartition, c.timeout); err != nil {
					return err
				}
				list, err := cl.DescribeTopicConfig(ctx, args[0])
				if err == nil {
					printSettings(c, cmd, list)
				}
				return err
			})
		},
	}
}

func controllerCommand() *cobra.Command {
	var c connection
	cmd := &cobra.Command{Use: "controller", Short: "Show, add and remove the nodes that hold the cluster's metadata"}
	c.flags(cmd)
	cmd.AddCommand(controllerList(&c), controllerAdd(&c), controllerRemove(&c))
	return cmd
}

func controllerList(c *connection) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the controllers: voters, and those that are catching up",
		Args:  exactArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.with(cmd, func(ctx context.Context, cl *client.Client) error {
				m, err := cl.Metadata(ctx)
				if err != nil {
					return err
				}
				p := c.printer(cmd.OutOrStdout(), "node", "role", "state", "active")
				for _, list := range []struct {
					role string
					ids  []message.NodeID
				}{{"voter", m.Voters}, {"learner", m.Learners}} {
					for _, id := range list.ids {
						state := "unknown"
						for _, b := range m.Brokers {
							switch {
							case b.ID != id || m.ControllerSilent:
							case b.Fenced:
								state = "fenced"
							default:
								state = "live"
							}
						}
						p.row(int32(id), list.role, state, id == m.Controller && !m.ControllerSilent)
					}
				}
				p.end()
				return nil
			})
		},
	}
}

func controllerAdd(c *connection) *cobra.Command {
	return &cobra.Command{
		Use:   "add NODE",
		Short: "Have a running node hold the metadata too: it catches up, and votes from then on",
		Args:  exactArgs("the node's number"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return alterControllers(c, cmd, args[0], false, func(m *message.MetadataReply, id message.NodeID) bool {
				return slices.Contains(m.Voters, id)
			})
		},
	}
}

func controllerRemove(c *connection) *cobra.Command {
	return &cobra.Command{
		Use:   "remove NODE",
		Short: "Have a node hold the metadata no more; it may be down",
		Args:  exactArgs("the node's number"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return alterControllers(c, cmd, args[0], true, func(m *message.MetadataReply, id message.NodeID) bool {
				return !slices.Contains(m.Voters, id) && !slices.Contains(m.Learners, id)
			})
		},
	}
}

// alterControllers asks for a change and waits until it is done.
func alterControllers(c *connection, cmd *cobra.Command, number string, remove bool, done func(*message.MetadataReply, message.NodeID) bool) error {
	var id int32
	if _, err := fmt.Sscan(number, &id); err != nil || id < 1 {
		return usage("%q is no node: give its number", number)
	}
	return c.with(cmd, func(ctx context.Context, cl *client.Client) error {
		if err := cl.AlterControllers(ctx, message.NodeID(id), remove); err != nil {
			return err
		}
		for {
			m, err := cl.Metadata(ctx)
			if err == nil && done(m, message.NodeID(id)) {
				c.say(cmd.OutOrStdout(), map[string]any{"node": id, "voters": m.Voters}, "the voters are %s", nodes(m.Voters))
				return nil
			}
			select {
			case <-ctx.Done():
				return fmt.Errorf("node %d is added and still catching up; it votes when it has: %w", id, ctx.Err())
			case <-time.After(100 * time.Millisecond):
			}
		}
	})
}

// ownSettings are what a topic does not have by default, as SETTING=VALUE.
func ownSettings(ctx context.Context, cl *client.Client, topic string) (own []string, err error) {
	list, err := cl.DescribeTopicConfig(ctx, topic)
	for _, s := range list {
		if s.Source == message.FromTopic {
			own = append(own, s.Key+"="+s.Value)
		}
	}
	return own, err
}
