package sim

import (
	"slices"

	"github.com/tamarack-mq/tamarack/core/group"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/metadata"
	"github.com/tamarack-mq/tamarack/core/record"
	"github.com/tamarack-mq/tamarack/core/txn"
)

// Coordinators keep their state in partitions, their shards. What was given up of a
// shard, the coordinator does not know any more, and judges cannot ask for it.

// forgets says that a coordinator may not know any more what it wrote to its shard:
// an operator gave records up, or nobody may lead it.
func (p *partBook) forgets() bool { return p.off() || p.forsaken() }

// partitionForsaken says whether nobody may lead a partition any more.
func (w *World) partitionForsaken(id record.PartitionID) bool { return w.book.parts[id].forsaken() }

// topicForsaken says whether a topic has a partition that nobody may lead any more.
func (w *World) topicForsaken(name string) bool {
	t := w.newest().TopicNamed(name)
	return t != nil && slices.ContainsFunc(t.Partitions, func(p *message.PartitionChange) bool { return w.partitionForsaken(p.ID) })
}

// shardGivenUp says whether records of the shard that holds a group may have been
// given up by an operator's unclean election. That damage beyond the budget has hit its
// last copies is no reason: see off.
func (w *World) shardGivenUp(g string) bool { return w.groupShard(g).off() }

// shardForsaken says whether nobody may coordinate a group any more, because the
// last copies of its shard were hit.
func (w *World) shardForsaken(g string) bool { return w.groupShard(g).forsaken() }

// deposedFromShard says that the shard of a group is led by another node than
// this one, which may not have heard of it.
func (w *World) deposedFromShard(n *Node, g string) bool {
	p := w.groupShard(g)
	return p != nil && p.state != nil && int32(p.state.Leader) != n.id
}

// transactionsGivenUp says whether what was decided about the transactions of an id
// may be forgotten.
func (w *World) transactionsGivenUp(id string) bool {
	t := w.shards(statesTopic)
	return t != nil && w.shard(t, txn.Shard(id, int32(len(t.Partitions)))).forgets()
}

// producerGivenUp says so of the transactions of a producer. One of whom no coordinator
// is known to have committed anything may belong to any shard that was given up.
func (w *World) producerGivenUp(id record.ProducerID) bool {
	if name := w.book.transactions.owners[id]; name != "" {
		return w.transactionsGivenUp(name)
	}
	t := w.shards(statesTopic)
	return t != nil && slices.ContainsFunc(t.Partitions, func(p *message.PartitionChange) bool { return w.book.parts[p.ID].forgets() })
}

// pendingGivenUp says that a position may be pending for good: what its group was told
// was given up, or what would have ended its transaction.
func (w *World) pendingGivenUp(p *group.Pending) bool {
	return w.shardGivenUp(p.Group) || w.producerGivenUp(p.ID)
}

// mayStayOpen says that a transaction may stay open for good in a partition: what
// was written there was given up, or what would have ended one that is open.
func (w *World) mayStayOpen(p *partBook) bool {
	return p.off() || slices.ContainsFunc(w.book.transactions.open(p), func(o openSpan) bool { return w.producerGivenUp(o.id) })
}

// forgotten says that a batch may be taken for another one: coordinators that were
// led to forget who has got an epoch give it out again.
func (w *World) forgotten(h *record.Header) bool {
	return h.Attributes.Transactional() && w.producerGivenUp(h.ProducerID)
}

// groupShard is the partition that holds a group; nil: it is not known.
func (w *World) groupShard(g string) *partBook {
	t := w.shards(offsetsTopic)
	if t == nil {
		return nil
	}
	return w.shard(t, group.Shard(g, int32(len(t.Partitions))))
}

// shards is a topic in which coordinators keep their state; nil: there is none yet.
func (w *World) shards(name string) *metadata.Topic {
	if w.newest() == nil {
		return nil
	}
	return w.newest().TopicNamed(name)
}

func (w *World) shard(t *metadata.Topic, index int32) *partBook {
	return w.book.parts[record.PartitionID{Topic: t.ID, Index: index}]
}
