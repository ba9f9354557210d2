package sim

import (
	"testing"

	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

func TestAnEpochOfAGroupIsGivenOutOnce(t *testing.T) {
	p, o := newTheatre(t), &epochsOnce{}
	told := func(group, member string, epoch message.MemberEpoch, assigned ...record.PartitionID) {
		p.answers(o, &message.GroupHeartbeat{Group: group, Member: member}, p.now,
			&message.GroupHeartbeatReply{Member: member, MemberEpoch: epoch, Assigned: assigned != nil, Assignment: assigned})
	}
	none := []record.PartitionID{}
	told("g", "m", 4)
	told("g", "m", 4, part) // it asks for all
	told("g", "m", 4, part)
	told("g", "m", 4) // nothing has changed
	told("g", "other", 5, none...)
	told("g", "m", 6, none...)
	told("h", "other", 4, part)
	told("g", "m", message.LeaveEpoch)
	told("g", "other", message.LeaveEpoch)
	p.answers(o, &message.GroupHeartbeat{Group: "g", Member: "x"}, p.now, &message.GroupHeartbeatReply{Code: message.FencedMemberEpoch, MemberEpoch: 4})
	p.passed()

	told("g", "x", 4)
	p.refused("INV-22", `node 1 gives member "x" of group "g" the epoch 4, which member "m" had`)
	told("g", "m", 4, groupShard)
	p.refused("INV-22", `tells member "m" of group "g" that under epoch 4 it has [6/0], but it was told [5/0]`)
}
