package storage

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/record"
	"github.com/tamarack-mq/tamarack/storage/vfs"
	"github.com/tamarack-mq/tamarack/storage/vfs/simdisk"
)

// Many logs are written, flushed, read, trimmed and checkpointed at the same
// time on a real file system; each reader sees exactly what was written.
func TestLogsDoNotDisturbEachOther(t *testing.T) {
	opts := small
	opts.CacheBytes = 20_000
	opts.OpenFiles = 3
	disk, err := vfs.OS(t.TempDir())
	require.NoError(t, err)
	s, _ := open(t, disk, opts)
	const logs, batches = 6, 60
	content := make([][][]byte, logs)
	var all sync.WaitGroup
	for i := range logs {
		id := record.PartitionID{Topic: 1, Index: int32(i)}
		do(t, s, effect.CreateLog{Log: id})
		for at := range record.Offset(batches) {
			content[i] = append(content[i], batchOf(at*3, 1+record.LeaderEpoch(at/20), 3, 30, record.Timestamp(at)))
		}
		written := make(chan record.Offset, batches)
		all.Go(func() {
			defer close(written)
			for n, b := range content[i] {
				if err := s.Do(appendOf(id, b)); err != nil {
					panic(err)
				}
				written <- record.Offset(n+1) * 3
				if n%20 == 19 {
					err := errors.Join(s.Do(effect.Checkpoint{Log: id, At: record.Offset(n) * 3}),
						s.Do(effect.TrimPrefix{Log: id, Start: record.Offset(n-10) * 3}))
					if err != nil {
						panic(err)
					}
				}
			}
		})
		all.Go(func() {
			for end := range written {
				if err := s.Flush(id); err != nil {
					panic(err)
				}
				for from := end - 3; from >= max(0, end-30); from -= 9 {
					got, err := s.Read(effect.Slice{Log: id, From: from, To: end, MaxBytes: 1})
					if errors.Is(err, ErrOutOfRange) {
						continue
					}
					if err != nil || !bytes.Equal(got, content[i][from/3]) {
						panic(fmt.Sprint(id, from, err))
					}
				}
				if _, _, _, err := s.FindTime(effect.FindTime{Log: id, At: record.Timestamp(end / 3), To: end}); err != nil && !errors.Is(err, ErrOutOfRange) {
					panic(err)
				}
			}
		})
	}
	all.Go(func() {
		for range 50 {
			if err := errors.Join(s.SaveQuorum([]byte("frame")), s.SyncMarks()); err != nil {
				panic(err)
			}
		}
	})
	all.Wait()
	require.NoError(t, s.Close(true))
	s, found := open(t, disk, opts)
	require.True(t, found.Clean)
	require.Len(t, found.Journal, 50)
	for i, l := range found.Logs {
		require.Equal(t, record.Offset(147), l.Start)
		require.Equal(t, record.Offset(180), l.End)
		got, err := readAll(s, l.ID, l.Start, l.End, 1000)
		require.NoError(t, err)
		require.Equal(t, bytes.Join(content[i][49:], nil), got)
	}
	require.NoError(t, s.Close(true))
}

func benchmarkFlush(b *testing.B, d vfs.FS, records int) {
	s, _, err := Open(d, Options{}, 1)
	require.NoError(b, err)
	require.NoError(b, s.Do(effect.CreateLog{Log: logA}))
	template := batchOf(0, 1, records, 1024, 0)
	b.SetBytes(int64(len(template)))
	b.ReportAllocs()
	var at record.Offset
	for b.Loop() {
		batch := bytes.Clone(template)
		record.Stamp(batch, at, 1)
		end := at + record.Offset(records)
		if err := s.Append(effect.Append{Log: logA, Base: at, End: end, Batches: batch}); err != nil {
			b.Fatal(err)
		}
		if err := s.Flush(logA); err != nil {
			b.Fatal(err)
		}
		at = end
	}
	_ = s.Close(false)
}

func BenchmarkAppendAndFlush(b *testing.B) {
	for _, records := range []int{1, 16, 256} {
		b.Run(fmt.Sprintf("os/%d", records), func(b *testing.B) {
			dir, err := os.MkdirTemp(".", "bench")
			require.NoError(b, err)
			defer os.RemoveAll(dir)
			d, err := vfs.OS(dir)
			require.NoError(b, err)
			benchmarkFlush(b, d, records)
		})
		b.Run(fmt.Sprintf("simulated/%d", records), func(b *testing.B) { benchmarkFlush(b, simdisk.New(), records) })
	}
}

func BenchmarkRead(b *testing.B) {
	for name, cache := range map[string]int64{"memory": 0, "disk": -1} {
		b.Run(name, func(b *testing.B) {
			s, _, err := Open(simdisk.New(), Options{CacheBytes: cache}, 1)
			require.NoError(b, err)
			require.NoError(b, s.Do(effect.CreateLog{Log: logA}))
			for at := range record.Offset(1000) {
				require.NoError(b, s.Do(appendOf(logA, batchOf(at*10, 1, 10, 1024, 0))))
			}
			b.ReportAllocs()
			var at record.Offset
			for b.Loop() {
				got, err := s.Read(effect.Slice{Log: logA, From: at % 10000, To: 10000, MaxBytes: 64 << 10})
				if err != nil {
					b.Fatal(err)
				}
				b.SetBytes(int64(len(got)))
				at += 60
			}
		})
	}
}

func BenchmarkSaveQuorum(b *testing.B) {
	dir, err := os.MkdirTemp(".", "bench")
	require.NoError(b, err)
	defer os.RemoveAll(dir)
	d, err := vfs.OS(dir)
	require.NoError(b, err)
	s, _, err := Open(d, Options{}, 1)
	require.NoError(b, err)
	frame := make([]byte, 200)
	for b.Loop() {
		if err := s.SaveQuorum(frame); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkOpen(b *testing.B) {
	d := simdisk.New()
	s, _, _ := Open(d, small, 1)
	for i := range int32(100) {
		id := record.PartitionID{Topic: 1, Index: i}
		do(b, s, effect.CreateLog{Log: id})
		fill(b, s, id, 0, 1, 10)
		do(b, s, effect.Flush{Log: id})
	}
	b.ReportAllocs()
	for b.Loop() {
		d.Kill()
		if _, _, err := Open(d, small, 1); err != nil {
			b.Fatal(err)
		}
	}
}
