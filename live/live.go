// Package live runs a real cluster under real trouble and judges it by the same
// models as a simulated one: node processes on loopback, clients over TCP,
// kill -9, SIGSTOP and cut connections from a seed. What it cannot do is repeat
// a run exactly: operating systems draw their own numbers. What fails here is
// to be found again in the simulator.
package live

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/tamarack-mq/tamarack/core/chance"
	"github.com/tamarack-mq/tamarack/history"
	"github.com/tamarack-mq/tamarack/models"
)

// Config says what to run.
type Config struct {
	Binary     string        // of cmd/node
	Dir        string        // for data and logs
	Seed       uint64        // of the schedule of faults
	For        time.Duration // how long faults go on
	Nodes      int           // 3 or more
	Partitions int
	Producers  int
	Members    int
	Record     string    // folder for recordings of the nodes; empty: none
	Log        io.Writer // what happens, a line each
}

// Report is what came of a run.
type Report struct {
	Kills, Stops, Cuts, MemberCrashes int
	Acked, Unknown, Failed            int
	Polled, Commits                   int
	Records                           int // in the logs at rest
	Violations                        []models.Violation
	Operations                        []history.Operation
}

// Thin says that too little got done to judge by.
func (r *Report) Thin() bool { return r.Acked < 100 || r.Polled < 100 }

const (
	topicName = "orders"
	topicID   = 1 // in histories: this topic is made once and never again
	groupName = "billing"
)

// recorder is a history that many goroutines write to, on one clock.
type recorder struct {
	mu    sync.Mutex
	began time.Time
	inner history.Recorder
}

func (r *recorder) now() int64 { return int64(time.Since(r.began)) }

func (r *recorder) begin(op history.Operation) int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	op.Invoke = r.now()
	return r.inner.Begin(op)
}

func (r *recorder) end(id int64, outcome history.Outcome, fill func(*history.Operation)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.inner.End(id, r.now(), outcome, fill)
}

func (r *recorder) moment(op history.Operation) {
	r.mu.Lock()
	defer r.mu.Unlock()
	op.Invoke = r.now()
	r.inner.Moment(op)
}

// Run starts a cluster, lets the seed's faults loose on it while clients work,
// heals it, reads everything, and judges. An error means that the run itself
// could not be made; what is wrong with the cluster stands in the report.
func Run(ctx context.Context, cfg Config) (*Report, error) {
	c, err := start(ctx, cfg)
	if err != nil {
		return nil, err
	}
	defer c.stop()
	r := &run{
		cfg: cfg, cluster: c, random: chance.New(cfg.Seed),
		rec: &recorder{began: time.Now()}, report: &Report{},
	}
	if err := r.prepare(ctx); err != nil {
		return nil, err
	}
	r.work(ctx)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	final, err := r.readAll(ctx)
	if err != nil {
		return nil, fmt.Errorf("reading everything after the faults: %w", err)
	}
	r.conclude(final)
	return r.report, nil
}

// run is one run in progress.
type run struct {
	cfg     Config
	cluster *cluster
	random  *chance.Stream
	rec     *recorder
	report  *Report
}

func (r *run) say(format string, args ...any) {
	fmt.Fprintf(r.cfg.Log, "%8s  %s\n", time.Since(r.rec.began).Round(10*time.Millisecond), fmt.Sprintf(format, args...))
}

// work lets clients and faults loose on one another, and ends with a healed
// cluster and silent clients.
func (r *run) work(ctx context.Context) {
	working, enough := context.WithCancel(ctx)
	defer enough()
	var clients sync.WaitGroup
	for i := range r.cfg.Producers {
		clients.Go(func() { r.produce(working, int32(i+1)) })
	}
	for i := range r.cfg.Members {
		random := r.random.Split(fmt.Sprintf("member/%d", i))
		clients.Go(func() { r.consume(working, int32(100+i), random) })
	}
	r.trouble(ctx)
	r.cluster.heal()
	r.say("healed: everything runs and is connected again")
	select { // members catch up meanwhile
	case <-time.After(5 * time.Second):
	case <-ctx.Done():
	}
	enough()
	clients.Wait()
}

// conclude judges the history.
func (r *run) conclude(final []models.Log) {
	ops := r.rec.inner.Operations()
	for i := range ops {
		op := &ops[i]
		switch {
		case op.Kind == history.Publish && op.Outcome == history.OK:
			r.report.Acked++
		case op.Kind == history.Publish && op.Outcome == history.Unknown:
			r.report.Unknown++
		case op.Kind == history.Publish:
			r.report.Failed++
		case op.Kind == history.Poll:
			r.report.Polled += len(op.Records)
		case op.Kind == history.Commit && op.Outcome == history.OK:
			r.report.Commits++
		}
	}
	for i := range final {
		r.report.Records += len(final[i].Records)
	}
	r.report.Operations = ops
	r.report.Violations = models.Judge(&models.Case{Operations: ops, Final: final})
}
