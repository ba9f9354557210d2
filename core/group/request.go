package group

import (
	"github.com/tamarack-mq/tamarack/core/ledger"
	"github.com/tamarack-mq/tamarack/core/message"
)

// Request handles a client's GroupHeartbeat, CommitOffsets, FetchOffsets,
// CommitTransactionOffsets, ListGroups, DescribeGroup, DeleteGroup or DeleteOffsets.
// It is answered exactly once, now or in a later call. (FindCoordinator is not handled
// here.)
func (c *Coordinator) Request(now message.Now, token message.Token, m message.Request, out *Out) {
	if _, ok := m.(*message.ListGroups); ok {
		c.list(now, token, out)
		return
	}
	name, known := groupOf(m)
	if !known {
		out.Refuse(token, m, ledger.Refused(message.InvalidRequest, "a group coordinator does not answer %v", m.Kind()))
		return
	}
	s, no := c.serves(name)
	if no == nil {
		no = c.check(m)
	}
	if no != nil {
		out.Refuse(token, m, no)
		return
	}
	switch m := m.(type) {
	case *message.CommitTransactionOffsets:
		s.enlist(now, token, m, out)
	case *message.FetchOffsets, *message.DescribeGroup, *message.DeleteGroup, *message.DeleteOffsets:
		// What deletes nothing writes nothing: a coordinator that was deposed and does not
		// know it would say that there is no such group.
		s.Answer(now, token, m, s.handle(now, m), ledger.Confirmed, &out.Out)
	default:
		s.Answer(now, token, m, s.handle(now, m), ledger.Written, &out.Out)
	}
	s.Flush(now, &out.Out)
	c.collect(out)
}

// serves finds the shard of a group, when it can take a request.
func (c *Coordinator) serves(group string) (*shard, *ledger.Refusal) {
	if group == "" || len(group) > maxName {
		return nil, ledger.Refused(message.InvalidGroupID, "a group's name has 1 to %d bytes; this one has %d", maxName, len(group))
	}
	return c.shards.Serving(group, c.topics)
}

// groupOf names the group that a request is about; known is false for requests
// that are not a coordinator's.
func groupOf(m message.Request) (name string, known bool) {
	switch m := m.(type) {
	case *message.GroupHeartbeat:
		return m.Group, true
	case *message.CommitOffsets:
		return m.Group, true
	case *message.CommitTransactionOffsets:
		return m.Group, true
	case *message.FetchOffsets:
		return m.Group, true
	case *message.DescribeGroup:
		return m.Group, true
	case *message.DeleteGroup:
		return m.Group, true
	case *message.DeleteOffsets:
		return m.Group, true
	}
	return "", false
}

// handle decides one request.
func (s *shard) handle(now message.Now, m message.Request) message.Reply {
	switch m := m.(type) {
	case *message.GroupHeartbeat:
		return s.heartbeat(now, m)
	case *message.CommitOffsets:
		return s.commit(now, m)
	case *message.FetchOffsets:
		return s.fetch(m)
	case *message.DescribeGroup:
		return s.describe(m)
	case *message.DeleteGroup:
		return s.deleteGroup(m)
	case *message.DeleteOffsets:
		return s.deleteOffsets(now, m)
	}
	panic("group: groupOf let a request through that handle does not know")
}
