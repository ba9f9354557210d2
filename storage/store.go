// Package storage keeps the logs and the quorum journal of one node in a data
// folder, and finds out after a crash what can be trusted. It decides nothing
// about the protocol and knows no time; a driver calls it to carry out the
// effects of the core.
package storage

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

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
	OpenFiles     int   // files kept open that are neither being written nor read, and logs that hold what is not flushed, about; 1024
	// MarksEvery is the number of flushes after which a Flush also makes the
	// flushed marks durable; 256. See Store.SyncMarks.
	MarksEvery int
	// JournalReserve is how many bytes the quorum journal grows ahead of need;
	// 256 KiB. Negative: none.
	JournalReserve int64
}

func (o Options) withDefaults() Options {
	def := func(v *int64, d int64) {
		if *v == 0 {
			*v = d
		}
		*v = max(*v, 0)
	}
	def(&o.CacheBytes, 64<<20)
	def(&o.JournalReserve, 256<<10)
	if o.SegmentBytes <= 0 {
		o.SegmentBytes = 256 << 20
	}
	if o.IndexInterval <= 0 {
		o.IndexInterval = 4 << 10
	}
	if o.OpenFiles <= 0 {
		o.OpenFiles = 1024
	}
	if o.MarksEvery <= 0 {
		o.MarksEvery = 256
	}
	return o
}

// Store is the data folder of one node while it is open.
//
// Calls on different logs may run at the same time, and so may Read, FindTime
// and Flush with any call on the same log but Truncate, Reset and DeleteLog. Two
// changes of one log must come one after the other, and so must the calls that
// concern the quorum journal. A Flush covers what was appended before it was
// called, and appends may go on while it runs.
//
// A write or sync that fails for any reason but ErrNoRoom latches the store:
// every later call fails with ErrFailed.
type Store struct {
	fs      vfs.FS
	opts    Options
	disk    uint64
	lock    io.Closer
	marks   *marks
	journal *journal
	tail    *tail
	handles *handles
	failure atomic.Pointer[error]

	mu   sync.RWMutex // guards logs
	logs map[record.PartitionID]*partition
}

// check tells whether the store may still be used.
func (s *Store) check() error {
	if first := s.failure.Load(); first != nil {
		if errors.Is(*first, ErrClosed) {
			return ErrClosed
		}
		return fmt.Errorf("%w: %w", ErrFailed, *first)
	}
	return nil
}

// judge latches the store when an error leaves it unknown what the disk holds.
func (s *Store) judge(op string, err error) error {
	if err == nil {
		return nil
	}
	return s.failed(op, err)
}

func (s *Store) failed(op string, err error) error { // apart: here err is on the heap
	harmless := errors.Is(err, ErrNoRoom) && !errors.Is(err, errUndo)
	var damage *DamageError
	if harmless || errors.Is(err, errMisuse) || errors.Is(err, ErrNoLog) || errors.As(err, &damage) {
		return err
	}
	err = &latchedError{fmt.Errorf("storage: %s: %w", op, err)}
	s.failure.CompareAndSwap(nil, &err)
	return err
}

func (s *Store) log(id record.PartitionID) (*partition, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if p := s.logs[id]; p != nil {
		return p, nil
	}
	return nil, fmt.Errorf("%w: %v", ErrNoLog, id)
}

// Do carries out CreateLog, ConfigureLog, DeleteLog, Append, Truncate, Reset, TrimPrefix or
// Checkpoint, and is done when it returns. Any other effect is an error.
//
// A log that recovery found damaged keeps what is behind its trusted end until
// the first Append, Truncate or Reset; that gives it up.
func (s *Store) Do(e effect.Effect) error {
	switch e := e.(type) {
	case effect.Append:
		return s.Append(e)
	case effect.CreateLog:
		if err := s.check(); err != nil {
			return err
		}
		return s.judge("create a log", s.create(e))
	case effect.ConfigureLog:
		return s.on(e.Log, "configure", func(p *partition) error { return p.configure(e.Config) })
	case effect.DeleteLog:
		if err := s.check(); err != nil {
			return err
		}
		return s.judge("delete a log", s.remove(e.Log))
	case effect.Truncate:
		return s.on(e.Log, "truncate", func(p *partition) error { return p.truncate(e.To) })
	case effect.Reset:
		return s.on(e.Log, "reset", func(p *partition) error { return p.reset(e.Start) })
	case effect.TrimPrefix:
		return s.on(e.Log, "trim", func(p *partition) error { return p.trim(e.Start) })
	case effect.Checkpoint:
		return s.on(e.Log, "checkpoint", func(p *partition) error { return p.saveCheckpoint(e) })
	}
	return misuse("%T is not for the disk", e)
}

func (s *Store) on(id record.PartitionID, op string, do func(*partition) error) error {
	if err := s.check(); err != nil {
		return err
	}
	p, err := s.log(id)
	if err != nil {
		return err
	}
	return s.judge(op, do(p))
}

// Append is Do for the most frequent effect, without the boxing. The store
// keeps a.Batches: the caller must not change the bytes any more.
func (s *Store) Append(a effect.Append) error {
	if err := s.check(); err != nil {
		return err
	}
	p, err := s.log(a.Log)
	if err != nil {
		return err
	}
	return s.judge("append", p.append(a))
}

// Flush makes durable all that was appended to a log before the call.
func (s *Store) Flush(log record.PartitionID) error {
	if err := s.check(); err != nil {
		return err
	}
	p, err := s.log(log)
	if err != nil {
		return err
	}
	return s.judge("flush", p.flush())
}

// Read returns the whole batches of a slice. They are read only. It may return
// fewer than the slice allows, but not none when there is one. Bytes that come
// from the disk are checked; damage is a *DamageError.
func (s *Store) Read(slice effect.Slice) ([]byte, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	p, err := s.log(slice.Log)
	if err != nil {
		return nil, err
	}
	return p.read(slice)
}

// FindTime looks for the first record whose timestamp is at least f.At and
// whose offset is below f.To.
func (s *Store) FindTime(f effect.FindTime) (found bool, off record.Offset, at record.Timestamp, err error) {
	if err := s.check(); err != nil {
		return false, 0, 0, err
	}
	p, err := s.log(f.Log)
	if err != nil {
		return false, 0, 0, err
	}
	return p.findTime(f)
}

// SaveQuorum appends frames to the quorum journal. They are durable when it
// returns.
func (s *Store) SaveQuorum(frames ...[]byte) error {
	if err := s.check(); err != nil {
		return err
	}
	if err := s.judge("save the quorum journal", s.journal.save(frames)); err != nil {
		return err
	}
	return s.judge("mark the quorum journal", s.markJournal())
}

// ReplaceQuorum replaces the whole quorum journal, durably and at once.
func (s *Store) ReplaceQuorum(frames [][]byte) error {
	if err := s.check(); err != nil {
		return err
	}
	if err := s.judge("replace the quorum journal", s.journal.replace(frames)); err != nil {
		return err
	}
	return s.judge("mark the quorum journal", s.markJournal())
}

func (s *Store) markJournal() error {
	j := s.journal
	since, err := s.marks.raiseJournal(j.generation, j.frames, place{record.Offset(j.generation), j.end})
	if err == nil && since >= s.opts.MarksEvery {
		err = s.marks.sync()
	}
	return err
}

// SyncMarks makes durable how far each log was flushed. Damage below a durable
// mark is told apart from a torn tail for certain, even after a power cut.
// Flush keeps the marks up to date in the page cache and makes them durable now
// and then; a driver calls SyncMarks when it has nothing better to do. It does
// nothing when no mark has moved.
func (s *Store) SyncMarks() error {
	if err := s.check(); err != nil {
		return err
	}
	return s.judge("sync the marks", s.marks.sync())
}

// Waits says whether an append has to wait while a flush of its log is under way: it
// flushes that log itself, or may have to. For who does one thing at a time and has both.
func (s *Store) Waits(a effect.Append) bool {
	p, err := s.log(a.Log)
	if err != nil {
		return true
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.damage != nil || p.mustRoll(a) || s.handles.crowded(1)
}

// Guarded is the number of bytes from the start of a file in which damage is
// told apart from a torn tail for certain: see SyncMarks. It is what a simulated
// disk may damage without asking for the impossible. It works on a store that
// has failed or is closed, too.
func (s *Store) Guarded(path string) int64 {
	if path == quorumName {
		return s.guardedJournal()
	}
	folder, name, ok := strings.Cut(path, "/")
	if !ok {
		return math.MaxInt64
	}
	base, isSegment := parseSegment(name, logSuffix)
	id, isLog := parseFolder(folder)
	if !isLog {
		return 0 // on its way in or out
	}
	if !isSegment {
		return math.MaxInt64
	}
	p, err := s.log(id)
	if err != nil {
		return 0
	}
	switch sure := s.marks.get(p.slot).sure; {
	case base < sure.segment:
		return math.MaxInt64
	case base == sure.segment:
		return sure.bytes
	}
	return 0
}

func (s *Store) guardedJournal() int64 {
	sure := s.marks.get(journalSlot).sure
	if sure.segment != record.Offset(s.journal.generation) {
		sure.bytes = 0
	}
	return max(sure.bytes, s.journal.proven)
}

// Cached is how many bytes the cache of the newest batches counts as used, and how many
// it holds. For observers.
func (s *Store) Cached() (counted, held int64) { return s.tail.account(s.sorted()) }

// Marked is how many of the marks are held for logs, and how many logs there are. For
// observers.
func (s *Store) Marked() (held, logs int) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	s.marks.mu.Lock()
	defer s.marks.mu.Unlock()
	return len(s.marks.slots) - 1 - len(s.marks.free), len(s.logs)
}

// InUse is how many files of logs count as in use, by which appends are flushed early so
// that not too many are, and how many are in use. For observers.
func (s *Store) InUse() (counted, used int) {
	logs := s.sorted()
	s.handles.mu.Lock()
	counted = s.handles.busy
	s.handles.mu.Unlock()
	for _, p := range logs {
		used += p.inUse()
	}
	return counted, used
}

// Shape is how a log lies on the disk.
type Shape struct {
	Segments int
	Last     int64 // bytes of the last one
	Damaged  bool  // the next append gives up what cannot be trusted
}

// Shape tells how a log lies on the disk; that of a log that is not there is empty. For
// observers.
func (s *Store) Shape(log record.PartitionID) Shape {
	p, err := s.log(log)
	if err != nil {
		return Shape{}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return Shape{len(p.segments), p.size, p.damage != nil}
}

// Free is the number of bytes that can still be written.
func (s *Store) Free() (int64, error) { return s.fs.Free() }

// Close ends the use of the folder. With clean set it first flushes all logs
// and leaves the mark of a clean shutdown, if there is room for that; else it
// leaves all as it is, as a crash would.
func (s *Store) Close(clean bool) error {
	if errors.Is(s.check(), ErrClosed) {
		return ErrClosed
	}
	var err error
	if clean {
		if err = s.check(); err == nil {
			err = s.judge("close", s.settle())
		}
	}
	closed := ErrClosed
	s.failure.Store(&closed)
	for _, p := range s.sorted() {
		p.letFilesGo()
	}
	s.handles.closeAll()
	_ = s.journal.close()
	_ = s.marks.file.Close()
	return errors.Join(err, s.lock.Close())
}

// settle makes all durable and says so.
func (s *Store) settle() error {
	for _, p := range s.sorted() {
		if err := p.flush(); err != nil {
			return err
		}
		if p.damage == nil && p.size > 0 {
			if err := p.saveIndex(p.last(), p.index); err != nil {
				return err
			}
		}
	}
	if err := s.marks.sync(); err != nil {
		return err
	}
	if err := s.journal.trim(); err != nil {
		return err
	}
	if err := writeClean(s.fs, s.disk); !errors.Is(err, ErrNoRoom) {
		return err
	}
	return nil // all is durable; without the mark the next start has more to read
}

// sorted lists the logs in the order of their ids.
func (s *Store) sorted() []*partition {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return slices.SortedFunc(maps.Values(s.logs), func(p, q *partition) int { return p.id.Compare(q.id) })
}

// letFilesGo closes what is open for writing, synced or not.
func (p *partition) letFilesGo() {
	if p.writing != nil {
		p.store.handles.release(p.writing)
		p.writing = nil
	}
	if p.epochsFile != nil {
		_ = p.epochsFile.Close()
		p.epochsFile = nil
	}
}
