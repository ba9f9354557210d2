package sim

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core/chance"
)

// A storm goes on until it is over: what struck last has ended, and time for the
// cluster to come back has passed, before anything else strikes.
func TestStormsEndBeforeTheNextOneBegins(t *testing.T) {
	p := &Plan{Phases: PhasePlan{Warm: 4 * Second, Faults: 60 * Second}}
	for at := p.Phases.Warm; at < p.Phases.Warm+p.Phases.Faults; at += Second / 4 {
		f := Fault{At: at, For: 3 * Second, Kind: Isolate, Node: 1}
		if at%Second == 0 {
			f = Fault{At: at, For: 60 * Second, Kind: ClientPause, Client: 1} // who sleeps lets the others work
		}
		p.Faults = append(p.Faults, f)
	}
	for seed := range uint64(20) {
		kept := inStorms(chance.New(seed), p)
		require.Greater(t, len(kept), len(p.Faults)/3, "seed %d", seed)
		pauses, before := 0, kept[0]
		for _, f := range kept[1:] {
			if gap := f.At - before.At; gap > Second/4 {
				pauses++
				require.GreaterOrEqual(t, gap, 4*Second+Second/2, "seed %d: %v after %v", seed, f.At, before.At)
			}
			before = f
		}
		require.GreaterOrEqual(t, pauses, 2, "seed %d", seed)
	}
}

// With every kind of fault on there is still something to judge by.
func TestFiveBrokersGetSomethingDone(t *testing.T) {
	seconds := Span(0)
	for seed := uint64(1); seed <= 3; seed++ {
		w := newWorld(FiveBrokers(seed), Options{})
		w.play()
		require.Nil(t, w.failure, "again: go run ./cmd/simrun replay five:%d", seed)
		require.False(t, w.thin(), "five:%d", seed)
		seconds += w.busy.seconds
	}
	require.Greater(t, seconds, Span(3*68/3), "in a third of their time at least")
}
