package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"time"

	"github.com/spf13/cobra"

	"github.com/tamarack-mq/tamarack/shrink"
	"github.com/tamarack-mq/tamarack/sim"
)

func shrinkCommand() *cobra.Command {
	var out, file string
	script := false
	cfg := shrink.Config{}
	c := &cobra.Command{
		Use:   "shrink SEED|FILE",
		Short: "Makes the smallest plan that fails in the same way.",
		Long: `Makes the smallest plan that fails in the same way: the same invariant, for
the same cause. Fewer faults, nodes, clients, topics and operations, calmer
weather, less time. The plan is saved and can be replayed, read and edited.`,
		Args: oneRun,
		RunE: func(_ *cobra.Command, args []string) error {
			plan, err := sim.LoadPlan(args[0])
			if err != nil {
				return err
			}
			if script {
				if plan, err = asDecided(plan); err != nil {
					return err
				}
			}
			if err := errors.Join(sideBySide(cfg.Workers), writable(out, file)); err != nil {
				return err
			}
			ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
			defer stop()
			cfg.Progress = progressPrinter()
			o, err := shrink.Shrink(ctx, plan, cfg)
			if errors.Is(err, shrink.ErrPasses) {
				return fmt.Errorf("%w, and no file was written%s", err, otherBug(plan))
			}
			if err != nil {
				return err
			}
			if out == "" {
				out = "small-" + nameOfPlan(args[0]) + ".json"
			}
			if err := sim.Failed(o.Plan, o.Result, codeVersion(), os.Getenv(bugVariable)).Save(out); err != nil {
				return err
			}
			if file != "" {
				if err := writeJSON(file, o); err != nil {
					return err
				}
			}
			fmt.Println()
			shrink.Story(os.Stdout, o.Plan, o.Result)
			fmt.Printf("\nbefore      %s\nafter       %s\nsearch      %d runs in %s\nsaved       %s\n",
				o.Before, o.After, o.Runs, o.Took.Round(100*time.Millisecond), out)
			printCommands(os.Getenv(bugVariable), out, o.Result.Failure.Event)
			return nil
		},
	}
	c.Flags().StringVarP(&out, "output", "o", "", "file for the smallest plan; small-NAME.json if empty")
	c.Flags().DurationVar(&cfg.Budget, "budget", 2*time.Minute, "longest time")
	c.Flags().IntVar(&cfg.Runs, "runs", 0, "most runs; 0: no limit")
	c.Flags().IntVar(&cfg.Workers, "workers", 0, "runs side by side; 0: one for each core")
	c.Flags().BoolVar(&script, "script", false, "of a saved failure: begin with what chance had decided then, and not with what it decides now")
	c.Flags().StringVar(&file, "json", "", "write the sizes before and after to this file")
	return c
}

// progressPrinter prints where a search stands: at a terminal in one line that
// changes, else a line for each pass that helped.
func progressPrinter() func(shrink.Progress) {
	last, live := shrink.Progress{}, isTerminal(os.Stderr)
	return func(p shrink.Progress) {
		if live {
			fmt.Fprint(os.Stderr, "\r\x1b[K", progressLine(&p))
		} else if last.Pass != "" && last.Pass != p.Pass {
			fmt.Fprintln(os.Stderr, progressLine(&last))
		}
		last = p
	}
}

func progressLine(p *shrink.Progress) string {
	return fmt.Sprintf("%7s  %-18s %s", p.Took.Round(100*time.Millisecond), p.Pass, p.Size)
}
