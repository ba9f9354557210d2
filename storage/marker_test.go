package storage

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/record"
)

// Recovery tells how transactions ended: the fold over headers needs it.
func TestRecoveryReadsMarkers(t *testing.T) {
	disk, s := newStore(t, small)
	of := record.BuildMarker(1, 9, 4, record.Marker{Outcome: record.Aborted, CoordinatorEpoch: 3})
	record.Stamp(of, 5, 1)
	do(t, s, effect.CreateLog{Log: logA}, appendOf(logA, batchOf(0, 1, 5, 60, 1), of), effect.Flush{Log: logA})
	require.NoError(t, s.Close(true))

	_, found := reopen(t, disk, small)
	require.Equal(t, headers(batchOf(0, 1, 5, 60, 1), of), found.Logs[0].Headers)
	require.Equal(t, record.Marker{Outcome: record.Aborted, CoordinatorEpoch: 3}, found.Logs[0].Headers[1].Marker)
}
