package group

import (
	"github.com/tamarack-mq/tamarack/core/ledger"
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

// listing is a ListGroups on its way: it is answered once what it saw of every
// shard is committed.
type listing struct {
	token   message.Token
	reply   *message.ListGroupsReply
	waiting int // shards that are not ready
	over    bool
}

// list decides a ListGroups over all shards.
func (c *Coordinator) list(now message.Now, token message.Token, out *Out) {
	l := &listing{token: token, reply: &message.ListGroupsReply{}}
	for _, s := range c.shards.Books() {
		if s.Phase() != ledger.Serving {
			l.Failed(message.CoordinatorLoadInProgress, &out.Out)
			return
		}
	}
	for _, s := range c.shards.Books() {
		for _, name := range order.Keys(s.state.groups) {
			g := s.state.groups[name]
			l.reply.Groups = append(l.reply.Groups, message.GroupListing{Group: name, State: g.phase(), Members: int32(len(g.seats))})
		}
	}
	l.waiting = 1
	for _, s := range c.shards.Books() {
		if s.Pending() > 0 {
			l.waiting++
			s.Tell(now, l, ledger.Written, &out.Out)
		}
	}
	l.Ready(now, &out.Out)
}

// Ready says that one more part is committed.
func (l *listing) Ready(_ message.Now, out *ledger.Out) {
	if l.waiting--; l.waiting == 0 && !l.over {
		l.over = true
		out.Replies = append(out.Replies, Reply{Token: l.token, Msg: l.reply})
	}
}

// Failed answers that not all can be told now.
func (l *listing) Failed(_ message.Code, out *ledger.Out) {
	if !l.over {
		l.over = true
		out.Replies = append(out.Replies, Reply{Token: l.token, Msg: &message.ListGroupsReply{Code: message.CoordinatorLoadInProgress}})
	}
}
