package storage

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/record"
)

// Another segment size holds from the next roll on, and what is there stays.
func TestALogTakesAnotherSegmentSizeWhileItIsWritten(t *testing.T) {
	d, s := newStore(t, small)
	size := int32(len(batchOf(0, 1, 3, 30, 0)))
	do(t, s, effect.CreateLog{Log: logA, Config: effect.LogConfig{SegmentBytes: 2 * size}})
	segments := func() (bases []record.Offset) {
		p, err := s.log(logA)
		require.NoError(t, err)
		for _, seg := range p.segments {
			bases = append(bases, seg.base)
		}
		return bases
	}
	fill(t, s, logA, 0, 1, 4)
	require.Equal(t, []record.Offset{0, 6}, segments())
	do(t, s, effect.ConfigureLog{Log: logA, Config: effect.LogConfig{SegmentBytes: 3 * size}})
	fill(t, s, logA, 12, 1, 5)
	require.Equal(t, []record.Offset{0, 6, 15, 24}, segments())

	// A start brings the size back with which the log was made; who opens it is
	// told so, and can say again what it shall be.
	do(t, s, effect.Flush{Log: logA})
	s, found := reopen(t, d, small)
	require.Equal(t, effect.LogConfig{SegmentBytes: 2 * size}, found.Logs[0].Config)
	require.ErrorIs(t, s.Do(effect.ConfigureLog{Log: record.PartitionID{Topic: 99}}), ErrNoLog)
}

// Readers look at the size while it changes: for the race detector.
func TestALogIsReadWhileItsSegmentSizeChanges(t *testing.T) {
	_, s := newStore(t, small)
	do(t, s, effect.CreateLog{Log: logA})
	fill(t, s, logA, 0, 1, 12)
	do(t, s, effect.Flush{Log: logA})
	read := make(chan error)
	go func() {
		var err error
		for at := record.Offset(1); at < 36 && err == nil; at++ {
			_, err = s.Read(effect.Slice{Log: logA, From: at, To: 36, MaxBytes: 100})
		}
		read <- err
	}()
	for size := int32(100); size < 150; size++ {
		do(t, s, effect.ConfigureLog{Log: logA, Config: effect.LogConfig{SegmentBytes: size}})
	}
	require.NoError(t, <-read)
}
