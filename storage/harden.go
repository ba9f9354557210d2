package storage

import "errors"

// preserve makes durable what is there of a damaged log, so that the next start
// finds the same.
func (r *recovery) preserve() error {
	p := r.p
	if r.gone {
		return r.remake()
	}
	if r.clean {
		return nil
	}
	if len(p.segments) > 0 {
		if err := r.rewriteTail(); err != nil {
			return err
		}
	}
	if !p.epochs.open && len(p.epochs.list) > 0 {
		if err := p.rewriteEpochs(); err != nil {
			return err
		}
	}
	for _, seg := range p.beyond {
		h, err := p.store.handles.take(seg)
		if err == nil {
			err = h.file.Sync()
			p.store.handles.release(h)
		}
		if err != nil {
			return err
		}
	}
	return p.store.fs.SyncDir(p.dir)
}

// remake makes the folder of a log again that is missing: else nothing but its mark
// tells that there was one, and could be lost as well before the core has said so.
func (r *recovery) remake() error {
	d := r.p.store.fs
	err := d.Mkdir(r.p.dir)
	if err == nil {
		err = d.SyncDir("")
	}
	if errors.Is(err, ErrNoRoom) {
		return nil // there is the mark
	}
	return err
}

// harden makes durable what was found above the floor. It is written again
// first: after a sync that failed, the page cache holds bytes that the disk
// does not have and that the system takes for clean.
func (r *recovery) harden() error {
	p, d := r.p, r.p.store.fs
	if err := r.hardenEpochs(); err != nil || r.clean {
		return err
	}
	if r.indexed < 0 || r.indexed > p.size { // it may tell of batches that are gone
		if err := removeFile(d, indexPath(p.last())); err != nil {
			return err
		}
	}
	if err := r.rewriteTail(); err != nil {
		return err
	}
	return d.SyncDir(p.dir)
}

func (r *recovery) rewriteTail() error {
	p := r.p
	h, err := p.store.handles.take(p.last())
	if err != nil {
		return err
	}
	defer p.store.handles.release(h)
	for at := r.atFloor; at < p.size; {
		b := make([]byte, min(scanChunk, p.size-at))
		if err := readFull(h.file, b, at); err != nil {
			return err
		}
		if err := writeFull(h.file, b, at); err != nil {
			return err
		}
		at += int64(len(b))
	}
	return h.file.Sync()
}

func (r *recovery) hardenEpochs() error {
	p := r.p
	beyond := p.epochs.cut(p.end)
	n := len(p.epochs.list)
	unsure := n > 0 && p.epochs.list[n-1].start >= r.floor
	if n == 0 && !beyond && p.epochsSize == 0 {
		p.epochs.open = false
		return nil
	}
	if beyond || r.apart || p.epochs.open || !r.clean && unsure {
		return p.rewriteEpochs()
	}
	return nil
}
