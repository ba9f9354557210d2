package sim

import (
	"testing"

	"github.com/tamarack-mq/tamarack/core"
	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// heard shows a request and its answer to the observer, a step each.
func (s *stage) heard(o Observer, node int32, token message.Token, r message.Request, answer message.Reply) {
	s.stats.Steps++
	s.nodes[node].tokens[token] = caller{request: r}
	s.step(o, node, effect.Requested{Token: token, Msg: r}, nil)
	s.stats.Steps++
	s.step(o, node, nil, []effect.Effect{effect.Reply{Token: token, Msg: answer}})
}

func TestACommitUnderAReplacedEpochIsRefusedWhicheverNodeTakesIt(t *testing.T) {
	s, o := newStage(t), &staleInert{}
	beat := &message.GroupHeartbeat{Group: "g", Member: "m"}
	commit := &message.CommitOffsets{Group: "g", Member: "m", MemberEpoch: 4, Offsets: []message.GroupOffset{{ID: part, Offset: 3}}}
	stored := &message.CommitOffsetsReply{Offsets: []message.CommittedOffset{{ID: part}}}
	s.heard(o, 1, 1, beat, &message.GroupHeartbeatReply{Member: "m", MemberEpoch: 4})
	s.heard(o, 2, 1, commit, stored)
	s.passed()
	s.heard(o, 1, 2, beat, &message.GroupHeartbeatReply{Member: "m", MemberEpoch: 5})
	s.heard(o, 2, 2, commit, &message.CommitOffsetsReply{Offsets: []message.CommittedOffset{{ID: part, Code: message.StaleMemberEpoch}}})
	s.passed()
	s.heard(o, 2, 3, commit, stored)
	s.refused("INV-22", `a commit of member "m" of group "g" under epoch 4`)
}

func TestACommitThatCameBeforeTheNewEpochWasToldMayBeTaken(t *testing.T) {
	s, o := newStage(t), &staleInert{}
	beat := &message.GroupHeartbeat{Group: "g", Member: "m"}
	commit := &message.CommitOffsets{Group: "g", Member: "m", MemberEpoch: 4, Offsets: []message.GroupOffset{{ID: part, Offset: 3}}}
	s.nodes[1].tokens[7] = caller{request: commit}
	s.stats.Steps++
	s.step(o, 1, effect.Requested{Token: 7, Msg: commit}, nil)
	s.heard(o, 1, 8, beat, &message.GroupHeartbeatReply{Member: "m", MemberEpoch: 5})
	s.step(o, 1, nil, []effect.Effect{effect.Reply{Token: 7, Msg: &message.CommitOffsetsReply{Offsets: []message.CommittedOffset{{ID: part}}}}})
	s.passed()
}

func TestAReaderOfAnotherLeadershipMustNotBeServed(t *testing.T) {
	s, o := newStage(t), &staleInert{}
	s.leads(s.holds(1, batch(0, 2, "a")), 2, 1)
	served := &message.FetchReply{Partitions: []message.FetchedPartition{{ID: part}}}
	for _, named := range []record.LeaderEpoch{2, record.NoLeaderEpoch} {
		s.heard(o, 1, 1, &message.Fetch{Partitions: []message.FetchPartition{{ID: part, LeaderEpoch: named}}}, served)
		s.passed()
	}
	s.heard(o, 1, 2, &message.Fetch{Partitions: []message.FetchPartition{{ID: part, LeaderEpoch: 1}}}, served)
	s.refused("INV-22", "under leader epoch 2 to a reader that named epoch 1")
}

func TestWhereAnEpochEndsIsToldByTheLeadershipThatIsAsked(t *testing.T) {
	s, o := newStage(t), &staleInert{}
	s.leads(s.holds(1, batch(0, 2, "a")), 2, 1)
	answer := &message.OffsetForLeaderEpochReply{Partitions: []message.EpochAnswer{{ID: part, Epoch: 1, End: 1}}}
	for _, named := range []record.LeaderEpoch{2, record.NoLeaderEpoch} {
		s.heard(o, 1, 1, &message.OffsetForLeaderEpoch{Partitions: []message.EpochQuestion{{ID: part, LeaderEpoch: named, Epoch: 1}}}, answer)
		s.passed()
	}
	later := &message.OffsetForLeaderEpoch{Partitions: []message.EpochQuestion{{ID: part, LeaderEpoch: 3, Epoch: 1}}}
	s.heard(o, 1, 2, later, &message.OffsetForLeaderEpochReply{Partitions: []message.EpochAnswer{{ID: part, Code: message.UnknownLeaderEpoch}}})
	s.passed()
	s.heard(o, 1, 3, later, answer)
	s.refused("INV-22", "leads partition 5/0 in epoch 2, tells a reader that named epoch 3 where epoch 1 ends")
}

func TestARunThatWasReplacedIsNotRegisteredAgain(t *testing.T) {
	s, o := newStage(t), &staleInert{}
	n := s.nodes[1]
	o.registersAt(s.World, n, 4, 2, 50)
	o.registersAt(s.World, n, 4, 3, 70)
	o.registersAt(s.World, n, 4, 2, 50) // told once more
	o.registersAt(s.World, n, 4, 2, 51)
	s.passed()
	o.registersAt(s.World, n, 4, 2, 50)
	s.refused("INV-22", "registers run 50 of node 2, which it has seen replaced by another, of late 51")
	o.registersAt(s.World, n, 5, 2, 50) // the next controller may not know of the other
	for run := range uint64(runsRemembered + 1) {
		o.registersAt(s.World, n, 5, 2, 60+run)
	}
	o.registersAt(s.World, n, 5, 2, 50) // nor does it remember so many
	s.passed()
}

func TestAnAnswerToAnEarlierSessionIsNotTaken(t *testing.T) {
	s, o := newStage(t), &staleInert{}
	n := s.nodes[1]
	o.sessions = []earlierSession{1: {status: core.Status{Registered: true, Epoch: 5, Fenced: true, ControllerHeard: 70}}}
	late, own := &message.BrokerHeartbeatReply{Epoch: 4}, &message.BrokerHeartbeatReply{Epoch: 5}
	o.answered(s.World, n, late, core.Status{Registered: true, Epoch: 5, Fenced: true, ControllerHeard: 70})
	o.answered(s.World, n, own, core.Status{Registered: true, Epoch: 5, ControllerHeard: 90})
	s.passed()
	o.answered(s.World, n, late, core.Status{Registered: true, Epoch: 5, Fenced: true, ControllerHeard: 90})
	s.refused("INV-22", "node 1 takes the answer to a heartbeat under broker epoch 4, although it goes by epoch 5")
	o.answered(s.World, n, late, core.Status{Registered: true, Epoch: 5, ControllerHeard: 70})
	s.refused("INV-22", "node 1 takes the answer")
	o.answered(s.World, n, own, core.Status{Epoch: 5, ControllerHeard: 70}) // it registers anew
	s.refused("INV-22", "node 1 takes the answer")
}

func TestAnAnswerToTheRegistrationOfAnotherRunIsNotTaken(t *testing.T) {
	s, o := newStage(t), &staleInert{}
	n := s.nodes[1]
	n.incarnation = 9
	before := core.Status{Registered: true, Epoch: 5, ControllerHeard: 70}
	o.session(s.World, n).status = before
	own, other := &message.RegisterBrokerReply{Incarnation: 9, Epoch: 6}, &message.RegisterBrokerReply{Incarnation: 8, Epoch: 6}
	o.registered(s.World, n, own, core.Status{Registered: true, Epoch: 6, ControllerHeard: 80})
	o.registered(s.World, n, other, before)
	s.passed()
	o.registered(s.World, n, other, core.Status{Registered: true, Epoch: 6, ControllerHeard: 70})
	s.refused("INV-22", "node 1 takes the answer to the registration of run 8 of it, although it runs as 9: epoch 6")
	o.registered(s.World, n, other, core.Status{Registered: true, Epoch: 5, ControllerHeard: 80})
	s.refused("INV-22", "node 1 takes the answer")
}

func TestProducerIDsForAnOlderQuestionAreNotGivenOut(t *testing.T) {
	s, o := newStage(t), &staleInert{}
	asks := func(number uint64) {
		s.step(o, 1, effect.Tick{}, []effect.Effect{effect.Send{To: 2, Msg: &message.AllocateProducerIDs{Node: 1, Request: number}}})
	}
	gets := func(number uint64, first record.ProducerID) {
		s.step(o, 1, effect.Received{From: 2, Msg: &message.AllocateProducerIDsReply{Request: number, First: first, Count: 10}}, nil)
	}
	gives := func(id record.ProducerID) {
		s.step(o, 1, effect.Tick{}, []effect.Effect{effect.Reply{Token: 1, Msg: &message.InitProducerIDReply{ID: id}}})
	}
	asks(1)
	asks(2)
	gets(2, 20)
	gives(20)
	asks(3)
	gets(2, 20) // that comes twice, and what was taken of it may still be told
	gives(29)
	gives(10) // not a new one
	s.passed()
	gets(1, 10)
	gives(20)
	s.passed()
	gives(19)
	s.refused("INV-22", "node 1 gives a producer the id 19 of a block of 10 from 10 on")
	o.Started(s.World, s.nodes[1], nil)
	gives(19) // which another run had got
	s.passed()
}

func TestARequestIsPassedOnUnderANumberOfItsOwn(t *testing.T) {
	s, o := newStage(t), &staleInert{}
	passes := func(number uint64) {
		s.step(o, 1, effect.Tick{}, []effect.Effect{effect.Send{To: 2, Msg: &message.Forward{Request: number, Body: &message.DeleteTopic{Name: "t"}}}})
	}
	passes(70)
	passes(0) // nobody waits for what a node asks for itself
	passes(0)
	passes(71)
	s.passed()
	passes(71)
	s.refused("INV-22", "node 1 passes DeleteTopic on under number 71, and it has passed something on under number 71 before")
	o.Started(s.World, s.nodes[1], nil)
	passes(5) // which another run counts from
	s.passed()
}
