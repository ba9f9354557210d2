package sim

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core/record"
)

func TestRecordsAreDeletedUpToInsideABatch(t *testing.T) {
	s := newStage(t)
	u, p := s.clients[0], s.book.part(part)
	require.Equal(t, toHighWatermark, u.insideBatch(part, toHighWatermark), "there is no batch")
	for _, h := range []record.Header{{BaseOffset: 0, Count: 2}, {BaseOffset: 2, Count: 3}, {BaseOffset: 5, Count: 1}} {
		h.LastOffsetDelta = h.Count - 1
		p.committed = append(p.committed, h)
	}
	p.high = 6
	seen := map[record.Offset]bool{}
	for range 100 {
		seen[u.insideBatch(part, toHighWatermark)] = true
	}
	require.Equal(t, map[record.Offset]bool{3: true, 4: true}, seen)
	p.shownStart = 3
	require.Equal(t, toHighWatermark, u.insideBatch(part, toHighWatermark), "it has begun to go")
}
