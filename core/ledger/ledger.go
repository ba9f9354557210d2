// Package ledger keeps the state of a coordinator in a replicated partition of
// an internal topic. The state of a shard is the fold of the records in that
// partition and of nothing else: a room decides by changes, each change is
// applied to the room's state (its Book) and becomes one record, and replay feeds
// the same records to the same Book.
//
// # Pending state
//
// Changes are applied when they are decided, before their records are
// committed, so that the next request is decided against everything that is
// already on its way into the log; the log keeps their order. What makes this
// safe is that nobody outside sees it: every reply, also of a read and also an
// error, waits in the ledger's queue behind the last append that was pending
// when it was made. When an append fails, the memory may be ahead of the log
// or behind it (the records may yet commit): the ledger answers NotCoordinator
// to all who wait, drops the memory whole, appends a barrier record until one
// commits (from then on nothing written before it is undecided), and replays.
// The other ways were to hold requests back until the one before is committed
// (one request a round trip and shard) or to keep versions of every map to
// roll back to (Kafka's timeline structures); failed appends are rare enough
// to pay with a replay.
//
// # Reads
//
// A deposed coordinator that has not heard of it must not tell an old state. So
// what is said with Confirmed waits for a record that was appended after the
// request came in, another request's or else a barrier's own. Once that is
// committed, no later leadership had begun when the request arrived. Those that
// come while a barrier is under way share the next one.
package ledger

import (
	"fmt"

	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// Change is one record of a room, decoded. A key begins with a byte that tells
// its kind; MarkKind is not the room's to use. The latest record of a key is all
// that counts, so keeping only the latest of each is a valid compaction.
type Change interface {
	// AppendKey appends the encoded key.
	AppendKey(b []byte) []byte
	// AppendValue appends the encoded value; nothing when the key is removed (a
	// tombstone).
	AppendValue(b []byte) []byte
}

// Book is what a room keeps in a ledger.
type Book[C Change] interface {
	// Reset forgets everything.
	Reset()
	// Apply is the only way by which the state changes. It depends on the change
	// and on the state alone, and takes changes in any order that compaction or a
	// snapshot can leave.
	Apply(c C)
	// Decode reads one record; value is nil when the key is removed. It refuses
	// all that this release would not have written.
	Decode(key, value []byte) (C, error)
	// Begin comes after a replay, before the first request: it may decide.
	Begin(now message.Now, out *Out)
	// Expire acts on the deadlines up to now; it may decide.
	Expire(now message.Now, out *Out)
	// Next is when Expire is wanted.
	Next() message.Time
	// Live is how many keys there are: the records that a snapshot has.
	Live() int
	// Head is what a snapshot begins with, Parts are the rest of it in order, by
	// name. A part may be gone, or have come, before it is written.
	Head() []C
	Parts() []string
	Part(name string, visit func(C))
	// Fault says which invariant the state breaks; empty: none. The node must
	// stop before it can act on it.
	Fault() string
}

// Phase is where a led shard stands.
type Phase uint8

const (
	// Loading: the log is being replayed; nothing is served.
	Loading Phase = iota
	// Serving: requests are decided.
	Serving
	// Settling: an append failed. Memory is dropped; a barrier record has to
	// commit, so that all before it is decided, and then the log is loaded again.
	Settling
)

// Ledger is one led partition of the internal topic.
type Ledger[C Change] struct {
	desk  *desk[C]
	book  Book[C]
	index int32
	epoch record.LeaderEpoch
	phase Phase

	writes []entry[C] // decided and applied in this call, not yet appended
	queue  queue
	reads  []queued // what waits for an append that is still to be made

	// records counts those in the log from where replay would begin.
	records  int
	snapshot *snapshot // being written; nil: none
	replay   replay    // while loading

	barrier uint64       // ticket of the barrier that was appended last; 0: none under way
	retryAt message.Time // settling: when to append a barrier
	retries int          // barriers that failed one after the other

	patience message.Time // when to look for replies that wait too long
}

// Index is the partition of the internal topic.
func (l *Ledger[C]) Index() int32 { return l.index }

// Epoch is the leader epoch in which the partition is led.
func (l *Ledger[C]) Epoch() record.LeaderEpoch { return l.epoch }

// Phase is where the shard stands.
func (l *Ledger[C]) Phase() Phase { return l.phase }

// Pending is how many appends are under way; at 0 the state equals a fold of the
// committed log.
func (l *Ledger[C]) Pending() int { return l.queue.pending }

// Waiting is how many replies wait, and what else is to follow an append (see After).
func (l *Ledger[C]) Waiting() int { return l.queue.waiting }

// Full says that no more may wait: the log is far behind.
func (l *Ledger[C]) Full() bool { return l.queue.waiting >= l.desk.cfg.MaxWaiting }

// Decide is how a room decides: the change is applied at once and appended with
// the others of this call by Answer, Tell or Flush.
func (l *Ledger[C]) Decide(c C) {
	l.book.Apply(c)
	l.writes = append(l.writes, entry[C]{change: c})
}

// Flush appends what was decided in this call. Every call that may have decided
// something, or queued a reply, ends with it.
func (l *Ledger[C]) Flush(now message.Now, out *Out) {
	l.append(now, out, nil)
	l.maybeSnapshot(now, out)
	l.drain(now, out)
	l.finish(now, out)
	l.desk.stale = true
}

// finish ends every call: reads get the append that they wait for, and a state
// that cannot be stops the node.
func (l *Ledger[C]) finish(now message.Now, out *Out) {
	l.confirmReads(now, out)
	if fault := l.book.Fault(); fault != "" && out.Halt == "" {
		out.Halt = fmt.Sprintf("shard %d of %s: %s", l.index, l.desk.cfg.Topic, fault)
	}
}

// wake is when the ledger next wants a tick.
func (l *Ledger[C]) wake() message.Time {
	switch l.phase {
	case Serving:
		return min(l.book.Next(), l.patience)
	case Settling:
		return l.retryAt
	}
	return message.Never
}

// tick lets the deadlines up to now pass.
func (l *Ledger[C]) tick(now message.Now, out *Out) {
	switch l.phase {
	case Serving:
		if l.patience <= now.Mono {
			l.patience = min(late(now.Mono, l.queue.entries[l.queue.first:], out), late(now.Mono, l.reads, out))
		}
		l.book.Expire(now, out)
		l.Flush(now, out)
	case Settling:
		if l.retryAt <= now.Mono {
			l.appendBarrier(now, out)
		}
	}
}
