package storage

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/record"
	"github.com/tamarack-mq/tamarack/storage/vfs"
	"github.com/tamarack-mq/tamarack/storage/vfs/simdisk"
)

var logA = record.PartitionID{Topic: 7, Index: 0}

var small = Options{ClusterID: "c", NodeID: 1, SegmentBytes: 1000, IndexInterval: 100, CacheBytes: -1, MarksEvery: 5, JournalReserve: 200}

// batchOf builds one batch. The values tell offset and epoch, so that no two
// batches of a test are alike.
func batchOf(base record.Offset, epoch record.LeaderEpoch, records, size int, at record.Timestamp) []byte {
	var b record.Builder
	for i := range records {
		value := fmt.Appendf(nil, "%d/%d:%d ", epoch, base, i)
		for len(value) < size {
			value = append(value, '.')
		}
		if err := b.Append(at+record.Timestamp(i), nil, value, nil); err != nil {
			panic(err)
		}
	}
	batch := bytes.Clone(b.Build())
	record.Stamp(batch, base, epoch)
	return batch
}

// appendOf makes the effect that appends batches one behind the other.
func appendOf(id record.PartitionID, batches ...[]byte) effect.Append {
	a := effect.Append{Log: id, Batches: bytes.Join(batches, nil)}
	it := record.Batches(a.Batches)
	for first := true; it.Next(); first = false {
		if first {
			a.Base = it.Header.BaseOffset
		}
		a.End = it.Header.End()
	}
	return a
}

func open(t require.TestingT, d vfs.FS, opts Options) (*Store, effect.Recovered) {
	s, found, err := Open(d, opts, 42)
	require.NoError(t, err)
	return s, found
}

// reopen is a kill of the process and a start.
func reopen(t require.TestingT, d *simdisk.Disk, opts Options) (*Store, effect.Recovered) {
	d.Kill()
	return open(t, d, opts)
}

func do(t require.TestingT, s *Store, effects ...effect.Effect) {
	for _, e := range effects {
		if f, ok := e.(effect.Flush); ok {
			require.NoError(t, s.Flush(f.Log))
			continue
		}
		require.NoError(t, s.Do(e))
	}
}

// readAll reads [from, to) batch for batch, in reads of at most so many bytes.
func readAll(s *Store, id record.PartitionID, from, to record.Offset, most int32) ([]byte, error) {
	var all []byte
	for from < to {
		b, err := s.Read(effect.Slice{Log: id, From: from, To: to, MaxBytes: most})
		if err != nil {
			return all, err
		}
		if len(b) == 0 {
			return all, fmt.Errorf("nothing at %d of [.., %d)", from, to)
		}
		it := record.Batches(b)
		for it.Next() {
			from = it.Header.End()
		}
		if it.Err() != nil {
			return all, it.Err()
		}
		all = append(all, b...)
	}
	return all, nil
}

func headers(batches ...[]byte) (list []record.Header) {
	for _, b := range batches {
		h, err := record.DecodeHeader(b)
		if err != nil {
			panic(err)
		}
		record.FillMarker(&h, b)
		list = append(list, h)
	}
	return list
}

func newStore(t *testing.T, opts Options) (*simdisk.Disk, *Store) {
	t.Helper()
	d := simdisk.New()
	s, _ := open(t, d, opts)
	return d, s
}

// fill writes batches of three records, 200 bytes or so each, and returns them.
func fill(t require.TestingT, s *Store, id record.PartitionID, from record.Offset, epoch record.LeaderEpoch, count int) (batches [][]byte) {
	for range count {
		b := batchOf(from, epoch, 3, 30, record.Timestamp(from)*10)
		do(t, s, appendOf(id, b))
		batches = append(batches, b)
		from += 3
	}
	return batches
}

func files(t *testing.T, d vfs.FS, folder string) (names []string) {
	t.Helper()
	list, err := d.ReadDir(folder)
	require.NoError(t, err)
	for _, e := range list {
		names = append(names, e.Name)
	}
	return names
}
