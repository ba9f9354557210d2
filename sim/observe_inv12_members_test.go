package sim

import (
	"testing"

	"github.com/tamarack-mq/tamarack/core/group"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

func TestDeadlinesThatDoNotFitTheirMembersAreRefused(t *testing.T) {
	s := newStage(t)
	o := &memberDeadlines{}
	look := func(revoking int, by message.Time) {
		o.judge(s.World, s.nodes[1], group.Deadline{Group: "g", Member: "m", Revoking: make([]record.PartitionID, revoking), RevokeBy: by})
	}
	look(0, message.Never)
	look(2, 77)
	s.passed()
	look(0, 77)
	s.refused("INV-12", `gives member "m" of group "g" a time to give up partitions, of which there are none`)
	look(2, message.Never)
	s.refused("INV-12", "no time to give up 2 partitions")
}

func TestWhatAMemberThatIsAwayKeepsFromOthersIsRefused(t *testing.T) {
	s := newStage(t)
	o := &memberDeadlines{}
	away := group.Deadline{Group: "g", Member: "m", RevokeBy: message.Never}
	o.judge(s.World, s.nodes[1], away)
	s.passed()
	away.Kept = []record.PartitionID{{Topic: 7, Index: 2}}
	o.judge(s.World, s.nodes[1], away)
	s.refused("INV-12", `has member "m" of group "g", which has left for a while, keep partition 7/2, which it is not meant to own any more`)
}

func TestWhatAMemberIsAskedForMeanwhileDoesNotProlongItsTime(t *testing.T) {
	s := newStage(t)
	o := &memberDeadlines{}
	n := s.nodes[1]
	beat := func(since, by message.Time, partitions ...int32) {
		d := group.Deadline{Group: "g", Member: "m", Since: since, RevokeBy: by}
		for _, p := range partitions {
			d.Revoking = append(d.Revoking, record.PartitionID{Topic: 7, Index: p})
		}
		o.beaten(s.World, n, askedMember{n.id, "g", "m"}, d, true)
	}
	beat(1, 10, 0)
	beat(1, 10, 0, 1) // asked for one more
	beat(1, 10, 1)
	beat(1, 30, 2) // all that it was asked for is given up
	beat(2, 40, 2) // loaded again: nobody knows of a time
	beat(2, message.Never)
	beat(2, 90, 2) // given up, taken over again, asked for again
	n.run++
	beat(2, 95, 2) // a new process
	s.passed()
	beat(2, 96, 1, 2)
	s.refused("INV-12", `gives member "m" of group "g" until 96 for partition 7/2, which it was to give up by 95`)
}

func TestWhatAMemberHasNotGivenUpIsNotTakenFromIt(t *testing.T) {
	s := newStage(t)
	o := &memberDeadlines{}
	n := s.nodes[1]
	zero, one := record.PartitionID{Topic: 7}, record.PartitionID{Topic: 7, Index: 1}
	asked := askedFor{run: n.run, since: 1, by: 10, what: []record.PartitionID{zero, one}}
	beat := func(m message.GroupHeartbeat, since message.Time, holds ...record.PartitionID) {
		m.Group, m.Member = "g", "m"
		o.surrendered(s.World, n, &m, asked, group.Deadline{Group: "g", Member: "m", Since: since}, holds, true)
	}
	beat(message.GroupHeartbeat{MemberEpoch: 4}, 1, zero, one)
	beat(message.GroupHeartbeat{MemberEpoch: 4, Owned: []record.PartitionID{zero}}, 1, zero)
	beat(message.GroupHeartbeat{MemberEpoch: 4, Full: true}, 1)
	beat(message.GroupHeartbeat{MemberEpoch: message.JoinEpoch}, 1) // it begins anew
	beat(message.GroupHeartbeat{MemberEpoch: 4}, 2)                 // loaded again: nothing is known of before
	s.passed()
	beat(message.GroupHeartbeat{MemberEpoch: 4}, 1, one)
	s.refused("INV-12", `has member "m" of group "g" have partition 7/0 no more`)
	beat(message.GroupHeartbeat{MemberEpoch: 4, Owned: []record.PartitionID{zero, one}}, 1, zero)
	s.refused("INV-12", "have partition 7/1 no more")
}
