package storage

import (
	"errors"
	"io/fs"

	"github.com/tamarack-mq/tamarack/core/record"
)

// reset empties a log and starts it anew.
func (p *partition) reset(start record.Offset) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.startAnew(start, false)
}

// startAnew puts an empty log in place of this one. A crash finds one or the
// other: the new one is made in a folder of its own, and takes the place of the
// old in two renames, between which its name tells what to do. From the time on at
// which the mark says so, and nothing of the old log any more, the next start puts the
// new one in its place: what was wrong with the old one could not be told any more. Of a
// log whose mark was lost nothing is said either: until then the new one may not be whole.
//
// keep says that nothing is told again of the records that are gone: the
// checkpoint stays, or if it is lost, that there must be one.
func (p *partition) startAnew(start record.Offset, keep bool) error {
	d, checkpoint := p.store.fs, noMark
	if keep && p.checkpoint <= start {
		checkpoint = p.checkpoint
	}
	if err := p.makeEmpty(start, checkpoint != noMark); err != nil {
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
	p.dropAll()
	if !p.unborn {
		// From here on nothing is certain about the old log, and a crash finds the
		// new one. The lower start fits both.
		err := p.store.marks.set(p.slot, func(s *slot) {
			s.start, s.hw = min(s.start, start), min(s.hw, start)
			s.end, s.names, s.at, s.told, s.anew = noMark, 0, place{}, s.told && keep, true
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
	p.checkpoint = checkpoint
	err := p.store.marks.set(p.slot, func(s *slot) {
		s.mark = mark{
			live: true, id: p.id, segmentBytes: int32(p.segmentBytes.Load()),
			start: start, end: start, hw: start, names: p.names,
			told: keep && (s.told || start > 0 && checkpoint != noMark),
		}
		s.at = p.place()
	})
	if err != nil {
		return err
	}
	return removeAll(d, p.dir+deletedSuffix)
}

// dropAll closes the files of a log that goes, those behind a damage, too.
func (p *partition) dropAll() {
	for _, s := range p.segments {
		p.store.handles.drop(s)
	}
	for _, s := range p.beyond {
		p.store.handles.drop(s)
	}
}

// makeEmpty makes a folder with an empty log, and the checkpoint of this one if it
// is kept, durably, but for its own name.
func (p *partition) makeEmpty(start record.Offset, kept bool) error {
	d, dir := p.store.fs, p.dir+newSuffix
	if err := d.Mkdir(dir); err != nil {
		return err
	}
	f, err := d.Create(segmentPath(dir, start))
	if err == nil {
		err = errors.Join(f.Sync(), f.Close())
	}
	if err == nil && kept {
		err = p.copyCheckpoint(dir)
	}
	if errors.Is(err, ErrNoRoom) {
		return errors.Join(err, undone(removeAll(d, dir)))
	}
	if err != nil {
		return err
	}
	return d.SyncDir(dir)
}

func (p *partition) becomeEmpty(start record.Offset) {
	p.segments = []*segment{{base: start, path: segmentPath(p.dir, start)}}
	p.names = namesOf(p.segments)
	p.size, p.index = 0, newIndex(start, p.indexInterval())
	p.start, p.end, p.flushed = start, start, start
	p.checkpoint = noMark
	p.epochs, p.epochsSize = epochTable{}, 0
	p.hints = [4]hint{}
	p.newNames, p.unborn = false, false
	p.damage, p.beyond = nil, nil
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
	p.dropAll()
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
