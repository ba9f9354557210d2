package server

import (
	"log/slog"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestConnectionsLeaveDescriptorsForFiles(t *testing.T) {
	for _, c := range []struct {
		limit                      uint64
		asked, connections, opened int
	}{
		{math.MaxUint64, 0, 10_000, 1024},
		{math.MaxUint64, 50_000, 50_000, 1024},
		{1 << 20, 0, 10_000, 1024},
		{4096, 0, 2048, 1024},
		{1024, 10_000, 512, 256},
		{1024, 100, 100, 256},
		{64, 0, 32, 16},
	} {
		cfg := sound()
		cfg.Limits.MaxConnections = c.asked
		opened, err := cfg.share(c.limit, slog.New(slog.DiscardHandler))
		require.NoError(t, err)
		require.Equal(t, []int{c.connections, c.opened}, []int{cfg.Limits.MaxConnections, opened}, "%+v", c)
	}
	cfg := sound()
	_, err := cfg.share(63, slog.New(slog.DiscardHandler))
	require.ErrorContains(t, err, "only 63 files: raise the limit")
}
