package client

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

func TestTheFirstPublishFindsItsWay(t *testing.T) {
	s := newPlay(t, nil)
	op := s.publish(1, "a")
	require.Equal(t, []string{"Metadata to 0"}, s.kinds())
	require.Equal(t, "boot:1", s.calls[0].Address)
	s.metadata()
	require.Len(t, s.calls, 1)
	s.producerID(40)
	c, r := next[*message.Produce](s)
	require.Equal(t, message.NodeID(2), c.Node)
	require.Equal(t, "node2:1", c.Address)
	require.Equal(t, message.AcksAll, r.Acks)
	require.Equal(t, []string{"7/1 40.0:0 a"}, sent(r))
	s.answer(c, produced(r, 17))
	require.Equal(t, Result{Published: Published{ID: orders1, Offset: 17, Timestamp: 1_000}}, s.done[op])
	require.Empty(t, s.calls)
}

// A lane that is told twice would queue twice.
func TestWhoWaitedForAnIdentityWaitsNoMore(t *testing.T) {
	s := warm(t, nil)
	require.Equal(t, record.ProducerID(40), s.c.producer.identity.id)
	require.Empty(t, s.c.producer.identity.waiting)
}

func TestRecordsPassThroughUnchanged(t *testing.T) {
	s := warm(t, nil)
	headers := []record.RecordHeader{{Key: []byte("h"), Value: []byte{}}, {Key: []byte("h")}}
	s.do(func(op Op) Input {
		return Publish{Op: op, Topic: "orders", Key: []byte{}, Headers: headers, Timestamp: -5}
	})
	_, r := next[*message.Produce](s)
	h, err := record.Validate(r.Partitions[0].Records)
	require.NoError(t, err)
	it := record.Records(&h, record.Payload(r.Partitions[0].Records))
	require.True(t, it.Next())
	require.Equal(t, record.Timestamp(-5), it.Record.Timestamp)
	require.Equal(t, []byte{}, it.Record.Key)
	require.Nil(t, it.Record.Value)
	require.Equal(t, headers, it.Record.Headers.List())
}

func TestManyInputsOfOneStepMakeOneBatchAPartition(t *testing.T) {
	s := warm(t, nil)
	var in Inputs
	for i := range 6 {
		in = append(in, Publish{Op: Op(100 + i), Topic: "orders", Partition: int32(i % 2), Value: []byte{byte('a' + i)}})
	}
	s.step(in)
	require.Equal(t, []string{"Produce to 1", "Produce to 2"}, s.kinds())
	c, r := next[*message.Produce](s)
	require.Equal(t, []string{"7/0 40.0:1 a c e"}, sent(r))
	s.answer(c, produced(r, 5))
	require.Equal(t, record.Offset(7), s.done[104].Published.Offset)
}

func TestPartitionsOfOneBrokerShareARequest(t *testing.T) {
	s := warm(t, nil)
	s.step(Inputs{
		Publish{Op: 100, Topic: "orders", Value: []byte("a")},
		Publish{Op: 101, Topic: "audit", Value: []byte("b")},
	})
	s.metadata() // audit is new
	c, r := next[*message.Produce](s)
	require.Equal(t, []string{"7/0 40.0:1 a"}, sent(r))
	s.answer(c, produced(r, 1))
	_, r = next[*message.Produce](s)
	require.Equal(t, []string{"9/0 40.0:0 b"}, sent(r))
}

func TestABrokerOwesAtMostFiveAnswers(t *testing.T) {
	s := warm(t, nil)
	for i := range 9 {
		s.publish(0, string(rune('a'+i)))
	}
	require.Equal(t, 5, has[*message.Produce](s))
	var last *message.Produce
	for i := range 5 {
		c, r := next[*message.Produce](s)
		s.answer(c, produced(r, record.Offset(1+i)))
		last = r
	}
	require.Equal(t, []string{"7/0 40.0:5 e"}, sent(last))
	_, r := next[*message.Produce](s)
	require.Equal(t, []string{"7/0 40.0:6 f g h i"}, sent(r), "batches grow while the slots are taken")
}

// KAFKA-3197: with several on their way, a retry of the first must not follow
// the second.
func TestARetryNeverOvertakes(t *testing.T) {
	s := warm(t, nil)
	s.publish(0, "a")
	s.publish(0, "b")
	s.publish(0, "c")
	ca, ra := next[*message.Produce](s)
	cb, rb := next[*message.Produce](s)
	cc, rc := next[*message.Produce](s)
	s.answer(ca, refusal(ra, message.NotEnoughReplicas))
	s.publish(0, "d")
	s.pass(message.Second)
	require.Equal(t, 0, has[*message.Produce](s), "all come back before the first goes out again")
	s.answer(cb, refusal(rb, message.OutOfOrderSequence))
	s.answer(cc, refusal(rc, message.OutOfOrderSequence))
	s.pass(message.Second)
	for _, want := range []string{"7/0 40.0:1 a", "7/0 40.0:2 b", "7/0 40.0:3 c", "7/0 40.0:4 d"} {
		_, r := next[*message.Produce](s)
		require.Equal(t, []string{want}, sent(r))
	}
}

func TestWithoutIdempotenceOneIsOnItsWay(t *testing.T) {
	s := warm(t, func(c *Config) { c.Idempotent = false })
	s.publish(0, "a")
	s.publish(0, "b")
	require.Equal(t, 1, has[*message.Produce](s))
	c, r := next[*message.Produce](s)
	require.Equal(t, []string{"7/0 a"}, sent(r))
	s.break_(c)
	s.metadata()
	s.pass(message.Second)
	c, r = next[*message.Produce](s)
	require.Equal(t, []string{"7/0 a"}, sent(r))
	require.Equal(t, 0, has[*message.Produce](s))
	s.answer(c, produced(r, 1))
	_, r = next[*message.Produce](s)
	require.Equal(t, []string{"7/0 b"}, sent(r))
}

func TestALostAnswerIsAskedForAgainUnderTheSameNumber(t *testing.T) {
	s := warm(t, nil)
	op := s.publish(0, "a")
	c, _ := next[*message.Produce](s)
	s.break_(c)
	s.metadata()
	s.pass(message.Second)
	c, r := next[*message.Produce](s)
	require.Equal(t, []string{"7/0 40.0:1 a"}, sent(r))
	s.answer(c, produced(r, 1)) // the broker knew it: the offset of the first append
	require.Equal(t, OK, s.done[op].Outcome)
	require.Equal(t, record.Offset(1), s.done[op].Published.Offset)
}

func TestANewLeaderIsFollowedAtOnce(t *testing.T) {
	s := warm(t, nil)
	s.publish(0, "a")
	c, r := next[*message.Produce](s)
	no := refusal(r, message.NotLeaderOrFollower)
	no.Partitions[0].Leader, no.Partitions[0].LeaderEpoch = 3, 6
	s.answer(c, no)
	c, r = next[*message.Produce](s)
	require.Equal(t, message.NodeID(3), c.Node)
	require.Equal(t, []string{"7/0 40.0:1 a"}, sent(r))

	// A hint that is older than what is known is not followed.
	no = refusal(r, message.NotLeaderOrFollower)
	no.Partitions[0].Leader, no.Partitions[0].LeaderEpoch = 1, 5
	s.answer(c, no)
	require.Equal(t, 1, has[*message.Metadata](s))
	require.Len(t, s.calls, 1)
	s.metadata() // still says node 1, epoch 5
	s.pass(message.Second)
	c, _ = next[*message.Produce](s)
	require.Equal(t, message.NodeID(3), c.Node)
}

// A batch whose outcome stays unknown leaves a gap that the next ones must not
// fall into: they go on under the next producer epoch, which also shuts out
// copies of the lost one.
func TestAfterAnUnknownOutcomeTheEpochChanges(t *testing.T) {
	s := warm(t, func(c *Config) { c.DeliveryTimeout = 15 * message.Second })
	lost := s.publish(0, "a")
	c, _ := next[*message.Produce](s)
	s.break_(c)
	s.metadata()
	s.pass(5 * message.Second)
	behind := s.publish(0, "b") // on its way behind a's second attempt
	ca, ra := next[*message.Produce](s)
	cb, rb := next[*message.Produce](s)
	require.Equal(t, []string{"7/0 40.0:1 a"}, sent(ra))
	require.Equal(t, []string{"7/0 40.0:2 b"}, sent(rb))
	s.answer(ca, refusal(ra, message.NotEnoughReplicas))
	s.answer(cb, refusal(rb, message.OutOfOrderSequence))
	for range 10 {
		s.pass(message.Second)
		for has[*message.Produce](s) > 0 {
			c, r := next[*message.Produce](s)
			s.answer(c, refusal(r, message.NotEnoughReplicas))
		}
	}
	require.Equal(t, Unknown, s.done[lost].Outcome, "the first attempt may have been appended")
	require.Equal(t, TimedOut, s.done[lost].Err.Problem)
	require.ErrorIs(t, s.done[lost].Err, message.NotEnoughReplicas)
	require.NotContains(t, s.done, behind)
	s.pass(message.Second)
	c, r := next[*message.Produce](s)
	require.Equal(t, []string{"7/0 40.1:0 b"}, sent(r))
	s.answer(c, produced(r, 2))
	require.Equal(t, OK, s.done[behind].Outcome)
}

func TestWhatWasNeverSentHasFailed(t *testing.T) {
	s := newPlay(t, nil)
	op := s.publish(0, "a")
	s.metadata()
	s.pass(3 * message.Minute) // no producer id is to be had
	require.Equal(t, NotDone, s.done[op].Outcome)
	require.Equal(t, TimedOut, s.done[op].Err.Problem)
}

func TestARefusalForGoodFailsAndTheRestGoesOnUnderTheNextEpoch(t *testing.T) {
	s := warm(t, nil)
	bad := s.publish(0, "a")
	good := s.publish(0, "b")
	ca, ra := next[*message.Produce](s)
	cb, rb := next[*message.Produce](s)
	s.answer(ca, refusal(ra, message.InvalidTopic))
	require.Equal(t, NotDone, s.done[bad].Outcome)
	require.ErrorIs(t, s.done[bad].Err, message.InvalidTopic)
	s.answer(cb, refusal(rb, message.OutOfOrderSequence)) // a is missing before it
	require.NotContains(t, s.done, good)
	s.pass(message.Second)
	c, r := next[*message.Produce](s)
	require.Equal(t, []string{"7/0 40.1:0 b"}, sent(r))
	s.answer(c, produced(r, 1))
	require.Equal(t, OK, s.done[good].Outcome)
}

// A batch that may be in the log is never numbered anew: it could be there
// twice.
func TestABatchThatMayBeInTheLogKeepsItsNumber(t *testing.T) {
	s := warm(t, nil)
	op := s.publish(0, "a")
	c, _ := next[*message.Produce](s)
	s.break_(c)
	s.metadata()
	s.pass(message.Second)
	c, r := next[*message.Produce](s)
	s.answer(c, refusal(r, message.UnknownProducerID)) // the broker has lost its memory of us
	require.Equal(t, Unknown, s.done[op].Outcome)
	next := s.publish(0, "b")
	s.pass(message.Second)
	c, r = nextProduce(s)
	require.Equal(t, []string{"7/0 40.1:0 b"}, sent(r))
	s.answer(c, produced(r, 2))
	require.Equal(t, OK, s.done[next].Outcome)
}

func nextProduce(s *play) (Call, *message.Produce) { return next[*message.Produce](s) }

func TestABatchThatWasOnlyRefusedIsNumberedAnew(t *testing.T) {
	s := warm(t, nil)
	op := s.publish(0, "a")
	c, r := next[*message.Produce](s)
	s.answer(c, refusal(r, message.UnknownProducerID))
	s.pass(message.Second)
	c, r = next[*message.Produce](s)
	require.Equal(t, []string{"7/0 40.1:0 a"}, sent(r))
	s.answer(c, produced(r, 1))
	require.Equal(t, OK, s.done[op].Outcome)
}

func TestAnAnswerThatComesTooLateChangesNothing(t *testing.T) {
	s := warm(t, func(c *Config) { c.DeliveryTimeout = 15 * message.Second })
	op := s.publish(0, "a")
	c, r := next[*message.Produce](s)
	s.pass(16 * message.Second)
	require.Equal(t, Unknown, s.done[op].Outcome)
	require.Contains(t, s.hung, message.NodeID(1))
	s.answer(c, produced(r, 1))
	require.Equal(t, Unknown, s.done[op].Outcome)
}

func TestAFullBufferSaysSo(t *testing.T) {
	s := warm(t, func(c *Config) { c.BufferBytes = 300 })
	first := s.publish(0, string(make([]byte, 200)))
	second := s.publish(0, string(make([]byte, 200)))
	require.Equal(t, NotDone, s.done[second].Outcome)
	require.Equal(t, BufferFull, s.done[second].Err.Problem)
	c, r := next[*message.Produce](s)
	s.answer(c, produced(r, 1))
	require.Equal(t, OK, s.done[first].Outcome)
	s.publish(0, string(make([]byte, 200)))
	require.Equal(t, 1, has[*message.Produce](s))
}

func TestARecordThatNoBatchHoldsIsRefusedHere(t *testing.T) {
	s := newPlay(t, nil)
	s.image.Topics[0].Config.MaxBatchBytes = 500
	s.publish(0, "a")
	s.metadata()
	op := s.publish(0, string(make([]byte, 600)))
	require.Equal(t, TooLarge, s.done[op].Err.Problem)
	s.publish(0, string(make([]byte, 300)))
	s.publish(0, string(make([]byte, 300)))
	s.producerID(40)
	require.Equal(t, 2, has[*message.Produce](s), "a batch is never larger than the topic takes")
}

func TestATopicThatNobodyKnowsFails(t *testing.T) {
	s := newPlay(t, nil)
	op := s.do(func(op Op) Input { return Publish{Op: op, Topic: "nope", Partition: AnyPartition} })
	far := s.publish(99, "a")
	for range 40 {
		if has[*message.Metadata](s) > 0 {
			s.metadata()
		}
		s.pass(message.Second / 3)
	}
	require.Equal(t, NoSuchTopic, s.done[op].Err.Problem)
	require.Equal(t, NoSuchTopic, s.done[far].Err.Problem)
}

func TestAPartitionThatIsAddedIsFound(t *testing.T) {
	s := warm(t, nil)
	op := s.publish(3, "a")
	s.image.Version++
	s.image.Topics[0].Partitions = append(s.image.Topics[0].Partitions, message.PartitionInfo{Index: 3, Leader: 2, LeaderEpoch: 0})
	s.metadata()
	c, r := next[*message.Produce](s)
	require.Equal(t, message.NodeID(2), c.Node)
	s.answer(c, produced(r, 0))
	require.Equal(t, OK, s.done[op].Outcome)
}

func TestLingerWaitsForMoreAndFlushDoesNot(t *testing.T) {
	s := warm(t, func(c *Config) { c.Linger = 20 * message.Millisecond })
	s.publish(0, "a")
	s.pass(10 * message.Millisecond)
	s.publish(0, "b")
	require.Empty(t, s.calls)
	s.pass(10 * message.Millisecond)
	c, r := next[*message.Produce](s)
	require.Equal(t, []string{"7/0 40.0:1 a b"}, sent(r))

	s.publish(0, "c")
	flush := s.do(func(op Op) Input { return FlushAll{op} })
	cc, rc := next[*message.Produce](s)
	require.Equal(t, []string{"7/0 40.0:3 c"}, sent(rc))
	s.publish(0, "late")
	s.answer(cc, produced(rc, 3))
	require.NotContains(t, s.done, flush)
	s.answer(c, produced(r, 1))
	require.Equal(t, Result{}, s.done[flush], "it does not wait for what came after it")
}

func TestAcksNoneIsDoneWhenItIsSent(t *testing.T) {
	s := warm(t, func(c *Config) { c.Acks = message.AcksLeader })
	require.False(t, s.c.cfg.Idempotent)
	s = newPlay(t, func(c *Config) { c.Acks = message.AcksNone })
	op := s.publish(0, "a")
	s.metadata()
	require.Equal(t, OK, s.done[op].Outcome)
	require.Equal(t, record.Offset(-1), s.done[op].Published.Offset)
	require.Empty(t, s.calls)
}

func TestRecordsWithoutAKeyStickAndGoRound(t *testing.T) {
	s := warm(t, nil)
	var seen []int32
	for range 6 {
		s.step(Inputs{
			Publish{Op: s.op + 1, Topic: "orders", Partition: AnyPartition},
			Publish{Op: s.op + 2, Topic: "orders", Partition: AnyPartition},
		})
		s.op += 2
		_, r := next[*message.Produce](s)
		require.Len(t, r.Partitions, 1, "both stick together")
		seen = append(seen, r.Partitions[0].ID.Index)
	}
	for i := 1; i < len(seen); i++ {
		require.Equal(t, (seen[i-1]+1)%3, seen[i])
	}
}

func TestWhatIsOnItsWayToADeletedTopicEnds(t *testing.T) {
	s := warm(t, nil)
	flying := s.publish(0, "a")
	s.moves(1, message.NoNode, 6)
	s.do(func(op Op) Input {
		return Ask{Op: op, Request: &message.Fetch{}, Target: Target{Kind: LeaderOf, Partition: record.PartitionID{Topic: 99}}}
	})
	s.metadata()
	waiting := s.publish(1, "b")
	s.image.Version++
	s.image.Topics = s.image.Topics[1:]
	s.pass(message.Second)
	s.metadata()
	require.Equal(t, Unknown, s.done[flying].Outcome)
	require.Equal(t, NotDone, s.done[waiting].Outcome)
	require.Equal(t, NoSuchTopic, s.done[waiting].Err.Problem)
}

func TestCloseSendsWhatIsThereAndEnds(t *testing.T) {
	s := warm(t, func(c *Config) { c.Linger = message.Second })
	op := s.publish(0, "a")
	end := s.do(func(op Op) Input { return Close{op} })
	after := s.publish(0, "b")
	require.Equal(t, Closed, s.done[after].Err.Problem)
	require.NotContains(t, s.done, end)
	c, r := next[*message.Produce](s)
	s.answer(c, produced(r, 1))
	require.Equal(t, OK, s.done[op].Outcome)
	require.Equal(t, Result{}, s.done[end])
	require.Equal(t, message.Never, s.c.Wake())
	again := s.do(func(op Op) Input { return Close{op} })
	require.Equal(t, Closed, s.done[again].Err.Problem)
}

// A broker that cannot be reached says nothing about topics.
func TestATopicIsNotTakenForUnknownBecauseNobodyAnswers(t *testing.T) {
	s := newPlay(t, nil)
	lost := s.publish(0, "a")
	s.do(func(op Op) Input {
		return Assign{Op: op, Partitions: []Start{{Place{"audit", 0}, Position{Kind: AtOffset}}}}
	})
	s.pass(2 * s.c.cfg.TopicTimeout)
	require.Equal(t, TimedOut, s.done[lost].Err.Problem, "a record waits no longer")
	require.Empty(t, s.events, "but what is to be read may yet be found")
	for has[*message.Metadata](s) == 0 {
		s.pass(message.Second)
	}
	s.metadata()
	for has[*message.Metadata](s) > 0 {
		s.metadata()
	}
	_, r := next[*message.Fetch](s)
	require.Equal(t, record.PartitionID{Topic: auditID}, r.Partitions[0].ID)
}
