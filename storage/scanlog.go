package storage

import (
	"errors"
	"fmt"
	"io"

	"github.com/tamarack-mq/tamarack/core/record"
)

// scan walks over the log, and gathers the headers of the batches that end
// above from. What lies below it is looked at only when all is wanted.
func (r *recovery) scan(from record.Offset, all bool) error {
	p := r.p
	k := 0
	if !all {
		k = p.segmentOf(from)
	}
	p.end = p.segments[k].base
	r.indexed = -1
	for i := k; i < len(p.segments); i++ {
		seg := p.segments[i]
		if seg.base != p.end {
			return r.report(p.end, i-1, p.segments[i-1].size, fmt.Sprintf("the next segment begins at %d", seg.base))
		}
		at := int64(0)
		p.index = newIndex(seg.base, p.indexInterval())
		if i == k && !all {
			var err error
			if at, err = r.skip(seg, from); err != nil {
				return err
			}
		}
		good, reason, err := r.scanSegment(seg, at, from)
		if err != nil {
			return err
		}
		if reason == "" {
			continue
		}
		if i < len(p.segments)-1 || p.end < r.floor || r.was.suspect {
			return r.report(p.end, i, good, reason)
		}
		return r.cutTail(seg, good) // torn
	}
	p.size = p.last().size
	return nil
}

// skip finds, by the index file, where the scan may begin in its first
// segment.
func (r *recovery) skip(seg *segment, from record.Offset) (int64, error) {
	p := r.p
	b, err := readFile(p.store.fs, indexPath(seg))
	if err != nil {
		return 0, err
	}
	x := decodeIndex(b, seg.base, p.indexInterval())
	if x == nil {
		return 0, nil
	}
	if seg == p.last() {
		r.indexed = x.size
	}
	e, ok := x.find(from)
	if !ok || e.pos == 0 || e.pos >= seg.size {
		return 0, nil
	}
	h, err := p.store.handles.take(seg)
	if err != nil {
		return 0, err
	}
	defer p.store.handles.release(h)
	scan := newScanner(h.file, e.pos, seg.size)
	defer scan.close()
	head, batch, _, err := scan.next()
	if errors.Is(err, io.EOF) || errors.Is(err, errNoBatch) || err == nil && wrongWith(&head, batch, e.offset, p.epochs) != "" {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	x.cut(e.offset, e.pos)
	x.latest = e.before
	p.index, p.end = x, e.offset
	return e.pos, nil
}

// scanSegment checks the batches from a position on and gathers their headers.
// reason says why no valid batch begins where good ends; "" is the regular end.
func (r *recovery) scanSegment(seg *segment, at int64, from record.Offset) (good int64, reason string, err error) {
	p := r.p
	h, err := p.store.handles.take(seg)
	if err != nil {
		return 0, "", err
	}
	defer p.store.handles.release(h)
	r.atFloor = at
	scan := newScanner(h.file, at, seg.size)
	defer scan.close()
	for {
		head, batch, pos, err := scan.next()
		switch {
		case errors.Is(err, io.EOF):
			return pos, "", nil
		case errors.Is(err, errNoBatch):
			return pos, "no whole batch is there", nil
		case err != nil:
			return pos, "", err
		}
		if wrong := wrongWith(&head, batch, p.end, p.epochs); wrong != "" {
			return pos, wrong, nil
		}
		if head.LeaderEpoch > p.epochs.last() { // only a table that is open lets it pass
			p.epochs.add(epochStart{head.LeaderEpoch, head.BaseOffset})
		}
		p.index.add(&head)
		p.end = head.End()
		if p.end > from {
			r.log.Headers = append(r.log.Headers, head)
		}
		if p.end <= r.floor {
			r.atFloor = scan.pos
		}
	}
}

// cutTail removes the torn end of the last segment.
func (r *recovery) cutTail(seg *segment, good int64) error {
	h, err := r.p.store.handles.take(seg)
	if err != nil {
		return err
	}
	defer r.p.store.handles.release(h)
	if err := h.file.Truncate(good); err != nil {
		return err
	}
	r.p.size, seg.size = good, good
	return h.file.Sync()
}
