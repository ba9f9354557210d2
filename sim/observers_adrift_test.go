package sim

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core/group"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
	"github.com/tamarack-mq/tamarack/core/replica"
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
		o := &trulyFenced{}
		p.answers(o, &message.InitProducerID{TransactionalID: "a"}, 0, &message.InitProducerIDReply{ID: 7})
		p.answers(o, &message.EndTransaction{TransactionalID: "a", ID: 7}, 0, &message.EndTransactionReply{Code: message.ProducerFenced})
		return p
	}
	fenced(other).refused("INV-32", "that it is fenced, but it is its turn")
	fenced(stateShard).passed()
}

// So is what may stay undone for good: a transaction that is open, a position that is
// pending, an epoch that is given out again.
func TestALostShardLeavesItsOwnTransactionsOpenOnly(t *testing.T) {
	other := record.PartitionID{Topic: stateShard.Topic, Index: 1}
	for name, c := range map[string]struct {
		lost    func(p *theatre)
		excused bool // the transaction of producer 7, of "a", whose shard is the first one
		unknown bool // that of producer 8, of whom nothing is known
		here    bool // whatever is open in the partition
	}{
		"nothing":                     {lost: func(*theatre) {}},
		"its own shard":               {func(p *theatre) { p.book.part(stateShard).unclean = true }, true, true, true},
		"nobody leads its own shard":  {func(p *theatre) { p.conceded(stateShard) }, true, true, true},
		"another shard":               {func(p *theatre) { p.book.part(other).unclean = true }, false, true, false},
		"nobody leads another shard":  {func(p *theatre) { p.conceded(other) }, false, true, false},
		"copies of its shard":         {func(p *theatre) { p.book.part(stateShard).loss = true }, false, false, false},
		"records beside its own":      {func(p *theatre) { p.book.part(part).unclean = true }, false, false, true},
		"copies of where its own are": {func(p *theatre) { p.book.part(part).loss = true }, false, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			p := newTheatre(t)
			p.transacted = true
			require.NoError(t, p.book.meta.image.Apply(11, &message.Change{Partition: &message.PartitionChange{
				ID: other, Replicas: []message.NodeID{1}, ISR: []message.NodeID{1}, Leader: 1, LeaderEpoch: 1,
			}}))
			for state := range p.book.meta.image.Partitions() {
				p.book.part(state.ID).state = state
			}
			for _, s := range []txn.Transaction{empty(0), ongoing(0, part)} {
				s.Turn = s.Now
				p.says(nil, "a", s)
			}
			require.False(t, p.mayStayOpen(p.book.part(part)))
			p.takes(nil, 0)
			c.lost(p)

			require.Equal(t, c.excused, p.producerGivenUp(7))
			require.Equal(t, c.unknown, p.producerGivenUp(8))
			require.Equal(t, c.excused, p.pendingGivenUp(&group.Pending{Group: "g", ID: 7}))
			require.Equal(t, c.unknown, p.pendingGivenUp(&group.Pending{Group: "g", ID: 8}))
			require.Equal(t, c.here, p.mayStayOpen(p.book.part(part)))

			b := batch(0, 1, "another")
			record.SetTransactional(b, 7, 0, 0)
			p.book.replica(1, part).view.Role = replica.Leading
			p.answers(&trueAnswers{}, &message.Produce{TransactionalID: "b", Acks: message.AcksAll, Partitions: []message.ProducePartition{{ID: part, Records: b}}}, 0,
				&message.ProduceReply{Partitions: []message.ProducedPartition{{ID: part}}})
			if !c.excused && !p.book.part(other).forgets() { // that one is who has asked
				p.refused("INV-28", "is not the producer's")
			}
			p.passed()
		})
	}
	p := newTheatre(t)
	p.book.part(groupShard).unclean = true
	require.True(t, p.pendingGivenUp(&group.Pending{Group: "g", ID: 7}), "its group does not know any more what it was told")
}

// conceded says that the last copies of a partition were hit, and nobody may lead it.
func (p *theatre) conceded(id record.PartitionID) {
	part := p.book.part(id)
	part.loss, part.state = true, &message.PartitionChange{ID: id}
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
