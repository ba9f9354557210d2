package core

import (
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
	"github.com/tamarack-mq/tamarack/core/replica"
)

// keeper is a room that keeps its state in the shards of an internal topic, as the
// replicas of these see it.
type keeper interface {
	// led says that this broker begins or ends to lead a shard.
	led(now message.Now, l replica.LeadershipChange)
	// wrote is the outcome of an append to a shard.
	wrote(now message.Now, ticket uint64, l replica.LocalResult)
	// replayed is the next part of a shard's log.
	replayed(now message.Now, p replica.Replay)
}

// coordinator is what the rooms of groups and of transactions have in common. O is
// the Out of the room.
type coordinator[O any] interface {
	Lead(now message.Now, index int32, epoch record.LeaderEpoch, out *O)
	Resign(now message.Now, index int32, epoch record.LeaderEpoch, out *O)
	Wrote(now message.Now, ticket uint64, code message.Code, base record.Offset, out *O)
	Replayed(now message.Now, index int32, epoch record.LeaderEpoch, batches []byte, done bool, out *O)
	ReplayAnew(index int32, epoch record.LeaderEpoch)
}

// kept is a coordinator with the Out that it is to use.
type kept[O any] struct {
	room coordinator[O]
	out  *O
}

func (k kept[O]) led(now message.Now, l replica.LeadershipChange) {
	if l.Leading {
		k.room.Lead(now, l.ID.Index, l.Epoch, k.out)
	} else {
		k.room.Resign(now, l.ID.Index, l.Epoch, k.out)
	}
}

func (k kept[O]) wrote(now message.Now, ticket uint64, l replica.LocalResult) {
	k.room.Wrote(now, ticket, l.Code, l.Base, k.out)
}

func (k kept[O]) replayed(now message.Now, p replica.Replay) {
	if p.Anew {
		k.room.ReplayAnew(p.ID.Index, p.Epoch)
	}
	k.room.Replayed(now, p.ID.Index, p.Epoch, p.Batches, p.Done, k.out)
}

// internalTopicOf is the internal topic with an id, or nil.
func (n *Node) internalTopicOf(id record.TopicID) *internalTopic {
	switch id {
	case 0: // that of a topic that is not there yet
	case n.offsets.id:
		return &n.offsets
	case n.transactions.id:
		return &n.transactions
	}
	return nil
}

// tellLeaderships passes on which shards this broker coordinates.
func (n *Node) tellLeaderships(now message.Now, led []replica.LeadershipChange) {
	for _, l := range led {
		if t := n.internalTopicOf(l.ID.Topic); t != nil {
			t.keeper.led(now, l)
		}
	}
}

// tellWritten hands the outcomes of appends to the coordinators that wanted them.
func (n *Node) tellWritten(now message.Now, local []replica.LocalResult) {
	for _, l := range local {
		t := &n.offsets
		ticket, of := untagged(l.Ticket)
		if of == ofTransactions {
			t = &n.transactions
		}
		t.keeper.wrote(now, ticket, l)
	}
}

// tellReplayed hands chunks of a shard's log to its coordinator and reads on.
func (n *Node) tellReplayed(now message.Now, replayed []replica.Replay) {
	for _, p := range replayed {
		t := n.internalTopicOf(p.ID.Topic)
		if t == nil || p.Code != message.None {
			continue // the leadership ends: the replica has reported the damage
		}
		t.keeper.replayed(now, p)
		if !p.Done {
			n.replicas.LocalRead(now, p.ID, p.Epoch, p.Next, &n.replicaOut)
		}
	}
}
