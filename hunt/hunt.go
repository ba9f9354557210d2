package hunt

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// Verdict is how a hunt ended.
type Verdict string

// The verdicts. Only Found is a kill.
const (
	Found    Verdict = "found"
	Missed   Verdict = "missed"    // no seed of the budget failed
	Mistaken Verdict = "mistaken"  // a seed failed, but by another invariant
	Flaky    Verdict = "unfounded" // the unedited code fails that seed as well
	Unfit    Verdict = "unfit"     // the edit does not fit the code, or does not compile
)

// Outcome is what came of hunting one bug.
type Outcome struct {
	Bug       Bug
	Verdict   Verdict
	Invariant string // that broke
	Sentence  string
	Seed      uint64
	Seeds     int // tried, the failing one included
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
}

// Hunter hunts bugs in one source tree.
type Hunter struct {
	Root   string
	Work   string // a folder for what is built
	Runner Runner
	First  uint64 // the first seed to try

	plain string // the binary of the unedited code
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
	failing, err := h.Runner.FirstFailure(ctx, binary, h.First, o.Bug.Seeds)
	if err != nil {
		o.Verdict, o.Detail = Unfit, err.Error()
		return
	}
	if failing == nil {
		o.Verdict, o.Seeds = Missed, o.Bug.Seeds
		return
	}
	o.Seed, o.Seeds, o.Invariant, o.Sentence = failing.Seed, failing.Tried, failing.Invariant, failing.Sentence
	h.confirm(ctx, o)
}

func (h *Hunter) confirm(ctx context.Context, o *Outcome) {
	if h.plain == "" {
		binary, err := Build(ctx, h.Root, h.Work, "unedited", nil)
		if err != nil {
			o.Verdict, o.Detail = Unfit, err.Error()
			return
		}
		h.plain = binary
	}
	same, err := h.Runner.FirstFailure(ctx, h.plain, o.Seed, 1)
	switch {
	case err != nil:
		o.Verdict, o.Detail = Unfit, err.Error()
	case same != nil:
		o.Verdict, o.Detail = Flaky, fmt.Sprintf("the unedited code fails seed %d too: %s, %s", o.Seed, same.Invariant, same.Sentence)
	case !slices.Contains(o.Bug.Invariants, o.Invariant):
		o.Verdict = Mistaken
	default:
		o.Verdict = Found
	}
}
