package models

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/history"
)

// Of a partition an operator gave up, at time 100, what stood at 3 and above; what is
// there at rest was committed since. Each story is told twice: as far as it is excused
// by that, and a little further.
func TestALossExcusesWhatIsGoneAndNothingElse(t *testing.T) {
	final := []history.Record{record(0, "a"), record(1, "b"), record(2, "c"), record(3, "x"), record(4, "y")}
	read := func(s *story, at, high, start int64) {
		s.add(history.Operation{Kind: history.Read, Client: 5, TopicID: topic, Outcome: history.OK, Invoke: at, Return: at + 1,
			HighWatermark: high, LogStart: start, Offset: high})
	}
	given := func(s *story, offset int64, values ...string) {
		var records []history.Record
		for i, v := range values {
			records = append(records, record(offset+int64(i), v))
		}
		s.poll(6, history.AtLeastOnce, records...)
	}
	reset := func(s *story, from, to int64) {
		s.add(history.Operation{Kind: history.Assigned, Client: 6, Group: "g", Style: history.AtLeastOnce, Error: history.ByReset,
			Outcome: history.OK, Offset: from, Positions: []history.Position{{TopicID: topic, Offset: to}}})
	}
	timed := func(times ...int64) []history.Record {
		list := append([]history.Record(nil), final...)
		for i, at := range times {
			list[i].Timestamp = at
		}
		return list
	}
	for name, c := range map[string]struct {
		judge           func(*dossier) []Violation
		final           []history.Record
		excused, beyond func(s *story)
		says            string
	}{
		"a high watermark falls": {judge: sessions,
			excused: func(s *story) { read(s, 90, 6, 0); read(s, 110, 3, 0) },
			beyond:  func(s *story) { read(s, 90, 6, 0); read(s, 110, 2, 0) }, says: "INV-35"},
		"a high watermark falls before": {judge: sessions,
			excused: func(s *story) { read(s, 90, 6, 0); read(s, 100, 3, 0) },
			beyond:  func(s *story) { read(s, 90, 6, 0); read(s, 95, 3, 0) }, says: "INV-35"},
		"a log start falls": {judge: sessions,
			excused: func(s *story) { read(s, 90, 6, 2); read(s, 110, 6, 1) },
			beyond:  func(s *story) { read(s, 90, 6, 2); read(s, 110, 6, 0) }, says: "INV-35"},
		"a search passes over": {judge: times, final: timed(10, 10, 20, 30, 30),
			excused: func(s *story) {
				s.add(history.Operation{Kind: history.Sought, Outcome: history.OK, TopicID: topic, Timestamp: 25, Offset: 5})
			},
			beyond: func(s *story) {
				s.add(history.Operation{Kind: history.Sought, Outcome: history.OK, TopicID: topic, Timestamp: 15, Offset: 5})
			}, says: "INV-9"},
		"sent again": {judge: uniqueness,
			excused: func(s *story) { s.publish("x", 3, history.OK); given(s, 5, "x") },
			beyond:  func(s *story) { s.publish("a", 0, history.OK) }, says: "INV-27",
			final: append(final[:4:4], record(4, "a"))},
		"the order of one producer": {judge: producerOrder,
			excused: func(s *story) { given(s, 7, "x"); s.publish("x", 0, history.Unknown); s.publish("y", 4, history.OK) },
			beyond:  func(s *story) { s.publish("y", 4, history.OK); s.publish("x", 3, history.OK) }, says: "INV-9"},
		"acknowledged before": {judge: realTime,
			excused: func(s *story) { s.publish("gone", 8, history.OK); s.publish("x", 3, history.OK) },
			beyond:  func(s *story) { s.publish("c", 2, history.OK); s.publish("b", 1, history.OK) }, says: "INV-3"},
		"no order fits": {judge: linearizable,
			excused: func(s *story) { s.publish("gone", 8, history.OK); s.publish("x", 3, history.OK) },
			beyond:  func(s *story) { s.publish("y", 4, history.OK); s.publish("x", 3, history.OK) }, says: "INV-3"},
		"a position is taken back": {judge: commits,
			excused: func(s *story) { given(s, 0, "a", "b", "c", "d"); s.commit(6, "m", 1, 3); given(s, 0, "a"); s.fetch(1) },
			beyond:  func(s *story) { given(s, 0, "a", "b", "c"); s.commit(6, "m", 1, 3); s.fetch(1) }, says: "INV-24"},
		"a reader goes back": {judge: delivery,
			excused: func(s *story) { given(s, 0, "a", "b", "c", "d"); given(s, 2, "c") },
			beyond:  func(s *story) { given(s, 0, "a", "b", "c"); given(s, 1, "b") }, says: "INV-9"},
		"a record is skipped": {judge: styles,
			excused: func(s *story) { given(s, 0, "a", "b", "c"); given(s, 9, "z"); s.commit(6, "m", 1, 5) },
			beyond:  func(s *story) { given(s, 0, "a", "b"); given(s, 9, "z"); s.commit(6, "m", 1, 5) }, says: "INV-9"},
		"a record is hidden by a log start that falls": {judge: styles,
			excused: func(s *story) { given(s, 0, "a"); reset(s, 1, 2); given(s, 2, "c"); s.commit(6, "m", 1, 3) },
			beyond:  func(s *story) { given(s, 0, "a"); reset(s, 1, 3); given(s, 3, "x"); s.commit(6, "m", 1, 4) }, says: "INV-9"},
		"a record is hidden from who has no position": {judge: styles,
			excused: func(s *story) {
				given(s, 0, "a") // and nobody hears of it
				reset(s, history.None, 2)
				given(s, 2, "c")
				s.commit(6, "m", 1, 3)
			},
			beyond: func(s *story) { given(s, 0, "a"); reset(s, 2, 2); given(s, 2, "c"); s.commit(6, "m", 1, 3) }, says: "INV-9"},
		"nobody is told that a record is hidden": {judge: styles,
			excused: func(s *story) { given(s, 2, "c"); s.commit(6, "m", 1, 3) },
			beyond:  func(s *story) { given(s, 0, "a"); given(s, 2, "c"); s.commit(6, "m", 1, 3) }, says: "INV-9"},
	} {
		t.Run(name, func(t *testing.T) {
			if c.final == nil {
				c.final = final
			}
			judged := func(tell func(s *story)) []Violation {
				var s story
				tell(&s)
				return c.judge(index(&Case{Operations: s.ops, Final: []Log{{TopicID: topic, End: 5, Records: c.final}},
					Lossy: map[Place]Loss{here: {Kept: 3, From: 100, Since: 100, Start: 2, Low: 1}}}))
			}
			require.Empty(t, judged(c.excused))
			found := judged(c.beyond)
			require.NotEmpty(t, found)
			for _, v := range found {
				require.Equal(t, c.says, v.Invariant, v.Text)
			}
		})
	}
}
