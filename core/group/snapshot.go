package group

import (
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/order"
	"github.com/tamarack-mq/tamarack/core/record"
)

// snapshot is a rewrite of the whole live state into the log, between a begin
// and an end marker, after which everything before the begin marker can go. It
// is written in parts, one append at a time, between the records of the
// requests that go on meanwhile. That is safe since records are upserts of
// whole values: whatever is alive at the end was written by the snapshot after
// the begin marker, or by a request after it, and of both the later one holds.
type snapshot struct {
	run    uint64
	groups []string // still to be written, in order
	begin  record.Offset
	before int // records in the log before the begin marker
}

// maybeSnapshot starts a snapshot when the log holds many more records than
// there are live keys.
func (s *shard) maybeSnapshot(now message.Now, out *Out) {
	fresh := s.state.keys + 2 // what a snapshot leaves: its keys and its markers
	worth := max(s.home.cfg.SnapshotMinimum, s.home.cfg.SnapshotFactor*fresh)
	if s.phase != serving || s.snapshot != nil || s.records <= worth {
		return
	}
	s.snapshot = &snapshot{run: s.home.last + 1, groups: order.Keys(s.state.groups), before: s.records}
	s.write(key{kind: kindMarker, mark: markBegin}, markerValue{s.snapshot.run})
	if s.state.floor != 0 {
		s.write(key{kind: kindFloor}, floorValue{s.state.floor})
	}
	s.append(now, out, func(now message.Now, base record.Offset, out *Out) {
		s.snapshot.begin = base
		s.continueSnapshot(now, out)
	})
}

// continueSnapshot writes the next groups, about one batch of them.
func (s *shard) continueSnapshot(now message.Now, out *Out) {
	run, size := s.snapshot, 0
	var scratch []byte
	for len(run.groups) > 0 && size < s.home.cfg.MaxBatchBytes/2 {
		if g := s.state.groups[run.groups[0]]; g != nil {
			g.each(func(c change) {
				scratch = appendValue(appendKey(scratch[:0], c.key), c.value)
				size += len(scratch) + recordOverhead
				s.writes = append(s.writes, c)
			})
		}
		run.groups = run.groups[1:]
	}
	if len(run.groups) > 0 {
		s.append(now, out, func(now message.Now, _ record.Offset, out *Out) { s.continueSnapshot(now, out) })
		return
	}
	run.groups = nil
	s.writes = append(s.writes, change{key{kind: kindMarker, mark: markEnd}, markerValue{run.run}})
	s.append(now, out, func(_ message.Now, _ record.Offset, out *Out) { s.endSnapshot(out) })
}

// recordOverhead is about what a batch adds to each record.
const recordOverhead = 8

// endSnapshot lets the log before the snapshot go.
func (s *shard) endSnapshot(out *Out) {
	s.records -= s.snapshot.before
	out.Trims = append(out.Trims, Trim{Shard: s.index, Epoch: s.epoch, Before: s.snapshot.begin})
	s.snapshot = nil
}
