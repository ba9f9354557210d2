package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tamarack-mq/tamarack/sim"
	"github.com/tamarack-mq/tamarack/tape"
)

func conformCommand() *cobra.Command {
	anyCode := false
	c := &cobra.Command{
		Use:   "conform FILE|DIR...",
		Short: "Plays what real nodes recorded to the core, which must do the same again.",
		Long: `Plays what real nodes recorded (node serve --record, node dev --record, simrun
live --record) to the core of this program, which must give the same effects, step
by step. Names the first step and field that differ.

Exit codes: 0 all conform; 12 one does not; 2 a file cannot be played.`,
		Args: someFiles("a recording, or a folder with some"),
		RunE: func(_ *cobra.Command, args []string) error {
			files, err := tapes(args)
			if err != nil {
				return err
			}
			return conform(files, anyCode)
		},
	}
	c.Flags().BoolVar(&anyCode, "any-code", false, "also play what other commits recorded")
	return c
}

// tapes finds the recordings that are named by file or by folder.
func tapes(args []string) ([]string, error) {
	var files []string
	for _, arg := range args {
		info, err := os.Stat(arg)
		if err != nil {
			return nil, err
		}
		if !info.IsDir() {
			files = append(files, arg)
			continue
		}
		before := len(files)
		err = filepath.WalkDir(arg, func(path string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() && strings.HasSuffix(path, tape.Suffix) {
				files = append(files, path)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
		if len(files) == before {
			return nil, fmt.Errorf("%s holds no recordings (files that end in %s)", arg, tape.Suffix)
		}
	}
	slices.Sort(files)
	return slices.Compact(files), nil
}

// conform plays files and prints a line for each, and figures.
func conform(files []string, anyCode bool) error {
	var total tape.Report
	var unplayable []error
	began, differ := time.Now(), 0
	for _, file := range files {
		start := time.Now()
		r, err := conformFile(file, anyCode)
		total.Steps += r.Steps
		total.Effects += r.Effects
		total.Virtual += r.Virtual
		total.Bytes += r.Bytes
		switch {
		case err != nil:
			fmt.Printf("UNPLAYABLE %s\n  after     %d steps\n  why       %v\n", file, r.Steps, err)
			unplayable = append(unplayable, fmt.Errorf("%s: %w", file, err))
		case r.Difference != nil:
			differ++
			printDifference(file, r)
		default:
			fmt.Printf("ok      %s: %d steps, %s of node %d in %s; ends because %s\n", file, r.Steps,
				r.Virtual.Round(time.Millisecond), r.Header.Config.ID, time.Since(start).Round(time.Millisecond), r.End)
		}
	}
	took := time.Since(began).Seconds()
	size := fmt.Sprintf("%d bytes", total.Bytes)
	if total.Bytes >= 1e6 {
		size = fmt.Sprintf("%.1f MB", float64(total.Bytes)/1e6)
	}
	fmt.Printf(`
files       %d: %d conform, %d differ, %d cannot be played
steps       %d, with %d effects, from %s
speed       %.0f inputs/s, %.0f times real time
virtual     %s in %s
`,
		len(files), len(files)-differ-len(unplayable), differ, len(unplayable),
		total.Steps, total.Effects, size,
		float64(total.Steps)/took, total.Virtual.Seconds()/took,
		total.Virtual.Round(time.Second), time.Since(began).Round(time.Millisecond))
	if differ > 0 {
		return ended(sim.Nondeterminism)
	}
	return errors.Join(unplayable...)
}

func conformFile(file string, anyCode bool) (*tape.Report, error) {
	f, err := os.Open(file)
	if err != nil {
		return &tape.Report{}, err
	}
	defer f.Close()
	code := tape.Code()
	if anyCode {
		code = ""
	}
	return tape.Conform(f, code)
}

func printDifference(file string, r *tape.Report) {
	d := r.Difference
	fmt.Printf(`DIFFERS %s
  step      %d, %s after the start of node %d
  input     %s
  effect    %d
  field     %s
  recorded  %s
  now       %s
  code      recorded by %s, played by %s
`, file, d.Step, d.At.Round(time.Microsecond), r.Header.Config.ID, d.Input, d.Effect, d.Field, d.Was, d.Is, r.Header.Code, tape.Code())
}
