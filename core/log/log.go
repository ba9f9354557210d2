// Package log holds what is known about the log of one partition: its bounds,
// the history of leader epochs, the state of idempotent producers, and which
// records may be truncated or retired. It holds facts only: the records
// themselves are in storage, and who leads is core/replica's business.
//
// # Settled state and tail
//
// Everything below the settled point is decided: no truncation goes below it.
// Above it the log keeps the headers of all batches (the tail). A truncation
// drops headers from the tail and folds the rest again, so that what follows
// from the records is always exactly what a fold over them gives.
//
// # Promises
//
// A method that finds its own caller in the wrong (an append that does not
// start at the end, a truncation below the settled point) panics: the node
// must stop before it lies. What comes from outside is checked by methods that
// return a Verdict or an error.
//
// # Transactions
//
// They too are folded from headers (KIP-98, KIP-890). A producer's state tells
// the first offset of the transaction that it has open here and its newest
// marker; both roll back, settle and are checkpointed with its batches. Which
// transactions are open, which were aborted and up to where all is decided
// follows: see LastStable and Aborted. Each transaction has a producer epoch of
// its own, and its marker carries the epoch behind: after it, nothing that was
// sent in the transaction fits the log any more, however late it comes.
package log

import (
	"errors"
	"fmt"

	"github.com/tamarack-mq/tamarack/core/record"
)

// Log is one partition's log as facts. Start <= Settled <= End always holds.
type Log struct {
	start   record.Offset
	settled record.Offset
	end     record.Offset

	epochs    history
	begun     record.LeaderEpoch // led from end on with no record yet; NoLeaderEpoch: none
	producers producers
	chunks    chunks
	tail      tail // the batches in [settled, end)
}

// Why a batch does not Fit.
var (
	ErrNotAtEnd   = errors.New("log: the batch does not start at the end of the log")
	ErrEpochFalls = errors.New("log: the batch's leader epoch is below that of the record before it")
)

// New returns an empty log whose first record will have offset start.
func New(start record.Offset) *Log {
	l := &Log{}
	l.Reset(start)
	return l
}

// Start is the offset of the first record that may be read.
func (l *Log) Start() record.Offset { return l.start }

// End is the offset that the next record will have (LEO).
func (l *Log) End() record.Offset { return l.end }

// Settled is the offset below which everything is decided. It lies at a batch
// boundary. It is at or below the high watermark, unless TrimPrefix has moved
// it.
func (l *Log) Settled() record.Offset { return l.settled }

// Bytes is the size of all batches from the chunk that holds Start on.
func (l *Log) Bytes() int64 { return l.chunks.total + l.tail.bytes }

// Fits says whether a batch, as a follower got it from its leader, may be
// appended: it starts at End (ErrNotAtEnd) and its leader epoch is not below
// LastEpoch, since epochs in a log never fall (ErrEpochFalls).
//
// When the leader's log starts inside a batch, the first batch that a follower
// gets after a Reset begins below its End: Reset to that batch's base then,
// and TrimPrefix to the leader's start once it is appended.
func (l *Log) Fits(h *record.Header) error {
	if h.BaseOffset != l.end || h.LastOffsetDelta < 0 {
		return fmt.Errorf("%w: the batch is [%d, %d), the end is %d", ErrNotAtEnd, h.BaseOffset, h.End(), l.end)
	}
	if last := l.LastEpoch(); h.LeaderEpoch < max(last, 0) {
		return fmt.Errorf("%w: the batch at %d has epoch %d, the last record has epoch %d",
			ErrEpochFalls, h.BaseOffset, h.LeaderEpoch, last)
	}
	return nil
}

// Append says that the log now ends at h.End(). The header must Fit.
func (l *Log) Append(h *record.Header) {
	if err := l.Fits(h); err != nil {
		panic(err.Error())
	}
	l.begun = record.NoLeaderEpoch
	l.epochs.add(h.LeaderEpoch, h.BaseOffset)
	l.producers.append(h)
	l.tail.push(h)
	l.end = h.End()
}

// CanTruncate says whether Truncate(to) is possible: to is not below the
// settled point. When it is below, records that were decided are to be given
// up, which only an unclean election can ask for: Reset the log then.
func (l *Log) CanTruncate(to record.Offset) bool { return to >= l.settled }

// Truncate removes all batches that reach beyond to, and an epoch that was
// begun without a record. Epoch history and producers become exactly what they
// were there. It returns the new end, which is below to when to lies inside a
// batch. Truncate(End()) only forgets the begun epoch.
func (l *Log) Truncate(to record.Offset) record.Offset {
	if !l.CanTruncate(to) {
		panic(fmt.Sprintf("log: truncation to %d is below the settled point %d", to, l.settled))
	}
	l.begun = record.NoLeaderEpoch
	keep := l.tail.len()
	for keep > 0 && l.tail.at(keep-1).End() > to {
		keep--
	}
	if keep == l.tail.len() {
		return l.end
	}
	l.end = l.tail.at(keep).BaseOffset
	l.epochs.truncate(l.end)
	l.producers.rollBack(&l.tail, keep)
	l.tail.cut(keep)
	return l.end
}

// Settle says that everything below highWatermark is decided. It folds the
// headers of whole batches below it into the settled state. A lower value than
// before changes nothing; one above End settles all.
func (l *Log) Settle(highWatermark record.Offset) {
	for l.tail.len() > 0 && l.tail.at(0).End() <= highWatermark {
		l.settleFirst()
	}
	l.producers.transactions.settle(l.settled)
}

func (l *Log) settleFirst() {
	h := l.tail.at(0)
	l.producers.settle(h)
	l.chunks.add(h)
	l.settled = h.End()
	l.tail.pop()
}

// TrimPrefix moves the log start up to start (any offset, from retention, from
// DeleteRecords or from the leader); a lower one than now changes nothing. The
// epochs that only removed records had go, but for that of the record right
// before start; producers stay, and transactions that were aborted below start
// go. All batches that begin below start count as settled. It panics when start
// is above End: Reset is for that.
//
// What producers did in removed records is known only from the checkpoint:
// give out a Checkpoint effect before the TrimPrefix effect.
func (l *Log) TrimPrefix(start record.Offset) {
	if start <= l.start {
		return
	}
	if start > l.end {
		panic(fmt.Sprintf("log: start %d would be above the end %d", start, l.end))
	}
	for l.tail.len() > 0 && l.tail.at(0).BaseOffset < start {
		l.settleFirst()
	}
	l.start = start
	l.epochs.trim(start)
	l.chunks.trim(start, l.settled)
	l.producers.transactions.settle(l.settled)
	l.producers.transactions.trim(start)
}

// Reset empties the log and starts it anew at start: no epochs, no producers
// (but see Inherit). Chunk limits stay.
func (l *Log) Reset(start record.Offset) {
	*l = Log{
		start: start, settled: start, end: start,
		begun:  record.NoLeaderEpoch,
		chunks: chunks{limits: l.chunks.limits, waiting: l.chunks.waiting},
	}
}

// String prints the bounds, for messages.
func (l *Log) String() string { return fmt.Sprintf("log [%d, %d)", l.start, l.end) }
