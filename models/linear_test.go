package models

import (
	"math/rand/v2"
	"testing"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/history"
)

// What is said of a log in linear time is what porcupine finds by search.
func TestACallOfALogFitsOrNotAsPorcupineSays(t *testing.T) {
	const seed = 1
	random := rand.New(rand.NewPCG(seed, 1))
	verdicts := map[bool]int{}
	for range 20_000 {
		var calls []logCall
		appends := 1 + random.IntN(6)
		call := func(publish bool, offset int64, around int) {
			from := int64(around) + random.Int64N(8) - 4
			ret := from + random.Int64N(6)
			if publish && random.IntN(5) == 0 {
				ret = history.Open
			}
			calls = append(calls, logCall{&history.Operation{Invoke: from, Return: ret}, publish, offset, ret})
		}
		for k := range appends {
			call(true, int64(3*k), 2*k)
		}
		for range random.IntN(4) {
			k := random.IntN(appends)
			call(false, int64(3*k-random.IntN(1+min(k, 2))), 2*k+random.IntN(3))
		}
		want := porcupine.CheckOperationsTimeout(logModel, logOperations(calls), 0) == porcupine.Ok
		require.Equal(t, want, inTurn(calls), "%+v", calls)
		verdicts[want]++
	}
	require.Greater(t, verdicts[true], 2000)
	require.Greater(t, verdicts[false], 2000)
}

// A history that is too long for porcupine is judged all the same.
func TestALongLogIsJudgedInLinearTime(t *testing.T) {
	var s story
	var log Log
	log.TopicID = topic
	for i := range int64(maxConfirmed + 100) {
		value := string(rune('A'+i%26)) + string(rune('a'+i/26))
		s.publish(value, i, history.OK)
		log.Records = append(log.Records, record(i, value))
	}
	log.End = int64(len(log.Records))
	read := s.add(history.Operation{Kind: history.Read, Client: 5, TopicID: topic, Outcome: history.OK,
		HighWatermark: history.None, LogStart: history.None, Records: log.Records[10:20], Offset: 10})
	require.Empty(t, linearizable(index(&Case{Operations: s.ops, Final: []Log{log}})))
	read.Invoke, read.Return = 30, 31 // before the last of them was sent
	found := linearizable(index(&Case{Operations: s.ops, Final: []Log{log}}))
	require.Len(t, found, 1)
	require.Equal(t, "INV-3", found[0].Invariant)
}

// Of a record that stands twice the copy that was acknowledged may be retired before
// anybody sees it. What is there at rest was appended later, and that is no fault.
func TestTheCopyThatWasAcknowledgedCounts(t *testing.T) {
	for _, start := range []int64{0, 2} {
		var s story
		twice := s.publish("a", 0, history.OK)
		twice.Idempotent = false
		s.publish("b", 1, history.OK)
		s.publish("c", 2, history.OK)
		log := Log{TopicID: topic, Start: start, End: 4, Records: []history.Record{record(0, "a"), record(1, "b"), record(2, "c"), record(3, "a")}[start:]}
		require.Empty(t, linearizable(index(&Case{Operations: s.ops, Final: []Log{log}})))
	}
}
