package sim

import (
	"github.com/tamarack-mq/tamarack/core/group"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
	"github.com/tamarack-mq/tamarack/core/replica"
	"github.com/tamarack-mq/tamarack/core/txn"
)

// transactionUnrest judges that every transaction has ended everywhere: with its
// coordinator, in the logs, and in the positions of groups. What was given up with
// records of a coordinator, of a log or of a group may stay open for good.
func (w *World) transactionUnrest(add complain) {
	if !w.transacted {
		return
	}
	for _, n := range w.nodes[1:] {
		c := n.Core()
		if c == nil {
			continue
		}
		for _, v := range c.Transactions().Views() {
			if v.Ongoing+v.Preparing+v.Held+v.Waiting > 0 {
				add("a transaction has not ended", "node %d has in shard %d of transactions %d open, %d that are decided, %d requests that wait for those, %d answers", n.id, v.Shard, v.Ongoing, v.Preparing, v.Held, v.Waiting)
			}
		}
		if w.unsettled() {
			continue
		}
		c.Groups().EachPending(func(_ int32, p group.Pending) bool {
			if !w.shardGivenUp(p.Group) {
				add("a position is pending", "node %d keeps for group %q a position of producer %d in partition %s", n.id, p.Group, p.ID, p.Partition)
			}
			return true
		})
	}
	var of replica.View
	for state := range w.newest().Partitions() {
		part := w.book.part(state.ID)
		if leader := w.replicaAt(part, state.Leader, &of); leader != nil && leader.LastStable < leader.HighWatermark && !w.mayStayOpen(part) {
			add("records wait for the end of a transaction", "all below %d is stable, and %d is committed, in %s", leader.LastStable, leader.HighWatermark, w.tellPartition(state))
		}
	}
}

// mayStayOpen says that a transaction may stay open for good in a partition: what
// would have ended it was given up.
func (w *World) mayStayOpen(p *partBook) bool { return p.off() || p.unclean || p.loss || w.unsettled() }

// unsettled says that what was decided about some transactions may have been given
// up with records of a coordinator.
func (w *World) unsettled() bool {
	t := w.newest().TopicNamed(txn.TopicName)
	if t == nil {
		return false
	}
	for i := range t.Partitions {
		if p := w.book.parts[record.PartitionID{Topic: t.ID, Index: int32(i)}]; p != nil && (p.off() || p.unclean || p.forsaken()) {
			return true
		}
	}
	return false
}

// transactionsGivenUp says so of one transactional id.
func (w *World) transactionsGivenUp(id string) bool {
	t := w.newest().TopicNamed(txn.TopicName)
	if t == nil {
		return false
	}
	p := w.book.parts[record.PartitionID{Topic: t.ID, Index: txn.Shard(id, int32(len(t.Partitions)))}]
	return p != nil && (p.off() || p.unclean || p.forsaken())
}

// stalled says that a group may never be told its positions again: some are pending
// in a transaction of which nobody knows the end any more.
func (w *World) stalled(name string) (stalled bool) {
	if !w.transacted || !w.unsettled() && !w.shardGivenUp(name) {
		return false
	}
	for _, n := range w.nodes[1:] {
		if c := n.Core(); c != nil {
			c.Groups().EachPending(func(_ int32, p group.Pending) bool {
				stalled = stalled || p.Group == name
				return !stalled
			})
		}
	}
	return stalled
}

// readableBy is what a client must find in a partition at rest.
func (w *World) readableBy(u *user, p *partBook) (start, end record.Offset) {
	start, end = w.readable(p)
	if u.committed() && w.mayStayOpen(p) && p.state != nil && p.state.Leader != message.NoNode {
		if leader := w.replicaAt(p, p.state.Leader, &replica.View{}); leader != nil {
			end = min(end, leader.LastStable)
		}
	}
	return start, end
}
