package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/scenarios"
	"github.com/tamarack-mq/tamarack/sim"
)

// Whatever a scenario was read from, what is printed to replay it can be read.
func TestAFailedScenarioNamesWhatCanBeReplayed(t *testing.T) {
	t.Chdir("../..")
	b, err := scenarios.Read("retention-deletes")
	require.NoError(t, err)
	own := filepath.Join(t.TempDir(), "mine.json")
	require.NoError(t, os.WriteFile(own, b, 0o600))
	for _, name := range []string{"retention-deletes", own, "docs/examples/order-events.yaml"} {
		plans, err := loadScenarios([]string{name})
		require.NoError(t, err)
		again, err := sim.LoadPlan(planFile(name))
		require.NoError(t, err)
		require.Equal(t, plans[0], again)
	}
}
