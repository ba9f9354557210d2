package client

import (
	"fmt"
	"slices"

	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// landed says that an attempt is over, however it ended.
func (l *lane) landed(b *batch) {
	b.flying = false
	l.flights--
	if l.flights == 0 {
		l.hold = false
	}
}

// succeeded ends a batch that is in the log from base on (-1 with acks=0).
func (l *lane) succeeded(b *batch, base record.Offset) {
	if b.gone {
		return
	}
	l.failures = 0
	l.remove(b)
	for i, op := range b.ops {
		at := base
		if base >= 0 {
			at += record.Offset(i)
		}
		l.p.c.succeed(op, Result{Published: Published{ID: l.id, Offset: at, Timestamp: b.stamps[i]}})
	}
	l.p.resolved(b.size, b.era, len(b.ops))
}

// refused decides what becomes of a batch after an attempt without success.
// maybe: the attempt may have put it into the log all the same. moved: a new
// leader is known, so it is worth trying again at once.
func (l *lane) refused(b *batch, code message.Code, maybe, moved bool) {
	if b.gone {
		return
	}
	b.code = code
	b.maybe = b.maybe || maybe
	switch {
	case gap(code) && b.numbered:
		l.outOfSequence(b)
	case code.Retriable() || code == message.UnknownServerError:
		l.again(moved)
	default:
		l.giveUp(b, Refused)
	}
	if l.broken {
		l.unnumber()
	}
}

// gap are the refusals which say that the broker's memory of the
// producer does not lead up to the batch.
func gap(c message.Code) bool {
	return c == message.OutOfOrderSequence || c == message.UnknownProducerID || c == message.InvalidProducerEpoch
}

// outOfSequence decides about a batch that the broker finds out of sequence.
func (l *lane) outOfSequence(b *batch) {
	switch {
	case l.follows(b):
		// One before it is still to be resolved: it goes first, then this one
		// again, under its number or, in a broken lane, under a new one.
		l.again(false)
	case b.maybe:
		// Nothing is before it, and yet it does not fit: what the broker knew is
		// gone (expired, or lost with an unclean election). An earlier attempt
		// may stand in the log or may have been lost with the rest. To send it
		// under a new number might double it.
		l.giveUp(b, Refused)
	case l.p.c.transactor.on(): // the epoch is the transaction's
		l.giveUp(b, Refused)
	default:
		l.broken = true
		l.again(false)
	}
}

// follows says whether a numbered batch without a result is before b.
func (l *lane) follows(b *batch) bool {
	for _, earlier := range l.batches {
		if earlier == b {
			return false
		}
		if earlier.numbered {
			return true
		}
	}
	return false
}

// unnumber takes the number back from batches that are certainly not in the
// log and that no network holds.
func (l *lane) unnumber() {
	for _, b := range l.batches {
		if b.numbered && !b.flying && !b.maybe {
			b.numbered = false
		}
	}
}

// again has the lane send its batches again, after a rest.
func (l *lane) again(moved bool) {
	l.hold = l.flights > 0
	if moved {
		return
	}
	l.failures++
	l.rest = max(l.rest, l.p.c.now.Mono.Add(l.p.c.backoff(l.failures)))
}

// giveUp ends a batch without success: as failed when it is certain that it
// will never be in the log, else as unknown.
func (l *lane) giveUp(b *batch, why Problem) {
	l.remove(b)
	e := &Error{Problem: l.p.c.transactor.means(why, b.code), Code: b.code}
	outcome := NotDone
	if b.maybe || b.flying {
		outcome = Unknown
		e.Detail = fmt.Sprintf("publish to %s/%d: no certain answer", l.topic.name, l.id.Index)
	} else {
		e.Detail = fmt.Sprintf("publish to %s/%d: the record was not appended", l.topic.name, l.id.Index)
	}
	if b.code == message.None {
		e.Detail += ": " + why.String()
	}
	l.p.c.transactor.failed(e)
	if b.numbered && !l.p.c.transactor.on() {
		l.broken = true
		l.unnumber()
	}
	for _, op := range b.ops {
		l.p.c.fail(op, outcome, e)
	}
	l.p.resolved(b.size, b.era, len(b.ops))
}

func (l *lane) remove(b *batch) {
	b.gone = true
	i := slices.Index(l.batches, b)
	l.batches = slices.Delete(l.batches, i, i+1)
	if len(l.batches) == 0 {
		l.p.c.alarms.Stop(&l.expiry)
		l.p.c.alarms.Stop(&l.linger)
	} else if i == 0 {
		l.p.c.alarms.Set(&l.expiry, l.batches[0].deadline)
	}
}

// expire gives up the batches whose delivery timeout is over.
func (l *lane) expire() {
	for len(l.batches) > 0 && l.batches[0].deadline <= l.p.c.now.Mono {
		l.giveUp(l.batches[0], TimedOut)
	}
	l.stir()
}

// close ends a lane whose topic was deleted.
func (l *lane) close() {
	l.closed = true
	l.leave()
	for len(l.batches) > 0 {
		b := l.batches[0]
		if b.code = message.UnknownTopicID; !b.maybe && !b.flying {
			l.giveUp(b, NoSuchTopic)
		} else {
			l.giveUp(b, Refused)
		}
	}
	l.p.c.alarms.Stop(&l.retry)
}

// leave takes the lane out of where it queues.
func (l *lane) leave() {
	gone := func(q []*lane) []*lane {
		if i := slices.Index(q, l); i >= 0 {
			return slices.Delete(q, i, i+1)
		}
		return q
	}
	switch l.at {
	case queued:
		l.node.ready = gone(l.node.ready)
	case leaderless:
		l.p.homeless = gone(l.p.homeless)
	case unnamed:
		l.p.identity.waiting = gone(l.p.identity.waiting)
	}
	l.at, l.node = nowhere, nil
}
