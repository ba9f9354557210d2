package sim

import (
	"github.com/tamarack-mq/tamarack/core"
	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/group"
	"github.com/tamarack-mq/tamarack/core/ledger"
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
	stands func(c *core.Node, shard int32) (ledger.Standing, bool)
	digest func(c *core.Node, shard int32) (uint64, bool)
}

var coordinators = [...]coordinating{{
	topic: offsetsTopic, what: "groups", fold: func() folding { return &group.Folding{} },
	stands: func(c *core.Node, shard int32) (ledger.Standing, bool) { return c.Groups().Stands(shard) },
	digest: func(c *core.Node, shard int32) (uint64, bool) { return c.Groups().Digest(shard) },
}, {
	topic: statesTopic, what: "transactions", fold: func() folding { return &txn.Folding{} },
	stands: func(c *core.Node, shard int32) (ledger.Standing, bool) { return c.Transactions().Stands(shard) },
	digest: func(c *core.Node, shard int32) (uint64, bool) { return c.Transactions().Digest(shard) },
}}

// coordinatorReplay is INV-23: a coordinator's memory equals a fresh replay of
// the committed records of its partition. It is checked now and then while
// nothing of the shard is pending, and for all shards at rest; what was loaded is
// looked at by loadedStates.
type coordinatorReplay struct {
	blind
	steps [len(coordinators)]int
}

// replayEvery is the number of answers of a kind of coordinator between two replays.
const replayEvery = 150

func (*coordinatorReplay) Invariant() string { return "INV-23" }

func (*coordinatorReplay) Looks() scope { return ofBeaten | ofGroupsTold | ofTurns }

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
	if w.newest() == nil {
		return
	}
	topic := w.newest().TopicNamed(of.topic)
	if topic == nil {
		return
	}
	for i := range topic.Partitions {
		if r := w.book.part(record.PartitionID{Topic: topic.ID, Index: int32(i)}).at(n.id); r != nil {
			of.compare(w, n, r)
		}
	}
}

// compare replays the log of a shard, unless something of it is pending or the node
// does not serve it; it says whether it could.
func (of *coordinating) compare(w *World, n *Node, r *replicaBook) bool {
	c := n.Core()
	if c == nil || n.drive.armed || w.failure != nil || !w.atlas.clean(n.id, r.part.id) {
		return false
	}
	shard, v := r.part.id.Index, &r.view
	s, led := of.stands(c, shard)
	if !led || !s.Serving || s.Pending > 0 || s.Epoch != v.LeaderEpoch || v.HighWatermark != v.End || v.Flushed != v.End {
		return false
	}
	if got, ok := of.digest(c, shard); ok {
		of.judge(w, n, shard, got, n.drive.all(r.part.id, v.Start, v.HighWatermark))
		if w.failure != nil {
			w.aboutRecord(r.part.id, -1)
		}
	}
	return true
}

// judge holds what a coordinator remembers against a replay of batches.
func (of *coordinating) judge(w *World, n *Node, shard int32, got uint64, batches []byte) {
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
