package replica

import (
	"github.com/tamarack-mq/tamarack/core/log"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// peer is what a leader knows of one other replica, in its own epoch and from
// one run of that broker. Offsets are -1 while nothing was heard.
type peer struct {
	node        message.NodeID
	l           *leader
	brokerEpoch message.BrokerEpoch // of the run that spoke
	matched     record.Offset       // the logs are equal up to here
	flushed     record.Offset       // and the peer's is durable up to here
	logStart    record.Offset

	// caughtUp is when the peer was last at the leader's log end. A peer that
	// reaches mark.end was at the end at mark.at: measured so, a log that never
	// stops growing makes nobody look slow.
	caughtUp message.Time
	mark     struct {
		end record.Offset
		at  message.Time
	}

	member  bool // in the ISR
	counted bool // in the maximal ISR
	seat    *seat
}

// forget drops all that was heard, as for a new leadership or a new run of the
// broker. It gets the whole lag limit to be heard of again.
func (p *peer) forget(now message.Time) {
	p.brokerEpoch = 0
	p.matched, p.flushed, p.logStart = -1, -1, -1
	p.caughtUp = now
	p.mark.end, p.mark.at = p.l.r.log.End(), now
}

// stand leaves the seat of the session, which then waits for another leadership.
func (p *peer) stand() {
	if p.seat != nil {
		p.seat.peer = nil
		p.seat = nil
	}
}

// diverges says where a reader's history and the log's part (KIP-320). offset
// is where it wants to read, epoch that of its last record before. nil: as far
// as the log knows, all that the reader has is the same. A reader at the log
// start whose last record is of an epoch from before all that is known here has
// parted somewhere below: the epoch of the record before the start is kept for
// this question (see core/log).
func diverges(l *log.Log, offset record.Offset, epoch record.LeaderEpoch) *message.EpochEnd {
	if epoch == record.NoLeaderEpoch {
		return nil
	}
	end := l.EndOf(epoch)
	if end.Epoch == epoch && offset <= end.End {
		return nil
	}
	diverging := end // only what is told is put aside for the reply
	return &diverging
}

// hear counts a position that a fetch has stated in this epoch, and whose
// history has been found to be the leader's: a position that diverges says
// nothing about what its replica holds (KAFKA-13141). Within one epoch and one
// run a matching replica never cuts, so that both ends only rise.
func (p *peer) hear(m *Manager, now message.Now, epoch message.BrokerEpoch, at *message.ReplicaFetchPartition, out *Out) {
	p.brokerEpoch = epoch
	p.matched = max(p.matched, at.Offset)
	p.logStart = at.LogStart // may fall, see startWithBatch
	p.hearFlushed(m, now, at.Flushed, out)
	p.l.agreeOnStart(m, now, out)
}

// hearFlushed counts what has become durable. Only what matches can count.
func (p *peer) hearFlushed(m *Manager, now message.Now, flushed record.Offset, out *Out) {
	p.flushed = max(p.flushed, min(flushed, p.matched))
	end := p.l.r.log.End()
	switch {
	case p.flushed >= end:
		p.caughtUp = now.Mono
	case p.flushed >= p.mark.end:
		p.caughtUp = max(p.caughtUp, p.mark.at)
		p.mark.end, p.mark.at = end, now.Mono
	}
	m.touch(p.l.r)
	if p.counted {
		p.l.advance(m, now, out)
	}
	if !p.member {
		p.l.reviewISR(m, now, out)
	}
}

// fellBehind notes, when a batch is appended, that a peer was at the end until
// now.
func (p *peer) fellBehind(now message.Time, before, end record.Offset) {
	if p.flushed >= before {
		p.caughtUp = now
		p.mark.end, p.mark.at = end, now
	}
}
