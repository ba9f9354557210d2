package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/tamarack-mq/tamarack/hunt"
)

// errBugsLeft says that not every planted bug was found; which is printed.
var errBugsLeft = errors.New("not every planted bug was found")

func bugsCommand() *cobra.Command {
	var from, scoreboard string
	var seeds, jobs, starts int
	var start uint64
	var limit, budget time.Duration
	var shrinks string
	var missing bool
	c := &cobra.Command{
		Use:   "bugs [NAME...]",
		Short: "Plants known bugs and has the simulator find them; all of them without a name.",
		Long: `Plants known bugs and has the simulator find them; all of them without a name.

Each is built outside the working tree (go build -overlay) and hunted seed by
seed, from each start anew; figures are medians. Exit code 0 only when every one
was found by an invariant that it names, at a seed that the code without it
passes. One that has a guard must not be found before that is off, too.`,
		RunE: func(_ *cobra.Command, names []string) error {
			ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
			defer stop()
			root, err := hunt.Root()
			if err != nil {
				return err
			}
			bugs, err := chooseBugs(root, from, names, seeds)
			if err != nil {
				return err
			}
			firsts := make([]uint64, max(1, starts))
			for i := range firsts {
				firsts[i] = start + uint64(i)*startsApart
			}
			keep := func([]hunt.Outcome) error { return nil }
			if missing && scoreboard == "" {
				return errors.New("--missing needs --scoreboard: of which page are they missing?")
			}
			if scoreboard != "" { // after each bug: what is known survives an interrupt
				all, err := chooseBugs(root, from, nil, 0)
				if err != nil {
					return err
				}
				board, err := hunt.BoardOf(scoreboard, all)
				if err != nil {
					return err
				}
				if missing {
					bugs = slices.DeleteFunc(bugs, func(b hunt.Bug) bool { return board[b.Name] != "" })
				}
				keep = func(so []hunt.Outcome) error {
					board.Add(so)
					return board.Write(scoreboard)
				}
			}
			outcomes, err := huntAll(ctx, root, from, bugs, firsts, jobs, limit, keep)
			if err != nil {
				return err
			}
			fmt.Println()
			hunt.Table(os.Stdout, outcomes)
			if shrinks != "" {
				if err := shrinkFound(ctx, root, from, shrinks, budget, outcomes); err != nil {
					return err
				}
			}
			if left := slices.IndexFunc(outcomes, func(o hunt.Outcome) bool { return !o.Verdict.Kept() }); left >= 0 {
				return errBugsLeft
			}
			return nil
		},
	}
	c.Flags().StringVar(&from, "from", plantedFolder, "folder with the bugs, from the root of the source tree")
	c.Flags().IntVar(&seeds, "seeds", 0, "seeds to try for each; 0: what its file says")
	c.Flags().Uint64Var(&start, "start", 1, "the first seed")
	c.Flags().StringVar(&shrinks, "shrink", "", "then shrink the seed of each bug that was found, save the plans in this folder and print how small they are")
	c.Flags().DurationVar(&budget, "shrink-budget", 2*time.Minute, "with --shrink: longest time for one plan")
	c.Flags().IntVar(&starts, "starts", 1, "searches for each, from seeds far apart")
	c.Flags().IntVar(&jobs, "jobs", 1, "bugs hunted side by side")
	c.Flags().DurationVar(&limit, "limit", 0, "longest time for one bug; 0: none")
	c.Flags().StringVar(&scoreboard, "scoreboard", "", "write the outcome to this page, as docs/scoreboard.md; rows of other bugs stay")
	c.Flags().BoolVar(&missing, "missing", false, "only those that have no row in the --scoreboard: to go on after an interrupt")
	return c
}

// startsApart is the distance between two starts: more than any budget.
const startsApart = 1_000_000

// listBugs names the planted bugs, when the source tree is at hand.
func listBugs() {
	root, err := hunt.Root()
	if err != nil {
		return
	}
	bugs, err := chooseBugs(root, plantedFolder, nil, 0)
	if err != nil {
		return
	}
	fmt.Println("planted bugs")
	for _, b := range bugs {
		fmt.Printf("  %-46s %-12s %s\n", b.Name, b.Area, b.Source)
	}
}

// chooseBugs loads the bugs of a folder, or those that are named.
func chooseBugs(root, from string, names []string, seeds int) ([]hunt.Bug, error) {
	if !filepath.IsAbs(from) {
		from = filepath.Join(root, from)
	}
	all, err := hunt.Load(from)
	if err != nil {
		return nil, err
	}
	bugs := all
	if len(names) > 0 {
		bugs = nil
		for _, name := range names {
			i := slices.IndexFunc(all, func(b hunt.Bug) bool { return b.Name == name })
			if i < 0 {
				return nil, fmt.Errorf("there is no bug %q in %s", name, from)
			}
			bugs = append(bugs, all[i])
		}
	}
	if seeds > 0 {
		for i := range bugs {
			bugs[i].Seeds = seeds
		}
	}
	return bugs, nil
}

// plantedFolder is where the bugs are that come with the source tree.
const plantedFolder = "scenarios/bugs"

// nameOf is what --bug finds a bug of a folder by.
func nameOf(from string, b *hunt.Bug) string {
	if from == plantedFolder {
		return b.Name
	}
	return filepath.Join(from, b.Name+".yaml")
}

// huntAll hunts bugs, some side by side, and prints each outcome as it comes.
// keep is given all outcomes so far, in the order of the bugs.
func huntAll(ctx context.Context, root, from string, bugs []hunt.Bug, starts []uint64, jobs int, limit time.Duration, keep func([]hunt.Outcome) error) ([]hunt.Outcome, error) {
	work, err := os.MkdirTemp("", "simrun-bugs-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(work)
	workers := max(1, runtime.GOMAXPROCS(0)/max(1, jobs))
	h := &hunt.Hunter{Root: root, Work: work, Starts: starts, Runner: hunt.Campaigns{Workers: workers}}
	outcomes, known := make([]hunt.Outcome, len(bugs)), make([]bool, len(bugs))
	var group errgroup.Group
	var print sync.Mutex
	group.SetLimit(max(1, jobs))
	for i := range bugs {
		group.Go(func() error {
			within := ctx
			if limit > 0 {
				var cancel context.CancelFunc
				within, cancel = context.WithTimeout(ctx, limit)
				defer cancel()
			}
			outcome := h.Hunt(within, bugs[i])
			if ctx.Err() != nil {
				return ctx.Err() // what was cut short says nothing
			}
			print.Lock()
			defer print.Unlock()
			outcomes[i], known[i] = outcome, true
			hunt.Row(os.Stdout, &outcomes[i])
			if outcomes[i].Verdict.Kept() {
				best := outcomes[i].Best()
				printCommands(nameOf(from, &bugs[i]), strconv.FormatUint(best.Seed, 10), best.Event)
			}
			var so []hunt.Outcome
			for j := range outcomes {
				if known[j] {
					so = append(so, outcomes[j])
				}
			}
			return keep(so)
		})
	}
	return outcomes, group.Wait()
}
