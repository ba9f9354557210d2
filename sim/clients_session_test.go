package sim

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core/client"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

func TestASearchByTimeThatPassesOverRecordsIsRefused(t *testing.T) {
	s := newStage(t)
	p := s.book.part(part)
	for i, at := range []record.Timestamp{10, 30, 20, 40} { // each a batch of one record
		h := header(batch(record.Offset(i), 1, "x"))
		h.MaxTimestamp = at
		p.committed = append(p.committed, h)
	}
	p.high = 4
	told := func(asked record.Timestamp, offset record.Offset, of record.Timestamp) {
		c := &openCall{node: 1, asked: &message.ListOffsets{Partitions: []message.ListOffsetsPartition{{ID: part, Timestamp: asked}}}}
		s.clients[0].heard(c, &message.ListOffsetsReply{Partitions: []message.ListedOffset{{ID: part, Offset: offset, Timestamp: of}}})
	}
	told(15, 1, 30)
	told(30, 1, 30)
	told(31, 3, 40)
	told(41, 4, -1)
	told(41, 3, -1) // the end, when it was asked for
	s.passed()
	told(30, 3, 40)
	s.refused("INV-9", "is told offset 3, but the batch [1, 2) has a record of time 30")
	told(5, 4, -1)
	s.refused("INV-9", "is told offset 4, but the batch [0, 1) has a record of time 10")
	told(15, 0, 10)
	s.refused("INV-9", "is told offset 0 of time 10")
	told(50, 5, -1)
	s.refused("INV-8", "is told offset 5, but only 4 is committed")
	told(40, 4, 40)
	s.refused("INV-8", "is told offset 4, but only 4 is committed")

	p.shownStart = 2 // what is below is gone
	told(15, 2, 20)
	s.passed()
	told(15, 3, 40)
	s.refused("INV-9", "is told offset 3, but the batch [2, 3) has a record of time 20")

	var starts []int64 // what the models know of that
	for _, op := range s.history.Operations() {
		starts = append(starts, op.LogStart)
	}
	require.Equal(t, []int64{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 2}, starts)
}

func TestASearchByTimeThatEndsAtWhatIsGoneIsRefused(t *testing.T) {
	s := newStage(t)
	u, p := s.clients[0], s.book.part(part)
	h := record.Header{LastOffsetDelta: 2, Count: 3, MaxTimestamp: 10}
	p.committed, p.high, p.shownStart = append(p.committed, h), 3, 2
	told := func(event uint64, offset record.Offset) {
		c := &openCall{node: 1, event: event, asked: &message.ListOffsets{Partitions: []message.ListOffsetsPartition{{ID: part, Timestamp: 10}}}}
		u.heard(c, &message.ListOffsetsReply{Partitions: []message.ListedOffset{{ID: part, Offset: offset, Timestamp: 10}}})
	}
	told(8, 0) // it knows of no start
	s.stats.Events = 5
	u.heard(&openCall{node: 1}, &message.DeleteRecordsReply{Partitions: []message.DeletedRecords{{ID: part, LogStart: 2}}})
	told(5, 1) // asked before
	told(8, 2)
	s.passed()
	told(8, 1)
	s.refused("INV-9", "is told offset 1, but it was told before that the log starts at 2")
}

func TestBoundsThatNoBrokerHasToldAreRefused(t *testing.T) {
	s := newStage(t)
	u := s.clients[0]
	u.given = map[record.PartitionID]record.Offset{}
	is := func(start, high record.Offset) {
		u.handed([]client.Delivery{{PlacedID: client.PlacedID{ID: part}, Next: high, LogStart: start, HighWatermark: high}})
	}
	c := &openCall{node: 1, asked: &message.Fetch{}}
	u.heard(c, &message.FetchReply{Partitions: []message.FetchedPartition{{ID: part, HighWatermark: 9, LogStart: 3}}})
	u.heard(c, &message.FetchReply{Partitions: []message.FetchedPartition{{ID: part, HighWatermark: 12, LogStart: 5}}})
	is(3, 9) // it was polled before
	is(5, 12)
	s.passed()
	is(6, 12)
	s.refused("INV-35", "starts at 6; brokers have told it no higher start than 5")
	is(5, 13)
	s.refused("INV-35", "is 13; brokers have told it no higher one than 12")
	u.plan.Committed = true // it may have been told the end of what is decided only
	is(5, 13)
	s.passed()
}

// A worker may be sent to where its group stands, which is further on than it was itself
// given records: of what was truncated there it is told, and of nothing else.
func TestWhoGoesBackMayBeToldOfATruncationBeyondWhatItWasGiven(t *testing.T) {
	s := newStage(t)
	u := s.clients[0]
	u.given, u.back = map[record.PartitionID]record.Offset{}, map[record.PartitionID]bool{}
	s.book.part(part).loss = true
	truncated := &client.Event{Kind: client.Truncated, From: 152, Partitions: []client.PlacedID{{ID: part}}}
	is := func(next record.Offset) {
		u.handed([]client.Delivery{{PlacedID: client.PlacedID{ID: part}, Next: next}})
	}
	is(18)
	u.goesBack()
	u.cutBack(truncated)
	s.passed()
	is(18)
	u.goesBack()
	is(20)
	u.cutBack(truncated)
	s.refused("INV-35", "was given partition 5/0 up to 20, and is told that it was truncated from 152 to 0")
}
