package sim

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A run whose clients do what a list says is the run that the list was made of.
func TestARunListedIsTheSameRun(t *testing.T) {
	seen := map[string]bool{}
	for seed := uint64(1); seed <= 12; seed++ {
		free := Run(NewPlan(seed), Options{Record: true})
		require.Equal(t, Run(NewPlan(seed), Options{}).Hash, free.Hash, "seed %d: recording changes nothing", seed)
		plan := free.Recorded.List(NewPlan(seed))
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
