package sim

import (
	"github.com/tamarack-mq/tamarack/core/client"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
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
		reply, ok := result.Reply.(*message.GroupHeartbeatReply)
		if !ok {
			return
		}
		c.beaten(asked, reply)
		if reply.Code == message.InvalidRequest && wellFormed(asked) {
			u.world.fail("INV-10", 0, "a heartbeat within the limits is refused", "client %d sends %s and is told that it is invalid: %s", u.plan.ID, describe(asked), reply.Detail)
		}
	case *message.DeleteGroup:
		reply, ok := result.Reply.(*message.DeleteGroupReply)
		if ok && asked.Group == outsideGroup && reply.Code == message.NonEmptyGroup {
			u.world.fail("INV-10", 0, "a group without members is said to have some", "client %d asks for group %q to be deleted, which nobody ever joined, and is told that it has members", u.plan.ID, asked.Group)
		}
	}
}

// beaten notes what a member is told, so that one can speak that is there.
func (c *chaos) beaten(asked *message.GroupHeartbeat, reply *message.GroupHeartbeatReply) {
	if reply.Code == message.None && reply.MemberEpoch > message.JoinEpoch {
		c.last.membership, c.last.epoch = membership{asked.Group, asked.Member}, reply.MemberEpoch
	}
}

// committed judges that no position from the first one on is out of range: how
// far a log reaches is not the coordinator's to know. One of a record in a leader epoch
// that never was is not taken: whoever went on from there would wait for that epoch.
func (c *chaos) committed(u *user, asked *message.CommitOffsets, reply *message.CommitOffsetsReply) {
	for i := range reply.Offsets {
		p := &reply.Offsets[i]
		switch {
		case i >= len(asked.Offsets):
		case p.Code == message.None && asked.Offsets[i].LeaderEpoch == noSuchEpoch:
			u.world.fail("INV-10", 0, "a position of an epoch that never was is taken", "client %d commits position %d of partition %s, behind a record of leader epoch %d, and is told that it is stored", u.plan.ID, asked.Offsets[i].Offset, p.ID, noSuchEpoch)
			u.world.aboutCommit(asked.Group, p.ID, asked.Offsets[i].Offset)
		case asked.Offsets[i].Offset >= 0 && p.Code == message.OffsetOutOfRange:
			u.world.fail("INV-10", 0, "a position is refused that is one", "client %d commits position %d of partition %s and is told that it is out of range", u.plan.ID, asked.Offsets[i].Offset, p.ID)
			u.world.aboutCommit(asked.Group, p.ID, asked.Offsets[i].Offset)
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

// realGroup is a member of a group of which the models follow the positions; nil:
// there is none.
func (c *chaos) realGroup(u *user) *ClientPlan {
	clients := u.world.plan.Clients
	for i := len(clients) - 1; i >= 0; i-- {
		if clients[i].Group != "" {
			return &clients[i]
		}
	}
	return nil
}

// noSuchEpoch is a leader epoch that no partition ever reaches.
const noSuchEpoch record.LeaderEpoch = 1 << 20

// noSuchPartition is an index that no topic ever reaches.
const noSuchPartition int32 = 1 << 20

// deleteRead asks for positions to be deleted that a group's members need, so that
// it must be refused. While the group has no members it may not be: it names a
// partition that is not there, of which there is no position.
func (c *chaos) deleteRead(u *user) message.Request {
	real := c.realGroup(u)
	if real == nil {
		return nil
	}
	for _, t := range u.world.liveTopics() {
		if len(real.Topics) > 0 && t.Name == real.Topics[0] {
			return &message.DeleteOffsets{Group: real.Group, IDs: []record.PartitionID{{Topic: t.ID, Index: noSuchPartition}}}
		}
	}
	return nil
}
