// Package verify keeps those who wait for the coordinator of a transaction
// (KIP-890). Before the first record, or the first position, of a transaction may
// stand in a partition, that partition has to be a part of the transaction in what
// the transaction's coordinator has committed: only then does a marker come for it.
// So who brings it waits, and the coordinator is asked.
//
// Nothing of this is kept between brokers. The question comes again until it is
// answered or nobody waits for it any more, and there is one for all who wait for
// the same.
package verify

import (
	"cmp"
	"slices"

	"github.com/tamarack-mq/tamarack/core/deadline"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// Config are the times of a Desk. Zero fields mean the default.
type Config struct {
	Retry message.Duration // until a question without an answer is asked again; 500 ms
	// Pause is the pause after an answer that cannot tell yet; 5 ms. It doubles from
	// one such answer to the next, up to PauseMost; 1 s.
	Pause, PauseMost message.Duration
	// Timeout is how long anybody waits. There is none by default: who waits for as
	// long as something else takes is taken out by Leave.
	Timeout message.Duration
}

func (c Config) withDefaults() Config {
	c.Retry = cmp.Or(c.Retry, 500*message.Millisecond)
	c.Pause = cmp.Or(c.Pause, 5*message.Millisecond)
	c.PauseMost = cmp.Or(c.PauseMost, message.Second)
	return c
}

// Part is what a partition has in a transaction: that of exactly this producer and
// epoch.
type Part struct {
	Partition       record.PartitionID
	TransactionalID string
	ID              record.ProducerID
	Epoch           record.ProducerEpoch
}

// Question asks the coordinator of a transactional id to make a partition a part of
// a transaction. Desk.Answered takes the answer. It comes again with the same ticket
// as long as there is none.
type Question struct {
	Ticket uint64
	Part
}

// Desk holds those who wait, and asks for them.
type Desk[W any] struct {
	cfg    Config
	last   uint64                                // the ticket given out last
	asked  map[uint64]*question[W]               // by ticket
	parts  map[record.PartitionID][]*question[W] // by their age
	timers deadline.Heap[*question[W]]
	held   int64
}

// question is a Question without an answer, and who waits for it.
type question[W any] struct {
	ask     Question
	pause   message.Duration // after the next answer that tells nothing
	retry   message.Time     // when it is asked again
	timer   deadline.Deadline[*question[W]]
	waiting []waiter[W] // in the order in which they came, which is that of their time limits
}

type waiter[W any] struct {
	who  W
	size int64
	due  message.Time
}

// New returns a desk at which nobody waits.
func New[W any](cfg Config) *Desk[W] {
	return &Desk[W]{
		cfg: cfg.withDefaults(), asked: map[uint64]*question[W]{}, parts: map[record.PartitionID][]*question[W]{},
	}
}

// Asks says that the question about a part is on its way: who comes now waits behind
// others.
func (d *Desk[W]) Asks(p Part) bool { return d.about(p) != nil }

// about is the question about a part, or nil.
func (d *Desk[W]) about(p Part) *question[W] {
	for _, q := range d.parts[p.Partition] {
		if q.ask.Part == p {
			return q
		}
	}
	return nil
}

// Hold has somebody wait for a part, who counts as size in Held. What is to be asked
// is added to asks.
func (d *Desk[W]) Hold(now message.Now, p Part, who W, size int64, asks *[]Question) {
	due := message.Never
	if d.cfg.Timeout > 0 {
		due = now.Mono.Add(d.cfg.Timeout)
	}
	q := d.about(p)
	if q == nil {
		d.last++
		q = &question[W]{ask: Question{d.last, p}, pause: d.cfg.Pause}
		q.timer.Due = q
		d.asked[d.last], d.parts[p.Partition] = q, append(d.parts[p.Partition], q)
		d.send(now, q, asks)
	}
	q.waiting = append(q.waiting, waiter[W]{who, size, due})
	d.held += size
	d.arm(q)
}

// send asks, for the first time or again.
func (d *Desk[W]) send(now message.Now, q *question[W], asks *[]Question) {
	*asks = append(*asks, q.ask)
	q.retry = now.Mono.Add(d.cfg.Retry)
}

func (d *Desk[W]) arm(q *question[W]) { d.timers.Set(&q.timer, min(q.retry, q.waiting[0].due)) }

// Answered takes the answer to a question: None when the coordinator has committed
// that the partition is a part of the transaction. It returns those for whom that is
// decided now, in the order in which they came; nobody after a code that is
// Retriable, since then it is asked again while they wait, and nobody when the
// answer comes again or too late.
func (d *Desk[W]) Answered(now message.Now, ticket uint64, code message.Code) []W {
	q := d.asked[ticket]
	switch {
	case q == nil:
		return nil
	case code.Retriable():
		q.retry = now.Mono.Add(q.pause)
		q.pause = min(2*q.pause, d.cfg.PauseMost)
		d.arm(q)
		return nil
	}
	return d.drop(q, nil)
}

// drop takes a question off all lists, and adds those to list who wait for it.
func (d *Desk[W]) drop(q *question[W], list []W) []W {
	d.timers.Stop(&q.timer)
	delete(d.asked, q.ask.Ticket)
	id := q.ask.Partition
	if d.parts[id] = slices.DeleteFunc(d.parts[id], func(o *question[W]) bool { return o == q }); len(d.parts[id]) == 0 {
		delete(d.parts, id)
	}
	for _, w := range q.waiting {
		d.held -= w.size
		list = append(list, w.who)
	}
	return list
}

// Leave takes out those who wait for a part of a partition and of whom gone says so.
func (d *Desk[W]) Leave(id record.PartitionID, gone func(W) bool) {
	list := d.parts[id]
	for i := len(list) - 1; i >= 0; i-- {
		q := list[i]
		q.waiting = slices.DeleteFunc(q.waiting, func(w waiter[W]) bool {
			if !gone(w.who) {
				return false
			}
			d.held -= w.size
			return true
		})
		if len(q.waiting) == 0 {
			d.drop(q, nil)
		}
	}
}

// Abandon takes out all who wait for a part of a partition, and returns them.
func (d *Desk[W]) Abandon(id record.PartitionID) (list []W) {
	for len(d.parts[id]) > 0 {
		list = d.drop(d.parts[id][0], list)
	}
	return list
}

// Tick hands those to late whose Timeout is over, who are taken out, and asks again
// where it is time for that.
func (d *Desk[W]) Tick(now message.Now, late func(W), asks *[]Question) {
	for d.timers.Next() <= now.Mono {
		q := d.timers.First().Due
		for len(q.waiting) > 0 && q.waiting[0].due <= now.Mono {
			w := q.waiting[0]
			q.waiting[0] = waiter[W]{}
			q.waiting = q.waiting[1:]
			d.held -= w.size
			late(w.who)
		}
		switch {
		case len(q.waiting) == 0:
			d.drop(q, nil)
			continue
		case q.retry <= now.Mono:
			d.send(now, q, asks)
		}
		d.arm(q)
	}
}

// Next is when a Tick is wanted; message.Never when nobody waits.
func (d *Desk[W]) Next() message.Time { return d.timers.Next() }

// Held is the size of all who wait.
func (d *Desk[W]) Held() int64 { return d.held }

// Waiting is how many wait for parts of a partition. For observers.
func (d *Desk[W]) Waiting(id record.PartitionID) int {
	n := 0
	for _, q := range d.parts[id] {
		n += len(q.waiting)
	}
	return n
}
