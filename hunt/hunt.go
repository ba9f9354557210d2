package hunt

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

// Verdict is how a hunt ended.
type Verdict string

// The verdicts. Found and Guarded are what a bug file promises.
const (
	Found    Verdict = "found"
	Guarded  Verdict = "guarded"     // survives alone, and is found once its guard is off
	Missed   Verdict = "missed"      // no seed of the budget failed
	Mistaken Verdict = "mistaken"    // seeds failed, but by other invariants
	Exposed  Verdict = "exposed"     // found although its guard is on: the guard does not cover it
	Flaky    Verdict = "unfounded"   // the unedited code fails all those seeds as well
	Unfit    Verdict = "unfit"       // the edit does not fit the code, or does not compile
	Late     Verdict = "out of time" // the hunt was cut short, so nothing is known
)

// Kept says that the hunt ended as the file of the bug promises.
func (v Verdict) Kept() bool { return v == Found || v == Guarded }

// empty says that there was no hunt, or no whole one.
func (v Verdict) empty() bool { return v == Unfit || v == Late }

// failed is the verdict when the tools gave up, and why. Whoever is killed since
// time is up did not fail.
func failed(ctx context.Context, err error) (Verdict, string) {
	if ctx.Err() != nil {
		return Late, err.Error()
	}
	return Unfit, err.Error()
}

// Outcome is what came of hunting one bug.
type Outcome struct {
	Bug     Bug
	Verdict Verdict
	Trials  []Trial       // one for each start
	Seeds   int           // median over the trials
	CPU     time.Duration // median over the trials
	Took    time.Duration // the whole hunt, on the wall
	Detail  string        // of what went wrong with the hunt itself
}

// Trial is one search through the budget of a bug, from one start on.
type Trial struct {
	Verdict   Verdict
	Invariant string // that broke
	Sentence  string
	Seed      uint64
	Event     uint64        // of that seed, at which it broke
	Seeds     int           // tried, the failing one included
	CPU       time.Duration // that the edited code used, user and system
	Detail    string
}

// Best is the trial to tell of: the first that was found, else the first.
func (o *Outcome) Best() Trial {
	for _, t := range o.Trials {
		if t.Verdict == Found {
			return t
		}
	}
	if len(o.Trials) == 0 {
		return Trial{}
	}
	return o.Trials[0]
}

// FoundIn counts the trials that found the bug.
func (o *Outcome) FoundIn() int {
	n := 0
	for _, t := range o.Trials {
		if t.Verdict == Found {
			n++
		}
	}
	return n
}

// Thin says that the bug takes so many seeds that workloads or faults must be
// thin where it lives.
func (o *Outcome) Thin() bool {
	return o.Verdict.Kept() && (o.Seeds > DefaultSeeds || o.FoundIn() < len(o.Trials))
}

// Runner runs seeds with a simrun binary. It is an interface so that the hunt
// can be tested without a simulator.
type Runner interface {
	// FirstFailure runs seeds from first on, count at most, until one fails.
	FirstFailure(ctx context.Context, binary string, first uint64, count int) (Search, error)
}

// Search is what came of running seeds.
type Search struct {
	Failing *Failing      // nil: none failed
	Tried   int           // seeds up to the failing one
	CPU     time.Duration // used by the process, user and system
}

// Failing is the first seed that failed.
type Failing struct {
	Seed      uint64
	Invariant string
	Sentence  string
	Event     uint64
}

// Hunter hunts bugs in one source tree. It may hunt several at once.
type Hunter struct {
	Root   string
	Work   string // a folder for what is built
	Runner Runner
	Starts []uint64 // the first seed of each trial; at least one

	plain sync.Mutex // held while the unedited code is built
	built string     // that code; empty as long as there is none
}

// Hunt plants one bug and looks for seeds that fail, from each start on. A kill
// counts only when the invariant that broke is one that the bug names, and the
// unedited code passes that very seed. Runs are deterministic, so that seed is
// also the proof that the edited line was reached and made the difference.
//
// A bug with a guard must survive by itself and be found once its guard is off.
func (h *Hunter) Hunt(ctx context.Context, bug Bug) Outcome {
	began := time.Now()
	o := Outcome{Bug: bug}
	if bug.Guard != nil {
		h.guarded(ctx, &o)
	} else {
		h.hunt(ctx, &o, bug.Edits)
	}
	o.Took = time.Since(began)
	return o
}

// guarded hunts a bug that a second guard is said to cover.
func (h *Hunter) guarded(ctx context.Context, o *Outcome) {
	alone := Outcome{Bug: o.Bug}
	alone.Bug.Seeds = cmp.Or(o.Bug.Guard.Seeds, DefaultGuardSeeds)
	h.hunt(ctx, &alone, o.Bug.Edits)
	if alone.Verdict != Missed {
		o.Verdict, o.Detail, o.Trials = alone.Verdict, alone.Detail, alone.Trials
		if alone.FoundIn() > 0 || alone.Verdict == Mistaken {
			o.Verdict, o.Detail = Exposed, "it is found although its guard is on: "+alone.Best().Sentence
		}
		return
	}
	if h.hunt(ctx, o, slices.Concat(o.Bug.Edits, o.Bug.guardEdits())); o.Verdict == Found {
		o.Verdict = Guarded
	}
}

// hunt builds the code with some edits, once, and searches from every start.
func (h *Hunter) hunt(ctx context.Context, o *Outcome, edits []Edit) {
	defer os.RemoveAll(filepath.Join(h.Work, o.Bug.Name))
	texts, err := o.Bug.with(h.Root, edits)
	if err != nil {
		o.Verdict, o.Detail = Unfit, err.Error()
		return
	}
	binary, err := Build(ctx, h.Root, h.Work, o.Bug.Name, texts)
	if err != nil {
		o.Verdict, o.Detail = failed(ctx, err)
		return
	}
	for _, first := range h.Starts {
		t := h.search(ctx, binary, first, o.Bug.Seeds, o.Bug.Invariants)
		o.Trials = append(o.Trials, t)
		if t.Verdict.empty() {
			break
		}
	}
	o.judge()
}

// judge sums the trials up. More than half of them must have found the bug, so
// that the median is the median of finds.
func (o *Outcome) judge() {
	var seeds []int
	var cpu []time.Duration
	worst := Found
	for _, t := range o.Trials {
		seeds, cpu = append(seeds, t.Seeds), append(cpu, t.CPU)
		if t.Verdict != Found && (worst == Found || t.Verdict.empty()) {
			worst, o.Detail = t.Verdict, t.Detail
		}
	}
	slices.Sort(seeds)
	slices.Sort(cpu)
	o.Seeds, o.CPU = seeds[len(seeds)/2], cpu[len(cpu)/2]
	if o.Verdict = worst; !worst.empty() && 2*o.FoundIn() > len(o.Trials) {
		o.Verdict, o.Detail = Found, ""
	}
}

// search runs seeds until one fails as it must; any invariant will do when none
// are named. A seed that the unedited code fails as well says nothing about the
// bug and is passed over; so is one that breaks another invariant, which is
// told if nothing better comes.
func (h *Hunter) search(ctx context.Context, binary string, first uint64, count int, invariants []string) Trial {
	t := Trial{Verdict: Missed}
	for mistakes := 0; t.Seeds < count; {
		s, err := h.Runner.FirstFailure(ctx, binary, first, count-t.Seeds)
		t.CPU += s.CPU
		if err != nil {
			t.Verdict, t.Detail = failed(ctx, err)
			return t
		}
		t.Seeds += s.Tried
		failing := s.Failing
		if failing == nil {
			return t
		}
		first = failing.Seed + 1
		same, err := h.passed(ctx, failing.Seed)
		if err != nil {
			t.Verdict, t.Detail = failed(ctx, err)
			return t
		}
		if same != nil {
			if t.Verdict == Missed {
				t.Verdict, t.Detail = Flaky, fmt.Sprintf("the unedited code fails seed %d too: %s, %s", failing.Seed, same.Invariant, same.Sentence)
			}
			continue
		}
		found := len(invariants) == 0 || slices.Contains(invariants, failing.Invariant)
		if found || t.Verdict != Mistaken {
			t.Seed, t.Event, t.Invariant, t.Sentence, t.Detail = failing.Seed, failing.Event, failing.Invariant, failing.Sentence, ""
			t.Verdict = Mistaken
		}
		if found {
			t.Verdict = Found
		}
		if mistakes++; found || mistakes == enoughMistakes {
			return t
		}
	}
	return t
}

// enoughMistakes is the number of seeds that may break other invariants than
// those of a bug before it is given up: its file must be wrong.
const enoughMistakes = 10

// unedited builds the code as it is, once. Whose time runs out while it waits for
// that leaves the build to the next.
func (h *Hunter) unedited(ctx context.Context) (string, error) {
	h.plain.Lock()
	defer h.plain.Unlock()
	if h.built == "" {
		binary, err := Build(ctx, h.Root, h.Work, "unedited", nil)
		if err != nil {
			return "", err
		}
		h.built = binary
	}
	return h.built, nil
}

// passed runs one seed with the unedited code; nil: it passes.
func (h *Hunter) passed(ctx context.Context, seed uint64) (*Failing, error) {
	binary, err := h.unedited(ctx)
	if err != nil {
		return nil, err
	}
	s, err := h.Runner.FirstFailure(ctx, binary, seed, 1)
	return s.Failing, err
}
