package sim

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/internal/dump"
)

func TestASessionLooksBackAndForth(t *testing.T) {
	s := NewSession(NewPlan(4))
	events := s.Witness().Events
	first, err := s.Dump(events/2, 1)
	require.NoError(t, err)
	late, err := s.Dump(events, 1)
	require.NoError(t, err)
	require.NotEqual(t, first, late)
	again, err := s.Dump(events/2, 1) // going back plays it anew
	require.NoError(t, err)
	require.Equal(t, first, again)
	same, err := NewSession(NewPlan(4)).Dump(events/2, 1)
	require.NoError(t, err)
	require.Equal(t, first, same)

	_, err = s.Dump(1, 99)
	require.ErrorContains(t, err, "there is no node 99")
}

func TestADumpNamesWhatPeopleLookFor(t *testing.T) {
	s := NewSession(NewPlan(4))
	lines, err := s.Dump(s.Witness().Events, 1) // at the end everything is up
	require.NoError(t, err)
	all := strings.Join(lines, "\n")
	for _, part := range []string{"process = up", "disk.file[", "disk.log[", "replica[", ".highWatermark = ", "core.life.", "core.replicas.", "core.groups.", "core.image."} {
		require.Contains(t, all, part)
	}
	paths := map[string]bool{}
	for _, line := range lines {
		require.NotRegexp(t, `\b0xc0[0-9a-f]{8}\b`, line, "an address is not the same each time")
		path, _, ok := strings.Cut(line, " = ")
		require.True(t, ok, line)
		require.False(t, paths[path], "two lines for %s", path)
		paths[path] = true
	}
}

func TestADiffOfOneStepIsSmall(t *testing.T) {
	s := NewSession(NewPlan(4))
	run := s.Witness()
	for i := range run.Rows {
		r := &run.Rows[i]
		if r.What.String() != "append" || r.Event < run.Events/3 {
			continue
		}
		diff, err := s.Diff(int(r.Place), r.Event-1, r.Event)
		require.NoError(t, err)
		require.NotEmpty(t, diff)
		require.Less(t, len(diff), 200, "%s", strings.Join(diff, "\n"))
		return
	}
	t.Fatal("the run has no append")
}

func TestTwoSessionsDumpTheSame(t *testing.T) {
	for seed := uint64(1); seed <= 2; seed++ {
		a, b := NewSession(NewPlan(seed)), NewSession(NewPlan(seed))
		for part := uint64(1); part <= 4; part++ {
			event := a.Witness().Events * part / 4
			for id := 1; id < len(a.at(event).nodes); id++ {
				x, err := a.Dump(event, id)
				require.NoError(t, err)
				y, err := b.Dump(event, id)
				require.NoError(t, err)
				require.Empty(t, dump.Diff(x, y), "seed %d, event %d, node %d", seed, event, id)
				require.Equal(t, len(x), len(y))
			}
		}
	}
}
