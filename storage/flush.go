package storage

import (
	"errors"

	"github.com/tamarack-mq/tamarack/core/record"
	"github.com/tamarack-mq/tamarack/storage/vfs"
)

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
	u := unsynced{p.end, p.place(), p.names, p.writing, p.epochsFile, p.newNames}
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
			live: true, id: p.id, segmentBytes: int32(p.segmentBytes.Load()),
			start: p.start, end: u.end, hw: p.start, names: u.names,
		}
		s.at = u.at
	})
}
