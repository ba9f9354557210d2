package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tamarack-mq/tamarack/sim"
)

// outputs say what a report is turned into, besides being printed.
type outputs struct {
	json, junit  string // files
	requireMarks bool
}

func (o *outputs) flags(c *cobra.Command) {
	c.Flags().StringVar(&o.json, "json", "", "write the report to this file; files of shards can be merged")
	c.Flags().StringVar(&o.junit, "junit", "", "write the report to this file as XML that CI systems read as test results (JUnit)")
	c.Flags().BoolVar(&o.requireMarks, "require-marks", false, "fail when a mark was never reached (exit code 16): for nightly campaigns")
}

// writable says whether there is a folder for each file.
func (o *outputs) writable() error { return writable(o.json, o.junit) }

// finish writes a report to files, prints it, and says how the command ends. The
// files come first: whoever reads the output may go away in the middle of it.
func (o *outputs) finish(r *sim.Report) error {
	saved := o.save(r)
	printReport(r)
	if saved != nil {
		return saved
	}
	if worst := ended(r.Worst()); worst != nil {
		return worst
	}
	if r.Interrupted {
		fmt.Printf("\nINTERRUPTED after %d runs: the other seeds were not run\n", r.Runs)
		return errInterrupted
	}
	if never := r.Never(); o.requireMarks && len(never) > 0 {
		fmt.Printf("\nFAILED: %d marks were never reached, so the campaign does not test them: %s\n", len(never), strings.Join(never, "; "))
		return errMarksLeft
	}
	return nil
}

// save writes a report to the files that were asked for.
func (o *outputs) save(r *sim.Report) error {
	if o.json != "" {
		if err := writeJSON(o.json, r); err != nil {
			return err
		}
	}
	if o.junit != "" {
		if err := writeJUnit(o.junit, r, o.requireMarks); err != nil {
			return err
		}
	}
	return nil
}

// errInterrupted says that a campaign was ended by a signal, which was printed.
var errInterrupted = errors.New("interrupted")

// errMarksLeft says that a campaign did not reach all marks, which was printed.
var errMarksLeft = errors.New("marks were never reached")

func runCommand() *cobra.Command {
	var seeds, shard, saveDir, plans string
	var out outputs
	var campaign sim.Campaign
	c := &cobra.Command{
		Use:   "run",
		Short: "Runs many seeds on all cores.",
		Long: `Runs many seeds on all cores, and tells failures, one for each cause, the quickest
to fail first, which marks were reached, and figures.

It ends after the last of --seeds, or with --budget or --until-plateau, whichever
comes first. Where --seeds names no last one, those two alone end it.`,
		Example: `  simrun run --seeds 1..5000
  simrun run --budget 10m
  simrun run --seeds $(git rev-parse HEAD) --budget 10m
  simrun run --until-plateau 2000
  simrun run --seeds 1..20000 --shard 2/8 --json shard-2.json --junit shard-2.xml`,
		Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			if err := campaignSeeds(&campaign, seeds); err != nil {
				return err
			}
			if shard != "" {
				var err error
				if campaign.Shard, campaign.Shards, err = parseShard(shard); err != nil {
					return err
				}
			}
			var err error
			if campaign.Plan, err = sim.PlansOf(plans); err != nil {
				return err
			}
			if err := errors.Join(sideBySide(campaign.Workers), out.writable()); err != nil {
				return err
			}
			campaign.Code, campaign.Bug, campaign.Plans = codeVersion(), os.Getenv(bugVariable), plans
			report := runWithProgress(&campaign)
			if err := saveFailures(saveDir, report); err != nil {
				return err
			}
			return out.finish(report)
		},
	}
	f := c.Flags()
	f.StringVar(&seeds, "seeds", "", "seeds to run: FROM..TO, FROM+COUNT, one number, or a commit hash (its first 13 digits at least), which stands for 100 seeds of its own; 1..100 if empty")
	f.DurationVar(&campaign.Budget, "budget", 0, "begin no seed after this much time")
	f.IntVar(&campaign.Plateau, "until-plateau", 0, "begin no other seed once so many in a row have reached no mark, no mark so often, and no two marks together for the first time")
	f.StringVar(&plans, "plans", "", "what seeds are expanded to: beyond (damage without bounds), transactions (somebody makes them), five (five brokers, every kind of fault); empty: clusters, workloads and faults of every kind")
	f.StringVar(&shard, "shard", "", "run one part of the seeds: I/N")
	f.StringVar(&saveDir, "save", "", "save the plan of the first seed of each failure to this folder")
	f.BoolVar(&campaign.Stop, "stop", false, "begin no other seed once one has failed")
	f.IntVar(&campaign.Workers, "workers", 0, "runs side by side; 0: one for each core")
	f.DurationVar(&campaign.Limits.Time, "seed-limit", 0, "most processor time for one seed, which ends the campaign when it takes more; 0: none")
	f.Uint64Var(&campaign.Limits.Memory, "memory-limit", 0, "most memory in bytes, beyond which the campaign ends; 0: none")
	out.flags(c)
	return c
}

// campaignSeeds sets the seeds of a campaign. With a budget or a plateau there need
// be no last one.
func campaignSeeds(c *sim.Campaign, seeds string) (err error) {
	if c.Budget > 0 || c.Plateau > 0 {
		c.From, c.To, err = sim.ParseOpenSeeds(seeds)
		return err
	}
	if seeds == "" {
		seeds = "1..100"
	}
	c.From, c.To, err = sim.ParseSeeds(seeds)
	return err
}

func parseShard(s string) (i, n int, err error) {
	a, b, ok := strings.Cut(s, "/")
	if ok {
		if i, err = strconv.Atoi(a); err == nil {
			n, err = strconv.Atoi(b)
		}
	}
	if !ok || err != nil || i < 1 || n < i {
		return 0, 0, fmt.Errorf("--shard %s: give it as 2/8, the second of eight", s)
	}
	return i, n, nil
}

func writeJSON(path string, v any) error {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(b, '\n'), 0o644)
}
