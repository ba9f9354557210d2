package main

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/tamarack-mq/tamarack/client"
	protocol "github.com/tamarack-mq/tamarack/core/client"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// clusterState is what the cluster says of itself. What was not answered is as
// it was before.
type clusterState struct {
	asked      time.Duration // since the run began: when the last complete answer was asked for
	nodes      []nodeState
	leaders    []message.NodeID // by partition
	ends       []int64          // by partition; -1: not known
	groups     map[string]groupState
	controller message.NodeID
	fenced     map[int]bool // by node
}

type nodeState struct {
	number int
	pid    int // 0: it has ended, or somebody else has started it
	state  string
	note   string
}

type groupState struct {
	state     string
	committed map[int32]int64
}

// drained says whether a group's committed positions are at the ends.
func (s *clusterState) drained(group string) bool {
	for p, end := range s.ends {
		if at, ok := s.groups[group].committed[int32(p)]; end < 0 || end > 0 && (!ok || at < end) {
			return false
		}
	}
	return len(s.ends) > 0
}

// watcher asks the cluster how it is.
type watcher struct {
	run   *withRun
	cl    *client.Client
	topic record.TopicID
}

// watchInterval is the time between two questions, watchPatience how long one
// may take.
const (
	watchInterval = time.Second
	watchPatience = 2 * time.Second
)

func (w *watcher) watch(ctx context.Context) {
	for ctx.Err() == nil {
		begun := time.Now()
		w.look(ctx)
		pause(ctx, watchInterval-time.Since(begun))
	}
}

// look asks everything once. How the nodes are is known at once, the rest when
// the cluster has answered: a cluster that has just lost a node takes its time.
func (w *watcher) look(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, watchPatience)
	defer cancel()
	asked := w.run.elapsed()
	s := w.run.state()
	s.nodes = w.nodes(ctx, s.fenced)
	w.run.setState(s)
	m, err := w.cl.Metadata(ctx, w.run.plan.Topic)
	if err == nil && len(m.Topics) == 1 && m.Topics[0].Code == message.None {
		s.leaders = make([]message.NodeID, len(m.Topics[0].Partitions))
		for _, p := range m.Topics[0].Partitions {
			s.leaders[p.Index] = p.Leader
		}
		s.controller, s.fenced = m.Controller, map[int]bool{}
		for _, b := range m.Brokers {
			s.fenced[int(b.ID)] = b.Fenced
		}
	}
	// Positions first: then no lag comes out too small.
	groups, told := w.groups(ctx, s.groups)
	ends, known := w.ends(ctx, s)
	s.groups, s.ends = groups, ends
	if err == nil && told && known {
		s.asked = asked
	}
	w.run.setState(s)
}

// nodes asks each node's own health check. One that serves and that the
// controller keeps out has just come back.
func (w *watcher) nodes(ctx context.Context, fenced map[int]bool) []nodeState {
	states := make([]nodeState, len(w.run.cluster.nodes))
	var all sync.WaitGroup
	for i, n := range w.run.cluster.nodes {
		all.Go(func() { states[i] = n.health(ctx) })
	}
	all.Wait()
	for i := range states {
		if states[i].state == "up" && fenced[states[i].number] {
			states[i].state = "fenced"
		}
	}
	return states
}

// health is up, starting, down or silent.
func (n *devNode) health(ctx context.Context) nodeState {
	s := nodeState{number: n.number, pid: n.cmd.Process.Pid}
	ended := false
	select {
	case <-n.ended:
		ended, s.pid = true, 0
	default:
	}
	switch code, err := n.probe(ctx); {
	case err == nil && code == http.StatusOK:
		s.state = "up"
	case err == nil:
		s.state = "starting"
	case ended:
		s.state = "down"
		s.note = fmt.Sprintf("%s; to start it again: node serve --config %s", n.outcome(), n.config)
	default:
		s.state = "silent"
	}
	return s
}

// groups asks each group's coordinator; false unless all have answered.
func (w *watcher) groups(ctx context.Context, before map[string]groupState) (map[string]groupState, bool) {
	found := make([]groupState, len(w.run.plan.ConsumerGroups))
	var all errgroup.Group
	for i, g := range w.run.plan.ConsumerGroups {
		all.Go(func() error {
			found[i] = before[g.Name]
			d, err := w.cl.DescribeGroup(ctx, g.Name)
			if err != nil {
				return err
			}
			found[i] = groupState{state: d.State, committed: map[int32]int64{}}
			for _, o := range d.Offsets {
				if o.ID.Topic == w.topic && o.Offset != message.NoOffset {
					found[i].committed[o.ID.Index] = int64(o.Offset)
				}
			}
			return nil
		})
	}
	err := all.Wait()
	states := make(map[string]groupState, len(found))
	for i, g := range w.run.plan.ConsumerGroups {
		states[g.Name] = found[i]
	}
	return states, err == nil
}

// ends asks each leader where its partitions end; false unless all are known.
func (w *watcher) ends(ctx context.Context, s clusterState) ([]int64, bool) {
	ends := make([]int64, w.run.plan.Partitions)
	fresh := make([]bool, len(ends))
	questions := map[message.NodeID]*message.ListOffsets{}
	for p := range ends {
		ends[p] = -1
		if p < len(s.ends) {
			ends[p] = s.ends[p]
		}
		if p >= len(s.leaders) || s.leaders[p] == message.NoNode {
			continue
		}
		if questions[s.leaders[p]] == nil {
			questions[s.leaders[p]] = &message.ListOffsets{}
		}
		q := questions[s.leaders[p]]
		q.Partitions = append(q.Partitions, message.ListOffsetsPartition{
			ID: record.PartitionID{Topic: w.topic, Index: int32(p)}, LeaderEpoch: record.NoLeaderEpoch, Timestamp: message.Latest})
	}
	var all sync.WaitGroup
	for node, q := range questions {
		all.Go(func() { // each writes other partitions
			r, err := w.cl.Ask(ctx, q, protocol.Target{Kind: protocol.TheNode, Node: node})
			m, ok := r.(*message.ListOffsetsReply)
			if err != nil || !ok {
				return
			}
			for _, o := range m.Partitions {
				if o.Code == message.None && int(o.ID.Index) < len(ends) {
					ends[o.ID.Index], fresh[o.ID.Index] = int64(o.Offset), true
				}
			}
		})
	}
	all.Wait()
	known := true
	for _, f := range fresh {
		known = known && f
	}
	return ends, known
}
