package sim

import (
	"github.com/tamarack-mq/tamarack/core/client"
	"github.com/tamarack-mq/tamarack/core/message"
)

// groupAnswered judges refusals that cannot be true, whatever happened before
// (INV-10): of what is legal in every state.
func (c *chaos) groupAnswered(u *user, op *openOp, result *client.Result) {
	ask, _ := op.ask.(client.Ask)
	switch asked := ask.Request.(type) {
	case *message.CommitOffsets:
		if reply, ok := result.Reply.(*message.CommitOffsetsReply); ok {
			c.committed(u, asked, reply)
		}
	case *message.GroupHeartbeat:
		if reply, ok := result.Reply.(*message.GroupHeartbeatReply); ok && reply.Code == message.InvalidRequest && wellFormed(asked) {
			u.world.fail("INV-10", 0, "a heartbeat within the limits is refused", "client %d sends %s and is told that it is invalid: %s", u.plan.ID, describe(asked), reply.Detail)
		}
	case *message.DeleteGroup:
		reply, ok := result.Reply.(*message.DeleteGroupReply)
		if ok && asked.Group == outsideGroup && reply.Code == message.NonEmptyGroup {
			u.world.fail("INV-10", 0, "a group without members is said to have some", "client %d asks for group %q to be deleted, which nobody ever joined, and is told that it has members", u.plan.ID, asked.Group)
		}
	}
}

// committed judges that no position from the first one on is out of range: how
// far a log reaches is not the coordinator's to know.
func (c *chaos) committed(u *user, asked *message.CommitOffsets, reply *message.CommitOffsetsReply) {
	for i := range reply.Offsets {
		if p := &reply.Offsets[i]; i < len(asked.Offsets) && asked.Offsets[i].Offset >= 0 && p.Code == message.OffsetOutOfRange {
			u.world.fail("INV-10", 0, "a position is refused that is one", "client %d commits position %d of partition %s and is told that it is out of range", u.plan.ID, asked.Offsets[i].Offset, p.ID)
		}
	}
}

// wellFormed says that a chaos client's heartbeat keeps to the longest times, so
// that only what the coordinator knows of the member can speak against it.
func wellFormed(m *message.GroupHeartbeat) bool {
	if m.MemberEpoch < message.LeaveEpoch || m.MemberEpoch == message.JoinEpoch && len(m.Owned) > 0 {
		return false
	}
	for _, p := range m.Owned {
		if p.Index < 0 {
			return false
		}
	}
	return m.SessionTimeout == longestSession || m.SessionTimeout == 0 && m.RebalanceTimeout <= longestRebalance
}
