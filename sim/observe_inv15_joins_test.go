package sim

import (
	"testing"

	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
	"github.com/tamarack-mq/tamarack/core/replica"
)

func TestWhoJoinsHasGivenUpWhatTheLeaderHas(t *testing.T) {
	for name, c := range map[string]struct {
		start   record.Offset       // as the follower has told it
		run     message.BrokerEpoch // of the follower, in which it did
		epoch   record.LeaderEpoch  // in which the leader is by now
		member  bool
		damage  string
		refused bool
	}{
		"as high":                    {start: 2, run: 7, epoch: 4},
		"higher":                     {start: 3, run: 7, epoch: 4},
		"lower":                      {start: 1, run: 7, epoch: 4, refused: true},
		"it was in sync before":      {start: 1, run: 7, epoch: 4, member: true},
		"it was started again since": {start: -1, run: 0, epoch: 4},
		"of a leadership before":     {start: 1, run: 7, epoch: 5},
		"the leader is damaged":      {start: 1, run: 7, epoch: 4, damage: "gone"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			r := s.holds(1, batch(0, 1, "a"))
			r.view = replica.View{
				ID: part, Role: replica.Leading, LeaderEpoch: c.epoch, PartitionEpoch: 9, Start: 2, Damage: c.damage,
				ISR: []message.NodeID{1}, Followers: []replica.FollowerView{{Node: 2, BrokerEpoch: c.run, LogStart: c.start}},
			}
			if c.member {
				r.view.ISR = append(r.view.ISR, 2)
			}
			asks := []effect.Effect{effect.Send{To: 3, Msg: &message.AlterPartition{Partitions: []message.AlterISR{{
				ID: part, LeaderEpoch: 4, PartitionEpoch: 9, ISR: []message.Member{{Node: 1, Epoch: 5}, {Node: 2, Epoch: 7}},
			}}}}}
			o := &joinsAtStart{}
			o.Stepped(s.World, s.nodes[1], nil, asks)
			if c.refused {
				s.refused("INV-15", "node 1 asks for node 2 in the in-sync set of partition 5/0, whose log begins at 2, but that one has said that its own begins at 1")
			} else {
				s.passed()
			}
			r.view.Followers[0].LogStart = 0 // it has lost its disk while the proposal is under way
			o.Stepped(s.World, s.nodes[1], nil, asks)
			s.passed()
		})
	}
}
