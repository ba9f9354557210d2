package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

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
crashes and power losses. Without a name all named scenarios are played.

A series is played by the part of the name that its scenarios share: "delivery"
does the same work under one schedule of crashes in three ways, and prints how many
records each has skipped and repeated.`,
		RunE: func(_ *cobra.Command, names []string) error {
			if len(names) == 0 {
				names = scenarios.Names()
			}
			names = withSeries(names)
			plans, err := loadScenarios(names)
			if err != nil {
				return err
			}
			worst := sim.Passed
			var table outputTable
			for i, p := range plans {
				r := sim.Run(p, sim.Options{})
				if !told(p, r, planFile(names[i])) {
					worst = r.Class
				}
				table.add(p, r)
			}
			table.print(os.Stdout)
			return ended(worst)
		},
	}
}

// told says how a scenario went, and whether it kept its promises.
func told(p *sim.Plan, r *sim.Result, file string) (ok bool) {
	complaints := sim.Unmet(p, r)
	if len(complaints) == 0 {
		fmt.Printf("ok      %-40s %s\n", p.Name, p.Prose)
		return true
	}
	fmt.Printf("FAILED  %-40s %s\n", p.Name, p.Prose)
	for _, c := range complaints {
		fmt.Printf("  %s\n", c)
	}
	if r.Failure != nil {
		printFailure(r, file)
	}
	if r.Class == sim.Passed {
		r.Class = sim.Safety
	}
	return false
}

// withSeries puts the scenarios of a series in the place of its name: "delivery" is
// all that are called delivery-something.
func withSeries(names []string) (all []string) {
	for _, name := range names {
		var series []string
		for _, s := range scenarios.Names() {
			if s == name {
				series = nil
				break
			}
			if strings.HasPrefix(s, name+"-") {
				series = append(series, s)
			}
		}
		if series == nil {
			series = []string{name}
		}
		all = append(all, series...)
	}
	return all
}

// outputTable sets side by side what became of the same work, done in several ways.
type outputTable struct{ rows []outputRow }

type outputRow struct {
	name string
	sim.Outputs
}

// add takes in what a scenario says of outputs, if it does.
func (t *outputTable) add(p *sim.Plan, r *sim.Result) {
	for _, x := range p.Expect.Outputs {
		t.rows = append(t.rows, outputRow{p.Name, sim.OutputsOf(p, x.Group, r.History)})
	}
}

func (t *outputTable) print(w io.Writer) {
	if len(t.rows) < 2 {
		return
	}
	fmt.Fprintf(w, "\n%-28s %8s %8s %8s %8s\n", "of the records to work on", "all", "skipped", "repeated", "exact")
	for _, o := range t.rows {
		fmt.Fprintf(w, "%-28s %8d %8d %8d %8d\n", o.name, o.Inputs, o.Skipped, o.Repeated, o.Exact)
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
		Args:  noArgs,
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
			fmt.Println("invariants")
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
