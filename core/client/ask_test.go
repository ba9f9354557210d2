package client

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

func (s *play) ask(r message.Request, to Target) Op {
	return s.do(func(op Op) Input { return Ask{Op: op, Request: r, Target: to} })
}

// known is a play whose client knows the brokers and topic orders.
func known(t *testing.T) *play {
	s := newPlay(t, func(c *Config) { c.Idempotent = false })
	s.publish(0, "a")
	s.metadata()
	s.calls = nil
	s.pass(message.Second)
	return s
}

func TestAskingEachKindOfTarget(t *testing.T) {
	s := known(t)
	s.ask(&message.CreateTopic{Name: "x"}, Target{Kind: Controller})
	s.ask(&message.DeleteRecords{}, Target{Kind: LeaderOf, Place: Place{"orders", 1}})
	s.ask(&message.ListOffsets{}, Target{Kind: LeaderOf, Partition: orders2})
	s.ask(&message.ListGroups{}, Target{Kind: TheNode, Node: 2})
	require.Equal(t, []string{"CreateTopic to 1", "DeleteRecords to 2", "ListOffsets to 3", "ListGroups to 2"}, s.kinds())
	s.calls = nil
	op := s.ask(&message.DescribeGroup{Group: "g"}, Target{Kind: Coordinator, Group: "g"})
	s.coordinator(3)
	c, _ := next[*message.DescribeGroup](s)
	require.Equal(t, message.NodeID(3), c.Node)
	s.answer(c, &message.DescribeGroupReply{Group: "g"})
	require.Equal(t, Result{Reply: &message.DescribeGroupReply{Group: "g"}}, s.done[op])
}

func TestAskingEveryBroker(t *testing.T) {
	s := newPlay(t, nil)
	op := s.ask(&message.ListGroups{}, Target{Kind: EveryBroker})
	s.metadata()
	require.Equal(t, []string{"ListGroups to 1", "ListGroups to 2", "ListGroups to 3"}, s.kinds())
	for range 3 {
		c, _ := next[*message.ListGroups](s)
		s.answer(c, &message.ListGroupsReply{Groups: []message.GroupListing{{Members: int32(c.Node)}}})
	}
	require.Equal(t, OK, s.done[op].Outcome)
	for i, r := range s.done[op].Replies {
		require.Equal(t, message.NodeID(i+1), r.Node)
		require.Equal(t, int32(i+1), r.Reply.(*message.ListGroupsReply).Groups[0].Members)
	}
}

func TestAnAskIsRetriedUntilItIsAnsweredForGood(t *testing.T) {
	s := known(t)
	op := s.ask(&message.CreateTopic{Name: "x"}, Target{Kind: Controller})
	c, _ := next[*message.CreateTopic](s)
	s.answer(c, &message.CreateTopicReply{Code: message.BrokerNotAvailable})
	s.pass(message.Second)
	c, _ = next[*message.CreateTopic](s)
	s.answer(c, &message.CreateTopicReply{Code: message.InvalidPartitions, Detail: "0 partitions"})
	require.Equal(t, NotDone, s.done[op].Outcome)
	require.Equal(t, &Error{Problem: Refused, Code: message.InvalidPartitions, Detail: "CreateTopic: 0 partitions"}, s.done[op].Err)
}

// The controller has confirmed what it says of topics. Who produces waits for a topic
// that a broker has not heard of; whoever deletes one need not.
func TestTheControllersWordThatThereIsNoTopicIsFinal(t *testing.T) {
	unknown, none := message.UnknownTopicOrPartition, `topic "x" does not exist`
	for _, ask := range []struct {
		request message.Request
		reply   message.Reply
		detail  string
	}{
		{&message.DeleteTopic{Name: "x"}, &message.DeleteTopicReply{Code: unknown, Detail: none}, "DeleteTopic: " + none},
		{&message.AddPartitions{Name: "x"}, &message.AddPartitionsReply{Code: unknown, Detail: none}, "AddPartitions: " + none},
		{&message.AlterConfig{Topic: "x"}, &message.AlterConfigReply{Code: unknown, Detail: none}, "AlterConfig: " + none},
		{&message.AlterReassignments{}, &message.AlterReassignmentsReply{Partitions: []message.AlteredReassignment{{Code: unknown}}},
			"AlterReassignments: the broker refused"},
		{&message.ElectLeaders{}, &message.ElectLeadersReply{Partitions: []message.ElectedLeader{{Code: unknown}}}, "ElectLeaders: the broker refused"},
	} {
		for _, to := range []Target{{Kind: Controller}, {}} {
			s := known(t)
			op := s.ask(ask.request, to)
			require.Len(t, s.calls, 1)
			s.answer(s.calls[0], ask.reply)
			require.Equal(t, Result{Outcome: NotDone, Reply: ask.reply, Err: &Error{Problem: Refused, Code: unknown, Detail: ask.detail}}, s.done[op])
		}
	}
}

func TestATopicThatWasDeletedPerhapsByThisVeryAskIsUnknown(t *testing.T) {
	s := known(t)
	op := s.ask(&message.DeleteTopic{Name: "x"}, Target{Kind: Controller})
	c, _ := next[*message.DeleteTopic](s)
	s.break_(c)
	s.pass(message.Second)
	c, _ = next[*message.DeleteTopic](s)
	s.answer(c, &message.DeleteTopicReply{Code: message.UnknownTopicOrPartition})
	require.Equal(t, Unknown, s.done[op].Outcome)
	require.ErrorIs(t, s.done[op].Err, message.UnknownTopicOrPartition)
}

// A broker may not have heard of a topic that was just made.
func TestSettingsOfATopicAreAskedForAsLongAsAProducerWaits(t *testing.T) {
	s := known(t)
	op := s.ask(&message.DescribeConfig{Topic: "x"}, Target{})
	from := s.now.Mono
	for s.done[op].Err == nil {
		c, _ := next[*message.DescribeConfig](s)
		s.answer(c, &message.DescribeConfigReply{Code: message.UnknownTopicOrPartition, Detail: "this node knows none"})
		if s.done[op].Err == nil {
			s.pass(message.Second)
		}
	}
	require.Equal(t, &Error{Problem: Refused, Code: message.UnknownTopicOrPartition, Detail: "DescribeConfig: this node knows none"}, s.done[op].Err)
	require.Equal(t, 10*message.Second, s.now.Mono.Sub(from))
}

func TestAnAskWhoseFirstAttemptMayHaveWorkedIsUnknown(t *testing.T) {
	s := known(t)
	op := s.ask(&message.CreateTopic{Name: "x"}, Target{})
	c, _ := next[*message.CreateTopic](s)
	s.break_(c)
	s.pass(message.Second)
	c, _ = next[*message.CreateTopic](s)
	s.answer(c, &message.CreateTopicReply{Code: message.TopicAlreadyExists})
	require.Equal(t, Unknown, s.done[op].Outcome, "it may be this client's own")
	require.ErrorIs(t, s.done[op].Err, message.TopicAlreadyExists)

	op = s.ask(&message.DescribeGroup{}, Target{})
	c, _ = next[*message.DescribeGroup](s)
	s.break_(c)
	s.pass(message.Minute)
	require.Equal(t, NotDone, s.done[op].Outcome, "a question changes nothing")
	require.Equal(t, TimedOut, s.done[op].Err.Problem)
}

func TestAskingOnce(t *testing.T) {
	s := known(t)
	op := s.do(func(op Op) Input { return Ask{Op: op, Request: &message.DeleteTopic{Name: "x"}, Once: true} })
	c, _ := next[*message.DeleteTopic](s)
	s.step(Failed{c.Call, Unsent})
	require.Equal(t, NotDone, s.done[op].Outcome)
	op = s.do(func(op Op) Input { return Ask{Op: op, Request: &message.DeleteTopic{Name: "x"}, Once: true} })
	c, _ = next[*message.DeleteTopic](s)
	s.break_(c)
	require.Equal(t, Unknown, s.done[op].Outcome)
	op = s.ask(&message.Produce{Partitions: []message.ProducePartition{{ID: record.PartitionID{}}}, Acks: message.AcksLeader}, Target{Kind: TheNode, Node: 3})
	c, r := next[*message.Produce](s)
	s.answer(c, refusal(r, message.NotLeaderOrFollower))
	require.Equal(t, Unknown, s.done[op].Outcome, "raw records are not sent twice")
	op = s.do(func(op Op) Input {
		return Ask{Op: op, Request: &message.ListGroups{}, Target: Target{Kind: TheNode, Node: 77}, Once: true}
	})
	require.ErrorIs(t, s.done[op].Err, message.BrokerNotAvailable)
}

func TestEveryBootstrapAddressIsTried(t *testing.T) {
	s := newPlay(t, func(c *Config) { c.Bootstrap = []string{"a:1", "b:1"} })
	s.publish(0, "a")
	seen := map[string]bool{}
	for range 10 {
		c, _ := next[*message.Metadata](s)
		seen[c.Address] = true
		s.step(Failed{c.Call, Unsent})
		s.pass(2 * message.Second)
	}
	require.Equal(t, map[string]bool{"a:1": true, "b:1": true}, seen)
}

// Chance chooses the first address. From there it goes round: an address that does not
// answer is not tried again before the others.
func TestAnAddressThatDoesNotAnswerWaitsForTheOthers(t *testing.T) {
	s := newPlay(t, func(c *Config) { c.Bootstrap = []string{"a:1", "b:1", "c:1", "d:1", "e:1"} })
	s.publish(0, "a")
	for range 3 {
		seen := map[string]bool{}
		for range 5 {
			c, _ := next[*message.Metadata](s)
			seen[c.Address] = true
			s.step(Failed{c.Call, Unsent})
			s.pass(2 * message.Second)
		}
		require.Len(t, seen, 5)
	}
}

// A broker that is cut off from the controller answers, but what it tells is
// old and stays old.
func TestNoBrokerIsAskedForEver(t *testing.T) {
	s := known(t)
	s.publish(3, "needs a partition that is not there")
	asked := map[message.NodeID]bool{}
	for range 10 {
		c, _ := next[*message.Metadata](s)
		asked[c.Node] = true
		s.calls = append([]Call{c}, s.calls...)
		s.metadata()
		s.pass(message.Second)
	}
	require.Equal(t, map[message.NodeID]bool{1: true, 2: true, 3: true}, asked)
}

// The deposed leader cannot say so: it only fails to replicate.
func TestALeaderThatIsCutOffIsLeft(t *testing.T) {
	s := warm(t, nil)
	s.publish(0, "a")
	c, r := next[*message.Produce](s)
	s.moves(0, 2, 6)
	s.answer(c, refusal(r, message.RequestTimedOut))
	s.metadata()
	s.pass(message.Second)
	c, _ = next[*message.Produce](s)
	require.Equal(t, message.NodeID(2), c.Node)
}

func TestAnotherClusterIsNotFollowed(t *testing.T) {
	s := known(t)
	s.publish(3, "needs metadata")
	c, _ := next[*message.Metadata](s)
	s.answer(c, &message.MetadataReply{ClusterID: "other", Version: 99, Brokers: []message.BrokerInfo{{ID: 1, Address: "evil:1"}}})
	require.Equal(t, "node1:1", s.c.nodes[1].address)
	require.Equal(t, message.Version(10), s.c.cluster.version)
}

// Who asks for several moves is told why the one was refused whose code it gets, and
// not what is said about another.
func TestWhatIsSaidOfAMoveIsSaidOfTheOneThatWasRefused(t *testing.T) {
	code, why := reassigned(&message.AlterReassignmentsReply{Partitions: []message.AlteredReassignment{
		{Detail: "fine"}, {Code: message.InvalidReplicaAssignment, Detail: "no such broker"},
	}})
	require.Equal(t, []any{message.InvalidReplicaAssignment, "no such broker"}, []any{code, why})
	code, why = reassigned(&message.AlterReassignmentsReply{Detail: "all of them are fine", Partitions: []message.AlteredReassignment{{Detail: "one"}}})
	require.Equal(t, []any{message.None, "all of them are fine"}, []any{code, why})
}
