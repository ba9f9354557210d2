package client

import (
	"github.com/tamarack-mq/tamarack/core/message"
)

// poll is a Poll that waits for records.
type poll struct {
	op    Op
	max   int
	until alarm
}

// handover is what AtMostOnce has taken out of the buffers for a Poll and
// hands over when the positions behind it are committed.
type handover struct {
	poll  *poll
	parts []handed
}

// handed are the records of one flow in a handover.
type handed struct {
	flow     *flow
	turn     uint64
	delivery Delivery
	before   CommitOffset // the position before them
}

func (k *consumer) poll(in Poll) {
	switch {
	case k.expelled != nil:
		k.c.fail(in.Op, NotDone, k.expelled)
		return
	case k.mode == idle || len(k.ending) > 0:
		k.c.fail(in.Op, NotDone, &Error{Problem: NotReading, Detail: "poll: Subscribe or Assign first"})
		return
	}
	p := &poll{op: in.Op, max: in.Max}
	if p.max <= 0 {
		p.max = k.c.cfg.PollRecords
	}
	p.until.Due = func() { k.expirePoll(p) }
	k.cameBack()
	if k.mode == grouped {
		k.member.polled()
	}
	k.polls = append(k.polls, p)
	k.serve()
	if in.Wait > 0 && in.Wait < message.Duration(message.Never)-message.Duration(k.c.now.Mono) {
		if k.waits(p) {
			k.c.alarms.Set(&p.until, k.c.now.Mono.Add(in.Wait))
		}
	} else if in.Wait <= 0 && k.waits(p) {
		k.expirePoll(p)
	}
}

// cameBack says that the application has processed all that it was given.
func (k *consumer) cameBack() {
	for _, f := range k.list {
		if f.used {
			f.processed, f.processedEpoch = f.given, f.givenEpoch
		}
	}
	k.autoSoon()
	if k.mode == grouped {
		k.member.continueGiving()
	}
}

// waits says whether a poll is still in the queue.
func (k *consumer) waits(p *poll) bool {
	for _, q := range k.polls {
		if p == q {
			return true
		}
	}
	return false
}

// expirePoll answers a poll with nothing.
func (k *consumer) expirePoll(p *poll) {
	for i, q := range k.polls {
		if p == q {
			k.polls = append(k.polls[:i:i], k.polls[i+1:]...)
			k.answer(p, nil)
			return
		}
	}
}

// endPolls fails all polls.
func (k *consumer) endPolls(e *Error) {
	polls := k.polls
	k.polls = nil
	if h := k.handing; h != nil && h.poll != nil {
		polls = append([]*poll{h.poll}, polls...)
		h.poll = nil
	}
	for _, p := range polls {
		k.c.alarms.Stop(&p.until)
		k.c.fail(p.op, NotDone, e)
	}
}

// serve answers polls from what was fetched, in their order.
func (k *consumer) serve() {
	for len(k.polls) > 0 && k.buffered > 0 && k.handing == nil {
		p := k.polls[0]
		parts := k.gather(p.max)
		if len(parts) == 0 {
			return
		}
		k.polls = k.polls[1:]
		k.c.alarms.Stop(&p.until)
		if k.style == AtMostOnce && k.group != "" {
			k.commitFirst(&handover{p, parts})
			return
		}
		deliveries := make([]Delivery, len(parts))
		for i := range parts {
			deliveries[i] = parts[i].delivery
		}
		k.answer(p, deliveries)
	}
}

// gather takes records out of the buffers: from one flow after the other, and
// next time from the one behind the last.
func (k *consumer) gather(limit int) (parts []handed) {
	n := len(k.list)
	first := k.turn
	for i := range n {
		if limit == 0 {
			break
		}
		at := (first + i) % n
		f := k.list[at]
		if f.buffer.size == 0 || f.paused || f.leaving {
			continue
		}
		before := CommitOffset{Place: f.place, Offset: f.given, LeaderEpoch: f.givenEpoch}
		records := f.pop(limit)
		if len(records) == 0 {
			continue
		}
		limit -= len(records)
		k.turn = at + 1
		parts = append(parts, handed{f, f.turn, Delivery{PlacedID: PlacedID{f.place, f.id}, Records: records,
			Next: f.given, Stretch: f.stretch, HighWatermark: f.high, LastStable: f.stable, LogStart: f.low}, before})
	}
	return parts
}

// answer ends a poll.
func (k *consumer) answer(p *poll, deliveries []Delivery) {
	k.c.succeed(p.op, Result{Polled: deliveries})
	if k.mode == grouped {
		k.member.answered()
	}
}

// commitFirst commits the positions behind the records of a handover before
// they are handed over.
func (k *consumer) commitFirst(h *handover) {
	k.handing = h
	one := k.newCommit(k.c.cfg.AskTimeout)
	one.alone = k.member != nil
	for _, part := range h.parts {
		one.entries = append(one.entries, entryAt(part.flow, part.flow.given, part.flow.givenEpoch))
	}
	one.finish = func(o Outcome, e *Error) { k.handOver(h, o, e) }
	k.commits.add(one)
}

// of tells where the application is in a flow of which records wait for their
// commit; ok is false when none do, or they will not be given to it any more.
func (h *handover) of(f *flow) (before CommitOffset, ok bool) {
	if h == nil {
		return CommitOffset{}, false
	}
	for i := range h.parts {
		if part := &h.parts[i]; part.flow == f && part.turn == f.turn {
			return part.before, true
		}
	}
	return CommitOffset{}, false
}

// handOver gives the records to their poll when their positions are committed.
// Otherwise nobody was given them: they are read again, unless another member
// reads them now.
func (k *consumer) handOver(h *handover, o Outcome, e *Error) {
	k.handing = nil
	k.stir = true
	var deliveries []Delivery
	for _, part := range h.parts {
		f := part.flow
		switch {
		case f.dead || f.turn != part.turn && o != OK:
		case o == OK && f.turn == part.turn:
			f.drain = f.drain && f.buffer.size > 0
			f.processed, f.processedEpoch = part.delivery.Next, part.delivery.Records[len(part.delivery.Records)-1].LeaderEpoch
			deliveries = append(deliveries, part.delivery)
		case o != OK:
			checked := f.checked
			f.land(part.before.Offset, part.before.LeaderEpoch)
			f.checked = checked // it is the same history
		}
	}
	if o == Unknown && k.mode == grouped {
		// A copy of the commit may still arrive, after later ones, and move the
		// position back: records would be handed over twice. A new member id
		// shuts it out.
		k.member.replace()
	}
	switch {
	case h.poll == nil:
	case len(deliveries) > 0:
		k.answer(h.poll, deliveries)
	case e != nil && e.Problem != NotOwned && o == NotDone:
		k.c.fail(h.poll.op, NotDone, e)
	default:
		k.answer(h.poll, nil)
	}
	if k.mode == grouped {
		k.member.continueGiving()
	}
}
