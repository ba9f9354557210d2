package sim

import "time"

// Watched is the processor time of runs that were measured. To read a clock costs about
// as much as the checking of a plain step: so that is done in some runs only, and at
// some steps of these, which stand for the others.
type Watched struct {
	Runs     int           `json:"runs"`
	Took     time.Duration `json:"took"`     // all of it
	Checking time.Duration `json:"checking"` // of that, by the book, observers and models
}

// timedEvery is the number of steps of which one is timed. It is a prime, so that
// what comes again and again in turn is met in all its parts.
const timedEvery = 7

// longestStep is more than the checking of any step takes: in a longer one the
// processor was somebody else's.
const longestStep = time.Millisecond

// ofStep is what the checking of a step that took so long on the wall adds, with the
// steps that it stands for. The clock of a thread's processor time would be the right
// one for steps, too, but costs twenty times as much, and what comes behind it is
// slower.
func ofStep(took time.Duration) time.Duration {
	if took > longestStep {
		return 0
	}
	return timedEvery * took
}

// ofClock is what two looks at that clock take with nothing between them, with the
// steps that they stand for. It is measured where steps are, at every step but one that
// is timed: a clock that has not been read for a while costs more than one in a loop.
func ofClock() time.Duration {
	begun := time.Now()
	return ofStep(time.Since(begun))
}

// Share is the part of the time that checking took.
func (w *Watched) Share() float64 { return float64(w.Checking) / float64(max(w.Took, 1)) }

func (w *Watched) add(o *Watched) {
	w.Runs += o.Runs
	w.Took += o.Took
	w.Checking += o.Checking
}
