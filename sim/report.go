package sim

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

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
	Voids    []uint64      `json:"voids,omitempty"` // the first few seeds of void runs
	Twice    int           `json:"twice"`           // runs that were repeated to compare the hash
	Wall     time.Duration `json:"wall"`
	Busy     time.Duration `json:"busy"`    // summed over workers
	Watched  Watched       `json:"watched"` // what checking takes, from the runs that were repeated
	Stats    Stats         `json:"stats"`
	Failures []Found       `json:"failures,omitempty"`
	Lowest   *Result       `json:"lowest,omitempty"` // of the failed runs, the one with the lowest seed
	Marks    []Mark        `json:"marks"`            // all marks, also those never reached
	Ground   Ground        `json:"ground"`
	Plateau  bool          `json:"plateau,omitempty"` // ended because no new ground was covered
	// Interrupted: ended from outside, before its seeds or its time were used up.
	Interrupted bool   `json:"interrupted,omitempty"`
	Parts       []Part `json:"parts,omitempty"` // what was run where: one, or the shards that were merged
	Peak        uint64 `json:"peak,omitempty"`  // most memory that a process had, in bytes, where it is known
}

// Part is one process's part of a campaign.
type Part struct {
	Name   string        `json:"name"`            // "seeds 1..1000, shard 2/8"
	Code   string        `json:"code"`            // the commit
	Bug    string        `json:"bug,omitempty"`   // planted in the code; empty: none
	Plans  string        `json:"plans,omitempty"` // what seeds were expanded to: see PlansOf
	From   uint64        `json:"from"`            // the first seed that was asked for
	To     uint64        `json:"to"`              // the last one that was asked for
	Last   uint64        `json:"last"`            // the last one that was run, if there was any
	Shard  int           `json:"shard,omitempty"`
	Shards int           `json:"shards,omitempty"` // 0 or 1: it took all seeds
	Runs   int           `json:"runs"`
	Void   int           `json:"void"`
	Failed int           `json:"failed"`
	Wall   time.Duration `json:"wall"`
}

// Ran says whether this part ran a seed.
func (p *Part) Ran(seed uint64) bool {
	return p.Runs > 0 && p.From <= seed && seed <= p.Last && inShard(seed, p.Shard, p.Shards)
}

// Both finds a seed that two parts ran.
func (p *Part) Both(o *Part) (seed uint64, found bool) {
	if p.Shards == o.Shards && p.Shards > 1 && p.Shard != o.Shard {
		return 0, false
	}
	// What is in both shards comes again after so many seeds as the two together have.
	again := uint64(max(1, p.Shards)) * uint64(max(1, o.Shards))
	from := max(p.From, o.From)
	for seed = from; seed-from < again && seed <= min(p.Last, o.Last); seed++ {
		if p.Ran(seed) && o.Ran(seed) {
			return seed, true
		}
	}
	return 0, false
}

// Failed is how many runs failed.
func (r *Report) Failed() int { return r.Runs - r.Passed - r.Void }

// Never lists the marks that no run has reached.
func (r *Report) Never() (names []string) {
	for _, m := range r.Marks {
		if m.Count == 0 {
			names = append(names, m.Name)
		}
	}
	return names
}

// part tells what this campaign was, whose last run was that of a seed.
func (c *Campaign) part(r *Report, last uint64) Part {
	name := fmt.Sprintf("seeds %d..%d", c.From, c.To)
	if c.Shards > 1 {
		name += fmt.Sprintf(", shard %d/%d", c.Shard, c.Shards)
	}
	return Part{
		Name: name, Code: c.Code, Bug: c.Bug, Plans: c.Plans,
		From: c.From, To: c.To, Last: last, Shard: c.Shard, Shards: c.Shards,
		Runs: r.Runs, Void: r.Void, Failed: r.Failed(), Wall: r.Wall,
	}
}

// few bounds the seeds that are listed of one kind.
const few = 10

// tally adds results up.
type tally struct {
	report *Report
	ground *ground
	found  map[string]*Found
	marks  map[string]uint64
}

func newTally(r *Report) *tally {
	return &tally{report: r, ground: newGround(&r.Ground), found: map[string]*Found{}, marks: map[string]uint64{}}
}

func (t *tally) add(r *Result, again bool) {
	rep := t.report
	rep.Runs++
	if again {
		rep.Twice++
		rep.Watched.add(&r.watched)
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
		if len(rep.Voids) < few {
			rep.Voids = append(rep.Voids, r.Seed)
		}
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
	f.take(r, []uint64{r.Seed})
}

// take adds seeds that failed in this way; r is the quickest of them.
func (f *Found) take(r *Result, seeds []uint64) {
	if f.First == nil || cmp.Or(cmp.Compare(r.Stats.Events, f.First.Stats.Events), cmp.Compare(r.Seed, f.First.Seed)) < 0 {
		f.First = r
		f.Seeds = slices.Concat(seeds, f.Seeds)
	} else {
		f.Seeds = slices.Concat(f.Seeds, seeds)
	}
	f.Seeds = f.Seeds[:min(few, len(f.Seeds))]
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

// Merge adds up the reports of the shards of one campaign. Wall time is that of
// the slowest.
func Merge(reports []*Report) *Report {
	out := &Report{}
	t := newTally(out)
	for _, r := range reports {
		out.Runs += r.Runs
		out.Passed += r.Passed
		out.Void += r.Void
		out.Twice += r.Twice
		out.Watched.add(&r.Watched)
		out.Voids = append(out.Voids, r.Voids[:min(few-len(out.Voids), len(r.Voids))]...)
		out.Parts = append(out.Parts, r.Parts...)
		out.Peak = max(out.Peak, r.Peak)
		out.Plateau = out.Plateau || r.Plateau
		out.Interrupted = out.Interrupted || r.Interrupted
		t.ground.merge(&r.Ground)
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
				have.take(f.First, f.Seeds)
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
