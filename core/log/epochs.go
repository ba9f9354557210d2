package log

import (
	"fmt"
	"sort"

	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// history are the leader epochs of a log's records, each with the offset of
// its first record; both rise from entry to entry. The first entry may begin
// below the log start. It is what Kafka keeps as the leader-epoch cache
// (KIP-101, KIP-279), but for one thing: an epoch that a leader began without
// a record is not here (see Log.begun), so that the history is always a fold
// over the batches.
type history []epochStart

type epochStart struct {
	epoch record.LeaderEpoch
	start record.Offset
}

func (h history) last() record.LeaderEpoch {
	if len(h) == 0 {
		return record.NoLeaderEpoch
	}
	return h[len(h)-1].epoch
}

func (h *history) add(e record.LeaderEpoch, at record.Offset) {
	if e > h.last() {
		*h = append(*h, epochStart{e, at})
	}
}

// truncate forgets the epochs whose records are all at or above end.
func (h *history) truncate(end record.Offset) {
	n := len(*h)
	for n > 0 && (*h)[n-1].start >= end {
		n--
	}
	*h = (*h)[:n]
}

// trim forgets the epochs that ended before the record in front of start. That
// record's own epoch stays: it is what a follower at the log start names as its
// last, and what an empty log was left by.
func (h *history) trim(start record.Offset) {
	gone := 0
	for gone+1 < len(*h) && (*h)[gone+1].start < start {
		gone++
	}
	if gone > 0 {
		*h = append(history(nil), (*h)[gone:]...)
	}
}

// LastEpoch is the leader epoch of the last record, also when retention has
// removed that record since. It is NoLeaderEpoch in a log that never held one
// (or was reset). An epoch that was only begun does not count.
func (l *Log) LastEpoch() record.LeaderEpoch { return l.epochs.last() }

// KnowsBelow says whether the leader epoch of any record below an offset is
// known: such a record was there, and its producers may be known as well.
func (l *Log) KnowsBelow(offset record.Offset) bool {
	return len(l.epochs) > 0 && l.epochs[0].start < offset
}

// KnownFrom is where the history of epochs begins: of no record below it is the
// epoch known, and so no such record may be served. It is at or below Start, but
// in an empty log that knows of no epoch, where it is End.
func (l *Log) KnownFrom() record.Offset {
	if len(l.epochs) == 0 {
		return l.end
	}
	return l.epochs[0].start
}

// BeginEpoch says that this replica leads in epoch e from End on, even with no
// record of it yet. It must be called on every election: a leader that knew
// only epochs with records could not tell a follower where a foreign epoch
// ends (KAFKA-7415). e must not be below LastEpoch or an epoch begun before;
// the present epoch again changes nothing.
func (l *Log) BeginEpoch(e record.LeaderEpoch) {
	latest := max(l.begun, l.LastEpoch())
	if e < latest || e < 0 {
		panic(fmt.Sprintf("log: leader epoch %d begins after epoch %d", e, latest))
	}
	if e > latest {
		l.begun = e
	}
}

// EndOf answers where histories part (KIP-279): the largest known epoch that
// is not above e, and the offset behind its last record. With no such epoch it
// is NoLeaderEpoch and the offset where the oldest known epoch begins (but not
// below Start): nothing is known to be common, and a follower that gets this
// answer resets its log to the leader's start.
//
// A follower lowers the answer to its own history before it truncates:
// the cut is min(answer.End, own.EndOf(answer.Epoch).End).
func (l *Log) EndOf(e record.LeaderEpoch) message.EpochEnd {
	if l.begun != record.NoLeaderEpoch && e >= l.begun {
		return message.EpochEnd{Epoch: l.begun, End: l.end}
	}
	above := sort.Search(len(l.epochs), func(i int) bool { return l.epochs[i].epoch > e })
	end := l.end // where a begun epoch starts, too
	if above < len(l.epochs) {
		end = max(l.epochs[above].start, l.start)
	}
	if above == 0 {
		return message.EpochEnd{Epoch: record.NoLeaderEpoch, End: end}
	}
	return message.EpochEnd{Epoch: l.epochs[above-1].epoch, End: end}
}
