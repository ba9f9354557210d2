package log_test

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/log"
	"github.com/tamarack-mq/tamarack/core/record"
)

// FuzzCheckpoint gives the bytes a right checksum, so that what lies behind it
// is reached. What Restore takes, it must be able to write again.
func FuzzCheckpoint(f *testing.F) {
	l := seven()
	l.Append(ptr(at(plain(14, 3, 5), 99)))
	l.Settle(17)
	_, state := l.Checkpoint()
	f.Add(int64(17), state[:len(state)-4])
	for _, h := range []record.Header{write(17, q, 4, 0), aborts(19, q, 5), write(20, q, 5, 0)} {
		l.Append(&h)
	}
	l.Settle(22)
	_, state = l.Checkpoint()
	f.Add(int64(22), state[:len(state)-4])
	f.Fuzz(func(t *testing.T, at int64, body []byte) {
		found := effect.RecoveredLog{
			Start: record.Offset(at), End: record.Offset(at), CheckpointAt: record.Offset(at),
			Checkpoint: binary.BigEndian.AppendUint32(body[:len(body):len(body)],
				crc32.Checksum(body, crc32.MakeTable(crc32.Castagnoli))),
		}
		l, err := log.Restore(found)
		if err != nil {
			require.True(t, at < 0 || isCheckpointError(err), "%v", err)
			return
		}
		require.Equal(t, record.Offset(at), l.End())
		found.CheckpointAt, found.Checkpoint = l.Checkpoint()
		again, err := log.Restore(found)
		require.NoError(t, err)
		require.Equal(t, l.Digest(), again.Digest())
		require.Empty(t, l.Differs(again, 0))
		_, once := l.Checkpoint()
		_, twice := again.Checkpoint()
		require.Equal(t, once, twice)
	})
}

func isCheckpointError(err error) bool { return errors.Is(err, log.ErrCheckpoint) }
