package sim

import (
	"testing"

	"github.com/tamarack-mq/tamarack/core/client"
	"github.com/tamarack-mq/tamarack/core/message"
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

func TestEveryPositionFromTheFirstOnCanBeCommitted(t *testing.T) {
	s := newStage(t)
	asked := &message.CommitOffsets{Offsets: []message.GroupOffset{{ID: part, Offset: 0}, {ID: part, Offset: -1}}}
	answered := func(first, second message.Code) {
		reply := &message.CommitOffsetsReply{Offsets: []message.CommittedOffset{{ID: part, Code: first}, {ID: part, Code: second}}}
		(&chaos{}).committed(s.clients[0], &openOp{ask: client.Ask{Request: asked}}, &client.Result{Reply: reply})
	}
	answered(message.None, message.OffsetOutOfRange)
	answered(message.NotCoordinator, message.NotCoordinator)
	s.passed()
	answered(message.OffsetOutOfRange, message.OffsetOutOfRange)
	s.refused("INV-10", "commits position 0")
}
