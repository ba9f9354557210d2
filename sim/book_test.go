package sim

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core/record"
)

// Batches are found by halving from the end: each offset of logs of all sizes gives
// what looking at every batch gives.
func TestBatchesFromAnOffsetOnAreFound(t *testing.T) {
	for size := range 40 {
		var l logFacts
		for i := range size {
			l.extend(batch(record.Offset(i), 1, "a"))
		}
		for offset := range record.Offset(size + 2) {
			from := l.from(offset)
			require.Len(t, from, max(0, size-int(offset)), "offset %d of %d", offset, size)
			if len(from) > 0 {
				require.Equal(t, offset, from[0].BaseOffset)
			}
		}
	}
}
