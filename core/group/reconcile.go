package group

import (
	"slices"

	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/order"
	"github.com/tamarack-mq/tamarack/core/record"
)

// retarget computes anew what every member is meant to own, and writes what
// changed. Members learn of it by their own heartbeats, one at a time.
func (s *shard) retarget(g *group) {
	if len(g.seats) == 0 || s.home.topics == nil {
		return
	}
	g.resolved = s.resolve(g)
	claimants := make([]claimant, len(g.seats))
	for i, m := range g.seats {
		claimants[i] = claimant{topics: places(g.resolved, m.topics), kept: g.targets[m.id], holds: m.holds()}
	}
	sets := assign(g.resolved, claimants)
	news := false
	for i, m := range g.seats {
		news = news || !slices.Equal(g.targets[m.id], sets[i])
	}
	if !news {
		return
	}
	s.write(key{kind: kindGroup, group: g.name}, groupValue{epoch: g.epoch() + 1, emptySince: occupied})
	for i, m := range g.seats {
		s.writeTarget(g, m.id, sets[i])
	}
	s.release(g)
}

// release takes from static members that are away what they are not meant to own
// any more: nobody has it, so nobody needs to give it up.
func (s *shard) release(g *group) {
	for _, m := range g.seats {
		if !m.left || len(order.Without(m.assigned, g.targets[m.id])) == 0 {
			continue
		}
		v := m.memberValue
		v.assigned = order.Common(m.assigned, g.targets[m.id])
		v.epoch = g.nextEpoch()
		v.previous = v.epoch
		s.writeMember(g, m.id, v)
	}
}

// resolve looks up the topics that the group reads, by name.
func (s *shard) resolve(g *group) []topicRow {
	names := order.Keys(g.readers)
	rows := make([]topicRow, len(names))
	for i, name := range names {
		rows[i].name = name
		rows[i].id, rows[i].partitions, rows[i].ok = s.home.topics.ByName(name)
	}
	return rows
}

// places finds topics among the rows; both are in order.
func places(rows []topicRow, topics []string) []int {
	found := make([]int, 0, len(topics))
	at := 0
	for _, topic := range topics {
		for rows[at].name != topic {
			at++
		}
		found = append(found, at)
	}
	return found
}

// reconcile moves a member, at its own heartbeat, as far towards its target as
// is safe. still is what it has been told to give up and has not yet confirmed.
//
// What the target does not hold is to be given up: it stays this member's until
// a heartbeat with the new epoch comes without it, or the member is gone. What
// the target holds is handed out once nobody holds it. A partition that the
// target took away and gave back is no exception: it has to be confirmed first
// (KAFKA-16147).
func (s *shard) reconcile(now message.Now, g *group, m *member, still []record.PartitionID) {
	if g.settled(m) {
		return
	}
	target := g.targets[m.id]
	v := m.memberValue
	v.assigned = order.Union(order.Common(m.assigned, target), s.grantable(g, m, target, still))
	v.revoking = order.Union(still, order.Without(m.assigned, target))
	if slices.Equal(v.assigned, m.assigned) && slices.Equal(v.revoking, m.revoking) {
		return
	}
	v.previous, v.epoch = m.epoch, g.nextEpoch()
	asked := len(order.Common(m.revoking, v.revoking)) > 0
	s.writeMember(g, m.id, v)
	if !asked {
		s.watchRevocation(now, m)
	}
}

// grantable is the part of a target that can be handed out now: what nobody
// holds, and what the member itself has just confirmed to have given up.
func (s *shard) grantable(g *group, m *member, target, still []record.PartitionID) []record.PartitionID {
	var free []record.PartitionID
	for _, p := range target {
		holder, held := g.holders[p]
		if !held || holder == m.id && order.Contains(m.revoking, p) && !order.Contains(still, p) {
			free = append(free, p)
		}
	}
	return free
}

// watchRevocation starts the time in which a member has to give up what it is
// to give up.
func (s *shard) watchRevocation(now message.Now, m *member) {
	m.revokeEnds = message.Never
	if len(m.revoking) > 0 {
		m.revokeEnds = now.Mono.Add(m.rebalance)
		s.state.timers.Sooner(&m.timer, m.revokeEnds)
	}
}

// adapt follows changes of topics: offsets of a deleted topic go, and targets
// are renewed when a topic that the group reads was made, grown, deleted, or
// made again under another id.
func (s *shard) adapt(now message.Now, g *group, changed []record.TopicID, all bool) {
	if s.home.topics == nil {
		return
	}
	if all {
		changed = order.Keys(g.stored)
	}
	for _, id := range changed {
		if g.stored[id] == 0 {
			continue
		}
		if _, _, exists := s.home.topics.ByID(id); !exists {
			s.dropTopic(now, g, id)
		}
	}
	if len(g.seats) > 0 && !slices.Equal(g.resolved, s.resolve(g)) {
		s.retarget(g)
	}
}

// dropTopic removes the offsets of a topic that is no more.
func (s *shard) dropTopic(now message.Now, g *group, id record.TopicID) {
	for _, p := range g.storedIDs() {
		if p.Topic == id {
			s.write(key{kind: kindOffset, group: g.name, id: p}, nil)
		}
	}
	if len(g.seats) == 0 {
		s.armGroup(now, g)
	}
}
