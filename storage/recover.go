package storage

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/record"
	"github.com/tamarack-mq/tamarack/storage/vfs"
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
	gone    bool   // the folder itself is missing
	apart   bool   // the file of epochs and its copy differ
	untold  bool   // a checkpoint was there, is needed, and cannot be read
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
	if p.segmentBytes.Load() != int64(s.opts.SegmentBytes) {
		r.log.Config.SegmentBytes = int32(p.segmentBytes.Load())
	}
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
		if !r.known && !r.was.suspect { // else it may have had a mark, and segments
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
	table, apart, err := readEpochs(r.p.store.fs, r.p.dir)
	if err != nil {
		return err
	}
	table.believed = r.floor
	r.p.epochs, r.apart = table, apart
	r.p.epochsSize = int64(len(table.list)) * epochFrame
	return nil
}

// list finds the segments.
func (r *recovery) list() error {
	p := r.p
	list, err := p.store.fs.ReadDir(p.dir)
	if errors.Is(err, fs.ErrNotExist) {
		r.gone = true
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
	return r.dropIndexes(list)
}

// dropIndexes removes what is left of segments whose names a power cut has taken: a
// segment that is made later under such a name must not find an index.
func (r *recovery) dropIndexes(list []vfs.Entry) error {
	for _, e := range list {
		base, ok := parseSegment(e.Name, indexSuffix)
		if !ok || e.Dir || slices.ContainsFunc(r.p.segments, func(s *segment) bool { return s.base == base }) {
			continue
		}
		if err := r.p.store.fs.Remove(join(r.p.dir, e.Name)); err != nil {
			return err
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
// below it were durable, and is replaced at once or not at all. One that is lost
// is made good by the records, if they are all there; but what producers did in
// records that retention has taken, it alone could tell.
func (r *recovery) readCheckpoint() error {
	b, err := readFile(r.p.store.fs, join(r.p.dir, checkpointName))
	if err != nil {
		return err
	}
	r.log.HighWatermark = r.was.hw
	at, hw, state, ok := decodeCheckpoint(b)
	if !ok {
		r.untold = r.p.start > 0 && (b != nil || r.was.told)
		return nil
	}
	r.p.checkpoint, r.state = at, state
	r.floor = max(r.floor, at)
	r.log.HighWatermark = max(hw, r.was.hw)
	return nil
}

// inDoubt tells whether all segments must be looked at.
func (r *recovery) inDoubt() bool {
	if r.p.epochs.open || r.was.suspect {
		return true
	}
	if !r.known || r.was.end == noMark {
		return false
	}
	sum := uint32(0)
	for _, s := range r.p.segments {
		if s.base <= r.was.end {
			sum += nameHash(s.base)
		}
	}
	return sum != r.was.names
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
	case r.untold:
		return r.setAside(&DamageError{
			Log: p.id, Offset: p.end, Path: join(p.dir, checkpointName),
			Reason: fmt.Sprintf("the checkpoint cannot be read, and nothing else tells what producers did below the log start, %d", p.start),
		}, last, p.size)
	}
	p.flushed, p.names = p.end, namesOf(p.segments)
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
	return r.setAside(&DamageError{Log: p.id, Offset: end, Path: path, Position: good, Reason: reason}, k, good)
}

func (r *recovery) setAside(damage *DamageError, k int, good int64) error {
	p := r.p
	p.damage = damage
	all, end := p.segments, damage.Offset
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
	l.StartGuessed = r.was.suspect && p.start > 0
	l.CheckpointAt = p.start
	if p.checkpoint != noMark && p.checkpoint <= p.end {
		l.Checkpoint, l.CheckpointAt = r.state, p.checkpoint
	}
	l.HighWatermark = min(max(l.HighWatermark, p.start), p.end)
	for _, s := range p.segments {
		l.Bytes += s.size
	}
}

// recovered is what the slot of the log is to say.
func (p *partition) recovered(was mark) mark {
	m := was
	m.live, m.anew = true, false
	m.segmentBytes = int32(p.segmentBytes.Load())
	if p.damage != nil { // the next start must find the same
		if was.start == noMark {
			m.start, m.suspect = p.start, true
		}
		return m
	}
	m.start, m.end, m.names = p.start, p.end, p.names
	m.told = p.start > 0 && p.checkpoint != noMark
	m.hw = min(max(m.hw, p.start), p.end)
	return m
}
