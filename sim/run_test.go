package sim

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core/client"
)

// Whether a run is worth judging by depends on the time in which its clients were
// promised something, and not on how fast they ask a cluster that is down.
func TestARunIsVoidWhenHardlyAnythingWasAcknowledged(t *testing.T) {
	s := newStage(t)
	s.plan.Phases = PhasePlan{Warm: 4 * Second, Faults: 24 * Second, Drain: 4 * Second}
	publish := &openOp{what: opPublish}
	ok := func(second Span, count int) {
		s.now = second * Second
		for range count {
			s.count(publish, &client.Result{})
		}
	}
	for second := range Span(19) {
		ok(second, 1)
	}
	require.True(t, s.thin(), "nineteen records in as many seconds")
	ok(19, 1)
	require.False(t, s.thin())
	for range 10_000 {
		s.count(publish, &client.Result{Outcome: client.NotDone})
	}
	require.False(t, s.thin(), "whoever asks too fast is refused; that takes nothing away")

	s.stats, s.busy = Stats{}, activity{}
	ok(1, 500)
	ok(2, 500)
	ok(30, 500)
	require.True(t, s.thin(), "in three seconds of 32")
	ok(31, 1)
	require.False(t, s.thin())
}
