package sim

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core/chance"
	"github.com/tamarack-mq/tamarack/storage/vfs/simdisk"
)

// briefPlan is a run that is over soon: a search plays it hundreds of times.
func briefPlan() *Plan {
	p := smallPlan()
	p.Phases = PhasePlan{Warm: 1500 * Millisecond, Faults: 1500 * Millisecond, Drain: 500 * Millisecond, Rest: 60 * Second}
	p.Cluster.Tidy = 8
	return p
}

// search carries a search out and demands that every world passes.
func search(t *testing.T, s *CrashSearch) *CrashReport {
	t.Helper()
	r, err := SearchCrashes(s)
	require.NoError(t, err)
	for i := range r.Failures {
		b, _ := json.Marshal(r.Failures[i].Plan.Exact)
		t.Errorf("%s\nsmallPlan with \"exact\": %s", r.Failures[i].Result.Failure.Sentence, b)
	}
	require.Equal(t, r.Worlds, r.Passed)
	return r
}

func TestEveryWayToLoseAFlushIsSurvived(t *testing.T) {
	p := briefPlan()
	points := Survey(p, AtSyncs, 0, 15)
	require.NotEmpty(t, points)
	r := search(t, &CrashSearch{Plan: p, Points: points, Limit: 24})
	require.Equal(t, len(points), r.Points)
	require.Greater(t, r.Worlds, r.Points)
	require.Greater(t, r.Outcomes, 1)
	require.Zero(t, r.Skipped)
}

// The whole life of one node's disk: the power goes inside its file operations,
// and once more inside those of the recovery.
func TestACrashInsideFileOperationsAndAgainInRecoveryIsSurvived(t *testing.T) {
	p := briefPlan()
	every := 60
	if testing.Short() {
		every = 90
	}
	points := Survey(p, AtOps, 2, every)
	require.NotEmpty(t, points)
	r := search(t, &CrashSearch{Plan: p, Points: points[:len(points)*2/3], Limit: 3, Again: true})
	require.Greater(t, r.Worlds, 4*r.Points)
}

func TestAWorldPlaysOnItsOwn(t *testing.T) {
	p := briefPlan()
	var plans []*Plan
	for _, at := range Survey(p, AtSyncs, 1, 5) {
		worlds, w := fork(p, at, 4)
		require.NotEmpty(t, worlds)
		require.Positive(t, w.unsynced)
		plans = append(plans, worlds...)
	}
	hashes := map[uint64]bool{}
	for _, world := range plans {
		b, err := json.Marshal(world)
		require.NoError(t, err)
		again, err := ParsePlan(b)
		require.NoError(t, err)
		first, second := Run(world, Options{}), Run(again, Options{TraceFrom: 1, TraceTo: 1 << 60})
		require.Equal(t, first.Hash, second.Hash)
		require.Equal(t, Passed, second.Class)
		text, _ := json.Marshal(second.Trace)
		require.Contains(t, string(text), "node 1 dies and loses power")
		require.False(t, bytes.Contains(text, []byte("fit nothing")))
		hashes[first.Hash] = true
	}
	require.Greater(t, len(hashes), len(plans)/4)
}

func TestAnExactCrashMustBeOneMoment(t *testing.T) {
	p := briefPlan()
	p.Exact = []ExactCrash{{Node: 4, Event: 3}}
	require.ErrorContains(t, p.Validate(), "there is no node 4")
	p.Exact = []ExactCrash{{Node: 1}}
	require.ErrorContains(t, p.Validate(), "an event or a file operation")
	p.Exact = []ExactCrash{{Node: 1, Event: 3, Op: 4}}
	require.ErrorContains(t, p.Validate(), "not both")
}

// Two pages and a size: dropped, each page alone, both, and the old size.
func TestAllSubsetsAreTriedWhereThereAreFew(t *testing.T) {
	d := simdisk.New()
	f, err := d.Create("it")
	require.NoError(t, err)
	require.NoError(t, d.SyncDir(""))
	_, err = f.WriteAt(bytes.Repeat([]byte("x"), 6000), 0)
	require.NoError(t, err)
	w := waysToLeave(d, 100, chance.New(1))
	require.True(t, w.all)
	require.Equal(t, 3, w.unsynced)
	require.Equal(t, [][]simdisk.Left{
		{{Path: "it", Pages: "--"}},
		{{Path: "it", Pages: "--", Size: 6000}},
		{{Path: "it", Pages: "+-", Size: 6000}},
		{{Path: "it", Pages: "-+", Size: 6000}},
		{{Path: "it", Pages: "++", Size: 6000}},
		// and on top of them
		{{Path: "it", Pages: "~+", Size: 6000}},
		{{Path: "it", Pages: "?+", Size: 6000}},
		{{Path: "it", Pages: "+~", Size: 6000}},
		{{Path: "it", Pages: "+?", Size: 6000}},
	}, w.left)
}

func TestWhereThereAreManyBoundariesAndASampleAreTried(t *testing.T) {
	d := simdisk.New()
	f, err := d.Create("it")
	require.NoError(t, err)
	_, err = f.WriteAt(bytes.Repeat([]byte("x"), 20*4096), 0)
	require.NoError(t, err)
	w := waysToLeave(d, 200, chance.New(1))
	require.False(t, w.all)
	require.Equal(t, 22, w.unsynced)
	require.Len(t, w.left, 200)
	boundary := simdisk.Left{Path: "it", Pages: "+++++++-------------", Size: 20 * 4096}
	require.Contains(t, w.left, []simdisk.Left{{Path: "/", Names: "+"}, boundary})
}
