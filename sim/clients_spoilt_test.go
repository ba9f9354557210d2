package sim

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core/chance"
	"github.com/tamarack-mq/tamarack/core/client"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// Whatever is spoilt, a reader can find that out: a batch does not match its checksum,
// or is none.
func TestWhatIsSpoiltCanBeFoundOut(t *testing.T) {
	sent := append(batch(0, 1, "one"), batch(1, 1, "another")...)
	whole := bytes.Clone(sent)
	random := chance.New(7)
	for range 2000 {
		got := spoiltRecords(sent, random.Below)
		require.Equal(t, whole, sent, "what was sent stays as it is")
		good := 0
		it := record.Batches(got)
		for it.Next() {
			if record.Checksum(it.Bytes) == it.Header.CRC {
				require.True(t, bytes.HasPrefix(whole[good:], it.Bytes))
				good += len(it.Bytes)
				continue
			}
			break
		}
		require.Less(t, good, len(whole))
	}
}

func TestRecordsAreSpoiltOnlySoOftenInARow(t *testing.T) {
	s := newStage(t)
	u := s.clients[0]
	reply := &message.FetchReply{Partitions: []message.FetchedPartition{{ID: part, Records: batch(0, 1, "one")}}}
	require.Same(t, reply, u.spoil(1, reply), "the plan does not ask for it")
	s.plan.Network.Spoil = 1
	for range 3 {
		for range spoiltInARow {
			got := u.spoil(1, reply).(*message.FetchReply)
			require.NotEqual(t, reply.Partitions[0].Records, got.Partitions[0].Records)
		}
		require.Same(t, reply, u.spoil(1, reply))
	}
}

func TestWhoGivesUpWhatCanBeReadIsRefused(t *testing.T) {
	s := newStage(t)
	u := s.clients[0]
	u.givesUp(&client.Event{Kind: client.Stuck, Err: &client.Error{Code: message.UnknownTopicID}})
	u.givesUp(&client.Event{Kind: client.Assigned})
	s.passed()
	u.givesUp(&client.Event{Kind: client.Stuck, Err: &client.Error{Code: message.CorruptMessage, Detail: "a batch is damaged"}})
	s.refused("INV-9", "although that was spoilt no more than 3 times in a row: a batch is damaged")
}

// TestWhoAsksAtOnceForWhatItCannotReadIsRefused: a broker that sends what nobody can read
// would be asked for it without end.
func TestWhoAsksAtOnceForWhatItCannotReadIsRefused(t *testing.T) {
	s := newStage(t)
	u := s.clients[0]
	s.plan.Network.Spoil = 2
	u.fetched, u.resting = map[record.PartitionID]lastFetch{}, map[record.PartitionID]unread{}
	good := append(batch(7, 1, "one"), batch(8, 1, "another")...)
	fetch := func(call uint64, from record.Offset) {
		u.rests(call, &message.Fetch{Partitions: []message.FetchPartition{{ID: part, Offset: from}}})
	}
	fetch(1, 7)
	u.mustRest(1, part, append(batch(7, 1, "one"), belowAllOffsets(batch(8, 1, "another"))...))
	fetch(2, 7) // it goes on behind the first, and need not
	u.mustRest(1, part, belowAllOffsets(good))
	fetch(3, 7) // an older answer
	u.mustRest(3, part, belowAllOffsets(good))
	fetch(4, 8) // from elsewhere
	u.mustRest(4, part, belowAllOffsets(good))
	u.turns()
	fetch(5, 8)
	u.mustRest(5, part, belowAllOffsets(good))
	s.now += leastRest
	fetch(6, 8)
	s.passed()
	for _, got := range [][]byte{belowAllOffsets(good), good[:70]} {
		fetch(7, 8)
		u.mustRest(7, part, got)
		s.now += leastRest - 1
		fetch(8, 8)
		s.refused("INV-38", "client 1 asks for partition 5/0 from 8 on 39.999999ms after it was sent what it cannot read of that")
	}
	u.plan.Role = Chaos
	u.mustRest(8, part, belowAllOffsets(good))
	fetch(9, 8)
	s.passed()
}
