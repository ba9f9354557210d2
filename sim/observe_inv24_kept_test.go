package sim

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/group"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// TestPositionsStayAsLongAsTheirGroupHasMembers plays a member that joins at 1 s and is
// heard at some times after that, and then a record that removes a position, written at
// 10 s. Positions are kept for 3 s.
func TestPositionsStayAsLongAsTheirGroupHasMembers(t *testing.T) {
	const keep = 3 * Second
	type heard struct {
		at    Span
		epoch message.MemberEpoch // of the request
		code  message.Code
	}
	for name, c := range map[string]struct {
		keep  Span
		heard []heard
		other func(p *theatre, o Observer) // what happens before the record
		words string                       // "": the record is in order
	}{
		"it was there until just now":      {keep, []heard{{9 * Second, 4, message.None}}, nil, "1000 ms after the group had a member; positions are kept for 3000 ms"},
		"it has left just now":             {keep, []heard{{9 * Second, message.LeaveEpoch, message.None}}, nil, "1000 ms after"},
		"it is gone for long":              {keep, []heard{{6 * Second, 4, message.None}}, nil, ""},
		"it was there after that":          {keep, []heard{{2 * Second, 4, message.None}, {10*Second + 1, 4, message.None}}, nil, ""},
		"the last word before that counts": {keep, []heard{{8 * Second, 4, message.None}, {11 * Second, 4, message.None}}, nil, "2000 ms after"},
		"it was told that it is gone":      {keep, []heard{{9 * Second, 4, message.UnknownMemberID}}, nil, ""},
		"it had to join again":             {keep, []heard{{9 * Second, message.JoinEpoch, message.None}}, nil, ""},
		"it was never heard":               {keep, nil, nil, ""},
		"somebody asks for it": {keep, []heard{{9 * Second, 4, message.None}}, func(p *theatre, o Observer) {
			p.step(o, 1, effect.Requested{Msg: &message.DeleteGroup{Group: "g"}}, nil)
		}, ""},
		"the clocks are apart": {keep, []heard{{8 * Second, 4, message.None}}, func(p *theatre, o Observer) {
			p.nodes[2].clock.jump(1001)
		}, ""},
		"nothing expires": {0, nil, nil, "although nobody asked for that"},
		"nothing expires, but asks": {0, nil, func(p *theatre, o Observer) {
			p.step(o, 1, effect.Requested{Msg: &message.DeleteGroup{Group: "g"}}, nil)
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			p, o := newTheatre(t), &committedOffsets{}
			p.plan.Timing.OffsetRetention = c.keep
			for _, h := range append([]heard{{1 * Second, message.JoinEpoch, message.None}}, c.heard...) {
				p.now = h.at
				epoch := message.MemberEpoch(4)
				if h.epoch < 0 {
					epoch = h.epoch
				}
				p.answers(o, &message.GroupHeartbeat{Group: "g", Member: "m", MemberEpoch: h.epoch}, p.now, &message.GroupHeartbeatReply{Code: h.code, MemberEpoch: epoch})
			}
			if c.other != nil {
				c.other(p, o)
			}
			p.stats.Steps++
			gone := group.Record{Kind: group.Stored, Gone: true, Group: "g", Partition: part}
			p.commits(o, groupShard, writtenBatch{positions: []positionRecord{{Record: gone, step: p.stats.Steps, wrote: 10 * Second}}}, batch(0, 1, "x"))
			if c.words == "" {
				p.passed()
			} else {
				p.refused("INV-24", c.words)
			}
		})
	}
}

// TestPositionsOfATopicThatIsGoneGo: nobody needs them.
func TestPositionsOfATopicThatIsGoneGo(t *testing.T) {
	p, o := newTheatre(t), &committedOffsets{}
	gone := group.Record{Kind: group.Stored, Gone: true, Group: "g", Partition: part}
	gone.Partition.Topic = 99
	p.commits(o, groupShard, writtenBatch{positions: []positionRecord{{Record: gone, step: p.stats.Steps + 1}}}, batch(0, 1, "x"))
	p.passed()
}

// TestAHeartbeatCountsForWhatItsCoordinatorKnew: node 1 coordinates in epoch 3, with a
// log that ends at 1, and a member is heard until just before a position of its group is
// removed, 3 s too early. What stands before that record was written in some epoch.
func TestAHeartbeatCountsForWhatItsCoordinatorKnew(t *testing.T) {
	for name, c := range map[string]struct {
		before, removes record.LeaderEpoch
		words           string // "": the record is in order
	}{
		"all of it is from then":                   {3, 3, "1000 ms after the group had a member"},
		"the next coordinator wrote it":            {4, 4, "1000 ms after the group had a member"},
		"one before, who was not heard of, wrote":  {2, 2, ""},
		"the next one went by what that one wrote": {2, 4, ""},
		"this one, and then the next, wrote":       {3, 4, "1000 ms after the group had a member"},
	} {
		t.Run(name, func(t *testing.T) {
			p, o := newTheatre(t), &committedOffsets{}
			p.plan.Timing.OffsetRetention = 3 * Second
			p.commits(o, groupShard, writtenBatch{}, batch(0, 1, "x"))
			r := p.book.replica(1, groupShard)
			r.view.LeaderEpoch, r.memory.end = 3, 1
			for _, at := range []Span{1 * Second, 9 * Second} {
				p.now = at
				p.answers(o, &message.GroupHeartbeat{Group: "g", Member: "m", MemberEpoch: 4}, p.now, &message.GroupHeartbeatReply{MemberEpoch: 4})
			}
			p.commits(o, groupShard, writtenBatch{}, batch(1, c.before, "y"))
			p.stats.Steps++
			written := p.stats.Steps
			gone := group.Record{Kind: group.Stored, Gone: true, Group: "g", Partition: part}
			p.commits(o, groupShard, writtenBatch{positions: []positionRecord{{Record: gone, step: written, wrote: 10 * Second}}}, batch(2, c.removes, "z"))
			if c.words != "" {
				p.refused("INV-24", c.words)
				return
			}
			p.passed()
			require.True(t, o.mayExpire(p.World, "g", written-1), "what was committed before may be gone")
			require.False(t, o.mayExpire(p.World, "g", written), "and what came later may not")
		})
	}
}

// TestAPositionStaysForItsTimeAfterItsCommit: it is committed from outside, into a group
// that never had a member, and removed at 10 s. Positions are kept for 3 s.
func TestAPositionStaysForItsTimeAfterItsCommit(t *testing.T) {
	type stored struct {
		wrote Span
		at    record.Timestamp
	}
	for name, c := range map[string]struct {
		stored []stored
		words  string // "": the record is in order
	}{
		"its time is over":            {[]stored{{7 * Second, 100}}, ""},
		"it is not over":              {[]stored{{8 * Second, 100}}, "2000 ms after it was; positions are kept for 3000 ms"},
		"it was committed again":      {[]stored{{1 * Second, 100}, {9 * Second, 200}}, "1000 ms after"},
		"a snapshot has repeated it":  {[]stored{{1 * Second, 100}, {9 * Second, 100}}, ""},
		"nobody knows of the commit":  {nil, ""},
		"it was removed before, once": {[]stored{{1 * Second, 100}, {9 * Second, -1}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			p, o := newTheatre(t), &committedOffsets{}
			p.plan.Timing.OffsetRetention = 3 * Second
			var all []positionRecord
			for _, one := range append(c.stored, stored{10 * Second, -1}) {
				r := group.Record{Kind: group.Stored, Gone: one.at < 0, Group: "g", Partition: part, At: one.at}
				all = append(all, positionRecord{Record: r, step: p.stats.Steps + 1, wrote: one.wrote})
			}
			p.commits(o, groupShard, writtenBatch{positions: all}, batch(0, 1, "x"))
			if c.words == "" {
				p.passed()
			} else {
				p.refused("INV-24", c.words)
			}
		})
	}
}
