package sim

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestARunWithoutEndIsCut: a campaign whose third seed never ends says so and
// begins no other.
func TestARunWithoutEndIsCut(t *testing.T) {
	var release atomic.Bool
	defer release.Store(true)
	c := &Campaign{
		From: 1, To: 1000, Workers: 1, Limits: Limits{Time: 300 * time.Millisecond},
		Plan: func(seed uint64) *Plan {
			for seed == 3 && !release.Load() {
			}
			return toyPlan(seed)
		},
	}
	report := c.Run()
	require.Equal(t, uint64(3), report.Lowest.Seed)
	require.Equal(t, &Failure{Invariant: "hang", Sentence: "the run was cut: it did not end within 300ms of processor time, the limit of this campaign; without it the run may pass", Cause: "a run without end"}, report.Lowest.Failure)
	require.Equal(t, Broken, report.Worst())
	require.LessOrEqual(t, report.Runs, 4)
}

// TestARunThatOnlyWaitsIsNotCut: it waits for longer than it may compute, as one
// does on a machine that has other things to do.
func TestARunThatOnlyWaitsIsNotCut(t *testing.T) {
	c := &Campaign{
		From: 1, To: 2, Workers: 1, Limits: Limits{Time: 300 * time.Millisecond},
		Plan: func(seed uint64) *Plan {
			<-time.After(400 * time.Millisecond)
			return toyPlan(seed)
		},
	}
	require.Nil(t, c.Run().Lowest)
}

// TestARunThatStandsStillIsCut: it waits for a lock, and no processor time passes.
func TestARunThatStandsStillIsCut(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	c := &Campaign{
		From: 1, To: 1000, Workers: 1, Limits: Limits{Time: time.Minute, Still: 6},
		Plan: func(seed uint64) *Plan {
			if seed == 3 {
				<-release
			}
			return toyPlan(seed)
		},
	}
	report := c.Run()
	require.Equal(t, uint64(3), report.Lowest.Seed)
	require.Equal(t, &Failure{
		Invariant: "hang", Sentence: "the run has not ended and computes nothing: it waits for a lock that nobody gives back", Cause: "a run without end",
	}, report.Lowest.Failure)
}

func TestMemoryIsBounded(t *testing.T) {
	require.Equal(t, "the run was cut: memory grew past 0 MiB, the limit of this campaign; without it the run may pass", Limits{Memory: 1}.over(0, 0))
	require.Empty(t, Limits{Memory: 1 << 50, Time: time.Hour}.over(time.Minute, stillFor-1))
}

// toyPlan is a short plan in which little happens.
func toyPlan(seed uint64) *Plan {
	p := NewPlan(seed)
	p.Faults = nil
	p.Clients = p.Clients[:1]
	p.Phases.Warm, p.Phases.Faults, p.Phases.Drain = Span(10*time.Millisecond), Span(10*time.Millisecond), Span(10*time.Millisecond)
	return p
}
