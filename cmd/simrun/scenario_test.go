package main

import (
	"os"
	"path/filepath"
	"strings"
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

// The scenarios of delivery do the same work under the same crashes: they differ in
// how the work is done, and in nothing else. So their figures can be compared.
func TestTheStylesOfDeliveryDifferInNothingElse(t *testing.T) {
	plans, err := loadScenarios(withSeries([]string{"delivery"}))
	require.NoError(t, err)
	require.Len(t, plans, 3)
	var names []string
	for _, p := range plans {
		names = append(names, p.Name)
		p.Name, p.Prose, p.Expect = "", "", sim.Expect{}
		for i := range p.Clients {
			c := &p.Clients[i]
			if c.Role == sim.Worker || c.Role == sim.Processor {
				c.Role, c.Style, c.Acks, c.Idempotent, c.Transactional, c.Limit = "", "", 0, false, "", 0
			}
		}
		require.Equal(t, plans[0], p, p.Name)
	}
	require.Equal(t, []string{"delivery-at-least-once", "delivery-at-most-once", "delivery-exactly-once"}, names)
	require.Equal(t, []string{"keys-stay-in-order"}, withSeries([]string{"keys-stay-in-order"}))
}

func TestOutputsAreSetSideBySide(t *testing.T) {
	var out strings.Builder
	table := outputTable{rows: []outputRow{
		{"delivery-at-most-once", sim.Outputs{Inputs: 10, Skipped: 3, Exact: 7}},
		{"delivery-exactly-once", sim.Outputs{Inputs: 10, Exact: 10}},
	}}
	table.print(&out)
	require.Equal(t, `
of the records to work on         all  skipped repeated    exact
delivery-at-most-once              10        3        0        7
delivery-exactly-once              10        0        0       10
`, out.String())
}
