package sim

import (
	"testing"

	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
)

func TestFetchesThatAskForMoreThanThereIsRoomForAreRefused(t *testing.T) {
	s, o := newStage(t), &boundedWork{}
	s.plan.Cluster.Unflushed = 100
	o.Started(s.World, s.nodes[3], nil)
	epoch := message.BrokerEpoch(4)
	asks := func(leader message.NodeID, session uint64, sequence uint32, bytes int32) {
		s.step(o, 3, nil, []effect.Effect{effect.Send{To: leader, Msg: &message.ReplicaFetch{
			BrokerEpoch: epoch, Session: session, Sequence: sequence, MaxBytes: bytes, MaxWait: message.Second,
		}}})
	}
	hears := func(leader message.NodeID, session uint64, sequence uint32, code message.Code) {
		s.step(o, 3, effect.Received{From: leader, Msg: &message.ReplicaFetchReply{Session: session, Sequence: sequence, Code: code}}, nil)
	}
	asks(1, 7, 0, 50)
	asks(1, 7, 1, 25)
	asks(2, 8, 0, 25)
	asks(2, 8, 1, 1) // a batch comes in any case
	s.passed()
	hears(1, 7, 0, message.None)
	asks(1, 7, 2, 50)
	hears(2, 8, 0, message.FetchSessionNotFound) // neither of the two is answered now
	asks(2, 9, 0, 25)
	s.passed()
	hears(2, 8, 1, message.None) // of the session before
	asks(2, 9, 1, 5)
	s.refused("INV-38", "node 3 has 4 fetches with leaders, which ask for 105 bytes together, and may have 100 bytes that are not flushed")
	s.now += Second // they may be given up
	asks(1, 7, 3, 100)
	s.passed()
	asks(2, 10, 0, 99)
	s.refused("INV-38", "2 fetches")
	epoch++ // the node takes no answer to what it asked before
	asks(3, 11, 0, 99)
	s.passed()
	asks(1, 12, 0, 99)
	s.refused("INV-38", "2 fetches")
	o.Started(s.World, s.nodes[3], nil)
	asks(2, 13, 0, 99)
	s.passed()
}
