package storage

import (
	"errors"
	"sync"
	"sync/atomic"

	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/record"
	"github.com/tamarack-mq/tamarack/storage/vfs"
)

// partition is one log on disk.
//
// What always holds:
//   - the segments follow one another without a gap, and only the last is
//     written to;
//   - when a segment is begun, all before it is durable, names included; so a
//     segment that is not the last can only be short or wrong by damage;
//   - start <= flushed <= end.
type partition struct {
	store *Store
	id    record.PartitionID
	dir   string
	slot  int // in the file of marks
	tail  tailLog

	flushing sync.Mutex // one flush at a time; taken before mu

	segmentBytes atomic.Int64 // set with mu held, and seen by readers without

	mu         sync.Mutex
	start      record.Offset
	end        record.Offset
	flushed    record.Offset // all below is durable
	checkpoint record.Offset // where the one on disk was taken; noMark
	segments   []*segment
	names      uint32 // namesOf them
	size       int64  // of the last segment, in bytes
	index      *index // of the last segment
	epochs     epochTable
	epochsSize int64 // of the frames in their file, in bytes
	hints      [4]hint
	nextHint   int
	cuts       int // rises when what can be read shrinks or goes

	writing    *handle  // the last segment, while it holds what was not synced
	epochsFile vfs.File // open while it holds what was not synced
	newNames   bool     // a segment or the epochs have a name that was not synced
	unborn     bool     // never flushed: a crash may leave nothing of it

	// damage says why the log ends before what was durable. What is behind the
	// end is left as it is until the log is truncated, reset or written to: the
	// rest of the last segment, and the segments beyond. There may be no segment
	// that can be trusted.
	damage *DamageError
	beyond []*segment
}

// hint is a place where a read has ended: where the next is likely to begin.
type hint struct {
	offset record.Offset
	at     place
}

func (p *partition) last() *segment { return p.segments[len(p.segments)-1] }

// place is where the log ends.
func (p *partition) place() place { return place{p.last().base, p.size} }

// namesOf sums up the names of segments.
func namesOf(list []*segment) (sum uint32) {
	for _, s := range list {
		sum += nameHash(s.base)
	}
	return sum
}

// create makes an empty log. Nothing of it is durable before its first flush.
func (s *Store) create(e effect.CreateLog) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.logs[e.Log] != nil {
		return misuse("log %v exists already", e.Log)
	}
	n, err := s.marks.claim()
	if err != nil {
		return err
	}
	p := s.newPartition(e.Log, n, e.Config.SegmentBytes)
	if err := s.fs.Mkdir(p.dir); err != nil {
		s.marks.release(n)
		return err
	}
	if err := p.begin(e.Start); err != nil {
		if errors.Is(err, ErrNoRoom) {
			s.marks.release(n)
			return errors.Join(err, undone(s.fs.Remove(p.dir)))
		}
		return err
	}
	p.unborn = true
	s.logs[e.Log] = p
	return nil
}

func (s *Store) newPartition(id record.PartitionID, slot int, segmentBytes int32) *partition {
	if segmentBytes <= 0 {
		segmentBytes = s.opts.SegmentBytes
	}
	p := &partition{
		store: s, id: id, dir: folderOf(id), slot: slot, checkpoint: noMark,
	}
	p.segmentBytes.Store(int64(segmentBytes))
	return p
}

// begin gives a log without segments its first one.
func (p *partition) begin(start record.Offset) error {
	if err := p.addSegment(start); err != nil {
		return err
	}
	p.start, p.end, p.flushed = start, start, start
	return nil
}

// addSegment begins an empty segment behind the last.
func (p *partition) addSegment(base record.Offset) error {
	seg := &segment{base: base, path: segmentPath(p.dir, base)}
	f, err := p.store.fs.Create(seg.path)
	if err != nil {
		return err
	}
	p.store.handles.release(p.store.handles.adopt(seg, f))
	if len(p.segments) > 0 {
		p.last().size = p.size
	}
	p.segments = append(p.segments[:len(p.segments):len(p.segments)], seg)
	p.names += nameHash(base)
	p.size = 0
	p.index = newIndex(base, p.indexInterval())
	p.newNames = true
	return nil
}

// indexInterval is such that no index grows beyond a thousand entries.
func (p *partition) indexInterval() int64 {
	return max(int64(p.store.opts.IndexInterval), p.segmentBytes.Load()/1024)
}

// configure takes other settings. The segment being written is rolled by the new
// size; those before it stay as they are. It is not kept: after a start the log
// goes by the settings with which it was made, or emptied, and recovery says so.
func (p *partition) configure(c effect.LogConfig) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	size := c.SegmentBytes
	if size <= 0 {
		size = p.store.opts.SegmentBytes
	}
	p.segmentBytes.Store(int64(size))
	return nil
}
