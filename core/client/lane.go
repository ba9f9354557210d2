package client

import (
	"math"

	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// lane is the queue of one partition's batches, in the order of Publish. It
// alone decides which batch may be sent next, so this is where order is kept
// and where sequence numbers are given out.
//
// Order. Batches on their way form a prefix of the lane. When one of them must
// be sent again, nothing more is sent until all on their way have come back;
// then they go out again in order (KAFKA-3197). Without idempotence only one
// is on its way at a time. All on their way are at the same broker.
//
// Numbers. A batch gets its producer id, epoch and sequence when it is first
// sent, and is sent again under the same ones, so that the broker knows it. A
// number is taken back only from a batch of which every attempt was answered
// with a refusal: it is not in the log and no copy of it is on its way.
//
// A gap. When a numbered batch leaves the lane without success, the ones after
// it can no longer follow it: the lane is broken. Nothing is numbered until
// the numbered ones have left; then the lane goes on under the next producer
// epoch from sequence 0 (KIP-360). The epoch and not just the numbers must
// change: the broker then refuses copies of the earlier epoch that may still
// be on their way, so they can neither be taken for the new batches nor land
// behind them. The epoch is the lane's own, because what a broker remembers of
// a producer it remembers for each partition by itself. A batch that may be in
// the log is never given another number; if it cannot be resolved under its
// own, its outcome is Unknown.
//
// In a transaction a gap is the end: the epoch is the transaction's, which fails.
type lane struct {
	p     *producer
	topic *topic
	id    record.PartitionID

	batches []*batch // without a result, in order; the last may be filling
	at      place
	node    *node // where it queues when at is queued
	flights int   // requests on their way that carry a batch of this lane
	flown   *node // where they went
	hold    bool  // nothing more is sent until all have come back
	closed  bool

	started    bool // producer and epoch hold
	broken     bool
	producer   record.ProducerID
	epoch      record.ProducerEpoch
	next       record.Sequence
	generation uint64 // of the identity that producer is from
	turn       uint64 // of the transaction that they are of

	failures int
	rest     message.Time // nothing is sent before
	retry    alarm        // the rest is over
	linger   alarm        // the batch that fills has waited long enough
	expiry   alarm        // the oldest batch has waited too long
}

// place is where a lane waits for its turn.
type place uint8

const (
	nowhere    place = iota
	queued           // at its leader's node
	leaderless       // in producer.homeless
	unnamed          // for the producer's identity
)

// batch is some records of one lane.
type batch struct {
	builder  record.Builder
	bytes    []byte // once it is sealed
	ops      []Op
	stamps   []record.Timestamp
	size     int64 // share of the producer's buffer
	era      uint64
	filled   message.Time // when it began to fill
	deadline message.Time

	numbered bool
	sequence record.Sequence
	attempts int
	flying   bool // an attempt is not answered yet
	maybe    bool // an attempt may have put it into the log
	gone     bool // it has its result
	code     message.Code
}

func (b *batch) filling() bool { return b.bytes == nil }

func newLane(p *producer, t *topic, id record.PartitionID) *lane {
	l := &lane{p: p, topic: t, id: id}
	l.retry.Due = l.stir
	l.linger.Due = l.stir
	l.expiry.Due = l.expire
	return l
}

// filling says whether another record would join a batch that has begun.
func (l *lane) filling() bool {
	n := len(l.batches)
	return n > 0 && l.batches[n-1].filling() && l.batches[n-1].builder.Size() < l.full()
}

// full is the size at which a batch takes no more records.
func (l *lane) full() int { return min(int(l.p.c.cfg.BatchBytes), l.limit()) }

// limit is the size of the largest batch that the topic takes.
func (l *lane) limit() int {
	if l.topic.config.MaxBatchBytes > 0 {
		return int(l.topic.config.MaxBatchBytes)
	}
	return defaultMaxBatchBytes
}

const defaultMaxBatchBytes = 1 << 20

// add puts a record into the batch that fills, or into a new one.
func (l *lane) add(one *pending) {
	in := &one.in
	bound := record.SizeBound(in.Key, in.Value, in.Headers)
	if n := len(l.batches); n > 0 && l.batches[n-1].filling() {
		b := l.batches[n-1]
		if b.era == one.era && b.builder.Size()+bound <= l.full() && b.builder.Append(in.Timestamp, in.Key, in.Value, in.Headers) == nil {
			l.joined(b, one)
			return
		}
	}
	b := &batch{era: one.era, filled: l.p.c.now.Mono, deadline: one.born.Add(l.p.c.cfg.DeliveryTimeout)}
	if b.builder.Append(in.Timestamp, in.Key, in.Value, in.Headers) != nil || b.builder.Size() > l.limit() {
		l.p.neverSent(one, &Error{Problem: TooLarge, Code: message.MessageTooLarge,
			Detail: "publish: the record does not fit into a batch that topic " + l.topic.name + " takes: raise its max.message.bytes, or send less at once"})
		return
	}
	l.seal()
	l.batches = append(l.batches, b)
	if len(l.batches) == 1 {
		l.p.c.alarms.Set(&l.expiry, b.deadline)
	}
	l.joined(b, one)
}

func (l *lane) joined(b *batch, one *pending) {
	b.ops = append(b.ops, one.in.Op)
	b.stamps = append(b.stamps, one.in.Timestamp)
	b.size += one.size
	l.stir()
}

// seal ends the batch that fills, and counts the records without a result.
func (l *lane) seal() (records int) {
	for _, b := range l.batches {
		records += len(b.ops)
		if b.filling() {
			b.bytes = b.builder.Build()
			l.p.c.alarms.Stop(&l.linger)
		}
	}
	l.stir()
	return records
}

// stir has the lane queue for its leader when it has something to send.
func (l *lane) stir() {
	if l.at != nowhere || l.candidate() == nil {
		return
	}
	n := l.p.c.cluster.leader(l.id)
	switch {
	case l.nameless():
		l.at = unnamed
		l.p.identity.await(l)
	case n == nil || n.address == "":
		l.at = leaderless
		l.p.homeless = append(l.p.homeless, l)
		l.p.c.cluster.want()
	case l.flights > 0 && l.flown != n:
		// What went to the leader before must come back first.
	default:
		l.at, l.node = queued, n
		n.ready = append(n.ready, l)
		l.p.c.touch(n)
	}
}

// candidate is the batch that would be sent next, or nil when none may.
func (l *lane) candidate() *batch {
	if l.closed || l.flights > 0 && (l.hold || l.flights >= l.width()) {
		return nil
	}
	if len(l.batches) > 0 && l.p.c.now.Mono < l.rest {
		l.p.c.alarms.Set(&l.retry, l.rest)
		return nil
	}
	for _, b := range l.batches {
		switch {
		case b.flying:
		case b.filling() && l.lingers(b):
			return nil
		case l.broken && !b.numbered && (l.flights > 0 || l.numbered() > 0):
			return nil
		default:
			return b
		}
	}
	return nil
}

// width is how many batches may be on their way.
func (l *lane) width() int {
	if l.p.c.cfg.Idempotent {
		return l.p.c.cfg.InFlight
	}
	return 1
}

// lingers says that the batch waits for more records.
func (l *lane) lingers(b *batch) bool {
	c := l.p.c
	over := b.filled.Add(c.cfg.Linger)
	if c.now.Mono >= over || b.era < l.p.era || b.builder.Size() >= l.full() || c.closing != nil {
		return false
	}
	c.alarms.Set(&l.linger, over)
	return true
}

// numbered counts the batches that have a number.
func (l *lane) numbered() (n int) {
	for _, b := range l.batches {
		if b.numbered {
			n++
		}
	}
	return n
}

// nameless says that the next batch needs an identity of the producer that
// is not there yet.
func (l *lane) nameless() bool {
	if !l.p.c.cfg.Idempotent || l.p.c.transactor.on() || l.started && !(l.broken && l.epoch == math.MaxInt16) || l.numbered() > 0 {
		return false
	}
	return l.p.identity.generation == l.generation
}

// launch makes a batch ready for an attempt.
func (l *lane) launch(b *batch, n *node) {
	if b.filling() {
		b.bytes = b.builder.Build()
		l.p.c.alarms.Stop(&l.linger)
	}
	if l.p.c.cfg.Idempotent && !b.numbered {
		l.number(b)
	}
	b.flying = true
	b.attempts++
	l.flights++
	l.flown = n
}

// number gives a batch its place in the producer's sequence.
func (l *lane) number(b *batch) {
	if l.p.c.transactor.on() {
		l.numberInTransaction(b)
		return
	}
	switch {
	case !l.started || l.broken && l.epoch == math.MaxInt16:
		l.started, l.broken = true, false
		l.producer, l.epoch, l.generation = l.p.identity.id, l.p.identity.epoch, l.p.identity.generation
		l.next = 0
	case l.broken:
		l.broken = false
		l.epoch++
		l.next = 0
	}
	if b.attempts > 0 { // a network may still hold the bytes as they were
		b.bytes = append([]byte(nil), b.bytes...)
	}
	b.numbered, b.sequence = true, l.next
	l.next = record.AddSequence(l.next, int32(len(b.ops)))
	record.SetProducer(b.bytes, l.producer, l.epoch, b.sequence)
}

// numberInTransaction does so under the transaction's identity: each begins at
// sequence 0 in every partition. A number once given is never taken back.
func (l *lane) numberInTransaction(b *batch) {
	t := &l.p.c.transactor
	t.touched = true
	if l.turn != t.turn {
		l.turn, l.next = t.turn, 0
		l.producer, l.epoch = t.id, t.epoch
	}
	b.numbered, b.sequence = true, l.next
	l.next = record.AddSequence(l.next, int32(len(b.ops)))
	record.SetTransactional(b.bytes, l.producer, l.epoch, b.sequence)
}
