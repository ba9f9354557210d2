package sim

import (
	"bytes"
	"time"

	"github.com/tamarack-mq/tamarack/core/client"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// spoiltInARow is how often the records of one partition are spoilt one time after the
// other: fewer times than a client must bear.
const spoiltInARow = 3

// checkedFrom is where in a batch that begins which a reader can check: the magic, the
// checksum and what lies under it.
const checkedFrom = 16

// spoil lets an answer with records arrive other than it was sent, as with a broker
// whose memory is bad: a bit of a batch is turned, or what arrives ends in the middle
// of the first one, or that one stands below all offsets, which its checksum does not
// cover. The bytes are the sender's: what is changed is a copy.
func (u *user) spoil(call uint64, reply message.Reply) message.Reply {
	w := u.world
	sent, ok := reply.(*message.FetchReply)
	if !ok || w.plan.Network.Spoil == 0 || w.phase >= draining {
		return reply
	}
	r := u.spoiling
	var got *message.FetchReply
	for i := range sent.Partitions {
		p := &sent.Partitions[i]
		delete(u.resting, p.ID)
		if len(p.Records) == 0 {
			continue
		}
		if u.spoilt[p.ID] == spoiltInARow || !r.OneIn(int64(w.plan.Network.Spoil)) {
			delete(u.spoilt, p.ID)
			continue
		}
		if got == nil {
			got = &message.FetchReply{}
			*got = *sent
			got.Partitions = append([]message.FetchedPartition(nil), sent.Partitions...)
		}
		if got.Partitions[i].Records = spoiltRecords(p.Records, r.Below); r.OneIn(4) {
			got.Partitions[i].Records = belowAllOffsets(p.Records)
		}
		u.mustRest(call, p.ID, got.Partitions[i].Records)
		if u.spoilt == nil {
			u.spoilt = map[record.PartitionID]int{}
		}
		u.spoilt[p.ID]++
		w.mark(markSpoilt)
	}
	if got == nil {
		return reply
	}
	return got
}

// spoiltRecords is a copy of some batches of which one cannot be read.
func spoiltRecords(batches []byte, below func(int64) int64) []byte {
	var ends []int
	it, end := record.Batches(batches), 0
	for it.Next() {
		end += len(it.Bytes)
		ends = append(ends, end)
	}
	if len(ends) == 0 || below(3) == 0 {
		first := len(batches)
		if len(ends) > 0 {
			first = ends[0]
		}
		return bytes.Clone(batches[:1+below(int64(first-1))])
	}
	at, from := below(int64(len(ends))), 0
	if at > 0 {
		from = ends[at-1]
	}
	from += checkedFrom
	out := bytes.Clone(batches)
	out[int64(from)+below(int64(ends[at]-from))] ^= 1 << below(8)
	return out
}

// belowAllOffsets is a copy of some batches of which the first one has a base offset that
// no record can have.
func belowAllOffsets(batches []byte) []byte {
	out := bytes.Clone(batches)
	out[0] |= 0x80
	return out
}

// lastFetch is the last fetch of a partition: the call, and from where on.
type lastFetch struct {
	call uint64
	from record.Offset
}

// unread is a partition of which a client was sent what it cannot read: since when, and
// from where on it had asked.
type unread struct {
	since Span
	from  record.Offset
}

// leastRest is the shortest pause that a client makes after a failure.
const leastRest = 40 * Millisecond

// mustRest notes that a client that was sent what it cannot read, in answer to the last
// that it asked of a partition, is to rest before it asks for the same again.
func (u *user) mustRest(call uint64, id record.PartitionID, got []byte) {
	it := record.Batches(got)
	if it.Next() && it.Header.BaseOffset >= 0 && record.Checksum(it.Bytes) == it.Header.CRC {
		return // it goes on behind what it can read
	}
	if last, ok := u.fetched[id]; ok && last.call == call {
		u.resting[id] = unread{u.world.now, last.from}
	}
}

// rests is INV-38 for what cannot be read: a client does not ask for the same at once.
func (u *user) rests(call uint64, m *message.Fetch) {
	w := u.world
	if w.plan.Network.Spoil == 0 || u.plan.Role == Chaos || u.plan.Role == Malformed {
		return
	}
	for i := range m.Partitions {
		p := &m.Partitions[i]
		if r, ok := u.resting[p.ID]; ok && r.from == p.Offset && w.now-r.since < leastRest {
			w.fail("INV-38", 0, "a client asks at once for what it could not read", "client %d asks for partition %s from %d on %v after it was sent what it cannot read of that", u.plan.ID, p.ID, p.Offset, time.Duration(w.now-r.since))
		}
		delete(u.resting, p.ID)
		u.fetched[p.ID] = lastFetch{call, p.Offset}
	}
}

// turns forgets what was asked for before a client may read from elsewhere: that is not
// what it had asked for, even where the offset is the same.
func (u *user) turns() {
	clear(u.fetched)
	clear(u.resting)
}

// givesUp is INV-9 for what did not arrive as it was sent: whoever asks again is given
// it, so nobody may give it up as long as it was not spoilt time after time.
func (u *user) givesUp(e *client.Event) {
	if e.Kind != client.Stuck || e.Err == nil || e.Err.Code != message.CorruptMessage {
		return
	}
	u.world.fail("INV-9", 0, "a client gives up what can be read", "client %d stops to read for what it was sent, although that was spoilt no more than %d times in a row: %s", u.plan.ID, spoiltInARow, e.Err.Detail)
}
