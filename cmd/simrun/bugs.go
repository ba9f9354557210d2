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

// bugsSettings is what the flags of the command say.
type bugsSettings struct {
	from, scoreboard, shrinks string
	seeds, jobs, starts       int
	start                     uint64
	limit, budget             time.Duration
	missing                   bool
}

func bugsCommand() *cobra.Command {
	var s bugsSettings
	c := &cobra.Command{
		Use:   "bugs [NAME...]",
		Short: "Plants known bugs and has the simulator find them; all of them without a name.",
		Long: `Plants known bugs and has the simulator find them; all of them without a name.

Each is built outside the working tree (go build -overlay) and hunted seed by
seed, from each start anew; figures are medians. Exit code 0 only when every one
was found by an invariant that it names, at a seed that the code without it
passes. One that has a guard must not be found before that is off, too.`,
		RunE: func(_ *cobra.Command, names []string) error { return s.run(names) },
	}
	c.Flags().StringVar(&s.from, "from", plantedFolder, "folder with the bugs, from the root of the source tree")
	c.Flags().IntVar(&s.seeds, "seeds", 0, "seeds to try for each; 0: what its file says")
	c.Flags().Uint64Var(&s.start, "start", 1, "the first seed")
	c.Flags().StringVar(&s.shrinks, "shrink", "", "then shrink the seed of each bug that was found, save the plans in this folder and print how small they are")
	c.Flags().DurationVar(&s.budget, "shrink-budget", 2*time.Minute, "with --shrink: longest time for one plan")
	c.Flags().IntVar(&s.starts, "starts", 1, "searches for each, from seeds far apart")
	c.Flags().IntVar(&s.jobs, "jobs", 1, "bugs hunted side by side")
	c.Flags().DurationVar(&s.limit, "limit", 0, "longest time for one bug; 0: none")
	c.Flags().StringVar(&s.scoreboard, "scoreboard", "", "write the outcome to this page, as docs/scoreboard.md; rows of other bugs stay")
	c.Flags().BoolVar(&s.missing, "missing", false, "only those that have no row in the --scoreboard: to go on after an interrupt")
	return c
}

func (s *bugsSettings) run(names []string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	root, err := hunt.Root()
	if err != nil {
		return err
	}
	bugs, err := chooseBugs(root, s.from, names, s.seeds)
	if err != nil {
		return err
	}
	bugs, keep, err := s.onBoard(root, bugs)
	if err != nil {
		return err
	}
	firsts := make([]uint64, max(1, s.starts))
	for i := range firsts {
		firsts[i] = s.start + uint64(i)*startsApart
	}
	outcomes, err := huntAll(ctx, root, s.from, bugs, firsts, s.jobs, s.limit, keep)
	if err != nil {
		return err
	}
	fmt.Println()
	hunt.Table(os.Stdout, outcomes)
	if s.shrinks != "" {
		if err := shrinkFound(ctx, root, s.from, s.shrinks, s.budget, outcomes); err != nil {
			return err
		}
	}
	if slices.ContainsFunc(outcomes, func(o hunt.Outcome) bool { return !o.Verdict.Kept() }) {
		return errBugsLeft
	}
	return nil
}

// onBoard looks at the scoreboard: which of the bugs are to be hunted, and how what
// is known of them gets there. That is done after each bug, and survives an interrupt.
func (s *bugsSettings) onBoard(root string, bugs []hunt.Bug) ([]hunt.Bug, func([]hunt.Outcome) error, error) {
	if s.scoreboard == "" {
		if s.missing {
			return nil, nil, errors.New("--missing needs --scoreboard: of which page are they missing?")
		}
		return bugs, func([]hunt.Outcome) error { return nil }, nil
	}
	all, err := chooseBugs(root, s.from, nil, 0)
	if err != nil {
		return nil, nil, err
	}
	board, err := hunt.BoardOf(s.scoreboard, all)
	if err != nil {
		return nil, nil, err
	}
	if s.missing {
		bugs = slices.DeleteFunc(bugs, func(b hunt.Bug) bool { return board[b.Name] != "" })
	}
	keep := func(so []hunt.Outcome) error {
		board.Add(so)
		return board.Write(s.scoreboard)
	}
	return bugs, keep, nil
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
				fmt.Printf("  what      %s\n", best.Sentence)
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
