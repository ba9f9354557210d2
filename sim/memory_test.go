package sim

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// A campaign keeps a report and what the next runs use again, however long it is.
func TestRunsLeaveNothingBehind(t *testing.T) {
	if testing.Short() {
		t.Skip("plays seventy seeds")
	}
	after := func(from, to uint64) int64 {
		report := (&Campaign{From: from, To: to, Workers: 1}).Run()
		runtime.GC()
		runtime.GC() // the first leaves what pools held
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		runtime.KeepAlive(report)
		return int64(m.HeapAlloc)
	}
	few := after(1, 20)
	many := after(21, 70)
	require.Less(t, many-few, int64(2<<20), "bytes more after fifty more seeds (%d, then %d)", few, many)
}
