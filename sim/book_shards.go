package sim

import (
	"slices"

	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/group"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
	"github.com/tamarack-mq/tamarack/core/txn"
)

// shardLog is what the committed log of one shard of an internal topic says. Each
// batch is read when it is written first, so that no disk has to be asked for it,
// and counts from when it is committed.
type shardLog struct {
	part    *partBook
	states  bool                  // it is of transactions, and else of groups
	to      record.Offset         // all below was taken in
	written map[link]writtenBatch // above to
	unknown bool                  // a batch was never seen, or cannot be read
	proofs  []uint64              // by node id: see proved

	// Of a shard of groups.
	stored  map[claim][]storedAt
	pending []pendingAt // in the order in which they became so
	pended  map[pended]bool
	fences  map[record.ProducerID]fenceAt
	ended   map[record.ProducerID]record.ProducerEpoch // the highest fence of each that ever was
	before  group.Record                               // the record taken in last
	changed bool                                       // it has stored another position than was stored
	turns   map[claim]group.Record                     // the record that stored what is stored
}

// writtenBatch is a batch that somebody has written.
type writtenBatch struct {
	node      int32  // who wrote it first
	step      uint64 // in which that was
	states    []stateRecord
	positions []positionRecord
}

// stateRecord is one committed record about a transactional id.
type stateRecord struct {
	shard       *shardLog
	at          record.Offset
	epoch       record.LeaderEpoch // of the coordinator that wrote it
	before, now txn.Transaction    // before: Phase 0 when there was nothing
	gone        bool
}

// positionRecord is one committed record about positions of groups.
type positionRecord struct {
	shard *shardLog
	at    record.Offset
	group.Record
	step  uint64    // in which it was written first
	wrote Span      // when that was
	was   pendingAt // of Pends: what was pending before, with an ID of -1 when nothing was
	fence fenceAt   // of Pends and Fences: the producer's before this record
	// Of Pends that is gone: the record before it stores the position; that changed
	// what was stored; what is stored was committed later by the same member.
	resolves, changed, followed bool
}

// storedAt is a position as it was stored from a time on; message.NoOffset: none was.
type storedAt struct {
	offset record.Offset
	since  Span
}

// pendingAt is a position that is pending.
type pendingAt struct {
	group.Record
	since Span // committed then
}

// fenceAt is up to where a producer's transactions have ended in a shard.
type fenceAt struct {
	epoch       record.ProducerEpoch
	coordinator record.LeaderEpoch
	known       bool
}

func newShardLog(p *partBook, states bool) *shardLog {
	return &shardLog{
		part: p, states: states, written: map[link]writtenBatch{}, stored: map[claim][]storedAt{},
		fences: map[record.ProducerID]fenceAt{}, pended: map[pended]bool{}, ended: map[record.ProducerID]record.ProducerEpoch{}, turns: map[claim]group.Record{},
	}
}

// lost says that nothing can be said about the shard.
func (s *shardLog) lost() bool { return s.unknown || s.part.off() }

// write reads the batches of an append that nobody has written before.
func (s *shardLog) write(node int32, step uint64, now Span, e effect.Append) {
	for it := record.Batches(e.Batches); it.Next(); {
		at := link{it.Header.LeaderEpoch, it.Header.BaseOffset}
		if _, known := s.written[at]; known || it.Header.End() <= s.to {
			continue
		}
		b := writtenBatch{node: node, step: step}
		var err error
		if s.states {
			err = txn.EachRecord(it.Bytes, func(offset record.Offset, t txn.Transaction, gone bool) {
				b.states = append(b.states, stateRecord{shard: s, at: offset, epoch: at.epoch, now: t, gone: gone})
			})
		} else {
			err = group.EachRecord(it.Bytes, func(offset record.Offset, r group.Record) {
				b.positions = append(b.positions, positionRecord{shard: s, at: offset, Record: r, step: step, wrote: now})
			})
		}
		s.unknown = s.unknown || err != nil // the judge of INV-23 tells it
		s.written[at] = b
	}
}

// committed hands over the batches that are newly committed.
func (s *shardLog) committed(take func(*writtenBatch)) {
	batches := (&logFacts{batches: s.part.committed}).from(s.to)
	for i := range batches {
		at := link{batches[i].LeaderEpoch, batches[i].BaseOffset}
		b, known := s.written[at]
		if !known {
			s.unknown = true
			break
		}
		delete(s.written, at)
		s.proves(b.node, b.step)
		take(&b)
	}
	s.to = s.part.high
}

// proved is the step in which a node wrote, as the leader, the last of its batches that
// are committed: it led the shard then, and no other node did. 0: it has none.
func (s *shardLog) proved(node int32) uint64 {
	if int(node) >= len(s.proofs) {
		return 0
	}
	return s.proofs[node]
}

func (s *shardLog) proves(node int32, step uint64) {
	for int(node) >= len(s.proofs) {
		s.proofs = append(s.proofs, 0)
	}
	s.proofs[node] = step
}

// position takes in one committed record of a shard of groups, and says in it what
// was before.
func (s *shardLog) position(r *positionRecord, now Span) {
	at := claim{r.Group, r.Partition}
	switch r.Kind {
	case group.Stored:
		s.store(at, r, now)
	case group.Pends:
		r.fence, r.was = s.fences[r.ID], s.pend(r, now)
		if !r.Gone {
			s.pended[pended{at, r.ID, r.Epoch, r.Offset}] = true
			break
		}
		last, had := s.turns[at]
		r.resolves = s.before.Kind == group.Stored && had && s.before == last && last.Group == r.Group && last.Partition == r.Partition && sameCommit(&last, &r.was.Record)
		r.changed = r.resolves && s.changed
		r.followed = had && r.was.Number > 0 && last.Member == r.was.Member && last.MemberEpoch == r.was.MemberEpoch && last.Number > r.was.Number
	case group.Fences:
		r.fence = s.fences[r.ID]
		if r.Gone {
			delete(s.fences, r.ID)
		} else {
			s.fences[r.ID] = fenceAt{r.Epoch, r.Coordinator, true}
			s.ended[r.ID] = max(s.ended[r.ID], r.Epoch)
		}
	}
	s.before = r.Record
}

// store takes in that a position is stored, or removed.
func (s *shardLog) store(at claim, r *positionRecord, now Span) {
	offset := r.Offset
	s.turns[at] = r.Record
	if r.Gone {
		offset = message.NoOffset
		delete(s.turns, at)
	}
	list := s.stored[at]
	if s.changed = len(list) == 0 || list[len(list)-1].offset != offset; s.changed {
		s.stored[at] = append(list, storedAt{offset, now})
	}
}

// sameCommit says whether two records are about one commit of a position.
func sameCommit(a, b *group.Record) bool {
	return a.Offset == b.Offset && a.Member == b.Member && a.MemberEpoch == b.MemberEpoch && a.Number == b.Number
}

// pend sets or removes a pending position, and gives the one that was there.
func (s *shardLog) pend(r *positionRecord, now Span) pendingAt {
	for i := range s.pending {
		was := s.pending[i]
		if was.ID != r.ID || was.Group != r.Group || was.Partition != r.Partition {
			continue
		}
		switch {
		case r.Gone:
			s.pending = slices.Delete(s.pending, i, i+1)
		case was.Record != r.Record: // else a snapshot says it again
			s.pending[i] = pendingAt{r.Record, now}
		}
		return was
	}
	if !r.Gone {
		s.pending = append(s.pending, pendingAt{r.Record, now})
	}
	return pendingAt{Record: group.Record{ID: record.NoProducerID}}
}

// said says whether a position could be told to who asked at a time and is answered
// now.
func (s *shardLog) said(at claim, offset record.Offset, since Span) bool {
	list := s.stored[at]
	for i := len(list) - 1; i >= 0; i-- {
		if list[i].offset == offset {
			return true
		}
		if list[i].since < since {
			return false
		}
	}
	return offset == message.NoOffset
}
