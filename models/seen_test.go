package models

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/history"
)

func TestWhatWasSeenIsFoundByItsOffset(t *testing.T) {
	var o byOffset[history.Record]
	want := map[int64]*history.Record{}
	// In order, out of order, negative, and one so far off that the slice reaches
	// it only later.
	for _, offset := range []int64{0, 1, 2, 5000, -1, 900, 1 << 60, 2500, 4999, 5001} {
		r := &history.Record{Offset: offset}
		require.Nil(t, o.at(offset))
		o.put(offset, r)
		want[offset] = r
	}
	got := map[int64]*history.Record{}
	o.each(func(offset int64, r *history.Record) { got[offset] = r })
	require.Equal(t, want, got)
	for offset, r := range want {
		require.Same(t, r, o.at(offset))
	}
	require.Less(t, len(o.low), 10_000)
	require.Nil(t, o.at(3))
	require.Nil(t, o.at(1<<59))
}

func TestOffsetsAreCounted(t *testing.T) {
	var y tally
	want := map[int64]int{}
	for _, offset := range []int64{0, 1, 1, 5000, -1, 900, 1 << 60, 1 << 60, 2500, 4999, 5000, 5001} {
		y.add(offset)
		want[offset]++
	}
	got := map[int64]int{}
	y.each(func(offset int64) { got[offset] = y.at(offset) })
	require.Equal(t, want, got)
	require.Less(t, len(y.low), 10_000)
	require.Zero(t, y.at(3))
}
