package sim

import (
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
}

// memoryEvery is how often time and memory are looked at.
const memoryEvery = 50 * time.Millisecond

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
	for look := time.NewTicker(memoryEvery); ; {
		select {
		case answer := <-done:
			look.Stop()
			r, again = answer()
			return r, again, false
		case <-look.C:
			if why := c.Limits.over((cputime.Used() - begun) / time.Duration(c.workers())); why != "" {
				look.Stop()
				return &Result{Seed: seed, Class: Broken, Failure: &Failure{Invariant: "hang", Sentence: why, Cause: "a run without end"}}, false, true
			}
		}
	}
}

// over says which limit is passed; empty: none.
func (l Limits) over(took time.Duration) string {
	if l.Time > 0 && took > l.Time {
		return fmt.Sprintf("the run did not end within %v of processor time", l.Time)
	}
	sample := []metrics.Sample{{Name: "/memory/classes/total:bytes"}}
	if l.Memory > 0 {
		if metrics.Read(sample); sample[0].Value.Uint64() > l.Memory {
			return fmt.Sprintf("memory grew past %d MiB", l.Memory>>20)
		}
	}
	return ""
}
