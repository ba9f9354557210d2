package sim

import (
	"math"
	"runtime"
	"runtime/debug"
)

// The collector's settings for a process that does nothing but simulate.
const (
	collectorPercent = 1600
	collectorLimit   = 512 << 20 // bytes, and as much for each core
)

// TuneCollector sets the garbage collector of this process up for campaigns.
// What a run keeps is small and dies with it, so collecting rarely trades some
// memory for time; beyond the limit the collector works harder instead. A limit
// that the environment sets (GOMEMLIMIT) stands. It changes no result.
func TuneCollector() {
	debug.SetGCPercent(collectorPercent)
	if debug.SetMemoryLimit(-1) == math.MaxInt64 {
		debug.SetMemoryLimit(collectorLimit * int64(1+runtime.GOMAXPROCS(0)))
	}
}
