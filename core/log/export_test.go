package log

import (
	"sort"

	"github.com/tamarack-mq/tamarack/core/record"
)

// EpochAt is the leader epoch of the record at offset at, or of the newest
// record when at is End or above; NoLeaderEpoch when at lies below all that
// is known.
func (l *Log) EpochAt(at record.Offset) record.LeaderEpoch {
	above := sort.Search(len(l.epochs), func(i int) bool { return l.epochs[i].start > at })
	return l.epochs[:above].last()
}

// OpenTransactions is the number of transactions without a marker in this log.
func (l *Log) OpenTransactions() int { return len(l.producers.transactions.open) }
