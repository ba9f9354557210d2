//go:build unix

package sim

import (
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/tamarack-mq/tamarack/internal/cputime"
)

// BenchmarkSeeds plays the plans that a campaign plays.
func BenchmarkSeeds(b *testing.B) { benchmarkPlans(b, NewPlan) }

// BenchmarkFiveBrokersAllFaults plays the case that the simulator's speed is
// held to: five brokers, every kind of fault switched on, and several clients of
// each role. Only the seed differs between iterations.
func BenchmarkFiveBrokersAllFaults(b *testing.B) { benchmarkPlans(b, FiveBrokers) }

// BenchmarkChecking tells how much of a run the book, the observers and the
// models take: "%checking", of the processor time.
func BenchmarkChecking(b *testing.B) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	TuneCollector()
	Run(FiveBrokers(1), Options{}).DropHistory()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var checking time.Duration
	b.ResetTimer()
	begun := cputime.Thread()
	for i := range b.N {
		Run(FiveBrokers(uint64(i%20)+1), Options{checking: &checking}).DropHistory()
	}
	b.ReportMetric(100*checking.Seconds()/(cputime.Thread()-begun).Seconds(), "%checking")
}

// benchmarkPlans plays the plans of twenty seeds in turn on one core. Its
// figures are per second of processor time, the collector's included, and not of
// wall time: so they hold on a machine that does other things, too. A warm-up
// run keeps the page faults of a fresh heap out.
func benchmarkPlans(b *testing.B, plan func(uint64) *Plan) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	TuneCollector()
	Run(plan(1), Options{}).DropHistory()
	var stats Stats
	b.ReportAllocs()
	b.ResetTimer()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	begun := processorTime(b)
	for i := range b.N {
		r := Run(plan(uint64(i%20)+1), Options{})
		if r.Failure != nil {
			b.Logf("seed %d: %s", r.Seed, r.Failure.Sentence)
		}
		stats.Add(&r.Stats)
		r.DropHistory()
	}
	seconds := processorTime(b) - begun
	runtime.ReadMemStats(&after)
	b.ReportMetric(float64(after.Mallocs-before.Mallocs)/float64(stats.Steps), "allocs/step")
	b.ReportMetric(float64(after.TotalAlloc-before.TotalAlloc)/float64(stats.Steps), "B/step")
	b.ReportMetric(float64(stats.Acked+stats.Polled+stats.Commits)/(float64(stats.Virtual)/float64(Second)), "work/virtual-s")
	b.ReportMetric(float64(stats.Steps)/seconds, "steps/cpu-s")
	b.ReportMetric(float64(stats.Virtual)/float64(Second)/seconds, "virtual/cpu")
	b.ReportMetric(float64(stats.Steps)/b.Elapsed().Seconds(), "steps/wall-s")
	b.ReportMetric(float64(stats.Virtual)/float64(Second)/b.Elapsed().Seconds(), "virtual/wall")
	b.ReportMetric(float64(stats.Steps)/(float64(stats.Virtual)/float64(Second)), "steps/virtual-s")
}

// processorTime is what this process has used so far, in seconds.
func processorTime(b *testing.B) float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}
