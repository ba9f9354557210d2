package storage

import (
	"errors"
	"io"

	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/record"
)

// findTime is Store.FindTime. It goes from segment to segment, and in each only
// to where the index says that a late enough batch may be.
func (p *partition) findTime(f effect.FindTime) (bool, record.Offset, record.Timestamp, error) {
	p.mu.Lock()
	at, end := p.start, p.end
	p.mu.Unlock()
	for end = min(end, f.To); at < end; {
		v, err := p.view(at)
		if errors.Is(err, ErrOutOfRange) && at < v.start {
			at = v.start // it has moved on meanwhile
			continue
		}
		if err != nil {
			return false, 0, 0, err
		}
		off, ts, found, err := p.findIn(&v, at, f.At)
		p.store.handles.release(v.handle)
		var damage *DamageError
		if errors.As(err, &damage) && p.changed(&v) {
			return false, 0, 0, ErrOutOfRange
		}
		if err != nil {
			return false, 0, 0, err
		}
		if found {
			return off < end, off, ts, nil
		}
		at = v.segEnd
	}
	return false, 0, 0, nil
}

// findIn looks for the first record at or above an offset that is late enough.
func (p *partition) findIn(v *view, from record.Offset, at record.Timestamp) (record.Offset, record.Timestamp, bool, error) {
	x := &v.index
	if v.closed {
		loaded, err := p.load(v.handle, v.segEnd)
		if err != nil {
			return 0, 0, false, err
		}
		x = loaded
	}
	e, ok := x.findTime(at)
	if !ok || x.latest < at {
		return 0, 0, false, nil
	}
	scan := newScanner(v.handle.file, e.pos, v.limit)
	defer scan.close()
	for next := e.offset; ; {
		h, batch, pos, err := scan.next()
		if errors.Is(err, io.EOF) {
			return 0, 0, false, nil
		}
		if errors.Is(err, errNoBatch) {
			return 0, 0, false, p.damaged(v, next, pos, "no batch of that offset is there")
		}
		if err != nil {
			return 0, 0, false, err
		}
		if wrong := wrongWith(&h, batch, next, v.epochs); wrong != "" {
			return 0, 0, false, p.damaged(v, next, pos, wrong)
		}
		next = h.End()
		if next <= from {
			continue
		}
		if off, ts, ok := firstAt(&h, batch, at, from); ok {
			return off, ts, true, nil
		}
	}
}

// firstAt is record.FirstAt for a batch that the log start may lie in.
func firstAt(h *record.Header, batch []byte, at record.Timestamp, from record.Offset) (record.Offset, record.Timestamp, bool) {
	off, ts, ok := record.FirstAt(h, batch, at)
	if !ok || off >= from {
		return off, ts, ok
	}
	if h.Attributes.Codec() != record.NoCodec {
		return from, ts, true
	}
	for it := record.Records(h, record.Payload(batch)); it.Next(); {
		if it.Record.Offset >= from && it.Record.Timestamp >= at {
			return it.Record.Offset, it.Record.Timestamp, true
		}
	}
	return 0, 0, false
}
