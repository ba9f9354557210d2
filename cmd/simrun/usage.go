package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/tamarack-mq/tamarack/sim"
)

// oneRun takes what names a run.
func oneRun(c *cobra.Command, args []string) error {
	switch {
	case len(args) == 0:
		return fmt.Errorf("which run? Give a seed, or the file of a plan: %s 3", c.CommandPath())
	case len(args) > 1:
		return fmt.Errorf("%q is one argument too many: %s takes one seed or file", args[1], c.CommandPath())
	}
	return nil
}

// noArgs takes flags only.
func noArgs(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if c.Flags().Lookup("seeds") != nil {
		return fmt.Errorf("%q: %s takes no arguments; seeds are given with --seeds", args[0], c.CommandPath())
	}
	return fmt.Errorf("%q: %s takes no arguments", args[0], c.CommandPath())
}

// someFiles takes one or more of something.
func someFiles(what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) == 0 {
			return fmt.Errorf("give %s: see %s --help", what, c.CommandPath())
		}
		return nil
	}
}

// sideBySide refuses a number of workers that would do nothing.
func sideBySide(workers int) error {
	if workers < 0 {
		return fmt.Errorf("--workers %d: it is 0, for one on each core, or above", workers)
	}
	return nil
}

// writable says early, before hours of work, that there is no folder for a file.
func writable(files ...string) error {
	for _, file := range files {
		if file == "" {
			continue
		}
		if info, err := os.Stat(file); err == nil && info.IsDir() {
			return fmt.Errorf("cannot write %s: it is a folder", file)
		}
		folder := filepath.Dir(file)
		if info, err := os.Stat(folder); err != nil || !info.IsDir() {
			return fmt.Errorf("cannot write %s: there is no folder %s", file, folder)
		}
	}
	return nil
}

// asDecided is a plan in which the decisions that were saved with it hold.
func asDecided(plan *sim.Plan) (*sim.Plan, error) {
	if plan.Script == nil && (plan.Saved == nil || plan.Saved.Script == nil) {
		return nil, errors.New("--script: no decisions were saved with this; it is for the files of run --save and shrink -o")
	}
	return plan.Scripted(), nil
}
