package sim

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core/record"
	"github.com/tamarack-mq/tamarack/witness"
)

// seen plays a seed with a witness.
func seen(seed uint64) (*witness.Run, *Result) {
	run := &witness.Run{}
	return run, Run(NewPlan(seed), Options{Witness: run})
}

func TestAWitnessChangesNothing(t *testing.T) {
	for seed := uint64(1); seed <= 3; seed++ {
		run, r := seen(seed)
		require.Nil(t, Compare(Run(NewPlan(seed), Options{}), r), "seed %d: go run ./cmd/simrun replay %d", seed, seed)
		require.Equal(t, r.Stats.Events, run.Events)
	}
}

func TestEveryRowFollowsFromOneBeforeIt(t *testing.T) {
	counts := map[witness.What]int{}
	for seed := uint64(1); seed <= 3; seed++ {
		run, _ := seen(seed)
		for i := range run.Rows {
			counts[run.Rows[i].What]++
			if wrong := misfit(run, i); wrong != "" {
				t.Fatalf("seed %d, row %d: %s: %+v", seed, i, wrong, run.Rows[i])
			}
		}
	}
	for _, w := range []witness.What{witness.Tick, witness.State, witness.Meta, witness.Found, witness.Down, witness.Call, witness.Told, witness.Fault, witness.Mark, witness.Lost} {
		require.NotZero(t, counts[w], w.String())
	}
}

// misfit says what is wrong with a row of a run.
func misfit(run *witness.Run, i int) string {
	r := &run.Rows[i]
	switch {
	case r.What == 0:
		return "it does not say what happened"
	case r.What == witness.Other:
		return "give this effect a row of its own"
	case int(r.Cause) >= i || int(r.Begin) >= i:
		return "it follows from what came later"
	case i > 0 && run.Rows[i-1].Event > r.Event:
		return "it is out of order"
	}
	switch r.What {
	case witness.Recv, witness.Request, witness.Answer, witness.Lost, witness.Late, witness.Held:
		if r.Cause < 0 {
			return "nobody sent it"
		}
		if r.Name == "broken" || r.Name == "refused" {
			return "" // a connection, not a message
		}
		if from := &run.Rows[r.Cause]; from.Name != r.Name || from.Place != r.Peer {
			return "it was another message that was sent"
		}
	case witness.Appended, witness.Flushed, witness.ReadDone, witness.Saved:
		if r.Cause < 0 {
			return "nobody asked for it"
		}
	case witness.Reply, witness.Done:
		if r.Begin < 0 {
			return "it answers nothing"
		}
	}
	return ""
}

func TestAFailureTellsWhatItIsAbout(t *testing.T) {
	w := newWorld(NewPlan(1), Options{})
	id := record.PartitionID{Topic: 7, Index: 2}
	w.fail("INV-4", 1, "a committed record is cut", "node %d cuts partition %s at %d and drops the batch at %d", 1, id, record.Offset(30), record.Offset(31))
	at := int64(30)
	require.Equal(t, Subject{Topic: 7, Partition: 2, Offset: &at}, w.failure.Subject)
	w.aboutCommit("billing", id, 12)
	at = 12
	require.Equal(t, Subject{Topic: 7, Partition: 2, Offset: &at, Group: "billing"}, w.failure.Subject)

	// What follows from it is not kept, and what that is about says nothing of it.
	w.fail("INV-6", 2, "an in-sync member lacks committed records", "node 2 is in the in-sync set")
	w.aboutRecord(record.PartitionID{Topic: 8}, 3)
	require.Equal(t, Subject{Topic: 7, Partition: 2, Offset: &at, Group: "billing"}, w.failure.Subject)
}

func BenchmarkRunWithWitness(b *testing.B) {
	plan := NewPlan(2) // some 47,000 events
	for b.Loop() {
		run := &witness.Run{}
		r := Run(plan, Options{Witness: run})
		b.ReportMetric(float64(len(run.Rows)), "rows")
		b.ReportMetric(float64(r.Stats.Events), "events")
	}
}

func BenchmarkRunWithoutWitness(b *testing.B) {
	plan := NewPlan(2)
	for b.Loop() {
		Run(plan, Options{})
	}
}
