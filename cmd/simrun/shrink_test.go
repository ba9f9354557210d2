package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/hunt"
	"github.com/tamarack-mq/tamarack/shrink"
	"github.com/tamarack-mq/tamarack/sim"
)

// A planted bug is found, its seed shrinks to what a person can hold in the head,
// and the small plan fails in that code and passes in this one. All of them:
// simrun bugs --shrink DIR.
func TestPlantedBugsShrink(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles the program for each bug")
	}
	root, err := hunt.Root()
	require.NoError(t, err)
	for _, name := range []string{"repeat-appended-again", "flush-without-sync", "commit-below-min-isr"} {
		t.Run(name, func(t *testing.T) {
			bug, err := hunt.Find(filepath.Join(root, filepath.FromSlash(plantedFolder)), name)
			require.NoError(t, err)
			binary, err := hunt.Planted(t.Context(), root, bug)
			require.NoError(t, err)
			search, err := hunt.Campaigns{}.FirstFailure(t.Context(), binary, 1, 100)
			require.NoError(t, err)
			failing := search.Failing
			require.NotNil(t, failing, "the bug is not found any more: simrun bugs %s", name)

			seed := strconv.FormatUint(failing.Seed, 10)
			plan, sizes := filepath.Join(t.TempDir(), "small.json"), filepath.Join(t.TempDir(), "sizes.json")
			said, err := exec.CommandContext(t.Context(), binary, "shrink", seed, "-o", plan, "--json", sizes).CombinedOutput()
			again := "again: simrun shrink " + seed + " --bug " + name
			require.NoError(t, err, "%s\n%s", again, said)
			raw, err := os.ReadFile(sizes)
			require.NoError(t, err)
			var o shrink.Outcome
			require.NoError(t, json.Unmarshal(raw, &o))
			require.True(t, o.After.Small(), "%s\n%s", again, said)

			small, err := sim.LoadPlan(plan)
			require.NoError(t, err)
			require.Contains(t, small.Saved.Fingerprint, failing.Invariant, again)
			require.Nil(t, sim.Run(small, sim.Options{}).Failure, "the code without the bug plays the plan; %s", again)
			err = exec.CommandContext(t.Context(), binary, "replay", plan).Run()
			var ended *exec.ExitError
			require.ErrorAs(t, err, &ended, "the code with the bug fails; %s", again)
		})
	}
}
