package sim

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// Every plan that once showed a fault of our own stays and must pass.
func TestWhatWasBrokenOnceStaysWhole(t *testing.T) {
	files, err := filepath.Glob("../scenarios/regressions/*.json")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			plan, err := LoadPlan(file)
			require.NoError(t, err)
			r := Run(plan, Options{})
			require.Equal(t, Passed, r.Class, "%+v; again: go run ./cmd/simrun replay %s", r.Failure, file[3:])
		})
	}
}
