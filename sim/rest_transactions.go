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
// records of a coordinator, of a log or of a group may stay open for good.
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
		if w.unsettled() {
			continue
		}
		c.Groups().EachPending(func(_ int32, p group.Pending) bool {
			if !w.shardGivenUp(p.Group) {
				add(openPosition, "node %d keeps for group %q a position of producer %d in partition %s", n.id, p.Group, p.ID, p.Partition)
			}
			return true
		})
	}
	var of replica.View
	for state := range w.newest().Partitions() {
		part := w.book.part(state.ID)
		leader := w.replicaAt(part, state.Leader, &of)
		if leader != nil && leader.Unverified > 0 {
			add(unverifiedRecords, "%d batches in %s", leader.Unverified, w.tellPartition(state))
		}
		if leader != nil && leader.LastStable != leader.HighWatermark && !w.mayStayOpen(part) {
			add(unstableRecords, "all below %d is stable, and %d is committed, in %s", leader.LastStable, leader.HighWatermark, w.tellPartition(state))
		}
	}
}

// undecided looks at one coordinator. A decision stays without its last marker where
// nobody may lead the partition any more.
func (w *World) undecided(add complain, n *Node, c *core.Node) {
	unwritable := false
	c.Transactions().EachTransaction(func(shard int32, t txn.Transaction) bool {
		switch {
		case prepared(t.Phase) && slices.ContainsFunc(t.Partitions, w.partitionForsaken):
			unwritable = true
		case t.Phase == txn.Ongoing || prepared(t.Phase):
			add(openTransaction, "node %d has that of %q, %v, in shard %d as %v with the partitions %v", n.id, t.TransactionalID, t.Now, shard, t.Phase, t.Partitions)
		}
		return true
	})
	for _, v := range c.Transactions().Views() {
		if v.Held+v.Waiting > 0 && !unwritable {
			add(openTransaction, "in shard %d on node %d %d requests wait for one, and %d answers", v.Shard, n.id, v.Held, v.Waiting)
		}
	}
}

// partitionForsaken says whether nobody may lead a partition any more.
func (w *World) partitionForsaken(id record.PartitionID) bool {
	p := w.book.parts[id]
	return p != nil && p.forsaken()
}

// hindered says that a client may never end its transactions: what its coordinator
// had written was given up, or it publishes where nobody may lead any more, or
// nobody coordinates its group.
func (w *World) hindered(u *user) bool {
	if !u.plan.Role.transacts() {
		return false
	}
	into := u.plan.Topics
	if u.plan.Role == Worker {
		into = u.plan.Into
	}
	for _, name := range into {
		if t := w.newest().TopicNamed(name); t != nil && slices.ContainsFunc(t.Partitions, func(p *message.PartitionChange) bool { return w.partitionForsaken(p.ID) }) {
			return true
		}
	}
	return w.transactionsGivenUp(u.plan.Transactional) || u.plan.Role == Worker && w.shardForsaken(u.plan.Group)
}

// stillMoves is the unrest of those who may never come to the end of their work, and
// are not there yet: they are given the time to go on before they are dismissed.
const stillMoves = "a client that may be hindered makes transactions"

// goesOn says that a client has committed a transaction lately, or has got something
// from which the next one will come. What it is given once more, after one that did
// not commit, is no sign: it may try for ever.
func (u *user) goesOn() bool { return u.lastMove() > 0 && u.world.now-u.lastMove() < lately }

func (u *user) lastMove() Span { return max(u.committedAt, u.movedAt) }

// lately is longer than a transaction and the pause behind it take when nothing is in
// the way.
const lately = 5 * Second

// dismiss ends the processes that may never come to the end of their work, when all
// others have, and says whether there were any. Nobody can wait until they have nothing
// left to write, and what they wrote while the logs are read for good would be read by
// others and not be there.
func (w *World) dismiss() bool {
	var leaving []*user // all of them, before a group is another without one
	for _, u := range w.clients {
		if u.up && w.endless(u) {
			leaving = append(leaving, u)
		}
	}
	for _, u := range leaving {
		u.die()
	}
	return len(leaving) > 0
}

// endless says that a client may write whenever it comes to that: it is not known at
// rest whether it, or the group for which it writes, has come to an end.
func (w *World) endless(u *user) bool {
	if w.hindered(u) {
		return true
	}
	return u.plan.Role.joins() && u.plan.Role.publishes() && (w.shardForsaken(u.plan.Group) || w.stalled(u.plan.Group))
}

// mayStayOpen says that a transaction may stay open for good in a partition: what
// would have ended it was given up.
func (w *World) mayStayOpen(p *partBook) bool { return p.off() || p.loss || w.unsettled() }

// unsettled says that what was decided about some transactions may have been given
// up with records of a coordinator.
func (w *World) unsettled() bool {
	if !w.transacted || w.newest() == nil {
		return false
	}
	t := w.newest().TopicNamed(txn.TopicName)
	if t == nil {
		return false
	}
	for i := range t.Partitions {
		if w.stateGivenUp(record.PartitionID{Topic: t.ID, Index: int32(i)}) {
			return true
		}
	}
	return false
}

// forgotten says that a batch may be taken for another one: coordinators that were
// led to forget who has got an epoch give it out again.
func (w *World) forgotten(h *record.Header) bool {
	return h.Attributes.Transactional() && w.unsettled()
}

// transactionsGivenUp says so of one transactional id.
func (w *World) transactionsGivenUp(id string) bool {
	t := w.newest().TopicNamed(txn.TopicName)
	if t == nil {
		return false
	}
	return w.stateGivenUp(record.PartitionID{Topic: t.ID, Index: txn.Shard(id, int32(len(t.Partitions)))})
}

// stateGivenUp says so of one shard of coordinators.
func (w *World) stateGivenUp(id record.PartitionID) bool {
	p := w.book.parts[id]
	return p != nil && (p.off() || p.forsaken())
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
	if !w.transacted || !w.unsettled() && !w.shardGivenUp(name) {
		return false
	}
	open := w.underWay()
	for _, n := range w.nodes[1:] {
		if c := n.Core(); c != nil {
			c.Groups().EachPending(func(_ int32, p group.Pending) bool {
				stalled = stalled || p.Group == name && !open[p.ID]
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
