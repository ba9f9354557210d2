package hunt

import (
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

// The verdicts. Only Found is a kill.
const (
	Found    Verdict = "found"
	Missed   Verdict = "missed"    // no seed of the budget failed
	Mistaken Verdict = "mistaken"  // seeds failed, but by other invariants
	Flaky    Verdict = "unfounded" // the unedited code fails all those seeds as well
	Unfit    Verdict = "unfit"     // the edit does not fit the code, or does not compile
)

// Outcome is what came of hunting one bug.
type Outcome struct {
	Bug       Bug
	Verdict   Verdict
	Invariant string // that broke
	Sentence  string
	Seed      uint64
	Event     uint64 // of that seed, at which it broke
	Seeds     int    // tried, the failing one included
	Took      time.Duration
	Detail    string // of what went wrong with the hunt itself
}

// Runner runs seeds with a simrun binary. It is an interface so that the hunt
// can be tested without a simulator.
type Runner interface {
	// FirstFailure runs seeds from first on, count at most, until one fails.
	FirstFailure(ctx context.Context, binary string, first uint64, count int) (*Failing, error)
}

// Failing is the first seed that failed.
type Failing struct {
	Seed      uint64
	Tried     int
	Invariant string
	Sentence  string
	Event     uint64
}

// Hunter hunts bugs in one source tree. It may hunt several at once.
type Hunter struct {
	Root   string
	Work   string // a folder for what is built
	Runner Runner
	First  uint64 // the first seed to try

	plain func() (string, error) // builds the unedited code, once
	once  sync.Once
}

// Hunt plants one bug and looks for a seed that fails. A kill counts only when
// the invariant that broke is one that the bug names, and the unedited code
// passes that very seed: runs are deterministic, so the edit made the
// difference.
func (h *Hunter) Hunt(ctx context.Context, bug Bug) Outcome {
	began := time.Now()
	o := Outcome{Bug: bug}
	h.hunt(ctx, &o)
	o.Took = time.Since(began)
	return o
}

func (h *Hunter) hunt(ctx context.Context, o *Outcome) {
	defer os.RemoveAll(filepath.Join(h.Work, o.Bug.Name))
	texts, err := o.Bug.Mutated(h.Root)
	if err != nil {
		o.Verdict, o.Detail = Unfit, err.Error()
		return
	}
	binary, err := Build(ctx, h.Root, h.Work, o.Bug.Name, texts)
	if err != nil {
		o.Verdict, o.Detail = Unfit, err.Error()
		return
	}
	h.search(ctx, o, binary)
}

// search runs seeds until one fails as it must. One that the unedited code fails
// as well says nothing about the bug and is passed over; so is one that breaks
// another invariant, which is told if nothing better comes.
func (h *Hunter) search(ctx context.Context, o *Outcome, binary string) {
	o.Verdict = Missed
	mistakes := 0
	for first := h.First; o.Seeds < o.Bug.Seeds; {
		failing, err := h.Runner.FirstFailure(ctx, binary, first, o.Bug.Seeds-o.Seeds)
		if err != nil {
			o.Verdict, o.Detail = Unfit, err.Error()
			return
		}
		if failing == nil {
			o.Seeds = o.Bug.Seeds
			return
		}
		o.Seeds += failing.Tried
		first = failing.Seed + 1
		same, err := h.passed(ctx, failing.Seed)
		if err != nil {
			o.Verdict, o.Detail = Unfit, err.Error()
			return
		}
		if same != nil {
			if o.Verdict == Missed {
				o.Verdict, o.Detail = Flaky, fmt.Sprintf("the unedited code fails seed %d too: %s, %s", failing.Seed, same.Invariant, same.Sentence)
			}
			continue
		}
		found := slices.Contains(o.Bug.Invariants, failing.Invariant)
		if found || o.Verdict != Mistaken {
			o.Seed, o.Event, o.Invariant, o.Sentence, o.Detail = failing.Seed, failing.Event, failing.Invariant, failing.Sentence, ""
			o.Verdict = Mistaken
		}
		if found {
			o.Verdict = Found
		}
		if mistakes++; found || mistakes == enoughMistakes {
			return
		}
	}
}

// enoughMistakes is the number of seeds that may break other invariants than
// those of a bug before it is given up: its file must be wrong.
const enoughMistakes = 10

// passed runs one seed with the unedited code; nil: it passes.
func (h *Hunter) passed(ctx context.Context, seed uint64) (*Failing, error) {
	h.once.Do(func() {
		h.plain = sync.OnceValues(func() (string, error) { return Build(ctx, h.Root, h.Work, "unedited", nil) })
	})
	binary, err := h.plain()
	if err != nil {
		return nil, err
	}
	return h.Runner.FirstFailure(ctx, binary, seed, 1)
}
