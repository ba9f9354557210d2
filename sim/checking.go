package sim

import "time"

// Watched is the time of runs that were measured: reading the wall clock at each
// step costs a few percent, which is counted as checking, so that only some are.
type Watched struct {
	Runs     int           `json:"runs"`
	Took     time.Duration `json:"took"`     // all of it
	Checking time.Duration `json:"checking"` // of that, by the book, observers and models
}

// Share is the part of the time that checking took.
func (w *Watched) Share() float64 { return float64(w.Checking) / float64(max(w.Took, 1)) }

func (w *Watched) add(o *Watched) {
	w.Runs += o.Runs
	w.Took += o.Took
	w.Checking += o.Checking
}
