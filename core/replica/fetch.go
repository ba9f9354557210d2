package replica

import (
	"cmp"

	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// Fetch reads committed records for a consumer, with ReadCommitted only up to the
// last stable offset. It waits until MinBytes are
// there, an error has to be told, or MaxWait is over. Behind the newest batches
// there is always enough, whatever the batches there add up to.
func (m *Manager) Fetch(now message.Now, token message.Token, r *message.Fetch, out *Out) {
	if m.halted {
		return
	}
	w := &fetchWait{token: token, request: r}
	if r.MaxWait <= 0 || w.ready(m) {
		w.respond(m, out)
	} else {
		w.wait(m, now)
	}
	m.finish(now, out)
}

// sight is what a consumer may see of one partition now.
type sight struct {
	l         *leader
	code      message.Code
	diverging *message.EpochEnd
	to        record.Offset // read up to here
	bytes     int64         // there are that many
	committed bool          // whole transactions only
	waits     bool          // code is to be told only when time is over
}

// look judges one partition of a Fetch.
func (m *Manager) look(p *message.FetchPartition, isolation message.Isolation) sight {
	l, code := m.leading(p.ID)
	if code != message.None {
		return sight{code: code}
	}
	if code := l.fence(p.LeaderEpoch); code != message.None {
		return sight{l: l, code: code}
	}
	r := l.r
	switch {
	case r.damage.what != "":
		return sight{l: l, code: message.StorageError}
	case !l.shown():
		return sight{l: l, code: message.LeaderNotAvailable, waits: true}
	case p.Offset < r.log.Start() && !l.startAgreed:
		return sight{l: l, code: message.LeaderNotAvailable, waits: true}
	case p.Offset < r.log.Start():
		return sight{l: l, code: message.OffsetOutOfRange}
	}
	if at := diverges(r.log, p.Offset, p.LastEpoch); at != nil && p.Offset > r.log.Start() {
		return sight{l: l, diverging: at}
	}
	if p.Offset > r.log.End() {
		return sight{l: l, code: message.OffsetOutOfRange}
	}
	return l.sees(p.Offset, isolation)
}

// sees is what a consumer may see of a log from an offset on.
func (l *leader) sees(from record.Offset, isolation message.Isolation) sight {
	r := l.r
	s := sight{l: l, to: r.highWatermark, committed: isolation == message.ReadCommitted}
	if s.committed {
		s.to = l.lastStable()
	}
	s.bytes = l.tail.between(from, s.to)
	return s
}

// fence compares a client's or a peer's view of the leadership with the one
// that is.
func (l *leader) fence(epoch record.LeaderEpoch) message.Code {
	switch {
	case epoch == record.NoLeaderEpoch || epoch == l.epoch:
		return message.None
	case epoch < l.epoch:
		return message.FencedLeaderEpoch
	}
	return message.UnknownLeaderEpoch
}

// consumerRead is an answer whose records are being read.
type consumerRead struct {
	token message.Token
	reply *message.FetchReply
	parts []consumerPart
}

// consumerPart is a partition of the answer that was led at the question.
type consumerPart struct {
	index int
	l     *leader
	from  record.Offset
	reads bool // records of it are among the slices
	whole bool // and those of transactions that were aborted are to be named
}

// respond answers with what there is now.
func (w *fetchWait) respond(m *Manager, out *Out) {
	reply := &message.FetchReply{Partitions: make([]message.FetchedPartition, len(w.request.Partitions))}
	left := min(max(1, int64(w.request.MaxBytes)), int64(m.cfg.FetchBytes))
	var slices []effect.Slice
	parts := make([]consumerPart, 0, len(w.request.Partitions))
	for i := range w.request.Partitions {
		p, answer := &w.request.Partitions[i], &reply.Partitions[i]
		s := m.look(p, w.request.Isolation)
		*answer = m.describe(p.ID, &s)
		if s.code == message.None {
			parts = append(parts, consumerPart{index: i, l: s.l, from: p.Offset})
		}
		if s.code != message.None || s.diverging != nil || p.Offset >= s.to || left <= 0 {
			continue
		}
		limit := min(max(0, int64(p.MaxBytes)), left)
		// A read gives one batch even if it is larger than the limit, so that is
		// what counts: many partitions with low limits must not add up.
		largest := int64(cmp.Or(s.l.r.state.Config.MaxBatchBytes, defaultMaxBatch))
		left -= min(s.bytes, max(limit, largest))
		slices = append(slices, effect.Slice{Log: p.ID, From: p.Offset, To: s.to, MaxBytes: int32(limit)})
		parts[len(parts)-1].reads, parts[len(parts)-1].whole = true, s.committed
	}
	if len(slices) == 0 {
		out.Reply(w.token, reply)
		return
	}
	m.read(&consumerRead{w.token, reply, parts}, slices, out)
}

// describe is the answer for one partition, but for its records. What is told
// of the log is taken at one moment.
func (m *Manager) describe(id record.PartitionID, s *sight) message.FetchedPartition {
	answer := message.FetchedPartition{
		ID: id, Code: s.code, Diverging: s.diverging,
		HighWatermark: -1, LastStable: -1, LogStart: -1,
	}
	answer.Leader, answer.LeaderEpoch = m.hint(id)
	if s.l != nil && s.l.shown() {
		r := s.l.r
		answer.HighWatermark, answer.LastStable = r.highWatermark, s.l.lastStable()
		answer.LogStart = s.l.shownStart()
	}
	return answer
}

// done sends the answer. A partition whose leadership has ended since the
// question gives none of its records away, and nothing that it said of its log.
// Nor does one that was found damaged since, by this read or by another: no
// record of a log that cannot be vouched for is served, whenever it was read.
func (c *consumerRead) done(m *Manager, now message.Now, results []effect.ReadResult, out *Out) {
	c.tellFailed(m, results, out)
	next := 0
	for _, part := range c.parts {
		var result effect.ReadResult
		if part.reads {
			result = results[next]
			next++
		}
		answer := &c.reply.Partitions[part.index]
		switch {
		case !m.still(part.l):
			*answer = m.describe(answer.ID, &sight{code: message.NotLeaderOrFollower})
		case part.l.r.damage.what != "":
			answer.Code, answer.Diverging = message.StorageError, nil
		case result.Err != nil: // retention has overtaken it: all else is damage
			answer.Code = message.OffsetOutOfRange
		case part.whole && part.from < part.l.r.log.Start(): // and what was aborted there
			answer.Code = message.OffsetOutOfRange
		default:
			answer.Records = result.Batches
			if part.whole {
				answer.Aborted = part.aborted(result.Batches)
			}
		}
	}
	out.Reply(c.token, c.reply)
}

// aborted names the aborted transactions among records that were read.
func (p *consumerPart) aborted(records []byte) []message.AbortedTransaction {
	if len(records) == 0 || !p.l.r.log.AbortedBehind(p.from) {
		return nil
	}
	end := p.from
	for it := record.Batches(records); it.Next(); {
		end = it.Header.End()
	}
	return p.l.r.log.Aborted(p.from, end)
}

// tellFailed takes note of the reads that failed, before any of the others is
// answered: one request may name a partition twice.
func (c *consumerRead) tellFailed(m *Manager, results []effect.ReadResult, out *Out) {
	next := 0
	for _, part := range c.parts {
		if !part.reads {
			continue
		}
		if err := results[next].Err; err != nil && m.still(part.l) {
			part.l.r.readFailed(m, part.from, err, out)
		}
		next++
	}
}
