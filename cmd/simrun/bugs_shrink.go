package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"github.com/tamarack-mq/tamarack/hunt"
	"github.com/tamarack-mq/tamarack/shrink"
)

// shrunk is what came of shrinking the seed that a bug was found by.
type shrunk struct {
	shrink.Outcome
	cpu time.Duration
	err error
}

// shrinkFound shrinks the seed of each bug that was found, in the code with that
// bug in it, saves the plans in dir and prints how small they are.
func shrinkFound(ctx context.Context, root, from, dir string, budget time.Duration, outcomes []hunt.Outcome) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	fmt.Printf("\n%-46s %15s %7s %11s %11s %6s %7s %7s\n", "shrunk", "faults", "nodes", "operations", "events", "time", "cpu", "runs")
	tried, small := 0, 0
	for i := range outcomes {
		o := &outcomes[i]
		if o.Verdict != hunt.Found {
			continue
		}
		tried++
		s := shrinkOne(ctx, root, nameOf(from, &o.Bug), filepath.Join(dir, o.Bug.Name+".json"), budget, o)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if s.err != nil {
			fmt.Printf("%-46s %v\n", o.Bug.Name, s.err)
			continue
		}
		b, a, verdict := &s.Before, &s.After, "large"
		if a.Small() {
			small++
			verdict = ""
		}
		fmt.Printf("%-46s %8d -> %3d %2d -> %1d %5d -> %2d %11d %6s %7s %7d %s\n", o.Bug.Name,
			b.Faults, a.Faults, b.Nodes, a.Nodes, b.Ops, a.Ops, a.Events,
			s.Took.Round(100*time.Millisecond), s.cpu.Round(100*time.Millisecond), s.Runs, verdict)
	}
	fmt.Printf("\n%d of %d are small: no more than %d faults, %d nodes and %d operations of clients\n",
		small, tried, shrink.SmallFaults, shrink.SmallNodes, shrink.SmallOps)
	return nil
}

// shrinkOne runs simrun shrink in the code with a bug in it.
func shrinkOne(ctx context.Context, root, name, out string, budget time.Duration, o *hunt.Outcome) (s shrunk) {
	binary, err := hunt.Planted(ctx, root, o.Bug)
	if err != nil {
		return shrunk{err: err}
	}
	sizes, err := os.CreateTemp("", "shrunk-*.json")
	if err != nil {
		return shrunk{err: err}
	}
	defer os.Remove(sizes.Name())
	sizes.Close()
	cmd := exec.CommandContext(ctx, binary, "shrink", strconv.FormatUint(o.Best().Seed, 10),
		"-o", out, "--json", sizes.Name(), "--budget", budget.String())
	cmd.Env = append(os.Environ(), bugVariable+"="+name, nameVariable+"="+programName())
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Run(); err != nil {
		return shrunk{err: fmt.Errorf("%w: %s", err, bytes.TrimSpace(said.Bytes()))}
	}
	s.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	raw, err := os.ReadFile(sizes.Name())
	if err == nil {
		err = json.Unmarshal(raw, &s.Outcome)
	}
	s.err = err
	return s
}
