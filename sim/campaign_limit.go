package sim

import (
	"cmp"
	"fmt"
	"runtime/metrics"
	"time"

	"github.com/tamarack-mq/tamarack/internal/cputime"
)

// Limits cut a run that has been caught in a loop. They look at the processor
// time and the memory of the whole process, so what they cut is not the same
// everywhere; only runs that have no end reach them.
type Limits struct {
	// Time is processor time, so that a machine that is busy with other things cuts
	// no run: what the process has used since the seed began, shared out among the
	// runs side by side. The second run of a seed counts as well. 0: none.
	Time   time.Duration
	Memory uint64 // of the process, in bytes; 0: none
	// Still is how often in a row the process may be seen to have computed nothing.
	// A run never waits, unless for a lock that somebody holds for ever. 0: as often
	// as in 15 seconds, if Time is bounded.
	Still int
}

// watchEvery is how often time and memory are looked at, which takes less than
// watchTakes of processor time. A machine that is so busy that it does no more than
// that for the whole process lets it have its turn all the same before stillFor
// are over.
const (
	watchEvery = 50 * time.Millisecond
	watchTakes = time.Millisecond
	stillFor   = int(15 * time.Second / watchEvery)
)

// within runs one seed within the limits. cut says that the run was left behind:
// it goes on in its goroutine until the process ends, so no other seed should
// begin.
func (c *Campaign) within(seed uint64) (r *Result, again, cut bool) {
	if c.Limits == (Limits{}) {
		r, again = c.one(seed)
		return r, again, false
	}
	done := make(chan func() (*Result, bool), 1)
	go func() {
		r, again := c.one(seed)
		done <- func() (*Result, bool) { return r, again }
	}()
	begun := cputime.Used()
	still, last := 0, begun
	for look := time.NewTicker(watchEvery); ; {
		select {
		case answer := <-done:
			look.Stop()
			r, again = answer()
			return r, again, false
		case <-look.C:
			used := cputime.Used()
			if still++; used-last > watchTakes {
				still = 0
			}
			last = used
			if why := c.Limits.over((used-begun)/time.Duration(c.workers()), still); why != "" {
				look.Stop()
				return &Result{Seed: seed, Class: Broken, Failure: &Failure{Invariant: "hang", Sentence: why, Cause: "a run without end"}}, false, true
			}
		}
	}
}

// over says which limit is passed; empty: none.
func (l Limits) over(took time.Duration, still int) string {
	if l.Time > 0 && took > l.Time {
		return fmt.Sprintf("the run was cut: it did not end within %v of processor time, the limit of this campaign; without it the run may pass", l.Time)
	}
	if l.Time > 0 && still >= cmp.Or(l.Still, stillFor) {
		return "the run has not ended and computes nothing: it waits for a lock that nobody gives back"
	}
	sample := []metrics.Sample{{Name: "/memory/classes/total:bytes"}}
	if l.Memory > 0 {
		if metrics.Read(sample); sample[0].Value.Uint64() > l.Memory {
			return fmt.Sprintf("the run was cut: memory grew past %d MiB, the limit of this campaign; without it the run may pass", l.Memory>>20)
		}
	}
	return ""
}
