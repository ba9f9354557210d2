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
	"slices"
	"sync"
	"time"

	"github.com/tamarack-mq/tamarack/core/chance"
	"github.com/tamarack-mq/tamarack/history"
	"github.com/tamarack-mq/tamarack/models"
)

// Config says what to run.
type Config struct {
	Binary      string        // of cmd/node
	Dir         string        // for data and logs
	Seed        uint64        // of the schedule of faults
	For         time.Duration // how long faults go on
	Nodes       int           // 3 or more
	Partitions  int
	Producers   int
	Members     int
	Workers     int       // of each of the two stages that read, work and write
	Transactors int       // that publish transactions
	Record      string    // folder for recordings of the nodes; empty: none
	Log         io.Writer // what happens, a line each
}

// Report is what came of a run.
type Report struct {
	Kills, Stops, Cuts, MemberCrashes int
	Acked, Unknown, Failed            int
	Polled, Commits                   int
	Transactions                      Transactions
	Records                           int // in the logs at rest
	Violations                        []models.Violation
	Operations                        []history.Operation
}

// Transactions are figures of those who make transactions.
type Transactions struct {
	Committed, Aborted, Unknown int
	Crashes, Pauses, Zombies    int // of their clients
	Fenced                      int // clients that were
	Skipped                     int // records of aborted transactions at rest
	Made                        int // records at rest that workers have made, all committed
}

// Thin says that too little got done to judge by.
func (r *Report) Thin() bool { return r.Acked < 100 || r.Polled < 100 }

// The topics, and who works on them: producers publish to orders, which members of
// billing read; workers of invoicing make invoices of them, and workers of paying
// payments of those. Transactors publish to orders and invoices.
const (
	orders   = "orders"
	invoices = "invoices"
	payments = "payments"

	billing   = "billing"
	invoicing = "invoicing"
	paying    = "paying"
)

var (
	topics = []string{orders, invoices, payments}
	groups = []string{billing, invoicing, paying}
)

// idOf is the number that a topic has in histories: each is made once.
func idOf(topic string) uint64 { return uint64(slices.Index(topics, topic) + 1) }

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
	final, committed, err := r.readAll(ctx)
	if err != nil {
		return nil, fmt.Errorf("reading everything after the faults: %w", err)
	}
	r.conclude(final, committed)
	return r.report, nil
}

// run is one run in progress.
type run struct {
	cfg     Config
	cluster *cluster
	random  *chance.Stream
	rec     *recorder
	report  *Report

	transactors // who makes transactions
}

func (r *run) say(format string, args ...any) {
	fmt.Fprintf(r.cfg.Log, "%8s  %s\n", time.Since(r.rec.began).Round(10*time.Millisecond), fmt.Sprintf(format, args...))
}

// work lets clients and faults loose on one another, and ends with a healed
// cluster, groups that have caught up, and silent clients.
func (r *run) work(ctx context.Context) {
	wild, calm := context.WithCancel(ctx)
	defer calm()
	publishing, full := context.WithCancel(ctx)
	defer full()
	working, enough := context.WithCancel(ctx)
	defer enough()
	var sources, clients sync.WaitGroup
	for i := range r.cfg.Producers {
		sources.Go(func() { r.produce(publishing, int32(i+1)) })
	}
	for i := range r.cfg.Members {
		random := r.random.Split(fmt.Sprintf("member/%d", i))
		clients.Go(func() { r.consume(working, wild, int32(100+i), random) })
	}
	r.startTransactors(publishing, wild, &sources)
	r.startWorkers(working, wild, &clients)
	r.trouble(ctx)
	calm()
	r.cluster.heal()
	r.say("healed: everything runs and is connected again")
	sleep(ctx, 2*time.Second)
	full()
	sources.Wait()
	r.catchUp(ctx)
	enough()
	clients.Wait()
}

// conclude judges the history.
func (r *run) conclude(final, committed []models.Log) {
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
		case op.Kind == history.Transact && op.Outcome == history.OK:
			r.report.Transactions.Committed++
		case op.Kind == history.Transact && op.Outcome == history.Unknown:
			r.report.Transactions.Unknown++
		case op.Kind == history.Transact:
			r.report.Transactions.Aborted++
		}
	}
	for i := range final {
		r.report.Records += len(final[i].Records)
		r.report.Transactions.Skipped += len(final[i].Records) - len(committed[i].Records)
		for j := range committed[i].Records {
			if _, _, made := history.Product(committed[i].Records[j].Value); made {
				r.report.Transactions.Made++
			}
		}
	}
	r.report.Operations = ops
	r.report.Violations = append(models.Judge(&models.Case{Operations: ops, Final: final, Committed: committed}), stuck(ops, committed)...)
}
