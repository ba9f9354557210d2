package storage

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/record"
)

func sortLogs(logs []effect.RecoveredLog) {
	slices.SortFunc(logs, func(a, b effect.RecoveredLog) int { return a.ID.Compare(b.ID) })
}

// recovery finds out what of one log can be trusted.
//
// Bytes at which no valid batch begins are a torn tail only if nothing says
// that they were durable: they are in the last segment (a segment with a
// successor was synced before that was begun), and at or above floor. All else
// is damage, and is left as it is.
type recovery struct {
	p     *partition
	was   mark // suspect: what was durable is not known
	known bool // was comes from the file of marks
	clean bool
	floor record.Offset // all below was durable

	state   []byte // of the checkpoint
	indexed int64  // bytes of the last segment that its index file tells of; -1: unknown
	atFloor int64  // where in the last segment the floor is
	dead    []*segment
	log     effect.RecoveredLog
}

// recoverLog opens one log. Its partition is nil when there is nothing of it
// that was ever flushed.
func (s *Store) recoverLog(was mark, known, clean bool) (*recovery, error) {
	p := s.newPartition(was.id, 0, was.segmentBytes)
	r := &recovery{p: p, was: was, known: known, clean: clean, floor: was.end, log: effect.RecoveredLog{ID: was.id}}
	err := r.run()
	if errors.Is(err, errNeverWas) {
		r.p = nil
		err = removeAll(s.fs, p.dir)
	}
	return r, err
}

var errNeverWas = errors.New("nothing of the log was ever flushed")

func (r *recovery) run() error {
	if err := r.list(); err != nil {
		return err
	}
	p := r.p
	p.start = max(r.was.start, 0)
	if len(p.segments) == 0 {
		if !r.known {
			return errNeverWas
		}
		return r.report(p.start, 0, 0, "there is no segment")
	}
	if r.firstIsMissing(p.segments) {
		return r.report(p.start, 0, 0, fmt.Sprintf("the first segment begins at %d", p.segments[0].base))
	}
	p.start = max(p.start, p.segments[0].base)
	r.dropDead()
	if err := r.readCheckpoint(); err != nil {
		return err
	}
	if err := r.readEpochs(); err != nil {
		return err
	}
	all := p.segments
	if err := r.scan(max(p.start, p.checkpoint), r.inDoubt()); err != nil {
		return err
	}
	if p.damage != nil && p.checkpoint > p.end {
		// The checkpoint is of no use, so all headers are needed.
		p.segments, p.beyond, p.damage, r.log.Headers, r.log.Bytes = all, nil, nil, nil, 0
		if err := r.readEpochs(); err != nil {
			return err
		}
		if err := r.scan(p.start, true); err != nil {
			return err
		}
	}
	return r.finish()
}

// firstIsMissing tells whether records are missing at the start. Without a mark
// a start proves nothing: see startAnew.
func (r *recovery) firstIsMissing(all []*segment) bool {
	return r.known && r.was.end != noMark && r.was.start < all[0].base
}

func (r *recovery) readEpochs() error {
	b, err := readFile(r.p.store.fs, join(r.p.dir, epochsName))
	if err != nil {
		return err
	}
	r.p.epochs = decodeEpochs(b)
	r.p.epochsSize = int64(len(r.p.epochs.list)) * epochFrame
	return nil
}

// list finds the segments.
func (r *recovery) list() error {
	p := r.p
	list, err := p.store.fs.ReadDir(p.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range list {
		if base, ok := parseSegment(e.Name, logSuffix); ok && !e.Dir {
			p.segments = append(p.segments, &segment{base: base, size: e.Size, path: join(p.dir, e.Name)})
		} else if strings.HasSuffix(e.Name, tmpSuffix) {
			if err := p.store.fs.Remove(join(p.dir, e.Name)); err != nil {
				return err
			}
		}
	}
	return nil
}

// dropDead leaves out the segments that lie wholly below the log start: the
// crash came before they were all gone.
func (r *recovery) dropDead() {
	p := r.p
	for len(p.segments) > 1 && p.segments[1].base <= p.start {
		r.dead = append(r.dead, p.segments[0])
		p.segments = p.segments[1:]
	}
}

// readCheckpoint takes in the checkpoint. It was written after the records
// below it were durable.
func (r *recovery) readCheckpoint() error {
	b, err := readFile(r.p.store.fs, join(r.p.dir, checkpointName))
	if err != nil {
		return err
	}
	r.log.HighWatermark = r.was.hw
	at, hw, state, ok := decodeCheckpoint(b)
	if !ok {
		return nil
	}
	r.p.checkpoint, r.state = at, state
	r.floor = max(r.floor, at)
	r.log.HighWatermark = max(hw, r.was.hw)
	return nil
}

// inDoubt tells whether all segments must be looked at.
func (r *recovery) inDoubt() bool {
	if r.p.epochs.open {
		return true
	}
	if !r.known || r.was.end == noMark {
		return r.was.suspect
	}
	sum := uint32(0)
	for _, s := range r.p.segments {
		if s.base <= r.was.end {
			sum = foldNames(sum, s.base)
		}
	}
	return sum != r.was.names
}

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

// finish holds the end that was found against what was durable, and makes sure
// that what was found is.
func (r *recovery) finish() error {
	p := r.p
	if p.damage != nil {
		return nil // and reported
	}
	last := len(p.segments) - 1
	switch {
	case p.end < r.floor:
		return r.report(p.end, last, p.size, fmt.Sprintf("records up to %d were durable", r.floor))
	case p.end < p.start:
		return r.report(p.end, last, p.size, fmt.Sprintf("the log starts at %d", p.start))
	case r.was.suspect:
		return r.report(p.end, last, p.size, "what was durable is not known: the marks were lost")
	}
	p.flushed = p.end
	if err := r.harden(); err != nil {
		return err
	}
	r.tell("")
	return nil
}

// report sets a log aside that is damaged at an offset, in segment number k
// behind good bytes.
func (r *recovery) report(end record.Offset, k int, good int64, reason string) error {
	p := r.p
	path := p.dir
	if k < len(p.segments) {
		path = p.segments[k].path
	}
	p.damage = &DamageError{Log: p.id, Offset: end, Path: path, Position: good, Reason: reason}
	all := p.segments
	if end < p.start || len(all) == 0 || r.firstIsMissing(all) {
		// Nothing can be kept.
		end, p.segments, p.beyond = p.start, nil, all
		r.log.Headers, p.index, p.size = nil, nil, 0
	} else {
		p.segments, p.beyond, p.size = all[:k+1:k+1], all[k+1:], good
		p.index = cutIndex(p.index, p.segments[k].base, end, good)
	}
	p.end, p.flushed = end, end
	r.tell(p.damage.Error())
	return r.preserve()
}

// preserve makes durable what is there of a damaged log, so that the next start
// finds the same.
func (r *recovery) preserve() error {
	p := r.p
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
	err := p.store.fs.SyncDir(p.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // the folder itself is missing
	}
	return err
}

// cutIndex is the index of the last segment that can be trusted, if the scan
// has one; else an empty one, which is as good.
func cutIndex(x *index, base, end record.Offset, size int64) *index {
	if x == nil || len(x.entries) > 0 && x.entries[0].offset != base {
		x = newIndex(base, 1)
	}
	x.cut(end, size)
	return x
}

// tell fills in what the core is told.
func (r *recovery) tell(damage string) {
	p, l := r.p, &r.log
	l.Start, l.End, l.Damage = p.start, p.end, damage
	l.CheckpointAt = p.start
	if p.checkpoint != noMark && p.checkpoint <= p.end {
		l.Checkpoint, l.CheckpointAt = r.state, p.checkpoint
	}
	l.HighWatermark = min(max(l.HighWatermark, p.start), p.end)
	for _, s := range p.segments {
		l.Bytes += s.size
	}
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
	if beyond || p.epochs.open || !r.clean && unsure {
		return p.rewriteEpochs()
	}
	return nil
}

// recovered is what the slot of the log is to say.
func (p *partition) recovered(was mark) mark {
	m := was
	m.live = true
	m.segmentBytes = int32(p.segmentBytes)
	if p.damage != nil { // the next start must find the same
		if was.start == noMark {
			m.start, m.suspect = p.start, true
		}
		return m
	}
	m.start, m.end, m.names = p.start, p.end, p.names()
	m.hw = min(max(m.hw, p.start), p.end)
	return m
}
