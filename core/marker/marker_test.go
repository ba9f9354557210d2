package marker

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

var (
	here   = record.PartitionID{Topic: 5, Index: 1}
	there  = record.PartitionID{Topic: 5, Index: 2}
	abroad = record.PartitionID{Topic: 6}
)

// commits is a question for the markers of a transaction.
func commits(run message.BrokerEpoch, number uint64, partitions ...record.PartitionID) *message.WriteMarkers {
	return &message.WriteMarkers{BrokerEpoch: run, Request: number, CoordinatorEpoch: 4, ID: 9, Epoch: 3, Commit: true, Partitions: partitions}
}

// told is an answer.
func told(to message.NodeID, run message.BrokerEpoch, number uint64, results ...message.MarkerResult) Answer {
	return Answer{To: to, Msg: &message.WroteMarkers{BrokerEpoch: run, Request: number, Results: results}}
}

// rests says that nothing of anybody is left.
func rests(t *testing.T, d *Desk) {
	t.Helper()
	require.Empty(t, d.Answers())
	require.Zero(t, d.Waiting())
	require.Empty(t, d.waiting)
	require.Empty(t, d.known)
	require.Empty(t, d.outcomes)
}

func TestWhatIsKnownTogetherIsOneAnswer(t *testing.T) {
	d := New()
	require.Equal(t, []Order{{1, here}, {2, there}, {3, abroad}}, d.Asked(2, commits(70, 1, here, there, abroad)))
	require.Empty(t, d.Answers(), "nothing is written yet")
	d.Wrote(3, message.None)
	d.Wrote(1, message.NotLeaderOrFollower)
	require.Equal(t, []Answer{told(2, 70, 1,
		message.MarkerResult{ID: abroad}, message.MarkerResult{ID: here, Code: message.NotLeaderOrFollower},
	)}, d.Answers())
	require.Equal(t, 1, d.Waiting())
	require.Empty(t, d.Answers(), "nobody is told twice")
	d.Wrote(2, message.None)
	require.Equal(t, []Answer{told(2, 70, 1, message.MarkerResult{ID: there})}, d.Answers())
	rests(t, d)
}

func TestAMarkerThatIsAskedForAgainIsWrittenOnce(t *testing.T) {
	d := New()
	require.Len(t, d.Asked(2, commits(70, 1, here, there)), 2)
	require.Empty(t, d.Asked(2, commits(70, 1, here, there)))
	d.Wrote(1, message.None)
	require.Equal(t, []Order{{3, here}}, d.Asked(2, commits(70, 1, here, there)), "its answer is on its way, and may be lost")
	d.Wrote(2, message.None)
	d.Wrote(3, message.None)
	require.Equal(t, []Answer{told(2, 70, 1,
		message.MarkerResult{ID: here}, message.MarkerResult{ID: there}, message.MarkerResult{ID: here},
	)}, d.Answers())
	require.Equal(t, []Order{{4, here}}, d.Asked(2, commits(70, 1, here, here)), "it is named twice")
	d.Wrote(4, message.None)
	require.Len(t, d.Answers(), 1)
	rests(t, d)
}

// An answer that is lost must not be the last one: its coordinator asks until it has heard.
func TestWhoeverAsksAfterAnAnswerIsAnsweredAnew(t *testing.T) {
	d := New()
	for range 3 {
		orders := d.Asked(2, commits(70, 1, here))
		require.Len(t, orders, 1)
		d.Wrote(orders[0].Ticket, message.None)
		require.Equal(t, []Answer{told(2, 70, 1, message.MarkerResult{ID: here})}, d.Answers())
	}
	rests(t, d)
}

func TestQuestionsOfSeveralCoordinatorsAndRunsAreKeptApart(t *testing.T) {
	d := New()
	d.Asked(3, commits(70, 1, here)) // 1
	d.Asked(2, commits(71, 1, here)) // 2
	d.Asked(2, commits(70, 8, here)) // 3
	d.Asked(2, commits(70, 1, here)) // 4
	require.Equal(t, 4, d.Waiting(), "a number says nothing without its run, nor a run without its broker")
	for _, ticket := range []uint64{1, 2, 3, 4} {
		d.Wrote(ticket, message.None)
	}
	require.Equal(t, []Answer{
		told(2, 70, 1, message.MarkerResult{ID: here}),
		told(2, 70, 8, message.MarkerResult{ID: here}),
		told(2, 71, 1, message.MarkerResult{ID: here}),
		told(3, 70, 1, message.MarkerResult{ID: here}),
	}, d.Answers())
	rests(t, d)
}

func TestAnOutcomeOfNothingIsPassedOver(t *testing.T) {
	d := New()
	d.Wrote(0, message.None)
	d.Wrote(1, message.None)
	d.Asked(2, commits(70, 1, here))
	d.Wrote(2, message.StorageError)
	require.Empty(t, d.Answers())
	d.Wrote(1, message.None)
	d.Wrote(1, message.StorageError)
	require.Equal(t, []Answer{told(2, 70, 1, message.MarkerResult{ID: here})}, d.Answers())
	require.Empty(t, d.Asked(2, commits(70, 1)), "a question for nothing")
	rests(t, d)
}

// Coordinators ask again whenever they like, outcomes come in any order, and half of
// the answers are lost. Whoever goes on asking hears of everything, and whatever was
// ordered has one outcome.
func TestEachCoordinatorHearsOfAllItsMarkersInTheEnd(t *testing.T) {
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 1))
		d := New()
		questions := []*message.WriteMarkers{commits(70, 1), commits(70, 2), commits(71, 1)}
		for _, q := range questions {
			for _, id := range []record.PartitionID{here, there, abroad} {
				if random.IntN(3) > 0 {
					q.Partitions = append(q.Partitions, id)
				}
			}
		}
		var orders []Order // without an outcome
		for round := 0; ; round++ {
			require.Less(t, round, 1000, "seed %d: somebody is never told", seed)
			left := 0
			for i, q := range questions {
				left += len(q.Partitions)
				if len(q.Partitions) > 0 && random.IntN(2) == 0 {
					again := *q
					again.Partitions = slices.Clone(q.Partitions)
					orders = append(orders, d.Asked(message.NodeID(i), &again)...)
				}
			}
			require.Equal(t, len(orders), d.Waiting(), "seed %d", seed)
			if left == 0 && len(orders) == 0 {
				break
			}
			random.Shuffle(len(orders), func(i, j int) { orders[i], orders[j] = orders[j], orders[i] })
			for range random.IntN(len(orders) + 1) {
				d.Wrote(orders[0].Ticket, message.None)
				orders = orders[1:]
			}
			for _, a := range d.Answers() {
				if random.IntN(2) == 0 {
					continue // lost
				}
				q := questions[a.To]
				require.Equal(t, []any{q.BrokerEpoch, q.Request}, []any{a.Msg.BrokerEpoch, a.Msg.Request}, "seed %d", seed)
				q.Partitions = slices.DeleteFunc(q.Partitions, func(id record.PartitionID) bool {
					return slices.Contains(a.Msg.Results, message.MarkerResult{ID: id})
				})
			}
		}
		rests(t, d)
	}
}
