package edited

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCountsBeginAnewWithEachQuestion(t *testing.T) {
	Reach(3)
	Reach(3)
	Reach(7)
	require.Equal(t, map[int]uint64{3: 2, 7: 1}, Reached())
	Reach(7)
	require.Equal(t, map[int]uint64{7: 1}, Reached())
	require.Empty(t, Reached())
}

func TestConditionsKeepTheirValue(t *testing.T) {
	Reached()
	for _, is := range []bool{true, false} {
		require.Equal(t, is, Unlike(1, true, is))
		require.Equal(t, is, Where(2, is, true))
		require.Equal(t, is, Where(3, is, false))
	}
	require.Equal(t, map[int]uint64{1: 1, 2: 2}, Reached())
}

func TestTheVariableIsANumber(t *testing.T) {
	require.Equal(t, []int{0, 0, 12}, []int{number(""), number("0"), number("12")})
	require.PanicsWithValue(t, "SIMRUN_EDIT=all: give the number of an edit, or 0 for none", func() { number("all") })
	require.Panics(t, func() { number("5000") })
}
