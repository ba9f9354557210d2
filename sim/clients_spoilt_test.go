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
	require.Same(t, reply, u.spoil(reply), "the plan does not ask for it")
	s.plan.Network.Spoil = 1
	for range 3 {
		for range spoiltInARow {
			got := u.spoil(reply).(*message.FetchReply)
			require.NotEqual(t, reply.Partitions[0].Records, got.Partitions[0].Records)
		}
		require.Same(t, reply, u.spoil(reply))
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
