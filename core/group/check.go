package group

import (
	"github.com/tamarack-mq/tamarack/core/ledger"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// Bounds of what clients may send; with them every record fits a batch of
// 1 MiB, as long as a member owns less than some 300,000 partitions.
const (
	maxName   = 249 // bytes of a group's, a topic's or an instance's name
	maxID     = 255 // bytes of a member id
	maxTopics = 1000
)

// maxRebalance is the longest time that a member may ask for to give partitions
// up: more would run over the end of time, and time it out at once.
const maxRebalance = 24 * message.Hour

// check looks at a request as far as the state does not matter.
func (c *Coordinator) check(m message.Request) *ledger.Refusal {
	switch m := m.(type) {
	case *message.GroupHeartbeat:
		return c.checkHeartbeat(m)
	case *message.CommitOffsets:
		if m.Member == "" && m.MemberEpoch >= 0 {
			return ledger.Refused(message.UnknownMemberID, "a commit with a member epoch needs the member's id")
		}
	case *message.CommitTransactionOffsets:
		return checkTransaction(m)
	}
	return nil
}

func checkTransaction(m *message.CommitTransactionOffsets) *ledger.Refusal {
	switch {
	case m.Member == "" && m.MemberEpoch >= 0:
		return ledger.Refused(message.UnknownMemberID, "a commit with a member epoch needs the member's id")
	case m.TransactionalID == "" || len(m.TransactionalID) > maxName:
		return ledger.Refused(message.InvalidRequest, "a transactional id has 1 to %d bytes; this one has %d", maxName, len(m.TransactionalID))
	case m.ID < 0 || m.Epoch < 0:
		return ledger.Refused(message.InvalidRequest, "producer %d with epoch %d: a transaction needs the id and the epoch that its coordinator gave out", m.ID, m.Epoch)
	case len(m.Offsets) == 0:
		return ledger.Refused(message.InvalidRequest, "a commit names at least one position")
	}
	return nil
}

func (c *Coordinator) checkHeartbeat(m *message.GroupHeartbeat) *ledger.Refusal {
	switch {
	case m.Member == "" || len(m.Member) > maxID:
		return ledger.Refused(message.InvalidRequest, "a member id has 1 to %d bytes; this one has %d", maxID, len(m.Member))
	case len(m.Instance) > maxName:
		return ledger.Refused(message.InvalidRequest, "an instance id has at most %d bytes; this one has %d", maxName, len(m.Instance))
	case m.MemberEpoch < message.LeaveStaticEpoch:
		return ledger.Refused(message.InvalidRequest, "a member epoch is %d or above; this one is %d", message.LeaveStaticEpoch, m.MemberEpoch)
	case m.MemberEpoch == message.LeaveStaticEpoch && m.Instance == "":
		return ledger.Refused(message.InvalidRequest, "only a static member can leave for a while: an instance id is needed")
	case m.MemberEpoch == message.JoinEpoch && len(m.Owned) > 0:
		return ledger.Refused(message.InvalidRequest, "a member that joins must own nothing; this one names %d partitions", len(m.Owned))
	case len(m.Topics) > maxTopics:
		return ledger.Refused(message.InvalidRequest, "a member subscribes to at most %d topics; this one to %d", maxTopics, len(m.Topics))
	case m.SessionTimeout != 0 && (m.SessionTimeout < c.cfg.MinSessionTimeout || m.SessionTimeout > c.cfg.MaxSessionTimeout):
		return ledger.Refused(message.InvalidRequest, "a session timeout is from %d ms to %d ms; this one is %d ms",
			c.cfg.MinSessionTimeout/message.Millisecond, c.cfg.MaxSessionTimeout/message.Millisecond, m.SessionTimeout/message.Millisecond)
	case m.RebalanceTimeout < 0:
		return ledger.Refused(message.InvalidRequest, "a rebalance timeout cannot be negative")
	case m.RebalanceTimeout > maxRebalance:
		return ledger.Refused(message.InvalidRequest, "a rebalance timeout is at most %d ms; this one is %d ms",
			maxRebalance/message.Millisecond, m.RebalanceTimeout/message.Millisecond)
	}
	for _, topic := range m.Topics {
		if topic == "" || len(topic) > maxName {
			return ledger.Refused(message.InvalidTopic, "a topic's name has 1 to %d bytes; one of the subscription has %d", maxName, len(topic))
		}
	}
	for _, p := range m.Owned {
		if p.Index < 0 {
			return ledger.Refused(message.InvalidRequest, "partition %v does not exist", p)
		}
	}
	return nil
}

// checkOffset looks at one position that is to be stored.
func (c *Coordinator) checkOffset(o message.GroupOffset) message.Code {
	if len(o.Note) > c.cfg.MaxNote {
		return message.OffsetMetadataTooLarge
	}
	if o.Offset < 0 {
		return message.OffsetOutOfRange
	}
	if o.LeaderEpoch < record.NoLeaderEpoch {
		return message.InvalidRequest
	}
	if code := c.checkPartition(o.ID); code != message.None {
		return code
	}
	// Who reads on from here waits until it finds a leader of that epoch or a later one
	// (KIP-320). Of one that never was it would wait for ever; and if it is only news to
	// this broker, the commit is tried again.
	if o.LeaderEpoch > c.topics.LeaderEpoch(o.ID) {
		return message.UnknownLeaderEpoch
	}
	return message.None
}

func (c *Coordinator) checkPartition(p record.PartitionID) message.Code {
	_, partitions, ok := c.topics.ByID(p.Topic)
	switch {
	case !ok:
		return message.UnknownTopicID
	case p.Index < 0 || p.Index >= partitions:
		return message.UnknownTopicOrPartition
	}
	return message.None
}
