package bench

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/tamarack-mq/tamarack/client"
)

// Styles are the same records under each way to deliver them, in one run, with the
// position of a group where the way has one. All loads take turns in short slices, so
// that whatever else the machine does meets all of them alike, and only ratios are of
// interest.
type Styles struct {
	Records    int           // of a round, and of a transaction; 1 or more
	Size       int           // bytes of a record's value; 1 or more
	Partitions int32         // of the topic that is written, which take turns; 1 or more
	Producers  int           // programs at once, each with clients and groups of its own; 1 or more
	Duration   time.Duration // of each load, in whole slices; above 0
}

// slice is the time of one turn of a load.
const slice = 250 * time.Millisecond

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

// StyleResult is what was measured of one load. Times are in microseconds.
type StyleResult struct {
	Load       string  `json:"load"`
	Records    int     `json:"records_per_transaction"`
	Size       int     `json:"record_size"`
	Partitions int32   `json:"partitions"`
	Producers  int     `json:"producers"`
	Rounds     int     `json:"rounds"` // whole ones; of a stream, what its records would be
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

	published int     // records
	latencies []int64 // of rounds, in nanoseconds
	elapsed   time.Duration
	spent     spent
}

// stylesRun is one run of Styles, on topics of its own.
type stylesRun struct {
	*Bench
	Styles
	value         []byte
	input, output string
	workers       []*worker
}

// Compare makes topics and programs, lets the loads take turns, and removes the
// topics. There is one result for each load: one record, the plain stream, plain, at
// most once, at least once, the transaction. It returns nothing and no error when ctx
// ends between two turns.
func (b *Bench) Compare(ctx context.Context, s Styles) ([]*StyleResult, error) {
	admin, err := b.Dial(ctx)
	if err != nil {
		return nil, err
	}
	defer shut(admin)
	own := stamp()
	r := &stylesRun{Bench: b, Styles: s, value: make([]byte, s.Size), input: "bench-in-" + own, output: "bench-out-" + own}
	limited, cancel := context.WithTimeout(ctx, b.Timeout)
	defer cancel()
	for _, made := range []struct {
		name       string
		partitions int32
	}{{r.input, 1}, {r.output, s.Partitions}} {
		remove, err := b.topic(limited, admin, made.name, made.partitions)
		if err != nil {
			return nil, err
		}
		defer remove()
	}
	if _, err := admin.PublishMessage(limited, client.Message{Topic: r.input, Value: []byte("read me")}); err != nil {
		return nil, err
	}
	for i := range s.Producers {
		w, err := r.worker(limited, own+"-"+strconv.Itoa(i))
		if err != nil {
			return nil, err
		}
		defer shut(w.plain)
		defer shut(w.whole)
		r.workers = append(r.workers, w)
	}
	return r.takeTurns(ctx)
}

// records are those of one round.
func (r *stylesRun) records(s style) int {
	if s.lone {
		return 1
	}
	return r.Records
}

// takeTurns has each load run for a slice, and again, until each has had its time.
func (r *stylesRun) takeTurns(ctx context.Context) ([]*StyleResult, error) {
	results := make([]*StyleResult, len(styles))
	for i, s := range styles {
		results[i] = &StyleResult{Load: s.name, Records: r.records(s), Size: r.Size, Partitions: r.Partitions, Producers: r.Producers}
	}
	for turn := 0; turn == 0 || time.Duration(turn-1)*slice < r.Duration; turn++ {
		for i, s := range styles {
			if ctx.Err() != nil {
				return nil, nil
			}
			result := results[i]
			if turn == 0 { // connections, coordinators and identities come into being
				result = &StyleResult{Records: result.Records}
			}
			if err := r.turn(ctx, s, result); err != nil {
				return nil, fmt.Errorf("%s, %d records: %w", s.name, result.Records, err)
			}
		}
	}
	compare(results)
	return results, nil
}

// turn is one slice of one load, on all workers at once.
func (r *stylesRun) turn(ctx context.Context, s style, result *StyleResult) error {
	before, err := r.Meter.read(ctx)
	if err != nil {
		return err
	}
	var mu sync.Mutex
	var all sync.WaitGroup
	var first error
	begin := time.Now()
	for _, w := range r.workers {
		all.Go(func() {
			records, latencies, err := w.turn(ctx, s, begin.Add(slice))
			mu.Lock()
			defer mu.Unlock()
			result.published += records
			result.latencies = append(result.latencies, latencies...)
			first = cmp.Or(first, err)
		})
	}
	all.Wait()
	result.elapsed += time.Since(begin)
	after, err := r.Meter.read(ctx)
	result.spent = result.spent.add(after.sub(before))
	return cmp.Or(first, err)
}

// compare computes the figures of all loads, and sets them against those of the plain
// ones.
func compare(results []*StyleResult) {
	for _, r := range results {
		r.fill()
	}
	one, stream, plain := results[0], results[1], results[2]
	for _, r := range results {
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
}

// fill computes what one load says by itself.
func (r *StyleResult) fill() {
	slices.Sort(r.latencies)
	r.P10, r.P50, r.P99 = quantile(r.latencies, 0.1), quantile(r.latencies, 0.5), quantile(r.latencies, 0.99)
	r.P999, r.Max = quantile(r.latencies, 0.999), quantile(r.latencies, 1)
	records := float64(max(r.published, 1))
	rounds := records / float64(r.Records)
	r.Rounds = r.published / r.Records
	r.Rate = records / r.elapsed.Seconds()
	r.Flushes, r.NodeCPU = r.spent.flushes/rounds, r.spent.cpu*1e6/records
}
