package sim

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tamarack-mq/tamarack/internal/cputime"
)

// Campaign runs many seeds on all cores. Runs share nothing, so the order in
// which they end does not matter.
type Campaign struct {
	From, To      uint64 // seeds, both included
	Shard, Shards int    // of all seeds this campaign takes every Shards-th; 0: all
	Budget        time.Duration
	Workers       int // 0: one for each core
	// Stop begins no other seed once one has failed. The lowest seed that fails
	// is found all the same: those below it have begun by then.
	Stop bool
	// Plateau ends the campaign when so many runs, one after the other, have covered
	// no new ground; 0: it does not.
	Plateau int
	// Interrupt, once closed, ends the campaign with the runs that are under way.
	Interrupt <-chan struct{}
	// Limits cut runs that have no end. Such a run ends the campaign.
	Limits Limits
	// Code is the commit, Bug what is planted in it, and Plans what PlansOf was asked
	// for, for the report.
	Code, Bug, Plans string
	// Plan makes the plan of a seed; nil: NewPlan.
	Plan func(seed uint64) *Plan
	// Each is told of every run as it ends, and of the report so far, from one
	// goroutine at a time.
	Each func(*Result, *Report)
}

// repeatEvery is the share of passing runs that are run twice.
const repeatEvery = 20

// Run runs the campaign until its seeds or its time are used up.
func (c *Campaign) Run() *Report {
	started := time.Now()
	report := &Report{}
	tally := newTally(report)
	var last uint64 // the highest seed that was run
	defer func() { report.Parts = []Part{c.part(report, last)} }()
	seeds := make(chan uint64)
	var enough atomic.Bool // no other seed is to begin
	var group sync.WaitGroup
	var lock sync.Mutex
	for range c.workers() {
		group.Go(func() {
			for seed := range seeds {
				if enough.Load() {
					continue // it was on its way
				}
				begun := time.Now()
				r, again, cut := c.within(seed)
				lock.Lock()
				report.Busy += time.Since(begun)
				last = max(last, r.Seed)
				tally.add(r, again)
				tally.ground.add(r)
				if c.Plateau > 0 && report.Ground.Since >= c.Plateau {
					report.Plateau = true
					enough.Store(true)
				}
				if cut || c.Stop && report.Lowest != nil {
					enough.Store(true)
				}
				if c.Each != nil {
					c.Each(r, report)
				}
				lock.Unlock()
			}
		})
	}
	for seed := c.From; seed >= c.From && seed <= c.To; seed++ {
		if !inShard(seed, c.Shard, c.Shards) {
			continue
		}
		if c.Budget > 0 && time.Since(started) > c.Budget || enough.Load() {
			break
		}
		select {
		case seeds <- seed:
		case <-c.Interrupt:
			report.Interrupted = true
			enough.Store(true)
		}
	}
	close(seeds)
	group.Wait()
	report.Wall = time.Since(started)
	tally.finish()
	return report
}

// inShard says whether a shard takes a seed: the first of eight those that eight
// divides, the second those that are one above. Of 0 or 1 shards it takes all.
func inShard(seed uint64, shard, shards int) bool {
	return shards <= 1 || seed%uint64(shards) == uint64(shard-1)
}

// workers is how many runs go on side by side.
func (c *Campaign) workers() int {
	if c.Workers == 0 {
		return runtime.GOMAXPROCS(0)
	}
	return c.Workers
}

// one runs one seed, twice when it failed or when its turn has come.
func (c *Campaign) one(seed uint64) (r *Result, again bool) {
	plan := c.Plan
	if plan == nil {
		plan = NewPlan
	}
	r = Run(plan(seed), Options{})
	if r.Class == Passed && seed/uint64(max(1, c.Shards))%repeatEvery != 0 {
		r.DropHistory()
		return r, false
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	begun, checking := cputime.Thread(), time.Duration(0)
	second := Run(plan(seed), Options{checking: &checking})
	r.watched = Watched{Runs: 1, Took: cputime.Thread() - begun, Checking: checking}
	if d := Compare(r, second); d != nil {
		r.Class, r.Failure = Nondeterminism, d
	}
	second.DropHistory()
	r.DropHistory()
	return r, true
}

// Compare says where two runs of one plan part; nil: they do not.
func Compare(a, b *Result) *Failure {
	if a.Hash == b.Hash && a.Stats.Events == b.Stats.Events {
		return nil
	}
	at := uint64(0)
	for i := range min(len(a.Checkpoints), len(b.Checkpoints)) {
		if a.Checkpoints[i] != b.Checkpoints[i] {
			break
		}
		at = uint64(i+1) * CheckpointEvery
	}
	return &Failure{
		Invariant: "determinism", Cause: "two runs of one plan differ",
		Sentence: "two runs of the same plan give different hashes: they part within " + itoa(CheckpointEvery) + " events after event " + itoa(int(at)),
		Event:    at,
	}
}
