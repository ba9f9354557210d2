package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/tamarack-mq/tamarack/hunt"
	"github.com/tamarack-mq/tamarack/live"
	"github.com/tamarack-mq/tamarack/sim"
)

func liveCommand() *cobra.Command {
	cfg := live.Config{Log: os.Stderr}
	keep := ""
	cmd := &cobra.Command{
		Use:   "live",
		Short: "Runs real nodes under kill -9, SIGSTOP and cut connections, and judges them the same way.",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			return runLive(ctx, cfg, keep)
		},
	}
	f := cmd.Flags()
	f.Uint64Var(&cfg.Seed, "seed", 1, "of the schedule of faults")
	f.DurationVar(&cfg.For, "for", 60*time.Second, "how long faults go on")
	f.IntVar(&cfg.Nodes, "nodes", 3, "number of node processes, 3 or more")
	f.IntVar(&cfg.Partitions, "partitions", 6, "of the topic")
	f.IntVar(&cfg.Producers, "producers", 4, "clients that publish")
	f.IntVar(&cfg.Members, "members", 3, "members of the group that reads")
	f.IntVar(&cfg.Workers, "workers", 2, "of each of two stages that read, work and write in transactions")
	f.IntVar(&cfg.Transactors, "transactors", 2, "clients that publish transactions")
	f.StringVar(&cfg.Binary, "node", "", "the node program; built from the source tree if empty")
	f.StringVar(&cfg.Record, "record", "", "folder for recordings of the nodes, to be checked with simrun conform")
	f.StringVar(&keep, "keep", "", "folder for data, logs and the history, which is kept; a temporary one if empty")
	return cmd
}

func runLive(ctx context.Context, cfg live.Config, keep string) error {
	if cfg.Nodes < 3 || cfg.Partitions < 1 || cfg.For <= 0 {
		return fmt.Errorf("live needs at least 3 nodes and 1 partition, and a time above 0")
	}
	work, err := os.MkdirTemp("", "tamarack-live-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	cfg.Dir = work
	if keep != "" {
		cfg.Dir = keep
		if err := os.MkdirAll(keep, 0o755); err != nil {
			return err
		}
	}
	if cfg.Binary == "" {
		if cfg.Binary, err = buildNode(ctx, work); err != nil {
			return err
		}
	}
	r, err := live.Run(ctx, cfg)
	if err != nil {
		return err
	}
	t := &r.Transactions
	fmt.Printf("faults      %d kill -9, %d stops, %d cuts; %d crashes of members; %d crashes, %d pauses and %d replacements of who makes transactions, %d fenced\n",
		r.Kills, r.Stops, r.Cuts, r.MemberCrashes, t.Crashes, t.Pauses, t.Zombies, t.Fenced)
	fmt.Printf("work        %d acknowledged, %d unknown, %d failed; %d polled, %d commits; %d records at rest\n",
		r.Acked, r.Unknown, r.Failed, r.Polled, r.Commits, r.Records)
	fmt.Printf("transacted  %d committed, %d aborted, %d unknown; at rest %d records made of others, and %d aborted ones\n",
		t.Committed, t.Aborted, t.Unknown, t.Made, t.Skipped)
	if cfg.Record != "" {
		fmt.Printf("recorded    %s; that the cores did what they should: simrun conform %s\n", cfg.Record, cfg.Record)
	}
	for _, v := range r.Violations {
		fmt.Printf("BROKEN      %s\n", v)
	}
	if keep != "" || len(r.Violations) > 0 {
		path, err := saveHistory(r, keep)
		if err != nil {
			return err
		}
		fmt.Printf("history     %s\n", path)
	}
	if len(r.Violations) > 0 {
		return ended(sim.Safety)
	}
	if r.Thin() {
		fmt.Println("too little got done to judge by")
		return ended(sim.Void)
	}
	fmt.Println("passed: the history of all clients is judged and nothing is broken")
	return nil
}

// saveHistory writes what clients did and saw, which cannot be had again from the seed
// alone, as JSON, and returns the path: in the folder keep, or, when that is empty, in
// that for temporary files.
func saveHistory(r *live.Report, keep string) (path string, err error) {
	f, err := os.CreateTemp(keep, "history-*.json")
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return f.Name(), json.NewEncoder(f).Encode(r.Operations)
}

func buildNode(ctx context.Context, work string) (string, error) {
	root, err := hunt.Root()
	if err != nil {
		return "", err
	}
	binary := filepath.Join(work, "node")
	cmd := exec.CommandContext(ctx, "go", "build", "-o", binary, "./cmd/node")
	cmd.Dir = root
	cmd.Stderr = os.Stderr
	return binary, cmd.Run()
}
