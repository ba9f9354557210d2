package group

import (
	"slices"

	"github.com/tamarack-mq/tamarack/core/ledger"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/order"
	"github.com/tamarack-mq/tamarack/core/record"
)

// heartbeat decides a GroupHeartbeat: join, leave, or go on.
func (s *shard) heartbeat(now message.Now, r *message.GroupHeartbeat) message.Reply {
	var reply *message.GroupHeartbeatReply
	var no *ledger.Refusal
	switch r.MemberEpoch {
	case message.JoinEpoch:
		reply, no = s.join(now, r)
	case message.LeaveEpoch:
		reply, no = s.leave(now, r)
	case message.LeaveStaticEpoch:
		reply, no = s.leaveStatic(now, r)
	default:
		reply, no = s.beat(now, r)
	}
	if no != nil {
		return message.Fail(r, no.Code, no.Detail)
	}
	return reply
}

// sender finds the member that a heartbeat comes from, and refuses what comes
// from a process whose place another one has taken (KIP-345).
func (s *shard) sender(r *message.GroupHeartbeat) (*group, *member, *ledger.Refusal) {
	g := s.state.groups[r.Group]
	if g == nil {
		return nil, nil, ledger.Refused(message.UnknownMemberID, "group %q has no members: join again with epoch 0", r.Group)
	}
	if other := g.instances[r.Instance]; other != nil && other.id != r.Member {
		return nil, nil, ledger.Refused(message.FencedInstanceID, "instance %q is member %q now; this process must stop", r.Instance, other.id)
	}
	m := g.members[r.Member]
	switch {
	case m == nil:
		return nil, nil, ledger.Refused(message.UnknownMemberID, "member %q is not in group %q any more: join again with epoch 0", r.Member, r.Group)
	case r.Instance != "" && r.Instance != m.instance:
		return nil, nil, ledger.Refused(message.InvalidRequest, "member %q joined as instance %q, not %q", m.id, m.instance, r.Instance)
	}
	return g, m, nil
}

// beat is the heartbeat of a member that goes on. A request with the epoch
// before the present one comes from a member that has not got the last reply:
// it is told the same again, and what it says about its partitions confirms
// nothing (KIP-848).
func (s *shard) beat(now message.Now, r *message.GroupHeartbeat) (*message.GroupHeartbeatReply, *ledger.Refusal) {
	g, m, no := s.sender(r)
	if no != nil {
		return nil, no
	}
	current := r.MemberEpoch == m.epoch
	switch {
	case m.left:
		return nil, ledger.Refused(message.FencedMemberEpoch, "static member %q has left: join again with epoch 0", m.id)
	case !current && r.MemberEpoch != m.previous:
		return nil, ledger.Refused(message.FencedMemberEpoch, "member %q is at epoch %d, not %d: join again with epoch 0", m.id, m.epoch, r.MemberEpoch)
	}
	told := r.Full || r.Owned != nil
	owned := order.Set(r.Owned)
	if stray := order.Without(owned, m.holds()); len(stray) > 0 {
		return nil, ledger.Refused(message.FencedMemberEpoch, "member %q names partition %v, which it does not own: join again with epoch 0", m.id, stray[0])
	}
	s.refresh(now, m)
	s.update(now, g, m, r)
	if current {
		still := m.revoking
		if told {
			still = order.Common(m.revoking, owned)
		}
		s.reconcile(now, g, m, still)
	}
	return s.welcome(m, r), nil
}

// welcome tells a member where it stands.
func (s *shard) welcome(m *member, r *message.GroupHeartbeat) *message.GroupHeartbeatReply {
	reply := &message.GroupHeartbeatReply{
		Member:      m.id,
		MemberEpoch: m.epoch,
		Interval:    min(s.home.cfg.HeartbeatInterval, m.memberValue.session/3),
		Assigned:    r.Full || r.MemberEpoch != m.epoch,
	}
	if reply.Assigned {
		reply.Assignment = m.assigned
	}
	return reply
}

// refresh gives a member a whole session from now.
func (s *shard) refresh(now message.Now, m *member) {
	m.sessionEnds = now.Mono.Add(m.memberValue.session)
	s.state.timers.Sooner(&m.timer, m.sessionEnds)
}

// update takes over what a member says about itself: subscription, timeouts.
func (s *shard) update(now message.Now, g *group, m *member, r *message.GroupHeartbeat) {
	v := m.memberValue
	if r.Full || r.Topics != nil {
		v.topics = subscription(r.Topics)
	}
	if r.SessionTimeout != 0 {
		v.session = r.SessionTimeout
	}
	if r.RebalanceTimeout != 0 {
		v.rebalance = r.RebalanceTimeout
	}
	reads := !slices.Equal(v.topics, m.topics)
	if !reads && v.session == m.memberValue.session && v.rebalance == m.rebalance {
		return
	}
	s.writeMember(g, m.id, v)
	s.refresh(now, m)
	if reads {
		s.retarget(g)
	}
}

func subscription(topics []string) []string {
	if len(topics) == 0 {
		return nil
	}
	set := slices.Clone(topics)
	slices.Sort(set)
	return slices.Compact(set)
}

// leave ends a membership for good.
func (s *shard) leave(now message.Now, r *message.GroupHeartbeat) (*message.GroupHeartbeatReply, *ledger.Refusal) {
	g, m, no := s.sender(r)
	if no != nil {
		return nil, no
	}
	s.remove(now, g, m)
	s.retarget(g)
	return &message.GroupHeartbeatReply{Member: r.Member, MemberEpoch: message.LeaveEpoch}, nil
}

// leaveStatic lets a static member go while its place is kept until its session
// runs out or another process joins under its instance id. The process owns
// nothing any more, so what it was to give up is free.
func (s *shard) leaveStatic(now message.Now, r *message.GroupHeartbeat) (*message.GroupHeartbeatReply, *ledger.Refusal) {
	g, m, no := s.sender(r)
	if no != nil {
		return nil, no
	}
	if !m.left {
		v := m.memberValue
		v.left = true
		v.assigned, v.revoking = order.Common(v.assigned, g.targets[m.id]), nil
		v.epoch = g.nextEpoch()
		v.previous = v.epoch
		s.writeMember(g, m.id, v)
		m.revokeEnds = message.Never
		s.refresh(now, m)
	}
	return &message.GroupHeartbeatReply{Member: r.Member, MemberEpoch: message.LeaveStaticEpoch}, nil
}

// remove takes a member out; the target is the caller's to renew. The group's
// record goes first: it keeps the epoch that the member had in the log, so that
// nobody gets it again.
func (s *shard) remove(now message.Now, g *group, m *member) {
	since := occupied
	if len(g.seats) == 1 {
		since = now.Wall
	}
	s.write(key{kind: kindGroup, group: g.name}, groupValue{epoch: g.epoch(), emptySince: since})
	s.write(key{kind: kindMember, group: g.name, member: m.id}, nil)
	s.writeTarget(g, m.id, nil)
	if since != occupied {
		s.armGroup(now, g)
	}
}

// writeGroup writes the group's record so that it tells whether there are
// members.
func (s *shard) writeGroup(now message.Now, g *group) {
	v := groupValue{epoch: max(g.epoch(), s.state.floor), emptySince: occupied}
	if len(g.seats) == 0 {
		v.emptySince = now.Wall
	}
	s.write(key{kind: kindGroup, group: g.name}, v)
}

func (s *shard) writeMember(g *group, id string, v memberValue) {
	s.write(key{kind: kindMember, group: g.name, member: id}, v)
}

// writeTarget sets a member's target, if that is news. An empty target has no
// record.
func (s *shard) writeTarget(g *group, id string, set []record.PartitionID) {
	k := key{kind: kindTarget, group: g.name, member: id}
	switch had := g.targets[id]; {
	case slices.Equal(had, set):
	case len(set) == 0:
		s.write(k, nil)
	default:
		s.write(k, targetValue{set})
	}
}
