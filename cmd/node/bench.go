package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tamarack-mq/tamarack/client"
	"github.com/tamarack-mq/tamarack/core/message"
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
			return explain(bench(cmd.Context(), o, consume, cmd.OutOrStdout(), cmd.ErrOrStderr()))
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
	if o.duration <= 0 {
		return usage("--duration %s: give a time above 0", o.duration)
	}
	return nil
}

// benchRun is the cluster that is measured.
type benchRun struct {
	o     benchOptions
	cl    *client.Client
	meter meter
	acks  message.Acks
}

func bench(ctx context.Context, o benchOptions, consume bool, out, errs io.Writer) error {
	acks, err := parseAcks(o.acks)
	if err != nil {
		return err
	}
	if err := o.check(); err != nil {
		return err
	}
	b := &benchRun{o: o, acks: acks, meter: meter{http: o.metrics}}
	if o.spawn {
		stop, err := b.spawn(ctx, errs)
		if err != nil {
			return err
		}
		defer stop()
	}
	report := newReport(out, o.json)
	defer report.end()
	for _, size := range o.sizes {
		for _, window := range o.windows {
			for range o.runs {
				if ctx.Err() != nil {
					return nil
				}
				r, err := b.one(ctx, consume, size, window)
				if err != nil {
					return fmt.Errorf("%d bytes, window %d: %w", size, window, err)
				}
				report.add(r)
			}
		}
	}
	return nil
}

// spawn starts nodes of our own.
func (b *benchRun) spawn(ctx context.Context, errs io.Writer) (stop func(), err error) {
	dir := b.o.data
	made := dir == ""
	if made {
		if dir, err = os.MkdirTemp("", "tamarack-bench-"); err != nil {
			return nil, err
		}
	}
	c, err := startDev(devOptions{nodes: 3, data: dir, extra: append([]string{"log-level=warn", "shutdown-limit=1s"}, b.o.set...)})
	if err != nil {
		return nil, err
	}
	stop = func() {
		c.stop()
		if made && !b.o.keep {
			_ = os.RemoveAll(dir)
		}
	}
	if err := c.awaitReady(ctx, func(*devNode) {}); err != nil {
		stop()
		return nil, err
	}
	fmt.Fprintf(errs, "three nodes are ready, data in %s\n", dir)
	b.o.bootstrap = strings.Join(c.addresses(), ",")
	b.meter = meter{}
	for _, n := range c.nodes {
		b.meter.http = append(b.meter.http, n.http)
		b.meter.pids = append(b.meter.pids, n.cmd.Process.Pid)
	}
	return stop, nil
}

// one makes a topic, runs one load on it and removes it.
func (b *benchRun) one(ctx context.Context, consume bool, size, window int) (*benchResult, error) {
	cl, err := b.o.dial(ctx, client.WithAcks(b.acks))
	if err != nil {
		return nil, err
	}
	b.cl = cl
	defer func() {
		end, stop := context.WithTimeout(context.Background(), 2*time.Second)
		defer stop()
		_ = cl.Close(end)
	}()
	name := "bench-" + strconv.FormatInt(time.Now().UnixNano(), 36)
	limited, cancel := context.WithTimeout(ctx, b.o.timeout)
	defer cancel()
	if err := cl.CreateTopic(limited, message.CreateTopic{Name: name, Partitions: b.o.partitions, ReplicationFactor: b.o.replicas}); err != nil {
		return nil, err
	}
	if _, err := awaitTopic(limited, cl, name); err != nil {
		return nil, err
	}
	if !b.o.keep {
		defer func() {
			end, stop := context.WithTimeout(context.Background(), b.o.timeout)
			defer stop()
			_ = cl.DeleteTopic(end, name)
		}()
	}
	r := &benchResult{Load: "produce", Size: size, Window: window, Partitions: b.o.partitions, Acks: b.o.acks}
	if err := b.warm(limited, name, size); err != nil {
		return nil, err
	}
	if err := b.produce(ctx, r, name); err != nil || !consume {
		return r, err
	}
	read := &benchResult{Load: "consume", Size: size, Window: window, Partitions: b.o.partitions, Acks: b.o.acks}
	return read, b.consume(ctx, read, name, r.Records)
}

// warm publishes one record to each partition, so that connections are there.
func (b *benchRun) warm(ctx context.Context, name string, size int) error {
	for p := range b.o.partitions {
		if _, err := b.cl.PublishMessage(ctx, client.Message{Topic: name, Partition: p, Value: make([]byte, size)}); err != nil {
			return err
		}
	}
	return nil
}

// produce keeps the window full for the time of the run.
func (b *benchRun) produce(ctx context.Context, r *benchResult, name string) error {
	value := make([]byte, r.Size)
	slots := make(chan struct{}, r.Window)
	latencies := make([]int64, 0, 1<<20) // of the client's goroutine, until the end
	var failed error
	before, err := b.meter.read(ctx)
	if err != nil {
		return err
	}
	begin := time.Now()
	for n := 0; ; n++ {
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			return ctx.Err()
		}
		sent := time.Now()
		if sent.Sub(begin) >= b.o.duration {
			<-slots
			break
		}
		m := client.Message{Topic: name, Partition: int32(n) % b.o.partitions, Value: value}
		b.cl.PublishAsync(m, func(_ client.Receipt, err error) {
			if err != nil && failed == nil {
				failed = err
			}
			latencies = append(latencies, int64(time.Since(sent)))
			<-slots
		})
	}
	for range r.Window { // the last ones
		select {
		case slots <- struct{}{}:
		case <-time.After(b.o.timeout):
			return errors.New("the last records were not acknowledged in time")
		}
	}
	elapsed := time.Since(begin)
	after, err := b.meter.read(ctx)
	if err != nil {
		return err
	}
	r.fill(latencies, elapsed, after.sub(before))
	return failed
}

// consume reads what was published, from the start.
func (b *benchRun) consume(ctx context.Context, r *benchResult, name string, want int) error {
	p := &polling{o: pollOptions{connection: b.o.connection, topics: []string{name}, partition: -1}, cl: b.cl}
	from, _ := position("earliest")
	before, err := b.meter.read(ctx)
	if err != nil {
		return err
	}
	begin := time.Now()
	if err := p.begin(ctx, from); err != nil {
		return err
	}
	got := 0
	for got < want && ctx.Err() == nil {
		step, cancel := context.WithTimeout(ctx, b.o.timeout)
		records, err := b.cl.Poll(step, 0)
		cancel()
		if err != nil {
			return err
		}
		if len(records) == 0 {
			return fmt.Errorf("%d of %d records came", got, want)
		}
		got += len(records)
	}
	elapsed := time.Since(begin)
	after, err := b.meter.read(ctx)
	if err != nil {
		return err
	}
	r.fill(nil, elapsed, after.sub(before))
	r.Records = got
	r.rates(elapsed, after.sub(before))
	return nil
}
