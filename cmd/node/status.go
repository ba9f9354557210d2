package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/tamarack-mq/tamarack/client"
	"github.com/tamarack-mq/tamarack/core/message"
)

func statusCommand() *cobra.Command {
	var c connection
	var check bool
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show the cluster: nodes, leaders, what is offline or short of replicas",
		Args:  exactArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.with(cmd, func(ctx context.Context, cl *client.Client) error {
				m, err := cl.Metadata(ctx)
				if err != nil {
					return err
				}
				s := summarize(m)
				p := c.printer(cmd.OutOrStdout(), "node", "address", "rack", "state", "leads", "replicas", "controller")
				for _, b := range m.Brokers {
					state := "live"
					switch {
					case b.Fenced:
						state = "fenced"
					case m.ControllerSilent:
						state = "unknown"
					case b.Draining:
						state = "draining"
					}
					p.row(int32(b.ID), b.Address, b.Rack, state, s.leads[b.ID], s.hosts[b.ID], b.ID == m.Controller && !m.ControllerSilent)
				}
				p.end()
				c.say(cmd.OutOrStdout(), map[string]any{"cluster": m.ClusterID, "version": m.Version, "topics": s.topics, "partitions": s.partitions,
					"offline": s.offline, "under_replicated": s.thin, "controller_silent": m.ControllerSilent, "voters": m.Voters, "learners": m.Learners},
					"cluster %s, metadata version %d: %s, %s, %d offline, %d short of replicas, voters %s",
					m.ClusterID, m.Version, counted(s.topics, "topic"), counted(s.partitions, "partition"), s.offline, s.thin, nodes(m.Voters))
				if m.ControllerSilent {
					if check {
						return errors.New(noController)
					}
					c.warn(cmd.ErrOrStderr(), noController)
				}
				if check && s.offline+s.thin+s.fenced > 0 {
					return errors.New(s.complaint())
				}
				return nil
			})
		},
	}
	c.flags(cmd)
	cmd.Flags().BoolVar(&check, "check", false, "Fail unless there is a controller, every node is live and every partition has a leader and all its replicas in sync")
	return cmd
}

// noController is what a node that has lost its controller cannot vouch for.
const noController = "the node that answered has heard from no controller for longer than a session, so this is what it knew before: is a majority of the voters up?"

// clusterSummary counts what there is.
type clusterSummary struct {
	topics, partitions, offline, thin, fenced int
	leads, hosts                              map[message.NodeID]int
}

func summarize(m *message.MetadataReply) clusterSummary {
	s := clusterSummary{topics: len(m.Topics), leads: map[message.NodeID]int{}, hosts: map[message.NodeID]int{}}
	for _, b := range m.Brokers {
		if b.Fenced {
			s.fenced++
		}
	}
	for _, t := range m.Topics {
		for _, p := range t.Partitions {
			s.partitions++
			s.leads[p.Leader]++
			for _, r := range p.Replicas {
				s.hosts[r]++
			}
			if p.Leader == message.NoNode {
				s.offline++
			}
			if len(p.ISR) < len(p.Replicas) {
				s.thin++
			}
		}
	}
	return s
}

func (s clusterSummary) complaint() string {
	are := func(n int, one, more string) string {
		if n == 1 {
			return "1 " + one + "is"
		}
		return fmt.Sprintf("%d %sare", n, more)
	}
	return fmt.Sprintf("%s fenced, %s offline, %s short of replicas",
		are(s.fenced, "node ", "nodes "), are(s.offline, "partition ", "partitions "), are(s.thin, "", ""))
}
