// Package storage keeps the logs and the quorum journal of one node in a data
// folder, and finds out after a crash what can be trusted. It decides nothing
// about the protocol and knows no time; a driver calls it to carry out the
// effects of the core.
package storage

import (
	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
	"github.com/tamarack-mq/tamarack/storage/vfs"
)

// Options are the settings of a Store. The zero value is usable but for the
// identity; zero fields mean the defaults given.
type Options struct {
	ClusterID string         // empty: whichever the folder belongs to
	NodeID    message.NodeID // 0: whichever the folder belongs to

	SegmentBytes  int32 // of logs that name no size of their own; 256 MiB
	IndexInterval int32 // bytes of a segment between two index entries at least; 4 KiB
	CacheBytes    int64 // of the newest batches, over all logs; 64 MiB. Negative: none
	OpenFiles     int   // files kept open that are neither being written nor read; 1024
	// MarksEvery is the number of flushes after which a Flush also makes the
	// flushed marks durable; 256. See Store.SyncMarks.
	MarksEvery int
}

// Store is the data folder of one node while it is open.
//
// Calls on different logs may run at the same time, and so may Read and
// FindTime with any call on the same log. Two changes of one log must come one
// after the other, and so must the calls that concern the quorum journal. A
// Flush covers what was appended before it was called, and appends may go on
// while it runs.
//
// A write or sync that fails for any reason but ErrNoRoom latches the store:
// every later call fails with ErrFailed.
type Store struct{}

// Open locks and opens a data folder, recovers what is in it, and tells what it
// found. A folder that is empty becomes the folder of the node and cluster in
// opts, with diskID as the name of this disk.
func Open(fs vfs.FS, opts Options, diskID uint64) (*Store, effect.Recovered, error) {
	panic("not built yet")
}

// Do carries out CreateLog, DeleteLog, Append, Truncate, Reset, TrimPrefix or
// Checkpoint, and is done when it returns. Any other effect is an error.
func (s *Store) Do(e effect.Effect) error { panic("not built yet") }

// Append is Do for the most frequent effect, without the boxing. The store
// keeps a.Batches: the caller must not change the bytes any more.
func (s *Store) Append(a effect.Append) error { panic("not built yet") }

// Flush makes durable all that was appended to a log before the call.
func (s *Store) Flush(log record.PartitionID) error { panic("not built yet") }

// Read returns the whole batches of a slice. They are read only. It may return
// fewer than the slice allows, but not none when there is one. Bytes that come
// from the disk are checked; damage is a *DamageError.
func (s *Store) Read(slice effect.Slice) ([]byte, error) { panic("not built yet") }

// FindTime looks for the first record whose timestamp is at least f.At and
// whose offset is below f.To.
func (s *Store) FindTime(f effect.FindTime) (found bool, off record.Offset, at record.Timestamp, err error) {
	panic("not built yet")
}

// SaveQuorum appends frames to the quorum journal. They are durable when it
// returns.
func (s *Store) SaveQuorum(frames ...[]byte) error { panic("not built yet") }

// ReplaceQuorum replaces the whole quorum journal, durably and at once.
func (s *Store) ReplaceQuorum(frames [][]byte) error { panic("not built yet") }

// SyncMarks makes durable how far each log was flushed. Damage below a durable
// mark is told apart from a torn tail for certain, even after a power cut.
// Flush keeps the marks up to date in the page cache and makes them durable now
// and then; a driver calls SyncMarks when it has nothing better to do. It does
// nothing when no mark has moved.
func (s *Store) SyncMarks() error { panic("not built yet") }

// Guarded is the number of bytes from the start of a file in which damage is
// told apart from a torn tail for certain: see SyncMarks. It is what a simulated
// disk may damage without asking for the impossible. It works on a store that
// has failed or is closed, too.
func (s *Store) Guarded(path string) int64 { panic("not built yet") }

// Free is the number of bytes that can still be written.
func (s *Store) Free() (int64, error) { panic("not built yet") }

// Close flushes all logs, and with clean set leaves the mark of a clean
// shutdown. It ends the use of the folder in any case.
func (s *Store) Close(clean bool) error { panic("not built yet") }
