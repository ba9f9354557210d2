// Package shrink makes a plan that fails as small as it can while it still
// fails in the same way: fewer faults, nodes, clients, topics and operations,
// calmer weather, less time. What is left is what the failure needs, or as much
// of it as was found in the time given.
//
// It is delta debugging (Zeller and Hildebrandt, "Simplifying and Isolating
// Failure-Inducing Input", IEEE TSE 2002) over the parts of a plan. Candidates
// run side by side, but are taken in the order in which they were made: the
// outcome does not depend on the number of cores, as long as time does not run
// out.
package shrink

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/tamarack-mq/tamarack/sim"
)

// Config bounds the search.
type Config struct {
	Budget  time.Duration // of wall time; 0: two minutes
	Runs    int           // most runs; 0: no limit
	Workers int           // runs side by side; 0: one for each core
	// Progress is told of each step that made the plan smaller, from one
	// goroutine; nil: nobody asks.
	Progress func(Progress)
}

// Progress is where a search stands.
type Progress struct {
	Pass string // what made the plan smaller
	Size Size
	Runs int
	Took time.Duration
}

// Size is how large a plan is, in what a person has to read.
type Size struct {
	Faults  int `json:"faults"`
	Nodes   int `json:"nodes"`
	Clients int `json:"clients"`
	Ops     int `json:"ops"` // operations of clients before the run comes to rest
	// Decisions of chance that the plan's script names.
	Decisions int      `json:"decisions"`
	Events    uint64   `json:"events"` // of the run
	Virtual   sim.Span `json:"virtual"`
}

// String tells a size in a line.
func (z Size) String() string {
	s := fmt.Sprintf("%s, %s, %s, %s", plural(z.Faults, "fault"), plural(z.Nodes, "node"),
		plural(z.Clients, "client"), plural(z.Ops, "operation"))
	if z.Decisions > 0 {
		s += ", " + plural(z.Decisions, "decision")
	}
	return fmt.Sprintf("%s, %d events in %s", s, z.Events, z.Virtual)
}

// Outcome is what came of a search.
type Outcome struct {
	Plan   *sim.Plan     `json:"-"`
	Result *sim.Result   `json:"-"` // of a run of Plan
	Before Size          `json:"before"`
	After  Size          `json:"after"`
	Runs   int           `json:"runs"`
	Took   time.Duration `json:"took"`
}

// ErrPasses says that there is nothing to shrink.
var ErrPasses = errors.New("the plan does not fail: there is nothing to shrink")

// Shrink makes a plan smaller that fails. The given plan is not changed.
func Shrink(ctx context.Context, plan *sim.Plan, cfg Config) (*Outcome, error) {
	if cfg.Budget == 0 {
		cfg.Budget = 2 * time.Minute
	}
	if cfg.Workers == 0 {
		cfg.Workers = runtime.GOMAXPROCS(0)
	}
	s := &search{cfg: cfg, ctx: ctx, began: time.Now(), best: plan.Copy()}
	s.best.Saved, s.best.Expect = nil, sim.Expect{}
	s.result = sim.Run(s.best, sim.Options{Record: true})
	if s.result.Failure == nil {
		return nil, ErrPasses
	}
	if d := sim.Compare(s.result, sim.Run(s.best, sim.Options{})); d != nil {
		return nil, fmt.Errorf("%s: that must be mended first", d.Sentence)
	}
	s.class, s.fingerprint = s.result.Class, s.result.Failure.Fingerprint()
	s.most = 2*s.result.Stats.Events + 50_000
	out := &Outcome{Before: sizeOf(s.best, s.result)}
	s.run()
	out.Plan, out.Result = s.best, s.result
	out.After = sizeOf(s.best, s.result)
	out.Runs, out.Took = int(s.runs.Load()), time.Since(s.began)
	return out, nil
}

// run makes the passes again and again until none helps. Each time that they do
// not, every candidate is given more seeds to fail with: what is drawn while a
// plan plays, jitter above all, hides that a smaller plan can fail as well.
//
// The shape of the plan comes first, while clients still go on and on: in a
// smaller cluster all happens at other times, and a list of what clients did at
// the old ones would miss.
func (s *search) run() {
	for s.seeds = 1; s.seeds <= shapeSeeds && !s.shapely(); s.seeds *= 4 {
		s.repeat(shaping)
	}
	for s.seeds = 1; s.seeds <= mostSeeds && !s.spent(); s.seeds *= 4 {
		s.repeat(shaping, refining)
		if s.seeds >= enoughSeeds && s.small() {
			return
		}
	}
}

// With mostSeeds seeds for each candidate a search ends; with enoughSeeds it does
// when the plan is small already, and with shapeSeeds the search for a shape.
const enoughSeeds, shapeSeeds, mostSeeds = 4, 16, 64

// mostRounds bounds how often passes are made with one number of seeds, should two
// of them undo each other's work.
const mostRounds = 6

// pass makes a plan smaller in one way and says whether it could.
type pass struct {
	name string
	do   func(*search) bool
}

var shaping = []pass{
	{"strict judges", (*search).strict},
	{"the end", (*search).end},
	{"fewer clients", (*search).clients},
	{"fewer faults", (*search).faults},
	{"less time", (*search).time},
	{"fewer topics", (*search).topics},
	{"fewer nodes", (*search).nodes},
	{"calmer", (*search).calm},
	{"fewer faults", (*search).faults},
}

var refining = []pass{
	{"operations listed", (*search).list},
	{"fewer operations", (*search).ops},
	{"scripted", (*search).script},
	{"fewer decisions", (*search).decisions},
	{"decisions by time", (*search).byTime},
	{"plainer", (*search).plain},
	{"less time", (*search).time},
}

// repeat makes passes until a round of them does not help.
func (s *search) repeat(lists ...[]pass) {
	passes := slices.Concat(lists...)
	for range mostRounds {
		helped := false
		for _, p := range passes {
			if s.spent() {
				return
			}
			s.pass = p.name
			helped = p.do(s) || helped
		}
		if !helped {
			return
		}
	}
}

// shapely says that cluster and faults are as small as a person needs them.
func (s *search) shapely() bool {
	return s.seeds > 1 && len(s.best.Faults) <= SmallFaults && s.best.Cluster.Nodes <= SmallNodes
}

// What a person can hold in the head at once.
const SmallFaults, SmallNodes, SmallOps = 5, 3, 10

// Small says that a plan is as small as a person needs it.
func (z *Size) Small() bool {
	return z.Faults <= SmallFaults && z.Nodes <= SmallNodes && z.Ops <= SmallOps
}

// small says that what was found so far is as small as that.
func (s *search) small() bool {
	z := sizeOf(s.best, s.result)
	return z.Small()
}

// sizeOf measures a plan of which a run recorded its operations.
func sizeOf(p *sim.Plan, r *sim.Result) Size {
	z := Size{
		Faults: len(p.Faults), Nodes: p.Cluster.Nodes, Clients: len(p.Clients),
		Events: r.Stats.Events, Virtual: r.Stats.Virtual,
	}
	if p.Script != nil {
		z.Decisions = len(p.Script.Decisions)
	}
	for i := range p.Clients {
		c := &p.Clients[i]
		if c.Ops != nil {
			z.Ops += len(c.Ops)
		} else if r.Recorded != nil {
			z.Ops += len(r.Recorded.Ops[c.ID])
		}
	}
	return z
}

// without removes [from, to) of a list.
func without[T any](list []T, from, to int) []T {
	return slices.Concat(list[:from:from], list[to:])
}
