package models

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/history"
)

// BenchmarkJudge is a history of some 10,000 operations in which two workers make a
// record of each of 3,000, ten in a transaction, of which each fifth is aborted and
// tried again, and readers follow all that; and the same without transactions.
func BenchmarkJudge(b *testing.B) {
	for _, exact := range []bool{false, true} {
		b.Run(map[bool]string{false: "plain", true: "transactions"}[exact], func(b *testing.B) {
			c := pipeline(3000, 10, exact)
			require.Empty(b, Judge(c))
			b.ReportMetric(float64(len(c.Operations)), "operations")
			for b.Loop() {
				Judge(c)
			}
		})
	}
}

// pipeline is the history of a pipeline that works.
func pipeline(inputs, batch int, exact bool) *Case {
	var s story
	var in, all, committed []history.Record
	for i := range inputs {
		s.publish(fmt.Sprintf("c1.1-%d", i), int64(i), history.OK)
		in = append(in, record(int64(i), fmt.Sprintf("c1.1-%d", i)))
	}
	end, n, name := int64(0), int64(0), 0
	attempt := func(records []history.Record, outcome history.Outcome) {
		n++
		style := history.AtLeastOnce
		if exact {
			style = history.ExactlyOnce
			s.begin(n)
		}
		s.add(history.Operation{Kind: history.Poll, Client: 5, Group: "g", Style: style, Committed: exact, Outcome: history.OK, Records: records})
		for _, r := range records {
			name++
			m := made(end, fmt.Sprintf("c5.1-%d<0<%s", name, r.Value))
			op := s.publish(string(m.Value), end, history.OK)
			op.Client, op.TopicID = 5, out
			end++
			all = append(all, m)
			if outcome == history.OK {
				committed = append(committed, m)
			}
			if exact {
				op.Transaction = n
			}
		}
		op := s.commit(5, "m", 1, records[len(records)-1].Offset+1)
		if exact {
			op.Transaction = n
			s.end(n, "commit", outcome)
			end++
		}
	}
	for i := 0; i < inputs; i += batch {
		if exact && i/batch%5 == 0 {
			attempt(in[i:i+batch], history.Failed)
			s.handed(history.ByRewind)
		}
		attempt(in[i:i+batch], history.OK)
	}
	for reader := range int32(3) {
		for i := 0; i < len(committed); i += 50 {
			s.add(history.Operation{Kind: history.Poll, Client: 10 + reader, Committed: exact, Outcome: history.OK, Records: committed[i:min(i+50, len(committed))]})
		}
	}
	return s.at(rest{in: in, out: all, committed: committed, end: end})
}
