package models

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/history"
)

// out is the topic into which workers write; they read the other.
const out = 8

// made is a record of a worker's topic.
func made(offset int64, value string) history.Record {
	return history.Record{TopicID: out, Offset: offset, Value: []byte(value)}
}

// begin begins transaction n of client 5; end ends it.
func (s *story) begin(n int64) {
	s.add(history.Operation{Kind: history.Transact, Client: 5, Transaction: n, TransactionalID: "id"})
}

func (s *story) end(n int64, verb string, outcome history.Outcome) {
	s.time += 2
	for i := range s.ops {
		if op := &s.ops[i]; op.Kind == history.Transact && op.Transaction == n {
			op.Verb, op.Outcome = verb, outcome
			if outcome != history.Unknown {
				op.Return = s.time
			}
		}
	}
}

// put publishes a record as a part of transaction n.
func (s *story) put(n int64, value string, offset int64) *history.Operation {
	op := s.publish(value, offset, history.OK)
	op.Client, op.Transaction, op.TopicID = 5, n, out
	return op
}

// work has client 5, a member of group g, be given the records and make one of each.
// The group's position is moved behind the last.
func (s *story) work(n int64, offset int64, records ...history.Record) {
	s.given(5, records...)
	s.begin(n)
	for i, r := range records {
		s.put(n, fmt.Sprintf("w%d.%d<0<%s", n, i, r.Value), offset+int64(i))
	}
	s.move(n, records[len(records)-1].Offset+1)
}

func (s *story) given(client int32, records ...history.Record) {
	s.add(history.Operation{Kind: history.Poll, Client: client, Group: "g", Style: history.ExactlyOnce, Committed: true, Outcome: history.OK, Records: records})
}

func (s *story) move(n, offset int64) *history.Operation {
	op := s.commit(5, "m", 1, offset)
	op.Style, op.Transaction = history.ExactlyOnce, n
	return op
}

// handed is client 5 being handed the partition, or going back in it.
func (s *story) handed(why string) {
	s.add(history.Operation{Kind: history.Assigned, Client: 5, Group: "g", Error: why, Outcome: history.OK,
		Positions: []history.Position{{TopicID: topic, Offset: history.None}}})
}

// stable asks for the group's position and waits for transactions to end.
func (s *story) stable(offset int64) {
	s.fetch(offset)
	s.ops[len(s.ops)-1].Committed = true
}

// rest is what stands in the end: in the topic that workers read, and in theirs.
type rest struct {
	in, out   []history.Record
	committed []history.Record // of out
	start     int64            // of out
	end       int64
}

func (s *story) at(r rest) *Case {
	in := Log{TopicID: topic, End: int64(len(r.in)), Records: r.in}
	of := Log{TopicID: out, Start: r.start, End: r.end, Records: r.out}
	seen := of
	seen.Records = r.committed
	return &Case{Operations: s.ops, Final: []Log{in, of}, Committed: []Log{in, seen}}
}

func (s *story) found(r rest) []Violation { return Judge(s.at(r)) }

// both is a log that everybody finds the same in, with one marker behind.
func both(records ...history.Record) rest {
	return rest{out: records, committed: records, end: int64(len(records)) + 1}
}

// hid is one of which readers of committed records find nothing.
func hid(records ...history.Record) rest {
	r := both(records...)
	r.committed = nil
	return r
}

func TestTransactionsThatKeepTheirWord(t *testing.T) {
	for _, c := range []struct {
		verb    string
		outcome history.Outcome
		visible bool
	}{
		{"commit", history.OK, true},
		{"commit", history.Unknown, true},
		{"commit", history.Unknown, false},
		{"commit", history.Failed, false},
		{"abort", history.Failed, false},
		{"abort", history.Unknown, false},
		{"", history.Unknown, false},
	} {
		var s story
		s.begin(1)
		s.put(1, "a", 0)
		s.put(1, "b", 1)
		s.end(1, c.verb, c.outcome)
		r := hid(made(0, "a"), made(1, "b"))
		if c.visible {
			r = both(r.out...)
		}
		require.Empty(t, s.found(r), "%+v", c)
	}
}

func TestALostTransactionIsSeen(t *testing.T) {
	var s story
	s.begin(1)
	s.put(1, "a", 0)
	s.end(1, "commit", history.OK)
	concern(t, s.found(hid(made(0, "a"))), "8/0@0 x1")
	refuses(t, s.found(hid(made(0, "a"))), "INV-30 lost transaction")
}

func TestHalfATransactionIsSeen(t *testing.T) {
	for _, outcome := range []history.Outcome{history.OK, history.Unknown} {
		var s story
		s.begin(1)
		s.put(1, "a", 0)
		s.put(1, "b", 1)
		s.end(1, "commit", outcome)
		r := both(made(0, "a"), made(1, "b"))
		r.committed = r.committed[:1]
		refuses(t, s.found(r), "INV-30 half a transaction")
	}
}

func TestARecordOfAnAbortedTransactionIsSeen(t *testing.T) {
	story := func() (s story) {
		s.begin(1)
		s.put(1, "a", 0)
		s.end(1, "abort", history.Failed)
		return s
	}
	s := story()
	refuses(t, s.found(both(made(0, "a"))), "INV-30 aborted read")
	s = story()
	s.add(history.Operation{Kind: history.Read, Client: 8, TopicID: out, HighWatermark: 2, Outcome: history.OK, Records: []history.Record{made(0, "a")}})
	require.Empty(t, s.found(hid(made(0, "a"))), "who reads what is not committed sees it")
	s.ops[len(s.ops)-1].Committed = true
	refuses(t, s.found(hid(made(0, "a"))), "INV-30 aborted read")
}

func TestAReaderOfAnOpenTransactionIsSeen(t *testing.T) {
	story := func(late bool) (s story) {
		s.begin(1)
		s.put(1, "a", 0)
		if late {
			s.put(1, "b", 1)
			s.end(1, "commit", history.OK)
		}
		s.given(7, made(0, "a"))
		if !late {
			s.put(1, "b", 1)
			s.end(1, "commit", history.OK)
		}
		return s
	}
	s := story(true)
	require.Empty(t, s.found(both(made(0, "a"), made(1, "b"))))
	s = story(false)
	refuses(t, s.found(both(made(0, "a"), made(1, "b"))), "INV-8 uncommitted read")
}

func TestACommitThatNobodyAskedForIsSeen(t *testing.T) {
	for _, verb := range []string{"", "abort"} {
		var s story
		s.begin(1)
		s.put(1, "a", 0)
		s.end(1, verb, history.Unknown)
		refuses(t, s.found(both(made(0, "a"))), "INV-30 commit that nobody asked for")
	}
}

func TestACommitWithoutAPartIsSeen(t *testing.T) {
	for _, how := range []history.Outcome{history.Failed, history.Unknown} {
		var s story
		s.begin(1)
		s.put(1, "a", 0)
		op := s.put(1, "b", 1)
		op.Outcome, op.TopicID, op.Offset = how, 0, history.None
		s.end(1, "commit", history.OK)
		refuses(t, s.found(both(made(0, "a"))), "INV-30 commit without a part")
	}
}

// One whose outcome is not known and of which something was not stored cannot have
// been committed.
func TestAnUnknownOutcomeIsFoundByWhatIsLeft(t *testing.T) {
	var s story
	s.begin(1)
	s.put(1, "a", 0)
	op := s.put(1, "b", 1)
	op.Outcome, op.TopicID, op.Offset = history.Unknown, 0, history.None
	s.end(1, "commit", history.Unknown)
	require.Empty(t, s.found(hid(made(0, "a"))))
	refuses(t, s.found(both(made(0, "a"))), "INV-30 commit without a part")
}

func TestWhatIsExcusedOfTransactions(t *testing.T) {
	story := func() (s story) {
		s.begin(1)
		s.put(1, "a", 0)
		s.put(1, "b", 1)
		s.end(1, "commit", history.OK)
		return s
	}
	s := story()
	r := both(made(1, "b"))
	r.start, r.end = 1, 3
	require.Empty(t, s.found(r), "retention took the first")

	half := both(made(0, "a"), made(1, "b"))
	half.committed = half.committed[:1]
	c := s.at(half)
	require.NotEmpty(t, Judge(c))
	c.Lossy = map[Place]Loss{{TopicID: out}: {Since: history.Open}}
	require.Empty(t, Judge(c), "markers may be gone")
	c = s.at(half)
	c.Unsettled = map[string]bool{"id": true}
	require.Empty(t, Judge(c), "decisions may be gone")
	c.Final[1].Records[0].Value = []byte("c")
	require.NotContains(t, fmt.Sprint(Judge(c)), "lost write", "an identity may have been given out again")
	c.Unsettled = nil
	require.Contains(t, fmt.Sprint(Judge(c)), "lost write")
	c = s.at(half)
	c.Final, c.Committed = c.Final[:1], c.Committed[:1]
	c.Gone = map[Place]bool{{TopicID: out}: true}
	require.Empty(t, Judge(c), "the topic was deleted")
}

// A transaction that may never end, as its coordinator's log was given up, keeps all
// behind it from readers of committed records; nothing before it.
func TestBehindAnUnsettledTransaction(t *testing.T) {
	for first, want := range [][]string{nil, {"INV-9 kept back", "INV-30 lost transaction"}} {
		var s story
		s.begin(1)
		s.end(1, "commit", history.Unknown)
		s.ops[0].TransactionalID = "gone"
		s.begin(2)
		s.end(2, "commit", history.OK)
		at := int64(3 * first)
		s.put(1, "a", at)
		s.put(2, "b", (at+1)%4)
		x := s.publish("x", (at+2)%4, history.OK)
		x.TopicID = out
		r := rest{out: []history.Record{made(0, "a"), made(1, "b"), made(2, "x")}, end: 4}
		if first > 0 {
			r.out = []history.Record{made(0, "b"), made(1, "x"), made(3, "a")}
		}
		c := s.at(r)
		c.Unsettled = map[string]bool{"gone": true}
		var names []string
		for _, v := range Judge(c) {
			if v.Anomaly == "kept back" || v.Anomaly == "lost transaction" {
				names = append(names, v.Invariant+" "+v.Anomaly)
			}
		}
		slices.Sort(names)
		slices.Sort(want)
		require.Equal(t, want, names)
	}
}

func TestMarkersAreCounted(t *testing.T) {
	story := func() (s story) {
		s.begin(1)
		s.put(1, "a", 0)
		s.end(1, "commit", history.OK)
		s.begin(2)
		s.put(2, "b", 2)
		s.end(2, "commit", history.OK)
		return s
	}
	log := func(end int64, records ...history.Record) rest {
		return rest{out: records, committed: records, end: end}
	}
	s := story()
	require.Empty(t, s.found(log(4, made(0, "a"), made(2, "b"))))
	refuses(t, s.found(log(3, made(0, "a"), made(2, "b"))), "INV-31 no marker")
	refuses(t, s.found(log(5, made(0, "a"), made(2, "b"))), "INV-32 a marker too many")
	c := s.at(log(5, made(0, "a"), made(2, "b")))
	c.Repeated = map[Place]int64{{TopicID: out}: 1}
	require.Empty(t, Judge(c))
	// The second may have begun before the first was marked.
	s = story()
	s.ops[3].Offset = 1
	require.Empty(t, s.found(log(4, made(0, "a"), made(1, "b"))))
	// One of which nothing came to be stored may have a marker, in any partition of
	// the topic.
	s.begin(3)
	op := s.put(3, "c", 0)
	op.Outcome, op.TopicID, op.Offset = history.Unknown, 0, history.None
	s.end(3, "abort", history.Failed)
	require.Empty(t, s.found(log(5, made(0, "a"), made(1, "b"))))
	refuses(t, s.found(log(6, made(0, "a"), made(1, "b"))), "INV-32 a marker too many")
}

// Nobody was ever told the id of a topic in which nothing came to be stored.
func TestAMarkerWhereNothingWasEverStored(t *testing.T) {
	var s story
	s.begin(1)
	op := s.put(1, "a", 0)
	op.Topic, op.Outcome, op.TopicID, op.Offset = "o", history.Unknown, 0, history.None
	s.end(1, "abort", history.Failed)
	c := s.at(rest{end: 1})
	refuses(t, Judge(c), "INV-32 a marker too many")
	c.Final[1].Topic = "o"
	require.Empty(t, Judge(c))
	c.Final[1].End, c.Committed[1].End = 2, 2
	refuses(t, Judge(c), "INV-32 a marker too many")
}

func TestReadersGoOverMarkersAndWhatWasAborted(t *testing.T) {
	story := func() (s story) {
		s.begin(1)
		s.put(1, "a", 0)
		s.end(1, "commit", history.OK)
		s.begin(2)
		s.put(2, "b", 2)
		s.end(2, "abort", history.Failed)
		s.begin(3)
		s.put(3, "c", 4)
		s.end(3, "commit", history.OK)
		return s
	}
	a, b, c := made(0, "a"), made(2, "b"), made(4, "c")
	r := rest{out: []history.Record{a, b, c}, committed: []history.Record{a, c}, end: 6}
	s := story()
	s.poll(7, history.Manual, a, b, c)
	s.read(0, 6, a, b, c)
	s.ops[len(s.ops)-1].TopicID = out
	s.add(history.Operation{Kind: history.Read, Client: 9, TopicID: out, Committed: true, HighWatermark: 6, Outcome: history.OK, Records: []history.Record{a, c}})
	s.given(8, a)
	s.given(8, c)
	require.Empty(t, s.found(r))

	s = story()
	s.poll(7, history.Manual, a, c)
	refuses(t, s.found(r), "INV-9 internal skipped poll")
	s = story()
	s.add(history.Operation{Kind: history.Read, Client: 9, TopicID: out, HighWatermark: 6, Outcome: history.OK, Records: []history.Record{a, c}})
	refuses(t, s.found(r), "INV-9 skipped read")
	s = story()
	s.ops[3].Transaction = 1 // b was in the first transaction, which is committed
	s.given(8, a, c)
	concern(t, s.found(r), "8/0@1", "8/0@0 x1", "8/0@1")
	refuses(t, s.found(r), "INV-9 internal skipped poll", "INV-30 half a transaction", "INV-32 a marker too many")
}

// Without the log at rest, what was acknowledged and never seen is known to be none of
// a marker's, but it may not be for readers of committed records.
func TestWhatNobodySawOfALogThatIsGone(t *testing.T) {
	for _, outcome := range []history.Outcome{history.Failed, history.OK} {
		var s story
		s.begin(1)
		s.put(1, "a", 0)
		s.end(1, "commit", history.OK)
		s.begin(2)
		s.put(2, "b", 2)
		s.end(2, "commit", outcome)
		s.begin(3)
		s.put(3, "c", 4)
		s.end(3, "commit", history.OK)
		s.add(history.Operation{Kind: history.Read, Client: 9, TopicID: out, Committed: true, HighWatermark: 6, Outcome: history.OK,
			Records: []history.Record{made(0, "a"), made(4, "c")}})
		got := Judge(&Case{Operations: s.ops})
		if outcome == history.Failed {
			require.Empty(t, got)
		} else {
			refuses(t, got, "INV-9 skipped read")
		}
	}
}

// Markers of a leader that was given up stood where records stand now.
func TestMarkersThatWereGivenUp(t *testing.T) {
	var s story
	s.publish("x", 0, history.OK)
	op := s.put(1, "y", 1)
	op.TopicID = topic
	s.end(1, "", history.Unknown)
	s.publish("z", 2, history.OK)
	s.read(0, 2, record(0, "x"), record(1, "y"))
	s.read(0, 3, record(0, "x"), record(2, "z"))
	final := []Log{{TopicID: topic, End: 3, Records: []history.Record{record(0, "x"), record(2, "z")}}}
	require.NotEmpty(t, Judge(&Case{Operations: s.ops, Final: final}))
	require.Empty(t, Judge(&Case{Operations: s.ops, Final: final, Lossy: map[Place]Loss{here: {Kept: 1, Since: history.Open}}}))
	refuses(t, Judge(&Case{Operations: s.ops, Final: final, Lossy: map[Place]Loss{here: {Kept: 2, Since: history.Open}}}),
		"INV-1 lost write", "INV-8 uncommitted read", "INV-9 skipped read")
}

// Below what was given up a record may stand whose marker was: it does not count then.
func TestARecordWhoseMarkerWasGivenUp(t *testing.T) {
	var s story
	s.publish("x", 0, history.OK).TopicID = out
	s.begin(1)
	s.put(1, "a", 1)
	s.end(1, "commit", history.OK)
	s.publish("y", 2, history.OK).TopicID = out
	s.add(history.Operation{Kind: history.Read, Client: 9, TopicID: out, Committed: true, HighWatermark: 3, Outcome: history.OK,
		Records: []history.Record{made(0, "x"), made(2, "y")}})
	c := s.at(rest{out: []history.Record{made(0, "x"), made(1, "a"), made(2, "y")}, committed: []history.Record{made(0, "x"), made(2, "y")}, end: 4})
	refuses(t, Judge(c), "INV-9 skipped read", "INV-30 lost transaction")
	c.Lossy = map[Place]Loss{{TopicID: out}: {Kept: 2, Since: history.Open}}
	require.Empty(t, Judge(c))
}

func TestAHoleInALogIsNoMarkerWhereNobodyHasTransactions(t *testing.T) {
	var s story
	s.publish("x", 0, history.OK)
	s.publish("y", 2, history.OK)
	s.begin(1)
	s.put(1, "a", 0)
	s.end(1, "commit", history.OK)
	s.read(0, 3, record(0, "x"), record(2, "y"))
	r := both(made(0, "a"))
	r.in = []history.Record{record(0, "x"), record(2, "y")}
	c := s.at(r)
	c.Final[0].End, c.Committed[0].End = 3, 3
	refuses(t, Judge(c), "INV-9 skipped read", "INV-32 a marker too many")
}

func TestReadersOfCommittedRecordsFindWhatIsInNoTransaction(t *testing.T) {
	var s story
	s.publish("x", 0, history.OK)
	s.publish("y", 1, history.OK)
	r := rest{in: []history.Record{record(0, "x"), record(1, "y")}}
	c := s.at(r)
	require.Empty(t, Judge(c))
	c.Committed[0].Records = r.in[:1]
	refuses(t, Judge(c), "INV-9 kept back")
	c.Committed[0].Records = []history.Record{record(0, "x"), record(1, "y"), record(2, "z")}
	s.publish("z", 0, history.Unknown)
	c.Operations = s.ops
	refuses(t, Judge(c), "INV-8 uncommitted read", "INV-8 uncommitted read")
}

func TestTheOrderOfAProducerHoldsWithinATransaction(t *testing.T) {
	var s story
	s.begin(1)
	s.put(1, "a", 1).Invoke = 1
	s.put(1, "b", 0).Invoke = 1
	s.end(1, "commit", history.OK)
	refuses(t, s.found(both(made(0, "b"), made(1, "a"))), "INV-9 non-monotonic send")
}

// A record that is stored stays, whatever becomes of its transaction.
func TestAStoredRecordOfAnAbortedTransactionStays(t *testing.T) {
	var s story
	s.begin(1)
	s.put(1, "a", 0)
	s.end(1, "abort", history.Failed)
	refuses(t, s.found(rest{end: 1}), "INV-1 lost write")
}

// A member that went to the end and was given nothing there yet goes on over markers,
// and commits where it is.
func TestAMemberThatWentElsewhereGoesOverMarkers(t *testing.T) {
	story := func(to int64) (s story) {
		for n, at := range []int64{0, 2, 4} {
			s.begin(int64(n) + 1)
			s.put(int64(n)+1, string(rune('a'+n)), at)
			s.end(int64(n)+1, "commit", history.OK)
		}
		give := func(r history.Record) {
			s.add(history.Operation{Kind: history.Poll, Client: 6, Group: "m", Style: history.AtLeastOnce, Outcome: history.OK, Records: []history.Record{r}})
		}
		give(made(0, "a"))
		s.add(history.Operation{Kind: history.Assigned, Client: 6, Group: "m", Error: history.BySeek, Outcome: history.OK,
			Positions: []history.Position{{TopicID: out, Offset: history.None}}})
		s.add(history.Operation{Kind: history.Commit, Client: 6, Group: "m", Member: "6", Epoch: 1, Style: history.AtLeastOnce, Outcome: history.OK,
			Positions: []history.Position{{TopicID: out, Offset: to}}})
		s.add(history.Operation{Kind: history.Poll, Client: 7, Group: "m", Style: history.AtLeastOnce, Outcome: history.OK, Records: []history.Record{made(4, "c")}})
		s.add(history.Operation{Kind: history.Commit, Client: 7, Group: "m", Member: "7", Epoch: 2, Style: history.AtLeastOnce, Outcome: history.OK,
			Positions: []history.Position{{TopicID: out, Offset: 5}}})
		return s
	}
	r := rest{out: []history.Record{made(0, "a"), made(2, "b"), made(4, "c")}, committed: []history.Record{made(0, "a"), made(2, "b"), made(4, "c")}, end: 6}
	s := story(4)
	require.Empty(t, s.found(r), "a marker stands before 4")
	s = story(3)
	refuses(t, s.found(r), "INV-26 commit ahead", "INV-9 skipped record")
	s = story(5)
	refuses(t, s.found(r), "INV-26 commit ahead", "INV-9 skipped record")
}

// A member goes over records of a transaction that was aborted, more of them than
// anybody ever read: retention has taken them, or the log was given up.
func TestAMemberGoesOverMuchThatNobodySaw(t *testing.T) {
	story := func(outcome history.Outcome) (s story) {
		s.begin(1)
		s.put(1, "a", 0)
		s.end(1, "commit", history.OK)
		s.begin(2)
		for i := range int64(9) {
			s.put(2, string(rune('b'+i)), 2+i)
		}
		s.end(2, "commit", outcome)
		s.add(history.Operation{Kind: history.Poll, Client: 6, Group: "m", Style: history.AtLeastOnce, Committed: true, Outcome: history.OK, Records: []history.Record{made(0, "a")}})
		s.add(history.Operation{Kind: history.Commit, Client: 6, Group: "m", Member: "6", Epoch: 1, Style: history.AtLeastOnce, Outcome: history.OK,
			Positions: []history.Position{{TopicID: out, Offset: 12}}})
		return s
	}
	s := story(history.Failed)
	require.Empty(t, s.found(rest{start: 12, end: 12}))
	s = story(history.OK)
	refuses(t, s.found(rest{start: 12, end: 12}), "INV-26 commit ahead")
	lost := s.at(rest{out: []history.Record{made(0, "a")}, committed: []history.Record{made(0, "a")}, end: 2})
	lost.Lossy = map[Place]Loss{{TopicID: out}: {Kept: 2, Since: history.Open}}
	require.Empty(t, Judge(lost))
}
