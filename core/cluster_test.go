package core

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core/chance"
	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// cluster is the smallest driver there is: nodes in one process, a network that
// delivers at once and in order, disks that finish at once. What goes wrong in
// the world is the simulator's business; these tests tell whether the rooms
// talk to one another.
type cluster struct {
	t     *testing.T
	now   message.Now
	nodes []*host
	token message.Token
	// replies by token, as they came.
	replies map[message.Token]message.Reply
	mute    func(message.Message) bool // what the network loses
	delays  *delays                    // nil: nothing takes time
}

// host is one node with its disk.
type host struct {
	id      message.NodeID
	core    *Node
	logs    map[record.PartitionID]*memoryLog
	journal [][]byte
	disk    uint64
	inbox   []effect.Input
	halted  string
	down    bool
	mayHalt bool // an unclean halt is expected
}

type memoryLog struct {
	start, end, highWatermark record.Offset
	at                        record.Offset
	checkpoint                []byte
	batches                   [][]byte
}

func newCluster(t *testing.T, n int) *cluster {
	c := &cluster{t: t, now: message.Now{Mono: 1, Wall: 1_700_000_000_000}, replies: map[message.Token]message.Reply{}}
	for i := range n {
		h := &host{id: message.NodeID(i + 1), disk: uint64(i + 1), logs: map[record.PartitionID]*memoryLog{}}
		c.nodes = append(c.nodes, h)
	}
	for _, h := range c.nodes {
		c.start(h)
	}
	return c
}

func (c *cluster) start(h *host) {
	var voters []message.NodeID
	for _, v := range c.nodes {
		voters = append(voters, v.id)
	}
	found := effect.Recovered{Journal: h.journal, DiskID: h.disk, Fresh: len(h.journal) == 0}
	var ids []record.PartitionID
	for id := range h.logs {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, record.PartitionID.Compare)
	for _, id := range ids {
		l := h.logs[id]
		r := effect.RecoveredLog{ID: id, Start: l.start, End: l.end, HighWatermark: l.highWatermark, Checkpoint: l.checkpoint, CheckpointAt: l.at}
		for _, b := range l.batches {
			head, err := record.DecodeHeader(b)
			require.NoError(c.t, err)
			if l.checkpoint == nil || head.BaseOffset >= l.at {
				r.Headers = append(r.Headers, head)
			}
		}
		found.Logs = append(found.Logs, r)
	}
	h.down, h.inbox = false, nil
	h.core = New(Config{
		ID: h.id, ClusterID: "test", Address: fmt.Sprintf("host:%d", h.id), Voters: voters,
		Incarnation: uint64(c.now.Mono)<<8 | uint64(h.id),
		Groups:      Groups{Partitions: 2}, Transactions: Transactions{Partitions: 2},
	}, found, chance.New(uint64(h.id)), c.now)
	h.inbox = append(h.inbox, effect.Tick{})
}

// crash ends a node; what it was told to flush is kept, as its disk is instant.
func (c *cluster) crash(id message.NodeID) { c.nodes[id-1].down = true }

func (c *cluster) restart(id message.NodeID) { c.start(c.nodes[id-1]) }

// drain steps nodes until nobody has anything to do at this moment.
func (c *cluster) drain() {
	for moved := true; moved; {
		moved = false
		for _, h := range c.nodes {
			for len(h.inbox) > 0 && !h.down {
				in := h.inbox[0]
				h.inbox = h.inbox[1:]
				c.step(h, in)
				moved = true
			}
			if !h.down && h.core.Wake() <= c.now.Mono {
				c.step(h, effect.Tick{})
				moved = true
			}
		}
	}
}

func (c *cluster) step(h *host, in effect.Input) {
	var out effect.Out
	h.core.Step(c.now, in, &out)
	for _, e := range out.List {
		c.do(h, e)
	}
}

func (c *cluster) do(h *host, e effect.Effect) {
	if c.slow(h, e) {
		return
	}
	switch e := e.(type) {
	case effect.Send:
		if to := c.nodes[e.To-1]; !to.down && (c.mute == nil || !c.mute(e.Msg)) {
			to.inbox = append(to.inbox, effect.Received{From: h.id, Msg: message.Detach(e.Msg)})
		}
	case effect.Reply:
		require.NotContains(c.t, c.replies, e.Token, "a request is answered twice")
		c.replies[e.Token] = e.Msg
	case effect.SaveQuorum:
		h.journal = append(h.journal, e.Frame)
		h.inbox = append(h.inbox, effect.QuorumSaved{Seq: e.Seq})
	case effect.ReplaceQuorum:
		h.journal = slices.Clone(e.Frames)
		h.inbox = append(h.inbox, effect.QuorumSaved{Seq: e.Seq})
	case effect.Halt:
		h.down, h.halted = true, e.Reason
		require.True(c.t, e.Clean || h.mayHalt, "node %d halts: %s", h.id, e.Reason)
	default:
		c.doDisk(h, e)
	}
}

func (c *cluster) doDisk(h *host, e effect.Effect) {
	switch e := e.(type) {
	case effect.CreateLog:
		require.NotContains(c.t, h.logs, e.Log)
		h.logs[e.Log] = &memoryLog{start: e.Start, end: e.Start}
	case effect.DeleteLog:
		delete(h.logs, e.Log)
	case effect.Append:
		l := h.logs[e.Log]
		require.Equal(c.t, l.end, e.Base)
		l.batches, l.end = append(l.batches, slices.Clone(e.Batches)), e.End
		h.inbox = append(h.inbox, effect.Appended{Log: e.Log, Cut: e.Cut, End: e.End})
	case effect.Flush:
		h.inbox = append(h.inbox, effect.Flushed{Log: e.Log, Cut: e.Cut, End: h.logs[e.Log].end})
	case effect.Truncate:
		l := h.logs[e.Log]
		for len(l.batches) > 0 && l.end > e.To {
			head, err := record.DecodeHeader(l.batches[len(l.batches)-1])
			require.NoError(c.t, err)
			l.batches, l.end = l.batches[:len(l.batches)-1], head.BaseOffset
		}
	case effect.Reset:
		*h.logs[e.Log] = memoryLog{start: e.Start, end: e.Start}
	case effect.TrimPrefix:
		h.logs[e.Log].start = e.Start
	case effect.ConfigureLog: // segments do not matter here
	case effect.Checkpoint:
		l := h.logs[e.Log]
		l.checkpoint, l.at, l.highWatermark = e.State, e.At, e.HighWatermark
	case effect.Read:
		done := effect.ReadDone{Token: e.Token}
		for _, s := range e.Slices {
			done.Results = append(done.Results, effect.ReadResult{Batches: h.logs[s.Log].read(c.t, s)})
		}
		h.inbox = append(h.inbox, done)
	default:
		c.t.Fatalf("the test's disk knows no %T", e)
	}
}

func (l *memoryLog) read(t *testing.T, s effect.Slice) []byte {
	var got []byte
	for _, b := range l.batches {
		head, err := record.DecodeHeader(b)
		require.NoError(t, err)
		if head.End() <= s.From || head.BaseOffset >= s.To || len(got) > 0 && len(got)+len(b) > int(s.MaxBytes) {
			continue
		}
		got = append(got, b...)
	}
	return got
}

// wait lets time pass until done, ten milliseconds at a time.
func (c *cluster) wait(what string, done func() bool) {
	c.t.Helper()
	for range 6000 {
		c.drain()
		if done() {
			return
		}
		c.now.Mono += message.Time(10 * message.Millisecond)
		c.now.Wall += 10
	}
	c.t.Fatalf("a minute has passed and still not: %s", what)
}

// pass lets some time pass.
func (c *cluster) pass(d message.Duration) {
	c.t.Helper()
	end := c.now.Mono.Add(d)
	c.wait("time has passed", func() bool { return c.now.Mono >= end })
}

// ask sends a request to a node and waits for its reply.
func (c *cluster) ask(to message.NodeID, r message.Request) message.Reply {
	c.t.Helper()
	c.token++
	token := c.token
	h := c.nodes[to-1]
	h.inbox = append(h.inbox, effect.Requested{Token: token, Msg: r})
	c.wait(r.Kind().String()+" is answered", func() bool { return c.replies[token] != nil })
	return c.replies[token]
}

func (c *cluster) shutdown(id message.NodeID) {
	c.nodes[id-1].inbox = append(c.nodes[id-1].inbox, effect.Shutdown{})
}

// coordinator asks a live node until it names the coordinator of a group.
func (c *cluster) coordinator(group string) message.NodeID {
	c.t.Helper()
	for range 200 {
		for _, h := range c.nodes {
			if h.down {
				continue
			}
			r := c.ask(h.id, &message.FindCoordinator{Group: group}).(*message.FindCoordinatorReply)
			if r.Code == message.None && !c.nodes[r.Node-1].down {
				return r.Node
			}
			break
		}
		c.now.Mono += message.Time(100 * message.Millisecond)
	}
	c.t.Fatalf("nobody coordinates %s", group)
	return message.NoNode
}
