package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/tamarack-mq/tamarack/hunt"
)

// mutation is one run of the command.
type mutation struct {
	sample, budget, jobs int
	seed                 uint64
	dirs, without        []string
	limit                time.Duration
	file, again          string
	scoreboard           string
}

func mutateCommand() *cobra.Command {
	var m mutation
	c := &cobra.Command{
		Use:   "mutate",
		Short: "Makes single random edits of the code and has the simulator find them.",
		Long: `Makes single random edits of the code and has the simulator find them.

Each is drawn from the syntax trees, compiled outside the working tree and hunted
from a random seed on, until a seed fails that the unedited code passes. Printed
are the score and the survivors: edits that nobody noticed.`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
			defer stop()
			return m.run(ctx)
		},
	}
	c.Flags().IntVar(&m.sample, "sample", 50, "edits to draw")
	c.Flags().Uint64Var(&m.seed, "seed", 1, "what is drawn; the same seed draws the same edits from the same source")
	c.Flags().IntVar(&m.budget, "seeds", 1000, "seeds to try for each")
	c.Flags().IntVar(&m.jobs, "jobs", 1, "edits hunted side by side")
	c.Flags().StringSliceVar(&m.dirs, "dir", []string{"core", "storage"}, "folders to edit, with those below")
	c.Flags().StringSliceVar(&m.without, "without", []string{"storage/vfs"}, "folders below those to leave alone: what the simulator replaces, or is made of")
	c.Flags().DurationVar(&m.limit, "limit", 5*time.Minute, "longest time for one edit, which counts as a survivor then")
	c.Flags().StringVar(&m.file, "json", "", "write what became of each to this file")
	c.Flags().StringVar(&m.again, "again", "", "hunt only the survivors of this file again, and take the rest from it")
	c.Flags().StringVar(&m.scoreboard, "scoreboard", "", "write the outcome into this page, as docs/scoreboard.md")
	return c
}

func (m *mutation) run(ctx context.Context) error {
	root, err := hunt.Root()
	if err != nil {
		return err
	}
	judged, err := hunt.LoadSurvivors(filepath.Join(root, "scenarios", "survivors.yaml"))
	if err != nil {
		return err
	}
	sample, open, err := m.draw(root)
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "simrun-mutate-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	h := &hunt.Hunter{Root: root, Work: work, Runner: hunt.Campaigns{Workers: max(1, runtime.GOMAXPROCS(0)/max(1, m.jobs)), Budget: m.limit}}
	if err := m.hunt(ctx, h, sample, open); err != nil {
		return err
	}
	if err := m.look(ctx, h, sample); err != nil {
		return err
	}
	fmt.Printf("\nsurvivors\n")
	hunt.Survivors(os.Stdout, sample.Fates, judged)
	fmt.Printf("\nscore       %s\n", hunt.Sum(sample.Fates, judged))
	if m.scoreboard == "" {
		return nil
	}
	var page bytes.Buffer
	hunt.MutationSection(&page, sample, judged)
	return hunt.WriteSection(m.scoreboard, "random edits", page.String())
}

// draw makes the sample; open are the indices of those that are to be hunted.
func (m *mutation) draw(root string) (sample *hunt.Sample, open []int, err error) {
	checker, err := hunt.NewChecker(root, "./...")
	if err != nil {
		return nil, nil, err
	}
	if m.again == "" {
		mutants, err := checker.Draw(m.dirs, m.without, m.sample, m.seed)
		if err != nil {
			return nil, nil, err
		}
		sample = &hunt.Sample{Seed: m.seed, Dirs: m.dirs, Budget: m.budget}
		for i := range mutants {
			sample.Fates, open = append(sample.Fates, hunt.Fate{Mutant: mutants[i]}), append(open, i)
		}
		return sample, open, nil
	}
	if sample, err = hunt.ReadSample(m.again); err != nil {
		return nil, nil, err
	}
	sample.Budget = m.budget
	for i := range sample.Fates {
		f := &sample.Fates[i]
		if f.Killed {
			continue
		}
		mutant, ok, err := checker.Find(&f.Mutation)
		if err != nil {
			return nil, nil, err
		}
		if !ok {
			f.Detail = "the code has changed there"
			continue
		}
		f.Mutant, open = mutant, append(open, i)
	}
	return sample, open, nil
}

// hunt hunts the open ones, some side by side, and prints and saves each fate as
// it comes.
func (m *mutation) hunt(ctx context.Context, h *hunt.Hunter, sample *hunt.Sample, open []int) error {
	starts := hunt.Starts(sample.Seed, len(sample.Fates))
	fmt.Printf("%d edits to hunt, each with up to %d seeds and for %s at most\n\n", len(open), m.budget, m.limit)
	var group errgroup.Group
	group.SetLimit(max(1, m.jobs))
	var lock sync.Mutex
	done := 0
	for _, i := range open {
		group.Go(func() error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			f := h.HuntMutant(ctx, sample.Fates[i].Mutant, fmt.Sprintf("mutant-%d", i), starts[i], m.budget)
			lock.Lock()
			defer lock.Unlock()
			sample.Fates[i] = f
			done++
			fmt.Printf("%3d/%d  ", done, len(open))
			hunt.MutantRow(os.Stdout, &f)
			return m.save(sample)
		})
	}
	return group.Wait()
}

func (m *mutation) save(sample *hunt.Sample) error {
	if m.file == "" {
		return nil
	}
	return sample.Write(m.file)
}

// coverSeeds is how many seeds are run to see which lines are reached at all.
const coverSeeds = 200

// look finds out which survivors are reached.
func (m *mutation) look(ctx context.Context, h *hunt.Hunter, sample *hunt.Sample) error {
	var cover *hunt.Coverage
	for i := range sample.Fates {
		f := &sample.Fates[i]
		if f.Killed || f.Detail != "" {
			continue
		}
		if cover == nil {
			var err error
			if cover, err = h.Cover(ctx, sample.Dirs, hunt.Starts(sample.Seed, 1)[0], coverSeeds); err != nil {
				return err
			}
		}
		f.Reached = f.Differs || cover.Reached(f.File, f.Line)
	}
	return m.save(sample)
}
