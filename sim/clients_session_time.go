package sim

import (
	"sort"

	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
	"github.com/tamarack-mq/tamarack/history"
)

// sought is INV-9 for a client that begins at a time: the offset that it is told
// passes over no record that is late enough and still there, is itself one of such a
// record where the answer says so, and lies at or above what the client knows the log to
// start at.
func (u *user) sought(c *openCall, at record.Timestamp, got *message.ListedOffset) {
	w := u.world
	p := w.book.known(got.ID)
	if p == nil || p.deleted {
		return
	}
	u.noteSought(at, got, p.gone())
	if p.open {
		return
	}
	if start := u.startBefore(c.event, got.ID); start > got.Offset {
		w.fail("INV-9", int32(c.node), "a search by time ends at what is gone", "client %d asks node %d for what partition %s has from time %d on, and is told offset %d, but it was told before that the log starts at %d", u.plan.ID, c.node, got.ID, at, got.Offset, start)
		return
	}
	known, hidden := p.high, p.gone()
	if p.unclean { // who has answered may not have heard of it, or have led before
		known, hidden = p.remains(), max(hidden, p.topStart)
	} else if got.Offset > p.high || got.Timestamp >= 0 && got.Offset >= p.high {
		w.fail("INV-8", int32(c.node), "a search by time ends at undecided records", "client %d asks node %d for what partition %s has from time %d on, and is told offset %d, but only %d is committed", u.plan.ID, c.node, got.ID, at, got.Offset, p.high)
		return
	}
	first := sort.Search(len(p.committed), func(i int) bool { return p.committed[i].BaseOffset >= hidden })
	for i := first; i < len(p.committed) && p.committed[i].BaseOffset < got.Offset; i++ {
		h := &p.committed[i]
		if h.MaxTimestamp < at || h.End() > min(got.Offset, known) || h.Attributes.Control() {
			continue
		}
		w.fail("INV-9", int32(c.node), "a search by time passes over records", "client %d asks node %d for what partition %s has from time %d on, and is told offset %d, but the batch [%d, %d) has a record of time %d", u.plan.ID, c.node, got.ID, at, got.Offset, h.BaseOffset, h.End(), h.MaxTimestamp)
		w.aboutRecord(got.ID, h.BaseOffset)
		return
	}
	if got.Timestamp >= 0 && got.Offset < known {
		found := sort.Search(len(p.committed), func(i int) bool { return p.committed[i].End() > got.Offset })
		if h := &p.committed[found]; got.Timestamp < at || h.MaxTimestamp < at {
			w.fail("INV-9", int32(c.node), "a search by time finds a record that is too early", "client %d asks node %d for what partition %s has from time %d on, and is told offset %d of time %d, in a batch whose latest is %d", u.plan.ID, c.node, got.ID, at, got.Offset, got.Timestamp, h.MaxTimestamp)
			w.aboutRecord(got.ID, got.Offset)
		}
	}
}

// noteSought leaves it to the models to say whether it was that very record. They
// know what was read, and not by when retention had taken it.
func (u *user) noteSought(at record.Timestamp, got *message.ListedOffset, gone record.Offset) {
	op := history.Operation{
		Client: int32(u.plan.ID), Session: u.session, Kind: history.Sought, Invoke: int64(u.world.now),
		TopicID: uint64(got.ID.Topic), Partition: got.ID.Index, Timestamp: int64(at), Offset: int64(got.Offset),
		LogStart: int64(gone),
	}
	if got.Timestamp >= 0 {
		op.Records = []history.Record{{TopicID: op.TopicID, Partition: op.Partition, Offset: op.Offset, Timestamp: int64(got.Timestamp)}}
	}
	u.world.history.Moment(op)
}

// gone is below where records may be missing: a replica that has moved its start
// was told to, although clients may not have been shown it yet.
func (p *partBook) gone() record.Offset {
	start := p.shownStart
	for _, r := range p.replicas {
		if r != nil {
			start = max(start, r.memory.start, r.disk.start)
		}
	}
	return start
}

// startBefore is the log start that a client was told before an event, as far as it
// cannot have fallen since; -1: none.
func (u *user) startBefore(event uint64, id record.PartitionID) record.Offset {
	told, book := u.told.parts[id], u.world.book.known(id)
	if told == nil || book == nil {
		return -1
	}
	_, least := book.floors()
	return min(told.before(event).start, least)
}
