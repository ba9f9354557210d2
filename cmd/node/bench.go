package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tamarack-mq/tamarack/bench"
	"github.com/tamarack-mq/tamarack/client"
)

// benchOptions describe the loads.
type benchOptions struct {
	connection
	windows    []int
	sizes      []int
	partitions int32
	replicas   int16
	duration   time.Duration
	runs       int
	acks       string
	spawn      bool
	data       string
	set        []string
	metrics    []string
	keep       bool

	transactions []int
	producers    int
}

func benchCommand() *cobra.Command {
	var o benchOptions
	cmd := &cobra.Command{
		Use:   "bench produce|consume | bench --transactions",
		Short: "Measure throughput, latency and what they cost",
		Long: `Measure a cluster with a closed loop: WINDOW records are always unanswered. Window
1 is the latency of a lone record, 256 a normal producer, 4096 saturation.

Per record: flushes of all logs on all nodes, bytes that the nodes sent to their
disks per byte of record (3 replicas cannot be below 3), and processor time of
the nodes. These need --spawn, or --metrics with the nodes' HTTP addresses; disk
bytes need --spawn.

With --transactions, the same records under each way to deliver them, with the
position of a group: round after round of N records over three partitions, each
waited for, and as a plain stream with N records unanswered. All of them take turns
in one run. "over plain" is how much longer a round takes (median) than the same
records alone, in medians of one record: flush-and-round-trip latencies.`,
		Example: `  node bench produce --spawn --data /folder/on/that/disk
  node bench --transactions --spawn --data /folder/on/that/disk`,
		Args: exactArgs(),
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if len(o.transactions) == 0 {
			return usage("missing what to measure: produce, consume or --transactions")
		}
		if !cmd.Flags().Changed("partitions") {
			o.partitions = 3
		}
		return explain(benchTransactions(cmd.Context(), o, cmd.OutOrStdout(), cmd.ErrOrStderr()))
	}
	o.connection.flags(cmd)
	f := cmd.PersistentFlags()
	f.SortFlags = false
	own := cmd.Flags()
	own.IntSliceVar(&o.transactions, "transactions", nil, "Records of a transaction; several are run one after the other")
	own.Lookup("transactions").NoOptDefVal = "100,1000"
	own.IntVar(&o.producers, "producers", 1, "With --transactions: programs at once, each with a transactional id of its own")
	f.IntSliceVar(&o.windows, "window", []int{1, 256, 4096}, "Unanswered records; several are run one after the other")
	f.IntSliceVar(&o.sizes, "record-size", []int{1024}, "Bytes of a record's value; several are run one after the other")
	f.Int32Var(&o.partitions, "partitions", 1, "Partitions of the topic")
	f.Int16Var(&o.replicas, "replicas", 3, "Replicas of the topic")
	f.DurationVar(&o.duration, "duration", 5*time.Second, "Time of one run")
	f.IntVar(&o.runs, "runs", 1, "Runs of each load")
	f.StringVar(&o.acks, "acks", "all", "What the producer waits for: all, 1 or 0")
	f.BoolVar(&o.spawn, "spawn", false, "Start three nodes on this machine for the time of the bench")
	f.StringVar(&o.data, "data", "", "Folder for the nodes of --spawn; it must be on the disk that is to be measured; default: a temporary one")
	f.StringArrayVar(&o.set, "set", nil, "A setting for the nodes of --spawn, as name=value")
	f.StringSliceVar(&o.metrics, "metrics", nil, "HTTP addresses of the nodes, to read their counters")
	f.BoolVar(&o.keep, "keep", false, "Keep the topic that was made, and the folder of --spawn")
	run := func(consume bool) func(*cobra.Command, []string) error {
		return func(cmd *cobra.Command, _ []string) error {
			return explain(benchLoads(cmd.Context(), o, consume, cmd.OutOrStdout(), cmd.ErrOrStderr()))
		}
	}
	cmd.AddCommand(
		&cobra.Command{Use: "produce", Short: "Publish records as fast as the window allows", Args: exactArgs(), RunE: run(false)},
		&cobra.Command{Use: "consume", Short: "Publish records, then read all of them from the start", Args: exactArgs(), RunE: run(true)},
	)
	return cmd
}

// check says what would measure nothing, before nodes are started for it.
func (o *benchOptions) check() error {
	for _, n := range append(append([]int{o.runs}, o.sizes...), o.windows...) {
		if n < 1 {
			return usage("--runs, --record-size and --window must be 1 or more")
		}
	}
	for _, n := range append([]int{o.producers}, o.transactions...) {
		if n < 1 {
			return usage("--transactions and --producers must be 1 or more")
		}
	}
	if o.partitions < 1 {
		return usage("--partitions %d: it must be 1 or more", o.partitions)
	}
	if o.duration <= 0 {
		return usage("--duration %s: give a time above 0", o.duration)
	}
	return nil
}

// prepare checks the options, and starts nodes if that is asked for. stop ends them.
func (o *benchOptions) prepare(ctx context.Context, errs io.Writer) (b *bench.Bench, stop func(), err error) {
	if err := o.check(); err != nil {
		return nil, nil, err
	}
	stop = func() {}
	meter := bench.Meter{HTTP: o.metrics}
	if o.spawn {
		if meter, stop, err = o.start(ctx, errs); err != nil {
			return nil, nil, err
		}
	}
	ready := func(ctx context.Context, cl *client.Client, topic string) error {
		_, err := awaitTopic(ctx, cl, topic)
		return err
	}
	return &bench.Bench{Dial: o.dial, Ready: ready, Meter: meter, Timeout: o.timeout, Replicas: o.replicas, Keep: o.keep}, stop, nil
}

// start starts nodes of our own, and says how to meter them.
func (o *benchOptions) start(ctx context.Context, errs io.Writer) (meter bench.Meter, stop func(), err error) {
	dir := o.data
	made := dir == ""
	if made {
		if dir, err = os.MkdirTemp("", "tamarack-bench-"); err != nil {
			return meter, nil, err
		}
	}
	c, err := startDev(devOptions{nodes: 3, data: dir, extra: append([]string{"log-level=warn", "shutdown-limit=1s"}, o.set...)})
	if err != nil {
		return meter, nil, err
	}
	stop = func() {
		c.stop()
		if made && !o.keep {
			_ = os.RemoveAll(dir)
		}
	}
	if err := c.awaitReady(ctx, func(*devNode) {}); err != nil {
		stop()
		return meter, nil, err
	}
	fmt.Fprintf(errs, "three nodes are ready, data in %s\n", dir)
	o.bootstrap = strings.Join(c.addresses(), ",")
	for _, n := range c.nodes {
		meter.HTTP = append(meter.HTTP, n.http)
		meter.PIDs = append(meter.PIDs, n.cmd.Process.Pid)
	}
	return meter, stop, nil
}

// benchLoads measures each load, as often as is asked for.
func benchLoads(ctx context.Context, o benchOptions, consume bool, out, errs io.Writer) error {
	acks, err := parseAcks(o.acks)
	if err != nil {
		return err
	}
	b, stop, err := o.prepare(ctx, errs)
	if err != nil {
		return err
	}
	defer stop()
	measure := b.Produce
	if consume {
		measure = b.Consume
	}
	report := newBenchReport(out, o.json)
	defer report.end()
	for _, size := range o.sizes {
		for _, window := range o.windows {
			for range o.runs {
				if ctx.Err() != nil {
					return nil
				}
				r, err := measure(ctx, bench.Load{Size: size, Window: window, Partitions: o.partitions, Acks: acks, Duration: o.duration})
				if err != nil {
					return fmt.Errorf("%d bytes, window %d: %w", size, window, err)
				}
				report.add(r)
			}
		}
	}
	return nil
}

// benchTransactions measures each number of records in a transaction.
func benchTransactions(ctx context.Context, o benchOptions, out, errs io.Writer) error {
	b, stop, err := o.prepare(ctx, errs)
	if err != nil {
		return err
	}
	defer stop()
	for _, records := range o.transactions {
		for _, size := range o.sizes {
			for range o.runs {
				results, err := b.Compare(ctx, bench.Styles{
					Records: records, Size: size, Partitions: o.partitions, Producers: o.producers, Duration: o.duration,
				})
				if err != nil || results == nil {
					return err
				}
				printStyles(out, o.json, results)
			}
		}
	}
	return nil
}
