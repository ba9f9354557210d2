package sim

import (
	"slices"
	"strings"

	"github.com/tamarack-mq/tamarack/core"
	"github.com/tamarack-mq/tamarack/core/group"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
	"github.com/tamarack-mq/tamarack/core/replica"
	"github.com/tamarack-mq/tamarack/core/txn"
)

// restless fails a run that does not come to rest, in the name of what is stuck.
func (w *World) restless(stuck []string) {
	const what = "%v after the last fault the cluster has not come to rest: %s"
	after, cause, all := w.now-w.plan.Phases.Warm-w.plan.Phases.Faults, causeOf(stuck[0]), strings.Join(stuck, "; ")
	switch cause {
	case openTransaction, openPosition, unstableRecords, unverifiedRecords, unverifiedPositions:
		w.fail("INV-33", 0, cause, what, after, all)
	default:
		w.fail("INV-34", 0, cause, what, after, all)
	}
}

// What is stuck when transactions are.
const (
	openTransaction     = "a transaction has not ended"
	openPosition        = "a position is pending"
	unstableRecords     = "records wait for the end of a transaction"
	unverifiedRecords   = "records wait for a transaction coordinator"
	unverifiedPositions = "positions wait for a transaction coordinator"
)

// transactionUnrest is INV-33: every transaction has ended everywhere, by its
// producer or by its time limit: with its coordinator, in the logs, and in the
// positions of groups; and nobody waits for a coordinator. What was given up with
// records of a coordinator, of a log or of a group may stay open for good; what one
// has open who may never come to an end, until it is dismissed.
func (w *World) transactionUnrest(add complain) {
	if !w.transacted {
		return
	}
	for _, n := range w.nodes[1:] {
		c := n.Core()
		if c == nil || n.forGood {
			continue
		}
		w.undecided(add, n, c)
		if bytes := c.Replicas().HeldBytes(); bytes > 0 {
			add(unverifiedRecords, "%d bytes count as held back on node %d", bytes, n.id)
		}
		for _, v := range c.Groups().Views() {
			if v.Held > 0 {
				add(unverifiedPositions, "%d requests in shard %d of groups on node %d", v.Held, v.Shard, n.id)
			}
		}
		c.Groups().EachPending(func(_ int32, p group.Pending) bool {
			if !w.pendingGivenUp(&p) && !w.attempts(func(c *ClientPlan) bool { return c.Group == p.Group }) {
				add(openPosition, "node %d keeps for group %q a position of producer %d in partition %s", n.id, p.Group, p.ID, p.Partition)
			}
			return true
		})
	}
	var of replica.View
	for state := range w.newest().Partitions() {
		part := w.book.part(state.ID)
		here := func(c *ClientPlan) bool {
			t := w.newest().Topic(state.ID.Topic)
			return t != nil && slices.Contains(c.publishesTo(), t.Name)
		}
		leader := w.replicaAt(part, state.Leader, &of)
		if leader != nil && leader.Unverified > 0 {
			add(unverifiedRecords, "%d batches in %s", leader.Unverified, w.tellPartition(state))
		}
		if leader != nil && leader.LastStable != leader.HighWatermark && !w.mayStayOpen(part) && !w.attempts(here) {
			add(unstableRecords, "all below %d is stable, and %d is committed, in %s", leader.LastStable, leader.HighWatermark, w.tellPartition(state))
		}
	}
}

// undecided looks at one coordinator. A decision stays without its last marker where
// nobody may lead the partition any more; who waits then, in its shard, may wait for it.
func (w *World) undecided(add complain, n *Node, c *core.Node) {
	var unwritable []int32 // shards
	c.Transactions().EachTransaction(func(shard int32, t txn.Transaction) bool {
		switch {
		case prepared(t.Phase) && slices.ContainsFunc(t.Partitions, w.partitionForsaken):
			unwritable = append(unwritable, shard)
		case w.attempts(func(p *ClientPlan) bool { return p.Transactional == t.TransactionalID }):
		case t.Phase == txn.Ongoing || prepared(t.Phase):
			add(openTransaction, "node %d has that of %q, %v, in shard %d as %v with the partitions %v", n.id, t.TransactionalID, t.Now, shard, t.Phase, t.Partitions)
		}
		return true
	})
	for _, v := range waitedFor(c.Transactions().Views(), unwritable) {
		add(openTransaction, "in shard %d on node %d %d requests wait for one, and %d answers", v.Shard, n.id, v.Held, v.Waiting)
	}
}

// waitedFor are the shards in which somebody waits, but for those that are excused.
func waitedFor(views []txn.ShardView, excused []int32) []txn.ShardView {
	return slices.DeleteFunc(views, func(v txn.ShardView) bool { return v.Held+v.Waiting == 0 || slices.Contains(excused, v.Shard) })
}

// stalled says that a group may never be told its positions again: some are pending
// in a transaction of which nobody knows the end any more. Or its workers may never
// end a transaction.
func (w *World) stalled(name string) (stalled bool) {
	for _, u := range w.clients {
		if u.up && u.plan.Group == name && w.hindered(u) {
			return true
		}
	}
	if !w.transacted {
		return false
	}
	var open map[record.ProducerID]bool
	for _, n := range w.nodes[1:] {
		if c := n.Core(); c != nil {
			c.Groups().EachPending(func(_ int32, p group.Pending) bool {
				if p.Group != name || !w.pendingGivenUp(&p) {
					return true
				}
				if open == nil {
					open = w.underWay()
				}
				stalled = stalled || !open[p.ID]
				return !stalled
			})
		}
	}
	return stalled
}

// underWay are the producers whose transaction some coordinator knows and has not
// brought to its end: what is pending for them is on its way.
func (w *World) underWay() map[record.ProducerID]bool {
	open := map[record.ProducerID]bool{}
	for _, n := range w.nodes[1:] {
		if c := n.Core(); c != nil {
			c.Transactions().EachTransaction(func(_ int32, t txn.Transaction) bool {
				switch t.Phase {
				case txn.Ongoing, txn.PrepareCommit, txn.PrepareAbort:
					open[t.Now.ID] = true
				}
				return true
			})
		}
	}
	return open
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
