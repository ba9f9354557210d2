package replica

import (
	"slices"

	"github.com/tamarack-mq/tamarack/core/message"
)

// proposal is an ISR change on its way to the controller. It is over when a
// higher partition epoch comes in: the metadata says what became of it.
type proposal struct {
	change message.AlterISR
	// counts are all nodes that this partition epoch's proposals, the refused
	// ones included, have asked to have in the ISR: a copy of a refused one that
	// comes late may still be committed.
	counts  []message.NodeID
	refused bool // a refusal is being made final, see AlterPartitionReply
}

// alterTimer is a leader as the owner of its alter timer.
type alterTimer leader

func (a *alterTimer) expire(m *Manager, now message.Now, out *Out) {
	l := (*leader)(a)
	if l.proposal == nil {
		l.reviewISR(m, now, out)
		return
	}
	l.send(m, now, out) // the answer is lost, or the metadata is slow
}

func (l *leader) send(m *Manager, now message.Now, out *Out) {
	out.Alter = append(out.Alter, l.proposal.change)
	m.timers.Set(&l.alter, now.Mono.Add(m.cfg.AlterRetry))
}

// lagTimer is a leader as the owner of its lag timer.
type lagTimer leader

func (t *lagTimer) expire(m *Manager, now message.Now, out *Out) {
	l := (*leader)(t)
	l.reviewISR(m, now, out)
	l.watchLag(m, now)
}

// watchLag arms the lag timer while some ISR member is behind. A partition at
// rest has none.
func (l *leader) watchLag(m *Manager, now message.Now) {
	if l.lag.IsSet() {
		return
	}
	end, first := l.r.log.End(), message.Never
	for _, p := range l.peers {
		if p.member && p.flushed < end {
			first = min(first, p.caughtUp)
		}
	}
	if first == message.Never {
		return
	}
	at := first.Add(m.cfg.Lag) + 1 // beyond the limit
	if at <= now.Mono {            // proposed already, or not possible now
		at = now.Mono.Add(m.cfg.AlterRetry)
	}
	m.timers.Set(&l.lag, at)
}

// lags says whether a member has not been at the log end for the lag limit.
func (l *leader) lags(m *Manager, now message.Now, p *peer) bool {
	return p.flushed < l.r.log.End() && now.Mono.Sub(p.caughtUp) > m.cfg.Lag
}

// mayJoin says whether a replica may join the ISR: its broker is available and
// the run that spoke is the one that the controller knows (KIP-903); it holds
// durably everything below the high watermark, and everything below the start
// of this epoch, up to which records may be committed that this leader does not
// know of as such (KAFKA-7128); it has given up what clients no longer see, or
// will not once this log's own start, already decided, is durable; and
// it would not be dropped again at once, which the first two do not rule out
// while the high watermark stands still.
func (l *leader) mayJoin(m *Manager, now message.Now, p *peer) bool {
	b := m.brokers[p.node]
	return b.Available && b.Epoch == p.brokerEpoch &&
		slices.Contains(l.r.state.Replicas, p.node) &&
		p.flushed >= l.r.highWatermark && p.flushed >= l.epochStart &&
		p.logStart >= l.r.log.Start() && !l.lags(m, now, p)
}

// reviewISR proposes another in-sync set if one is due and none is on its way.
func (l *leader) reviewISR(m *Manager, now message.Now, out *Out) {
	if l.proposal != nil || l.r.damage.what != "" {
		return
	}
	if now.Mono < l.quietUntil {
		m.timers.Sooner(&l.alter, l.quietUntil)
		return
	}
	s := &l.r.state
	var isr []message.Member
	changed := false
	for _, node := range s.ISR {
		if p := l.peer(node); p != nil && l.lags(m, now, p) {
			changed = true
			continue
		}
		isr = append(isr, m.member(node))
	}
	for _, p := range l.peers {
		if !p.member && l.mayJoin(m, now, p) {
			changed = true
			isr = append(isr, m.member(p.node))
		}
	}
	if !changed {
		return
	}
	l.propose(m, now, isr, out)
}

func (m *Manager) member(node message.NodeID) message.Member {
	if node == m.cfg.ID {
		return message.Member{Node: node, Epoch: m.epoch}
	}
	return message.Member{Node: node, Epoch: m.brokers[node].Epoch}
}

func (l *leader) propose(m *Manager, now message.Now, isr []message.Member, out *Out) {
	if l.proposal == nil {
		l.proposal = &proposal{}
	}
	p := l.proposal
	p.change = message.AlterISR{
		ID: l.r.id, LeaderEpoch: l.epoch, PartitionEpoch: l.r.state.PartitionEpoch, ISR: isr,
	}
	for _, member := range isr {
		if !slices.Contains(p.counts, member.Node) {
			p.counts = append(p.counts, member.Node)
		}
	}
	l.count()
	m.touch(l.r)
	l.send(m, now, out)
}

// AlterPartitionReply takes the outcomes of ISR proposals. What was committed
// is told by the metadata alone, so that an outcome changes little:
//
//   - None: wait for the metadata.
//   - IneligibleReplica: a proposal was refused, this one or one of before, but
//     copies may still be under way and be taken later, when the broker is
//     eligible again. So the members that were named still count, and the ISR as
//     it stands is proposed: committed, it moves the partition epoch on, and no
//     copy can be taken any more. No answer can say as much: it may be one that was
//     given to another proposal, and has come late, or twice.
//   - anything else: the metadata here is behind, or the controller has moved.
//     The proposal may have been committed by an attempt whose answer was lost:
//     keep to it, and go on asking, until the metadata tells.
func (m *Manager) AlterPartitionReply(now message.Now, r *message.AlterPartitionReply, out *Out) {
	if m.halted || r.Code != message.None {
		return
	}
	for i := range r.Partitions {
		outcome := &r.Partitions[i]
		l, code := m.leading(outcome.ID)
		if code == message.None && l.proposal != nil && outcome.Code == message.IneligibleReplica {
			l.refused(m, now, out)
		}
	}
	m.finish(now, out)
}

// refused makes a refusal final.
func (l *leader) refused(m *Manager, now message.Now, out *Out) {
	l.quietUntil = now.Mono.Add(m.cfg.AlterRetry)
	if l.proposal.refused {
		return // the ISR as it stands is refused too: the metadata will tell why
	}
	l.proposal.refused = true
	isr := make([]message.Member, 0, len(l.r.state.ISR))
	for _, node := range l.r.state.ISR {
		isr = append(isr, m.member(node))
	}
	l.propose(m, now, isr, out)
}
