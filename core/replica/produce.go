package replica

import (
	"cmp"
	"errors"

	"github.com/tamarack-mq/tamarack/core/log"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// Produce appends batches to partitions that this broker leads, and answers
// when acks asks for it: for AcksLeader once the operating system has all
// batches, for AcksAll once the high watermark has passed them, for AcksNone
// never. While too much is waiting for the disk it is held back, in order.
func (m *Manager) Produce(now message.Now, token message.Token, r *message.Produce, out *Out) {
	if m.halted {
		return
	}
	if m.congested() || len(m.held) > 0 {
		m.hold(now, token, r, out)
	} else {
		m.produce(now, token, r, out)
	}
	m.finish(now, out)
}

func (m *Manager) produce(now message.Now, token message.Token, r *message.Produce, out *Out) {
	w := &produceWait{token: token}
	w.timer.Due = w
	w.reply.Partitions = make([]message.ProducedPartition, len(r.Partitions))
	for i := range r.Partitions {
		m.produceOne(now, w, int32(i), r, out)
	}
	switch {
	case r.Acks == message.AcksNone:
	case w.left == 0:
		out.Reply(token, &w.reply)
	default:
		m.timers.Set(&w.timer, within(now.Mono, r.Timeout))
	}
}

// produceOne appends one batch, or says why not, or that it is there already.
func (m *Manager) produceOne(now message.Now, w *produceWait, index int32, r *message.Produce, out *Out) {
	p, acks := &r.Partitions[index], r.Acks
	answer := &w.reply.Partitions[index]
	*answer = message.ProducedPartition{ID: p.ID, BaseOffset: -1, LogStart: -1, LeaderEpoch: record.NoLeaderEpoch}
	l, code := m.leading(p.ID)
	if code != message.None {
		answer.Code = code
		answer.Leader, answer.LeaderEpoch = m.hint(p.ID)
		return
	}
	switch {
	case acks < message.AcksAll || acks > message.AcksLeader:
		answer.Code = message.InvalidRequiredAcks
		return
	case l.r.state.Config.Internal: // only the cluster itself writes there
		answer.Code = message.InvalidTopic
		return
	}
	h, code := l.examine(p.Records)
	if code == message.None && h.Attributes.Transactional() && !h.Attributes.Control() {
		var waits bool
		if waits, code = l.verify(m, now, w, index, r, &h, out); waits {
			w.left++
			return
		}
	}
	added := addition{code: code, base: -1}
	if code == message.None {
		added = l.add(m, now, &h, p.Records, acks, out)
	}
	if l.outcome(w, index, acks, added) {
		w.left++
	}
}

// outcome puts down what became of a batch. It is true when that is not certain
// yet: then the batch waits in w for it.
func (l *leader) outcome(w *produceWait, index int32, acks message.Acks, added addition) (waits bool) {
	answer := &w.reply.Partitions[index]
	answer.Code, answer.BaseOffset, answer.LogStart = added.code, added.base, l.shownStart()
	if added.code != message.None {
		return false
	}
	wait := waiter{end: added.end, wait: w, index: index}
	switch {
	case acks == message.AcksAll && added.end > l.r.highWatermark:
		l.acked.push(wait)
	case acks == message.AcksLeader && added.end > l.r.appended:
		l.written.push(wait)
	default:
		return false
	}
	return true
}

// addition is what became of a batch: where it is, or why it is not.
type addition struct {
	code      message.Code
	base, end record.Offset
}

// examine reads a batch that somebody wants to append, and says what is wrong with
// it or with the log.
func (l *leader) examine(batch []byte) (record.Header, message.Code) {
	if limit := cmp.Or(l.r.state.Config.MaxBatchBytes, defaultMaxBatch); len(batch) > int(limit) {
		return record.Header{}, message.MessageTooLarge
	}
	h, err := record.Validate(batch)
	switch {
	case err != nil:
		return h, codeOf(err)
	case l.r.damage.what != "":
		return h, message.StorageError
	}
	return h, message.None
}

// add appends a batch that was examined to the log of a leader. A batch that is
// there already is not appended again and counts as added where it is: whoever
// sent it waits for it as for a new one.
func (l *leader) add(m *Manager, now message.Now, h *record.Header, batch []byte, acks message.Acks, out *Out) addition {
	r := l.r
	refuse := func(code message.Code) addition { return addition{code: code, base: -1} }
	switch v := r.log.Check(h); {
	case v.Outcome == log.Refused:
		return refuse(v.Code)
	case v.Outcome == log.Duplicate && acks == message.AcksAll && v.End > r.highWatermark && !l.enoughInSync():
		return refuse(message.NotEnoughReplicasAfterAppend) // it may still commit
	case v.Outcome == log.Duplicate:
		return addition{base: v.Base, end: v.End}
	case m.diskLow:
		return refuse(message.DiskFull)
	case acks == message.AcksAll && !l.enoughInSync():
		return refuse(message.NotEnoughReplicas)
	}
	return l.append(m, now, h, batch, out)
}

// defaultMaxBatch is max.message.bytes of a topic that sets none.
const defaultMaxBatch = 1 << 20

// codeOf is how a client is told what is wrong with its batch.
func codeOf(err error) message.Code {
	if errors.Is(err, record.ErrChecksum) || errors.Is(err, record.ErrShort) {
		return message.CorruptMessage
	}
	return message.InvalidRequest
}

// append gives a batch its place at the end of the log and sends it on its way:
// to the disk, and to followers that are waiting for news.
func (l *leader) append(m *Manager, now message.Now, h *record.Header, batch []byte, out *Out) addition {
	r := l.r
	base := r.log.End()
	h.BaseOffset, h.LeaderEpoch = base, l.epoch
	record.Stamp(batch, base, l.epoch)
	end := h.End()
	for _, p := range l.peers {
		p.fellBehind(now.Mono, base, end)
	}
	r.append(m, now, []record.Header{*h}, batch, out)
	l.tail.push(end, len(batch))
	for _, p := range l.peers {
		if p.seat != nil {
			p.seat.news(m, now, true)
		}
	}
	l.watchLag(m, now)
	return addition{base: base, end: end}
}

// heldProduce is a request that waits until the disk has caught up.
type heldProduce struct {
	token    message.Token
	request  *message.Produce
	bytes    int64
	deadline message.Time
}

// hold keeps a request back. Too much of that is refused; nothing of such a
// request was written.
func (m *Manager) hold(now message.Now, token message.Token, r *message.Produce, out *Out) {
	bytes := int64(64)
	for i := range r.Partitions {
		bytes += int64(len(r.Partitions[i].Records))
	}
	if m.HeldBytes()+bytes > m.cfg.HeldBytes {
		refuseProduce(token, r, out)
		return
	}
	m.heldBytes += bytes
	h := heldProduce{token, r, bytes, within(now.Mono, r.Timeout)}
	m.held = append(m.held, h)
	m.timers.Sooner(&m.heldTimer, h.deadline)
}

// heldTimer is a Manager as the owner of that timer: time is over for some of
// what is held back.
type heldTimer Manager

func (h *heldTimer) expire(m *Manager, now message.Now, out *Out) {
	kept := m.held[:0]
	for _, h := range m.held {
		if now.Mono >= h.deadline {
			m.heldBytes -= h.bytes
			refuseProduce(h.token, h.request, out)
			continue
		}
		kept = append(kept, h)
		m.timers.Sooner(&m.heldTimer, h.deadline)
	}
	clear(m.held[len(kept):])
	m.held = kept
}

// releaseHeld goes on with what was held back, as far as the disk allows.
func (m *Manager) releaseHeld(now message.Now, out *Out) {
	n := 0
	for n < len(m.held) && !m.congested() {
		h := m.held[n]
		n++
		m.heldBytes -= h.bytes
		m.produce(now, h.token, h.request, out)
	}
	if n == 0 {
		return
	}
	rest := copy(m.held, m.held[n:])
	clear(m.held[rest:])
	m.held = m.held[:rest]
	if rest == 0 {
		m.timers.Stop(&m.heldTimer)
	}
}

func refuseProduce(token message.Token, r *message.Produce, out *Out) {
	if r.Acks != message.AcksNone {
		out.Reply(token, message.Fail(r, message.BrokerNotAvailable, ""))
	}
}
