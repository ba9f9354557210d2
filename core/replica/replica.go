package replica

import (
	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/log"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// replica is one partition on this broker, whatever its role: the log as facts,
// and how far the disk has confirmed it. trimmed <= log.Start() <= highWatermark
// <= log.End(), and flushed <= appended <= log.End().
type replica struct {
	id  record.PartitionID
	log *log.Log

	state     PartitionState
	placed    bool // state is set
	minInsync int
	retention log.Retention
	// segmentBytes is what the disk goes by; 0: its default.
	segmentBytes int32

	cut           effect.Cut
	appended      record.Offset // with the operating system up to here
	flushed       record.Offset // durable up to here
	trimmed       record.Offset // the log start that is durable
	raised        bool          // the log starts above where recovery said, and the disk is not told
	emptiedAt     record.Offset // where the log was last begun anew; a flush confirms it
	highWatermark record.Offset
	unflushed     backlog

	damage damage
	// forgetful says that recovery found a damaged log, and nothing that tells
	// what producers did below its start. It keeps what it has, lest it be the
	// last, and begins anew when a leader can tell.
	forgetful bool

	led    record.LeaderEpoch // the highest epoch that this run has led in
	lead   *leader            // at most one of the two is set
	follow *follower

	care            timer // retention, as long as it leads
	idle            timer // idle producers
	sinceCheckpoint struct {
		bytes   int64
		batches int
	}
	touched bool
	deleted bool // it is none of the manager's any more
}

func created(m *Manager, s *PartitionState) *replica {
	r := &replica{id: s.ID, log: log.New(0), cut: m.firstCut, led: record.NoLeaderEpoch}
	r.care.Due, r.idle.Due = (*careTimer)(r), (*idleTimer)(r)
	m.touch(r)
	return r
}

// restored is a replica as recovery found it. All of the log is durable. A
// follower's high watermark is never a reason to truncate (KIP-101), and so
// the stored one only tells what is decided already.
func restored(m *Manager, found effect.RecoveredLog) *replica {
	l, err := log.Restore(found)
	r := &replica{id: found.ID, log: l, led: record.NoLeaderEpoch}
	r.damage = damage{what: found.Damage, guessed: found.StartGuessed, reported: true}
	r.segmentBytes = found.Config.SegmentBytes
	r.forgetful = found.Damage != "" && len(found.Checkpoint) == 0 && found.Start > 0
	if err != nil {
		r.damage = damage{what: "recovery: " + err.Error(), whole: true, guessed: found.StartGuessed, reported: true}
		r.log = log.New(found.Start)
	}
	r.care.Due, r.idle.Due = (*careTimer)(r), (*idleTimer)(r)
	r.appended, r.flushed, r.trimmed = r.log.End(), r.log.End(), found.Start
	r.raised = found.Start < r.log.Start()
	r.highWatermark = min(max(found.HighWatermark, r.log.Start()), r.log.End())
	m.touch(r)
	return r
}

// append puts whole batches at the end of the log. headers are theirs.
func (r *replica) append(m *Manager, now message.Now, headers []record.Header, batches []byte, out *Out) {
	base := r.log.End()
	for i := range headers {
		r.log.Append(&headers[i])
	}
	end := r.log.End()
	size := int64(len(batches))
	r.unflushed.push(end, size)
	m.unflushed += size
	r.sinceCheckpoint.bytes += size
	r.sinceCheckpoint.batches += len(headers)
	out.Add(effect.Append{Log: r.id, Cut: r.cut, Base: base, End: end, Batches: batches})
	out.Add(effect.Flush{Log: r.id, Cut: r.cut})
	r.watchProducers(m, now)
	m.touch(r)
}

// truncate cuts the log at to, which must be possible (log.CanTruncate).
func (r *replica) truncate(m *Manager, to record.Offset, out *Out) {
	to = r.log.Truncate(to)
	if to < r.highWatermark {
		m.halt(r, "asked to truncate below its own high watermark", out)
		return
	}
	r.cut++
	r.appended, r.flushed = min(r.appended, to), min(r.flushed, to)
	m.drained(r.unflushed.cutAt(to))
	out.Add(effect.Truncate{Log: r.id, Cut: r.cut, To: to})
	if r.flushed < to { // the flush that was asked for answers with the old cut
		out.Add(effect.Flush{Log: r.id, Cut: r.cut})
	}
	m.touch(r)
}

// reset empties the log and starts it anew at start. The high watermark goes
// with it (KAFKA-9491).
func (r *replica) reset(m *Manager, start record.Offset, out *Out) {
	r.log.Reset(start)
	r.emptied(m, start, out)
	r.confirmEmptied(out)
}

// inherit is reset with what a log knows of the records below start that are
// gone (log.CarryOver), which has been checked.
func (r *replica) inherit(m *Manager, start record.Offset, carried []byte, out *Out) {
	if err := r.log.Inherit(start, carried); err != nil {
		m.halt(r, err.Error()+", although it was checked", out)
		return
	}
	r.emptied(m, start, out)
	r.checkpoint(out) // the records cannot tell it after a crash
	r.confirmEmptied(out)
}

// emptied does the rest when the log was made empty. Until the disk has
// confirmed it nothing counts as durable: a crash may find the log as it was.
func (r *replica) emptied(m *Manager, start record.Offset, out *Out) {
	r.cut++
	r.appended, r.highWatermark = start, start
	r.flushed, r.trimmed, r.emptiedAt, r.forgetful, r.raised = 0, 0, start, false, false
	m.drained(r.unflushed.cutAt(-1))
	out.Add(effect.Reset{Log: r.id, Cut: r.cut, Start: start})
	m.touch(r)
}

// confirmEmptied asks for the flush that takes its turn behind a Reset.
func (r *replica) confirmEmptied(out *Out) {
	if r.emptiedAt > 0 {
		out.Add(effect.Flush{Log: r.id, Cut: r.cut})
	}
}

// beginsAnew says that the log was emptied and the disk has not confirmed it yet.
func (r *replica) beginsAnew() bool { return r.trimmed < r.emptiedAt }

// trim moves the log start. It counts as moved (trimmed) once the disk has
// confirmed it: the answer to a read of nothing, which takes its turn behind
// the trim, is that confirmation. As long as what is settled is not flushed,
// no checkpoint can keep what producers did in the records that go: then it
// does nothing, and the next flush tries again.
func (r *replica) trim(m *Manager, start record.Offset, out *Out) {
	if start <= r.log.Start() || r.log.Settled() > r.flushed {
		return
	}
	if start > r.highWatermark {
		m.halt(r, "asked to move its log start above its high watermark", out)
		return
	}
	r.checkpoint(out)
	r.log.TrimPrefix(start)
	r.tellStart(m, out)
}

// tellStart has the disk begin the log where it starts here.
func (r *replica) tellStart(m *Manager, out *Out) {
	start := r.log.Start()
	r.raised = false
	out.Add(effect.TrimPrefix{Log: r.id, Start: start})
	token := m.token()
	m.reads[token] = &trimRead{r: r, cut: r.cut, start: start}
	out.Add(effect.Read{Token: token, Slices: []effect.Slice{{Log: r.id, From: start, To: start}}})
	m.touch(r)
}

// tellRaised does so for a log that recovery began too low (see log.Restore), once it
// is in order. The checkpoint that shows it is on the disk already, but it may be lost
// later, and a start that was shown must not fall.
func (r *replica) tellRaised(m *Manager, out *Out) {
	if r.raised {
		r.tellStart(m, out)
	}
}

// trimRead waits for a trim to be durable.
type trimRead struct {
	r     *replica
	cut   effect.Cut
	start record.Offset
}

func (t *trimRead) done(m *Manager, _ message.Now, _ []effect.ReadResult, out *Out) {
	r := t.r
	if m.replicas[r.id] != r || t.start <= r.trimmed || t.start > r.log.Start() { // begun anew below it
		return
	}
	r.trimmed = t.start
	m.touch(r)
	switch {
	case r.lead != nil:
		r.lead.startMoved(m, out)
	case r.follow != nil:
		r.follow.from.stale(m, r, false)
	}
}

// backlog is what was appended and is not durable yet, in order.
type backlog struct {
	bytes  int64
	chunks []chunk
	first  int
}

type chunk struct {
	end   record.Offset
	bytes int64
}

func (b *backlog) push(end record.Offset, bytes int64) {
	b.bytes += bytes
	b.chunks = append(b.chunks, chunk{end, bytes})
}

// flushed takes out what ends at or below end, and tells how much it was.
func (b *backlog) flushed(end record.Offset) (bytes int64) {
	for b.first < len(b.chunks) && b.chunks[b.first].end <= end {
		bytes += b.chunks[b.first].bytes
		b.first++
	}
	switch {
	case b.first == len(b.chunks):
		b.chunks, b.first = b.chunks[:0], 0
	case b.first > 64 && b.first > len(b.chunks)/2:
		b.chunks = b.chunks[:copy(b.chunks, b.chunks[b.first:])]
		b.first = 0
	}
	b.bytes -= bytes
	return bytes
}

// cutAt takes out what ends above to, and tells how much it was.
func (b *backlog) cutAt(to record.Offset) (bytes int64) {
	n := len(b.chunks)
	for n > b.first && b.chunks[n-1].end > to {
		n--
		bytes += b.chunks[n].bytes
	}
	b.chunks = b.chunks[:n]
	b.bytes -= bytes
	return bytes
}
