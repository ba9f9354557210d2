package sim

import (
	"github.com/tamarack-mq/tamarack/core"
	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/group"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
	"github.com/tamarack-mq/tamarack/core/txn"
)

// offsetsTopic is the internal topic of the groups.
const offsetsTopic = group.TopicName

// folding is a replay of a shard's log that comes in parts.
type folding interface {
	Take(batches []byte) error
	Digest() uint64
}

// coordinating is one kind of coordinator, as the judges of its shards need it.
type coordinating struct {
	topic  string
	what   string // is in its log
	fold   func() folding
	shards func(c *core.Node) []keptShard
	digest func(c *core.Node, shard int32) (uint64, bool)
}

// keptShard is a shard that a node serves with nothing of it pending.
type keptShard struct {
	index int32
	epoch record.LeaderEpoch
}

var coordinators = [...]coordinating{{
	topic: offsetsTopic, what: "groups", fold: func() folding { return &group.Folding{} },
	shards: func(c *core.Node) (list []keptShard) {
		for _, s := range c.Groups().Views() {
			if s.Serving && s.Pending == 0 {
				list = append(list, keptShard{s.Shard, s.Epoch})
			}
		}
		return list
	},
	digest: func(c *core.Node, shard int32) (uint64, bool) { return c.Groups().Digest(shard) },
}, {
	topic: statesTopic, what: "transactions", fold: func() folding { return &txn.Folding{} },
	shards: func(c *core.Node) (list []keptShard) {
		for _, s := range c.Transactions().Views() {
			if s.Serving && s.Pending == 0 {
				list = append(list, keptShard{s.Shard, s.Epoch})
			}
		}
		return list
	},
	digest: func(c *core.Node, shard int32) (uint64, bool) { return c.Transactions().Digest(shard) },
}}

// coordinatorReplay is INV-23: a coordinator's memory equals a fresh replay of
// the committed records of its partition. It is checked now and then while
// nothing of the shard is pending, and for all shards at rest.
type coordinatorReplay struct {
	blind
	steps [len(coordinators)]int
}

// replayEvery is the number of answers of a kind of coordinator between two replays.
const replayEvery = 150

func (*coordinatorReplay) Invariant() string { return "INV-23" }

func (o *coordinatorReplay) Stepped(w *World, n *Node, _ effect.Input, out []effect.Effect) {
	for _, e := range out {
		r, ok := e.(effect.Reply)
		if !ok {
			continue
		}
		kind := 0
		switch r.Msg.(type) {
		case *message.GroupHeartbeatReply, *message.CommitOffsetsReply, *message.CommitTransactionOffsetsReply:
		case *message.EndTransactionReply:
			kind = 1
		default:
			continue
		}
		if o.steps[kind]++; o.steps[kind]%w.nowAndThen(replayEvery) == 0 {
			o.compare(w, n, &coordinators[kind])
		}
		return
	}
}

func (o *coordinatorReplay) Rested(w *World) {
	for _, n := range w.nodes[1:] {
		for i := range coordinators {
			o.compare(w, n, &coordinators[i])
		}
	}
}

// compare replays every shard of a node in which nothing is pending.
func (o *coordinatorReplay) compare(w *World, n *Node, of *coordinating) {
	c := n.Core()
	if c == nil || n.drive.armed || w.newest() == nil || w.failure != nil {
		return
	}
	topic := w.newest().TopicNamed(of.topic)
	if topic == nil {
		return
	}
	for _, shard := range of.shards(c) {
		id := record.PartitionID{Topic: topic.ID, Index: shard.index}
		if !w.atlas.clean(n.id, id) {
			continue
		}
		view, ok := c.Replicas().View(id)
		if !ok || view.LeaderEpoch != shard.epoch || view.HighWatermark != view.End || view.Flushed != view.End {
			continue
		}
		batches := n.drive.all(id, view.Start, view.HighWatermark)
		if got, ok := of.digest(c, shard.index); ok {
			o.judge(w, n, of, shard.index, got, batches)
		}
	}
}

// judge holds what a coordinator remembers against a replay of batches.
func (o *coordinatorReplay) judge(w *World, n *Node, of *coordinating, shard int32, got uint64, batches []byte) {
	fold := of.fold()
	err := fold.Take(batches)
	switch {
	case err != nil:
		w.fail("INV-23", n.id, "a coordinator's log cannot be replayed", "shard %d of %s on node %d cannot be replayed from its log: %v", shard, of.what, n.id, err)
	case got != fold.Digest():
		w.fail("INV-23", n.id, "a coordinator's memory differs from a replay", "what the coordinator on node %d remembers of shard %d of %s is not what a replay of its log gives", n.id, shard, of.what)
	}
}

// all reads a range of a log, as it stands in the disk's cache.
func (d *drive) all(id record.PartitionID, from, to record.Offset) []byte {
	var out []byte
	for from < to {
		b, err := d.store.Read(effect.Slice{Log: id, From: from, To: to, MaxBytes: 1 << 30})
		if err != nil || len(b) == 0 {
			return out
		}
		out = append(out, b...)
		it := record.Batches(b)
		for it.Next() {
			from = it.Header.End()
		}
	}
	return out
}
