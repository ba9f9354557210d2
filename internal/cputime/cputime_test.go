package cputime

import (
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestOnlyWorkOfThisThreadCounts: what another one does is not in it.
func TestOnlyWorkOfThisThreadCounts(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	from, all := Thread(), Used()
	require.GreaterOrEqual(t, Thread(), from)
	done := make(chan bool)
	go func() {
		for Used() < all+50*time.Millisecond {
		}
		close(done)
	}()
	<-done
	if runtime.GOOS == "linux" {
		require.Less(t, Thread()-from, 25*time.Millisecond)
	}
}

// TestOnlyWorkCounts: a loop uses up processor time, and waiting uses next to
// none.
func TestOnlyWorkCounts(t *testing.T) {
	from := Used()
	for sum := 0; Used() < from+20*time.Millisecond; sum++ {
	}
	worked := Used()
	<-time.After(200 * time.Millisecond)
	require.Less(t, Used()-worked, 100*time.Millisecond)
}
