package sim

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core/group"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
	"github.com/tamarack-mq/tamarack/core/txn"
)

// What one coordinator has lost excuses the transactions in its shard. All others are
// judged as before; but of a producer that nobody knows, any shard may have been lost.
func TestALostShardExcusesItsOwnTransactionsOnly(t *testing.T) {
	require.Equal(t, [2]int32{0, 1}, [2]int32{txn.Shard("a", 2), txn.Shard("b", 2)})
	other := record.PartitionID{Topic: stateShard.Topic, Index: 1}
	begin := func(o Observer, known bool, lost record.PartitionID) *theatre {
		p := newTheatre(t)
		require.NoError(t, p.book.meta.image.Apply(11, &message.Change{Partition: &message.PartitionChange{
			ID: other, Replicas: []message.NodeID{1}, ISR: []message.NodeID{1}, Leader: 1, LeaderEpoch: 1,
		}}))
		for _, id := range []record.PartitionID{stateShard, other} {
			p.shard(p.book.part(id))
		}
		if known {
			for _, s := range []txn.Transaction{empty(0), ongoing(0, part)} {
				s.Turn = s.Now
				p.says(o, "a", s)
			}
		}
		p.passed()
		p.book.part(lost).unclean = true
		return p
	}
	pending := group.Record{Kind: group.Pends, Group: "g", Partition: part, ID: 7, Offset: 4}
	for name, c := range map[string]struct {
		observer func() Observer
		breaks   func(p *theatre, o Observer)
		byID     bool // it is about a transactional id, and not about a producer
		why      string
	}{
		"INV-25": {func() Observer { return &pendingPositions{} }, func(p *theatre, o Observer) {
			gone := pending
			gone.Gone = true
			p.said(o, pending, gone)
		}, false, "that transaction has not ended there"},
		"INV-29": {func() Observer { return &lastingFences{} }, func(p *theatre, o Observer) {
			p.answers(o, &message.InitProducerID{TransactionalID: "a"}, 0, &message.InitProducerIDReply{ID: 9})
		}, true, "no coordinator has committed that"},
		"INV-30": {func() Observer { return &oneOutcome{} }, func(p *theatre, o Observer) {
			p.answers(o, &message.EndTransaction{TransactionalID: "a", ID: 7, Commit: true}, 0, &message.EndTransactionReply{ID: 7, Epoch: 1})
		}, true, "no decision is committed"},
		"INV-31": {func() Observer { return &betweenEnds{} }, func(p *theatre, o Observer) { p.said(o, pending) },
			false, "no coordinator has committed that the shard takes part in it"},
		"INV-32": {func() Observer { return nil }, func(p *theatre, o Observer) { p.marks(o, 1, record.Committed, 2) },
			false, "no coordinator has decided the transaction before"},
	} {
		o := c.observer()
		p := begin(o, true, other)
		c.breaks(p, o)
		p.refused(name, c.why)

		o = c.observer()
		p = begin(o, true, stateShard)
		c.breaks(p, o)
		p.passed()

		o = c.observer()
		p = begin(o, false, other)
		c.breaks(p, o)
		if c.byID {
			p.refused(name, c.why)
		} else {
			p.passed()
		}
	}

	fenced := func(lost record.PartitionID) *theatre {
		p := begin(nil, true, lost)
		p.answers(&trulyFenced{}, &message.EndTransaction{TransactionalID: "a", ID: 7}, 0, &message.EndTransactionReply{Code: message.ProducerFenced})
		return p
	}
	fenced(other).refused("INV-32", "that it is fenced, but it is its turn")
	fenced(stateShard).passed()
}

// A node that leads one shard whose decision cannot be carried out has no excuse for
// those who wait in another one.
func TestWhoWaitsInAnotherShardIsSeen(t *testing.T) {
	views := func() []txn.ShardView {
		return []txn.ShardView{{Shard: 0, Held: 1}, {Shard: 1, Waiting: 2}, {Shard: 2}}
	}
	require.Equal(t, []txn.ShardView{{Shard: 1, Waiting: 2}}, waitedFor(views(), []int32{0}))
	require.Equal(t, views()[:2], waitedFor(views(), nil))
	require.Empty(t, waitedFor(views(), []int32{0, 1}))
}
