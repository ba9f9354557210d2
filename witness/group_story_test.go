package witness

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

// asks is a request of a client, and answers its answer.
func (b *book) asks(at, client Place, name, group, transactional, text string, parts []Part) int32 {
	b.next()
	call := b.row(client, Call, None, func(r *Row) { r.Name, r.Peer = name, at })
	return b.row(at, Request, call, func(r *Row) {
		r.Name, r.Peer, r.Group, r.Transactional, r.Text, r.Parts = name, client, group, transactional, text, parts
	})
}

func (b *book) answers(request int32, code, text string, parts []Part) {
	asked := b.Rows[request]
	b.row(asked.Place, Reply, request, func(r *Row) {
		r.Name, r.Peer, r.Group, r.Transactional, r.Begin, r.Code, r.Text, r.Parts = asked.Name+"Reply", asked.Peer, asked.Group, asked.Transactional, request, code, text, parts
	})
}

// aborted is a transaction that commits the position 12 of orders/0 for billing, which
// node 2 keeps as record 50 of its shard, and that is aborted then.
func aborted() *book {
	b := newBook()
	c, who := ClientAt(4), "ID:10 Epoch:0"
	b.answers(b.asks(1, c, "InitProducerID", "", "pay-1", "", nil), "", "InitProducerIDReply{"+who, nil)
	pends := b.asks(2, c, "CommitTransactionOffsets", "billing", "pay-1", "CommitTransactionOffsets{"+who, in(orders, None, 12, None))
	b.appends(2, pends, offsets, 0, 49, 50)
	b.answers(pends, "", "", in(orders, None, 12, None))
	end := b.asks(1, c, "EndTransaction", "", "pay-1", "EndTransaction{"+who+" Commit:false}", nil)
	b.answers(end, "", "EndTransactionReply{ID:10 Epoch:1", nil)
	send := b.row(1, Send, end, func(r *Row) {
		r.Name, r.Peer, r.Text, r.Parts = "WriteMarkers", 2, "WriteMarkers{ID:10 Epoch:1 Commit:false}", in(offsets, None, None, None)
	})
	b.next()
	marks := b.row(2, Recv, send, func(r *Row) {
		r.Name, r.Peer, r.Text, r.Parts = "WriteMarkers", 1, "WriteMarkers{ID:10 Epoch:1 Commit:false}", in(offsets, None, None, None)
	})
	b.row(2, Append, marks, func(r *Row) {
		r.Parts, r.Text = in(offsets, 0, 50, 52), "Append 5/2 cut 0 [50,51)@0 [51,52)@0/p10.1.-1/abort"
	})
	b.answers(b.asks(2, c, "FetchOffsets", "billing", "", "", in(orders, None, None, None)), "", "", in(orders, None, 12, None))
	b.row(2, Broken, None, func(r *Row) { r.Name, r.Text = "INV-25", "a position of an aborted transaction is stored" })
	b.Failure = &Failure{Invariant: "INV-25", Place: 2}
	return b
}

func told(t *testing.T, b *book, about Subject) string {
	b.Failure.Subject = about
	var out bytes.Buffer
	require.NoError(t, b.WriteStory(&out, b.Why()))
	return out.String()
}

func TestAPositionOfATransactionIsToldWithTheRecordThatKeepsIt(t *testing.T) {
	require.Equal(t, `group "billing" in partition 11/0 (orders/0): what it has committed, was told and was given; and record 50 of partition 5/2 (__consumer_offsets/2)
       2          2ms  node 2 answers client 4, which wants the position 12 in the transaction of "pay-1", producer 10, epoch 0: ok
       3          3ms  node 1 answers client 4, which wants the transaction of "pay-1" to abort: ok
       4          4ms  node 2 hears from node 1 how the transaction of producer 10 has ended: abort
       4          4ms  [5/2@50] node 2 appends it when WriteMarkers comes from node 1: offsets [50, 52), epoch 0
       5          5ms  node 2 tells client 4 the position 12: ok
       5          5ms  broken: INV-25 a position of an aborted transaction is stored
`, told(t, aborted(), Subject{Partition: orders, Offset: None, Group: "billing", Kept: offsets, KeptAt: 50}))
}

func TestTheLifeOfATransaction(t *testing.T) {
	require.Equal(t, `the transactions of "pay-1"
       1          1ms  node 1, the coordinator, answers InitProducerID of client 4: it goes on as producer 10, epoch 0
       2          2ms  node 2 takes positions of group "billing" from client 4: ok 11/0 at 12
       3          3ms  client 4 asks node 1 to abort that of producer 10, epoch 0
       3          3ms  node 1, the coordinator, answers EndTransaction of client 4: it goes on as producer 10, epoch 1
       3          3ms  node 1 asks node 2 to write markers of producer 10, epoch 1: abort in 5/2
       4          4ms  node 2 writes the marker at 5/2@51: abort, and producer 10 goes on with epoch 1
       5          5ms  broken: INV-25 a position of an aborted transaction is stored
`, told(t, aborted(), Subject{Offset: None, Transactional: "pay-1"}))
}

func TestTheLifeOfAGroup(t *testing.T) {
	b := newBook()
	b.Clients = []Client{{ID: 4, Group: "billing"}, {ID: 5, Group: "shipping"}}
	beat := func(client Place, epoch, text string, parts []Part) {
		b.answers(b.asks(1, client, "GroupHeartbeat", "billing", "", "GroupHeartbeat{MemberEpoch:"+epoch+"}", nil), "", text, parts)
	}
	beat(ClientAt(4), "0", "GroupHeartbeatReply{MemberEpoch:1 Assigned:true}", in(orders, None, None, None))
	beat(ClientAt(4), "1", "GroupHeartbeatReply{MemberEpoch:1 Assigned:false}", nil)
	beat(ClientAt(4), "1", "GroupHeartbeatReply{MemberEpoch:1 Assigned:false}", nil)
	b.next()
	b.row(ClientAt(5), ClientDown, None, nil)
	b.row(ClientAt(4), ClientDown, None, nil)
	b.answers(b.asks(1, ClientAt(7), "DescribeGroup", "billing", "", "", nil), "GROUP_ID_NOT_FOUND", "", nil)
	b.row(1, Broken, None, func(r *Row) { r.Name, r.Text = "INV-10", "a group is said not to be there, and is" })
	b.Failure = &Failure{Invariant: "INV-10", Place: 1}
	require.Equal(t, `group "billing"
       1          1ms  node 1 tells client 4, which joins: epoch 1, and to own [11/0]
       2          2ms  node 1 tells client 4, which is in epoch 1: epoch 1
       4          4ms  client 4 dies
       5          5ms  node 1 answers client 7: DescribeGroupReply GROUP_ID_NOT_FOUND
       5          5ms  broken: INV-10 a group is said not to be there, and is
`, told(t, b, Subject{Offset: None, Group: "billing", Member: "m1"}))
}

func TestTheLifeOfANode(t *testing.T) {
	b := newBook()
	b.next()
	b.row(1, Down, None, func(r *Row) { r.Name = "power lost" })
	b.row(2, Down, None, func(r *Row) { r.Name = "killed" })
	b.next()
	start := b.row(2, Start, None, func(r *Row) { r.Text = "run 2" })
	b.row(2, Broken, start, func(r *Row) { r.Name, r.Text = "INV-37", "it halts" })
	b.Failure = &Failure{Invariant: "INV-37", Sentence: "node 2 halts", Place: 2}
	require.Equal(t, `node 2, and what led to event 2
       1          1ms  node 2 goes down: killed
       2          2ms  node 2 starts: run 2
       2          2ms  broken: INV-37 it halts
`, told(t, b, Subject{Offset: None}))
}
