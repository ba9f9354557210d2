package cputime

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

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
