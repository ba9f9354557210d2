package chance

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAStreamFollowsFromItsSeed(t *testing.T) {
	// The first outputs of SplitMix64 for seed 0, as its authors publish them.
	s := New(0)
	require.Equal(t, uint64(0xe220a8397b1dcdaf), s.Uint64())
	require.Equal(t, uint64(0x6e789e6aa1b965f4), s.Uint64())
}

func TestSplitDependsOnNameAndSeedOnly(t *testing.T) {
	a, b := New(42), New(42)
	b.Uint64() // a draw from the parent must not shift the child
	require.Equal(t, a.Split("disk/2").Uint64(), b.Split("disk/2").Uint64())
	require.NotEqual(t, a.Split("disk/2").Uint64(), a.Split("disk/3").Uint64())
	require.NotEqual(t, New(1).Split("x").Uint64(), New(2).Split("x").Uint64())
}

func TestBoundsHold(t *testing.T) {
	s := New(7)
	seen := map[int64]bool{}
	for range 1000 {
		n := s.Between(3, 5)
		require.True(t, n >= 3 && n <= 5)
		seen[n] = true
		f := s.Float()
		require.True(t, f >= 0 && f < 1)
	}
	require.Len(t, seen, 3)
	require.False(t, s.Percent(0))
	require.True(t, s.Percent(100))
	require.True(t, s.OneIn(1))
	require.Panics(t, func() { s.Below(0) })
}
