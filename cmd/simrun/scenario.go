package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/tamarack-mq/tamarack/scenarios"
	"github.com/tamarack-mq/tamarack/sim"
	"github.com/tamarack-mq/tamarack/topology"
)

func scenarioCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "scenario [NAME or FILE...]",
		Short: "Plays named scenarios; all of them without a name.",
		Long: `Plays named scenarios, plans from files (*.json), or the configuration of a
topic with its producer and consumer groups (*.yaml), which is run under
crashes and power losses. Without a name all named scenarios are played.`,
		RunE: func(_ *cobra.Command, names []string) error {
			if len(names) == 0 {
				names = scenarios.Names()
			}
			plans, err := loadScenarios(names)
			if err != nil {
				return err
			}
			worst := sim.Passed
			for i, p := range plans {
				r := sim.Run(p, sim.Options{})
				complaints := sim.Unmet(p, r)
				if len(complaints) == 0 {
					fmt.Printf("ok      %-40s %s\n", p.Name, p.Prose)
					continue
				}
				fmt.Printf("FAILED  %-40s %s\n", p.Name, p.Prose)
				for _, c := range complaints {
					fmt.Printf("  %s\n", c)
				}
				if r.Failure != nil {
					printFailure(r, planFile(names[i]))
				}
				if r.Class == sim.Passed {
					r.Class = sim.Safety
				}
				worst = r.Class
			}
			return ended(worst)
		},
	}
}

// planFile is where the plan is that a scenario was read from.
func planFile(name string) string {
	if filepath.Ext(name) != "" {
		return name
	}
	return "scenarios/" + name + ".json"
}

// loadScenarios reads named scenarios, or all.
func loadScenarios(names []string) (plans []*sim.Plan, err error) {
	if len(names) == 0 {
		names = scenarios.Names()
	}
	for _, name := range names {
		if ext := filepath.Ext(name); ext == ".yaml" || ext == ".yml" {
			t, err := topology.Load(name)
			if err != nil {
				return nil, err
			}
			plans = append(plans, sim.TopologyPlan(t))
			continue
		}
		b, err := readScenario(name)
		if err != nil {
			return nil, fmt.Errorf("there is no scenario %q: see simrun list", name)
		}
		p, err := sim.ParsePlan(b)
		if err != nil {
			return nil, fmt.Errorf("scenario %s: %w", name, err)
		}
		if p.Expect.Empty() {
			return nil, fmt.Errorf("scenario %s promises nothing: say in expect what must hold and what must be seen", name)
		}
		plans = append(plans, p)
	}
	return plans, nil
}

// readScenario reads a plan from a file, or one of the named ones.
func readScenario(name string) ([]byte, error) {
	if filepath.Ext(name) == ".json" {
		return os.ReadFile(name)
	}
	return scenarios.Read(name)
}

func listCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "Lists scenarios, planted bugs, faults, invariants and marks.",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			fmt.Println("scenarios")
			plans, err := loadScenarios(nil)
			if err != nil {
				return err
			}
			for _, p := range plans {
				fmt.Printf("  %-40s %s\n", p.Name, p.Prose)
			}
			listBugs()
			fmt.Println("faults")
			names, prose := sim.Faults()
			for i := range names {
				fmt.Printf("  %-40s %s\n", names[i], prose[i])
			}
			fmt.Println("invariants with an observer")
			for _, n := range sim.Invariants() {
				fmt.Printf("  %s\n", n)
			}
			fmt.Println("marks")
			for _, m := range sim.MarkNames() {
				fmt.Printf("  %s\n", m)
			}
			return nil
		},
	}
}
