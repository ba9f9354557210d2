package group

import (
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/order"
)

// describe decides a DescribeGroup.
func (s *shard) describe(r *message.DescribeGroup) message.Reply {
	g := s.state.groups[r.Group]
	if g == nil {
		return &message.DescribeGroupReply{Code: message.GroupIDNotFound, Group: r.Group, State: "Dead"}
	}
	reply := &message.DescribeGroupReply{
		Group:   g.name,
		State:   g.phase(),
		Epoch:   g.epoch(),
		Members: make([]message.MemberInfo, len(g.seats)),
		Offsets: g.positions(g.storedIDs()),
	}
	for i, m := range g.seats {
		reply.Members[i] = message.MemberInfo{
			Member:   m.id,
			Instance: m.instance,
			Epoch:    m.epoch,
			Topics:   m.topics,
			Assigned: m.assigned,
			Target:   g.targets[m.id],
		}
	}
	return reply
}

// deleteGroup decides a DeleteGroup.
func (s *shard) deleteGroup(r *message.DeleteGroup) message.Reply {
	g := s.state.groups[r.Group]
	switch {
	case g == nil:
		return &message.DeleteGroupReply{Code: message.GroupIDNotFound}
	case len(g.seats) > 0, len(g.pending) > 0: // what a transaction commits must find its group
		return &message.DeleteGroupReply{Code: message.NonEmptyGroup}
	}
	s.removeGroup(g)
	return &message.DeleteGroupReply{}
}

// list decides a ListGroups over all shards.
func (c *Coordinator) list(now message.Now, token message.Token, out *Out) {
	refusal := &message.ListGroupsReply{Code: message.CoordinatorLoadInProgress}
	c.shards.Survey(now, token, refusal, func() message.Reply {
		reply := &message.ListGroupsReply{}
		for _, s := range c.shards.Books() {
			for _, name := range order.Keys(s.state.groups) {
				g := s.state.groups[name]
				reply.Groups = append(reply.Groups, message.GroupListing{Group: name, State: g.phase(), Members: int32(len(g.seats))})
			}
		}
		return reply
	}, &out.Out)
}
