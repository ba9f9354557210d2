package sim

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// A run whose clients do what a list says is the run that the list was made of.
// Pauses of clients are left out: what such a client does as it wakes up comes
// before or behind what waits for it, and a list cannot say which.
func TestARunListedIsTheSameRun(t *testing.T) {
	seen := map[string]bool{}
	for seed := uint64(1); seed <= 12; seed++ {
		given := NewPlan(seed)
		given.Faults = slices.DeleteFunc(given.Faults, func(f Fault) bool { return f.Kind == ClientPause })
		free := Run(given, Options{Record: true})
		require.Equal(t, Run(given, Options{}).Hash, free.Hash, "seed %d: recording changes nothing", seed)
		plan := free.Recorded.List(given)
		require.NoError(t, plan.Validate(), "seed %d", seed)
		listed := Run(plan, Options{Record: true})
		require.Equal(t, free.Class, listed.Class, "seed %d: %+v", seed, listed.Failure)
		require.Equal(t, free.Recorded.Ops, listed.Recorded.Ops, "seed %d", seed)
		for _, ops := range listed.Recorded.Ops {
			for i := range ops {
				seen[ops[i].Do] = true
			}
		}
	}
	require.GreaterOrEqual(t, len(seen), 9, "the seeds show every operation: %v", seen)
}
