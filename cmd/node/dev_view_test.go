package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core/message"
)

// sampleView is of smallPlan, two seconds after an empty one.
func sampleView() *devView {
	b := sharedBooks()
	b.sent = 5
	b.saw(0, 0, []int{1, 2}, 0)
	b.saw(0, 1, []int{2}, 0)
	b.own(1, 1, false, 1)
	b.groups[1].members[1].problem = "expelled"
	now := moment{at: 10 * time.Second, tally: b.tally(), cluster: clusterState{
		asked: 9800 * time.Millisecond, leaders: []message.NodeID{1, 1}, ends: []int64{2, -1}, controller: 1,
		nodes:  []nodeState{{1, 4711, "up", ""}, {2, 0, "down", "signal: killed"}},
		groups: map[string]groupState{"billing": {"Stable", map[int32]int64{0: 1, 1: 1}}},
	}}
	before := moment{at: 8 * time.Second, tally: newBooks(smallPlan()).tally()}
	v := newView(before, now)
	v.Topic, v.Replicas, v.Until = "orders", 2, 30
	return v
}

func TestTheViewIsReadByPeople(t *testing.T) {
	require.Equal(t, `orders: 2 partitions, 2 replicas each; 10s of 30s
produced: 2/s, 3 acknowledged, 2 waiting

node  pid   state  leads
1     4711  up     0,1    controller
2     -     down   -      signal: killed

billing (at-least-once, stable): 2/s, 2 seen, 1 repeated, 1 behind
member  rate  received  repeated  partition  committed  end  lag
1       1/s   2         0         0          1          2    1
2       0/s   1         1         1          1          -    -

stats (at-most-once, -): 0/s, 0 seen, 0 repeated, 3 behind
member  rate  received  repeated  partition  committed  end  lag
1       0/s   0         0         0          -          2    -
2       0/s   0         0         -                               expelled
nobody                            1          -          -    -
`, sampleView().text())

	v := sampleView()
	v.Age, v.Offline, v.Produced.Failed, v.Produced.Problem, v.Seconds = 7, []int32{1}, 4, "disk full", 31
	text := v.text()
	for _, want := range []string{"30s are over", "NO LEADER: partitions 1\n", "are 7s old", ", 4 FAILED (disk full)\n"} {
		require.Contains(t, text, want)
	}
}

func TestTheViewIsReadByPrograms(t *testing.T) {
	text, err := json.Marshal(sampleView())
	require.NoError(t, err)
	require.JSONEq(t, `{"kind":"view","seconds":10,"until_seconds":30,"topic":"orders","partitions":2,"replicas":2,"age_seconds":0.2,
		"produced":{"records_per_second":1.5,"acknowledged":3,"waiting":2,"failed":0},
		"nodes":[{"node":1,"pid":4711,"state":"up","controller":true,"leads":[0,1]},
			{"node":2,"state":"down","controller":false,"leads":[],"note":"signal: killed"}],
		"offline":[],
		"groups":[{"group":"billing","delivery":"at-least-once","state":"Stable","records_per_second":1.5,"seen":2,"missing":1,"repeated":1,"earlier":0,
			"members":[{"member":1,"owns":[0],"records_per_second":1,"received":2,"repeated":0},
				{"member":2,"owns":[1],"records_per_second":0.5,"received":1,"repeated":1}],
			"partitions":[{"partition":0,"owner":1,"committed":1,"end":2,"lag":1},{"partition":1,"owner":2,"committed":1,"end":null,"lag":null}]},
		{"group":"stats","delivery":"at-most-once","state":"","records_per_second":0,"seen":0,"missing":3,"repeated":0,"earlier":0,
			"members":[{"member":1,"owns":[0],"records_per_second":0,"received":0,"repeated":0},
				{"member":2,"owns":[],"records_per_second":0,"received":0,"repeated":0,"problem":"expelled"}],
			"partitions":[{"partition":0,"owner":1,"committed":null,"end":2,"lag":null},{"partition":1,"owner":0,"committed":null,"end":null,"lag":null}]}]}`, string(text))
	empty, err := json.Marshal(newView(moment{}, moment{}))
	require.NoError(t, err)
	require.NotContains(t, string(empty), "null", "a list is a list before anything is known")
}

func TestTheSummaryJudges(t *testing.T) {
	b := sharedBooks()
	shared := b.tally()
	b.saw(0, 0, []int{1, 2, 3}, 0)
	b.saw(1, 0, []int{1}, 2)
	s := summarizeRun(b.tally(), shared, 2, 2*time.Second)
	require.Equal(t, &devSummary{Kind: "summary", OK: true, Seconds: 2, Problems: []string{},
		Produced: producedView{Rate: 1.5, Acknowledged: 3},
		Groups: []groupSummary{
			{Group: "billing", Delivery: "at-least-once", Seen: 3, Owned: []int{1, 1}},
			{Group: "stats", Delivery: "at-most-once", Seen: 1, Missing: 2, Earlier: 2, Owned: []int{1, 1}},
		}}, s)
	require.Equal(t, `produced 3 orders in 2s (2/s)
billing (at-least-once): 3 seen, 0 missed, 0 repeated; partitions of each member: 1 1
stats (at-most-once): 1 seen, 2 skipped, 0 repeated; partitions of each member: 1 1
every promise was kept
`, s.text())
	b.sent += 2
	b.acknowledge(4)
	s = summarizeRun(b.tally(), shared, 2, 2*time.Second)
	require.False(t, s.OK)
	require.Contains(t, s.text(), "PROBLEM: group billing: 1 of 4 acknowledged orders were not seen\n")
	require.Contains(t, s.text(), "; 1 more were not acknowledged\n")
	require.NotContains(t, s.text(), "every promise")
}

func TestAViewIsCutToTheScreen(t *testing.T) {
	require.Equal(t, []string{"αβγ", "b", "..."}, crop("αβγδ\nb\nc\nd\n", 3, 3))
	require.Equal(t, "... 2 more lines: enlarge the window", crop("a\nb\nc\nd\n", 0, 3)[2])
	require.Equal(t, []string{"a", "b"}, crop("a\nb\n", 0, 0))
	require.Len(t, crop(strings.Repeat("x\n", 3), 80, 3), 3)
}
