package main

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/tamarack-mq/tamarack/sim"
)

// crashFlags choose where the power goes.
type crashFlags struct {
	node, every, points int
	event               uint64
	at                  string
}

func crashCommand() *cobra.Command {
	f := crashFlags{}
	search := sim.CrashSearch{}
	var save string
	c := &cobra.Command{
		Use:   "crash SEED|FILE",
		Short: "Cuts the power of a node at chosen points of a run, in every way the disk allows.",
		Long: `Cuts the power of a node at chosen points of a run, in every way the disk allows.

At each point the run is forked into one world for each subset of what is not
synced (pages, sizes, names in folders); where these are too many, for each
boundary, each thing alone, and a sample. Each world is played to its end and
judged. A world that fails is saved as a plan that plays on its own.

  simrun crash 3 --event 5000 --node 2        one point
  simrun crash 3 --at sync --every 10         before every tenth flush, at all nodes
  simrun crash 3 --at op --every 50 --node 2  inside every fiftieth file operation`,
		Args: oneRun,
		RunE: func(_ *cobra.Command, args []string) error {
			plan, err := sim.LoadPlan(args[0])
			if err != nil {
				return err
			}
			if f.every < 1 || f.points < 0 || search.Limit < 1 {
				return fmt.Errorf("--every and --limit are 1 or above, --points 0 or above")
			}
			if f.node < 0 || f.node > plan.Cluster.Nodes {
				return fmt.Errorf("there is no node %d: the run has nodes 1 to %d", f.node, plan.Cluster.Nodes)
			}
			if err := errors.Join(sideBySide(search.Workers), writable(save)); err != nil {
				return err
			}
			if r := sim.Run(plan, sim.Options{}); r.Failure != nil {
				fmt.Println("the run fails without a crash already:")
				printFailure(r, args[0])
				return ended(r.Class)
			}
			search.Plan = plan
			if search.Points, err = f.choose(plan); err != nil {
				return err
			}
			report, err := sim.SearchCrashes(&search)
			if err != nil {
				return err
			}
			if report.Points == 0 && report.Skipped == 0 {
				return fmt.Errorf("no world was played: node %d of this run never comes to event %d", f.node, f.event)
			}
			return printCrashes(report, search.Again, save)
		},
	}
	c.Flags().IntVar(&f.node, "node", 0, "the node; 0: each of them in turn")
	c.Flags().Uint64Var(&f.event, "event", 0, "the one event before which the power goes; needs --node")
	c.Flags().StringVar(&f.at, "at", string(sim.AtSyncs), "where else: event (events of the node), sync (before a flush completes), op (inside file operations, also of recoveries)")
	c.Flags().IntVar(&f.every, "every", 10, "of these every so many-th")
	c.Flags().IntVar(&f.points, "points", 0, "at most so many points, evenly spread; 0: all")
	c.Flags().IntVar(&search.Limit, "limit", 256, "worlds for each point")
	c.Flags().BoolVar(&search.Again, "again", false, "cut the power once more inside each file operation of the recovery that follows")
	c.Flags().DurationVar(&search.Budget, "budget", 0, "begin no world after this much time")
	c.Flags().BoolVar(&search.Stop, "stop", false, "begin no world once one has failed")
	c.Flags().IntVar(&search.Workers, "workers", 0, "runs side by side; 0: one for each core")
	c.Flags().StringVarP(&save, "out", "o", "crash-world.json", "where to save the plan of the first world that fails")
	return c
}

// choose lists the points.
func (f *crashFlags) choose(plan *sim.Plan) ([]sim.ExactCrash, error) {
	if f.event > 0 {
		if f.node < 1 {
			return nil, fmt.Errorf("--event needs --node: whose power goes")
		}
		return []sim.ExactCrash{{Node: f.node, Event: f.event}}, nil
	}
	at := sim.Moment(f.at)
	if at != sim.AtEvents && at != sim.AtSyncs && at != sim.AtOps {
		return nil, fmt.Errorf("--at %s: it is event, sync or op", f.at)
	}
	list := sim.Survey(plan, at, f.node, f.every)
	if f.points > 0 && len(list) > f.points {
		some := make([]sim.ExactCrash, f.points)
		for i := range some {
			some[i] = list[i*len(list)/f.points]
		}
		list = some
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("there is no such point: try a smaller --every")
	}
	return list, nil
}

// printCrashes prints what came of a search and saves the first failing world.
func printCrashes(r *sim.CrashReport, again bool, save string) error {
	for i := range r.Failures {
		f := &r.Failures[i]
		path := save
		if i > 0 {
			path = fmt.Sprintf("%s.%d", save, i+1)
		}
		if err := sim.Failed(f.Plan, f.Result, codeVersion(), os.Getenv(bugVariable)).Save(path); err != nil {
			return err
		}
		fmt.Printf("FAILED in %s, class %s\n", counted(f.Count, "world"), f.Result.Class)
		for k := range f.Plan.Exact {
			x := &f.Plan.Exact[k]
			fmt.Printf("  power     %s; left: %s\n", x.String(), tellLeft(x))
		}
		printFailure(f.Result, path)
		fmt.Println()
	}
	fmt.Printf("points      %d; at %d of them every subset of what was unsynced (at most %d things) was tried\n", r.Points, r.Whole, r.Unsynced)
	fmt.Printf("worlds      %d: %d passed, %d failed; %.1f worlds/s\n", r.Worlds, r.Passed, r.Worlds-r.Passed, float64(r.Worlds)/r.Wall.Seconds())
	fmt.Printf("outcomes    %d different recoveries\n", r.Outcomes)
	if again {
		fmt.Println("            and each of them cut off again inside each of its file operations")
	}
	if r.Skipped > 0 {
		fmt.Printf("left out    %d points and worlds, for lack of time or after a failure\n", r.Skipped)
	}
	fmt.Printf("took        %s\n", r.Wall.Round(time.Millisecond))
	if len(r.Failures) == 0 {
		return nil
	}
	return ended(r.Failures[0].Result.Class)
}

// tellLeft tells in one line what a power cut left.
func tellLeft(x *sim.ExactCrash) string {
	s := ""
	for _, l := range x.Left {
		s += l.Path
		if l.Names != "" {
			s += " names " + l.Names
		}
		if l.Pages != "" {
			s += " pages " + l.Pages
		}
		s += fmt.Sprintf(" size %d; ", l.Size)
	}
	if s == "" {
		return "all was synced"
	}
	return s[:len(s)-2]
}
