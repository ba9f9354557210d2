package sim

import (
	"testing"

	"github.com/tamarack-mq/tamarack/core/client"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// TestPositionsAreStoredAsTheyAreNamed: an application that names the epoch of the record
// before its position finds out by that when the record is lost.
func TestPositionsAreStoredAsTheyAreNamed(t *testing.T) {
	s := newStage(t)
	u := s.clients[0]
	place := client.Place{Topic: "t"}
	id := client.PlacedID{Place: place, ID: part}
	sent := message.GroupOffset{ID: part, Offset: 18, LeaderEpoch: 3, Note: "n"}
	named := client.CommitOffset{Place: place, Offset: 18, LeaderEpoch: 3, Note: "n"}
	told := func(outcome client.Outcome, offsets ...client.PartitionOffset) {
		ask := client.AddOffsets{Offsets: []client.CommitOffset{named}}
		u.storesAsNamed(&openOp{ask: ask}, &client.Result{Outcome: outcome, Offsets: offsets})
	}
	right := client.PartitionOffset{PlacedID: id, Offset: 18, LeaderEpoch: 3, Note: "n"}
	u.sendsPositions(&message.CommitTransactionOffsets{Offsets: []message.GroupOffset{sent}})
	u.sendsPositions(&message.Metadata{})
	told(client.OK, right)
	told(client.NotDone)
	u.storesAsNamed(&openOp{ask: client.Commit{}}, &client.Result{}) // all that was polled
	s.passed()

	told(client.OK)
	s.refused("INV-26", "client 1 names 1 positions and is told of 0")
	wrong := right
	wrong.LeaderEpoch = record.NoLeaderEpoch
	told(client.OK, wrong)
	s.refused("INV-26", "client 1 names position 18 of t/0, behind a record of epoch 3, and is told of position 18 of t/0 behind one of epoch -1")
	wrong = right
	wrong.Note = ""
	told(client.OK, wrong)
	s.refused("INV-26", "client 1 names position 18 of t/0")

	sent.LeaderEpoch = 2
	u.sendsPositions(&message.CommitOffsets{Offsets: []message.GroupOffset{sent}})
	wrong = right
	wrong.Code = message.UnknownMemberID
	told(client.OK, wrong)
	s.passed()
	told(client.OK, right)
	s.refused("INV-26", "client 1 is told that position 18 of partition 5/0 is stored, behind a record of epoch 3; what it sent is")
	named.LeaderEpoch = record.NoLeaderEpoch // the client knows it
	right.LeaderEpoch = 2
	told(client.OK, right)
	s.passed()
}
