package models

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/history"
)

// worked is a history in which a, b and c were published, and a worker was given the
// first two and made its records of them in transaction 1.
func worked(outcome history.Outcome) (s story, r rest) {
	s, r.in = published("a", "b", "c")
	s.handed("")
	s.work(1, 0, r.in[0], r.in[1])
	s.end(1, "commit", outcome)
	r.out = []history.Record{made(0, "w1.0<0<a"), made(1, "w1.1<0<b")}
	r.end = 3
	if outcome != history.Failed {
		r.committed = r.out
	}
	return s, r
}

// again is the same with a second transaction, of c or of all once more.
func again(s *story, r *rest, n int64, from int, outcome history.Outcome) {
	s.work(n, r.end, r.in[from:]...)
	s.end(n, "commit", outcome)
	for i, in := range r.in[from:] {
		m := made(r.end, fmt.Sprintf("w%d.%d<0<%s", n, i, in.Value))
		r.out = append(r.out, m)
		if outcome != history.Failed {
			r.committed = append(r.committed, m)
		}
		r.end++
	}
	r.end++
}

func TestAPipelineThatWorks(t *testing.T) {
	for _, outcome := range []history.Outcome{history.OK, history.Unknown} {
		s, r := worked(outcome)
		s.stable(2)
		again(&s, &r, 2, 2, history.OK)
		s.stable(3)
		require.Empty(t, s.found(r))
	}
	s, r := worked(history.Failed)
	s.stable(history.None)
	s.handed(history.ByRewind)
	again(&s, &r, 2, 0, history.OK)
	s.stable(3)
	require.Empty(t, s.found(r))
}

func TestALostOutputIsSeen(t *testing.T) {
	s, r := worked(history.OK)
	again(&s, &r, 2, 2, history.OK)
	lose := func(value string) {
		for i := range s.ops {
			if s.ops[i].Kind == history.Publish && string(s.ops[i].Value) == value {
				s.ops[i].Value = []byte("other")
			}
		}
	}
	lose("w1.1<0<b")
	r.out[1], r.committed = made(1, "other"), nil
	r.committed = r.out
	concern(t, s.found(r), "7/0@1 g")
	refuses(t, s.found(r), "INV-30 lost output")
}

func TestADoubledOutputIsSeen(t *testing.T) {
	s, r := worked(history.OK)
	s.handed("")
	again(&s, &r, 2, 1, history.OK)
	concern(t, s.found(r), "7/0@2 g", "8/0@3")
	refuses(t, s.found(r), "INV-24 given again", "INV-30 doubled output")

	// Of what stands there twice it may be made twice.
	s, r = worked(history.OK)
	s.publish("d", 3, history.OK).Idempotent = false
	r.in = append(r.in, record(3, "d"), record(4, "d"))
	again(&s, &r, 2, 2, history.OK)
	require.Empty(t, s.found(r))
	s.handed("")
	s.work(3, r.end, r.in[4])
	s.end(3, "commit", history.OK)
	r.out = append(r.out, made(r.end, "w3.0<0<d"))
	r.committed, r.end = r.out, r.end+2
	refuses(t, s.found(r), "INV-24 given again", "INV-30 doubled output")
}

func TestAnOutputWithoutItsPositionIsSeen(t *testing.T) {
	s, r := worked(history.OK)
	for i := range s.ops {
		if s.ops[i].Transaction == 1 && s.ops[i].Kind == history.Commit {
			s.ops[i].Positions[0].Offset = 1
		}
	}
	refuses(t, s.found(r), "INV-30 output beyond the position")
}

// What a worker wrote that was fenced, and of which another has done the work, does
// not count, and must not be seen.
func TestAZombiesOutput(t *testing.T) {
	s, r := worked(history.Failed)
	s.handed(history.ByRewind)
	again(&s, &r, 2, 0, history.OK)
	require.Empty(t, s.found(r))
	r.committed = append(r.out[1:2:2], r.committed...)
	refuses(t, s.found(r), "INV-30 aborted read")
}

func TestWhatIsExcusedOfPipelines(t *testing.T) {
	s, r := worked(history.OK)
	again(&s, &r, 2, 2, history.OK)
	r.out, r.committed, r.start = r.out[2:], r.committed[2:], 3
	require.Empty(t, s.found(r), "what was written is gone, and was there")
	c := s.at(r)
	for i := range []int{0, 1} {
		log := []*Log{&c.Final[0], &c.Committed[0]}[i]
		log.Records, log.Start = log.Records[2:], 2
	}
	require.Empty(t, Judge(c), "so are the inputs")

	s, r = worked(history.OK)
	s.handed("")
	again(&s, &r, 2, 1, history.OK)
	for _, excuse := range []func(*Case){
		func(c *Case) { c.Forgotten = map[string]bool{"g": true} },
		func(c *Case) { c.Lossy = map[Place]Loss{here: {Since: history.Open}} },
	} {
		c := s.at(r)
		excuse(c)
		require.Empty(t, Judge(c))
	}
	c = s.at(r)
	c.Gone, c.Final, c.Committed = map[Place]bool{here: true}, c.Final[1:], c.Committed[1:]
	refuses(t, Judge(c), "INV-30 doubled output")
}

func TestPositionsGoWithTheTransaction(t *testing.T) {
	for _, c := range []struct {
		outcome history.Outcome
		told    int64
		want    []string
	}{
		{history.OK, 2, nil},
		{history.OK, history.None, []string{"INV-24 lost commit", "INV-24 not linearizable"}},
		{history.OK, 1, []string{"INV-24 phantom"}},
		{history.Failed, history.None, nil},
		{history.Failed, 2, []string{"INV-25 position of an aborted transaction"}},
	} {
		s, r := worked(c.outcome)
		s.stable(c.told)
		refuses(t, s.found(r), c.want...)
	}
	// Who does not ask for stable positions may see the one from before for a while.
	s, r := worked(history.OK)
	s.fetch(history.None)
	s.fetch(2)
	require.Empty(t, s.found(r))
}

// The outcome of one that nobody was told is that of its records: whoever asks after
// they were seen must find the position.
func TestThePositionOfAnUnknownOutcome(t *testing.T) {
	for _, c := range []struct {
		visible bool
		told    int64
		want    []string
	}{
		{true, 2, nil},
		{true, history.None, []string{"INV-24 lost commit", "INV-24 not linearizable"}},
		{false, history.None, nil},
		{false, 2, []string{"INV-25 position of an aborted transaction"}},
	} {
		s, r := worked(history.Unknown)
		if c.visible {
			s.given(8, r.out...)
		} else {
			r.committed = nil
		}
		s.stable(c.told)
		refuses(t, s.found(r), c.want...)
	}
}

func TestAHandoverSkipsAndRepeatsNothing(t *testing.T) {
	for _, c := range []struct {
		outcome history.Outcome
		next    int
		want    []string
	}{
		{history.OK, 2, nil},
		{history.OK, 1, []string{"INV-24 given again"}},
		{history.OK, 0, []string{"INV-24 given again"}},
		{history.OK, 3, []string{"INV-9 skipped record"}},
		{history.Failed, 0, nil},
	} {
		s, r := worked(c.outcome)
		s.publish("d", 3, history.OK)
		r.in = append(r.in, record(3, "d"))
		s.handed("")
		s.given(5, r.in[c.next])
		refuses(t, s.found(r), c.want...)
	}
}

// Who goes back does so in what is not committed for all it knows: the rest it goes
// on with, even if others have done the work since.
func TestOneThatGoesBackStaysWhereItHasCommitted(t *testing.T) {
	s, r := worked(history.OK)
	again(&s, &r, 2, 2, history.OK)
	for i := range s.ops { // the second was another member's
		if s.ops[i].Transaction == 2 || s.ops[i].Kind == history.Poll && string(s.ops[i].Records[0].Value) == "c" {
			s.ops[i].Client = 6
		}
	}
	s.handed(history.ByRewind)
	s.given(5, r.in[2])
	require.Empty(t, s.found(r))
	s.handed(history.ByRewind)
	s.given(5, r.in[2])
	concern(t, s.found(r), "7/0@3 g")
	refuses(t, s.found(r), "INV-24 given again")
}

func TestAGroupThatBeginsAnewAlthoughItHasAPosition(t *testing.T) {
	reset := func(s *story) {
		s.handed("")
		s.add(history.Operation{Kind: history.Assigned, Client: 5, Group: "g", Error: history.ByReset, Outcome: history.OK,
			Positions: []history.Position{{TopicID: topic, Offset: 3}}})
	}
	s, r := worked(history.OK)
	reset(&s)
	concern(t, s.found(r), "7/0@2 g")
	refuses(t, s.found(r), "INV-24 lost commit")

	s, r = worked(history.OK)
	reset(&s)
	c := s.at(r) // retention has passed it
	for _, log := range []*Log{&c.Final[0], &c.Committed[0]} {
		log.Start, log.End, log.Records = 3, 3, nil
	}
	require.Empty(t, Judge(c))

	s, r = worked(history.Failed)
	reset(&s)
	require.Empty(t, s.found(r))
}

// A member that begins where another was goes over what is not for it, and may commit
// that without having been given anything.
func TestAMemberThatPassesWhatIsNotForIt(t *testing.T) {
	for _, c := range []struct {
		position int64
		want     []string
	}{{6, nil}, {5, nil}, {4, nil}, {7, []string{"INV-26 commit ahead", "INV-9 skipped record"}}} {
		s, r := worked(history.OK) // 0, 1, and a marker
		s.begin(2)
		s.put(2, "x", 3)
		s.put(2, "y", 4)
		s.end(2, "abort", history.Failed)
		s.begin(3)
		s.put(3, "z", 6)
		s.end(3, "commit", history.OK)
		r.out = append(r.out, made(3, "x"), made(4, "y"), made(6, "z"))
		r.committed, r.end = append(r.committed[:2:2], made(6, "z")), 8
		poll := func(client int32, records ...history.Record) {
			s.add(history.Operation{Kind: history.Poll, Client: client, Group: "h", Style: history.AtLeastOnce, Committed: true, Outcome: history.OK, Records: records})
		}
		poll(9, r.out[0])
		poll(8, r.out[1])
		s.add(history.Operation{Kind: history.Commit, Client: 9, Group: "h", Member: "x", Epoch: 1, Outcome: history.OK,
			Positions: []history.Position{{TopicID: out, Offset: c.position}}})
		refuses(t, s.found(r), c.want...)
	}
}

// Members that commit by themselves may commit behind a marker.
func TestAPositionBehindAMarkerIsNoneThatNobodyWasGiven(t *testing.T) {
	s, r := worked(history.OK)
	s.add(history.Operation{Kind: history.Poll, Client: 9, Group: "h", Style: history.AtLeastOnce, Committed: true, Outcome: history.OK, Records: r.out})
	s.add(history.Operation{Kind: history.Commit, Client: 9, Group: "h", Member: "x", Epoch: 1, Outcome: history.OK,
		Positions: []history.Position{{TopicID: out, Offset: 3}}})
	s.add(history.Operation{Kind: history.FetchCommitted, Client: 9, Group: "h", Outcome: history.OK, Positions: []history.Position{{TopicID: out, Offset: 3}}})
	require.Empty(t, s.found(r))
	s.ops[len(s.ops)-2].Positions[0].Offset = 4
	s.ops[len(s.ops)-1].Positions[0].Offset = 5
	concern(t, s.found(r), "8/0@4 h", "8/0@5 h")
	refuses(t, s.found(r), "INV-26 commit ahead", "INV-24 phantom")
}
