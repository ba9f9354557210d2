package sim

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core/client"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/metadata"
	"github.com/tamarack-mq/tamarack/core/record"
)

// TestSomeMalformedRecordsHaveAGoodChecksum: a broker that looked at checksums
// only would take them.
func TestSomeMalformedRecordsHaveAGoodChecksum(t *testing.T) {
	s := newStage(t)
	c := &chaos{malformed: true}
	seen := 0
	for range 1000 {
		m, ok := c.wrong(s.clients[0]).(*message.Produce)
		if !ok || m.Acks != message.AcksAll {
			continue
		}
		it := record.Batches(m.Partitions[0].Records)
		for it.Next() {
			records := record.Records(&it.Header, record.Payload(it.Bytes))
			for records.Next() {
			}
			if it.Header.CRC == record.Checksum(it.Bytes) && records.Err() != nil {
				seen++
			}
		}
	}
	require.Positive(t, seen)
}

// TestABatchThatIsRefusedForAnotherReasonIsNoticed: a client sends again what was
// damaged on its way, and nothing else.
func TestABatchThatIsRefusedForAnotherReasonIsNoticed(t *testing.T) {
	s := newStage(t)
	u, c := s.clients[0], &chaos{malformed: true}
	batch, _ := c.batch(u)
	told := func(records []byte, code message.Code) {
		ask := client.Ask{Request: &message.Produce{Partitions: []message.ProducePartition{{ID: part, Records: records}}}}
		c.blamed(u, &openOp{ask: ask}, &client.Result{Err: &client.Error{Problem: client.Refused, Code: code}})
	}
	flipped, magic := slices.Clone(batch), slices.Clone(batch)
	flipped[len(batch)-1] ^= 0x40
	magic[16] = 1
	told(batch, message.InvalidRequest) // for its acks, say
	told(flipped, message.CorruptMessage)
	told(batch[:30], message.CorruptMessage)
	told(batch[:30], message.NotLeaderOrFollower)
	told(magic, message.InvalidRequest)
	s.passed()
	told(flipped, message.InvalidRequest)
	s.refused("INV-10", "the checksum does not match the content")
	told(magic, message.CorruptMessage)
	s.refused("INV-10", "and was told CORRUPT_MESSAGE")
}

func TestARefusalWithoutAReasonIsNoticed(t *testing.T) {
	s := newStage(t)
	u := s.clients[0]
	op := &openOp{id: -1, ask: client.Ask{Request: &message.DeleteTopic{}}}
	u.saysWhy(op, &client.Result{Err: &client.Error{Problem: client.Refused, Code: message.InvalidRequest}})
	u.saysWhy(op, &client.Result{Err: &client.Error{Problem: client.TimedOut}})
	s.passed()
	u.saysWhy(op, &client.Result{Err: &client.Error{Problem: client.Refused, Detail: "no"}})
	s.refused("INV-10", "was refused and not told why: no")

	op.ask = client.Ask{Request: &message.AlterReassignments{Throttle: -2}}
	reply := &message.AlterReassignmentsReply{Code: message.InvalidRequest, Detail: "the throttle is no number"}
	told := &client.Error{Problem: client.Refused, Code: reply.Code, Detail: "AlterReassignments: " + reply.Detail}
	u.saysWhy(op, &client.Result{Err: told, Reply: reply})
	u.saysWhy(op, &client.Result{Err: &client.Error{Problem: client.TimedOut, Code: reply.Code}, Reply: reply})
	s.passed()
	told.Detail = ""
	u.saysWhy(op, &client.Result{Err: told, Reply: reply})
	s.refused("INV-10", `was refused with "the throttle is no number" and is told ""`)

	reply = &message.AlterReassignmentsReply{Partitions: []message.AlteredReassignment{
		{ID: part, Detail: "done"}, {ID: part, Code: told.Code, Detail: "it is named twice"}, {ID: part, Code: told.Code, Detail: "so is this"},
	}}
	told.Detail = "AlterReassignments: it is named twice"
	u.saysWhy(op, &client.Result{Err: told, Reply: reply})
	s.passed()
	told.Detail = "AlterReassignments: done"
	u.saysWhy(op, &client.Result{Err: told, Reply: reply})
	s.refused("INV-10", `was refused with "it is named twice" and is told "AlterReassignments: done"`)
}

func TestAWrongTopicHasOneFaultOrThree(t *testing.T) {
	var got []message.CreateTopic
	for turn := range uint64(8) {
		got = append(got, *wrongTopic(turn))
	}
	require.Equal(t, []message.CreateTopic{
		{Name: "no/such name", Partitions: 1, ReplicationFactor: 1},
		{Name: "fine", Partitions: -3, ReplicationFactor: 1},
		{Name: "fine", Partitions: 1, ReplicationFactor: 99},
		{Name: "no/such name", Partitions: -3, ReplicationFactor: 99},
		{Name: offsetsTopic, Partitions: 1, ReplicationFactor: 1},
		{Name: statesTopic, Partitions: 1, ReplicationFactor: 1},
		{Name: "fine", Partitions: 1, ReplicationFactor: 1, Config: message.TopicConfig{Internal: true}},
		{Name: "fine", Partitions: 1, ReplicationFactor: 1, Config: message.TopicConfig{MaxBatchBytes: message.LargestBatch + 1}},
	}, got)
}

func TestATopicOfTheClusterIsRefusedAsSuch(t *testing.T) {
	s := newStage(t)
	told := func(name string, code message.Code) {
		op := &openOp{ask: client.Ask{Request: &message.CreateTopic{Name: name}}}
		s.clients[0].notItsOwn(op, &client.Result{Err: &client.Error{Problem: client.Refused, Code: code}})
	}
	told(offsetsTopic, message.InvalidTopic)
	told("orders", message.TopicAlreadyExists)
	s.passed()
	told(offsetsTopic, message.TopicAlreadyExists)
	s.refused("INV-10", "which only the cluster may, and was told TOPIC_ALREADY_EXISTS")
}

func TestARefusalThatTellsOfATransactionIsRefused(t *testing.T) {
	s := newStage(t)
	told := func(m *message.DescribeTransactionReply) { s.clients[0].toldNothing(&client.Result{Reply: m}) }
	told(message.Fail(&message.DescribeTransaction{TransactionalID: "x"}, message.TransactionalIDNotFound, "none").(*message.DescribeTransactionReply))
	told(&message.DescribeTransactionReply{TransactionalID: "x", ID: 7, Epoch: 1, State: "Ongoing", Started: 5})
	s.passed()
	told(&message.DescribeTransactionReply{Code: message.TransactionalIDNotFound, TransactionalID: "x", ID: record.NoProducerID, Epoch: record.NoProducerEpoch})
	s.refused("INV-10", `client 1 asks for the transaction of "x", is refused (TRANSACTIONAL_ID_NOT_FOUND), and is told of one all the same, begun at 0`)
}

// TestWhatIsPendingIsToBeDeleted: by chance alone nobody deletes what is pending.
func TestWhatIsPendingIsToBeDeleted(t *testing.T) {
	topic := &metadata.Topic{ID: 5, Name: chaosTopic}
	given := &message.InitProducerIDReply{ID: 7, Epoch: 4}
	pends := &message.CommitTransactionOffsets{
		TransactionalID: "chaos-1", ID: 7, Epoch: 4, Group: ownTransactions, MemberEpoch: -1,
		Offsets: []message.GroupOffset{{ID: part, Offset: 4, LeaderEpoch: -1}},
	}
	require.Equal(t, pends, undoing(topic, &message.InitProducerID{TransactionalID: "chaos-1"}, given))
	require.Equal(t, &message.DeleteOffsets{Group: ownTransactions, IDs: []record.PartitionID{part}}, undoing(topic, pends, &message.CommitTransactionOffsetsReply{}))
	ends := &message.EndTransaction{TransactionalID: "chaos-1", ID: 7, Epoch: 2}
	require.Equal(t, pends, undoing(topic, ends, &message.EndTransactionReply{ID: 7, Epoch: 4}), "the next one begins at once")
	require.Nil(t, undoing(topic, ends, &message.EndTransactionReply{Code: message.NotCoordinator, ID: 7, Epoch: 3}))
	require.Nil(t, undoing(nil, &message.InitProducerID{TransactionalID: "chaos-1"}, given), "there is nothing to read")
	require.Nil(t, undoing(topic, &message.InitProducerID{TransactionalID: "orders"}, given), "it is another's")
	require.Nil(t, undoing(topic, pends, &message.CommitTransactionOffsetsReply{Code: message.NotCoordinator}))
	require.Nil(t, undoing(topic, &message.Metadata{}, &message.MetadataReply{}))
	odd := *pends
	odd.Epoch = 5
	require.Equal(t, &message.EndTransaction{TransactionalID: "chaos-1", ID: 7, Epoch: 5}, undoing(topic, &odd, &message.CommitTransactionOffsetsReply{}))
}

func TestSomeOfThoseWhoDoWhatTheyLikeUndo(t *testing.T) {
	with := 0
	for seed := range uint64(40) {
		p := TransactionPlan(seed)
		for i := range p.Clients {
			if c := &p.Clients[i]; c.Undo {
				require.Equal(t, Chaos, c.Role)
				with++
			}
		}
	}
	require.Positive(t, with)
}

func TestWhatMayBeAskedOfTransactionsIsJudged(t *testing.T) {
	s := newStage(t)
	told := func(asked message.Request, reply message.Reply, outcome client.Outcome) {
		s.clients[0].mayBeAsked(&openOp{ask: client.Ask{Request: asked}}, &client.Result{Reply: reply, Outcome: outcome})
	}
	no := &message.InitProducerIDReply{Code: message.InvalidTransactionTimeout, Detail: "from 1 ms on"}
	produce := &message.Produce{TransactionalID: "chaos-1", Acks: message.AcksLeader}
	told(&message.InitProducerID{TransactionalID: "chaos-1", Timeout: message.Millisecond - 1}, no, client.NotDone)
	told(&message.InitProducerID{TransactionalID: "chaos-1", Timeout: longestTransaction + 1}, no, client.NotDone)
	told(&message.InitProducerID{TransactionalID: "chaos-1", Timeout: message.Millisecond}, &message.InitProducerIDReply{}, client.OK)
	told(produce, &message.ProduceReply{}, client.NotDone)
	told(&message.Produce{Acks: message.AcksLeader}, &message.ProduceReply{}, client.OK)
	s.passed()
	for _, limit := range []message.Duration{message.Millisecond, longestTransaction} {
		told(&message.InitProducerID{TransactionalID: "chaos-1", Timeout: limit}, no, client.NotDone)
		s.refused("INV-10", "is told that this cannot be: from 1 ms on")
	}
	told(produce, &message.ProduceReply{}, client.OK)
	s.refused("INV-31", `client 1 sends a record of a transaction of "chaos-1" with acks=1 and is told that it is stored`)
}

// TestNoTwoBatchesOfAProducerThatForgetsAreAlike: each has a number in common with
// another one, and none of them is a repeat.
func TestNoTwoBatchesOfAProducerThatForgetsAreAlike(t *testing.T) {
	s := newStage(t)
	u, c := s.clients[0], &chaos{}
	type numbers struct {
		epoch       record.ProducerEpoch
		first, last record.Sequence
	}
	seen := map[numbers]bool{}
	for i := range 3 * len(repeatsOfNone) {
		at := record.PartitionID{Topic: 5, Index: int32(i)}
		id, batch := c.numbered(u, at, []byte("x"))
		h, err := record.Validate(batch)
		require.NoError(t, err)
		require.Equal(t, int32(i/len(repeatsOfNone)*len(repeatsOfNone)), id.Index, "an epoch stays where it began")
		n := numbers{h.ProducerEpoch, h.BaseSequence, record.AddSequence(h.BaseSequence, h.LastOffsetDelta)}
		require.False(t, seen[n], "%v comes twice", n)
		seen[n] = true
	}
	s.book.part(part).state = &message.PartitionChange{ID: part, Leader: 2}
	_, batch := c.numbered(u, part, []byte("x"))
	ask := &message.Produce{Partitions: []message.ProducePartition{{ID: part, Records: batch}}}
	require.Equal(t, message.NodeID(2), leaderOfNumbered(u, ask))
	plain, _ := c.batch(u)
	ask.Partitions[0].Records = plain
	require.Equal(t, message.NoNode, leaderOfNumbered(u, ask))
	require.Equal(t, message.NoNode, leaderOfNumbered(u, &message.Metadata{}))
}
