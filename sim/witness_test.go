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
	for seed := uint64(1); seed <= 6; seed++ {
		run, r := seen(seed)
		require.Nil(t, Compare(Run(NewPlan(seed), Options{}), r), "seed %d: go run ./cmd/simrun replay %d", seed, seed)
		require.Equal(t, r.Stats.Events, run.Events)
	}
}

func TestEveryRowFollowsFromOneBeforeIt(t *testing.T) {
	counts := map[witness.What]int{}
	for seed := uint64(1); seed <= 6; seed++ {
		run, _ := seen(seed)
		orphans := map[string]int{}
		for i := range run.Rows {
			r := &run.Rows[i]
			counts[r.What]++
			require.Less(t, int(r.Cause), i, "row %d of seed %d", i, seed)
			require.Less(t, int(r.Begin), i, "row %d of seed %d", i, seed)
			if i > 0 {
				require.LessOrEqual(t, run.Rows[i-1].Event, r.Event)
			}
			switch r.What {
			case witness.Recv, witness.Request, witness.Answer, witness.Lost, witness.Late, witness.Held:
				require.GreaterOrEqual(t, int(r.Cause), 0, "row %d of seed %d: %+v", i, seed, r)
				from := &run.Rows[r.Cause]
				if r.Name != "" { // else it is the word that a connection ended, which carries no message
					require.Equal(t, from.Name, r.Name, "row %d of seed %d", i, seed)
				}
				require.Equal(t, from.Place, r.Peer, "row %d of seed %d", i, seed)
			case witness.Appended, witness.Flushed, witness.ReadDone, witness.Saved:
				if r.Cause < 0 {
					orphans[r.What.String()]++
				}
			case witness.Reply, witness.Done:
				if r.Begin < 0 {
					orphans[r.What.String()]++
				}
			}
		}
		require.Empty(t, orphans, "seed %d", seed)
	}
	for _, w := range []witness.What{witness.Tick, witness.State, witness.Meta, witness.Found, witness.Down, witness.Call, witness.Told, witness.Fault, witness.Mark, witness.Lost} {
		require.NotZero(t, counts[w], w.String())
	}
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
