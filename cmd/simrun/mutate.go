package main

import (
	"bytes"
	"context"
	"errors"
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
	file, again, resume  string
	scoreboard           string
	judged               string
}

func mutateCommand() *cobra.Command {
	var m mutation
	c := &cobra.Command{
		Use:   "mutate",
		Short: "Makes single random edits of the code and has the simulator find them.",
		Long: `Makes single random edits of the code and has the simulator find them.

They are drawn from the syntax trees and compiled, all into one binary outside the
working tree. Random seeds are run without any of them, to see which seeds come to
which edit. Each edit is then hunted with the seeds that reach it, until one fails
that the unedited code passes. Printed are the score and the survivors: edits that
nobody noticed.`,
		Example: `  simrun mutate --sample 50 --seed 7 --json fates.json
  simrun mutate --resume fates.json                  # after an interruption
  simrun mutate --again fates.json --seeds 5000 --json more.json
  simrun mutate --judged blind --seeds 400           # what scenarios/survivors.yaml calls so`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
			defer stop()
			return m.run(ctx, c.Flags().Changed("seeds"))
		},
	}
	c.Flags().IntVar(&m.sample, "sample", 50, "edits to draw")
	c.Flags().Uint64Var(&m.seed, "seed", 1, "what is drawn; the same seed draws the same edits from the same source")
	c.Flags().IntVar(&m.budget, "seeds", 1000, "seeds to hunt with")
	c.Flags().IntVar(&m.jobs, "jobs", 0, "edits hunted side by side; 0: one for each core")
	c.Flags().StringSliceVar(&m.dirs, "dir", []string{"core", "storage"}, "folders to edit, with those below")
	c.Flags().StringSliceVar(&m.without, "without", []string{"storage/vfs"}, "folders below those to leave alone: what the simulator replaces, or is made of")
	c.Flags().DurationVar(&m.limit, "limit", 5*time.Minute, "most processor time for one edit, which counts as a survivor then; 0: none")
	c.Flags().StringVar(&m.file, "json", "", "keep in this file what became of each, from the first on")
	c.Flags().StringVar(&m.again, "again", "", "hunt only the survivors of this file again, and take the rest from it")
	c.Flags().StringVar(&m.resume, "resume", "", "go on with an interrupted hunt from the file that it has kept, and keep it there")
	c.Flags().StringVar(&m.scoreboard, "scoreboard", "", "write the outcome into this page, as docs/scoreboard.md")
	c.Flags().StringVar(&m.judged, "judged", "", "hunt the edits that scenarios/survivors.yaml calls blind, closed or equivalent")
	c.MarkFlagsMutuallyExclusive("again", "resume", "judged")
	return c
}

func (m *mutation) run(ctx context.Context, budgeted bool) error {
	if m.sample < 1 || m.budget < 1 {
		return errors.New("--sample and --seeds are 1 or above")
	}
	switch hunt.Judgement(m.judged) {
	case "", hunt.Blind, hunt.Closed, hunt.Equivalent:
	default:
		return fmt.Errorf("--judged %s: it is blind, closed or equivalent", m.judged)
	}
	if m.jobs < 0 {
		return fmt.Errorf("--jobs %d: it is 0, for one on each core, or above", m.jobs)
	}
	if m.jobs == 0 {
		m.jobs = runtime.GOMAXPROCS(0)
	}
	if err := writable(m.file); err != nil {
		return err
	}
	root, err := hunt.Root()
	if err != nil {
		return err
	}
	judged, err := hunt.LoadSurvivors(filepath.Join(root, "scenarios", "survivors.yaml"))
	if err != nil {
		return err
	}
	checker, err := hunt.NewChecker(root, "./...")
	if err != nil {
		return err
	}
	sample, open, err := m.draw(checker, judged, budgeted)
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "simrun-mutate-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	hunted := m.hunt(ctx, checker, work, sample, open)
	if hunted != nil && ctx.Err() == nil {
		return hunted
	}
	if hunted != nil {
		hunted = m.interrupted()
	}
	fmt.Printf("\nsurvivors\n")
	hunt.Survivors(os.Stdout, sample.Fates, judged)
	fmt.Printf("\nscore       %s\n", hunt.Sum(sample.Fates, judged))
	if hunted != nil || m.scoreboard == "" {
		return hunted
	}
	var page bytes.Buffer
	hunt.MutationSection(&page, sample, judged)
	return hunt.WriteSection(m.scoreboard, "random edits", page.String())
}

// draw makes the sample, or takes it from a file; open are the indices of those
// that are to be hunted.
func (m *mutation) draw(checker *hunt.Checker, judged []hunt.Judged, budgeted bool) (sample *hunt.Sample, open []int, err error) {
	if m.judged != "" {
		sample = hunt.SampleOf(judged, hunt.Judgement(m.judged))
		sample.Seed, sample.Dirs, sample.Budget = m.seed, m.dirs, m.budget
		open, err = sample.Open(checker)
		return sample, open, err
	}
	if m.again == "" && m.resume == "" {
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
	if m.resume != "" && m.file == "" {
		m.file = m.resume
	}
	if sample, err = hunt.ReadSample(m.again + m.resume); err != nil {
		return nil, nil, err
	}
	if m.again != "" {
		sample.Reopen()
	}
	if budgeted || m.again != "" {
		sample.Budget = m.budget
	}
	open, err = sample.Open(checker)
	return sample, open, err
}

// hunt hunts the open ones, some side by side, and prints and saves each fate as
// it comes.
func (m *mutation) hunt(ctx context.Context, checker *hunt.Checker, work string, sample *hunt.Sample, open []int) error {
	mutants := make([]hunt.Mutant, len(open))
	for k, i := range open {
		mutants[k] = sample.Fates[i].Mutant
	}
	if err := m.save(sample); err != nil {
		return err
	}
	pack, err := hunt.NewPack(ctx, checker, work, hunt.Processes{}, m.jobs, mutants, hunt.Seeds(sample.Seed, sample.Budget))
	if err != nil {
		return err
	}
	fmt.Printf("%d edits to hunt; built in %.1fs, %d seeds without any took %.1fs CPU\n", len(open), pack.Build.Seconds(), sample.Budget, pack.CPU.Seconds())
	if len(pack.Failed) > 0 {
		fmt.Printf("the code fails some seeds as it is, which say nothing then: %v\n", pack.Failed)
	}
	fmt.Println()
	var group errgroup.Group
	group.SetLimit(m.jobs)
	var lock sync.Mutex
	done := 0
	for k, i := range open {
		group.Go(func() error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			f := pack.Hunt(ctx, k, m.limit)
			if !f.Hunted {
				return ctx.Err()
			}
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

// interrupted says how to go on.
func (m *mutation) interrupted() error {
	if m.file == "" {
		return errors.New("interrupted")
	}
	return fmt.Errorf("interrupted; go on with: %s mutate --resume %s", programName(), m.file)
}

func (m *mutation) save(sample *hunt.Sample) error {
	if m.file == "" {
		return nil
	}
	return sample.Write(m.file)
}
