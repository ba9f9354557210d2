package storage

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/record"
)

// A file is in use once, however many use it: else appends would be flushed one by one
// before long, as if too many files were.
func TestAFileThatManyUseCountsOnce(t *testing.T) {
	_, s := newStore(t, small)
	do(t, s, effect.CreateLog{Log: logA})
	fill(t, s, logA, 0, 1, 1)
	do(t, s, effect.Flush{Log: logA})
	before, seg := s.handles.busy, s.logs[logA].last()
	one, err := s.handles.take(seg)
	require.NoError(t, err)
	in := s.handles.busy
	two, err := s.handles.take(seg)
	require.NoError(t, err)
	require.Equal(t, in, s.handles.busy)
	s.handles.release(two)
	s.handles.release(one)
	require.Equal(t, before, s.handles.busy)
}

// Who looks on can tell what counts as in use from what is, and how a log lies there.
func TestWhatIsInUseIsWhatCounts(t *testing.T) {
	_, s := newStore(t, small)
	do(t, s, effect.CreateLog{Log: logA})
	require.Equal(t, Shape{Segments: 1}, s.Shape(logA))
	require.Zero(t, s.Shape(record.PartitionID{Topic: logA.Topic, Index: logA.Index + 1}))
	fill(t, s, logA, 0, 1, 1)
	counted, used := s.InUse()
	require.Equal(t, [2]int{1, 1}, [2]int{counted, used})
	require.Equal(t, s.logs[logA].size, s.Shape(logA).Last)
	do(t, s, effect.Flush{Log: logA})
	counted, used = s.InUse()
	require.Equal(t, [2]int{0, 0}, [2]int{counted, used})
}
