package sim

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// What is made of a message is from before it in one thing, and would count for much.
func TestMessagesOfBeforeAreOfBefore(t *testing.T) {
	fetch := &message.ReplicaFetch{BrokerEpoch: 7, Session: 70, Sequence: 3}
	for turn, want := range []message.ReplicaFetch{
		{BrokerEpoch: 7, Session: 70, Sequence: 3}, {BrokerEpoch: 7, Session: 70, Sequence: 2}, {BrokerEpoch: 7, Session: 69, Sequence: 3},
	} {
		old, _ := ofBefore(fetch, turn)
		require.Equal(t, &want, old)
	}
	first := &message.ReplicaFetch{BrokerEpoch: 7, Session: 70, Partitions: []message.ReplicaFetchPartition{{ID: part}}}
	for _, turn := range []int{0, 1, 5} {
		old, _ := ofBefore(first, turn)
		require.Equal(t, first, old, "nothing comes before the first")
	}
	for _, m := range []*message.ReplicaFetch{first, {BrokerEpoch: 7, Session: 70, Sequence: 3, Partitions: first.Partitions}} {
		old, _ := ofBefore(m, 2)
		require.Equal(t, &message.ReplicaFetch{BrokerEpoch: 7, Session: 69, Partitions: first.Partitions}, old, "but of a session before")
	}
	old, _ := ofBefore(&message.ReplicaFetch{BrokerEpoch: 7, Session: 70}, 1)
	require.Nil(t, old)
	progress := &message.ReplicaProgress{BrokerEpoch: 7, Partitions: []message.ReplicaFlushed{{ID: part, LeaderEpoch: 4, Flushed: 9}}}
	old, _ = ofBefore(progress, 0)
	require.Equal(t, &message.ReplicaProgress{BrokerEpoch: 6, Partitions: []message.ReplicaFlushed{{ID: part, LeaderEpoch: 4, Flushed: 9 + 1<<20}}}, old)
	old, _ = ofBefore(progress, 1)
	require.Equal(t, &message.ReplicaProgress{BrokerEpoch: 7, Partitions: []message.ReplicaFlushed{{ID: part, LeaderEpoch: 3, Flushed: 9 + 1<<20}}}, old)
	require.Equal(t, record.Offset(9), progress.Partitions[0].Flushed)
	old, _ = ofBefore(&message.Quorum{}, 0)
	require.Nil(t, old)
}

// Who gets one may say that it does not take it.
func TestAMessageOfBeforeThatCountsIsRefused(t *testing.T) {
	s := newStage(t)
	n := s.nodes[1]
	n.out.List = []effect.Effect{effect.Send{To: 2, Msg: &message.ReplicaFetchReply{Code: message.FetchSessionNotFound}}}
	require.True(t, n.refuses(2))
	require.False(t, n.refuses(3))
	n.ignores(2, "an earlier fetch")
	s.passed()
	n.ignores(3, "an earlier fetch")
	s.refused("INV-22", "node 1 asks for 1 effects because of an earlier fetch of node 3")
	n.out.List = []effect.Effect{effect.Send{To: 2, Msg: &message.ReplicaFetchReply{}}}
	require.False(t, n.refuses(2))
	n.ignores(2, "an earlier fetch")
	s.refused("INV-22", "node 1 asks for 1 effects because of an earlier fetch of node 2")
	n.out.List = nil
	s.book.touched = []*replicaBook{s.book.replica(1, part)}
	n.ignores(2, "the progress of an earlier run")
	s.refused("INV-22", "node 1 takes something of partition 5/0 from the progress of an earlier run of node 2")
}
