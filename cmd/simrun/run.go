package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"

	"github.com/tamarack-mq/tamarack/sim"
)

func runCommand() *cobra.Command {
	var seeds, shard, file, saveDir string
	var budget time.Duration
	var workers int
	var stop bool
	var limits sim.Limits
	c := &cobra.Command{
		Use:   "run",
		Short: "Runs many seeds on all cores.",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			from, to, err := sim.ParseSeeds(seeds)
			if err != nil {
				return err
			}
			campaign := &sim.Campaign{From: from, To: to, Budget: budget, Workers: workers, Stop: stop, Limits: limits}
			if shard != "" {
				if campaign.Shard, campaign.Shards, err = parseShard(shard); err != nil {
					return err
				}
			}
			report := runWithProgress(campaign)
			printReport(report)
			if err := saveFailures(saveDir, report); err != nil {
				return err
			}
			if file != "" {
				if err := writeJSON(file, report); err != nil {
					return err
				}
			}
			return ended(report.Worst())
		},
	}
	c.Flags().StringVar(&seeds, "seeds", "1..100", "seeds to run: FROM..TO, one number, or a commit hash")
	c.Flags().DurationVar(&budget, "budget", 0, "stop after this much time")
	c.Flags().StringVar(&shard, "shard", "", "run one part of the seeds: I/N")
	c.Flags().StringVar(&file, "json", "", "write the report to this file; files of shards can be merged")
	c.Flags().StringVar(&saveDir, "save", "", "save the plan of the first seed of each failure to this folder")
	c.Flags().BoolVar(&stop, "stop", false, "begin no other seed once one has failed")
	c.Flags().IntVar(&workers, "workers", 0, "runs side by side; 0: one for each core")
	c.Flags().DurationVar(&limits.Time, "seed-limit", 0, "longest time for one seed, which ends the campaign when it takes longer; 0: none")
	c.Flags().Uint64Var(&limits.Memory, "memory-limit", 0, "most memory in bytes, beyond which the campaign ends; 0: none")
	return c
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

// runWithProgress runs a campaign under a progress bar on standard error.
func runWithProgress(c *sim.Campaign) *sim.Report {
	total := int64(c.To - c.From + 1)
	if c.Shards > 1 {
		total = (total + int64(c.Shards) - 1) / int64(c.Shards)
	}
	bar := progressbar.NewOptions64(total,
		progressbar.OptionSetWriter(os.Stderr), progressbar.OptionShowCount(), progressbar.OptionShowIts(),
		progressbar.OptionSetItsString("seeds"), progressbar.OptionThrottle(200*time.Millisecond),
		progressbar.OptionSetPredictTime(true), progressbar.OptionClearOnFinish(),
		progressbar.OptionFullWidth(), progressbar.OptionSetVisibility(isTerminal(os.Stderr)))
	failures := 0
	var virtual sim.Span
	c.Each = func(r *sim.Result) {
		virtual += r.Stats.Virtual
		if r.Failure != nil {
			failures++
		}
		bar.Describe(fmt.Sprintf("%.1f virtual h, %d failures", time.Duration(virtual).Hours(), failures))
		_ = bar.Add(1)
	}
	report := c.Run()
	_ = bar.Finish()
	return report
}

// isTerminal says whether somebody watches: a log is no place for a bar that
// redraws itself.
func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

func writeJSON(path string, v any) error {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(b, '\n'), 0o644)
}

func mergeCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "merge FILE...",
		Short: "Adds up the reports of the shards of one campaign.",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, files []string) error {
			var reports []*sim.Report
			for _, f := range files {
				b, err := os.ReadFile(f)
				if err != nil {
					return err
				}
				r := &sim.Report{}
				if err := json.Unmarshal(b, r); err != nil {
					return fmt.Errorf("%s is no report: %w", f, err)
				}
				reports = append(reports, r)
			}
			merged := sim.Merge(reports)
			printReport(merged)
			return ended(merged.Worst())
		},
	}
}
