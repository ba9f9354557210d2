package main

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/sim"
)

func shardOf(i, n int) sim.Part {
	return sim.Part{Name: "seeds 1..20", Code: "a", From: 1, To: 20, Last: 20, Shard: i, Shards: n, Runs: 20 / max(1, n)}
}

func TestReportsOfOtherCampaignsDoNotMerge(t *testing.T) {
	one := shardOf(1, 2)
	require.NoError(t, oneCampaign(nil))
	for _, c := range []struct {
		edit func(*sim.Part)
		says string
	}{
		{func(*sim.Part) {}, ""},
		{func(p *sim.Part) { p.Code = "b" }, "the commit of a.json is a, and that of b.json is b"},
		{func(p *sim.Part) { p.Bug = "x" }, "the planted bug (--bug) of a.json is none, and that of b.json is x"},
		{func(p *sim.Part) { p.Plans = "five" }, "is those of run, and that of b.json is five"},
		{func(p *sim.Part) { p.Shard = 1 }, "a.json (seeds 1..20) and b.json (seeds 1..20) would be counted twice: both ran seed 2"},
		{func(p *sim.Part) { p.Shards = 0 }, "both ran seed 2"},
		{func(p *sim.Part) { p.Shard, p.Shards, p.From = 2, 3, 2 }, "both ran seed 4"},
		{func(p *sim.Part) { p.Shard, p.Shards, p.Last = 2, 3, 3 }, ""},
		{func(p *sim.Part) { p.Shards, p.From, p.To, p.Last = 0, 21, 40, 40 }, ""},
		{func(p *sim.Part) { p.Shards, p.Runs, p.Last = 0, 0, 0 }, ""},
	} {
		other := shardOf(2, 2)
		c.edit(&other)
		err := oneCampaign([]filedPart{{&one, "a.json"}, {&other, "b.json"}})
		if c.says == "" {
			require.NoError(t, err)
			continue
		}
		require.ErrorContains(t, err, c.says)
	}
}

func TestShardsThatAreMissingAreNamed(t *testing.T) {
	require.Empty(t, missingShards([]sim.Part{shardOf(0, 0), shardOf(1, 1)}))
	require.Empty(t, missingShards([]sim.Part{shardOf(2, 2), shardOf(1, 2)}))
	require.Equal(t, []string{"1/4", "3/4"}, missingShards([]sim.Part{shardOf(4, 4), shardOf(2, 4)}))
}

// TestAMergedReportNamesTheBug: the commands of a report that was made with a planted
// bug show nothing without it.
func TestAMergedReportNamesTheBug(t *testing.T) {
	file := filepath.Join(t.TempDir(), "shard.json")
	part := shardOf(1, 1)
	part.Bug = "repeat-appended-again"
	require.NoError(t, writeJSON(file, &sim.Report{Parts: []sim.Part{part}}))
	r, err := readReport(file)
	require.NoError(t, err)
	require.Equal(t, part.Bug, bugOf(sim.Merge([]*sim.Report{r})))
}
