package log

import (
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// remembered is how many batches of a producer a log can answer again: as many
// as an idempotent producer may have in flight (Kafka's limit).
const remembered = 5

// batch is what is remembered of one batch.
type batch struct {
	base  record.Offset
	first record.Sequence
	delta int32 // from the first to the last record
}

func (b batch) last() record.Sequence { return record.AddSequence(b.first, b.delta) }
func (b batch) end() record.Offset    { return b.base + record.Offset(b.delta) + 1 }

// run is the state that follows from a producer's batches and markers: its
// epoch, its last batches of that epoch, oldest first, with no gap between them,
// and where it is with its transactions. The zero run is that of a producer that
// is not in the log.
type run struct {
	epoch         record.ProducerEpoch
	count         int8
	transactional bool               // the epoch is one of transactions
	coordinator   record.LeaderEpoch // of the newest marker
	open          spot               // the first batch of the transaction that is open
	marker        spot               // the newest marker; all batches stand behind it
	batches       [remembered]batch
}

// spot is where something is in the log, or the zero spot: nowhere.
type spot record.Offset

func spotAt(o record.Offset) spot          { return spot(o) + 1 }
func (s spot) is() bool                    { return s > 0 }
func (s spot) offset() record.Offset       { return record.Offset(s) - 1 }
func (s spot) below(at record.Offset) bool { return s.is() && s.offset() < at }

func (r *run) newest() batch { return r.batches[r.count-1] }

// add folds one batch in. It does not judge: the leader did (Check), and a
// follower must come to the same state. A batch that does not continue the run
// starts a new one; that is a new epoch, or a producer that the leader had
// forgotten. A batch that is in already (see Inherit) changes nothing.
//
// A marker ends what is open and begins the epoch that it carries, in which there
// is no batch yet.
func (r *run) add(h *record.Header) {
	b := batch{base: h.BaseOffset, first: h.BaseSequence, delta: h.LastOffsetDelta}
	switch {
	case r.count > 0 && b.base <= r.newest().base || r.marker.is() && b.base <= r.marker.offset():
		return
	case h.Attributes.Control():
		*r = run{
			epoch: h.ProducerEpoch, transactional: true,
			marker: spotAt(h.BaseOffset), coordinator: h.Marker.CoordinatorEpoch,
		}
		return
	case r.count > 0 && h.ProducerEpoch == r.epoch && b.first == record.AddSequence(r.newest().last(), 1):
		if r.count == remembered {
			copy(r.batches[:], r.batches[1:])
			r.count--
		}
	default:
		*r = run{epoch: h.ProducerEpoch, open: r.open, marker: r.marker, coordinator: r.coordinator}
	}
	r.batches[r.count] = b
	r.count++
	r.transactional = h.Attributes.Transactional()
	if r.transactional && !r.open.is() {
		r.open = spotAt(h.BaseOffset)
	}
}

// below is the run as it was before offset at, as far as it is remembered: the
// fold of what follows gives the whole run again.
func (r *run) below(at record.Offset) run {
	was := run{epoch: r.epoch, transactional: r.transactional}
	for _, b := range r.batches[:r.count] {
		if b.base < at {
			was.batches[was.count] = b
			was.count++
		}
	}
	if r.open.below(at) {
		was.open = r.open
	}
	if r.marker.below(at) {
		was.marker, was.coordinator = r.marker, r.coordinator
	}
	switch {
	case was.count > 0:
	case was.open.is() || was.marker.is():
		was.transactional = true // whatever the batches behind at have begun since
	default:
		return run{}
	}
	return was
}

// producer is one producer's state: what follows from settled batches, and
// from all. With no batch of its own in the tail the two are equal.
type producer struct {
	id      record.ProducerID
	slot    int // in producers.list
	settled run
	live    run
	pending int // batches in the tail

	// Idle time is no fact about the log: replicas need not agree on it.
	idle    message.Duration // counted so far
	touched bool             // a batch came since the last count
}

// producers are all producers that a log knows. The list has no order of its
// own but follows only from what was done, as the map's order would not.
type producers struct {
	byID map[record.ProducerID]*producer
	list []*producer

	transactions transactions

	counted   message.Time // when idle time was last counted
	counts    bool
	forgotten bool // a producer was forgotten at some time in the life of this log
}

func (p *producers) get(id record.ProducerID) *producer { return p.byID[id] }

// know returns the state of a producer, which is new when there was none.
func (p *producers) know(id record.ProducerID) *producer {
	if known := p.byID[id]; known != nil {
		return known
	}
	if p.byID == nil {
		p.byID = make(map[record.ProducerID]*producer)
	}
	made := &producer{id: id, slot: len(p.list)}
	p.byID[id] = made
	p.list = append(p.list, made)
	return made
}

func (p *producers) remove(gone *producer) {
	last := p.list[len(p.list)-1]
	p.list[gone.slot], last.slot = last, gone.slot
	p.list[len(p.list)-1] = nil
	p.list = p.list[:len(p.list)-1]
	delete(p.byID, gone.id)
}

// tells says whether something about a producer follows from a batch: it is part
// of the producer's sequence, or ends a transaction.
func tells(h *record.Header) bool {
	return h.ProducerID >= 0 && (!h.Attributes.Control() || h.Marker.Outcome != record.NoOutcome)
}

func (p *producers) append(h *record.Header) {
	if !tells(h) {
		return
	}
	one := p.know(h.ProducerID)
	open := one.live.open
	one.live.add(h)
	one.pending++
	one.touched = true
	if one.live.open != open {
		p.transactions.changed(one, open, h)
	}
}

func (p *producers) settle(h *record.Header) {
	if !tells(h) {
		return
	}
	one := p.get(h.ProducerID)
	one.settled.add(h)
	one.pending--
}

// rollBack folds the live state anew from the settled one and the first keep
// headers of the tail.
func (p *producers) rollBack(t *tail, keep int) {
	for i := range t.len() {
		if h := t.at(i); tells(h) {
			one := p.get(h.ProducerID)
			one.live, one.pending = one.settled, 0
		}
	}
	p.transactions.rollBack(p, t.at(0).BaseOffset)
	for i := range keep {
		p.append(t.at(i))
	}
	for i := keep; i < t.len(); i++ {
		if one := p.get(t.at(i).ProducerID); one != nil && one.live == (run{}) {
			p.remove(one)
		}
	}
}

// Producers is the number of producers that the log knows.
func (l *Log) Producers() int { return len(l.producers.list) }

// Knows says whether the log knows a producer.
func (l *Log) Knows(id record.ProducerID) bool { return l.producers.get(id) != nil }

// ExpireProducers forgets producers that have appended nothing for idle, but for
// those that have a transaction open: its coordinator ends it. Call it now and then (a few times per idle), and only for logs with Producers.
//
// Kafka compares the timestamps of records with the wall clock. Here idle time
// is counted on the monotonic clock between calls, and goes on counting across
// restarts from the last checkpoint: neither a jump of the wall clock nor a
// record with an old timestamp makes a log forget a live producer. Replicas
// forget at different times, all of them late. That is no disagreement about
// the log: a leader that still knows an idle producer lets it go on, one that
// does not asks it for a new epoch (UnknownProducerID), and whatever the
// leader then appends can go on everywhere, for a batch that does not continue
// what is known starts anew: such a replica remembers fewer of the last batches.
// So what an expiry must be longer than is the time for which a producer retries.
//
// It returns how many were forgotten.
func (l *Log) ExpireProducers(now message.Time, idle message.Duration) int {
	p := &l.producers
	var passed message.Duration
	if p.counts {
		passed = max(now.Sub(p.counted), 0)
	}
	p.counted, p.counts = now, true
	before := len(p.list)
	for i := before - 1; i >= 0; i-- { // backwards: remove moves the last one into the gap
		one := p.list[i]
		if one.touched {
			one.touched, one.idle = false, 0
			continue
		}
		one.idle += passed
		if one.idle >= idle && one.pending == 0 && !one.live.open.is() {
			p.remove(one)
			p.forgotten = true
		}
	}
	return before - len(p.list)
}
