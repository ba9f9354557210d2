package group

import (
	"fmt"

	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// phase is where a led shard stands.
type phase uint8

const (
	// loading: the log is being replayed; nothing is served.
	loading phase = iota
	serving
	// settling: an append failed. Memory is dropped; a barrier record has to
	// commit, so that all before it is decided, and then the shard loads again.
	settling
)

// shard is one led partition of the internal topic.
type shard struct {
	home  *Coordinator
	index int32
	epoch record.LeaderEpoch
	phase phase
	state *state

	writes []change // decided and applied in this call, not yet appended
	queue  queue
	reads  []queued // replies that wait for an append which is still to be made

	// records counts those in the log from where replay would begin.
	records  int
	snapshot *snapshot // being written; nil: none
	replay   replay    // while loading

	barrier uint64       // ticket of the barrier that was appended last; 0: none under way
	retryAt message.Time // settling: when to append a barrier
	retries int          // barriers that failed one after the other

	patience message.Time // when to look for replies that wait too long
}

func newShard(home *Coordinator, index int32, epoch record.LeaderEpoch) *shard {
	return &shard{home: home, index: index, epoch: epoch, state: newState(), retryAt: message.Never, patience: message.Never}
}

// load starts a replay from the log start.
func (s *shard) load(out *Out) {
	s.phase, s.state, s.replay, s.retryAt = loading, newState(), replay{}, message.Never
	out.Loads = append(out.Loads, Load{s.index, s.epoch})
}

// wake is when the shard next wants a tick.
func (s *shard) wake() message.Time {
	switch s.phase {
	case serving:
		return min(s.state.timers.Next(), s.patience)
	case settling:
		return s.retryAt
	}
	return message.Never
}

// tick lets the deadlines up to now pass.
func (s *shard) tick(now message.Now, out *Out) {
	switch s.phase {
	case serving:
		if s.patience <= now.Mono {
			s.patience = min(late(now.Mono, s.queue.entries[s.queue.first:], out), late(now.Mono, s.reads, out))
		}
		s.expire(now)
		s.flush(now, out)
	case settling:
		if s.retryAt <= now.Mono {
			s.appendBarrier(now, out)
		}
	}
}

// write is how a handler decides: the change is applied at once and appended
// with the others of this call by flush.
func (s *shard) write(k key, v value) {
	c := change{k, v}
	s.state.apply(c)
	s.writes = append(s.writes, c)
}

// flush appends what was decided in this call.
func (s *shard) flush(now message.Now, out *Out) {
	s.append(now, out, nil)
	s.maybeSnapshot(now, out)
	s.drain(now, out)
	s.confirmReads(now, out)
	s.check(out)
}

// confirmReads appends a barrier for the reads that wait for one, unless an
// append is under way: what comes after it will do.
func (s *shard) confirmReads(now message.Now, out *Out) {
	if len(s.reads) > 0 && s.queue.pending == 0 {
		s.writes = append(s.writes, change{key{kind: kindMarker, mark: markBarrier}, markerValue{}})
		s.append(now, out, nil)
	}
}

// append sends the pending writes on their way, in batches of bounded size.
// then happens once the last of them is committed. A decision that needs more
// than one batch may be cut between two of them by a crash: the order in which
// handlers write keeps every such cut safe, and loading mends it (see mend).
func (s *shard) append(now message.Now, out *Out, then func(message.Now, record.Offset, *Out)) {
	if len(s.writes) == 0 {
		return
	}
	s.records += len(s.writes)
	batches := encodeBatches(s.writes, now.Wall, s.home.cfg.MaxBatchBytes)
	clear(s.writes)
	s.writes = s.writes[:0]
	for i, batch := range batches {
		ticket := s.home.ticket(s)
		out.Appends = append(out.Appends, Append{Shard: s.index, Epoch: s.epoch, Ticket: ticket, Batch: batch})
		entry := queued{ticket: ticket}
		if i == len(batches)-1 {
			entry.then = then
		}
		s.queue.push(entry)
	}
	for _, read := range s.reads {
		s.queue.push(read)
	}
	s.queue.waiting -= len(s.reads)
	clear(s.reads)
	s.reads = s.reads[:0]
}

// check reports a broken invariant: the node must stop before it can act on it.
func (s *shard) check(out *Out) {
	if s.state.fault != "" && out.Halt == "" {
		out.Halt = fmt.Sprintf("shard %d of %s: %s", s.index, TopicName, s.state.fault)
	}
}

// answer queues the reply to a request behind everything that is pending, and
// that of a read behind one append more.
func (s *shard) answer(now message.Now, token message.Token, request message.Request, reply message.Reply) {
	entry := queued{token: token, request: request, reply: reply, due: s.await(now)}
	switch request.(type) {
	case *message.FetchOffsets, *message.DescribeGroup:
		s.reads = append(s.reads, entry)
		s.queue.waiting++
	default:
		s.queue.push(entry)
	}
}

// await is when a reply that begins to wait now must be given, whatever happens.
func (s *shard) await(now message.Now) message.Time {
	due := now.Mono.Add(s.home.cfg.AnswerTimeout)
	s.patience = min(s.patience, due)
	return due
}

// wrote completes one append.
func (s *shard) wrote(now message.Now, ticket uint64, code message.Code, base record.Offset, out *Out) {
	switch {
	case ticket == s.barrier && code == message.None:
		s.barrier = 0
		s.load(out)
	case ticket == s.barrier:
		s.barrier = 0
		s.retryAt = now.Mono.Add(s.home.cfg.RetryBackoff << min(s.retries, 5))
		s.retries++
	case code != message.None:
		s.retries = 0
		s.fail("an append failed ("+code.String()+"); the coordinator loads its log anew", out)
		s.phase = settling
		s.appendBarrier(now, out)
	default:
		s.queue.done(ticket, base)
		s.drain(now, out)
		s.maybeSnapshot(now, out)
		s.confirmReads(now, out)
		s.check(out)
	}
}

// appendBarrier writes a record that means nothing: once it is committed, so is
// everything that was appended before it, known to this node or not.
func (s *shard) appendBarrier(now message.Now, out *Out) {
	s.retryAt = message.Never
	s.barrier = s.home.ticket(s)
	c := change{key{kind: kindMarker, mark: markBarrier}, markerValue{s.barrier}}
	for _, batch := range encodeBatches([]change{c}, now.Wall, s.home.cfg.MaxBatchBytes) {
		out.Appends = append(out.Appends, Append{Shard: s.index, Epoch: s.epoch, Ticket: s.barrier, Batch: batch})
	}
}

// drain answers everybody who waits for nothing any more.
func (s *shard) drain(now message.Now, out *Out) {
	for {
		entry, ok := s.queue.pop()
		if !ok {
			if s.queue.waiting == 0 {
				s.patience = message.Never
			}
			return
		}
		switch {
		case entry.over:
		case entry.ticket != 0:
			if entry.then != nil {
				entry.then(now, entry.base, out)
			}
		case entry.listing != nil:
			entry.listing.ready(out)
		default:
			out.Replies = append(out.Replies, Reply{entry.token, entry.reply})
		}
	}
}

// fail drops the shard's memory and all that waits for it. Whether what was
// pending takes effect is not known: NotCoordinator tells that.
func (s *shard) fail(detail string, out *Out) {
	for _, entry := range append(s.queue.entries[s.queue.first:], s.reads...) {
		switch {
		case entry.over:
		case entry.ticket != 0:
			delete(s.home.tickets, entry.ticket)
		case entry.listing != nil:
			entry.listing.fail(out)
		default:
			out.Replies = append(out.Replies, Reply{entry.token, message.Fail(entry.request, message.NotCoordinator, detail)})
		}
	}
	delete(s.home.tickets, s.barrier)
	s.barrier = 0
	s.queue, s.reads, s.writes, s.snapshot, s.state, s.records = queue{}, nil, nil, nil, newState(), 0
	s.patience = message.Never
}
