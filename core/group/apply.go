package group

import (
	"fmt"
	"slices"

	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// apply is the only way by which a shard's state changes: live decisions,
// timeouts and replay all come through here. It depends on the change and on
// the state alone. It takes records in any order that compaction or a snapshot
// can leave: a member may come before its group, and what is removed need not
// be there.
func (s *state) apply(c change) {
	switch c.key.kind {
	case kindFloor:
		s.applyFloor(c.value)
		return
	case kindProducer:
		s.applyProducer(c.key.producer, c.value)
		return
	}
	g := s.groups[c.key.group]
	if g == nil {
		if c.value == nil {
			return
		}
		g = newGroup(c.key.group)
		s.groups[c.key.group] = g
	}
	switch c.key.kind {
	case kindGroup:
		s.applyGroup(g, c.value)
	case kindMember:
		s.applyMember(g, c.key.member, c.value)
	case kindTarget:
		s.applyTarget(g, c.key.member, c.value)
	case kindOffset:
		s.applyOffset(g, c.key.id, c.value)
	case kindPending:
		s.applyPending(g, c.key.producer, c.key.id, c.value)
	}
	if !g.made && len(g.members) == 0 && len(g.targets) == 0 && len(g.offsets) == 0 && len(g.pending) == 0 {
		s.timers.Stop(&g.timer)
		delete(s.groups, g.name)
	}
}

func newGroup(name string) *group {
	g := &group{name: name, record: groupValue{emptySince: occupied}}
	g.timer.Due.group = g
	return g
}

func (s *state) applyFloor(v value) {
	switch was := s.floor != 0; {
	case v == nil && was:
		s.floor, s.keys = 0, s.keys-1
	case v != nil && !was:
		s.floor, s.keys = v.(floorValue).epoch, s.keys+1
	case v != nil:
		s.floor = v.(floorValue).epoch
	}
}

func (s *state) applyGroup(g *group, v value) {
	if g.made {
		s.keys--
	}
	g.made = v != nil
	if v == nil {
		g.record = groupValue{emptySince: occupied}
		return
	}
	s.keys++
	set := v.(groupValue)
	set.epoch = max(set.epoch, g.record.epoch)
	g.record = set
}

func (s *state) applyMember(g *group, id string, v value) {
	m := g.members[id]
	if m != nil {
		s.keys--
		g.unindex(m)
	}
	if v == nil {
		if m != nil {
			s.timers.Stop(&m.timer)
			delete(g.members, id)
			at, _ := seatOf(g, id)
			g.seats = slices.Delete(g.seats, at, at+1)
		}
		return
	}
	s.keys++
	if m == nil {
		m = g.seat(id)
	}
	m.memberValue = v.(memberValue)
	g.record.epoch = max(g.record.epoch, int32(m.epoch))
	s.index(g, m)
}

func (g *group) seat(id string) *member {
	if g.members == nil {
		g.members = map[string]*member{}
		g.instances = map[string]*member{}
		g.holders = map[record.PartitionID]string{}
		g.readers = map[string]int{}
	}
	m := &member{id: id, revokeEnds: message.Never}
	m.timer.Due = waits{group: g, member: m}
	g.members[id] = m
	at, _ := seatOf(g, id)
	g.seats = slices.Insert(g.seats, at, m)
	return m
}

// index adds what follows from a member's record.
func (s *state) index(g *group, m *member) {
	if m.instance != "" {
		g.instances[m.instance] = m
	}
	for _, topic := range m.topics {
		g.readers[topic]++
	}
	for _, p := range m.assigned {
		s.hold(g, p, m)
	}
	for _, p := range m.revoking {
		s.hold(g, p, m)
	}
	if !g.settled(m) {
		g.unsettled++
	}
}

func (s *state) hold(g *group, p record.PartitionID, m *member) {
	if other, held := g.holders[p]; held && s.fault == "" {
		s.fault = fmt.Sprintf("group %q: partition %v goes to member %q while %q holds it (INV-21)", g.name, p, m.id, other)
	}
	g.holders[p] = m.id
}

// unindex takes away what index added, and nothing that another member's
// record has put in its place since (KAFKA-16147).
func (g *group) unindex(m *member) {
	if g.instances[m.instance] == m {
		delete(g.instances, m.instance)
	}
	for _, topic := range m.topics {
		if g.readers[topic]--; g.readers[topic] == 0 {
			delete(g.readers, topic)
		}
	}
	for _, p := range m.holds() {
		if g.holders[p] == m.id {
			delete(g.holders, p)
		}
	}
	if !g.settled(m) {
		g.unsettled--
	}
}

func (s *state) applyTarget(g *group, id string, v value) {
	m := g.members[id]
	if m != nil && !g.settled(m) {
		g.unsettled--
	}
	if _, was := g.targets[id]; was {
		s.keys--
		delete(g.targets, id)
	}
	if v != nil {
		s.keys++
		if g.targets == nil {
			g.targets = map[string][]record.PartitionID{}
		}
		g.targets[id] = v.(targetValue).partitions
	}
	if m != nil && !g.settled(m) {
		g.unsettled++
	}
}

func (s *state) applyOffset(g *group, id record.PartitionID, v value) {
	_, was := g.offsets[id]
	if v == nil {
		if was {
			s.keys--
			delete(g.offsets, id)
			if g.stored[id.Topic]--; g.stored[id.Topic] == 0 {
				delete(g.stored, id.Topic)
			}
		}
		return
	}
	if !was {
		s.keys++
		if g.offsets == nil {
			g.offsets = map[record.PartitionID]offsetValue{}
			g.stored = map[record.TopicID]int{}
		}
		g.stored[id.Topic]++
	}
	g.offsets[id] = v.(offsetValue)
}

func (s *state) applyPending(g *group, producer record.ProducerID, id record.PartitionID, v value) {
	if _, was := g.pending[producer][id]; was {
		s.keys--
		delete(g.pending[producer], id)
		if g.unstable[id]--; g.unstable[id] == 0 {
			delete(g.unstable, id)
		}
	}
	if v != nil {
		s.keys++
		if g.pending == nil {
			g.pending = map[record.ProducerID]map[record.PartitionID]pendingValue{}
			g.unstable = map[record.PartitionID]int{}
		}
		if g.pending[producer] == nil {
			g.pending[producer] = map[record.PartitionID]pendingValue{}
		}
		g.pending[producer][id] = v.(pendingValue)
		g.unstable[id]++
	}
	s.opened(g, producer)
}

// opened brings the index of a producer's groups up to date.
func (s *state) opened(g *group, producer record.ProducerID) {
	names := s.open[producer]
	at, listed := slices.BinarySearch(names, g.name)
	switch has := len(g.pending[producer]) > 0; {
	case has && !listed:
		s.open[producer] = slices.Insert(names, at, g.name)
	case has:
	case len(names) == 1 && listed:
		delete(s.open, producer)
	case listed:
		s.open[producer] = slices.Delete(names, at, at+1)
	}
	if len(g.pending[producer]) == 0 {
		delete(g.pending, producer)
	}
}

func (s *state) applyProducer(id record.ProducerID, v value) {
	f := s.fences[id]
	if f != nil {
		s.keys--
	}
	if v == nil {
		if f != nil {
			s.timers.Stop(&f.timer)
			delete(s.fences, id)
		}
		return
	}
	s.keys++
	if f == nil {
		f = &fence{id: id}
		f.timer.Due.fence = f
		s.fences[id] = f
	}
	f.producerValue = v.(producerValue)
}

// reindex derives everything anew after a replay. Replay may pass through
// states that never were (a snapshot's records arrive one after the other), so
// a clash on the way means nothing; one that is left at the end does.
func (s *state) reindex(names []string) {
	s.fault = ""
	for _, name := range names {
		g := s.groups[name]
		clear(g.instances)
		clear(g.holders)
		clear(g.readers)
		g.unsettled = 0
		for _, m := range g.seats {
			s.index(g, m)
		}
	}
}
