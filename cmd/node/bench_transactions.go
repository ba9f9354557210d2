package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/tamarack-mq/tamarack/client"
	"github.com/tamarack-mq/tamarack/core/message"
)

// The bench of delivery styles: the same records under each of them, in one run. All
// loads take turns in short slices, so that whatever else the machine does meets all
// of them alike, and only ratios are of interest.

// benchSlice is one turn of a load.
const benchSlice = 250 * time.Millisecond

// worker is one program that reads a topic and writes another: with its transactional
// client and its plain one, each the only member of a group of its own.
type worker struct {
	b     *transactionBench
	plain *client.Client
	whole *client.Client // makes transactions
	done  client.Position
	next  int32 // partition of the next record
}

// style is a way to deliver records. A round is one step of it.
type style struct {
	name   string
	round  func(w *worker, ctx context.Context) error
	stream bool // one round after the other without a pause: rounds have no latency
	lone   bool // of one record
}

var styles = []style{
	{name: "one record", round: (*worker).lone, lone: true},
	{name: "plain stream", stream: true},
	{name: "plain", round: (*worker).publish},
	{name: "at most once", round: (*worker).atMostOnce},
	{name: "at least once", round: (*worker).atLeastOnce},
	{name: "transaction", round: (*worker).transaction},
}

// lone is the flush-and-round-trip latency.
func (w *worker) lone(ctx context.Context) error {
	_, err := w.plain.PublishMessage(ctx, w.message())
	return err
}

// publish stores the records of a round, without anything else.
func (w *worker) publish(ctx context.Context) error {
	messages := make([]client.Message, w.b.records)
	for i := range messages {
		messages[i] = w.message()
	}
	_, err := w.plain.PublishAll(ctx, messages)
	return err
}

// atMostOnce commits the position before the records: after a crash they are missing.
func (w *worker) atMostOnce(ctx context.Context) error {
	if err := w.plain.Commit(ctx, w.done); err != nil {
		return err
	}
	return w.publish(ctx)
}

// atLeastOnce commits the position behind the records: after a crash they come again.
func (w *worker) atLeastOnce(ctx context.Context) error {
	if err := w.publish(ctx); err != nil {
		return err
	}
	return w.plain.Commit(ctx, w.done)
}

// transaction commits both together.
func (w *worker) transaction(ctx context.Context) error {
	return w.whole.Transact(ctx, func(tx *client.Tx) error {
		for range w.b.records {
			if err := tx.PublishMessage(w.message()); err != nil {
				return err
			}
		}
		return tx.CommitPositions(w.done)
	})
}

func (w *worker) message() client.Message {
	w.next = (w.next + 1) % w.b.partitions
	return client.Message{Topic: w.b.output, Partition: w.next, Value: w.b.value}
}

// stream publishes without a pause until a time, with as many records unanswered as
// a round has.
func (w *worker) stream(ctx context.Context, until time.Time) (rounds int, err error) {
	slots := make(chan struct{}, w.b.records)
	var mu sync.Mutex
	n := 0
	for time.Now().Before(until) && ctx.Err() == nil {
		slots <- struct{}{}
		n++
		w.plain.PublishAsync(w.message(), func(_ client.Receipt, failed error) {
			if failed != nil {
				mu.Lock()
				err = failed
				mu.Unlock()
			}
			<-slots
		})
	}
	for range cap(slots) {
		slots <- struct{}{}
	}
	mu.Lock()
	defer mu.Unlock()
	return n / w.b.records, err
}

// transactionBench is a run with one number of records in a transaction.
type transactionBench struct {
	*benchRun
	records       int
	partitions    int32
	value         []byte
	input, output string
	workers       []*worker
}

// styleResult is what was measured of one load. Times are in microseconds.
type styleResult struct {
	Load       string  `json:"load"`
	Records    int     `json:"records_per_transaction"`
	Size       int     `json:"record_size"`
	Partitions int32   `json:"partitions"`
	Producers  int     `json:"producers"`
	Rounds     int     `json:"rounds"`
	Rate       float64 `json:"records_per_second"`
	OfPlain    float64 `json:"of_plain_stream"`   // its rate, in that of the plain stream
	OfRecords  float64 `json:"of_plain"`          // its rate, in that of the same records, waited for
	P10        float64 `json:"p10_us,omitempty"`  // of a round
	P50        float64 `json:"p50_us,omitempty"`  // of a round
	P99        float64 `json:"p99_us,omitempty"`  // of a round
	P999       float64 `json:"p999_us,omitempty"` // of a round
	Max        float64 `json:"max_us,omitempty"`  // of a round
	Over       float64 `json:"over_plain"`        // median over that of plain, in medians of one record
	Flushes    float64 `json:"flushes_per_round"`
	NodeCPU    float64 `json:"node_cpu_us_per_record"`

	latencies []int64
	elapsed   time.Duration
	spent     spent
}

// benchTransactions measures each number of records in a transaction.
func benchTransactions(ctx context.Context, o benchOptions, out, errs io.Writer) error {
	if err := o.check(); err != nil {
		return err
	}
	b := &benchRun{o: o, acks: message.AcksAll, meter: meter{http: o.metrics}}
	if o.spawn {
		stop, err := b.spawn(ctx, errs)
		if err != nil {
			return err
		}
		defer stop()
	}
	for _, records := range o.transactions {
		for _, size := range o.sizes {
			if records < 1 || size < 1 || o.producers < 1 {
				return usage("transactions, record sizes and producers must be 1 or more")
			}
			for range o.runs {
				t := &transactionBench{benchRun: b, records: records, partitions: max(b.o.partitions, 1), value: make([]byte, size)}
				results, err := t.run(ctx)
				if err != nil || ctx.Err() != nil {
					return err
				}
				printStyles(out, b.o.json, results)
			}
		}
	}
	return nil
}

// run makes topics and workers, lets the loads take turns, and removes the topics.
func (b *transactionBench) run(ctx context.Context) ([]*styleResult, error) {
	admin, err := b.o.dial(ctx)
	if err != nil {
		return nil, err
	}
	b.cl = admin
	defer shut(admin)
	stamp := strconv.FormatInt(time.Now().UnixNano(), 36)
	b.input, b.output = "bench-in-"+stamp, "bench-out-"+stamp
	limited, cancel := context.WithTimeout(ctx, b.o.timeout)
	defer cancel()
	for name, partitions := range map[string]int32{b.input: 1, b.output: b.partitions} {
		if err := admin.CreateTopic(limited, message.CreateTopic{Name: name, Partitions: partitions, ReplicationFactor: b.o.replicas}); err != nil {
			return nil, err
		}
		if _, err := awaitTopic(limited, admin, name); err != nil {
			return nil, err
		}
		if !b.o.keep {
			defer func() {
				end, stop := context.WithTimeout(context.Background(), b.o.timeout)
				defer stop()
				_ = admin.DeleteTopic(end, name)
			}()
		}
	}
	if _, err := admin.PublishMessage(limited, client.Message{Topic: b.input, Value: []byte("read me")}); err != nil {
		return nil, err
	}
	for i := range b.o.producers {
		w, err := b.worker(limited, stamp+"-"+strconv.Itoa(i))
		if err != nil {
			return nil, err
		}
		defer shut(w.plain)
		defer shut(w.whole)
		b.workers = append(b.workers, w)
	}
	return b.takeTurns(ctx)
}

func shut(cl *client.Client) {
	end, stop := context.WithTimeout(context.Background(), 2*time.Second)
	defer stop()
	_ = cl.Close(end)
}

// worker dials, and reads the input, so that there is a position to commit.
func (b *transactionBench) worker(ctx context.Context, name string) (*worker, error) {
	w := &worker{b: b, done: client.Position{Place: client.Place{Topic: b.input}, Offset: 1}}
	var err error
	if w.plain, err = b.o.dial(ctx); err != nil {
		return nil, err
	}
	if w.whole, err = b.o.dial(ctx, client.WithTransactionalID("bench-"+name)); err != nil {
		shut(w.plain)
		return nil, err
	}
	for i, cl := range []*client.Client{w.plain, w.whole} {
		err := cl.Subscribe(ctx, client.Subscription{Group: fmt.Sprintf("bench-%s-%d", name, i), Topics: []string{b.input}})
		var read []client.Record
		if err == nil {
			read, err = cl.Poll(ctx, 1)
		}
		if err == nil && len(read) == 0 {
			err = errors.New("the group that commits positions was given nothing to read")
		}
		if err != nil {
			shut(w.plain)
			shut(w.whole)
			return nil, err
		}
	}
	return w, nil
}

// takeTurns has each load run for a slice, and again, until each has had its time.
func (b *transactionBench) takeTurns(ctx context.Context) ([]*styleResult, error) {
	results := make([]*styleResult, len(styles))
	for i, s := range styles {
		results[i] = &styleResult{Load: s.name, Records: b.records, Size: len(b.value), Partitions: b.partitions, Producers: len(b.workers)}
		if s.lone {
			results[i].Records = 1
		}
	}
	for turn := 0; turn == 0 || time.Duration(turn-1)*benchSlice < b.o.duration; turn++ {
		for i, s := range styles {
			if ctx.Err() != nil {
				return results, nil
			}
			r := results[i]
			if turn == 0 { // connections, coordinators and identities come into being
				r = &styleResult{Records: b.records}
			}
			if err := b.turn(ctx, s, r); err != nil {
				return nil, fmt.Errorf("%s, %d records: %w", s.name, r.Records, err)
			}
		}
	}
	for _, r := range results {
		r.fill(results)
	}
	return results, nil
}

// turn is one slice of one load, on all workers at once.
func (b *transactionBench) turn(ctx context.Context, s style, r *styleResult) error {
	before, err := b.meter.read(ctx)
	if err != nil {
		return err
	}
	var mu sync.Mutex
	var all sync.WaitGroup
	var first error
	begin := time.Now()
	for _, w := range b.workers {
		all.Go(func() {
			rounds, latencies, err := w.turn(ctx, s, begin.Add(benchSlice))
			mu.Lock()
			defer mu.Unlock()
			r.Rounds += rounds
			r.latencies = append(r.latencies, latencies...)
			first = cmpError(first, err)
		})
	}
	all.Wait()
	r.elapsed += time.Since(begin)
	after, err := b.meter.read(ctx)
	r.spent = r.spent.add(after.sub(before))
	return cmpError(first, err)
}

func cmpError(a, b error) error {
	if a != nil {
		return a
	}
	return b
}

func (w *worker) turn(ctx context.Context, s style, until time.Time) (rounds int, latencies []int64, err error) {
	if s.stream {
		rounds, err = w.stream(ctx, until)
		return rounds, nil, err
	}
	for time.Now().Before(until) && ctx.Err() == nil {
		limited, stop := context.WithTimeout(ctx, w.b.o.timeout)
		begin := time.Now()
		err := s.round(w, limited)
		stop()
		if err != nil {
			return len(latencies), latencies, err
		}
		latencies = append(latencies, int64(time.Since(begin)))
	}
	return len(latencies), latencies, nil
}

// fill computes the figures, and sets them against those of the plain loads.
func (r *styleResult) fill(all []*styleResult) {
	slices.Sort(r.latencies)
	at := func(latencies []int64, q float64) float64 {
		if len(latencies) == 0 {
			return 0
		}
		return float64(latencies[int(q*float64(len(latencies)-1))]) / 1e3
	}
	r.P10 = at(r.latencies, 0.1)
	r.P50, r.P99, r.P999, r.Max = at(r.latencies, 0.5), at(r.latencies, 0.99), at(r.latencies, 0.999), at(r.latencies, 1)
	rounds := float64(max(r.Rounds, 1))
	r.Rate = rounds * float64(r.Records) / r.elapsed.Seconds()
	r.Flushes, r.NodeCPU = r.spent.flushes/rounds, r.spent.cpu*1e6/rounds/float64(r.Records)
	one, stream, plain := all[0], all[1], all[2]
	if stream.Rate > 0 {
		r.OfPlain = r.Rate / stream.Rate
	}
	if plain.Rate > 0 {
		r.OfRecords = r.Rate / plain.Rate
	}
	if r != one && one.P50 > 0 && plain.P50 > 0 && r.P50 > 0 {
		r.Over = (r.P50 - plain.P50) / one.P50
	}
}

func printStyles(out io.Writer, asJSON bool, results []*styleResult) {
	if asJSON {
		encoder := json.NewEncoder(out)
		for _, r := range results {
			_ = encoder.Encode(r)
		}
		return
	}
	table := tabwriter.NewWriter(out, 8, 8, 1, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "load\trecords\tbytes\trounds\trecords/s\tof plain stream\tp10 us\tp50 us\tp99 us\tp999 us\tmax us\tover plain\tflushes/round\tnode us/rec\t")
	for _, r := range results {
		fmt.Fprintf(table, "%s\t%d\t%d\t%d\t%.0f\t%.0f %%\t", r.Load, r.Records, r.Size, r.Rounds, r.Rate, 100*r.OfPlain)
		if r.P50 > 0 {
			fmt.Fprintf(table, "%.0f\t%.0f\t%.0f\t%.0f\t%.0f\t%.2f\t", r.P10, r.P50, r.P99, r.P999, r.Max, r.Over)
		} else {
			fmt.Fprint(table, "\t\t\t\t\t\t")
		}
		fmt.Fprintf(table, "%.1f\t%.2f\t\n", r.Flushes, r.NodeCPU)
	}
	_ = table.Flush()
	last := results[len(results)-1]
	fmt.Fprintf(out, "a transaction of %d records takes %.2f flush-and-round-trip latencies over the same records without one; its rate is %.0f %% of a plain stream's, and %.0f %% of theirs\n",
		last.Records, last.Over, 100*last.OfPlain, 100*last.OfRecords)
}
