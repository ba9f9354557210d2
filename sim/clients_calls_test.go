package sim

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core/client"
	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

func TestAnswersOfAnotherKindAreRefused(t *testing.T) {
	s := newStage(t)
	u := s.clients[0]
	drain, ask := &openCall{node: 2, kind: message.KindDrainBroker}, &openCall{node: 2, kind: message.KindMetadata}
	u.inKind(drain, &message.DrainBrokerReply{Code: message.BrokerNotAvailable})
	u.inKind(ask, &message.MetadataReply{})
	u.inKind(ask, &message.Refused{})
	s.passed()
	u.inKind(drain, &message.Refused{})
	s.refused("INV-10", "client 1 sent node 2 a DrainBroker and was answered with a Refused")
	u.inKind(ask, &message.DrainBrokerReply{})
	s.refused("INV-10", "was answered with a DrainBrokerReply")
}

func TestAClientThatAsksAgainBeforeItIsAnsweredIsRefused(t *testing.T) {
	s := newStage(t)
	u := s.clients[0]
	id, where := &openCall{node: 2, kind: message.KindInitProducerID}, &openCall{node: 3, kind: message.KindMetadata}
	u.calls = append(u.calls, openCall{node: 1, kind: message.KindProduce})
	u.again(id)
	u.again(where)
	u.calls = append(u.calls, *id)
	u.again(where)
	s.passed()
	u.again(id)
	s.refused("INV-38", "client 1 sends node 2 a InitProducerID while the one to node 2 has no answer yet")
	u.plan.Role = Chaos
	u.again(id)
	s.passed()
}

func TestAClientThatDoesNotLookAgainIsRefused(t *testing.T) {
	s := newStage(t)
	u := s.clients[0]
	s.plan.Timing.ClientMetadata = 2 * Second
	s.now = 100 * Second
	u.lookedLately() // it has never asked
	u.looks(message.KindMetadata)
	u.looks(message.KindFetch)
	s.now += 2*Second + longestLookPause
	u.lookedLately()
	s.now += Millisecond
	u.calls = []openCall{{kind: message.KindFetch}, {kind: message.KindMetadata}}
	u.lookedLately() // it waits for an answer
	s.passed()
	u.calls = u.calls[:1]
	u.lookedLately()
	s.refused("INV-34", "client 1 has not asked about the cluster since 1m40s, which is 1ms too long")
	s.plan.Timing.ClientMetadata = 0
	u.lookedLately()
	s.passed()
}

func TestAProducerPublishesAsItWasTold(t *testing.T) {
	s := newStage(t)
	u := s.clients[0]
	sends := func(acks message.Acks, producer record.ProducerID) {
		var b record.Builder
		require.NoError(t, b.Append(1, nil, []byte("x"), nil))
		batch := b.Build()
		if producer >= 0 {
			record.SetProducer(batch, producer, 0, 0)
		}
		u.publishesAsTold(&message.Produce{Acks: acks, Partitions: []message.ProducePartition{{ID: part, Records: batch}}})
	}
	u.plan.Role, u.plan.Acks, u.plan.Idempotent = Producer, 1, false
	sends(message.AcksLeader, -1)
	u.plan.Idempotent = true // which no acks but all can have
	sends(message.AcksLeader, -1)
	u.plan.Acks = -1
	sends(message.AcksAll, 7)
	u.plan.Role, u.plan.Acks = Transactor, 0
	sends(message.AcksAll, 7)
	s.passed()
	u.plan.Role = Producer
	sends(message.AcksAll, 7)
	s.refused("INV-40", "client 1, which is to publish with acks=0, sends records with acks=-1")
	sends(message.AcksNone, 7)
	s.refused("INV-40", "client 1, which is idempotent: false, sends a batch of producer 7 to partition 5/0")
	u.plan.Acks = -1
	sends(message.AcksAll, -1)
	s.refused("INV-40", "client 1, which is idempotent: true, sends a batch of producer -1")
}

func TestARequestOfManyBatchesStaysWithinItsBound(t *testing.T) {
	s := newStage(t)
	u := s.clients[0]
	u.plan.Request = 100
	two := &message.Produce{Partitions: []message.ProducePartition{{Records: make([]byte, 40)}, {Records: make([]byte, 60)}}}
	u.inBounds(two)
	u.inBounds(&message.Produce{Partitions: []message.ProducePartition{{Records: make([]byte, 500)}}})
	s.passed()
	two.Partitions[1].Records = make([]byte, 61)
	u.inBounds(two)
	s.refused("INV-38", "2 batches of 101 bytes in one request; more than one may have 100")
}

func TestWhatNoTopicTakesIsNotSent(t *testing.T) {
	s := newStage(t)
	u := s.clients[0]
	send := func(size int) {
		u.inBounds(&message.Produce{Partitions: []message.ProducePartition{{Records: make([]byte, size)}}})
	}
	send(largestBatch)
	s.passed()
	send(largestBatch + 1)
	s.refused("INV-38", "client 1 sends a batch of 1048577 bytes")
}

func TestWhatIsFetchedAheadStaysWithinItsBound(t *testing.T) {
	s := newStage(t)
	u := s.clients[0]
	ask := func(most int32) { u.aheadInBounds(&message.Fetch{MaxBytes: most}) }
	ask(1 << 30) // it has no bound of its own
	u.plan.Ahead = 1000
	ask(1)
	ask(1000)
	s.passed()
	ask(1001)
	s.refused("INV-38", "client 1 fetches 1001 bytes, and may have between 1 and 1000 ahead")
	ask(0)
	s.refused("INV-38", "client 1 fetches 0 bytes")
}

func TestEveryPositionFromTheFirstOnCanBeCommitted(t *testing.T) {
	s := newStage(t)
	asked := &message.CommitOffsets{Offsets: []message.GroupOffset{{ID: part, Offset: 0}, {ID: part, Offset: -1}}}
	answered := func(first, second message.Code) {
		reply := &message.CommitOffsetsReply{Offsets: []message.CommittedOffset{{ID: part, Code: first}, {ID: part, Code: second}}}
		(&chaos{}).groupAnswered(s.clients[0], &openOp{ask: client.Ask{Request: asked}}, &client.Result{Reply: reply})
	}
	answered(message.None, message.OffsetOutOfRange)
	answered(message.NotCoordinator, message.NotCoordinator)
	s.passed()
	answered(message.OffsetOutOfRange, message.OffsetOutOfRange)
	s.refused("INV-10", "commits position 0")
	asked.Offsets[0].LeaderEpoch = noSuchEpoch
	answered(message.UnknownLeaderEpoch, message.OffsetOutOfRange)
	s.passed()
	answered(message.None, message.OffsetOutOfRange)
	s.refused("INV-10", "behind a record of leader epoch 1048576, and is told that it is stored")
}

func TestWhatIsLegalInEveryStateIsNotRefused(t *testing.T) {
	s := newStage(t)
	answered := func(asked message.Request, reply message.Reply) {
		(&chaos{}).groupAnswered(s.clients[0], &openOp{ask: client.Ask{Request: asked}}, &client.Result{Reply: reply})
	}
	invalid := &message.GroupHeartbeatReply{Code: message.InvalidRequest}
	nonEmpty := &message.DeleteGroupReply{Code: message.NonEmptyGroup}
	longest := &message.GroupHeartbeat{MemberEpoch: 3, SessionTimeout: longestSession}
	patient := &message.GroupHeartbeat{MemberEpoch: 0, RebalanceTimeout: longestRebalance}
	answered(longest, &message.GroupHeartbeatReply{Code: message.UnknownMemberID})
	answered(&message.GroupHeartbeat{SessionTimeout: longestSession + 1}, invalid)
	answered(&message.GroupHeartbeat{RebalanceTimeout: longestRebalance + 1}, invalid)
	answered(&message.GroupHeartbeat{MemberEpoch: -2, SessionTimeout: longestSession}, invalid)
	answered(&message.GroupHeartbeat{Owned: []record.PartitionID{part}}, invalid)
	answered(&message.DeleteGroup{Group: "chaos-1"}, nonEmpty)
	s.passed()
	answered(longest, invalid)
	s.refused("INV-10", "is told that it is invalid")
	answered(patient, invalid)
	s.refused("INV-10", "is told that it is invalid")
	answered(&message.DeleteGroup{Group: outsideGroup}, nonEmpty)
	s.refused("INV-10", "which nobody ever joined")
}

func TestARecordForWhichThereIsRoomIsTaken(t *testing.T) {
	s := newStage(t)
	u := s.clients[0]
	u.plan.Buffer = 1000
	full := &client.Result{Err: &client.Error{Problem: client.BufferFull}}
	p := &producer{open: 2, bytes: 1001}
	p.done(u, &openOp{what: opPublish, arg: 300}, full)
	s.passed()
	p.done(u, &openOp{what: opPublish, arg: 300}, full)
	s.refused("INV-38", "has 701 bytes of records without a result, this one included, and room for 1000")
}

func TestAMemberThatClosesIsAtRestWhenItHasLeft(t *testing.T) {
	s := newStage(t)
	u := s.clients[0]
	waits, ok := (&member{}).idle(u)
	require.True(t, ok, waits)
	u.closing = true
	waits, ok = (&member{}).idle(u)
	require.False(t, ok)
	require.Equal(t, "a close that does not end", waits)

	u.closing, s.now = false, 30*Second
	waits, ok = (&member{polling: true, since: 25 * Second}).idle(u)
	require.True(t, ok, waits)
	waits, ok = (&member{polling: true, since: 15 * Second}).idle(u)
	require.False(t, ok)
	require.Equal(t, "a poll that does not end", waits)
}

func TestATruncationIsToldFromWhereTheApplicationIs(t *testing.T) {
	s := newStage(t)
	u := s.clients[0]
	u.given = map[record.PartitionID]record.Offset{}
	cut := &client.Event{Kind: client.Truncated, From: 10, To: 7, Partitions: []client.PlacedID{{ID: part}}}
	u.cutBack(cut) // nobody knows what it was given
	u.handed([]client.Delivery{{PlacedID: client.PlacedID{ID: part}, Next: 10}})
	u.cutBack(cut)
	s.passed()
	u.handed([]client.Delivery{{PlacedID: client.PlacedID{ID: part}, Next: 9}})
	u.cutBack(cut)
	s.refused("INV-35", "up to 9, and is told that it was truncated from 10 to 7")
}

func TestSettingsThatAreAlwaysRightAreNotRefused(t *testing.T) {
	s := newStage(t)
	answered := func(m *message.AlterConfig, code message.Code) {
		result := &client.Result{Err: &client.Error{Code: code, Detail: "no such value"}}
		(&operator{}).judgeAlter(s.clients[0], &openOp{ask: client.Ask{Request: m}}, result)
	}
	set := func(keys ...string) (list []message.Setting) {
		for _, k := range keys {
			list = append(list, message.Setting{Key: k, Value: "9s"})
		}
		return list
	}
	answered(&message.AlterConfig{Topic: "t0", Set: set("min-insync", "retention")}, message.InvalidConfig)
	answered(&message.AlterConfig{Topic: "t0", Set: set("retention"), Unset: []string{"min-insync"}}, message.InvalidConfig)
	answered(&message.AlterConfig{Node: 2, Set: set("replica-lag")}, message.InvalidConfig)
	answered(&message.AlterConfig{Set: set("replica-lag", "session-timeout")}, message.InvalidConfig)
	answered(&message.AlterConfig{Topic: "t0", Set: set("retention")}, message.UnknownTopicOrPartition)
	s.passed()
	answered(&message.AlterConfig{Topic: "t0", Set: set("retention")}, message.InvalidConfig)
	s.refused("INV-10", "is told that it is wrong")
	answered(&message.AlterConfig{Set: set("replica-lag")}, message.InvalidConfig)
	s.refused("INV-10", "is told that it is wrong")
}

func TestATruncationOfCommittedRecordsIsRefused(t *testing.T) {
	s := newStage(t)
	u, p := s.clients[0], s.book.part(part)
	p.high = 8
	cut := func(from, to record.Offset) {
		u.cutBack(&client.Event{Kind: client.Truncated, From: from, To: to, Partitions: []client.PlacedID{{ID: part}}})
	}
	cut(10, 8)
	cut(10, 7)
	s.refused("INV-35", "was truncated from 10 to 7, but all below 8 is committed")
	p.uncleanly(2)
	cut(10, 5)
	p.open, p.surrendered = false, []surrender{{epoch: 2, from: 6, to: 8}}
	cut(10, 6)
	s.passed()
	cut(10, 5)
	s.refused("INV-35", "was truncated from 10 to 5, but all below 6 is committed")
}

func TestAChangeOfControllersIsNotRefusedForWhatItAsks(t *testing.T) {
	s := newStage(t)
	told := func(detail string) {
		result := &client.Result{Err: &client.Error{Code: message.InvalidRequest, Detail: detail}}
		(&operator{}).judgeAlter(s.clients[0], &openOp{ask: client.Ask{Request: &message.AlterControllers{Node: 4}}}, result)
	}
	told("another change is under way")
	s.passed()
	told("node 4 is a member already")
	s.refused("INV-10", "is told: node 4 is a member already")
}

func TestAQuestionToAllIsAnsweredByAll(t *testing.T) {
	s := newStage(t)
	answered := func(replies ...client.NodeReply) {
		(&reader{}).done(s.clients[0], &openOp{what: opGroups}, &client.Result{Replies: replies})
	}
	good := client.NodeReply{Node: 1, Reply: &message.ListGroupsReply{}}
	answered(good, client.NodeReply{Node: 2, Err: &client.Error{}})
	s.passed()
	answered(good, client.NodeReply{Node: 2})
	s.refused("INV-10", "before node 2 has said anything")
}

func TestAnElectionSucceedsWhenNobodyIsWithoutALeader(t *testing.T) {
	s := newStage(t)
	told := func(outcome client.Outcome, codes ...message.Code) {
		m := &message.ElectLeadersReply{}
		for _, c := range codes {
			m.Partitions = append(m.Partitions, message.ElectedLeader{ID: part, Code: c})
		}
		(&operator{}).judgeElect(s.clients[0], &client.Result{Reply: m, Outcome: outcome})
	}
	told(client.OK, message.None, message.ElectionNotNeeded)
	told(client.NotDone, message.None, message.BrokerNotAvailable)
	s.passed()
	told(client.OK, message.BrokerNotAvailable)
	s.refused("INV-10", "the outcome is")
	told(client.NotDone, message.ElectionNotNeeded)
	s.refused("INV-10", "the outcome is")
}

func TestAKeyGoesWhereOtherClientsSendIt(t *testing.T) {
	for key, want := range map[string]int32{ // of Kafka's own tests
		"21": -973932308, "foobar": -790332482, "a-little-bit-long-string": -985981536,
		"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8": -58897971,
	} {
		require.Equal(t, want, int32(kafkaHash([]byte(key))), key)
	}
}

func TestAnEmptyFetchIsAnsweredWhenItsTimeIsOver(t *testing.T) {
	s := newStage(t)
	n := s.nodes[1]
	n.tokens = map[message.Token]caller{7: {request: &message.Fetch{MinBytes: 1, MaxWait: 500 * message.Millisecond}, since: Second}}
	answered := func(after Span, p message.FetchedPartition) {
		s.now = Second + after
		s.step(&trueAnswers{}, 1, nil, []effect.Effect{effect.Reply{Token: 7, Msg: &message.FetchReply{Partitions: []message.FetchedPartition{p}}}})
	}
	answered(450*Millisecond, message.FetchedPartition{ID: part})
	answered(Millisecond, message.FetchedPartition{ID: part, Code: message.NotLeaderOrFollower})
	answered(Millisecond, message.FetchedPartition{ID: part, Records: batch(0, 1, "a")})
	s.passed()
	answered(Millisecond, message.FetchedPartition{ID: part})
	s.refused("INV-10", "node 1 answers a fetch of 1 partitions with nothing after 1ms; it was to wait 500ms")
}

func TestABatchOfManyRecordsStaysWithinItsBound(t *testing.T) {
	s := newStage(t)
	u := s.clients[0]
	send := func(records, size int) {
		var b record.Builder
		for range records {
			require.NoError(t, b.Append(1000, nil, make([]byte, size), nil))
		}
		u.inBounds(&message.Produce{Partitions: []message.ProducePartition{{Records: b.Build()}}})
	}
	u.plan.Batch = 300
	send(2, 100)
	send(1, 400)
	s.passed()
	send(2, 150)
	s.refused("INV-38", "a batch of 2 records and")
}

func TestAMoveThatIsGrantedAndNotCommittedIsRefused(t *testing.T) {
	s := newStage(t)
	s.cluster()
	told := func(code message.Code, replicas ...message.NodeID) {
		ask := client.Ask{Request: &message.AlterReassignments{Partitions: []message.Reassignment{{ID: part, Replicas: replicas}}}}
		reply := &message.AlterReassignmentsReply{Partitions: []message.AlteredReassignment{{ID: part, Code: code}}}
		s.granted(s.clients[0], &openOp{ask: ask}, &client.Result{Reply: reply})
	}
	book := s.book.part(part)
	book.state = &message.PartitionChange{ID: part, PartitionEpoch: 3, Replicas: []message.NodeID{1, 2, 3}}
	book.mean(nil, book.state)
	told(message.None, 1, 2, 3) // it is there
	told(message.None)          // calls one off
	told(message.InvalidRequest, 4)
	moving := &message.PartitionChange{ID: part, PartitionEpoch: 4, Replicas: []message.NodeID{1, 2, 3, 4}, Adding: []message.NodeID{4}, Target: []message.NodeID{4, 1, 2}}
	book.mean(book.state, moving)
	book.mean(moving, &message.PartitionChange{ID: part, PartitionEpoch: 5, Replicas: []message.NodeID{1, 2, 3}}) // and is called off
	told(message.None, 4, 1, 2)
	s.passed()
	told(message.None, 1, 2)
	s.refused("INV-43", "is told that partition 5/0 is on its way to replicas [1 2], which no committed change says")

	s.failure = nil
	book.mean(moving, &message.PartitionChange{ID: part, PartitionEpoch: 6, Replicas: []message.NodeID{1, 2, 3}})
	told(message.None, 1, 2) // perhaps it was, in between
	s.passed()
}

func TestAMoveToTooFewReplicasIsRefused(t *testing.T) {
	s := newStage(t)
	p := &Plan{Topics: []TopicPlan{{Name: "a", MinInsync: 2}, {Name: "b", MinInsync: 2}}, Faults: []Fault{{Kind: AlterTopic, Topic: "b"}}}
	require.Equal(t, []int{2, 0, 0}, []int{p.keptMinInsync("a"), p.keptMinInsync("b"), p.keptMinInsync("c")})

	s.cluster()
	s.plan.Topics = []TopicPlan{{Name: "t", MinInsync: 2}}
	told := func(code message.Code, replicas ...message.NodeID) {
		ask := client.Ask{Request: &message.AlterReassignments{Partitions: []message.Reassignment{{ID: part, Replicas: replicas}}}}
		reply := &message.AlterReassignmentsReply{Partitions: []message.AlteredReassignment{{ID: part, Code: code}}}
		(&chaos{}).moved(s.clients[0], &openOp{ask: ask}, &client.Result{Reply: reply})
	}
	told(message.None, 1, 4)
	told(message.None) // calls one off
	told(message.InvalidRequest, 4)
	s.passed()
	told(message.None, 4)
	s.refused("INV-43", "asks for replicas [4] of partition 5/0, whose min.insync is 2")
}
