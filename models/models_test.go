package models

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/history"
)

const topic = 7

var here = Place{TopicID: topic}

func record(offset int64, value string) history.Record {
	return history.Record{TopicID: topic, Offset: offset, Value: []byte(value)}
}

// story builds a history one operation after another, each a tick long.
type story struct {
	ops  []history.Operation
	time int64
}

func (s *story) add(op history.Operation) *history.Operation {
	op.ID = int64(len(s.ops))
	if op.Invoke == 0 {
		s.time += 2
		op.Invoke, op.Return = s.time, s.time+1
	}
	if op.Outcome == history.Unknown {
		op.Return = history.Open
	}
	s.ops = append(s.ops, op)
	return &s.ops[len(s.ops)-1]
}

func (s *story) publish(value string, offset int64, outcome history.Outcome) *history.Operation {
	op := history.Operation{Kind: history.Publish, Client: 1, TopicID: topic, Value: []byte(value),
		Acks: -1, Idempotent: true, Offset: offset, Outcome: outcome, Sequence: int64(len(s.ops))}
	if outcome != history.OK {
		op.TopicID, op.Offset = 0, history.None
	}
	return s.add(op)
}

func (s *story) poll(client int32, style history.Style, records ...history.Record) {
	s.add(history.Operation{Kind: history.Poll, Client: client, Group: "g", Style: style, Outcome: history.OK, Records: records})
}

func (s *story) commit(client int32, member string, epoch, offset int64) *history.Operation {
	return s.add(history.Operation{Kind: history.Commit, Client: client, Group: "g", Member: member, Epoch: epoch,
		Outcome: history.OK, Positions: []history.Position{{TopicID: topic, Offset: offset}}})
}

func (s *story) fetch(offset int64) {
	s.add(history.Operation{Kind: history.FetchCommitted, Client: 9, Group: "g", Outcome: history.OK,
		Positions: []history.Position{{TopicID: topic, Offset: offset}}})
}

func (s *story) read(from, highWatermark int64, records ...history.Record) {
	s.add(history.Operation{Kind: history.Read, Client: 8, TopicID: topic, Offset: from, HighWatermark: highWatermark,
		LogStart: 0, Outcome: history.OK, Records: records})
}

// judged is a history with the log at rest.
func (s *story) judged(final ...history.Record) []Violation {
	return Judge(&Case{
		Operations: s.ops,
		Final:      []Log{{TopicID: topic, End: int64(len(final)), Records: final}},
	})
}

// refuses says that the judges find exactly these anomalies, and know what each is about.
func refuses(t *testing.T, got []Violation, want ...string) {
	t.Helper()
	var names []string
	for _, v := range got {
		names = append(names, v.Invariant+" "+v.Anomaly)
		require.True(t, v.About.Place.TopicID != 0 || v.About.Transaction != nil, "%v is about nothing", v)
	}
	require.Equal(t, want, names, "%v", got)
}

// concern says what findings are about: a record or a partition, a group, a member, and a
// transaction of a client.
func concern(t *testing.T, got []Violation, want ...string) {
	t.Helper()
	var list []string
	for _, v := range got {
		a := v.About
		what := a.Place.String()
		if a.Offset != history.None {
			what += fmt.Sprintf("@%d", a.Offset)
		}
		for _, name := range []string{a.Group, a.Member} {
			if name != "" {
				what += " " + name
			}
		}
		if a.Transaction != nil {
			what += fmt.Sprintf(" x%d", a.Transaction.Transaction)
		}
		list = append(list, what)
	}
	require.Equal(t, want, list, "%v", got)
}

func TestAGoodHistoryIsAcquitted(t *testing.T) {
	var s story
	s.publish("a", 0, history.OK)
	s.publish("b", 0, history.Unknown) // it stands there all the same
	s.publish("c", 2, history.OK)
	s.publish("d", 0, history.Failed)
	s.publish("e", 0, history.Unknown) // and this one does not
	s.read(0, 3, record(0, "a"), record(1, "b"), record(2, "c"))
	s.poll(2, history.AtLeastOnce, record(0, "a"), record(1, "b"))
	s.commit(2, "m", 1, 2)
	s.fetch(2)
	s.poll(3, history.AtLeastOnce, record(2, "c"))
	s.commit(3, "n", 2, 3)
	require.Empty(t, s.judged(record(0, "a"), record(1, "b"), record(2, "c")))
}

func TestALostWriteIsSeen(t *testing.T) {
	var s story
	s.publish("a", 0, history.OK)
	refuses(t, s.judged(), "INV-1 lost write")
}

func TestAWriteReplacedByAnotherIsSeen(t *testing.T) {
	var s story
	s.publish("a", 0, history.OK)
	s.publish("b", 0, history.Unknown)
	refuses(t, s.judged(record(0, "b")), "INV-1 lost write")
}

func TestRetentionMayRemoveWhatWasAcknowledged(t *testing.T) {
	var s story
	s.publish("a", 0, history.OK)
	require.Empty(t, Judge(&Case{Operations: s.ops, Final: []Log{{TopicID: topic, Start: 1, End: 1}}}))
}

func TestAlteredRecordsAreSeen(t *testing.T) {
	for _, change := range []func(*history.Record){
		func(r *history.Record) { r.Key = []byte{} },
		func(r *history.Record) { r.Timestamp = 5 },
		func(r *history.Record) { r.Headers = []history.Header{{Key: "h"}} },
	} {
		var s story
		s.publish("a", 0, history.OK).Timestamp = 4
		r := record(0, "a")
		r.Timestamp = 4
		change(&r)
		refuses(t, s.judged(r), "INV-36 altered record")
	}
}

func TestTwoRecordsAtOneOffsetAreSeen(t *testing.T) {
	var s story
	s.publish("a", 0, history.Unknown)
	s.publish("b", 0, history.OK)
	s.read(0, 1, record(0, "a"))
	refuses(t, s.judged(record(0, "b")), "INV-3 inconsistent offset")
}

func TestAReadOfWhatIsNeverCommittedIsSeen(t *testing.T) {
	var s story
	s.publish("a", 0, history.Unknown)
	s.read(0, 1, record(0, "a"))
	refuses(t, s.judged(), "INV-8 uncommitted read")
}

func TestADuplicateIsSeen(t *testing.T) {
	var s story
	s.publish("a", 0, history.OK)
	got := s.judged(record(0, "a"), record(1, "a"))
	refuses(t, got, "INV-27 duplicate")
	require.Equal(t, About{Place: Place{TopicID: topic}, Offset: 1, Again: []int64{0}}, got[0].About)
}

func TestADuplicateWithoutIdempotenceIsNoFault(t *testing.T) {
	var s story
	s.publish("a", 1, history.OK).Idempotent = false
	require.Empty(t, s.judged(record(0, "a"), record(1, "a")))
}

func TestAFailedPublishThatStandsThereIsSeen(t *testing.T) {
	var s story
	s.publish("a", 0, history.Failed)
	refuses(t, s.judged(record(0, "a")), "INV-10 aborted read")
}

func TestARecordThatNobodySentIsSeen(t *testing.T) {
	var s story
	refuses(t, s.judged(record(0, "ghost")), "INV-10 phantom")
}

func TestTheSameOffsetForTwoIsSeen(t *testing.T) {
	var s story
	s.publish("a", 0, history.OK)
	b := s.publish("b", 0, history.OK)
	b.Invoke = 1 // sent before the answer to the other
	got := s.judged(record(0, "a"))
	require.Contains(t, got, Violation{"INV-3", "inconsistent offset", `"a" and "b" were both acknowledged at 7/0@0`, []int64{0, 1}, ofRecord(Place{TopicID: topic}, 0)})
}

func TestAProducersOrderIsHeld(t *testing.T) {
	var s story
	s.publish("a", 0, history.Unknown)
	s.publish("b", 0, history.Unknown)
	refuses(t, s.judged(record(0, "b"), record(1, "a")), "INV-9 non-monotonic send")
}

func TestOrderWithoutIdempotenceIsHeldWhereTheFirstCopyIsSurelyThere(t *testing.T) {
	for _, c := range []struct {
		acks  int8
		start int64
		want  int
	}{{-1, 0, 1}, {-1, 5, 0}, {1, 0, 0}} {
		var s story
		s.publish("a", 1, history.OK)
		s.publish("b", 0, history.Unknown)
		for i := range s.ops {
			s.ops[i].Idempotent, s.ops[i].Acks, s.ops[i].Invoke = false, c.acks, 1 // handed over at once
		}
		got := Judge(&Case{Operations: s.ops, Final: []Log{{TopicID: topic, Start: c.start, End: c.start + 2,
			Records: []history.Record{record(c.start, "b"), record(c.start+1, "a")}}}})
		require.Len(t, got, c.want, "%+v: %v", c, got)
	}
}

// A client that has given a record up goes on. Without idempotence nothing keeps
// bytes that were on their way from arriving then, behind the records sent next.
func TestARecordThatWasGivenUpWithoutIdempotenceMayComeLate(t *testing.T) {
	for _, c := range []struct {
		stand string
		want  []string
	}{
		{"acb", nil}, // b came late
		{"cab", []string{"INV-9 non-monotonic send"}}, // a was answered before c was sent
		{"bac", []string{"INV-9 non-monotonic send"}}, // and before b was
	} {
		var s story
		s.publish("a", int64(strings.IndexByte(c.stand, 'a')), history.OK)
		s.publish("b", 0, history.Unknown)
		s.publish("c", 0, history.Unknown)
		var final []history.Record
		for i := range s.ops {
			s.ops[i].Idempotent, s.ops[i].Invoke = false, 1
			final = append(final, record(int64(i), c.stand[i:i+1]))
		}
		refuses(t, s.judged(final...), c.want...)
	}
}

func TestRealTimeOrderIsHeld(t *testing.T) {
	var s story
	s.publish("a", 1, history.OK)
	s.publish("b", 0, history.OK).Client = 2
	refuses(t, s.judged(record(0, "b"), record(1, "a")), "INV-3 inconsistent offset", "INV-3 not linearizable")
}

func TestASkippedAndARepeatedPollAreSeen(t *testing.T) {
	var s story
	for i, v := range []string{"a", "b", "c"} {
		s.publish(v, int64(i), history.OK)
	}
	s.poll(2, history.Manual, record(0, "a"), record(2, "c"))
	s.poll(2, history.Manual, record(1, "b"))
	concern(t, s.judged(record(0, "a"), record(1, "b"), record(2, "c")), "7/0@1", "7/0@3")
	refuses(t, s.judged(record(0, "a"), record(1, "b"), record(2, "c")), "INV-9 internal skipped poll", "INV-9 external non-monotonic poll")
}

func TestAfterAnAssignmentAnyOffsetMayCome(t *testing.T) {
	var s story
	s.publish("a", 0, history.OK)
	s.poll(2, history.Manual, record(0, "a"))
	s.add(history.Operation{Kind: history.Assigned, Client: 2, Group: "g", Outcome: history.OK,
		Positions: []history.Position{{TopicID: topic, Offset: history.None}}})
	s.poll(2, history.Manual, record(0, "a"))
	require.Empty(t, s.judged(record(0, "a")))
}

func TestAtLeastOnceSkipsNothing(t *testing.T) {
	var s story
	for i, v := range []string{"a", "b", "c"} {
		s.publish(v, int64(i), history.OK)
	}
	s.poll(2, history.AtLeastOnce, record(0, "a"))
	s.poll(3, history.AtLeastOnce, record(2, "c"))
	s.commit(3, "n", 1, 3)
	concern(t, s.judged(record(0, "a"), record(1, "b"), record(2, "c")), "7/0@1 g")
	refuses(t, s.judged(record(0, "a"), record(1, "b"), record(2, "c")), "INV-9 skipped record")
}

func TestAtMostOnceRepeatsNothing(t *testing.T) {
	var s story
	s.publish("a", 0, history.OK)
	s.poll(2, history.AtMostOnce, record(0, "a"))
	s.poll(3, history.AtMostOnce, record(0, "a"))
	concern(t, s.judged(record(0, "a")), "7/0@0 g")
	refuses(t, s.judged(record(0, "a")), "INV-9 repeated record")
}

func TestACommitBeyondWhatWasGivenIsSeen(t *testing.T) {
	var s story
	s.publish("a", 0, history.OK)
	s.poll(2, history.Manual, record(0, "a"))
	s.commit(2, "m", 1, 5)
	concern(t, s.judged(record(0, "a")), "7/0@5 g")
	refuses(t, s.judged(record(0, "a")), "INV-26 commit ahead")
}

func TestAForgottenCommitIsSeen(t *testing.T) {
	for _, told := range []int64{3, history.None} {
		var s story
		s.commit(2, "m", 1, 3)
		s.commit(2, "m", 1, 5)
		s.fetch(told)
		refuses(t, s.judged(), "INV-24 lost commit", "INV-24 not linearizable")
	}
}

func TestAnUnansweredCommitMayHoldOrNot(t *testing.T) {
	for _, told := range []int64{3, 5} {
		var s story
		s.commit(2, "m", 1, 3)
		c := s.commit(2, "m", 1, 5)
		c.Outcome, c.Return = history.Unknown, history.Open
		s.fetch(told)
		require.Empty(t, s.judged())
	}
}

func TestAPositionThatNobodyCommittedIsSeen(t *testing.T) {
	var s story
	s.commit(2, "m", 1, 3)
	s.fetch(44)
	concern(t, s.judged(), "7/0@44 g")
	refuses(t, s.judged(), "INV-24 phantom")
}

func TestWhoCommitsFirstMayCommitWhatNobodyIsGiven(t *testing.T) {
	var s story
	s.publish("a", 0, history.OK)
	s.publish("b", 1, history.OK)
	s.poll(2, history.AtMostOnce, record(0, "a"))
	s.fetch(2) // the member died before it handed b over
	require.Empty(t, s.judged(record(0, "a"), record(1, "b")))
}

func TestTwoOwnersAreSeen(t *testing.T) {
	var s story
	s.commit(2, "m", 1, 3)
	s.commit(3, "n", 2, 4)
	s.commit(2, "m", 1, 5)
	concern(t, s.judged(), "7/0 g m", "7/0 g")
	refuses(t, s.judged(), "INV-21 two owners", "INV-21 not linearizable")
	s = story{}
	s.commit(2, "m", 1, 3)
	s.commit(3, "n", 2, 4)
	s.commit(2, "m", 3, 5) // it came back under another epoch
	require.Empty(t, s.judged())
}

func TestWhatAClientSeesDoesNotGoBack(t *testing.T) {
	var s story
	s.publish("a", 0, history.OK)
	s.publish("b", 1, history.OK)
	s.read(0, 2, record(0, "a"), record(1, "b"))
	s.read(0, 1, record(0, "a"))
	refuses(t, s.judged(record(0, "a"), record(1, "b")), "INV-35 high watermark went back")
}

func TestAReadBeyondTheHighWatermarkIsSeen(t *testing.T) {
	var s story
	s.publish("a", 0, history.OK)
	s.publish("b", 1, history.OK)
	s.read(0, 1, record(0, "a"), record(1, "b"))
	refuses(t, s.judged(record(0, "a"), record(1, "b")), "INV-8 uncommitted read")
}

func TestWhatWasGivenUpIsNotHeldAgainstTheCluster(t *testing.T) {
	var s story
	s.publish("a", 0, history.OK)
	s.read(0, 1, record(0, "a"))
	require.Empty(t, Judge(&Case{
		Operations: s.ops, Final: []Log{{TopicID: topic}}, Lossy: map[Place]Loss{here: {Since: history.Open}},
	}))
}

// What an unclean election gave up is excused, and nothing else: neither what is
// below, nor what was sent after it to a leader of since.
func TestOnlyWhatWasGivenUpIsExcused(t *testing.T) {
	var s story
	s.publish("a", 0, history.OK)
	s.publish("b", 1, history.OK)
	lost := s.ops[len(s.ops)-1].Return
	s.publish("c", 1, history.OK)
	s.publish("stray", 2, history.OK)
	s.publish("d", 2, history.OK)
	judged := func(records ...history.Record) []Violation {
		return Judge(&Case{
			Operations: s.ops, Final: []Log{{TopicID: topic, End: int64(len(records)), Records: records}},
			Lossy: map[Place]Loss{here: {Kept: 1, Since: lost, Strays: []Range{{2, 3}}}},
		})
	}
	require.Empty(t, judged(record(0, "a"), record(1, "c"), record(2, "d")))
	refuses(t, judged(record(0, "a")), "INV-1 lost write") // c; of the other two one is a stray
	concern(t, judged(record(0, "x"), record(1, "c"), record(2, "d")), "7/0@0", "7/0@0")
	refuses(t, judged(record(0, "x"), record(1, "c"), record(2, "d")), "INV-1 lost write", "INV-10 phantom")
	s.read(0, 1, record(0, "a"))
	s.read(0, 2, record(0, "a"), record(1, "b"))
	require.Empty(t, judged(record(0, "a"), record(1, "c"), record(2, "d")), "b was given up after it was read")
}

// A topic that was deleted takes the positions of groups with it, and excuses
// nothing else.
func TestADeletedTopicIsJudgedByWhatWasSeenOfIt(t *testing.T) {
	var s story
	s.publish("a", 0, history.OK)
	s.poll(2, history.AtMostOnce, record(0, "a"))
	s.commit(2, "m", 1, 1)
	s.fetch(history.None)
	gone := map[Place]bool{here: true}
	require.NotEmpty(t, Judge(&Case{Operations: s.ops}))
	require.Empty(t, Judge(&Case{Operations: s.ops, Gone: gone}))
	s.publish("b", 0, history.OK)
	refuses(t, Judge(&Case{Operations: s.ops, Gone: gone}), "INV-3 inconsistent offset", "INV-3 inconsistent offset")
}

func TestAGroupWhoseLogWasGivenUpMayForget(t *testing.T) {
	var s story
	s.publish("a", 0, history.OK)
	s.poll(2, history.AtMostOnce, record(0, "a"))
	s.commit(2, "m", 1, 1)
	s.poll(3, history.AtMostOnce, record(0, "a"))
	s.commit(3, "n", 2, 1)
	s.commit(2, "m", 1, 1)
	s.fetch(history.None)
	final := []Log{{TopicID: topic, End: 1, Records: []history.Record{record(0, "a")}}}
	require.NotEmpty(t, Judge(&Case{Operations: s.ops, Final: final}))
	require.Empty(t, Judge(&Case{Operations: s.ops, Final: final, Forgotten: map[string]bool{"g": true}}))
}
