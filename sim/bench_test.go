//go:build unix

package sim

import (
	"runtime"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/tamarack-mq/tamarack/core/chance"
)

// BenchmarkSeeds plays the plans that a campaign plays.
func BenchmarkSeeds(b *testing.B) { benchmarkPlans(b, NewPlan) }

// BenchmarkFiveBrokersAllFaults plays the case that the simulator's speed is
// held to: five brokers, every kind of fault switched on, and several clients of
// each role. Only the seed differs between iterations.
func BenchmarkFiveBrokersAllFaults(b *testing.B) { benchmarkPlans(b, fiveBrokers) }

// BenchmarkChecking tells how much of a run the book, the observers and the
// models take: "%checking". Asking the clock at each step is in it, and makes it
// a little larger than it is.
func BenchmarkChecking(b *testing.B) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	TuneCollector()
	Run(fiveBrokers(1), Options{}).DropHistory()
	var checking time.Duration
	b.ResetTimer()
	for i := range b.N {
		Run(fiveBrokers(uint64(i%20)+1), Options{checking: &checking}).DropHistory()
	}
	b.ReportMetric(100*checking.Seconds()/b.Elapsed().Seconds(), "%checking")
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

// fiveBrokers is a plan of five brokers with all faults, for a seed.
func fiveBrokers(seed uint64) *Plan {
	r := chance.New(seed).Split("five brokers")
	p := &Plan{Seed: seed, Cluster: ClusterPlan{Nodes: 5, Voters: 3, Shards: 2, Tidy: 60}}
	p.Timing = drawTiming(r.Split("timing"))
	p.Phases = PhasePlan{Warm: 4 * Second, Faults: 40 * Second, Drain: 4 * Second, Rest: 120 * Second}
	p.Network = NetworkPlan{
		Latency: 500 * Microsecond, Spread: 500 * Microsecond, Tail: 5, TailScale: 20 * Millisecond,
		Reset: 500, Stale: 30, Lose: 500, Duplicate: 500, Reorder: 500,
	}
	p.Disk = DiskPlan{
		Append: 30 * Microsecond, Flush: Millisecond, FlushTail: 5, TailScale: 50 * Millisecond,
		Read: 100 * Microsecond, TornShare: 30, LossyShare: 50,
	}
	p.Topics = []TopicPlan{
		{Name: "t0", Partitions: 4, Replication: 3, MinInsync: 2, SegmentBytes: 16 << 10},
		{Name: "t1", Partitions: 3, Replication: 3, MinInsync: 2, SegmentBytes: 16 << 10},
		{Name: "short", Partitions: 1, Replication: 3, MinInsync: 2, SegmentBytes: 2 << 10, RetentionBytes: 10 << 10},
		{Name: chaosTopic, Partitions: 2, Replication: 3, MinInsync: 2, SegmentBytes: 4 << 10},
	}
	p.Clients = benchmarkClients()
	p.Faults = drawKinds(r.Split("faults"), p, func(*swarm, *chance.Stream) bool { return true })
	return p
}

// benchmarkClients are two or more of each role.
func benchmarkClients() (clients []ClientPlan) {
	both := []string{"t0", "t1"}
	add := func(c ClientPlan) {
		c.ID = len(clients) + 1
		clients = append(clients, c)
	}
	for i := range 3 {
		add(ClientPlan{Role: Producer, Topics: both, Every: 60 * Millisecond, Acks: -1, Idempotent: true, Size: 200, Burst: 4, Keys: 10, Linger: 5 * Millisecond})
		add(ClientPlan{Role: MemberOf, Group: "g0", Topics: both, Style: "at-least-once", Reset: "earliest", Every: 30 * Millisecond, Slow: 50 * Millisecond, Instance: "i" + strconv.Itoa(i)})
		add(ClientPlan{Role: MemberOf, Group: "g1", Topics: both[:1], Style: "auto", Reset: "earliest", Every: 30 * Millisecond, Slow: 50 * Millisecond})
	}
	for range 2 {
		add(ClientPlan{Role: Producer, Topics: []string{"short"}, Every: 120 * Millisecond, Acks: 1, Size: 200, Burst: 4})
		add(ClientPlan{Role: Reader, Topics: both, Every: 100 * Millisecond})
		add(ClientPlan{Role: Admin, Every: 2 * Second})
		add(ClientPlan{Role: Chaos, Every: 100 * Millisecond})
		add(ClientPlan{Role: Malformed, Every: 200 * Millisecond})
	}
	return clients
}
