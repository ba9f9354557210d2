package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/sim"
)

// TestASavedPlanNamesTheBugThatItNeeds: without it nothing is broken, and who is not
// told looks for the reason in the plan.
func TestASavedPlanNamesTheBugThatItNeeds(t *testing.T) {
	failed := &sim.Result{Class: sim.Safety, Failure: &sim.Failure{Invariant: "INV-2"}}
	plan := func(bug string) *sim.Plan { return sim.Failed(sim.NewPlan(1), failed, "c0ffee", bug) }
	for _, c := range []struct{ running, made, says string }{
		{"", "", ""},
		{"", "x", "; it was made with --bug x: add that"},
		{"y", "x", "; it was made with --bug x: add that"},
		{"x", "x", ""},
		{"x", "", ""},
	} {
		t.Setenv(bugVariable, c.running)
		require.Equal(t, c.says, otherBug(plan(c.made)))
	}
	require.Empty(t, otherBug(sim.NewPlan(1)), "it was never saved as a failure")
}
