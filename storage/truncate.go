package storage

import (
	"errors"
	"io"

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
		return p.startAnew(to, true)
	}
	k := p.segmentOf(to)
	pos, err := p.positionOf(k, to)
	if err != nil {
		return errors.Join(err, p.doubt(err))
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

// doubt makes the next start look at the whole log if err is damage: it may lie
// below the checkpoint, where recovery does not look by itself, and the same
// change would fail again after every start.
func (p *partition) doubt(err error) error {
	var damage *DamageError
	if p.unborn || !errors.As(err, &damage) {
		return nil
	}
	return p.store.marks.set(p.slot, func(s *slot) { s.suspect = true })
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

// lowerMark takes back the claim that something above to is durable. What recovery has
// found of a log of which nothing was known is durable since then, see preserve: from
// here on it is claimed.
func (p *partition) lowerMark(k int, to record.Offset, pos int64) error {
	m := p.store.marks.get(p.slot)
	if p.unborn || !m.suspect && m.end <= to && m.hw <= to {
		return nil
	}
	sum := namesOf(p.segments[:k+1])
	return p.store.marks.set(p.slot, func(s *slot) {
		if s.suspect {
			s.end, s.suspect = to, false
		}
		s.end, s.hw = min(s.end, to), min(s.hw, to)
		s.names = sum
		if s.end == to {
			s.at = place{p.segments[k].base, pos}
		}
	})
}

// cutSegments removes the segments behind number k, and of that one what is
// behind pos.
func (p *partition) cutSegments(k int, to record.Offset, pos int64) error {
	x, err := p.indexOf(k, to, pos)
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
	p.names = namesOf(p.segments)
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

// indexOf returns an index of segment number k that may be changed, and that holds all
// of it below an offset, which is at pos. One that has to be made holds no more than
// that, and is not written: its file would have to go again at once, and what lies
// behind the cut need not be sound.
func (p *partition) indexOf(k int, to record.Offset, pos int64) (*index, error) {
	if k == len(p.segments)-1 {
		return p.index, nil
	}
	h, err := p.store.handles.take(p.segments[k])
	if err != nil {
		return nil, err
	}
	defer p.store.handles.release(h)
	h.indexing.Lock()
	defer h.indexing.Unlock()
	if x := p.saved(h, p.segments[k+1].base); x != nil {
		own := x.snapshot()
		return &own, nil
	}
	return p.rebuild(h, pos, to)
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

// rewriteEpochs writes the file of epochs and its copy again, in place: a full disk
// must not keep a log from being truncated. A crash in between leaves frames that
// are not intact only where they were not before, or behind what is durable.
func (p *partition) rewriteEpochs() error {
	f, created, err := openTwins(p.store.fs, p.dir)
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
	defer scan.close()
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
