package sim

import (
	"testing"

	"github.com/tamarack-mq/tamarack/core/group"
	"github.com/tamarack-mq/tamarack/core/message"
)

func TestWhatIsSaidOfAGroupIsTrue(t *testing.T) {
	stored := group.Record{Kind: group.Stored, Group: "g", Partition: part, Offset: 40}
	gone := group.Record{Kind: group.Stored, Gone: true, Group: "g", Partition: part}
	pending := group.Record{Kind: group.Pends, Group: "g", Partition: part, ID: 7, Offset: 40}
	resolved := pending
	resolved.Gone = true
	describe, deleteGroup, deleteOffsets := &message.DescribeGroup{Group: "g"}, &message.DeleteGroup{Group: "g"}, &message.DeleteOffsets{Group: "g"}
	one := func(code message.Code) *message.DeleteOffsetsReply {
		return &message.DeleteOffsetsReply{Offsets: []message.CommittedOffset{{ID: part, Code: code}}}
	}
	for name, c := range map[string]struct {
		before, meanwhile []group.Record // the question comes between them
		asked             message.Request
		answer            message.Reply
		invariant, words  string
	}{
		"described, it is not there":           {nil, nil, describe, message.Fail(describe, message.GroupIDNotFound, ""), "", ""},
		"described, it was removed":            {[]group.Record{stored, gone}, nil, describe, message.Fail(describe, message.GroupIDNotFound, ""), "", ""},
		"described, it is removed meanwhile":   {[]group.Record{stored}, []group.Record{gone}, describe, message.Fail(describe, message.GroupIDNotFound, ""), "", ""},
		"described, it is made meanwhile":      {nil, []group.Record{stored}, describe, message.Fail(describe, message.GroupIDNotFound, ""), "", ""},
		"described, it is there":               {[]group.Record{stored}, nil, describe, message.Fail(describe, message.GroupIDNotFound, ""), "INV-10", `there is no group "g", which has had the position 40 in partition 5/0`},
		"described as it is":                   {[]group.Record{stored}, nil, describe, &message.DescribeGroupReply{Group: "g"}, "", ""},
		"deleted, it is not there":             {nil, nil, deleteGroup, &message.DeleteGroupReply{Code: message.GroupIDNotFound}, "", ""},
		"deleted, it is there":                 {[]group.Record{stored}, nil, deleteGroup, &message.DeleteGroupReply{Code: message.GroupIDNotFound}, "INV-10", `there is no group "g"`},
		"deleted":                              {[]group.Record{stored}, []group.Record{gone}, deleteGroup, &message.DeleteGroupReply{}, "", ""},
		"not deleted":                          {[]group.Record{stored}, nil, deleteGroup, &message.DeleteGroupReply{}, "INV-10", `group "g" is deleted, which has had the position 40`},
		"deleted with what is pending":         {[]group.Record{pending}, nil, deleteGroup, &message.DeleteGroupReply{}, "INV-25", "in which a position of producer 7, epoch 0, is pending for partition 5/0"},
		"deleted with what was pending":        {[]group.Record{pending}, []group.Record{resolved}, deleteGroup, &message.DeleteGroupReply{}, "", ""},
		"another group is deleted":             {[]group.Record{stored, pending}, nil, &message.DeleteGroup{Group: "h"}, &message.DeleteGroupReply{}, "", ""},
		"position, no group":                   {[]group.Record{stored}, nil, deleteOffsets, message.Fail(deleteOffsets, message.GroupIDNotFound, ""), "INV-10", `there is no group "g"`},
		"position deleted":                     {[]group.Record{stored}, []group.Record{gone}, deleteOffsets, one(message.None), "", ""},
		"position deleted and committed again": {[]group.Record{stored}, []group.Record{gone, stored}, deleteOffsets, one(message.None), "", ""},
		"position not deleted":                 {[]group.Record{stored}, nil, deleteOffsets, one(message.None), "INV-10", `the position of group "g" in partition 5/0 is deleted, but it has stood at 40`},
		"position refused":                     {[]group.Record{stored}, nil, deleteOffsets, one(message.GroupSubscribedToTopic), "", ""},
		"position is pending":                  {[]group.Record{stored, pending}, nil, deleteOffsets, one(message.UnstableOffsetCommit), "", ""},
		"position was pending":                 {[]group.Record{stored, pending}, []group.Record{resolved}, deleteOffsets, one(message.UnstableOffsetCommit), "", ""},
		"position was never pending":           {[]group.Record{stored}, nil, deleteOffsets, one(message.UnstableOffsetCommit), "INV-10", "is pending, where none ever was"},
		"position deleted while it is pending": {[]group.Record{stored, pending}, []group.Record{gone}, deleteOffsets, one(message.None), "INV-25", "be deleted, while one of producer 7, epoch 0, is pending"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newTheatre(t)
			for _, r := range c.before {
				p.said(nil, r)
			}
			p.now += Millisecond
			since := p.now
			for _, r := range c.meanwhile {
				p.said(nil, r)
			}
			p.answers(&groupRefusals{}, c.asked, since, c.answer)
			if c.words == "" {
				p.passed()
			} else {
				p.refused(c.invariant, c.words)
			}
		})
	}
}

// TestADeposedCoordinatorMustNotSayThatAGroupIsAbsent: it has to make sure first that it
// coordinates still, also for what writes nothing because there is nothing to delete.
func TestADeposedCoordinatorMustNotSayThatAGroupIsAbsent(t *testing.T) {
	for _, r := range []message.Request{&message.DescribeGroup{Group: "g"}, &message.DeleteGroup{Group: "g"}, &message.DeleteOffsets{Group: "g"}} {
		p := newTheatre(t)
		p.said(nil, group.Record{Kind: group.Stored, Group: "g", Partition: part, Offset: 40})
		p.book.part(groupShard).state = &message.PartitionChange{Leader: 2}
		p.now += Millisecond
		p.answers(&groupRefusals{}, r, p.now, message.Fail(r, message.NotCoordinator, ""))
		p.passed()
		p.answers(&groupRefusals{}, r, p.now, message.Fail(r, message.GroupIDNotFound, ""))
		p.refused("INV-10", `there is no group "g"`)
	}
}

// TestAGroupWithAMemberIsThere: who is answered before and after the question was there
// all the time, and so was the group.
func TestAGroupWithAMemberIsThere(t *testing.T) {
	still := &message.GroupHeartbeat{Group: "g", Member: "m", MemberEpoch: 4}
	again := &message.GroupHeartbeat{Group: "g", Member: "m", Full: true, Topics: []string{"t"}}
	for name, r := range map[string]message.Request{
		"described":       &message.DescribeGroup{Group: "g"},
		"deleted":         &message.DeleteGroup{Group: "g"},
		"without offsets": &message.DeleteOffsets{Group: "g"},
	} {
		t.Run(name, func(t *testing.T) {
			absent := message.Fail(r, message.GroupIDNotFound, "")
			around(t, r, absent).passed()
			around(t, r, absent, again, still).passed()
			around(t, r, message.Fail(r, message.CoordinatorLoadInProgress, ""), still).passed()
			around(t, r, absent, still).refused("INV-10", `node 2 answers that there is no group "g", although member "m" was there before it was asked and still is`)
		})
	}
}
