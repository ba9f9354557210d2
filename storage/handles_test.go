package storage

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core/effect"
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
