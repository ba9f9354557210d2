package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/tamarack-mq/tamarack/client"
	protocol "github.com/tamarack-mq/tamarack/core/client"
	"github.com/tamarack-mq/tamarack/core/message"
)

// Load is a closed loop: a window of records that is always full.
type Load struct {
	Size       int   // bytes of a record's value; 1 or more
	Window     int   // unanswered records; 1 or more
	Partitions int32 // of the topic, which are written in turn; 1 or more
	Acks       message.Acks
	Duration   time.Duration // of publishing; above 0
}

// Result is what was measured of a Load. Times are in microseconds.
type Result struct {
	Load       string  `json:"load"` // produce or consume
	Size       int     `json:"record_size"`
	Window     int     `json:"window"`
	Partitions int32   `json:"partitions"`
	Acks       string  `json:"acks"` // all, 1 or 0
	Records    int     `json:"records"`
	Seconds    float64 `json:"seconds"`
	Rate       float64 `json:"records_per_second"`
	Megabytes  float64 `json:"megabytes_per_second"`
	P50        float64 `json:"p50_us"` // from a record's sending to its answer; 0 for consume
	P99        float64 `json:"p99_us"`
	P999       float64 `json:"p999_us"`
	Max        float64 `json:"max_us"`
	Flushes    float64 `json:"flushes_per_record"`
	Disk       float64 `json:"disk_bytes_per_payload_byte"`
	NodeCPU    float64 `json:"node_cpu_us_per_record"`
	ClientCPU  float64 `json:"client_cpu_us_per_record"`
}

// Produce publishes as fast as the window allows. It fails when any record does.
func (b *Bench) Produce(ctx context.Context, l Load) (*Result, error) {
	return b.one(ctx, l, func(run *loadRun) (*Result, error) { return run.produce(ctx) })
}

// Consume publishes as Produce does, and then reads all of it from the start, which is
// what it measures.
func (b *Bench) Consume(ctx context.Context, l Load) (*Result, error) {
	return b.one(ctx, l, func(run *loadRun) (*Result, error) {
		published, err := run.produce(ctx)
		if err != nil {
			return nil, err
		}
		return run.consume(ctx, published.Records)
	})
}

// loadRun is one run of a Load, on a topic of its own.
type loadRun struct {
	*Bench
	Load
	cl    *client.Client
	topic string
}

// one makes a topic, runs something on it and removes it.
func (b *Bench) one(ctx context.Context, l Load, run func(*loadRun) (*Result, error)) (*Result, error) {
	cl, err := b.Dial(ctx, client.WithAcks(l.Acks))
	if err != nil {
		return nil, err
	}
	defer shut(cl)
	r := &loadRun{Bench: b, Load: l, cl: cl, topic: "bench-" + stamp()}
	limited, cancel := context.WithTimeout(ctx, b.Timeout)
	defer cancel()
	remove, err := b.topic(limited, cl, r.topic, l.Partitions)
	if err != nil {
		return nil, err
	}
	defer remove()
	if err := r.warm(limited); err != nil {
		return nil, err
	}
	return run(r)
}

// warm publishes one record to each partition, so that connections are there.
func (r *loadRun) warm(ctx context.Context) error {
	for p := range r.Partitions {
		if _, err := r.cl.PublishMessage(ctx, client.Message{Topic: r.topic, Partition: p, Value: make([]byte, r.Size)}); err != nil {
			return err
		}
	}
	return nil
}

// result is an empty one.
func (r *loadRun) result(load string) *Result {
	acks := map[message.Acks]string{message.AcksAll: "all", message.AcksLeader: "1", message.AcksNone: "0"}
	return &Result{Load: load, Size: r.Size, Window: r.Window, Partitions: r.Partitions, Acks: acks[r.Acks]}
}

// produce keeps the window full for the time of the run.
func (r *loadRun) produce(ctx context.Context) (*Result, error) {
	value := make([]byte, r.Size)
	slots := make(chan struct{}, r.Window)
	latencies := make([]int64, 0, 1<<20) // of the client's goroutine, until the end
	var failed error
	before, err := r.Meter.read(ctx)
	if err != nil {
		return nil, err
	}
	begin := time.Now()
	for n := 0; ; n++ {
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		sent := time.Now()
		if sent.Sub(begin) >= r.Duration {
			<-slots
			break
		}
		m := client.Message{Topic: r.topic, Partition: int32(n) % r.Partitions, Value: value}
		r.cl.PublishAsync(m, func(_ client.Receipt, err error) {
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
		case <-time.After(r.Timeout):
			return nil, errors.New("the last records were not acknowledged in time")
		}
	}
	elapsed := time.Since(begin)
	after, err := r.Meter.read(ctx)
	if err != nil {
		return nil, err
	}
	result := r.result("produce")
	result.fill(latencies, len(latencies), elapsed, after.sub(before))
	return result, failed
}

// consume reads what was published, from the start; at least want records.
func (r *loadRun) consume(ctx context.Context, want int) (*Result, error) {
	before, err := r.Meter.read(ctx)
	if err != nil {
		return nil, err
	}
	begin := time.Now()
	if err := r.assign(ctx); err != nil {
		return nil, err
	}
	got := 0
	for got < want && ctx.Err() == nil {
		step, cancel := context.WithTimeout(ctx, r.Timeout)
		records, err := r.cl.Poll(step, 0)
		cancel()
		if err != nil {
			return nil, err
		}
		if len(records) == 0 {
			return nil, fmt.Errorf("%d of %d records came", got, want)
		}
		got += len(records)
	}
	elapsed := time.Since(begin)
	after, err := r.Meter.read(ctx)
	if err != nil {
		return nil, err
	}
	result := r.result("consume")
	result.fill(nil, got, elapsed, after.sub(before))
	return result, nil
}

// assign begins to read all partitions.
func (r *loadRun) assign(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, r.Timeout)
	defer cancel()
	var starts []protocol.Start
	for p := range r.Partitions {
		starts = append(starts, protocol.Start{
			Place: client.Place{Topic: r.topic, Partition: p}, From: protocol.Position{Kind: protocol.AtEarliest},
		})
	}
	return r.cl.Assign(limited, protocol.Assign{Partitions: starts})
}

// fill computes the figures of a run of so many records. latencies are in nanoseconds.
func (r *Result) fill(latencies []int64, records int, elapsed time.Duration, s spent) {
	slices.Sort(latencies)
	r.P50, r.P99, r.P999, r.Max = quantile(latencies, 0.5), quantile(latencies, 0.99), quantile(latencies, 0.999), quantile(latencies, 1)
	r.Records = records
	n := float64(max(records, 1))
	r.Seconds = elapsed.Seconds()
	r.Rate = float64(records) / r.Seconds
	r.Megabytes = r.Rate * float64(r.Size) / 1e6
	r.Flushes, r.NodeCPU, r.ClientCPU = s.flushes/n, s.cpu*1e6/n, s.client*1e6/n
	r.Disk = s.diskBytes / (n * float64(r.Size))
}
