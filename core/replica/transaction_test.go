package replica

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
	"github.com/tamarack-mq/tamarack/core/verify"
)

// payer is the producer of most stories; its transactional id is "pay".
const payer record.ProducerID = 9

func transactionalWorld(t tester, nodes int) *world {
	w := newWorld(t, nodes)
	ids := []message.NodeID{1, 2, 3}
	w.create(p0, message.TopicConfig{}, ids[:nodes]...)
	return w
}

// of makes a batch one of a transaction.
func of(b []byte, id record.ProducerID, epoch record.ProducerEpoch, seq record.Sequence) []byte {
	record.SetTransactional(b, id, epoch, seq)
	return b
}

// pay sends one batch of a transaction.
func (n *node) pay(b []byte) message.Token {
	n.w.tokens++
	token := n.w.tokens
	r := &message.Produce{Acks: message.AcksAll, Timeout: 30 * message.Second, TransactionalID: "pay",
		Partitions: []message.ProducePartition{{ID: p0, Records: b}}}
	n.do(func(m *Manager, now message.Now, out *Out) { m.Produce(now, token, r, out) })
	return token
}

// asked takes the questions to coordinators since the last look.
func (n *node) asked() []verify.Question {
	asked := n.verify
	n.verify = nil
	return asked
}

func (n *node) tell(ticket uint64, code message.Code) {
	n.do(func(m *Manager, now message.Now, out *Out) { m.Verified(now, ticket, code, out) })
}

// paid is pay with a coordinator that agrees.
func (w *world) paid(leader int, b []byte) {
	w.t.Helper()
	n := w.node(leader)
	token := n.pay(b)
	for _, q := range n.asked() {
		n.tell(q.Ticket, message.None)
	}
	w.run()
	require.Equal(w.t, message.None, w.code(token))
}

// mark has a coordinator of epoch 4 end the transaction of an epoch.
func (n *node) mark(id record.ProducerID, epoch record.ProducerEpoch, outcome record.Outcome) (ticket uint64) {
	return n.markBy(id, epoch, record.Marker{Outcome: outcome, CoordinatorEpoch: 4})
}

func (n *node) markBy(id record.ProducerID, epoch record.ProducerEpoch, marker record.Marker) (ticket uint64) {
	n.w.tokens++
	ticket = uint64(n.w.tokens)
	n.do(func(m *Manager, now message.Now, out *Out) { m.WriteMarker(now, p0, id, epoch+1, marker, ticket, out) })
	return ticket
}

// ended is mark that must come to its end.
func (w *world) ended(leader int, id record.ProducerID, epoch record.ProducerEpoch, outcome record.Outcome) {
	w.t.Helper()
	n := w.node(leader)
	n.marked = nil
	ticket := n.mark(id, epoch, outcome)
	w.run()
	require.Equal(w.t, []Marked{{Ticket: ticket}}, n.marked)
}

func committedFetch(wait message.Duration, from record.Offset) *message.Fetch {
	r := fetchOf(wait, 1, at(from))
	r.Isolation = message.ReadCommitted
	return r
}

// readCommitted is a fetch of whole transactions that waits for nothing.
func (n *node) readCommitted(from record.Offset) message.FetchedPartition {
	n.w.t.Helper()
	token := n.fetch(committedFetch(0, from))
	n.w.run()
	return n.w.replies[token].(*message.FetchReply).Partitions[0]
}

func TestATransactionBeginsInAPartitionWhenItsCoordinatorHasSaidSo(t *testing.T) {
	w := transactionalWorld(t, 2)
	l := w.node(1)
	l.look()
	first, second := l.pay(of(batch("a", 2), payer, 3, 0)), l.pay(of(batch("b", 1), payer, 3, 2))
	other := l.pay(of(batch("x", 1), 10, 0, 0))
	w.run()
	require.Empty(t, l.look(), "nothing is written")
	require.Equal(t, 3, l.view(p0).Unverified)
	asked := l.asked()
	require.Equal(t, []verify.Question{
		{Ticket: 1, Part: verify.Part{TransactionalID: "pay", ID: payer, Epoch: 3, Partition: p0}},
		{Ticket: 2, Part: verify.Part{TransactionalID: "pay", ID: 10, Epoch: 0, Partition: p0}},
	}, asked, "once for each transaction")

	l.tell(asked[0].Ticket, message.None)
	w.run()
	require.Equal(t, message.ProducedPartition{ID: p0, BaseOffset: 0, LeaderEpoch: -1}, *w.produced(first))
	require.Equal(t, message.ProducedPartition{ID: p0, BaseOffset: 2, LeaderEpoch: -1}, *w.produced(second))
	require.Nil(t, w.produced(other))

	third := l.pay(of(batch("c", 1), payer, 3, 3))
	again := l.pay(of(batch("a", 2), payer, 3, 0))
	w.run()
	require.Equal(t, message.None, w.code(third))
	require.EqualValues(t, 0, w.produced(again).BaseOffset, "a repeat is told from a new one")
	require.Empty(t, l.asked(), "what the log has open needs no question")
	require.Equal(t, []string{"a0", "a1", "b0", "c0"}, values(t, l.contents(p0)))

	l.tell(asked[0].Ticket, message.None)
	l.tell(asked[1].Ticket, message.ProducerFenced)
	require.Equal(t, message.ProducerFenced, w.code(other))
	require.Zero(t, l.view(p0).Unverified)
	require.Zero(t, l.m.HeldBytes())
}

func TestACoordinatorThatCannotTellIsAskedAgain(t *testing.T) {
	w := transactionalWorld(t, 2)
	l := w.node(1)
	token := l.pay(of(batch("a", 2), payer, 3, 0))
	asked := l.asked()
	after := func(pause message.Duration) {
		t.Helper()
		w.pass(pause - 1)
		require.Empty(t, l.asked())
		w.pass(1)
		require.Equal(t, asked, l.asked())
	}
	after(500 * message.Millisecond) // the answer is lost
	l.tell(asked[0].Ticket, message.CoordinatorNotAvailable)
	after(5 * message.Millisecond)
	l.tell(asked[0].Ticket, message.ConcurrentTransactions)
	after(10 * message.Millisecond)
	for range 10 {
		l.tell(asked[0].Ticket, message.ConcurrentTransactions)
		w.pass(message.Second)
		l.asked()
	}
	require.Nil(t, w.produced(token))
	w.pass(20 * message.Second)
	require.Equal(t, message.RequestTimedOut, w.code(token))
	require.Zero(t, l.view(p0).Unverified)
	require.Zero(t, l.m.HeldBytes())
	l.asked()
	w.pass(10 * message.Second)
	require.Empty(t, l.asked(), "nobody waits for the answer any more")
	l.tell(asked[0].Ticket, message.None)
	require.EqualValues(t, 0, l.view(p0).End)
}

// The hole that KIP-890 closes: a batch comes late, behind the end of its
// transaction, and opens one that nobody ends.
func TestWhatComesBehindTheMarkerOfItsTransactionIsRefused(t *testing.T) {
	w := transactionalWorld(t, 2)
	l := w.node(1)
	late := l.pay(of(batch("a", 1), payer, 3, 0))
	question := l.asked()[0]
	w.ended(1, payer, 3, record.Aborted) // its time was over; nothing is open here, and the marker is written
	l.tell(question.Ticket, message.None)
	require.Equal(t, message.InvalidProducerEpoch, w.code(late), "although its coordinator had agreed before")

	later := l.pay(of(batch("a", 1), payer, 3, 0))
	require.Equal(t, message.InvalidProducerEpoch, w.code(later))
	require.Empty(t, l.asked(), "the log knows by itself")
	require.EqualValues(t, 1, l.view(p0).End)
	require.EqualValues(t, 1, l.view(p0).LastStable)
}

func TestTheNextTransactionWaitsForTheMarkerOfTheOneBefore(t *testing.T) {
	w := transactionalWorld(t, 2)
	l := w.node(1)
	w.paid(1, of(batch("a", 1), payer, 3, 0))
	next := l.pay(of(batch("b", 1), payer, 4, 0)) // the client knows of the commit before the marker is here
	question := l.asked()[0]
	require.EqualValues(t, 4, question.Epoch)
	l.tell(question.Ticket, message.ConcurrentTransactions)
	w.run()
	require.Nil(t, w.produced(next))
	w.ended(1, payer, 3, record.Committed)
	w.pass(5 * message.Millisecond)
	require.Equal(t, question, l.asked()[0])
	l.tell(question.Ticket, message.None)
	w.run()
	require.EqualValues(t, 2, w.produced(next).BaseOffset)

	// A coordinator that agrees too early changes nothing about the order.
	early := l.pay(of(batch("c", 1), payer, 5, 0))
	l.tell(l.asked()[0].Ticket, message.None)
	require.Equal(t, message.ConcurrentTransactions, w.code(early))
}

func TestATransactionThatCannotBeIsRefusedAtOnce(t *testing.T) {
	w := transactionalWorld(t, 2)
	l := w.node(1)
	w.paid(1, of(batch("a", 1), payer, 3, 0))
	produce := func(change func(*message.Produce)) message.Code {
		w.tokens++
		token := w.tokens
		r := &message.Produce{Acks: message.AcksAll, Timeout: message.Second, TransactionalID: "pay",
			Partitions: []message.ProducePartition{{ID: p0, Records: of(batch("b", 1), 10, 0, 0)}}}
		change(r)
		l.do(func(m *Manager, now message.Now, out *Out) { m.Produce(now, token, r, out) })
		return w.code(token)
	}
	require.Equal(t, message.InvalidRequest, produce(func(r *message.Produce) { r.TransactionalID = "" }))
	require.Equal(t, message.InvalidRequiredAcks, produce(func(r *message.Produce) { r.Acks = message.AcksLeader }))
	require.Equal(t, message.UnknownProducerID, produce(func(r *message.Produce) { r.Partitions[0].Records = of(batch("b", 1), 10, 0, 5) }))
	require.Equal(t, message.InvalidProducerEpoch, produce(func(r *message.Produce) { r.Partitions[0].Records = of(batch("b", 1), payer, 2, 0) }))
	require.Equal(t, message.OutOfOrderSequence, produce(func(r *message.Produce) { r.Partitions[0].Records = of(batch("b", 1), payer, 3, 5) }))
	outside := batch("b", 1)
	record.SetProducer(outside, payer, 3, 1)
	require.Equal(t, message.InvalidTxnState, produce(func(r *message.Produce) { r.Partitions[0].Records = outside }))
	forged := record.BuildMarker(0, payer, 4, record.Marker{Outcome: record.Committed})
	require.Equal(t, message.InvalidRequest, produce(func(r *message.Produce) { r.Partitions[0].Records = forged }))
	l.m.cfg.HeldBytes = 10
	require.Equal(t, message.BrokerNotAvailable, produce(func(*message.Produce) {}))
	require.Empty(t, l.asked())
	require.EqualValues(t, 1, l.view(p0).End)
}

func TestWhoWaitsForACoordinatorLearnsOfTheEndOfALeadership(t *testing.T) {
	w := transactionalWorld(t, 2)
	l := w.node(1)
	w.paid(1, of(batch("a", 1), payer, 3, 0))
	w.node(2).holdDisk = true
	waits := l.pay(of(batch("x", 1), 10, 0, 0))
	question := l.asked()[0]
	ticket := l.mark(payer, 3, record.Committed)
	w.run()
	require.Empty(t, l.marked)
	w.elect(p0, 2)
	w.node(2).holdDisk = false
	w.run()
	require.Equal(t, message.ProducedPartition{ID: p0, Code: message.NotLeaderOrFollower, BaseOffset: -1, LogStart: -1, Leader: 2, LeaderEpoch: 1}, *w.produced(waits))
	require.Equal(t, []Marked{{Ticket: ticket, Code: message.NotLeaderOrFollower}}, l.marked)
	l.tell(question.Ticket, message.None)
	require.Equal(t, 2, int(l.view(p0).End), "the permission of another leadership is worth nothing")
	require.Zero(t, l.m.HeldBytes())
}

// The follower has what the leader had: the transaction goes on without a question.
func TestATransactionGoesOnUnderANewLeader(t *testing.T) {
	w := transactionalWorld(t, 3)
	w.paid(1, of(batch("a", 2), payer, 3, 0))
	w.put(1, "x")
	w.elect(p0, 2)
	w.run()
	l := w.node(2)
	token := l.pay(of(batch("b", 1), payer, 3, 2))
	w.run()
	require.Equal(t, message.None, w.code(token))
	require.Empty(t, l.asked())
	require.EqualValues(t, 0, l.view(p0).LastStable)

	l.crash()
	w.elect(p0, 3, 1, 3)
	w.run()
	w.ended(3, payer, 3, record.Aborted)
	require.EqualValues(t, 5, w.node(3).view(p0).LastStable)
	l.start()
	w.pass(message.Second)
	require.Equal(t, w.node(3).m.Log(p0).Digest(), l.m.Log(p0).Digest())
}

func TestAMarkerIsToldOfWhenItIsCommitted(t *testing.T) {
	w := transactionalWorld(t, 2)
	l, f := w.node(1), w.node(2)
	w.paid(1, of(batch("a", 2), payer, 3, 0))
	f.holdDisk = true
	first := l.mark(payer, 3, record.Committed)
	again := l.mark(payer, 3, record.Committed)
	w.run()
	require.Empty(t, l.marked)
	require.EqualValues(t, 3, l.view(p0).End, "it is written once")
	f.holdDisk = false
	w.run()
	require.Equal(t, []Marked{{Ticket: first}, {Ticket: again}}, l.marked)
	l.marked = nil
	once := l.mark(payer, 3, record.Aborted)
	old := l.markBy(payer, 4, record.Marker{Outcome: record.Aborted, CoordinatorEpoch: 3})
	none := l.markBy(payer, 4, record.Marker{CoordinatorEpoch: 4})
	notLed := f.mark(payer, 4, record.Committed)
	require.Equal(t, []Marked{
		{Ticket: once}, // what was decided stays so
		{Ticket: old, Code: message.TransactionCoordinatorFenced},
		{Ticket: none, Code: message.InvalidRequest},
	}, l.marked)
	require.Equal(t, []Marked{{Ticket: notLed, Code: message.NotLeaderOrFollower}}, f.marked)
	it := record.Batches(l.contents(p0)[len(batch("a", 2)):])
	require.True(t, it.Next())
	require.Equal(t, record.Marker{Outcome: record.Committed, CoordinatorEpoch: 4}, it.Header.Marker)
	require.Equal(t, []any{payer, record.ProducerEpoch(4), record.Offset(2)}, []any{it.Header.ProducerID, it.Header.ProducerEpoch, it.Header.BaseOffset})
	require.False(t, it.Next())
}

func TestAMarkerNeedsTheInSyncSetButNoRoom(t *testing.T) {
	w := transactionalWorld(t, 3)
	l := w.node(1)
	w.paid(1, of(batch("a", 2), payer, 3, 0))
	l.do(func(m *Manager, now message.Now, out *Out) { m.DiskSpace(now, effect.DiskSpace{Low: true}, out) })
	w.ended(1, payer, 3, record.Committed)
	l.do(func(m *Manager, now message.Now, out *Out) { m.DiskSpace(now, effect.DiskSpace{}, out) })

	w.paid(1, of(batch("b", 1), payer, 4, 0))
	w.held = func(x wire) bool { return x.to == 1 || x.from == 1 }
	w.holdAlters = true
	l.marked = nil
	waits := l.mark(payer, 4, record.Committed)
	w.setISR(p0, 1)
	w.run()
	require.Empty(t, l.marked, "its outcome is known when it is committed")
	again := l.mark(payer, 4, record.Committed)
	fresh := l.mark(10, 0, record.Aborted)
	require.Equal(t, []Marked{
		{Ticket: again, Code: message.NotEnoughReplicasAfterAppend}, {Ticket: fresh, Code: message.NotEnoughReplicas},
	}, l.marked)
	w.held, l.marked = nil, nil
	w.setISR(p0, 1, 2, 3)
	w.pass(message.Second)
	require.Equal(t, []Marked{{Ticket: waits}}, l.marked)

	l.marked = nil
	w.setISR(p0, 1)
	repeated := l.mark(payer, 4, record.Committed)
	require.Equal(t, []Marked{{Ticket: repeated}}, l.marked, "what is committed stays so, however few are in sync")
}

func TestTheClustersOwnTopicsHaveNoMarkers(t *testing.T) {
	w := transactionalWorld(t, 1)
	own := record.PartitionID{Topic: 8}
	w.create(own, message.TopicConfig{Internal: true}, 1)
	l := w.node(1)
	l.do(func(m *Manager, now message.Now, out *Out) {
		marker := record.Marker{Outcome: record.Committed}
		m.WriteMarker(now, own, payer, 1, marker, 1, out)
		m.WriteMarker(now, record.PartitionID{Topic: 9}, payer, 1, marker, 2, out)
		m.LocalAppend(now, own, 0, 3, of(batch("a", 1), payer, 0, 0), out)
	})
	require.Equal(t, []Marked{{1, message.InvalidTopic}, {2, message.UnknownTopicOrPartition}}, l.marked)
	require.Equal(t, []LocalResult{{Ticket: 3, Code: message.InvalidRequest, Base: -1}}, l.local)
}
