package storage

import (
	"errors"
	"io"
	"io/fs"

	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/record"
	"github.com/tamarack-mq/tamarack/storage/vfs"
)

// view is what a read needs to know of a log, taken while nothing changes.
// What it points to stays as it is, but for cuts: see partition.cuts.
type view struct {
	start  record.Offset
	seg    *segment
	handle *handle
	limit  int64         // bytes of the segment that may be read
	segEnd record.Offset // the segment holds nothing at or above
	closed bool          // it is not the last one
	index  index         // of the last segment
	hint   int64         // where the batch that is looked for begins; -1: unknown
	epochs epochTable
	cuts   int
}

// view picks the segment that holds an offset, and opens it.
func (p *partition) view(off record.Offset) (v view, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	v = view{start: p.start, hint: -1, epochs: p.epochs, cuts: p.cuts}
	if off < p.start || off >= p.end {
		return v, ErrOutOfRange
	}
	k := p.segmentOf(off)
	v.seg, v.limit, v.segEnd = p.segments[k], p.size, p.end
	if k < len(p.segments)-1 {
		v.limit, v.segEnd, v.closed = v.seg.size, p.segments[k+1].base, true
	} else {
		v.index = p.index.snapshot()
	}
	for _, h := range p.hints {
		if h.offset == off && h.at.segment == v.seg.base && h.at.bytes > 0 {
			v.hint = h.at.bytes
		}
	}
	v.handle, err = p.store.handles.take(v.seg)
	if errors.Is(err, fs.ErrNotExist) {
		err = p.damaged(&v, off, 0, "the file is missing")
	}
	return v, err
}

// remember notes where a read has ended.
func (p *partition) remember(v *view, off record.Offset, pos int64) {
	if pos >= v.limit {
		return // the next read begins in another segment, or finds it in memory
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cuts != v.cuts {
		return
	}
	p.hints[p.nextHint] = hint{off, place{v.seg.base, pos}}
	p.nextHint = (p.nextHint + 1) % len(p.hints)
}

// changed tells whether what the view shows may be gone.
func (p *partition) changed(v *view) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cuts != v.cuts
}

// read is Store.Read.
func (p *partition) read(sl effect.Slice) ([]byte, error) {
	if sl.From >= sl.To {
		return nil, nil
	}
	p.mu.Lock()
	start, end := p.start, p.end
	p.mu.Unlock()
	if sl.From < start || sl.From > end {
		return nil, ErrOutOfRange
	}
	if sl.From == end {
		return nil, nil
	}
	most := max(int(sl.MaxBytes), 0)
	to := min(sl.To, end)
	if b, ok := p.store.tail.read(&p.tail, sl.From, to, most); ok {
		return b, nil
	}
	v, err := p.view(sl.From)
	if err != nil {
		return nil, err
	}
	defer p.store.handles.release(v.handle)
	b, err := p.readFrom(&v, sl.From, min(to, v.segEnd), most)
	if err == nil {
		return b, nil
	}
	var damage *DamageError
	if errors.As(err, &damage) && p.changed(&v) {
		return nil, ErrOutOfRange // it was cut away meanwhile
	}
	return nil, err
}

// readFrom reads where a hint or the index leads, and if that turns out wrong,
// from the beginning of the segment: neither is more than a guess.
func (p *partition) readFrom(v *view, from, to record.Offset, most int) ([]byte, error) {
	at := indexEntry{offset: from, pos: v.hint}
	if v.hint < 0 {
		x := v.index
		if v.closed {
			loaded, err := p.load(v.handle, v.segEnd)
			if err != nil {
				return nil, err
			}
			x = *loaded
		}
		var ok bool
		if at, ok = x.find(from); !ok {
			at = indexEntry{offset: v.seg.base}
		}
	}
	b, err := p.readAt(v, at, from, to, most)
	var damage *DamageError
	if at.pos > 0 && errors.As(err, &damage) {
		first := indexEntry{offset: v.seg.base}
		if again, err2 := p.readAt(v, first, from, to, most); err2 == nil {
			p.distrust(v)
			return again, nil
		}
	}
	return b, err
}

// distrust gives up the index of a segment that is complete. The next reader
// makes it anew.
func (p *partition) distrust(v *view) {
	if !v.closed {
		return
	}
	v.handle.indexing.Lock()
	defer v.handle.indexing.Unlock()
	v.handle.index = nil
	_ = removeFile(p.store.fs, indexPath(v.seg))
}

// readAt reads from the batch that an index entry names. The usual read is one
// call of the disk, into the memory that is handed out.
func (p *partition) readAt(v *view, at indexEntry, from, to record.Offset, most int) ([]byte, error) {
	pos, next := at.pos, at.offset
	want := int64(max(most, record.HeaderSize))
	if next < from {
		want += p.indexInterval() // what lies before is read as well
	}
	for {
		buf := make([]byte, min(want, v.limit-pos))
		if err := readFull(v.handle.file, buf, pos); err != nil {
			if errors.Is(err, io.ErrUnexpectedEOF) {
				return nil, p.damaged(v, next, pos, "the file ends before its time")
			}
			if errors.Is(err, vfs.ErrUnreadable) {
				return nil, p.damaged(v, next, pos, err.Error())
			}
			return nil, err
		}
		got, err := p.pick(v, buf, pos, next, from, to, most)
		if err != nil || got.batches != nil || got.need == 0 {
			return got.batches, err
		}
		if got.pos+got.need > v.limit { // also when the length of a batch before it is damaged: nobody has checked those
			return nil, p.damaged(v, got.next, got.pos, "the file ends inside a batch")
		}
		pos, next, want = got.pos, got.next, max(want, got.need)
	}
}

// picked is what pick found in the bytes it was given.
type picked struct {
	batches []byte
	// Without batches: where to go on, and how many bytes are needed from there
	// at least; 0 when nothing is wanted.
	next record.Offset
	pos  int64
	need int64
}

// pick finds the batches that are wanted in buf, which begins at pos with the
// batch of offset next, and checks them.
func (p *partition) pick(v *view, buf []byte, pos int64, next, from, to record.Offset, most int) (picked, error) {
	first, end := -1, 0
	at := 0
	for {
		rest := buf[at:]
		if len(rest) < record.HeaderSize {
			if first < 0 {
				if pos+int64(at) >= v.limit {
					return picked{}, p.damaged(v, next, pos+int64(at), "the file ends before its time")
				}
				return picked{next: next, pos: pos + int64(at), need: record.HeaderSize}, nil
			}
			break
		}
		h, err := record.DecodeHeader(rest)
		if err != nil || h.BaseOffset != next || h.LastOffsetDelta < 0 {
			if first >= 0 {
				break // what comes before is whole; the next read meets this one
			}
			return picked{}, p.damaged(v, next, pos+int64(at), "no batch of that offset is there")
		}
		if h.End() > from {
			size := h.Size()
			if first >= 0 && (h.End() > to || at+size-first > most) {
				break
			}
			if size > len(rest) {
				if first < 0 {
					return picked{next: next, pos: pos + int64(at), need: int64(size)}, nil
				}
				break
			}
			if wrong := wrongWith(&h, rest[:size], next, v.epochs); wrong != "" {
				if first >= 0 {
					break
				}
				return picked{}, p.damaged(v, next, pos+int64(at), wrong)
			}
			if h.End() > to {
				break // it is sound, and reaches beyond what is wanted
			}
			if first < 0 {
				first = at
			}
			end = at + size
		}
		at += h.Size()
		next = h.End()
		if at > len(buf) {
			if first >= 0 {
				break
			}
			return picked{next: next, pos: pos + int64(at), need: record.HeaderSize}, nil
		}
	}
	if first < 0 {
		return picked{}, nil
	}
	p.remember(v, next, pos+int64(end))
	return picked{batches: buf[first:end:end]}, nil
}

func (p *partition) damaged(v *view, off record.Offset, pos int64, reason string) error {
	return &DamageError{Log: p.id, Offset: off, Path: v.seg.path, Position: pos, Reason: reason}
}

// load returns the index of a segment that is complete and ends at an offset:
// from memory, from its file, or made anew.
func (p *partition) load(h *handle, end record.Offset) (*index, error) {
	h.indexing.Lock()
	defer h.indexing.Unlock()
	x := p.saved(h, end)
	if x == nil {
		var err error
		if x, err = p.rebuild(h, h.of.size, end); err != nil {
			return nil, err
		}
		_ = p.saveIndex(h.of, x)
	}
	h.index = x
	return x, nil
}

// saved is the index of such a segment when it need not be made: from memory or from
// its file, else nil. The file is an aid. One that cannot be read, or not be written on
// a full disk, says nothing about the records, and must not have them taken for damaged.
// h.indexing is held.
func (p *partition) saved(h *handle, end record.Offset) *index {
	if h.index != nil {
		return h.index
	}
	b, err := readFile(p.store.fs, indexPath(h.of))
	if err != nil {
		return nil
	}
	x := decodeIndex(b, h.of.base, p.indexInterval())
	if x == nil || x.size != h.of.size || x.end != end {
		return nil
	}
	return x
}

// rebuild makes the index of the first size bytes of a segment, which end at an offset.
func (p *partition) rebuild(h *handle, size int64, end record.Offset) (*index, error) {
	x := newIndex(h.of.base, p.indexInterval())
	scan := newScanner(h.file, 0, size)
	defer scan.close()
	for {
		head, _, pos, err := scan.next()
		switch {
		case errors.Is(err, io.EOF) && x.end == end:
			return x, nil
		case errors.Is(err, io.EOF), errors.Is(err, errNoBatch), err == nil && head.BaseOffset != x.end:
			return nil, &DamageError{p.id, x.end, h.of.path, pos, "no batch of that offset is there"}
		case err != nil:
			return nil, err
		}
		x.add(&head)
	}
}
