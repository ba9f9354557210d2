package sim

import (
	"sync"

	"github.com/tamarack-mq/tamarack/history"
)

// Run plays a plan from beginning to end, or to the first broken invariant.
func Run(plan *Plan, options Options) *Result {
	w := newWorld(plan, options)
	if ops, ok := histories.Get().(*[]history.Operation); ok {
		w.history.Reuse(*ops)
	}
	w.play()
	r := w.result()
	for _, n := range w.nodes[1:] {
		n.drive.disk.Drop()
	}
	return r
}

// histories are the memory of histories that were dropped: they are the largest
// thing that a run leaves.
var histories sync.Pool

// DropHistory gives the memory of the history to another run. The history, and
// what it holds, must not be used any more.
func (r *Result) DropHistory() {
	if ops := r.History; cap(ops) > 0 {
		r.History = nil
		clear(ops) // and let go of what it holds
		ops = ops[:0]
		histories.Put(&ops)
	}
}

// result gathers what came of a run.
func (w *World) result() *Result {
	w.markNetwork()
	w.stats.Virtual = w.now
	if w.witness != nil {
		w.witness.finish()
	}
	if w.recorded != nil {
		w.recorded.Decisions = w.decider.noted
	}
	r := &Result{
		Seed: w.plan.Seed, Plan: w.plan.Name, Hash: uint64(w.hash), Stats: w.stats, Marks: w.marked(),
		Checkpoints: w.checkpoints, Trace: w.trace, History: w.history.Operations(), Failure: w.failure,
		Recorded: w.recorded, Unreached: w.decider.unreached(),
	}
	switch {
	case w.broken != "":
		r.Class = Broken
		r.Failure = &Failure{Invariant: "harness", Sentence: w.broken, Cause: firstLine(w.broken), Event: w.stats.Events, Time: w.now}
	case w.failure != nil && (w.failure.Invariant == "INV-34" || w.failure.Invariant == "INV-33"):
		r.Class = Liveness
	case w.failure != nil:
		r.Class = Safety
	case w.phase == over && w.plan.Phases.End == 0 && w.thin():
		r.Class = Void
	default:
		r.Class = Passed
	}
	return r
}

// activity counts the seconds in which something was acknowledged.
type activity struct {
	last    Span // the second that was counted last, from 1
	seconds Span
}

func (a *activity) acknowledged(now Span) {
	if second := now/Second + 1; second != a.last {
		a.last = second
		a.seconds++
	}
}

// thin says that too little got done to judge the run by: hardly anything was
// acknowledged, or only in an eighth of the time in which clients asked for it. How
// many requests failed says nothing: who asks a cluster that is down, or fills a
// buffer that is full, may do so as fast as it likes.
func (w *World) thin() bool {
	p := &w.plan.Phases
	return w.stats.Acked < 20 || w.busy.seconds*8 < (p.Warm+p.Faults+p.Drain)/Second
}

func firstLine(s string) string {
	for i, c := range s {
		if c == '\n' {
			return s[:i]
		}
	}
	return s
}
