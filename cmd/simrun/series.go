package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/tamarack-mq/tamarack/internal/cputime"
	"github.com/tamarack-mq/tamarack/internal/edited"
	"github.com/tamarack-mq/tamarack/sim"
)

// seriesLine is what is told of one seed. Package hunt reads it.
type seriesLine struct {
	Seed    uint64         `json:"seed"`
	Class   sim.Class      `json:"class"`
	Hash    uint64         `json:"hash"`
	Events  uint64         `json:"events"`
	CPU     time.Duration  `json:"cpu"`
	Failure *sim.Failure   `json:"failure,omitempty"`
	Reached map[int]uint64 `json:"reached,omitempty"`
}

// seriesCommand runs the seeds that it is given, in that order. It is for mutate,
// and not shown to people.
func seriesCommand() *cobra.Command {
	var limits sim.Limits
	c := &cobra.Command{
		Use:    "series SEED...",
		Short:  "Runs seeds one by one and writes a line of JSON about each.",
		Hidden: true,
		Args:   someFiles("seeds"),
		RunE: func(_ *cobra.Command, args []string) error {
			out := json.NewEncoder(os.Stdout)
			for _, arg := range args {
				seed, err := strconv.ParseUint(arg, 10, 64)
				if err != nil {
					return fmt.Errorf("%q is no seed: %w", arg, err)
				}
				line, last := oneOfSeries(seed, limits)
				if err := out.Encode(line); err != nil || last {
					return err
				}
			}
			return nil
		},
	}
	c.Flags().DurationVar(&limits.Time, "seed-limit", 0, "most processor time for one seed, which is the last one when it takes more; 0: none")
	c.Flags().Uint64Var(&limits.Memory, "memory-limit", 0, "most memory in bytes; 0: none")
	return c
}

// oneOfSeries runs one seed as a campaign does. last: it was cut and goes on in
// the background, so that no other can be run here.
func oneOfSeries(seed uint64, limits sim.Limits) (line seriesLine, last bool) {
	begun := cputime.Used()
	campaign := sim.Campaign{From: seed, To: seed, Workers: 1, Limits: limits, Each: func(r *sim.Result, _ *sim.Report) {
		line = seriesLine{Seed: seed, Class: r.Class, Hash: r.Hash, Events: r.Stats.Events, Failure: r.Failure}
	}}
	campaign.Run()
	line.CPU, line.Reached = cputime.Used()-begun, edited.Reached()
	return line, line.Failure != nil && line.Failure.Invariant == "hang"
}
