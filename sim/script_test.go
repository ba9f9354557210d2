package sim

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/storage/vfs/simdisk"
)

// scripted is a small plan in which nothing is left to chance.
func scripted(decisions ...Decision) *Plan {
	zero := 0
	return &Plan{
		Seed: 5, Cluster: ClusterPlan{Nodes: 3, Voters: 3, Shards: 1},
		Phases:  PhasePlan{Warm: 4 * Second, Faults: 4 * Second, Drain: 2 * Second, Rest: 60 * Second},
		Network: NetworkPlan{Latency: Millisecond}, Disk: DiskPlan{Append: 50 * Microsecond, Flush: 2 * Millisecond, Read: 100 * Microsecond, Steady: true},
		Topics: []TopicPlan{{Name: "t", Partitions: 1, Replication: 3, MinInsync: 2}},
		Clients: []ClientPlan{{ID: 1, Role: Producer, Topics: []string{"t"}, Acks: -1, Idempotent: true, Ops: []ClientOp{
			{At: 4 * Second, Do: "publish", Topic: "t", Partition: &zero},
			{At: 5 * Second, Do: "publish", Topic: "t", Partition: &zero},
		}}},
		Faults: []Fault{{At: 4100 * Millisecond, For: Second, Kind: Crash, Target: "follower t/0"}},
		Script: &Script{Decisions: append([]Decision{}, decisions...)},
	}
}

func TestAScriptDecidesInPlaceOfChance(t *testing.T) {
	plain := Run(scripted(), Options{Record: true})
	require.Nil(t, plain.Failure)
	require.Empty(t, plain.Recorded.Decisions, "the plain course has nothing to note")

	when := "Produce 1 from client 1 to node " + leaderOfFirstProduce(t)
	for _, d := range []Decision{
		{When: when, Then: "lost"},
		{When: when, Then: "late", By: 300 * Millisecond},
		{When: "flush 3 of node 1", Then: "late", By: 200 * Millisecond},
	} {
		r := Run(scripted(d), Options{Record: true})
		require.Nil(t, r.Failure, d.String())
		require.Empty(t, r.Unreached, d.String())
		require.Equal(t, []Decision{d}, r.Recorded.Script(scripted()).Script.Decisions, "what a script decides is noted in its own words")
		require.NotEqual(t, plain.Hash, r.Hash, d.String())
	}
}

// leaderOfFirstProduce finds to which node the first record goes.
func leaderOfFirstProduce(t *testing.T) string {
	for _, node := range []string{"1", "2", "3"} {
		if len(Run(scripted(Decision{When: "Produce 1 from client 1 to node " + node, Then: "lost"}), Options{}).Unreached) == 0 {
			return node
		}
	}
	t.Fatal("nobody is sent the first record")
	return ""
}

// A decision about the 17th flush is about another one as soon as less has happened
// before. Counted from its time on it stays the same.
func TestADecisionCountsFromItsTimeOn(t *testing.T) {
	for _, d := range []Decision{
		{When: "Produce 2 from client 1 to node " + leaderOfFirstProduce(t), Then: "late", By: 300 * Millisecond},
		{When: "flush 17 of node 2", Then: "late", By: 300 * Millisecond},
	} {
		first := Run(scripted(d), Options{Record: true})
		require.Nil(t, first.Failure, d.When)
		require.Len(t, first.Recorded.Decisions, 1, d.When)
		timed, ok := first.Recorded.Decisions[0].Timed()
		require.True(t, ok)
		require.Equal(t, strings.NewReplacer("Produce 2 ", "Produce 1 ", " 17 ", " 1 ").Replace(d.When), timed.When)
		plan := scripted(timed)
		require.NoError(t, plan.Validate())
		again := Run(plan, Options{})
		require.Empty(t, again.Unreached)
		require.Equal(t, first.Hash, again.Hash, "%s: the same moment", timed.String())
		timed.After = 600 * Second
		require.Equal(t, []string{timed.String()}, Run(scripted(timed), Options{}).Unreached)
	}
	_, ok := (Decision{When: "crash 2 of node 3", at: Second}).Timed()
	require.False(t, ok)
	require.EqualError(t, (&Script{Decisions: []Decision{{When: "crash 2 of node 3", After: Second, Then: "loses power"}}}).validate(),
		"script: crash 2 of node 3 cannot count from 1s on: only messages and flushes can, and from a time above 0")
}

func TestAScriptSaysWhereItNoLongerMatches(t *testing.T) {
	never := Decision{When: "Produce 99 from client 1 to node 1", Then: "lost"}
	r := Run(scripted(never), Options{})
	require.Nil(t, r.Failure)
	require.Equal(t, []string{never.String()}, r.Unreached)
}

// Runs of seeds, their weather and faults on, become scripts that pass as well, play the
// same each time, and are read again as they were written.
func TestARunBecomesAScript(t *testing.T) {
	kinds := map[string]bool{}
	for seed := uint64(1); seed <= 6; seed++ {
		free := Run(NewPlan(seed), Options{Record: true})
		plan := free.Recorded.Script(NewPlan(seed))
		require.NoError(t, plan.Validate(), "seed %d", seed)
		r := Run(plan, Options{})
		require.Nil(t, r.Failure, "seed %d", seed)
		require.Equal(t, r.Hash, Run(plan, Options{}).Hash, "seed %d", seed)
		for _, d := range free.Recorded.Decisions {
			for _, then := range strings.Split(d.Then, ", ") {
				kinds[then] = true
			}
		}
		b, err := json.Marshal(plan)
		require.NoError(t, err)
		back, err := ParsePlan(b)
		require.NoError(t, err)
		require.Equal(t, plan.Script, back.Script, "seed %d", seed)
	}
	require.GreaterOrEqual(t, len(kinds), 8, "the seeds note decisions of every kind: %v", kinds)
}

// With the weather left on, what the script does not speak of is drawn as it was: the
// script of a run is that run, to the bytes of torn pages.
func TestAScriptInStepIsTheSameRun(t *testing.T) {
	torn := 0
	for seed := uint64(1); seed <= scriptedSeeds; seed++ {
		given := NewPlan(seed)
		free := Run(given, Options{Record: true})
		plan := free.Recorded.InStep(given)
		require.NoError(t, plan.Validate(), "seed %d", seed)
		r := Run(plan, Options{})
		require.Empty(t, r.Unreached, "seed %d", seed)
		require.Nil(t, Compare(free, r), "seed %d", seed)
		for i := range free.Recorded.Decisions {
			if strings.Contains(free.Recorded.Decisions[i].String(), "~") {
				torn++
			}
		}
	}
	require.Positive(t, torn, "a page was torn")
}

const scriptedSeeds = 12

func TestAMomentReadsAsItIsTold(t *testing.T) {
	w := newWorld(scripted(), Options{})
	for _, when := range []string{
		"ReplicaFetchReply 14 from node 2 to node 1", "Produce 1 from client 1 to node 3", "ProduceReply 2 from node 3 to client 1",
		"crash 2 of node 3", "power cut 1 of node 3", "flush 17 of node 2",
	} {
		h, err := w.parseWhen(when)
		require.NoError(t, err)
		require.Equal(t, when, w.tellWhen(h))
	}
	for _, when := range []string{"", "crash of node 1", "Nonsense 1 from node 1 to node 2", message.KindInvalid.String() + " 1 from node 1 to node 2"} {
		_, err := parseWhen(when)
		require.ErrorContains(t, err, "no moment of a script")
	}
	require.EqualError(t, (&Script{Decisions: []Decision{{When: "flush 1 of node 1", Then: "lost"}}}).validate(), `script: flush 1 of node 1 cannot be "lost"`)
	require.Equal(t, "power cut 1 of node 3: leaves 1-0/0.log +-", (&Decision{When: "power cut 1 of node 3", Then: "leaves", Left: []simdisk.Left{{Path: "1-0/0.log", Pages: "+-"}}}).String())
}

func TestHowAProcessDiesIsReadInAnyOrder(t *testing.T) {
	for then, want := range map[string]struct {
		death
		inside int64
	}{
		"loses power":                           {death{lossy: true, told: true}, 0},
		"tells nobody, inside file operation 7": {death{}, 7},
		"inside file operation 7, loses power":  {death{lossy: true, told: true}, 7},
	} {
		d, inside, ok := deathIn(then, death{told: true})
		require.True(t, ok, then)
		require.Equal(t, want.death, d, then)
		require.Equal(t, want.inside, inside, then)
	}
	for _, then := range []string{"", "lose power", "loses power tells nobody", "inside file operation 0", "inside file operation x"} {
		s := &Script{Decisions: []Decision{{When: "crash 1 of node 1", Then: then}}}
		require.ErrorContains(t, s.validate(), "crash 1 of node 1 cannot be", then)
	}
}
