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
	fenced     map[int]bool // by node: it serves, but the controller does not count it in (yet)
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

// watcher asks the nodes and the cluster how they are.
type watcher struct {
	run   *withRun
	cl    *client.Client
	topic record.TopicID
}

// watchInterval is the time between two questions, probePatience how long a
// node's health check may take, watchPatience what the cluster may take
// together. watchTimeout is what the watcher's client gives one node before it
// asks another.
const (
	watchInterval = time.Second
	probePatience = time.Second
	watchPatience = 3 * time.Second
	watchTimeout  = 700 * time.Millisecond
)

// watch goes on until ctx ends. The nodes are asked apart from the cluster,
// which takes its time when it has just lost one.
func (w *watcher) watch(ctx context.Context) {
	every := func(patience time.Duration, look func(context.Context)) {
		for ctx.Err() == nil {
			begun := time.Now()
			limited, cancel := context.WithTimeout(ctx, patience)
			look(limited)
			cancel()
			pause(ctx, watchInterval-time.Since(begun))
		}
	}
	var both sync.WaitGroup
	both.Go(func() { every(probePatience, w.lookAtNodes) })
	both.Go(func() { every(watchPatience, w.lookAtCluster) })
	both.Wait()
}

// lookAtNodes asks each node's own health check.
func (w *watcher) lookAtNodes(ctx context.Context) {
	states := make([]nodeState, len(w.run.cluster.nodes))
	var all sync.WaitGroup
	for i, n := range w.run.cluster.nodes {
		all.Go(func() { states[i] = n.health(ctx) })
	}
	all.Wait()
	w.run.learn(func(s *clusterState) { s.nodes = states })
}

// lookAtCluster asks for leaders, positions and ends.
func (w *watcher) lookAtCluster(ctx context.Context) {
	asked := w.run.elapsed()
	m, err := w.cl.Metadata(ctx, w.run.plan.Topic)
	if err == nil && len(m.Topics) == 1 && m.Topics[0].Code == message.None {
		leaders := make([]message.NodeID, len(m.Topics[0].Partitions))
		for _, p := range m.Topics[0].Partitions {
			leaders[p.Index] = p.Leader
		}
		fenced := map[int]bool{}
		for _, b := range m.Brokers {
			fenced[int(b.ID)] = b.Fenced
		}
		w.run.learn(func(s *clusterState) { s.leaders, s.controller, s.fenced = leaders, m.Controller, fenced })
	}
	// Positions first: then no lag comes out too small.
	before := w.run.now().cluster
	groups, told := w.groups(ctx, before.groups)
	ends, known := w.ends(ctx, before)
	w.run.learn(func(s *clusterState) {
		s.groups, s.ends = groups, ends
		if err == nil && told && known {
			s.asked = asked
		}
	})
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
