package storage

import (
	"errors"
	"fmt"
	"sync"

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

	mu           sync.Mutex
	segmentBytes int64
	start        record.Offset
	end          record.Offset
	flushed      record.Offset // all below is durable
	checkpoint   record.Offset // where the one on disk was taken; noMark
	segments     []*segment
	size         int64  // of the last segment, in bytes
	index        *index // of the last segment
	epochs       epochTable
	epochsSize   int64 // of the frames in their file, in bytes
	hints        [4]hint
	nextHint     int
	cuts         int // rises when what can be read shrinks or goes

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

// names folds the names of all segments.
func (p *partition) names() (sum uint32) {
	for _, s := range p.segments {
		sum = foldNames(sum, s.base)
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
			return errors.Join(err, s.fs.Remove(p.dir))
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
	return &partition{
		store: s, id: id, dir: folderOf(id), slot: slot,
		segmentBytes: int64(segmentBytes), checkpoint: noMark,
	}
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
	p.size = 0
	p.index = newIndex(base, p.indexInterval())
	p.newNames = true
	return nil
}

// indexInterval is such that no index grows beyond a thousand entries.
func (p *partition) indexInterval() int64 {
	return max(int64(p.store.opts.IndexInterval), p.segmentBytes/1024)
}

// append writes whole batches at the end. On ErrNoRoom nothing has changed.
func (p *partition) append(a effect.Append) error {
	if err := p.makeReady(a); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	begun, err := p.examine(a)
	if err != nil {
		return err
	}
	if p.mustRoll(a) {
		if err := p.roll(); err != nil {
			return err
		}
	}
	before := p.epochs
	if begun {
		if err := p.beginEpochs(a.Batches); err != nil {
			return err
		}
	}
	if err := p.write(a.Batches); err != nil {
		if begun && errors.Is(err, ErrNoRoom) {
			p.epochsSize -= int64(len(p.epochs.list)-len(before.list)) * epochFrame
			p.epochs = before
			return errors.Join(err, undone(p.epochsFile.Truncate(p.epochsSize)))
		}
		return err
	}
	for it := record.Batches(a.Batches); it.Next(); {
		p.index.add(&it.Header)
	}
	p.size += int64(len(a.Batches))
	p.end = a.End
	p.store.tail.add(&p.tail, a.Base, a.End, a.Batches)
	return nil
}

// undone names the failure to undo what there was no room for.
func undone(err error) error {
	if err != nil {
		return fmt.Errorf("%w: what there was no room for could not be undone: %w", errUndo, err)
	}
	return nil
}

// makeReady mends a damaged log, and flushes all if the append begins a
// segment: a segment that has a successor is whole and durable.
func (p *partition) makeReady(a effect.Append) error {
	p.mu.Lock()
	if a.Base != p.end {
		p.mu.Unlock()
		return misuse("log %v ends at %d, an append begins at %d", p.id, p.end, a.Base)
	}
	if err := p.mend(); err != nil {
		p.mu.Unlock()
		return err
	}
	roll := p.mustRoll(a)
	p.mu.Unlock()
	if !roll {
		return nil
	}
	return p.flush()
}

func (p *partition) mustRoll(a effect.Append) bool {
	return p.size > 0 && p.size+int64(len(a.Batches)) > p.segmentBytes
}

// examine holds the batches of an append against what it says of them, and
// tells whether they begin an epoch.
func (p *partition) examine(a effect.Append) (begun bool, err error) {
	at, epoch := a.Base, p.epochs.last()
	it := record.Batches(a.Batches)
	for it.Next() {
		h := &it.Header
		if h.BaseOffset != at || h.LastOffsetDelta < 0 || h.LeaderEpoch < epoch {
			return false, misuse("log %v: a batch of offset %d and epoch %d is to be written at offset %d in epoch %d",
				p.id, h.BaseOffset, h.LeaderEpoch, at, epoch)
		}
		begun = begun || h.LeaderEpoch > epoch
		at, epoch = h.End(), h.LeaderEpoch
	}
	if it.Err() != nil || at != a.End || at == a.Base {
		return false, misuse("log %v: an append of [%d, %d) holds batches up to %d (%v)", p.id, a.Base, a.End, at, it.Err())
	}
	return begun, nil
}

// beginEpochs writes down the epochs that batches begin, before the batches.
func (p *partition) beginEpochs(batches []byte) error {
	if p.epochsFile == nil {
		f, err := p.openEpochs()
		if err != nil {
			return err
		}
		p.epochsFile = f
	}
	table, b := p.epochs, []byte(nil)
	for it := record.Batches(batches); it.Next(); {
		if it.Header.LeaderEpoch > table.last() {
			e := epochStart{it.Header.LeaderEpoch, it.Header.BaseOffset}
			table.add(e)
			b = e.appendTo(b)
		}
	}
	if err := writeFull(p.epochsFile, b, p.epochsSize); err != nil {
		if errors.Is(err, ErrNoRoom) {
			return errors.Join(err, undone(p.epochsFile.Truncate(p.epochsSize)))
		}
		return err
	}
	p.epochs = table
	p.epochsSize += int64(len(b))
	return nil
}

func (p *partition) openEpochs() (vfs.File, error) {
	if p.epochsSize > 0 {
		return p.store.fs.Open(join(p.dir, epochsName))
	}
	p.newNames = true
	return p.store.fs.Create(join(p.dir, epochsName))
}

// write puts bytes behind the last batch.
func (p *partition) write(b []byte) error {
	if p.writing == nil {
		h, err := p.store.handles.take(p.last())
		if err != nil {
			return err
		}
		p.writing = h
	}
	err := writeFull(p.writing.file, b, p.size)
	if errors.Is(err, ErrNoRoom) {
		return errors.Join(err, undone(p.writing.file.Truncate(p.size)))
	}
	return err
}

// roll begins a segment behind the last, all of which is durable.
func (p *partition) roll() error {
	if p.writing != nil { // a write found no room, and nothing was flushed since
		p.store.handles.release(p.writing)
		p.writing = nil
	}
	old, closed := p.last(), p.index
	if err := p.addSegment(p.end); err != nil {
		return err
	}
	return p.saveIndex(old, closed)
}

// saveIndex writes the index of a segment. That it may get lost does no harm,
// and so it is left out when there is no room.
func (p *partition) saveIndex(s *segment, x *index) error {
	path := indexPath(s)
	f, err := p.store.fs.Create(path)
	if err == nil {
		err = errors.Join(writeFull(f, x.encode(), 0), f.Close())
	}
	if errors.Is(err, ErrNoRoom) {
		return removeFile(p.store.fs, path)
	}
	return err
}

func indexPath(s *segment) string { return s.path[:len(s.path)-len(logSuffix)] + indexSuffix }

// unsynced is what has to be synced to make a log durable up to end.
type unsynced struct {
	end    record.Offset
	at     place
	names  uint32
	data   *handle
	epochs vfs.File
	folder bool
}

// takeUnsynced takes over what is not durable yet. p.mu is held.
func (p *partition) takeUnsynced() unsynced {
	u := unsynced{p.end, p.place(), p.names(), p.writing, p.epochsFile, p.newNames}
	p.writing, p.epochsFile, p.newNames = nil, nil, false
	return u
}

// sync makes durable what was taken over. The data come last: whoever finds
// them durable finds their epoch and their name.
func (p *partition) sync(u unsynced) error {
	if u.epochs != nil {
		if err := errors.Join(u.epochs.Sync(), u.epochs.Close()); err != nil {
			return err
		}
	}
	if u.folder {
		if err := p.store.fs.SyncDir(p.dir); err != nil {
			return err
		}
	}
	if u.data == nil {
		return nil
	}
	err := u.data.file.Sync()
	p.store.handles.release(u.data)
	return err
}

// flush makes durable all that was appended before.
func (p *partition) flush() error {
	p.flushing.Lock()
	defer p.flushing.Unlock()
	p.mu.Lock()
	if p.flushed == p.end && !p.unborn {
		p.mu.Unlock()
		return nil
	}
	u := p.takeUnsynced()
	p.mu.Unlock()
	if err := p.sync(u); err != nil {
		return err
	}
	if err := p.mark(u); err != nil {
		return err
	}
	p.mu.Lock()
	p.flushed = u.end
	p.unborn = false
	p.mu.Unlock()
	return nil
}

// mark notes what a flush has made durable. The first flush of a log makes the
// name of its folder durable, and its slot: from then on it is known that the
// log must be there.
func (p *partition) mark(u unsynced) error {
	if !p.unborn {
		since, err := p.store.marks.raise(p.slot, u.end, u.at, u.names)
		if err == nil && since >= p.store.opts.MarksEvery {
			err = p.store.marks.sync()
		}
		return err
	}
	if err := p.store.fs.SyncDir(""); err != nil {
		return err
	}
	return p.store.marks.set(p.slot, func(s *slot) {
		s.mark = mark{
			live: true, id: p.id, segmentBytes: int32(p.segmentBytes),
			start: p.start, end: u.end, hw: p.start, names: u.names,
		}
		s.at = u.at
	})
}
