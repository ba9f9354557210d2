package client

import (
	"fmt"

	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// flow is one partition being read. Four positions belong to it:
//
//	committed ≤ processed ≤ given ≤ at
//
// at is what is fetched next, given what the application is handed next,
// processed what it has come back from. Only a Seek or a truncation moves them
// back. Nothing beyond given is ever committed, and nothing beyond processed
// by the client itself (INV-26, KAFKA-2942).
//
// turn counts the times when the flow was set to a new position. Each question
// to a broker remembers it, and an answer to a question of an earlier turn is
// ignored (INV-22).
type flow struct {
	k     *consumer
	id    record.PartitionID
	place Place
	stage stage
	turn  uint64
	// stretch names the reading from one position on: no two in a client have the
	// same.
	stretch uint64
	asked   bool // a question of this stage is on its way

	seek     Position      // what to look up in stage wantOffset
	reset    bool          // it is the reset policy that looks it up
	from     record.Offset // where it stood before the reset; NoOffset
	at       record.Offset
	atEpoch  record.LeaderEpoch // of the record before at; NoLeaderEpoch: not known
	checked  record.LeaderEpoch // the leadership against whose history at was checked
	suspect  bool               // the last fetch was out of range
	drain    bool               // nothing is fetched until all that was is handed over
	buffer   buffer
	corrupt  int // replies in a row that could not be read
	missing  message.Time
	failures int
	rest     message.Time

	given          record.Offset
	givenEpoch     record.LeaderEpoch
	processed      record.Offset
	processedEpoch record.LeaderEpoch
	committed      record.Offset // NoOffset: not known, or none
	used           bool          // something was handed over since the last new position
	origin         record.Offset // where the reading began
	originEpoch    record.LeaderEpoch
	goBack         bool // to origin, if nothing is committed

	high, low record.Offset // high watermark and log start as last seen; they never fall but by a truncation
	stable    record.Offset // so the last stable offset
	fetcher   *node         // was sent a fetch of it and has not answered; nil: nobody
	more      bool          // there may be something to fetch at once
	paused    bool
	leaving   bool // it is being given up: nothing is delivered any more
	dead      bool
}

// stage is what a flow waits for.
type stage uint8

const (
	wantCommitted stage = iota // the group's position
	wantOffset                 // an offset for Flow.seek
	reading
	stuck // a Seek
)

func newFlow(k *consumer, id record.PartitionID, place Place) *flow {
	f := &flow{k: k, id: id, place: place, committed: message.NoOffset}
	return f
}

// placed says that the flow has a position.
func (f *flow) placed() bool { return f.stage == reading }

// begin sets the flow to a position, or to looking it up.
func (f *flow) begin(p Position) {
	f.renew()
	switch p.Kind {
	case AtOffset:
		f.land(p.Offset, record.NoLeaderEpoch)
	case AtCommitted:
		if f.stage = wantCommitted; f.k.group == "" {
			f.policy(message.NoOffset)
		}
	default:
		f.stage, f.seek, f.reset = wantOffset, p, false
	}
}

// renew forgets what was fetched and asked for the old position.
func (f *flow) renew() {
	f.turn++
	f.k.stretches++
	f.stretch = f.k.stretches
	f.asked, f.suspect, f.drain, f.goBack = false, false, false, false
	f.fetcher, f.more = nil, true
	f.failures, f.rest, f.missing = 0, 0, 0
	f.discard()
	f.k.stir = true
}

// land puts the flow at an offset. epoch is that of the record before it.
func (f *flow) land(offset record.Offset, epoch record.LeaderEpoch) {
	f.renew()
	f.stage, f.used = reading, false
	f.at, f.atEpoch, f.checked = offset, epoch, record.NoLeaderEpoch
	f.given, f.givenEpoch = offset, epoch
	f.processed, f.processedEpoch = offset, epoch
	f.origin, f.originEpoch = offset, epoch
}

// policy applies the reset policy to a flow whose position, from, is not in the
// log, or that has none.
func (f *flow) policy(from record.Offset) {
	f.renew()
	f.from, f.reset = from, true
	switch f.k.reset {
	case ResetEarliest:
		f.stage, f.seek = wantOffset, Position{Kind: AtEarliest}
	case ResetLatest:
		f.stage, f.seek = wantOffset, Position{Kind: AtLatest}
	default:
		code := message.OffsetOutOfRange
		if from == message.NoOffset {
			code = message.None
		}
		f.stop(&Error{Problem: Refused, Code: code, Detail: fmt.Sprintf(
			"%s/%d: there is no position to read from, or it is not in the log, and the reset policy is none: Seek", f.place.Topic, f.place.Partition)})
	}
}

// stop lets the flow wait for a Seek and tells the application.
func (f *flow) stop(e *Error) {
	f.renew()
	f.stage = stuck
	f.event(Event{Kind: Stuck, Err: e})
}

func (f *flow) event(e Event) {
	e.Group = f.k.group
	e.Partitions = []PlacedID{{f.place, f.id}}
	f.k.c.out.Add(e)
}

// pauseAfter lets the flow rest after a failure.
func (f *flow) pauseAfter() {
	f.failures++
	f.rest = f.k.c.now.Mono.Add(f.k.c.backoff(f.failures))
}

// seen takes in what a broker says about the bounds of the log.
func (f *flow) seen(high, low record.Offset) {
	f.high, f.low = max(f.high, high), max(f.low, low)
}

// unfetch goes back to what the application has: all that was fetched ahead is fetched
// again, once it is known that the leader has what comes before.
func (f *flow) unfetch() {
	f.discard()
	f.drain = false // there is nothing left to hand over first
	f.fetcher, f.more = nil, true
	f.at, f.atEpoch, f.checked = f.given, f.givenEpoch, record.NoLeaderEpoch
}

// readable is the end of what may be read, as last seen.
func (f *flow) readable() record.Offset {
	if f.k.c.cfg.Isolation == message.ReadCommitted {
		return f.stable
	}
	return f.high
}

// diverged takes in that the leader's history and what was read part at end.
func (f *flow) diverged(end message.EpochEnd) {
	if f.at > f.given {
		f.unfetch() // it may not be true any more: check what the application has
		return
	}
	if before, ok := f.k.handing.of(f); ok {
		// So it is with what waits for its commit: its poll is not given it.
		f.land(before.Offset, before.LeaderEpoch)
		return
	}
	if end.Epoch == record.NoLeaderEpoch && f.at <= end.End {
		f.atEpoch = record.NoLeaderEpoch // older than all that the leader has
		return
	}
	from, to, epoch := f.at, end.End, end.Epoch
	if to > from {
		to, epoch = from, record.NoLeaderEpoch
	}
	to = max(to, 0)
	f.event(Event{Kind: Truncated, From: from, To: to})
	f.high, f.stable = min(f.high, to), min(f.stable, to)
	f.land(to, epoch)
	if f.k.reset == ResetNone {
		f.stage = stuck
	}
}

// outOfRange takes in that the position is not in the leader's log.
func (f *flow) outOfRange() {
	_, handing := f.k.handing.of(f)
	switch {
	case f.at > f.given || handing: // hand over first what is there
		f.drain = true
	case f.atEpoch != record.NoLeaderEpoch && !f.suspect:
		f.suspect, f.checked = true, record.NoLeaderEpoch // was it truncated?
	default:
		f.policy(f.at)
	}
}

// listed takes in the offset that was looked up.
func (f *flow) listed(offset record.Offset) {
	switch f.seek.Kind { // the next fetch may be answered by a leader that cannot show its bounds yet
	case AtEarliest:
		f.seen(f.high, offset)
	case AtLatest:
		f.seen(offset, f.low)
		if f.k.c.cfg.Isolation == message.ReadCommitted {
			f.stable = max(f.stable, offset)
		}
	}
	reset, from := f.reset, f.from
	f.land(offset, record.NoLeaderEpoch)
	f.reset = false
	if reset {
		f.event(Event{Kind: Repositioned, From: from, To: offset})
	}
}

// refused takes in an error code about the flow.
func (f *flow) refused(code message.Code, leader message.NodeID, epoch record.LeaderEpoch) {
	switch {
	case code == message.OffsetOutOfRange && f.stage == reading:
		f.outOfRange()
	case staleLeader(code):
		if !f.k.c.cluster.hint(f.id, leader, epoch) {
			f.pauseAfter()
		}
	case code.Retriable() || code == message.UnknownServerError || code == message.CorruptMessage:
		f.k.c.cluster.want()
		f.pauseAfter()
	default:
		f.stop(&Error{Problem: Refused, Code: code, Detail: fmt.Sprintf("%s/%d cannot be read", f.place.Topic, f.place.Partition)})
	}
}
