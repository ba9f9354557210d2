package group

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core/ledger"
	"github.com/tamarack-mq/tamarack/core/record"
)

func TestObserversReadTheHistoryOfPositions(t *testing.T) {
	id := record.PartitionID{Topic: 5, Index: 2}
	by := turn{"m", 4, 9}
	var told []Record
	for _, batch := range ledger.Encode([]change{
		{key{kind: kindGroup, group: "g"}, groupValue{epoch: 1}},
		{pendingKey("g", 7, id), pendingValue{3, offsetValue{offset: 40, by: by}}},
		{key{kind: kindProducer, producer: 7}, producerValue{4, 2, 1000}},
		{key{kind: kindOffset, group: "g", id: id}, offsetValue{offset: 40, by: by}},
		{pendingKey("g", 7, id), nil},
	}, 1000, 1<<20) {
		require.NoError(t, EachRecord(batch, func(_ record.Offset, r Record) { told = append(told, r) }))
	}
	require.Equal(t, []Record{
		{Kind: Another, Group: "g"},
		{Kind: Pends, Group: "g", Partition: id, Offset: 40, ID: 7, Epoch: 3, Member: "m", MemberEpoch: 4, Number: 9},
		{Kind: Fences, ID: 7, Epoch: 4, Coordinator: 2},
		{Kind: Stored, Group: "g", Partition: id, Offset: 40, Member: "m", MemberEpoch: 4, Number: 9},
		{Kind: Pends, Gone: true, Group: "g", Partition: id, ID: 7},
	}, told)
}
