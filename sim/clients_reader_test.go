package sim

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core/client"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
	"github.com/tamarack-mq/tamarack/history"
	"github.com/tamarack-mq/tamarack/models"
)

// Retention may take the rest of a log while it is read for the last time. That the
// account knows it is not enough: the reading waits until its client has been told,
// and what it is told is the start of the log that is judged.
func TestARestThatIsRetiredUnderTheLastReadingIsNoHole(t *testing.T) {
	for _, read := range []bool{true, false} {
		s := newStage(t)
		s.cluster()
		require.NoError(t, s.newest().Apply(s.newest().Version()+1, &message.Change{Partition: &message.PartitionChange{
			ID: part, Replicas: nodeIDs{1}, ISR: nodeIDs{1}, Leader: message.NoNode,
		}}))
		p := s.book.part(part)
		p.shownStart, p.high = 618, 618
		u := s.auditorUser()
		place := client.Place{Topic: "t", Partition: part.Index}
		a := &auditor{open: map[client.Place]int64{place: 0}, at: map[client.Place]record.Offset{place: -1}}
		if read {
			a.open[place], a.at[place] = 547, 547
			s.history.Moment(history.Operation{
				Client: auditorID, Kind: history.Read, TopicID: uint64(part.Topic), Offset: 546,
				Records: []history.Record{{TopicID: uint64(part.Topic), Offset: 546}}, LogStart: 419, HighWatermark: 618,
			})
		}
		a.settle(u)
		require.Equal(t, read, len(a.open) > 0, "what was not begun holds nothing; the rest of what was has to be asked for")
		a.event(u, &client.Event{Kind: client.Repositioned, From: 547, To: 618, Partitions: []client.PlacedID{{Place: place, ID: part}}})
		a.settle(u)
		require.Empty(t, a.open)
		want := models.Log{Topic: "t", TopicID: uint64(part.Topic), Start: 618, End: 618}
		if read {
			want.Records = []history.Record{}
		}
		require.Equal(t, []models.Log{want}, s.finalLogs(nil, false))
	}
}

// What was read before retention took it does not stand in the log at rest.
func TestWhatIsRetiredWhileTheRestIsReadIsNotAtRest(t *testing.T) {
	s := newStage(t)
	s.cluster()
	p := s.book.part(part)
	p.shownStart, p.high = 50, 52
	at := func(offset int64) history.Record { return history.Record{TopicID: uint64(part.Topic), Offset: offset} }
	read := func(start int64, records ...history.Record) {
		s.history.Moment(history.Operation{Client: auditorID, Kind: history.Read, TopicID: uint64(part.Topic),
			Offset: records[0].Offset, Records: records, LogStart: start, HighWatermark: 52})
	}
	read(28, at(28), at(29))
	want := models.Log{Topic: "t", TopicID: uint64(part.Topic), Start: 28, End: 52, Records: []history.Record{at(28), at(29)}}
	require.Equal(t, []models.Log{want}, s.finalLogs(nil, false))
	read(50, at(50), at(51))
	want.Start, want.Records = 50, []history.Record{at(50), at(51)}
	require.Equal(t, []models.Log{want}, s.finalLogs(nil, false))
}

// Without a word of its client a log that was read in part begins where it did: what
// is missing then is judged.
func TestALogThatWasReadInPartKeepsItsStart(t *testing.T) {
	s := newStage(t)
	s.cluster()
	p := s.book.part(part)
	p.shownStart, p.high = 618, 618
	s.history.Moment(history.Operation{
		Client: auditorID, Kind: history.Read, TopicID: uint64(part.Topic), Offset: 546, LogStart: 419, HighWatermark: 618,
	})
	require.Equal(t, []models.Log{{Topic: "t", TopicID: uint64(part.Topic), Start: 419, End: 618}}, s.finalLogs(nil, false))
}

func TestAMisuseThatIsNotRefusedIsNoticed(t *testing.T) {
	s, r := newStage(t), &reader{}
	u := s.clients[0]
	told := func(result client.Result) { r.done(u, &openOp{what: opMisuse}, &result) }
	told(client.Result{Outcome: client.NotDone, Err: &client.Error{Problem: client.Misused}})
	require.True(t, r.misused)
	told(client.Result{Outcome: client.NotDone, Err: &client.Error{Problem: client.TimedOut}})
	require.False(t, r.misused)
	r.misuse(u) // the client of this stage does not run, and says nothing
	s.refused("INV-10", "client 1 asks for a commit for no group, and is not told that it cannot")
	u.misuses("a second reading", &r.misused, u.elsewhere)
	s.refused("INV-10", "client 1 asks for a second reading, and is not told that it cannot")
}
