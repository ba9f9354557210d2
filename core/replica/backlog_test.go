package replica

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core/record"
)

// However much passes through it: what is flushed comes out once, and nothing stays.
func TestABacklogGivesBackAllThatItTook(t *testing.T) {
	var b backlog
	end := record.Offset(0)
	for range 300 {
		end += 2
		b.push(end, 10)
	}
	for upTo := record.Offset(2); upTo <= end; upTo += 2 {
		require.EqualValues(t, 10, b.flushed(upTo), "up to %d", upTo)
		require.Zero(t, b.flushed(upTo))
	}
	require.Zero(t, b.bytes)
	require.Empty(t, b.chunks)
}
