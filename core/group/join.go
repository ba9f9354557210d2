package group

import (
	"slices"

	"github.com/tamarack-mq/tamarack/core/ledger"
	"github.com/tamarack-mq/tamarack/core/message"
)

// join admits a member (epoch 0). A member that is in the group already did not
// get the reply to an earlier join, or lost its state: it is told where it
// stands. That confirms nothing, since a join may also arrive late, from before
// the member got its partitions.
func (s *shard) join(now message.Now, r *message.GroupHeartbeat) (*message.GroupHeartbeatReply, *ledger.Refusal) {
	g := s.state.groups[r.Group]
	var same, static *member
	if g != nil {
		same = g.members[r.Member]
		if r.Instance != "" {
			static = g.instances[r.Instance]
		}
	}
	switch {
	case same != nil && same.instance != r.Instance:
		return nil, ledger.Refused(message.InvalidRequest, "member %q is in the group as instance %q, not %q", same.id, same.instance, r.Instance)
	case same != nil && same.left:
		s.replace(now, g, same, r)
	case same != nil:
		s.refresh(now, same)
		s.update(now, g, same, fullOf(r))
	case static != nil && !static.left:
		return nil, ledger.Refused(message.UnreleasedInstanceID, "instance %q is held by member %q, which has neither left nor run out of its session", r.Instance, static.id)
	case static != nil:
		s.replace(now, g, static, r)
	case g != nil && len(g.seats) >= s.home.cfg.MaxMembers:
		return nil, ledger.Refused(message.GroupMaxSizeReached, "group %q has %d members, as many as it may have", r.Group, len(g.seats))
	default:
		s.admit(now, r)
	}
	return s.welcome(s.state.groups[r.Group].members[r.Member], r), nil
}

// fullOf is the request with the fields taken for complete, as those of a join
// are.
func fullOf(r *message.GroupHeartbeat) *message.GroupHeartbeat {
	full := *r
	full.Full = true
	return &full
}

// admit adds a new member.
func (s *shard) admit(now message.Now, r *message.GroupHeartbeat) {
	g := s.state.groups[r.Group]
	if g == nil || !g.made || g.record.emptySince != occupied {
		epoch := s.state.floor
		if g != nil {
			epoch = max(epoch, g.epoch())
		}
		s.write(key{kind: kindGroup, group: r.Group}, groupValue{epoch: epoch, emptySince: occupied})
		g = s.state.groups[r.Group]
	}
	s.enter(now, g, r.Member, s.newcomer(g, r))
	s.retarget(g)
	s.reconcile(now, g, g.members[r.Member], nil)
}

// newcomer is the record of a member that has just come in.
func (s *shard) newcomer(g *group, r *message.GroupHeartbeat) memberValue {
	v := memberValue{
		instance:  r.Instance,
		session:   r.SessionTimeout,
		rebalance: r.RebalanceTimeout,
		topics:    subscription(r.Topics),
		epoch:     g.nextEpoch(),
	}
	v.previous = v.epoch
	if v.session == 0 {
		v.session = s.home.cfg.SessionTimeout
	}
	if v.rebalance == 0 {
		v.rebalance = s.home.cfg.RebalanceTimeout
	}
	return v
}

func (s *shard) enter(now message.Now, g *group, id string, v memberValue) {
	s.writeMember(g, id, v)
	s.refresh(now, g.members[id])
}

// replace puts a process in the place of a static member that has left: it gets
// what was kept for that one. The old member id is gone with it, in the log as
// well, so that no coordinator to come takes it for the living one
// (KAFKA-10284).
func (s *shard) replace(now message.Now, g *group, old *member, r *message.GroupHeartbeat) {
	v := s.newcomer(g, r)
	v.assigned = old.assigned
	target, reads := g.targets[old.id], old.topics
	if old.id != r.Member {
		s.write(key{kind: kindMember, group: g.name, member: old.id}, nil)
		s.writeTarget(g, old.id, nil)
	}
	s.enter(now, g, r.Member, v)
	s.writeTarget(g, r.Member, target)
	if !slices.Equal(reads, v.topics) {
		s.retarget(g)
	}
	s.reconcile(now, g, g.members[r.Member], nil)
}
