package sim

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core/client"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// TestAPositionThatCannotBeReadMustBeTold: who goes by the name of a group that cannot be
// would wait without end.
func TestAPositionThatCannotBeReadMustBeTold(t *testing.T) {
	s := newStage(t)
	u := s.clients[0]
	s.plan.Timing.ClientRequest = Second
	asked := &message.FetchOffsets{Group: misnamed, IDs: []record.PartitionID{part}}
	no := &message.FetchOffsetsReply{Code: message.InvalidGroupID}
	require.Empty(t, u.cannotRead(&openCall{asked: asked}, no), "it goes by another name by now")
	u.stuck = map[record.PartitionID]bool{}
	require.Empty(t, u.cannotRead(&openCall{asked: &message.FetchOffsets{Group: "g"}}, no))
	require.Empty(t, u.cannotRead(&openCall{asked: asked}, &message.FetchOffsetsReply{Code: message.NotCoordinator}))
	require.Empty(t, u.cannotRead(&openCall{kind: message.KindFetch}, &message.FetchReply{}))
	s.now = Second - 1
	hopeless := u.cannotRead(&openCall{asked: asked}, no)
	require.Equal(t, asked.IDs, hopeless)
	s.now++
	require.Empty(t, u.cannotRead(&openCall{asked: asked}, no), "it does not wait any more")

	u.toldStuck(nil)
	s.passed()
	u.isStuck(&client.Event{Kind: client.Assigned, Partitions: []client.PlacedID{{ID: part}}})
	u.toldStuck(hopeless)
	s.refused("INV-10", "client 1 was answered that the position of its group in partition 5/0 cannot be read")
	u.isStuck(&client.Event{Kind: client.Stuck, Partitions: []client.PlacedID{{ID: part}}})
	u.toldStuck(hopeless)
	s.passed()
}
