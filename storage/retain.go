package storage

import (
	"github.com/tamarack-mq/tamarack/core/record"
)

func (s *Store) removeSegment(seg *segment) error {
	s.handles.drop(seg)
	if err := removeFile(s.fs, indexPath(seg)); err != nil {
		return err
	}
	return removeFile(s.fs, seg.path)
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
	p.names -= namesOf(gone)
	err := p.store.marks.set(p.slot, func(s *slot) {
		s.start, s.hw = start, max(s.hw, start)
		s.told = s.told || p.checkpoint != noMark
		if p.damage == nil {
			s.names = p.names
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
