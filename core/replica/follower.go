package replica

import (
	"github.com/tamarack-mq/tamarack/core/log"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// follower is a replica under one leadership. It copies its leader's log and
// decides nothing: where histories part, the leader's holds.
type follower struct {
	r     *replica
	epoch record.LeaderEpoch
	from  *puller
	slot  int // in from.parts

	// matched says that the leader has answered in this epoch and found nothing
	// that diverges. From then on the log is a prefix of the leader's.
	matched  bool
	start    record.Offset // the leader's log start
	attempts int           // answers in a row that were errors

	moved       bool   // in from.moved
	reports     bool   // in from.progress
	delayed     bool   // in from.delayed
	parked      bool   // waits for its turn to state its position; see pace.go
	asked       int32  // bytes of pace.asked that the position stated last asks for
	askedBefore int32  // and those of the one before, which may still be answered
	stated      uint32 // the fetch that stated the position last
}

// follow begins to copy from the leader of the state.
func (m *Manager) follow(r *replica) {
	r.follow = &follower{r: r, epoch: r.state.LeaderEpoch, from: m.puller(r.state.Leader)}
	r.follow.from.join(m, r)
	m.touch(r)
}

// position is what a fetch says of the replica. One that names no last epoch
// behind the first record asks to be told what it cannot know: see take.
func (r *replica) position(m *Manager, now message.Now) message.ReplicaFetchPartition {
	last := r.log.LastEpoch()
	if r.forgetful {
		last = record.NoLeaderEpoch
	}
	return message.ReplicaFetchPartition{
		ID: r.id, LeaderEpoch: r.follow.epoch, Offset: r.log.End(), LastEpoch: last,
		Flushed: r.flushed, LogStart: r.trimmed, MaxBytes: m.pace.share(m, now, r),
	}
}

// flushed reports what has become durable: at once by a message of its own,
// which may be lost, and in any case with the next fetch. Before histories are
// known to match only a fetch may say so, because the leader can judge only that.
func (f *follower) flushed(m *Manager) {
	f.from.stale(m, f.r, !f.matched)
	if f.matched && !f.reports {
		f.reports = true
		f.from.progress = append(f.from.progress, f.r)
	}
}

// hear takes a leader's news. An answer that says 'you diverge' carries a high
// watermark and a log start as well: they are about the leader's log, of which
// this one is no prefix yet, so that nothing of them is taken (KAFKA-14704).
// Judgements on a position that is not the present one are void.
func (f *follower) hear(m *Manager, now message.Now, sequence uint32, news *message.ReplicaFetchedPartition, out *Out) {
	void := f.moved || f.parked || sequence < f.stated
	if len(news.CarryOver) > 0 && log.CheckCarryOver(news.LogStart, news.CarryOver) != nil {
		f.from.postpone(m, now, f.r) // it did not come whole: ask again
		return
	}
	switch {
	case news.Diverging != nil:
		if !void {
			f.diverged(m, news, out)
		}
		return
	case news.Code == message.OffsetOutOfRange:
		if !void {
			f.startAnew(m, news, out)
		}
		return
	case news.Code != message.None:
		f.from.postpone(m, now, f.r)
		return
	}
	f.matched = true
	f.attempts = 0
	f.r.admit(out)
	if len(news.Records) > 0 {
		f.copy(m, now, sequence, news.Records, out)
	}
	f.raise(m, news.HighWatermark, out)
	f.start = max(f.start, news.LogStart)
	f.trim(m, out)
}

// diverged cuts the log where the histories part: at the end of the largest
// epoch that the leader has and that is not above ours, or where that epoch
// ends here if that is lower (KIP-279). The next fetch shows whether there is
// more to cut. What was decided is cut only when an unclean election has given
// it up; this broker then keeps nothing and copies the leader's log anew.
//
// So it does when the leader knows of no common epoch: histories have parted
// somewhere below the leader's log start, and what this log holds down there
// cannot be compared any more. To cut at the leader's start would leave records
// below it that no leader ever had.
func (f *follower) diverged(m *Manager, news *message.ReplicaFetchedPartition, out *Out) {
	r := f.r
	to := min(news.Diverging.End, r.log.EndOf(news.Diverging.Epoch).End)
	if news.Diverging.Epoch == record.NoLeaderEpoch || to >= r.log.End() || !r.log.CanTruncate(to) {
		f.startAnew(m, news, out)
		return
	}
	r.truncate(m, to, out)
	f.from.stale(m, r, false)
}

// startAnew empties the log: it shares nothing with the leader's that could be
// told apart, or ends below the leader's log start. What producers did in the
// records that are gone comes from the leader: a repeat of one of their batches
// must be known as such also here, should this replica lead next (INV-27).
func (f *follower) startAnew(m *Manager, news *message.ReplicaFetchedPartition, out *Out) {
	if len(news.CarryOver) > 0 {
		f.r.inherit(m, news.LogStart, news.CarryOver, out)
	} else {
		f.r.reset(m, news.LogStart, out)
	}
	f.from.stale(m, f.r, false)
}

// copy appends what the leader has sent. Every byte of it is checked; what does
// not continue this log, or cannot come from this leadership, is left out and
// asked for again.
func (f *follower) copy(m *Manager, now message.Now, sequence uint32, records []byte, out *Out) {
	r := f.r
	m.pace.spend(m, now, r, sequence, len(records))
	f.startWithBatch(m, records, out)
	end, last := r.log.End(), r.log.LastEpoch()
	headers := m.headers[:0]
	begin, size := 0, 0
	it := record.Batches(records)
	for it.Next() {
		h := &it.Header
		if len(headers) == 0 && h.End() <= end { // sent twice
			begin += len(it.Bytes)
			continue
		}
		if h.BaseOffset != end || h.LeaderEpoch < last || h.LeaderEpoch > f.epoch || h.Count < 1 ||
			h.LastOffsetDelta != h.Count-1 || record.Checksum(it.Bytes) != h.CRC {
			break
		}
		headers = append(headers, *h)
		size += len(it.Bytes)
		end, last = h.End(), h.LeaderEpoch
	}
	m.headers = headers
	if len(headers) > 0 {
		r.append(m, now, headers, records[begin:begin+size:begin+size], out)
	}
	if begin+size < len(records) {
		f.from.postpone(m, now, r)
		return
	}
	f.from.stale(m, r, false)
}

// startWithBatch moves an empty log down to where the leader's first batch
// begins. The leader's log start may lie inside that batch, after a
// DeleteRecords; once the batch is here this log trims up to it again.
func (f *follower) startWithBatch(m *Manager, records []byte, out *Out) {
	r := f.r
	h, err := record.DecodeHeader(records)
	if err == nil && r.log.Start() == r.log.End() && h.BaseOffset < r.log.End() && r.log.End() < h.End() {
		r.inherit(m, h.BaseOffset, r.log.CarryOver(), out)
	}
}

// raise takes the leader's high watermark, as far as this log reaches. This
// replica's own may be the higher one, when the leader is new: what was decided
// stays so.
func (f *follower) raise(m *Manager, high record.Offset, out *Out) {
	r := f.r
	if high = min(high, r.log.End()); high <= r.highWatermark {
		return
	}
	r.highWatermark = high
	r.log.Settle(high)
	m.touch(r)
	r.checkpointIfDue(m, out)
}

// trim follows the leader's log start, but never above the high watermark.
func (f *follower) trim(m *Manager, out *Out) {
	f.r.trim(m, min(f.start, f.r.highWatermark), out)
}
