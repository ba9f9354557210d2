package models

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/history"
)

// What the quick look at a log passes is what looking at each two of its publishes
// passes: none was acknowledged before another one was sent that stands below it, or
// at the same place.
func TestTheQuickLookAtRealTimeIsExact(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	passed := 0
	for range 20_000 {
		var acked []*history.Operation
		sent, offset := int64(0), int64(r.IntN(3))
		for range r.IntN(7) {
			sent += r.Int64N(4)
			acked = append(acked, &history.Operation{Invoke: sent, Return: sent + r.Int64N(8), Offset: offset})
			if offset += r.Int64N(4) - 1 + r.Int64N(2); offset < 0 {
				offset = 0
			}
		}
		wrong := false
		for _, a := range acked {
			for _, b := range acked {
				wrong = wrong || a.Return < b.Invoke && a.Offset >= b.Offset
			}
		}
		require.Equal(t, !wrong, mayBeRealTime(acked), "%v", acked)
		if !wrong {
			passed++
		}
	}
	require.Greater(t, passed, 5_000)
	require.Less(t, passed, 18_000)

	far := []*history.Operation{{Invoke: 1, Return: 2, Offset: 1 << 40}, {Invoke: 3, Return: 4}}
	require.False(t, mayBeRealTime(far), "no list is as long as that")
	far[0].Offset, far[1].Offset = 1<<62, -(1 << 62)
	require.False(t, mayBeRealTime(far))
	require.False(t, mayBeRealTime([]*history.Operation{{Invoke: 3, Return: 4}, {Invoke: 1, Return: 2, Offset: 1}}), "not in the order of time")
}
