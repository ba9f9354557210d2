package shrink

import (
	"context"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tamarack-mq/tamarack/sim"
)

// search is one shrinking under way.
type search struct {
	cfg   Config
	ctx   context.Context
	began time.Time
	runs  atomic.Int64

	class       sim.Class
	fingerprint string
	most        uint64 // events of a candidate before it is given up

	best   *sim.Plan
	result *sim.Result // of best
	pass   string      // under way
	seeds  int         // that each candidate may fail with
}

// spent says that the time, or the number of runs, is used up.
func (s *search) spent() bool {
	return s.ctx.Err() != nil || time.Since(s.began) > s.cfg.Budget || s.cfg.Runs > 0 && s.runs.Load() >= int64(s.cfg.Runs)
}

// candidate is a plan that may be smaller, or nil: there is none with this
// number.
type candidate func(i int) *sim.Plan

// first runs the candidates 0 to n-1, each with the seeds that are due, and
// adopts the first one that fails in the same way. It returns its number; -1:
// none does.
func (s *search) first(n int, make candidate) int {
	var lock sync.Mutex
	next, found := 0, math.MaxInt
	var plan *sim.Plan
	var result *sim.Result
	var group sync.WaitGroup
	for range min(s.cfg.Workers, n*s.seeds) {
		group.Go(func() {
			for {
				lock.Lock()
				at := next
				next++
				done := at >= n*s.seeds || at > found
				lock.Unlock()
				if done || s.spent() {
					return
				}
				p := make(at % n)
				if p == nil {
					continue
				}
				p.Seed += uint64(at / n)
				r := s.fails(p)
				if r == nil {
					continue
				}
				lock.Lock()
				if at < found {
					found, plan, result = at, p, r
				}
				lock.Unlock()
			}
		})
	}
	group.Wait()
	if plan == nil {
		return -1
	}
	s.adopt(plan, result)
	return found % n
}

// fails runs a plan and returns the result if it fails in the same way, twice.
func (s *search) fails(p *sim.Plan) *sim.Result {
	if p.Validate() != nil {
		return nil
	}
	s.runs.Add(1)
	r := sim.Run(p, sim.Options{Until: s.most})
	if r.Failure == nil || r.Class != s.class || r.Failure.Fingerprint() != s.fingerprint {
		return nil
	}
	s.runs.Add(1)
	again := sim.Run(p, sim.Options{Until: s.most, Record: true})
	if sim.Compare(r, again) != nil {
		return nil
	}
	again.History = nil
	return again
}

func (s *search) adopt(p *sim.Plan, r *sim.Result) {
	s.best, s.result = p, r
	if s.cfg.Progress != nil {
		s.cfg.Progress(Progress{Pass: s.pass, Size: sizeOf(p, r), Runs: int(s.runs.Load()), Took: time.Since(s.began)})
	}
}

// one adopts a changed plan if it fails in the same way.
func (s *search) one(change func(*sim.Plan)) bool {
	return s.first(1, func(int) *sim.Plan {
		p := s.best.Copy()
		change(p)
		return p
	}) == 0
}

// cut removes as many as it can of the things that count counts: first large
// pieces, then smaller ones, the last first. remove takes out [from, to).
func (s *search) cut(count func(*sim.Plan) int, remove func(p *sim.Plan, from, to int)) (helped bool) {
	for size := count(s.best); size > 0; size /= 2 {
		// to is the end of the piece that is tried first: all behind it was tried.
		for to := count(s.best); to > 0 && !s.spent(); {
			base, pieces := s.best, (to+size-1)/size
			i := s.first(pieces, func(i int) *sim.Plan {
				p := base.Copy()
				remove(p, max(0, to-(i+1)*size), to-i*size)
				return p
			})
			if i < 0 {
				break
			}
			helped = true
			to = min(max(0, to-(i+1)*size), count(s.best))
		}
	}
	return helped
}

// change is one simplification; it leaves a plan alone that is simple already.
type change func(*sim.Plan) (changed bool)

// all makes as many of the changes as it can: all at once, else half of them,
// and so on.
func (s *search) all(changes []change) (helped bool) {
	due := changes[:0:0]
	for _, c := range changes {
		if c(s.best.Copy()) {
			due = append(due, c)
		}
	}
	if len(due) == 0 || s.spent() {
		return false
	}
	if s.one(func(p *sim.Plan) {
		for _, c := range due {
			c(p)
		}
	}) {
		return true
	}
	if len(due) == 1 {
		return false
	}
	a := s.all(due[:len(due)/2])
	b := s.all(due[len(due)/2:])
	return a || b
}
