package shrink

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/sim"
)

// stalled is a plan that fails although nothing is wrong with the code: all
// nodes lose power at the end, among other trouble, and are given no time to
// come back.
func stalled() *sim.Plan {
	p := sim.NewPlan(7)
	p.Phases.Drain, p.Phases.Rest = sim.Millisecond, 1
	end := p.Phases.Warm + p.Phases.Faults
	p.Faults = append(p.Faults, sim.Fault{At: end - 100*sim.Millisecond, For: 5 * sim.Second, Kind: sim.PowerLoss, Node: -1})
	return p
}

func TestAPlanThatPassesIsLeftAlone(t *testing.T) {
	_, err := Shrink(context.Background(), sim.NewPlan(1), Config{})
	require.ErrorIs(t, err, ErrPasses)
}

func TestAShrunkPlanFailsTheSameWayAndIsSmall(t *testing.T) {
	given := stalled()
	before := sim.Run(given, sim.Options{})
	require.NotNil(t, before.Failure, "the plan of this test must fail")
	var passes []string
	o, err := Shrink(context.Background(), given, Config{Runs: 3000, Progress: func(p Progress) { passes = append(passes, p.Pass) }})
	require.NoError(t, err)
	require.Equal(t, stalled(), given, "the given plan is as it was")
	require.Equal(t, before.Failure.Fingerprint(), o.Result.Failure.Fingerprint())
	require.Equal(t, before.Class, o.Result.Class)
	require.LessOrEqual(t, o.After.Faults, 5)
	require.LessOrEqual(t, o.After.Nodes, 3)
	require.LessOrEqual(t, o.After.Ops, 10)
	require.NotEmpty(t, passes)
	again := sim.Run(o.Plan, sim.Options{})
	require.Equal(t, o.Result.Hash, again.Hash, "it fails again, event by event")
	require.NoError(t, o.Plan.Validate())
}

// What comes out does not depend on how many candidates run side by side.
func TestTheNumberOfWorkersChangesNothing(t *testing.T) {
	var stories []string
	for _, workers := range []int{1, 3} {
		o, err := Shrink(context.Background(), stalled(), Config{Workers: workers})
		require.NoError(t, err)
		var b strings.Builder
		Story(&b, o.Plan, o.Result)
		stories = append(stories, b.String())
	}
	require.Equal(t, stories[0], stories[1])
	require.Less(t, strings.Count(stories[0], "\n"), 20, stories[0])
}

func TestNodesAreNumberedAnew(t *testing.T) {
	p := &sim.Plan{
		Cluster: sim.ClusterPlan{Nodes: 5, Voters: 3},
		Phases:  sim.PhasePlan{Broken: []int{2, 5}},
		Topics:  []sim.TopicPlan{{Name: "t", Partitions: 1, Replication: 3, MinInsync: 2}},
		Faults: []sim.Fault{
			{Kind: sim.Crash, Node: 5}, {Kind: sim.Crash, Node: 2}, {Kind: sim.OneWay, Node: 3, Peer: 2},
			{Kind: sim.Halves, Groups: [][]int{{1, 2, 5}}}, {Kind: sim.Crash, Target: "leader t/0"},
		},
	}
	require.Equal(t, &sim.Plan{
		Cluster: sim.ClusterPlan{Nodes: 2, Voters: 1},
		Phases:  sim.PhasePlan{Broken: []int{2}},
		Topics:  []sim.TopicPlan{{Name: "t", Partitions: 1, Replication: 2, MinInsync: 2}},
		Faults: []sim.Fault{
			{Kind: sim.Crash, Node: 2}, {Kind: sim.Halves, Groups: [][]int{{2}}}, {Kind: sim.Crash, Target: "leader t/0"},
		},
	}, keepNodes(p, []int{4, 5}, false)) // node 4 is no voter, so one of the two becomes one
	require.Len(t, choices(5, 3), 10)
	require.Equal(t, []int{1, 2, 3}, choices(5, 3)[0])
}

func TestATopicGoesWithAllThatSpeaksOfIt(t *testing.T) {
	p := &sim.Plan{
		Topics: []sim.TopicPlan{{Name: "a"}, {Name: "b"}},
		Faults: []sim.Fault{{Kind: sim.Crash, Target: "leader a/0"}, {Kind: sim.Crash, Target: "leader b/0"}, {Kind: sim.DeleteRecords, Topic: "a"}},
		Clients: []sim.ClientPlan{
			{ID: 1, Role: sim.Producer, Topics: []string{"a"}},
			{ID: 2, Role: sim.Producer, Topics: []string{"a", "b"}, Ops: []sim.ClientOp{{Do: "publish", Topic: "a"}, {Do: "publish", Topic: "b"}}},
			{ID: 3, Role: sim.Reader, Topics: []string{"a", "b"}, Ops: []sim.ClientOp{{Do: "assign", From: []string{"a/0 latest", "b/0 latest"}}}},
		},
	}
	before := p.Copy()
	dropped := p.Copy()
	dropTopic(dropped, 0)
	require.Equal(t, before, p)
	require.Equal(t, &sim.Plan{
		Topics: []sim.TopicPlan{{Name: "b"}},
		Faults: []sim.Fault{{Kind: sim.Crash, Target: "leader b/0"}},
		Clients: []sim.ClientPlan{
			{ID: 2, Role: sim.Producer, Topics: []string{"b"}, Ops: []sim.ClientOp{{Do: "publish", Topic: "b"}}},
			{ID: 3, Role: sim.Reader, Topics: []string{"b"}, Ops: []sim.ClientOp{{Do: "assign", From: []string{"b/0 latest"}}}},
		},
	}, dropped)
}

func TestMomentsMoveTogether(t *testing.T) {
	p := &sim.Plan{
		Phases:  sim.PhasePlan{Warm: 10 * sim.Second, Faults: 10 * sim.Second, Drain: sim.Second},
		Faults:  []sim.Fault{{At: 12 * sim.Second, For: 3 * sim.Second}},
		Clients: []sim.ClientPlan{{Ops: []sim.ClientOp{{At: 13 * sim.Second}}}},
	}
	require.Equal(t, []sim.Span{0, 10 * sim.Second, 12 * sim.Second, 13 * sim.Second, 15 * sim.Second, 20 * sim.Second, 21 * sim.Second}, moments(p))
	eachTime(p, func(at sim.Span) sim.Span { return max(0, at-11*sim.Second) })
	require.Equal(t, []sim.Span{0, sim.Second, 2 * sim.Second, 4 * sim.Second, 9 * sim.Second, 10 * sim.Second}, moments(p))
	require.Equal(t, 3*sim.Second, p.Faults[0].For)
	require.True(t, slices.IsSorted(moments(p)))
}

// Of a client that misbehaves a plan says only what its requests follow from: the story
// says which they are.
func TestAStoryTellsWhatIsSent(t *testing.T) {
	p := &sim.Plan{
		Seed: 5, Cluster: sim.ClusterPlan{Nodes: 1, Voters: 1, Shards: 1},
		Phases:  sim.PhasePlan{Warm: sim.Second, Faults: sim.Second, Drain: sim.Second, Rest: 60 * sim.Second},
		Network: sim.NetworkPlan{Latency: sim.Millisecond}, Disk: sim.DiskPlan{Append: 50 * sim.Microsecond, Flush: 2 * sim.Millisecond, Read: 100 * sim.Microsecond, Steady: true},
		Topics:  []sim.TopicPlan{{Name: "t", Partitions: 1, Replication: 1, MinInsync: 1}},
		Clients: []sim.ClientPlan{{ID: 6, Role: sim.Chaos, Ops: []sim.ClientOp{{At: sim.Second, Do: "send", Draw: 11}, {At: 2 * sim.Second, Do: "send", Draw: 12}}}},
	}
	require.NoError(t, p.Validate())
	var out strings.Builder
	Story(&out, p, sim.Run(p, sim.Options{}))
	require.Regexp(t, `\n +1s  client 6: sends [A-Z]\w+.*\n +2s  client 6: sends [A-Z]`, out.String())
}
