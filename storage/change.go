package storage

import (
	"encoding/binary"
	"errors"
	"io"
	"io/fs"

	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/record"
)

// truncate removes all records at and above to, durably.
//
// The order makes every crash look like "done" or "not done": first the claims
// go that more was durable (a crash then finds more than is claimed, which is
// fine), then the segments, from the last one down and each durably, so that
// what is left has no gap.
func (p *partition) truncate(to record.Offset) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cut(to)
}

func (p *partition) cut(to record.Offset) error {
	if to < p.start || to > p.end {
		return misuse("log %v holds [%d, %d) and is to be truncated to %d", p.id, p.start, p.end, to)
	}
	if to == p.end && p.damage == nil {
		return nil
	}
	if len(p.segments) == 0 {
		return p.startAnew(to)
	}
	k := p.segmentOf(to)
	pos, err := p.positionOf(k, to)
	if err != nil {
		return err
	}
	p.cuts++
	p.store.tail.cut(&p.tail, to)
	if err := p.letGo(to); err != nil {
		return err
	}
	if err := p.lowerMark(k, to, pos); err != nil {
		return err
	}
	if err := p.cutSegments(k, to, pos); err != nil {
		return err
	}
	p.end = to
	p.hints = [4]hint{}
	if err := p.cutEpochs(to); err != nil {
		return err
	}
	p.damage = nil
	p.flushed = to // unless unborn, and then it is flushed in any case
	return nil
}

// letGo closes what is open for writing: it is cut and synced by other means.
// The checkpoint goes when it knows of records that will be gone.
func (p *partition) letGo(to record.Offset) error {
	if p.writing != nil {
		p.store.handles.release(p.writing)
		p.writing = nil
	}
	if p.epochsFile != nil {
		if err := errors.Join(p.epochsFile.Sync(), p.epochsFile.Close()); err != nil {
			return err
		}
		p.epochsFile = nil
	}
	if p.checkpoint <= to {
		return nil
	}
	if err := removeFile(p.store.fs, join(p.dir, checkpointName)); err != nil {
		return err
	}
	p.checkpoint = noMark
	return p.store.fs.SyncDir(p.dir)
}

// lowerMark takes back the claim that something above to is durable.
func (p *partition) lowerMark(k int, to record.Offset, pos int64) error {
	m := p.store.marks.get(p.slot)
	if p.unborn || !m.suspect && m.end <= to && m.hw <= to {
		return nil
	}
	sum := uint32(0)
	for _, s := range p.segments[:k+1] {
		sum = foldNames(sum, s.base)
	}
	return p.store.marks.set(p.slot, func(s *slot) {
		s.end, s.hw = min(s.end, to), min(s.hw, to)
		s.names = sum
		s.suspect = false
		if s.end == to {
			s.at = place{p.segments[k].base, pos}
		}
	})
}

// cutSegments removes the segments behind number k, and of that one what is
// behind pos.
func (p *partition) cutSegments(k int, to record.Offset, pos int64) error {
	x, err := p.indexOf(k)
	if err != nil {
		return err
	}
	all := append(p.segments[:len(p.segments):len(p.segments)], p.beyond...)
	for n := len(all) - 1; n > k; n-- {
		if err := p.store.removeSegment(all[n]); err != nil {
			return err
		}
		if err := p.store.fs.SyncDir(p.dir); err != nil {
			return err
		}
	}
	p.segments, p.beyond = all[:k+1:k+1], nil
	seg := p.last()
	if err := removeFile(p.store.fs, indexPath(seg)); err != nil {
		return err
	}
	h, err := p.store.handles.take(seg)
	if err != nil {
		return err
	}
	defer p.store.handles.release(h)
	if err := h.file.Truncate(pos); err != nil {
		return err
	}
	if err := h.file.Sync(); err != nil {
		return err
	}
	h.indexing.Lock()
	h.index = nil
	h.indexing.Unlock()
	x.cut(to, pos)
	p.index, p.size, p.newNames = x, pos, false
	return p.store.fs.SyncDir(p.dir)
}

// indexOf returns an index of segment number k that may be changed.
func (p *partition) indexOf(k int) (*index, error) {
	if k == len(p.segments)-1 {
		return p.index, nil
	}
	h, err := p.store.handles.take(p.segments[k])
	if err != nil {
		return nil, err
	}
	defer p.store.handles.release(h)
	x, err := p.load(h, p.segments[k+1].base)
	if err != nil {
		return nil, err
	}
	own := x.snapshot()
	return &own, nil
}

func (s *Store) removeSegment(seg *segment) error {
	s.handles.drop(seg)
	if err := removeFile(s.fs, indexPath(seg)); err != nil {
		return err
	}
	return removeFile(s.fs, seg.path)
}

// cutEpochs forgets the epochs that begin at or above to, durably.
func (p *partition) cutEpochs(to record.Offset) error {
	had := len(p.epochs.list)
	if !p.epochs.cut(to) && !p.epochs.open {
		return nil
	}
	p.epochsSize -= int64(had-len(p.epochs.list)) * epochFrame
	return p.rewriteEpochs()
}

// rewriteEpochs writes the file of epochs again, in place: a full disk must not
// keep a log from being truncated. A crash in between leaves frames that are
// not intact, and then the batches tell.
func (p *partition) rewriteEpochs() error {
	path := join(p.dir, epochsName)
	f, err := p.store.fs.Open(path)
	created := errors.Is(err, fs.ErrNotExist)
	if created {
		f, err = p.store.fs.Create(path)
	}
	if err != nil {
		return err
	}
	b := p.epochs.encode()
	if err = writeFull(f, b, 0); err == nil {
		err = f.Truncate(int64(len(b)))
	}
	if err == nil {
		err = f.Sync()
	}
	if err == nil && created {
		err = p.store.fs.SyncDir(p.dir)
	}
	p.epochsSize, p.epochs.open = int64(len(b)), false
	return errors.Join(err, f.Close())
}

// segmentOf is the number of the segment that holds an offset, or would.
func (p *partition) segmentOf(off record.Offset) int {
	k := len(p.segments) - 1
	for k > 0 && p.segments[k].base > off {
		k--
	}
	return k
}

// positionOf is where in a segment the batch with a base offset begins.
func (p *partition) positionOf(k int, off record.Offset) (int64, error) {
	s := p.segments[k]
	if off == s.base {
		return 0, nil
	}
	if off == p.end {
		return p.size, nil
	}
	h, err := p.store.handles.take(s)
	if err != nil {
		return 0, err
	}
	defer p.store.handles.release(h)
	limit := s.size
	if s == p.last() {
		limit = p.size
	}
	scan := newScanner(h.file, 0, limit)
	if e, ok := p.index.find(off); ok && s == p.last() {
		scan.pos = e.pos
	}
	for {
		head, _, pos, err := scan.next()
		switch {
		case err == nil && head.BaseOffset == off:
			return pos, nil
		case err == nil && head.End() <= off:
			if head.End() == off && scan.pos == limit {
				return limit, nil
			}
		case err == nil:
			return 0, misuse("log %v: offset %d lies inside a batch and cannot be a bound", p.id, off)
		case errors.Is(err, io.EOF) || errors.Is(err, errNoBatch):
			return 0, &DamageError{p.id, off, s.path, pos, "no batch begins at that offset"}
		default:
			return 0, err
		}
	}
}

// mend gives up what is behind the trusted end of a damaged log, so that it can
// be written to again.
func (p *partition) mend() error {
	if p.damage == nil {
		return nil
	}
	return p.cut(p.end)
}

// reset empties a log and starts it anew.
func (p *partition) reset(start record.Offset) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.startAnew(start)
}

// startAnew puts an empty log in place of this one. A crash finds one or the
// other: the new one is made in a folder of its own, and takes the place of the
// old in two renames, between which its name tells what to do.
func (p *partition) startAnew(start record.Offset) error {
	d := p.store.fs
	if err := p.makeEmpty(start); err != nil {
		return err
	}
	if err := d.SyncDir(""); err != nil {
		return err
	}
	p.cuts++
	p.store.tail.cut(&p.tail, 0)
	if err := p.letGo(p.end); err != nil {
		return err
	}
	for _, s := range p.segments {
		p.store.handles.drop(s)
	}
	if !p.unborn {
		// From here on nothing is certain about the old log. The lower start fits
		// both.
		err := p.store.marks.set(p.slot, func(s *slot) {
			s.start, s.hw = min(s.start, start), min(s.hw, start)
			s.end, s.names, s.at = noMark, 0, place{}
		})
		if err != nil {
			return err
		}
	}
	if err := d.Rename(p.dir, p.dir+deletedSuffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := d.SyncDir(""); err != nil {
		return err
	}
	if err := d.Rename(p.dir+newSuffix, p.dir); err != nil {
		return err
	}
	if err := d.SyncDir(""); err != nil {
		return err
	}
	p.becomeEmpty(start)
	err := p.store.marks.set(p.slot, func(s *slot) {
		s.mark = mark{
			live: true, id: p.id, segmentBytes: int32(p.segmentBytes),
			start: start, end: start, hw: start, names: p.names(),
		}
		s.at = p.place()
	})
	if err != nil {
		return err
	}
	return removeAll(d, p.dir+deletedSuffix)
}

// makeEmpty makes a folder with an empty log, durably, but for its own name.
func (p *partition) makeEmpty(start record.Offset) error {
	d, dir := p.store.fs, p.dir+newSuffix
	if err := d.Mkdir(dir); err != nil {
		return err
	}
	f, err := d.Create(segmentPath(dir, start))
	if err == nil {
		err = errors.Join(f.Sync(), f.Close())
	}
	if errors.Is(err, ErrNoRoom) {
		return errors.Join(err, removeAll(d, dir))
	}
	if err != nil {
		return err
	}
	return d.SyncDir(dir)
}

func (p *partition) becomeEmpty(start record.Offset) {
	p.segments = []*segment{{base: start, path: segmentPath(p.dir, start)}}
	p.size, p.index = 0, newIndex(start, p.indexInterval())
	p.start, p.end, p.flushed = start, start, start
	p.checkpoint = noMark
	p.epochs, p.epochsSize = epochTable{}, 0
	p.hints = [4]hint{}
	p.newNames, p.unborn = false, false
	p.damage, p.beyond = nil, nil
}

// trim moves the log start up, durably, and removes the segments that are
// wholly below it. The last segment stays in any case.
func (p *partition) trim(start record.Offset) error {
	p.mu.Lock()
	behind := p.unborn || start > p.flushed
	end, old := p.end, p.start
	p.mu.Unlock()
	if start <= old {
		return nil
	}
	if start > end {
		return misuse("log %v ends at %d and cannot start at %d", p.id, end, start)
	}
	if behind { // the start must not be durable before the records below it are
		if err := p.flush(); err != nil {
			return err
		}
	}
	p.flushing.Lock() // a flush may have names in hand
	defer p.flushing.Unlock()
	p.mu.Lock()
	defer p.mu.Unlock()
	dead := 0
	if p.damage == nil { // else what is there is left as it is
		dead = p.segmentOf(start)
	}
	if dead > 0 && p.newNames { // what stays must outlive what goes
		if err := p.store.fs.SyncDir(p.dir); err != nil {
			return err
		}
		p.newNames = false
	}
	gone := p.segments[:dead]
	p.segments = p.segments[dead:]
	err := p.store.marks.set(p.slot, func(s *slot) {
		s.start, s.hw = start, max(s.hw, start)
		if p.damage == nil {
			s.names = p.names()
		}
	})
	if err != nil {
		return err
	}
	p.start = start
	p.cuts++
	for _, s := range gone {
		if err := p.store.removeSegment(s); err != nil {
			return err
		}
	}
	return nil
}

// remove deletes the log and all it holds.
func (s *Store) remove(id record.PartitionID) error {
	p, err := s.log(id)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cuts++
	s.tail.cut(&p.tail, 0)
	if err := p.letGo(p.end); err != nil {
		return err
	}
	for _, seg := range p.segments {
		s.handles.drop(seg)
	}
	if !p.unborn { // a folder that is missing is no damage from here on
		if err := s.marks.set(p.slot, func(s *slot) { s.leaving = true }); err != nil {
			return err
		}
	}
	if err := s.fs.Rename(p.dir, p.dir+deletedSuffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := s.fs.SyncDir(""); err != nil {
		return err
	}
	if !p.unborn { // nor may it speak for a log that is made under the same name
		if err := s.marks.set(p.slot, func(s *slot) { s.mark, s.at = mark{}, place{} }); err != nil {
			return err
		}
	}
	s.mu.Lock()
	delete(s.logs, id)
	s.mu.Unlock()
	s.marks.release(p.slot)
	return removeAll(s.fs, p.dir+deletedSuffix)
}

const checkpointKind = "TMCK"

// saveCheckpoint stores the core's derived state, durably. What it was derived
// from is made durable first: no mark may be ahead of the data.
func (p *partition) saveCheckpoint(e effect.Checkpoint) error {
	p.mu.Lock()
	behind := e.At > p.flushed || p.unborn
	start, end, damaged := p.start, p.end, p.damage != nil
	p.mu.Unlock()
	if e.At > end || e.At < start {
		return misuse("log %v holds [%d, %d), a checkpoint is of %d", p.id, start, end, e.At)
	}
	if damaged {
		return nil // it would hide what is missing
	}
	if behind {
		if err := p.flush(); err != nil {
			return err
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := replaceFile(p.store.fs, p.dir, checkpointName, encodeCheckpoint(e)); err != nil {
		return err
	}
	p.checkpoint = e.At
	if err := p.store.marks.raiseHW(p.slot, e.HighWatermark); err != nil {
		return err
	}
	return p.saveIndex(p.last(), p.index)
}

func encodeCheckpoint(e effect.Checkpoint) []byte {
	b := make([]byte, 0, 16+len(e.State))
	b = binary.BigEndian.AppendUint64(b, uint64(e.At))
	b = binary.BigEndian.AppendUint64(b, uint64(e.HighWatermark))
	return seal(checkpointKind, append(b, e.State...))
}

func decodeCheckpoint(b []byte) (at, hw record.Offset, state []byte, ok bool) {
	p, ok := unseal(checkpointKind, b)
	if !ok || len(p) < 16 {
		return 0, 0, nil, false
	}
	at, hw = record.Offset(binary.BigEndian.Uint64(p)), record.Offset(binary.BigEndian.Uint64(p[8:]))
	return at, hw, p[16:], at >= 0 && hw >= 0
}
