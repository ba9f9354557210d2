package sim

import (
	"cmp"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
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
	// Limits cut runs that have no end. Such a run ends the campaign.
	Limits Limits
	// Plan makes the plan of a seed; nil: NewPlan.
	Plan func(seed uint64) *Plan
	// Each is told of every run as it ends, from one goroutine at a time.
	Each func(*Result)
}

// Found are all failures of one fingerprint.
type Found struct {
	Fingerprint string   `json:"fingerprint"`
	Class       Class    `json:"class"`
	Count       int      `json:"count"`
	Seeds       []uint64 `json:"seeds"` // the first few, the quickest to fail first
	First       *Result  `json:"first"`
}

// Report is what came of a campaign.
type Report struct {
	Runs     int           `json:"runs"`
	Passed   int           `json:"passed"`
	Void     int           `json:"void"`
	Twice    int           `json:"twice"` // runs that were repeated to compare the hash
	Wall     time.Duration `json:"wall"`
	Busy     time.Duration `json:"busy"` // summed over workers
	Stats    Stats         `json:"stats"`
	Failures []Found       `json:"failures,omitempty"`
	Lowest   *Result       `json:"lowest,omitempty"` // of the failed runs, the one with the lowest seed
	Marks    []Mark        `json:"marks"`            // all marks, also those never reached
}

// repeatEvery is the share of passing runs that are run twice.
const repeatEvery = 20

// Run runs the campaign until its seeds or its time are used up.
func (c *Campaign) Run() *Report {
	started := time.Now()
	report := &Report{}
	tally := newTally(report)
	workers := c.Workers
	if workers == 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	seeds := make(chan uint64)
	var enough atomic.Bool // no other seed is to begin
	var group sync.WaitGroup
	var lock sync.Mutex
	for range workers {
		group.Go(func() {
			for seed := range seeds {
				begun := time.Now()
				r, again, cut := c.within(seed)
				lock.Lock()
				report.Busy += time.Since(begun)
				tally.add(r, again)
				if cut || c.Stop && report.Lowest != nil {
					enough.Store(true)
				}
				if c.Each != nil {
					c.Each(r)
				}
				lock.Unlock()
			}
		})
	}
	shards := uint64(max(1, c.Shards))
	for seed := c.From; seed <= c.To; seed++ {
		if seed%shards != uint64(max(0, c.Shard-1))%shards {
			continue
		}
		if c.Budget > 0 && time.Since(started) > c.Budget || enough.Load() {
			break
		}
		seeds <- seed
	}
	close(seeds)
	group.Wait()
	report.Wall = time.Since(started)
	tally.finish()
	return report
}

// one runs one seed, twice when it failed or when its turn has come.
func (c *Campaign) one(seed uint64) (r *Result, again bool) {
	plan := c.Plan
	if plan == nil {
		plan = NewPlan
	}
	r = Run(plan(seed), Options{})
	if r.Class == Passed && seed%repeatEvery != 0 {
		r.DropHistory()
		return r, false
	}
	second := Run(plan(seed), Options{})
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

// tally adds results up.
type tally struct {
	report *Report
	found  map[string]*Found
	marks  map[string]uint64
}

func newTally(r *Report) *tally {
	return &tally{report: r, found: map[string]*Found{}, marks: map[string]uint64{}}
}

func (t *tally) add(r *Result, again bool) {
	rep := t.report
	rep.Runs++
	if again {
		rep.Twice++
	}
	rep.Stats.Add(&r.Stats)
	for _, m := range r.Marks {
		t.marks[m.Name] += m.Count
	}
	switch r.Class {
	case Passed:
		rep.Passed++
		return
	case Void:
		rep.Void++
		return
	}
	if rep.Lowest == nil || r.Seed < rep.Lowest.Seed {
		rep.Lowest = r
	}
	key := string(r.Class) + " " + r.Failure.Fingerprint()
	f := t.found[key]
	if f == nil {
		f = &Found{Fingerprint: r.Failure.Fingerprint(), Class: r.Class}
		t.found[key] = f
	}
	f.Count++
	if f.First == nil || cmp.Or(cmp.Compare(r.Stats.Events, f.First.Stats.Events), cmp.Compare(r.Seed, f.First.Seed)) < 0 {
		f.First = r
		f.Seeds = slices.Insert(f.Seeds, 0, r.Seed)
	} else {
		f.Seeds = append(f.Seeds, r.Seed)
	}
	if len(f.Seeds) > 10 {
		f.Seeds = f.Seeds[:10]
	}
}

// finish puts failures and marks in their order.
func (t *tally) finish() {
	for _, f := range t.found {
		t.report.Failures = append(t.report.Failures, *f)
	}
	slices.SortFunc(t.report.Failures, func(a, b Found) int {
		return cmp.Or(cmp.Compare(a.First.Stats.Events, b.First.Stats.Events), cmp.Compare(a.Fingerprint, b.Fingerprint))
	})
	for _, name := range MarkNames() {
		t.report.Marks = append(t.report.Marks, Mark{name, t.marks[name]})
	}
}

// Merge adds up the reports of the shards of one campaign.
func Merge(reports []*Report) *Report {
	out := &Report{}
	t := newTally(out)
	for _, r := range reports {
		out.Runs += r.Runs
		out.Passed += r.Passed
		out.Void += r.Void
		out.Twice += r.Twice
		out.Wall = max(out.Wall, r.Wall)
		out.Busy += r.Busy
		out.Stats.Add(&r.Stats)
		if l := r.Lowest; l != nil && (out.Lowest == nil || l.Seed < out.Lowest.Seed) {
			out.Lowest = l
		}
		for _, m := range r.Marks {
			t.marks[m.Name] += m.Count
		}
		for i := range r.Failures {
			f := &r.Failures[i]
			key := string(f.Class) + " " + f.Fingerprint
			if have := t.found[key]; have != nil {
				have.Count += f.Count
				have.Seeds = append(have.Seeds, f.Seeds...)
				if f.First.Stats.Events < have.First.Stats.Events {
					have.First = f.First
				}
				continue
			}
			c := *f
			t.found[key] = &c
		}
	}
	t.finish()
	return out
}

// Add adds the figures of another run.
func (s *Stats) Add(o *Stats) {
	s.Events += o.Events
	s.Steps += o.Steps
	s.Messages += o.Messages
	s.Faults += o.Faults
	s.Virtual += o.Virtual
	s.Acked += o.Acked
	s.Polled += o.Polled
	s.Commits += o.Commits
	s.Unknown += o.Unknown
	s.Failed += o.Failed
}

// Worst is the worst class among the failures: what an exit code should tell.
func (r *Report) Worst() Class {
	order := []Class{Broken, Nondeterminism, Safety, Liveness}
	for _, c := range order {
		for i := range r.Failures {
			if r.Failures[i].Class == c {
				return c
			}
		}
	}
	if r.Runs > 0 && r.Void*2 > r.Runs {
		return Void
	}
	return Passed
}
