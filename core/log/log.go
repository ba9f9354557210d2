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
package log

import (
	"fmt"

	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// Log is one partition's log as facts. Start <= Settled <= End always holds,
// but that Start may lie inside the batch that ends at Settled.
type Log struct {
	start, end record.Offset
}

// New returns an empty log whose first record will have offset start.
func New(start record.Offset) *Log { return &Log{start: start, end: start} }

// Restore builds the log that recovery found. It starts from the checkpoint,
// folds the headers behind it, and settles what lies below the high watermark
// that was stored. An error means that what was found does not fit together:
// the replica cannot vouch for this log and must fetch it anew.
func Restore(found effect.RecoveredLog) (*Log, error) { panic("not built yet") }

// Rebuild folds headers, which must follow one another, and then trims the
// result to start (which may lie below the first header). It is the slow and
// simple way to the state that a Log keeps up as it goes; see Differs.
func Rebuild(headers []record.Header, start record.Offset) (*Log, error) { panic("not built yet") }

// Start is the offset of the first record that may be read.
func (l *Log) Start() record.Offset { return l.start }

// End is the offset that the next record will have (LEO).
func (l *Log) End() record.Offset { return l.end }

// Settled is the offset below which everything is decided. It lies at a batch
// boundary, at or below the high watermark.
func (l *Log) Settled() record.Offset { panic("not built yet") }

// Bytes is the size of all batches from the chunk that holds Start on.
func (l *Log) Bytes() int64 { panic("not built yet") }

// LastEpoch is the leader epoch of the last record, also when retention has
// removed that record since. It is NoLeaderEpoch in a log that never held one
// (or was reset). An epoch that was only begun does not count.
func (l *Log) LastEpoch() record.LeaderEpoch { panic("not built yet") }

// Fits says whether a batch, as a follower got it from its leader, may be
// appended: it starts at End and its leader epoch is not below LastEpoch
// (epochs in a log never fall). The error tells what does not fit.
func (l *Log) Fits(h *record.Header) error { panic("not built yet") }

// Append says that the log now ends at h.End(). The header must Fit.
func (l *Log) Append(h *record.Header) { panic("not built yet") }

// BeginEpoch says that this replica leads in epoch e from End on, even with no
// record of it yet. It must be called on every election: a leader that knew
// only epochs with records could not tell a follower where a foreign epoch
// ends (KAFKA-7415). e must be above LastEpoch and above every epoch begun
// before; the same epoch again changes nothing.
func (l *Log) BeginEpoch(e record.LeaderEpoch) { panic("not built yet") }

// EndOf answers where histories part (KIP-279): the largest known epoch that
// is not above e, and the offset behind its last record. With no such epoch it
// is NoLeaderEpoch and the offset where the oldest known epoch begins (but not
// below Start): nothing is known to be common, and a follower that gets this
// answer resets its log to the leader's start.
//
// A follower lowers the answer to its own history before it truncates:
// the cut is min(answer.End, own.EndOf(answer.Epoch).End).
func (l *Log) EndOf(e record.LeaderEpoch) message.EpochEnd { panic("not built yet") }

// EpochAt is the leader epoch of the record at offset at, or of the newest
// record when at is End or above; NoLeaderEpoch when at lies below all that
// is known.
func (l *Log) EpochAt(at record.Offset) record.LeaderEpoch { panic("not built yet") }

// CanTruncate says whether Truncate(to) is possible: to is not below the
// settled point. When it is below, records that were decided are to be given
// up, which only an unclean election can ask for: Reset the log then.
func (l *Log) CanTruncate(to record.Offset) bool { panic("not built yet") }

// Truncate removes all batches that reach beyond to, and an epoch that was
// begun without a record. Epoch history and producers become exactly what they
// were there. It returns the new end, which is below to when to lies inside a
// batch. Truncate(End()) only forgets the begun epoch.
func (l *Log) Truncate(to record.Offset) record.Offset { panic("not built yet") }

// Settle says that everything below highWatermark is decided. It folds the
// headers of whole batches below it into the settled state. A lower value than
// before changes nothing; one above End settles all.
func (l *Log) Settle(highWatermark record.Offset) { panic("not built yet") }

// TrimPrefix moves the log start up to start (any offset, from retention, from
// DeleteRecords or from the leader); a lower one than now changes nothing. The
// epochs that only removed records had go; producers stay. All below start
// counts as settled. It panics when start is above End: Reset is for that.
//
// What producers did in removed records is known only from the checkpoint:
// give out a Checkpoint effect before the TrimPrefix effect.
func (l *Log) TrimPrefix(start record.Offset) { panic("not built yet") }

// Reset empties the log and starts it anew at start: no epochs, no producers.
func (l *Log) Reset(start record.Offset) { panic("not built yet") }

// Checkpoint encodes the settled state; at is the offset that it holds for.
// Restore reads it.
func (l *Log) Checkpoint() (at record.Offset, state []byte) { panic("not built yet") }

// Digest is a hash of everything in the log that decides what it answers. Two
// equal logs have equal digests. It costs time in proportion to the number of
// producers and unsettled batches.
func (l *Log) Digest() uint64 { panic("not built yet") }

// Differs compares l with one that was rebuilt from the headers of the batches
// from offset from on (INV-12), and names the first difference; "" is none.
// What happened before from is not compared.
func (l *Log) Differs(rebuilt *Log, from record.Offset) string { panic("not built yet") }

// String prints the bounds, for messages.
func (l *Log) String() string { return fmt.Sprintf("log [%d, %d)", l.start, l.end) }
