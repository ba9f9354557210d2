package sim

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestSeedsAreNumbersRangesOrCommits(t *testing.T) {
	const all = manySeeds
	for given, want := range map[string][4]uint64{
		"10..20":            {10, 20, 10, 20},
		"7":                 {7, 7, 7, 7},
		"7+3":               {7, 9, 7, 9},
		"9ccf0a151add8":     {0x9ccf0a151add8, 0x9ccf0a151add8 + 99, 0x9ccf0a151add8, 0x9ccf0a151add8 + all},
		"9ccf0a151add8+500": {0x9ccf0a151add8, 0x9ccf0a151add8 + 499, 0x9ccf0a151add8, 0x9ccf0a151add8 + 499},
		"9ccf0a151add8c446fb8226713298ad40d8ca575": {0x9ccf0a151add8, 0x9ccf0a151add8 + 99, 0x9ccf0a151add8, 0x9ccf0a151add8 + all},
	} {
		from, to, err := ParseSeeds(given)
		require.NoError(t, err, given)
		openFrom, openTo, err := ParseOpenSeeds(given)
		require.NoError(t, err, given)
		require.Equal(t, want, [4]uint64{from, to, openFrom, openTo}, given)
	}
	from, to, err := ParseOpenSeeds("")
	require.NoError(t, err)
	require.Equal(t, [2]uint64{1, all}, [2]uint64{from, to})
	for _, wrong := range []string{"", "x", "20..10", "12..y", "7+0", "7+", "7+x", "abcdefx", "9ccf0a151add8x", "9ccf0a1", "9ccf0a151add", "9ccf0a1+500", "1..9ccf0a1", "18446744073709551615+2"} {
		_, _, err := ParseSeeds(wrong)
		require.Error(t, err, wrong)
	}
}

func TestFailuresOfOneCauseAreOne(t *testing.T) {
	r := &Report{}
	tally := newTally(r)
	fail := func(seed, event uint64, cause string) {
		tally.add(&Result{Seed: seed, Class: Safety, Stats: Stats{Events: event}, Failure: &Failure{Invariant: "INV-5", Cause: cause}}, false)
	}
	fail(1, 900, "a")
	fail(2, 100, "a")
	fail(3, 500, "b")
	tally.add(&Result{Seed: 4, Class: Passed, Marks: []Mark{{"a process crashed", 2}}}, true)
	tally.finish()
	require.Equal(t, []string{"INV-5: a", "INV-5: b"}, []string{r.Failures[0].Fingerprint, r.Failures[1].Fingerprint})
	require.Equal(t, []uint64{2, 1}, r.Failures[0].Seeds)
	require.Equal(t, uint64(2), r.Failures[0].First.Seed)
	require.Equal(t, Safety, r.Worst())
	require.Equal(t, Mark{"a process crashed", 2}, r.Marks[0])

	other := &Report{}
	tally = newTally(other)
	fail(11, 300, "b")
	fail(12, 50, "a")
	fail(13, 60, "c")
	tally.finish()
	merged := Merge([]*Report{r, other})
	var found []string
	for _, f := range merged.Failures {
		found = append(found, fmt.Sprint(f.Fingerprint, " ", f.Count, " ", f.First.Seed, " ", f.Seeds))
	}
	require.Equal(t, []string{"INV-5: a 3 12 [12 2 1]", "INV-5: c 1 13 [13]", "INV-5: b 2 11 [11 3]"}, found, "the quickest to fail first")
	require.Equal(t, 7, merged.Runs)
	require.Equal(t, uint64(1), merged.Lowest.Seed)
	require.Equal(t, Mark{"a process crashed", 2}, merged.Marks[0])
}

// ran is a passed run that reached marks.
func ran(seed uint64, marks ...Mark) *Result { return &Result{Seed: seed, Class: Passed, Marks: marks} }

func TestGroundIsHowOftenAndWhichTogether(t *testing.T) {
	crash, power := markNames[markCrashed], markNames[markPowerLost]
	var g Ground
	to := newGround(&g)
	for _, step := range []struct {
		run    *Result
		points int
		since  int
	}{
		{ran(1, Mark{crash, 1}), 1, 0},
		{ran(2, Mark{crash, 1}), 1, 1},
		{ran(3, Mark{crash, 3}), 2, 0},                      // at least twice
		{ran(4, Mark{crash, 2}), 2, 1},                      // the same
		{ran(5, Mark{crash, 9}), 4, 0},                      // four times, eight times
		{ran(6, Mark{power, 1}), 5, 0},                      //
		{ran(7, Mark{crash, 1}, Mark{power, 1}), 6, 0},      // both in one run
		{ran(8, Mark{crash, 8}, Mark{power, 1}), 6, 1},      //
		{ran(9, Mark{"a mark of other code", 1}), 6, 2},     //
		{ran(10), 6, 3},                                     //
		{ran(11, Mark{crash, 1e9}), 6 + markDegrees - 4, 0}, // there are no more degrees than that
		{ran(12, Mark{crash, 1e12}), 6 + markDegrees - 4, 1},
	} {
		to.add(step.run)
		require.Equal(t, [2]int{step.points, step.since}, [2]int{g.Points, g.Since}, "seed %d", step.run.Seed)
	}
	require.Equal(t, uint64(11), g.Last)

	var other Ground
	newGround(&other).add(ran(1, Mark{crash, 1}, Mark{markNames[markDiskFull], 1}))
	require.Equal(t, 3, other.Points)
	b, err := json.Marshal(&Report{Ground: other})
	require.NoError(t, err)
	var read Report
	require.NoError(t, json.Unmarshal(b, &read))
	merged := Merge([]*Report{{Ground: g}, &read})
	require.Equal(t, g.Points+2, merged.Ground.Points, "that of a crash is there already")
}

func TestACampaignEndsWhenItCoversNoNewGround(t *testing.T) {
	c := &Campaign{From: 1, To: manySeeds, Workers: 1, Plateau: 3, Code: "c0ffee", Plan: func(uint64) *Plan { return toyPlan(1) }}
	r := c.Run()
	require.True(t, r.Plateau)
	require.Equal(t, 4, r.Runs, "the first covers what all do")
	require.Equal(t, []Part{{Name: fmt.Sprintf("seeds 1..%d", manySeeds), Code: "c0ffee", From: 1, To: manySeeds, Last: 1, Runs: 4, Void: 4, Wall: r.Wall}}, r.Parts)
}

func TestAnInterruptedCampaignTellsWhatItHas(t *testing.T) {
	interrupt := make(chan struct{})
	c := &Campaign{From: 1, To: manySeeds, Workers: 1, Plan: toyPlan, Interrupt: interrupt, Each: func(_ *Result, soFar *Report) {
		if soFar.Runs == 3 {
			close(interrupt)
		}
	}}
	r := c.Run()
	require.True(t, r.Interrupted)
	require.Less(t, r.Runs, 10, "at most those that were on their way")
	require.GreaterOrEqual(t, r.Runs, 3)
	require.True(t, Merge([]*Report{{}, r}).Interrupted)
}

func TestShardsShareTheSeedsAndTheRepeats(t *testing.T) {
	var all []uint64
	reports := make([]*Report, 3)
	for i := range reports {
		c := &Campaign{From: 1, To: 60, Shard: i + 1, Shards: 3, Workers: 1, Plan: toyPlan, Each: func(r *Result, _ *Report) { all = append(all, r.Seed) }}
		reports[i] = c.Run()
		require.Equal(t, 20, reports[i].Runs)
		require.GreaterOrEqual(t, reports[i].Twice, 1, "each shard runs some of its seeds twice")
	}
	require.ElementsMatch(t, func() (want []uint64) {
		for s := uint64(1); s <= 60; s++ {
			want = append(want, s)
		}
		return want
	}(), all)
	merged := Merge(reports)
	require.Equal(t, 60, merged.Runs)
	require.Equal(t, []string{"seeds 1..60, shard 1/3", "seeds 1..60, shard 2/3", "seeds 1..60, shard 3/3"},
		[]string{merged.Parts[0].Name, merged.Parts[1].Name, merged.Parts[2].Name})
	require.Equal(t, max(reports[0].Wall, reports[1].Wall, reports[2].Wall), merged.Wall)
	require.Less(t, merged.Wall, time.Minute)
}

func TestRunsThatAreMadeTwiceTellWhatCheckingTakes(t *testing.T) {
	r := (&Campaign{From: 1, To: 20, Workers: 1, Plan: toyPlan}).Run()
	require.Equal(t, r.Twice, r.Watched.Runs)
	require.Positive(t, r.Watched.Checking)
	require.Greater(t, r.Watched.Took, r.Watched.Checking)
	require.Equal(t, Watched{Runs: 2 * r.Twice, Took: 2 * r.Watched.Took, Checking: 2 * r.Watched.Checking}, Merge([]*Report{r, r}).Watched)
	require.InDelta(t, 0.25, (&Watched{Took: 4 * time.Second, Checking: time.Second}).Share(), 1e-9)
}
