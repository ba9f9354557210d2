package storage

import (
	"errors"
	"fmt"

	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/record"
	"github.com/tamarack-mq/tamarack/storage/vfs"
)

// append writes whole batches at the end. On ErrNoRoom nothing has changed. What
// is written keeps files open until it is flushed: when too many logs do that,
// they do not wait for it.
func (p *partition) append(a effect.Append) error {
	if err := p.makeReady(a); err != nil {
		return err
	}
	if err := p.put(a); err != nil {
		return err
	}
	if p.store.handles.crowded(0) {
		return p.flush()
	}
	return nil
}

func (p *partition) put(a effect.Append) error {
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
	return p.size > 0 && p.size+int64(len(a.Batches)) > p.segmentBytes.Load()
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
	t, created, err := openTwins(p.store.fs, p.dir)
	if err != nil {
		return nil, err
	}
	if p.epochsSize == 0 { // what a crash has left in them is no frame
		p.newNames = true
		if err := t.Truncate(0); err != nil {
			return nil, errors.Join(err, t.Close())
		}
	}
	p.newNames = p.newNames || created
	return t, nil
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
