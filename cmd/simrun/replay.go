package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/tamarack-mq/tamarack/sim"
	"github.com/tamarack-mq/tamarack/witness"
)

// replaySettings is what the flags of the command say.
type replaySettings struct {
	trace, story, script bool
	from, until          uint64
	dump                 int
	once                 bool
}

func replayCommand() *cobra.Command {
	var s replaySettings
	c := &cobra.Command{
		Use:   "replay SEED|FILE",
		Short: "Runs a seed or a saved plan again and tells what happened.",
		Args:  oneRun,
		RunE: func(c *cobra.Command, args []string) error {
			if s.trace && s.story {
				return errors.New("--story is prose and --trace columns: choose one")
			}
			if c.Flags().Changed("from") && !s.trace && !s.story {
				return errors.New("--from goes with --story or --trace")
			}
			return s.run(args[0])
		},
	}
	c.Flags().BoolVar(&s.trace, "trace", false, "print what happened in columns")
	c.Flags().BoolVar(&s.story, "story", false, "print what happened in prose")
	c.Flags().Uint64Var(&s.from, "from", 1, "with --trace or --story: the first event to tell")
	c.Flags().Uint64Var(&s.until, "until", 0, "stop after this event")
	c.Flags().BoolVar(&s.script, "script", false, "of a saved failure: play what chance had decided then, and not what it decides now")
	c.Flags().IntVar(&s.dump, "dump", 0, "print the whole state of this node at the end, or after --until EVENT, and nothing else")
	c.Flags().BoolVar(&s.once, "once", false, "do not run it a second time to compare the hash")
	return c
}

// run plays what was named, once to tell of it and once more to compare.
func (s *replaySettings) run(named string) error {
	plan, err := sim.LoadPlan(named)
	if err != nil {
		return err
	}
	if s.script {
		if plan, err = asDecided(plan); err != nil {
			return err
		}
	}
	if s.dump > 0 {
		return dumpNode(os.Stdout, plan, s.until, s.dump)
	}
	// The columns of a trace and what is said of the run go to one output: as
	// remarks, like the columns' names, so that programs can pass over them.
	var out io.Writer = os.Stdout
	if s.trace {
		out = &remarks{to: os.Stdout}
	}
	r, err := s.tell(out, plan, named)
	if err != nil {
		return err
	}
	if s.once {
		return ended(r.Class)
	}
	if d := sim.Compare(r, sim.Run(plan, sim.Options{Until: s.until})); d != nil {
		fmt.Fprintln(out, d.Sentence)
		return ended(sim.Nondeterminism)
	}
	fmt.Fprintln(out, "a second run gives the same hash")
	return ended(r.Class)
}

// tell plays the plan and prints what happened in it, as far as that is asked for,
// and how it ended.
func (s *replaySettings) tell(out io.Writer, plan *sim.Plan, named string) (*sim.Result, error) {
	options := sim.Options{Until: s.until}
	if s.story {
		options.TraceFrom, options.TraceTo = max(1, s.from), math.MaxUint64
	}
	if s.trace {
		options.Witness = &witness.Run{}
	}
	begun := time.Now()
	r := sim.Run(plan, options)
	took := time.Since(begun)
	if s.trace {
		if err := options.Witness.WriteTrace(os.Stdout, s.from, math.MaxUint64); err != nil {
			return nil, err
		}
	}
	for _, line := range r.Trace {
		fmt.Println(line)
	}
	fmt.Fprintf(out, "%s: hash %016x, %d events, %s virtual in %s (%.0f times real time, %.0f core steps/s)\n",
		r.Class, r.Hash, r.Stats.Events, r.Stats.Virtual, took.Round(time.Microsecond),
		time.Duration(r.Stats.Virtual).Seconds()/took.Seconds(), float64(r.Stats.Steps)/took.Seconds())
	if r.Failure != nil {
		printFailureTo(out, os.Getenv(bugVariable), r, named)
	}
	printSaved(out, plan, r, s.until)
	return r, nil
}

// printSaved says whether a saved failure still fails as it did, and where its
// script no longer fits.
func printSaved(out io.Writer, plan *sim.Plan, r *sim.Result, until uint64) {
	if until > 0 {
		return
	}
	if s := plan.Saved; s != nil {
		if differs := s.Fails(r); differs != "" {
			fmt.Fprintf(out, "  saved     %s (code %s)%s\n", differs, s.Code, otherBug(plan))
		} else {
			fmt.Fprintf(out, "  saved     it fails as it did when it was saved\n")
		}
	}
	for _, entry := range r.Unreached {
		fmt.Fprintf(out, "  unreached %s\n", entry)
	}
}

// remarks writes each line behind "# ". What is written to it is whole lines.
type remarks struct{ to io.Writer }

func (r *remarks) Write(text []byte) (int, error) {
	for line := range bytes.Lines(text) {
		if _, err := fmt.Fprintf(r.to, "# %s", line); err != nil {
			return 0, err
		}
	}
	return len(text), nil
}

func planCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "plan SEED",
		Short: "Prints everything that a seed is expanded to.",
		Args:  oneRun,
		RunE: func(_ *cobra.Command, args []string) error {
			plan, err := sim.LoadPlan(args[0])
			if err != nil {
				return err
			}
			e := json.NewEncoder(os.Stdout)
			e.SetIndent("", "  ")
			return e.Encode(plan)
		},
	}
}

// hashCommand is what determinism starts in processes of their own.
func hashCommand() *cobra.Command {
	var seeds string
	c := &cobra.Command{
		Use:   "hash",
		Short: "Prints the hash and the checkpoints of seeds, one line each.",
		Args:  noArgs,
		RunE: func(*cobra.Command, []string) error {
			from, to, err := sim.ParseSeeds(seeds)
			if err != nil {
				return err
			}
			for seed := from; seed <= to; seed++ {
				r := sim.Run(sim.NewPlan(seed), sim.Options{})
				fmt.Printf("%d %016x %d", seed, r.Hash, r.Stats.Events)
				for _, c := range r.Checkpoints {
					fmt.Printf(" %016x", c)
				}
				fmt.Println()
			}
			return nil
		},
	}
	c.Flags().StringVar(&seeds, "seeds", "1..20", "seeds to run")
	return c
}

// dumpNode prints the state of a node after an event; 0: at the end.
func dumpNode(to io.Writer, plan *sim.Plan, event uint64, node int) error {
	s := sim.NewSession(plan)
	if event == 0 {
		event = s.Witness().Events
	}
	lines, err := s.Dump(event, node)
	if err != nil {
		return err
	}
	for _, line := range lines {
		fmt.Fprintln(to, line)
	}
	return nil
}
