package main

import (
	"strconv"

	"github.com/spf13/cobra"

	"github.com/tamarack-mq/tamarack/sim"
	"github.com/tamarack-mq/tamarack/witness"
)

// seeCommands are the verbs by which one looks into a run.
func seeCommands() []*cobra.Command {
	list := []*cobra.Command{whyCommand(), explainCommand(), debugCommand()}
	for _, c := range list {
		c.Flags().Bool("script", false, "of a saved failure: play what chance had decided then, and not what it decides now")
	}
	return list
}

// scripted says whether a saved failure is to be played as it was decided then.
func scripted(c *cobra.Command) bool {
	on, err := c.Flags().GetBool("script")
	return on && err == nil
}

// planOf is the plan of a seed or a file.
func planOf(what string, script bool) (*sim.Plan, error) {
	plan, err := sim.LoadPlan(what)
	if err != nil || !script {
		return plan, err
	}
	return asDecided(plan)
}

// watch plays a plan before a witness.
func watch(plan *sim.Plan) (*witness.Run, *sim.Result) {
	run := &witness.Run{}
	r := sim.Run(plan, sim.Options{Witness: run})
	if run.Title == "" {
		run.Title = "seed " + strconv.FormatUint(plan.Seed, 10)
	}
	return run, r
}
