package replica

import (
	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/order"
	"github.com/tamarack-mq/tamarack/core/record"
)

// Apply takes the partitions and brokers that are new or changed in the
// metadata image, all of one version at once, in the order of versions.
func (m *Manager) Apply(now message.Now, partitions []PartitionState, brokers []BrokerState, out *Out) {
	if m.halted {
		return
	}
	for i := range brokers {
		m.applyBroker(now, &brokers[i], out)
	}
	for i := range partitions {
		if m.current {
			m.place(now, &partitions[i], out)
		} else {
			m.early[partitions[i].ID] = partitions[i]
		}
	}
	if !m.current && m.registered() {
		m.becomeCurrent(now, out)
	}
	m.finish(now, out)
}

// registered says whether the image contains this run.
func (m *Manager) registered() bool {
	return m.epoch != 0 && m.brokers[m.cfg.ID].Epoch == m.epoch
}

// epochChanged does what SetEpoch could not do itself.
func (m *Manager) epochChanged(now message.Now, out *Out) {
	if !m.current {
		if m.registered() {
			m.becomeCurrent(now, out)
		}
		return
	}
	if m.registered() {
		m.registeredAgain(now, out)
	}
	for _, p := range m.pullers {
		if p.outdated(m) { // and after a pause: leaders know only the epoch of before
			p.reopen(m, now)
		}
	}
}

// registeredAgain follows with the logs whose damage the controller knows now.
func (m *Manager) registeredAgain(now message.Now, out *Out) {
	for _, r := range m.inOrder() {
		if r.damage.told {
			r.damage.told, r.damage.reported = false, true
			if r.placed && r.waitsForRepair(m) {
				m.takeRole(now, r, out)
			}
		}
	}
}

// becomeCurrent takes all roles at once and deletes the logs that the image
// knows nothing of.
func (m *Manager) becomeCurrent(now message.Now, out *Out) {
	m.current = true
	for id, r := range m.inOrder() {
		if s, ok := m.early[id]; !ok || s.Removed {
			m.drop(now, r, out)
		}
	}
	for _, id := range order.KeysBy(m.early, record.PartitionID.Compare) {
		s := m.early[id]
		m.place(now, &s, out)
	}
	m.early = nil
}

// applyBroker takes the state of one broker. A new run of a broker holds what
// its disk holds: nothing that an earlier run said counts for it (KIP-903).
func (m *Manager) applyBroker(now message.Now, b *BrokerState, out *Out) {
	before := m.brokers[b.Node]
	if b.Epoch < before.Epoch {
		return
	}
	m.brokers[b.Node] = *b
	if b.Node == m.cfg.ID {
		if m.current && m.registered() && b.Epoch != before.Epoch {
			m.registeredAgain(now, out)
		}
		return
	}
	if b.Epoch != before.Epoch {
		m.dropSession(b.Node)
		for _, r := range m.leaders {
			if p := r.lead.peer(b.Node); p != nil && p.brokerEpoch != b.Epoch {
				p.forget(now.Mono)
				r.lead.watchLag(m, now)
				m.touch(r)
			}
		}
		return
	}
	if b.Available && !before.Available {
		for _, r := range m.leaders {
			r.lead.reviewISR(m, now, out)
		}
	}
}

// place brings one replica to a state of the image. Older states than it has
// change nothing.
func (m *Manager) place(now message.Now, s *PartitionState, out *Out) {
	r := m.replicas[s.ID]
	if s.Removed {
		if r != nil {
			m.drop(now, r, out)
		}
		return
	}
	if r == nil {
		r = created(m, s)
		m.replicas[s.ID] = r
		r.segmentBytes = s.Config.SegmentBytes
		out.Add(effect.CreateLog{Log: s.ID, Cut: r.cut, Config: effect.LogConfig{SegmentBytes: s.Config.SegmentBytes}})
	}
	if r.placed && (s.LeaderEpoch < r.state.LeaderEpoch ||
		s.LeaderEpoch == r.state.LeaderEpoch && s.PartitionEpoch < r.state.PartitionEpoch) {
		return
	}
	m.touch(r)
	sameRole := r.placed && s.Leader == r.state.Leader && s.LeaderEpoch == r.state.LeaderEpoch
	changed := s.PartitionEpoch != r.state.PartitionEpoch
	was, added := settingsOf(r), r.beingAdded(m)
	r.configure(s, out)
	m.pace.count(added, r.beingAdded(m))
	switch {
	case !sameRole, r.waitsForRepair(m):
		m.takeRole(now, r, out)
	case r.lead != nil && changed:
		r.lead.adopt(m, now, out)
		r.lead.settingsChanged(m, now, was, out)
	case r.lead != nil:
		r.lead.settingsChanged(m, now, was, out)
	case r.follow != nil:
		m.pace.review(m, r)
	}
}

// takeRole ends what a replica did and begins what its state says.
func (m *Manager) takeRole(now message.Now, r *replica, out *Out) {
	m.leaveRole(now, r, out)
	last := r.log.LastEpoch()
	switch {
	case r.state.Leader == m.cfg.ID && r.state.LeaderEpoch <= max(last, r.led):
		m.halt(r, "told to lead in an epoch that its log has already seen: leader epochs are never used twice", out)
	case r.state.Leader == m.cfg.ID:
		r.led = r.state.LeaderEpoch
		r.repairAsLeader(m, out)
		r.tellRaised(m, out)
		m.lead(now, r, out)
	case r.state.LeaderEpoch < last:
		m.halt(r, "its log holds records of a later leader epoch than the metadata, which cannot be", out)
	case r.state.Leader != message.NoNode && r.repairAsFollower(m, out):
		r.tellRaised(m, out)
		m.follow(r)
	}
}

// leaveRole ends what a replica does. Whoever waits for it is told.
func (m *Manager) leaveRole(now message.Now, r *replica, out *Out) {
	if r.lead != nil {
		m.depose(now, r, out)
	}
	if r.follow != nil {
		m.pace.settle(m, r)
		m.pace.unpark(r)
		r.follow.from.leave(m, r)
		r.follow = nil
	}
}

// drop deletes a replica that is not placed here any more. It may be placed here
// again: the disk's answers about this log are told from those about the next by
// the cut, and the leader's by the leader epoch, which rises with every removal.
func (m *Manager) drop(now message.Now, r *replica, out *Out) {
	m.touch(r)
	m.leaveRole(now, r, out)
	m.pace.count(r.beingAdded(m), false)
	m.timers.Stop(&r.care)
	m.timers.Stop(&r.idle)
	m.drained(r.unflushed.bytes)
	delete(m.replicas, r.id)
	r.deleted = true
	m.firstCut = max(m.firstCut, r.cut+1)
	out.Add(effect.DeleteLog{Log: r.id})
}
