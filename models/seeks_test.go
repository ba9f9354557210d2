package models

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/history"
)

// seek is a member that goes elsewhere: to an offset, or (None) to what is looked up.
func (s *story) seek(client int32, offset int64) {
	s.add(history.Operation{Kind: history.Assigned, Client: client, Group: "g", Error: history.BySeek, Outcome: history.OK,
		Positions: []history.Position{{TopicID: topic, Offset: offset}}})
}

// sought is a search by time.
func (s *story) sought(time, offset int64, found ...history.Record) {
	s.add(history.Operation{Kind: history.Sought, Client: 8, TopicID: topic, Timestamp: time, Offset: offset, Outcome: history.OK, Records: found})
}

func published(values ...string) (s story, log []history.Record) {
	for i, v := range values {
		s.publish(v, int64(i), history.OK)
		log = append(log, record(int64(i), v))
	}
	return s, log
}

func TestAMemberMayGoOverRecords(t *testing.T) {
	s, log := published("a", "b", "c", "d")
	s.poll(2, history.AtLeastOnce, log[0])
	s.seek(2, history.None)
	s.poll(2, history.AtLeastOnce, log[2])
	s.commit(2, "m", 1, 3)
	require.Empty(t, s.judged(log...))

	s.poll(2, history.AtLeastOnce, log[3])
	s.commit(2, "m", 1, 4)
	require.Empty(t, s.judged(log...))
}

func TestOneThatWentElsewhereSkipsNoOthers(t *testing.T) {
	s, log := published("a", "b", "c", "d")
	s.poll(2, history.AtLeastOnce, log[0])
	s.seek(2, 1)
	s.poll(2, history.AtLeastOnce, log[2])
	refuses(t, s.judged(log...), "INV-9 external skipped poll")

	s, log = published("a", "b", "c", "d")
	s.poll(2, history.AtLeastOnce, log[0], log[1])
	s.seek(2, 0)
	s.poll(2, history.AtLeastOnce, log[0])
	s.add(history.Operation{Kind: history.Assigned, Client: 2, Group: "g", Outcome: history.OK, // given up, and back
		Positions: []history.Position{{TopicID: topic, Offset: history.None}}})
	s.poll(2, history.AtLeastOnce, log[3])
	s.commit(2, "m", 1, 4)
	refuses(t, s.judged(log...), "INV-9 skipped record")
}

func TestWhoGoesBackIsGivenRecordsOnceMore(t *testing.T) {
	s, log := published("a", "b", "c")
	s.poll(2, history.AtMostOnce, log[0], log[1])
	s.seek(2, 1)
	s.poll(2, history.AtMostOnce, log[1], log[2])
	require.Empty(t, s.judged(log...))

	s.poll(3, history.AtMostOnce, log[1])
	refuses(t, s.judged(log...), "INV-9 repeated record")
}

func TestWhatAMemberCommitsByItselfAfterASeek(t *testing.T) {
	s, log := published("a", "b", "c")
	s.poll(2, history.AtLeastOnce, log...)
	s.commit(2, "m", 1, 3)
	s.seek(2, 0)
	s.poll(2, history.AtLeastOnce, log[0])
	s.fetch(1) // where the poll ended
	require.Empty(t, s.judged(log...))

	s.commit(2, "m", 1, 2)
	s.fetch(1)
	refuses(t, s.judged(log...), "INV-24 lost commit")
}

func TestSearchesByTimeFindTheVeryRecord(t *testing.T) {
	var s story
	var log []history.Record
	for i, time := range []int64{10, 30, 20, 40} {
		r := record(int64(i), string(rune('a'+i)))
		r.Timestamp = time
		log = append(log, r)
		s.publish(string(r.Value), r.Offset, history.OK).Timestamp = time
	}
	s.sought(10, 0, log[0])
	s.sought(11, 1, log[1])
	s.sought(31, 3, log[3])
	s.sought(41, 4)
	require.Empty(t, s.judged(log...))

	late := s
	late.sought(20, 2, log[2])
	refuses(t, late.judged(log...), "INV-9 search passes over a record")

	wrong := s
	wrong.sought(30, 1, history.Record{Offset: 1, Timestamp: 31})
	refuses(t, wrong.judged(log...), "INV-9 search finds another time")
}

// Retention may go on while logs are read for the last time, and behind that. What was
// read counts for a search only as long as it was there.
func TestASearchMayPassOverWhatIsRetiredAndNothingElse(t *testing.T) {
	var s story
	var log []history.Record
	for i, time := range []int64{10, 30, 20, 40} {
		r := record(int64(i), string(rune('a'+i)))
		r.Timestamp = time
		log = append(log, r)
		s.publish(string(r.Value), r.Offset, history.OK).Timestamp = time
	}
	s.read(0, 4, log...)
	judged := func(start, asked, told int64, retired bool) []Violation {
		ops := append([]history.Operation(nil), s.ops...)
		s := story{ops: ops, time: s.time}
		s.sought(asked, told)
		s.ops[len(ops)].LogStart = start
		rest := Log{TopicID: topic, End: 4, Records: log}
		if retired {
			rest.Start, rest.Records = 3, log[3:]
		}
		return Judge(&Case{Operations: s.ops, Final: []Log{rest}})
	}
	require.Empty(t, judged(2, 15, 2, false), "a record that the reading found was retired before the search")
	require.Empty(t, judged(2, 25, 3, true))
	refuses(t, judged(1, 15, 2, false), "INV-9 search passes over a record")
	refuses(t, judged(1, 15, 3, true), "INV-9 search passes over a record") // it is retired, but was not by then
	require.Empty(t, judged(history.None, 15, 3, true), "nobody knows when")
	refuses(t, judged(history.None, 15, 3, false), "INV-9 search passes over a record")
}
