package sim

import (
	"sync"
	"time"
)

// Watched is the time of runs that were measured. Reading the wall clock costs about
// as much as the checking of a plain step: so it is read in some runs only, and at
// some steps of these, which stand for the others.
type Watched struct {
	Runs     int           `json:"runs"`
	Took     time.Duration `json:"took"`     // all of it
	Checking time.Duration `json:"checking"` // of that, by the book, observers and models
}

// timedEvery is the number of steps of which one is timed. It is a prime, so that
// what comes again and again in turn is met in all its parts.
const timedEvery = 7

// clockCost is what two looks at the clock take with nothing between them. Of a plain
// step that is a part that tells, and each that is timed stands for several.
var clockCost = sync.OnceValue(func() time.Duration {
	least := time.Hour
	for range 1000 {
		begun := time.Now()
		least = min(least, time.Since(begun))
	}
	return least
})

// Share is the part of the time that checking took.
func (w *Watched) Share() float64 { return float64(w.Checking) / float64(max(w.Took, 1)) }

func (w *Watched) add(o *Watched) {
	w.Runs += o.Runs
	w.Took += o.Took
	w.Checking += o.Checking
}
