package message

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core/record"
)

func TestEveryKindMakesAMessageOfThatKind(t *testing.T) {
	require.Nil(t, New(KindInvalid))
	require.Nil(t, New(kindCount))
	for _, k := range Kinds() {
		m := New(k)
		require.Equal(t, k, m.Kind(), k.String())
		_, request := m.(Request)
		_, reply := m.(Reply)
		require.False(t, request && reply, "%s is both a request and a reply", k)
	}
}

func TestEveryCodeHasAName(t *testing.T) {
	seen := map[string]bool{}
	for c := None; c < codeCount; c++ {
		require.NotEmpty(t, c.String(), "code %d", c)
		require.False(t, seen[c.String()], "%s stands twice", c)
		seen[c.String()] = true
	}
	require.Equal(t, "UNKNOWN_CODE", codeCount.String())
}

func TestFailAnswersEveryRequestAndEveryPartitionOfIt(t *testing.T) {
	id := record.PartitionID{Topic: 7, Index: 2}
	require.Equal(t,
		&ProduceReply{Partitions: []ProducedPartition{{ID: id, Code: StorageError, BaseOffset: -1, LogStart: -1, LeaderEpoch: -1}}},
		Fail(&Produce{Partitions: []ProducePartition{{ID: id}}}, StorageError, ""))
	require.Equal(t,
		&CommitOffsetsReply{Code: NotCoordinator, Offsets: []CommittedOffset{{ID: id, Code: NotCoordinator}}},
		Fail(&CommitOffsets{Offsets: []GroupOffset{{ID: id}}}, NotCoordinator, ""))
	for _, k := range Kinds() {
		r, ok := New(k).(Request)
		if !ok {
			continue
		}
		want := New(k + 1) // a request's reply follows it in the list of kinds
		if k == KindMetadata {
			want = &Refused{}
		}
		require.Equal(t, want.Kind(), Fail(r, ShuttingDown, "going down").Kind(), k.String())
	}
}

func TestDetachLeavesTheSendersBytesAlone(t *testing.T) {
	sent := &Produce{Acks: AcksAll, Partitions: []ProducePartition{{Records: []byte("batch")}}}
	got := Detach(sent).(*Produce)
	require.Equal(t, sent, got)
	got.Partitions[0].Records[0] = 'B'
	require.Equal(t, "batch", string(sent.Partitions[0].Records))
	other := &Fetch{MaxBytes: 1}
	require.Same(t, other, Detach(other))
}
