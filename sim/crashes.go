package sim

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/tamarack-mq/tamarack/core/chance"
)

// CrashSearch cuts the power of one node at chosen points of a run, in every way
// that the disk allows, and plays each world to its end. The core is pure and a
// plan is data, so a world is forked by playing the plan again up to the point;
// what came of the cut is data in the plan of the new world.
type CrashSearch struct {
	Plan *Plan
	// Points are the moments, from Survey or by hand. Left is filled in.
	Points []ExactCrash
	Limit  int // of worlds for each point; 0: 256
	// Again cuts the power a second time, inside each file operation of the
	// recovery that follows.
	Again   bool
	Workers int           // 0: one for each core
	Budget  time.Duration // no new world is begun after it; 0: no limit
	Stop    bool          // no new world is begun once one has failed
}

// CrashReport is what came of a search.
type CrashReport struct {
	Points   int // at which the power went
	Whole    int // of them: every subset of what was unsynced was tried
	Unsynced int // the most names, pages and sizes that were unsynced at a point
	Worlds   int
	Passed   int // void ones included
	Outcomes int // how many different things the nodes found when they recovered
	Skipped  int // points and worlds that the budget left out
	Wall     time.Duration
	Failures []CrashFailure // one for each cause; the first point first
}

// CrashFailure is a world that failed, and how many did for the same cause.
type CrashFailure struct {
	Fingerprint string
	Count       int
	Plan        *Plan // plays on its own
	Result      *Result
	order       [2]int
}

// Moment is what a survey chooses among.
type Moment string

// The moments.
const (
	AtEvents Moment = "event" // events of a node
	AtSyncs  Moment = "sync"  // just before a flush or a save of the journal completes
	AtOps    Moment = "op"    // inside file operations: not done, half done, and done
)

// Survey plays a plan once and lists moments of it: every so many-th, of one
// node or (0) of all. Those after the faults are over are not among them.
func Survey(plan *Plan, at Moment, node, every int) []ExactCrash {
	w := newWorld(plan, Options{})
	every = max(1, every)
	var list []ExactCrash
	count := 0
	add := func(x ExactCrash) {
		if count++; count%every == 0 {
			list = append(list, x)
		}
	}
	ops := make([]int64, len(w.nodes))
	w.options.events = func(w *World, e *event) {
		if w.phase > faulting {
			return
		}
		if at == AtOps {
			for _, n := range w.nodes[1:] {
				for done := n.drive.disk.Ops(); ops[n.id] < done; {
					ops[n.id]++
					if node == 0 || node == int(n.id) {
						for _, part := range []int64{0, 300, 1 << 40} {
							list = append(list, ExactCrash{Node: int(n.id), Op: ops[n.id], Part: part})
						}
					}
				}
			}
			return
		}
		own := e.kind == evTick || e.kind >= evWritten && e.kind <= evRead
		if at == AtSyncs {
			own = e.kind == evFlushed || e.kind == evJournal
		}
		switch {
		case own && (node == 0 || node == int(e.place)):
			if n := w.nodes[e.place]; n.up && e.run == n.run {
				add(ExactCrash{Node: int(e.place), Event: w.stats.Events})
			}
		case e.kind == evPacket && at == AtEvents && int(e.packet.To) < len(w.nodes) && (node == 0 || node == int(e.packet.To)):
			add(ExactCrash{Node: int(e.packet.To), Event: w.stats.Events})
		}
	}
	w.play()
	if at == AtOps && every > 1 {
		kept := list[:0]
		for i := range list {
			if (i/3)%every == every-1 {
				kept = append(kept, list[i])
			}
		}
		list = kept
	}
	return list
}

// SearchCrashes carries a search out.
func SearchCrashes(s *CrashSearch) (*CrashReport, error) {
	begun := time.Now()
	r := &crashRun{search: s, begun: begun, outcomes: map[uint64]bool{}, found: map[string]*CrashFailure{}}
	for i := range s.Points {
		if err := s.Points[i].validate(&s.Plan.Cluster); err != nil {
			return nil, fmt.Errorf("%s: %w", s.Points[i].String(), err)
		}
	}
	workers := cmp.Or(s.Workers, runtime.GOMAXPROCS(0))
	points := make(chan int)
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			for i := range points {
				r.point(i)
			}
		})
	}
	if len(s.Points) == 1 { // many worlds of one point: spread these
		close(points)
		r.spread = workers
		r.point(0)
	} else {
		for i := range s.Points {
			points <- i
		}
		close(points)
	}
	group.Wait()
	report := &r.report
	for _, f := range r.found {
		report.Failures = append(report.Failures, *f)
	}
	slices.SortFunc(report.Failures, func(a, b CrashFailure) int { return slices.Compare(a.order[:], b.order[:]) })
	report.Outcomes = len(r.outcomes)
	report.Wall = time.Since(begun)
	return report, nil
}

// crashRun is a search under way.
type crashRun struct {
	search *CrashSearch
	begun  time.Time
	spread int // workers for the worlds of one point

	lock     sync.Mutex
	report   CrashReport
	outcomes map[uint64]bool
	found    map[string]*CrashFailure
}

func (r *crashRun) over() bool {
	s := r.search
	r.lock.Lock()
	defer r.lock.Unlock()
	if s.Budget > 0 && time.Since(r.begun) > s.Budget || s.Stop && len(r.found) > 0 {
		r.report.Skipped++
		return true
	}
	return false
}

// point tries all ways of one point.
func (r *crashRun) point(i int) {
	if r.over() {
		return
	}
	s := r.search
	limit := cmp.Or(s.Limit, 256)
	plans, w := fork(s.Plan, s.Points[i], limit)
	r.lock.Lock()
	if len(plans) > 0 {
		r.report.Points++
		r.report.Unsynced = max(r.report.Unsynced, w.unsynced)
		if w.all {
			r.report.Whole++
		}
	}
	r.lock.Unlock()
	seen := make([]recovery, len(plans))
	r.worlds(i, 0, plans, seen)
	if !s.Again {
		return
	}
	had := map[uint64]bool{}
	for k, p := range plans {
		if v := &seen[k]; v.digest != 0 && !had[v.digest] {
			had[v.digest] = true
			for op := v.from; op <= v.to; op++ {
				for _, part := range []int64{0, 1 << 40} {
					again, _ := fork(p, ExactCrash{Node: s.Points[i].Node, Op: op, Part: part}, 4)
					r.worlds(i, k+1, again, make([]recovery, len(again)))
				}
			}
		}
	}
}

// recovery is what a world's node found, and the file operations that it took.
type recovery struct {
	digest   uint64
	from, to int64
}

// worlds plays the worlds of one point, side by side when asked to.
func (r *crashRun) worlds(point, way int, plans []*Plan, seen []recovery) {
	next := make(chan int)
	var group sync.WaitGroup
	for range max(1, r.spread) {
		group.Go(func() {
			for k := range next {
				if !r.over() {
					r.world(point, way, k, plans[k], &seen[k])
				}
			}
		})
	}
	for k := range plans {
		next <- k
	}
	close(next)
	group.Wait()
}

func (r *crashRun) world(point, way, k int, p *Plan, v *recovery) {
	last := &p.Exact[len(p.Exact)-1]
	result := Run(p, Options{
		cut: func(_ *World, d *drive, x *ExactCrash) {
			if x == last {
				v.from = d.disk.Ops() + 1
			}
		},
		recovered: func(d *drive, digest uint64) {
			if v.from > 0 && v.digest == 0 && int(d.node.id) == last.Node {
				v.digest, v.to = digest|1, d.disk.Ops()
			}
		},
	})
	result.History = nil
	r.lock.Lock()
	defer r.lock.Unlock()
	r.report.Worlds++
	r.outcomes[v.digest] = true
	if result.Class == Passed || result.Class == Void {
		r.report.Passed++
		return
	}
	key := string(result.Class) + " " + result.Failure.Fingerprint()
	f := r.found[key]
	order := [2]int{point, way<<16 + k}
	if f == nil {
		f = &CrashFailure{Fingerprint: result.Failure.Fingerprint()}
		r.found[key] = f
	}
	f.Count++
	if f.Plan == nil || slices.Compare(order[:], f.order[:]) < 0 {
		f.Plan, f.Result, f.order = p, result, order
	}
}

// fork plays a plan up to a power cut and makes a plan of each way in which that
// can end. Empty: it does not come, or comes after the faults are over.
func fork(plan *Plan, x ExactCrash, limit int) (plans []*Plan, found ways) {
	base := *plan
	base.Exact = append(slices.Clone(plan.Exact), x)
	last := &base.Exact[len(base.Exact)-1]
	Run(&base, Options{cut: func(w *World, d *drive, at *ExactCrash) {
		if at == last {
			if w.phase <= draining {
				found = waysToLeave(d.disk, limit, chance.New(plan.Seed).Split("ways"))
			}
			w.phase = over
		}
	}})
	for _, left := range found.left {
		p := *plan
		x.Left = left
		p.Exact = append(slices.Clone(plan.Exact), x)
		plans = append(plans, &p)
	}
	return plans, found
}
