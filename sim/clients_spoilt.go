package sim

import (
	"bytes"

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
// of the first one. The bytes are the sender's: what is changed is a copy.
func (u *user) spoil(reply message.Reply) message.Reply {
	w := u.world
	sent, ok := reply.(*message.FetchReply)
	if !ok || w.plan.Network.Spoil == 0 || w.phase >= draining {
		return reply
	}
	r := u.spoiling
	var got *message.FetchReply
	for i := range sent.Partitions {
		p := &sent.Partitions[i]
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
		got.Partitions[i].Records = spoiltRecords(p.Records, r.Below)
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

// givesUp is INV-9 for what did not arrive as it was sent: whoever asks again is given
// it, so nobody may give it up as long as it was not spoilt time after time.
func (u *user) givesUp(e *client.Event) {
	if e.Kind != client.Stuck || e.Err == nil || e.Err.Code != message.CorruptMessage {
		return
	}
	u.world.fail("INV-9", 0, "a client gives up what can be read", "client %d stops to read for what it was sent, although that was spoilt no more than %d times in a row: %s", u.plan.ID, spoiltInARow, e.Err.Detail)
}
