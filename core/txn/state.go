package txn

import (
	"fmt"
	"slices"

	"github.com/tamarack-mq/tamarack/core/deadline"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/order"
	"github.com/tamarack-mq/tamarack/core/record"
)

// Phase is where a transactional id stands. The numbers are in the log for ever.
type Phase uint8

// The phases.
const (
	Empty          Phase = 1 // the producer has an identity and no transaction
	Ongoing        Phase = 2 // a transaction is open
	PrepareCommit  Phase = 3 // it will commit, whatever happens
	PrepareAbort   Phase = 4 // it will abort, whatever happens
	CompleteCommit Phase = 5 // it committed, and all markers are written
	CompleteAbort  Phase = 6 // it aborted, and all markers are written
)

var phaseNames = [...]string{"Dead", "Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort"}

// String is the phase's public name.
func (p Phase) String() string { return phaseNames[p] }

// prepared says that there is a decision whose markers are not all written.
func (p Phase) prepared() bool { return p == PrepareCommit || p == PrepareAbort }

// complete says that the last transaction is over.
func (p Phase) complete() bool { return p == CompleteCommit || p == CompleteAbort }

// commits says, of a transaction that was decided, which way.
func (p Phase) commits() bool { return p == PrepareCommit || p == CompleteCommit }

// follows says which phase may come after which: the whole protocol, and that
// there is one decision for each transaction (INV-32).
func follows(before, next Phase) bool {
	switch before {
	case Ongoing:
		return next == Ongoing || next.prepared()
	case PrepareCommit:
		return next == CompleteCommit || next == before // with what waits for its end
	case PrepareAbort:
		return next == CompleteAbort || next == before
	}
	return next == Empty || next == Ongoing || next == CompleteAbort // an abort of nothing
}

// Identity is what a producer stamps on its batches.
type Identity struct {
	ID    record.ProducerID
	Epoch record.ProducerEpoch
}

// nobody is the identity of no producer.
var nobody = Identity{record.NoProducerID, record.NoProducerEpoch}

// value is all that is known of a transactional id. It is never changed once it
// is made.
type value struct {
	phase Phase
	// now is the identity of the transaction that is open; after a decision that
	// of its markers; and else the one that the producer has for the next.
	now Identity
	// next is the producer id that comes with epoch 0 after this transaction,
	// when its epochs are used up; else NoProducerID.
	next record.ProducerID
	// ended is the identity whose transaction ended last because its producer
	// asked for it: the same question gets the same answer. Else nobody.
	ended      Identity
	timeout    message.Duration
	started    record.Timestamp     // wall time when the transaction became Ongoing; -1: none is open
	updated    record.Timestamp     // wall time of this record
	partitions []record.PartitionID // sorted
	// incarnation is what the producer calls itself: its question for an identity,
	// when it comes again, is known by it. 0: it has not said.
	incarnation uint64
	// waiting are the partitions of the transaction that follows, while the end of the
	// one before is being written: it begins with them as soon as that is done,
	// whoever coordinates it then. Sorted.
	waiting []record.PartitionID
	overrun overrun
}

// overrun is the transaction of a transactional id that was aborted last since it took
// too long: its producer, whenever it asks, is told that, and not that it was replaced.
type overrun struct {
	by    Identity
	limit message.Duration // that it had; 0: there was none
}

const notStarted record.Timestamp = -1

// turn is the identity that the producer has, or is told with the decision, for
// what comes next.
func (v *value) turn() Identity {
	if v.next != record.NoProducerID {
		return Identity{v.next, 0}
	}
	return v.now
}

// given says whether any producer was ever told that identity: not after an abort
// that the coordinator decided for itself.
func (v *value) given() bool {
	return v.phase == Empty || v.phase == Ongoing || v.ended != nobody
}

// standing is None for the producer whose turn it is, and else says what it is.
func (v *value) standing(who Identity) message.Code {
	turn := v.turn()
	switch {
	case who == turn && v.given():
		return message.None
	case who.ID == turn.ID && who.Epoch > turn.Epoch:
		return message.InvalidProducerEpoch // nobody was ever told it
	case who.ID == turn.ID || who.ID == v.now.ID || who.ID == v.ended.ID:
		return message.ProducerFenced
	}
	return message.InvalidProducerIDMapping
}

// change is one record, decoded: what is known of a transactional id, or that it
// is removed.
type change struct {
	name string
	gone bool
	value
}

// entry is one transactional id.
type entry struct {
	name string
	value

	// Not replicated.
	timer   deadline.Deadline[*entry] // Ongoing: its end; prepared: the next round of markers; else when to look whether it is over
	running bool                      // timer is that of the transaction that is open
	sending *sending                  // markers under way
	held    []*adding                 // requests for the next transaction, which wait for the markers of this one

	// What the questions for one transaction are gathered by: see add.
	gathering   []*adding
	gatherUntil message.Time
	roundAt     message.Time         // prepared: the next round of markers
	opening     bool                 // the record with which it begins is on its way
	usual       []record.PartitionID // that come together at the beginning of a transaction
}

// state is the fold of a shard's records. Only apply changes it.
type state struct {
	entries map[string]*entry
	timers  deadline.Heap[*entry]
}

func newState() *state { return &state{entries: map[string]*entry{}} }

// apply is the only way by which a shard's state changes: live decisions,
// timeouts and replay all come through here.
func (s *state) apply(c change) {
	e := s.entries[c.name]
	switch {
	case c.gone && e == nil:
	case c.gone:
		s.timers.Stop(&e.timer)
		delete(s.entries, c.name)
	default:
		if e == nil {
			e = &entry{name: c.name}
			e.timer.Due = e
			s.entries[c.name] = e
		}
		e.value = c.value
	}
}

// each visits the live state as the records that make it, in order.
func (s *state) each(visit func(change)) {
	for _, name := range order.Keys(s.entries) {
		visit(change{name: name, value: s.entries[name].value})
	}
}

// check says which rule a decision breaks; empty: none. The record must not be written
// otherwise.
func (e *entry) check(next *value) string {
	if e == nil {
		if next.phase != Empty {
			return fmt.Sprintf("a transactional id that is not there becomes %v", next.phase)
		}
		return ""
	}
	same := next.now.ID == e.now.ID
	switch {
	case !follows(e.phase, next.phase):
		return fmt.Sprintf("%q goes from %v to %v (INV-32)", e.name, e.phase, next.phase)
	case same && next.now.Epoch < e.now.Epoch:
		return fmt.Sprintf("%q goes from epoch %d back to %d", e.name, e.now.Epoch, next.now.Epoch)
	case e.phase == Ongoing && next.phase.prepared() && (!same || next.now.Epoch != e.now.Epoch+1):
		return fmt.Sprintf("the markers of %q, which is at %v, would carry %v", e.name, e.now, next.now)
	case e.phase == Ongoing && !next.phase.complete() && len(order.Without(e.partitions, next.partitions)) > 0:
		return fmt.Sprintf("%q loses a partition while a transaction is open", e.name)
	case e.phase.prepared() && next.phase == e.phase && !e.sameEnd(next):
		return fmt.Sprintf("the decision of %q is replaced (INV-32)", e.name)
	case e.phase != Ongoing && next.phase == Ongoing && len(order.Without(e.waiting, next.partitions)) > 0:
		return fmt.Sprintf("%q begins without a partition that it has waited with", e.name)
	}
	return ""
}

// sameEnd says that two values tell the same of a decision.
func (v *value) sameEnd(o *value) bool {
	return v.now == o.now && v.next == o.next && v.ended == o.ended && v.overrun == o.overrun && slices.Equal(v.partitions, o.partitions) &&
		len(order.Without(v.waiting, o.waiting)) == 0
}
