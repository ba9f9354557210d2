package sim

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// around plays what a member hears before and after somebody else's request, a
// second each, and says what the observer makes of it. The member's first
// heartbeat joins.
func around(t *testing.T, r message.Request, answer message.Reply, then ...*message.GroupHeartbeat) *stage {
	s, o := newStage(t), &membersThere{}
	token := message.Token(0)
	heard := func(node int32, r message.Request, answer message.Reply) {
		token++
		s.now += Second
		s.nodes[node].tokens[token] = caller{request: r, since: s.now}
		s.step(o, node, effect.Requested{Token: token, Msg: r}, nil)
		s.now += Second
		s.step(o, node, nil, []effect.Effect{effect.Reply{Token: token, Msg: answer}})
	}
	heard(1, &message.GroupHeartbeat{Group: "g", Member: "m", Full: true, Topics: []string{"t"}}, &message.GroupHeartbeatReply{Member: "m", MemberEpoch: 4})
	heard(2, r, answer)
	for _, beat := range then {
		reply := &message.GroupHeartbeatReply{Member: "m", MemberEpoch: max(4, beat.MemberEpoch)}
		if beat.MemberEpoch < 0 {
			reply.MemberEpoch = beat.MemberEpoch
		}
		heard(2, beat, reply)
	}
	return s
}

func TestNobodyCommitsFromOutsideWhileAGroupHasMembers(t *testing.T) {
	commit := &message.CommitOffsets{Group: "g", MemberEpoch: -1, Offsets: []message.GroupOffset{{ID: part, Offset: 3}}}
	stored := &message.CommitOffsetsReply{Offsets: []message.CommittedOffset{{ID: part}}}
	still := &message.GroupHeartbeat{Group: "g", Member: "m", MemberEpoch: 4}

	around(t, commit, stored).passed() // it may have been expelled
	around(t, commit, message.Fail(commit, message.UnknownMemberID, ""), still).passed()
	around(t, commit, stored, &message.GroupHeartbeat{Group: "g", Member: "m", Full: true, Topics: []string{"t"}}, still).passed() // it had to join again
	around(t, commit, stored, still).refused("INV-22", `node 2 took a commit for group "g" of somebody that is no member, although member "m" was there`)
}

func TestPositionsOfATopicThatAMemberReadsAreNotDeleted(t *testing.T) {
	still := &message.GroupHeartbeat{Group: "g", Member: "m", MemberEpoch: 4}
	gone := func(code message.Code) (*message.DeleteOffsets, *message.DeleteOffsetsReply) {
		id := record.PartitionID{Topic: 5, Index: noSuchPartition}
		return &message.DeleteOffsets{Group: "g", IDs: []record.PartitionID{id}}, &message.DeleteOffsetsReply{Offsets: []message.CommittedOffset{{ID: id, Code: code}}}
	}
	r, refused := gone(message.GroupSubscribedToTopic)
	around(t, r, refused, still).passed()

	s, o := newStage(t), &membersThere{}
	o.judge(s.World, s.nodes[1], membership{"g", "m"}, memberSince{topics: []string{"t"}}, takenOutside{topic: "other"})
	s.passed()
	o.judge(s.World, s.nodes[1], membership{"g", "m"}, memberSince{topics: []string{"t"}}, takenOutside{topic: "t"})
	s.refused("INV-24", `positions of group "g" in topic "t"`)
	require.Empty(t, s.failure)
}
