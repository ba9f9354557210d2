package core

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
	"github.com/tamarack-mq/tamarack/core/txn"
)

// pipeline is a producer that writes to two partitions and stores the positions of
// a group, all in one transaction; its transactional id is "pipeline".
type pipeline struct {
	c     *cluster
	ids   [2]record.PartitionID
	id    record.ProducerID
	epoch record.ProducerEpoch
}

const transactional = "pipeline"

func newPipeline(c *cluster) *pipeline {
	created(c)
	reply := c.ask(2, &message.CreateTopic{Name: "payments", Partitions: 2, ReplicationFactor: 3}).(*message.CreateTopicReply)
	require.Equal(c.t, message.None, reply.Code)
	p := &pipeline{c: c, ids: [2]record.PartitionID{{Topic: reply.ID}, {Topic: reply.ID, Index: 1}}}
	c.coordinator("readers")
	p.init()
	return p
}

// alive is a node that runs.
func (c *cluster) alive() *host {
	for _, h := range c.nodes {
		if !h.down {
			return h
		}
	}
	c.t.Fatal("no node runs")
	return nil
}

// insist asks whoever find names until it gets an answer that is not to be tried
// again.
func (c *cluster) insist(find func() message.NodeID, r message.Request, code func(message.Reply) message.Code) message.Reply {
	c.t.Helper()
	for range 400 {
		if to := find(); to != message.NoNode && !c.nodes[to-1].down {
			if reply := c.ask(to, r); !code(reply).Retriable() {
				return reply
			}
		}
		c.pass(100 * message.Millisecond)
	}
	c.t.Fatalf("%v is to be tried again without end", r.Kind())
	return nil
}

func (c *cluster) leader(id record.PartitionID) func() message.NodeID {
	return func() message.NodeID {
		if p := c.alive().core.Image().Partition(id); p != nil {
			return p.Leader
		}
		return message.NoNode
	}
}

// coordinates is who coordinates the transactional id.
func (p *pipeline) coordinates() message.NodeID {
	r := p.c.ask(p.c.alive().id, &message.FindCoordinator{TransactionalID: transactional}).(*message.FindCoordinatorReply)
	if r.Code != message.None {
		return message.NoNode
	}
	return r.Node
}

// init is a new incarnation of the producer.
func (p *pipeline) init() {
	p.c.t.Helper()
	reply := p.c.insist(p.coordinates, &message.InitProducerID{TransactionalID: transactional, Timeout: message.Minute},
		func(r message.Reply) message.Code { return r.(*message.InitProducerIDReply).Code }).(*message.InitProducerIDReply)
	require.Equal(p.c.t, message.None, reply.Code, "%+v", reply)
	p.id, p.epoch = reply.ID, reply.Epoch
}

// write sends one record to each partition.
func (p *pipeline) write(value string) {
	p.c.t.Helper()
	for _, id := range p.ids {
		batch := batchOf(value)
		record.SetTransactional(batch, p.id, p.epoch, 0)
		reply := p.c.insist(p.c.leader(id), &message.Produce{
			Acks: message.AcksAll, Timeout: 5 * message.Second, TransactionalID: transactional,
			Partitions: []message.ProducePartition{{ID: id, Records: batch}},
		}, func(r message.Reply) message.Code { return r.(*message.ProduceReply).Partitions[0].Code })
		require.Equal(p.c.t, message.None, reply.(*message.ProduceReply).Partitions[0].Code)
	}
}

// store commits a position of the group.
func (p *pipeline) store(offset record.Offset) message.Code {
	p.c.t.Helper()
	return p.c.insist(func() message.NodeID { return p.c.coordinator("readers") }, &message.CommitTransactionOffsets{
		TransactionalID: transactional, ID: p.id, Epoch: p.epoch, Group: "readers", MemberEpoch: -1,
		Offsets: []message.GroupOffset{{ID: p.ids[0], Offset: offset}},
	}, func(r message.Reply) message.Code { return r.(*message.CommitTransactionOffsetsReply).Code }).(*message.CommitTransactionOffsetsReply).Code
}

func (p *pipeline) end(commit bool) *message.EndTransactionReply {
	p.c.t.Helper()
	return p.c.insist(p.coordinates, &message.EndTransaction{TransactionalID: transactional, ID: p.id, Epoch: p.epoch, Commit: commit},
		func(r message.Reply) message.Code { return r.(*message.EndTransactionReply).Code }).(*message.EndTransactionReply)
}

// over ends the transaction and takes the identity for the next one.
func (p *pipeline) over(commit bool) {
	p.c.t.Helper()
	reply := p.end(commit)
	require.Equal(p.c.t, message.None, reply.Code, "%+v", reply)
	require.Equal(p.c.t, p.epoch+1, reply.Epoch, "each transaction has an epoch of its own")
	p.id, p.epoch = reply.ID, reply.Epoch
}

// completed waits until all markers of the last transaction are written.
func (p *pipeline) completed(want string) {
	p.c.t.Helper()
	p.c.wait("the transaction is "+want, func() bool {
		state := ""
		for _, h := range p.c.nodes {
			if !h.down {
				h.core.Transactions().EachTransaction(func(_ int32, t txn.Transaction) bool {
					state = t.Phase.String()
					return true
				})
			}
		}
		return state == want
	})
}

// read is what a reader of committed records finds in a partition.
func (p *pipeline) read(id record.PartitionID) (values []string) {
	p.c.t.Helper()
	reply := p.c.insist(p.c.leader(id), &message.Fetch{
		MinBytes: 0, MaxBytes: 1 << 20, Isolation: message.ReadCommitted,
		Partitions: []message.FetchPartition{{ID: id, LeaderEpoch: record.NoLeaderEpoch, LastEpoch: record.NoLeaderEpoch, MaxBytes: 1 << 20}},
	}, func(r message.Reply) message.Code { return r.(*message.FetchReply).Partitions[0].Code }).(*message.FetchReply).Partitions[0]
	require.Equal(p.c.t, message.None, reply.Code)
	aborted := map[record.Offset]bool{}
	for _, a := range reply.Aborted {
		aborted[a.First] = true
	}
	it := record.Batches(reply.Records)
	for it.Next() {
		if h := it.Header; h.Attributes.Control() || aborted[h.BaseOffset] {
			continue
		}
		records := record.Records(&it.Header, record.Payload(it.Bytes))
		for records.Next() {
			values = append(values, string(records.Record.Value))
		}
	}
	return values
}

// position is the stable position of the group.
func (p *pipeline) position() (message.Code, record.Offset) {
	p.c.t.Helper()
	to := p.c.coordinator("readers")
	reply := p.c.ask(to, &message.FetchOffsets{Group: "readers", IDs: []record.PartitionID{p.ids[0]}, Stable: true}).(*message.FetchOffsetsReply)
	if reply.Code != message.None {
		return reply.Code, 0
	}
	return message.None, reply.Offsets[0].Offset
}

// shows waits for what readers find in the end: records and position go together.
func (p *pipeline) shows(position record.Offset, values ...string) {
	p.c.t.Helper()
	p.c.wait("the position is stable", func() bool {
		code, offset := p.position()
		return code == message.None && offset == position
	})
	for _, id := range p.ids {
		require.Equal(p.c.t, values, p.read(id))
	}
}

func TestATransactionShowsWholeOverTwoPartitionsAndAGroup(t *testing.T) {
	c := newCluster(t, 3)
	p := newPipeline(c)
	p.write("first")
	require.Equal(t, message.None, p.store(7))
	code, _ := p.position()
	require.Equal(t, message.UnstableOffsetCommit, code)
	require.Empty(t, p.read(p.ids[0]))
	before := *p
	p.over(true)
	p.completed("CompleteCommit")
	p.shows(7, "first")
	require.Equal(t, p.epoch, before.end(true).Epoch, "asked again, it is answered again")
	require.Equal(t, message.InvalidTxnState, before.end(false).Code)
	require.Equal(t, message.InvalidTxnState, p.end(true).Code, "nothing was added")

	p.write("second")
	require.Equal(t, message.None, p.store(9))
	p.over(false)
	p.completed("CompleteAbort")
	p.shows(7, "first")
	require.Equal(t, message.InvalidProducerEpoch, before.store(8), "it ended long ago")

	p.write("third")
	require.Equal(t, message.None, p.store(11))
	p.over(true)
	p.shows(11, "first", "third")
}

// The producer, the coordinator of its transactions and whatever else that node
// does fail in the middle. The next incarnation aborts what was left open.
func TestAnOpenTransactionIsAbortedByTheNextIncarnationOnAnotherCoordinator(t *testing.T) {
	c := newCluster(t, 3)
	p := newPipeline(c)
	p.write("first")
	require.Equal(t, message.None, p.store(7))
	p.over(true)
	p.completed("CompleteCommit")
	p.write("second")
	require.Equal(t, message.None, p.store(9))
	zombie := *p
	coordinator := p.coordinates()
	c.crash(coordinator)
	p.init()
	require.NotEqual(t, coordinator, p.coordinates())
	require.Equal(t, p.id, zombie.id)
	require.Greater(t, p.epoch, zombie.epoch)
	p.shows(7, "first")
	require.Equal(t, message.ProducerFenced, zombie.end(true).Code)
	require.NotEqual(t, message.None, zombie.store(10))
	p.write("third")
	require.Equal(t, message.None, p.store(11))
	p.over(true)
	p.shows(11, "first", "third")
}

// The coordinator fails with the decision committed and told, and no marker
// written: the next one writes them.
func TestADecisionOutlivesItsCoordinator(t *testing.T) {
	for _, commit := range []bool{true, false} {
		c := newCluster(t, 3)
		p := newPipeline(c)
		p.write("first")
		require.Equal(t, message.None, p.store(7))
		coordinator := c.nodes[p.coordinates()-1]
		c.token++
		token := c.token
		coordinator.inbox = append(coordinator.inbox, effect.Requested{Token: token, Msg: &message.EndTransaction{
			TransactionalID: transactional, ID: p.id, Epoch: p.epoch, Commit: commit,
		}})
		c.mute = func(m message.Message) bool { return m.Kind() == message.KindWriteMarkers }
		c.wait("the end is answered", func() bool { return c.replies[token] != nil })
		reply := c.replies[token].(*message.EndTransactionReply)
		require.Equal(t, message.None, reply.Code)
		p.epoch = reply.Epoch
		code, _ := p.position()
		require.Equal(t, message.UnstableOffsetCommit, code)
		c.crash(coordinator.id)
		c.mute = nil
		if commit {
			p.completed("CompleteCommit")
			p.shows(7, "first")
		} else {
			p.completed("CompleteAbort")
			p.shows(message.NoOffset)
		}
		p.write("second")
		p.over(true)
		for _, h := range c.nodes {
			require.Zero(t, h.core.markers.Waiting())
		}
	}
}

func TestTransactionalIDsNeedTheirCoordinator(t *testing.T) {
	c := newCluster(t, 3)
	p := newPipeline(c)
	coordinator := p.coordinates()
	other := c.nodes[coordinator%3].id
	refused := c.ask(other, &message.EndTransaction{TransactionalID: transactional, ID: p.id, Epoch: p.epoch}).(*message.EndTransactionReply)
	require.Equal(t, message.NotCoordinator, refused.Code)
	unknown := c.ask(c.nodes[0].id, &message.FindCoordinator{}).(*message.FindCoordinatorReply)
	require.Equal(t, message.InvalidGroupID, unknown.Code)
	reply := c.ask(1, &message.CreateTopic{Name: txn.TopicName, Partitions: 1, ReplicationFactor: 3}).(*message.CreateTopicReply)
	require.Equal(t, message.InvalidTopic, reply.Code)
	topic := c.nodes[0].core.Image().TopicNamed(txn.TopicName)
	require.True(t, topic.Config.Internal)
	require.Len(t, topic.Partitions, 2)
}

// Each run numbers its questions anew: the answer to one of an earlier run may carry
// the number of another one.
func TestAnAnswerToAnEarlierRunLetsNothingIn(t *testing.T) {
	c := newCluster(t, 3)
	p := newPipeline(c)
	var asked *message.AddToTransaction
	c.mute = func(m message.Message) bool {
		q, ok := m.(*message.AddToTransaction)
		if ok {
			asked = q
		}
		return ok
	}
	id := p.ids[0]
	if c.leader(id)() == p.coordinates() { // it would ask itself, and no message go out
		id = p.ids[1]
	}
	leader := c.nodes[c.leader(id)()-1]
	batch := batchOf("first")
	record.SetTransactional(batch, p.id, p.epoch, 0)
	c.token++
	token := c.token
	leader.inbox = append(leader.inbox, effect.Requested{Token: token, Msg: &message.Produce{
		Acks: message.AcksAll, Timeout: 5 * message.Second, TransactionalID: transactional,
		Partitions: []message.ProducePartition{{ID: id, Records: batch}},
	}})
	c.wait("the coordinator is asked", func() bool { return asked != nil })
	leader.inbox = append(leader.inbox, effect.Received{From: 1, Msg: &message.AddedToTransaction{
		BrokerEpoch: asked.BrokerEpoch - 1, Request: asked.Request, Others: []message.OtherAddition{{Request: asked.Request}},
	}})
	c.drain()
	require.Nil(t, c.replies[token], "nobody has said so in this run")
	c.mute = nil
	c.wait("the record is stored", func() bool { return c.replies[token] != nil })
	require.Equal(t, message.None, c.replies[token].(*message.ProduceReply).Partitions[0].Code)
}

// A coordinator may hear of a topic later than the leader that asks it: that it does not
// know a topic yet is no reason to do without the marker.
func TestATopicThatIsNotKnownYetIsNotGone(t *testing.T) {
	c := newCluster(t, 3)
	created(c)
	reply := c.ask(2, &message.CreateTopic{Name: "payments", Partitions: 1, ReplicationFactor: 3}).(*message.CreateTopicReply)
	require.Equal(t, message.None, reply.Code)
	n := c.nodes[0].core
	view := transactionView{topicView{n}}
	gone := func(id record.TopicID) bool { return view.Gone(record.PartitionID{Topic: id}) }
	require.False(t, gone(reply.ID))
	require.False(t, gone(record.TopicID(n.image.Version()+1)))
	require.Equal(t, message.None, c.ask(2, &message.DeleteTopic{Name: "payments"}).(*message.DeleteTopicReply).Code)
	c.pass(message.Second)
	require.True(t, gone(reply.ID))
}
