package storage

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/record"
	"github.com/tamarack-mq/tamarack/storage/vfs"
)

// Segment files hold nothing but Kafka's record batches: a decoder that nobody
// here wrote (franz-go's kmsg, generated from Kafka's definitions) reads the
// files of a closed store and finds the records that were appended.
func TestASegmentFileIsReadByADecoderOfOthers(t *testing.T) {
	dir := t.TempDir()
	files, err := vfs.OS(dir)
	require.NoError(t, err)
	s, _ := open(t, files, small)
	require.NoError(t, s.Do(effect.CreateLog{Log: logA, Config: effect.LogConfig{SegmentBytes: 1000}}))
	var wrote []string
	for at := record.Offset(0); at < 60; at += 3 {
		epoch := record.LeaderEpoch(at / 20)
		require.NoError(t, s.Do(appendOf(logA, batchOf(at, epoch, 3, 60, 1_700_000_000_000))))
		for i := range 3 {
			value := fmt.Sprintf("%d/%d:%d ", epoch, at, i)
			for len(value) < 60 {
				value += "."
			}
			wrote = append(wrote, fmt.Sprintf("%d at %d in epoch %d: %s", int(at)+i, 1_700_000_000_000+i, epoch, value))
		}
	}
	require.NoError(t, s.Flush(logA))
	require.NoError(t, s.Close(true))

	segments, err := filepath.Glob(filepath.Join(dir, "7-0", "*.log"))
	require.NoError(t, err)
	require.Greater(t, len(segments), 3, "the log has rolled")
	slices.Sort(segments)
	var read []string
	for _, file := range segments {
		b, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Equal(t, fmt.Sprintf("%020d.log", binary.BigEndian.Uint64(b)), filepath.Base(file), "named by its first offset")
		read = append(read, foreign(t, b)...)
	}
	require.Equal(t, wrote, read)
}

// foreign decodes a segment with kmsg.
func foreign(t *testing.T, b []byte) []string {
	var list []string
	for len(b) > 0 {
		size := 12 + int(binary.BigEndian.Uint32(b[8:]))
		var batch kmsg.RecordBatch
		require.NoError(t, batch.ReadFrom(b[:size]))
		b = b[size:]
		for rest := batch.Records; len(rest) > 0; {
			r := kmsg.NewRecord()
			require.NoError(t, r.ReadFrom(rest))
			rest = rest[len(r.AppendTo(nil)):]
			list = append(list, fmt.Sprintf("%d at %d in epoch %d: %s", batch.FirstOffset+int64(r.OffsetDelta),
				batch.FirstTimestamp+r.TimestampDelta64, batch.PartitionLeaderEpoch, r.Value))
		}
	}
	return list
}
