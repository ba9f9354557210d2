package sim

import (
	"testing"

	"github.com/tamarack-mq/tamarack/core/message"
)

func TestALateHeartbeatChangesNothing(t *testing.T) {
	type beat struct {
		asked, then message.MemberEpoch // of the heartbeat; of the member after it, 0: it is not there
		since       message.Time
	}
	const words = `node 1 moves member "m" of group "g" from epoch 5 to 6 at a heartbeat under epoch 4`
	for name, c := range map[string]struct {
		beats []beat
		words string
	}{
		"it goes on":                          {[]beat{{0, 4, 0}, {4, 5, 0}, {5, 5, 0}, {5, 6, 0}}, ""},
		"the answer was lost":                 {[]beat{{0, 4, 0}, {4, 5, 0}, {4, 5, 0}, {5, 6, 0}}, ""},
		"it comes late":                       {[]beat{{0, 4, 0}, {4, 5, 0}, {4, 6, 0}}, words},
		"it comes late, to a new coordinator": {[]beat{{5, 5, 0}, {4, 6, 0}}, words},
		"twice, and the second changes it":    {[]beat{{0, 4, 0}, {4, 5, 0}, {4, 5, 0}, {4, 6, 0}}, words},
		"its shard was loaded meanwhile":      {[]beat{{0, 4, 0}, {4, 5, 0}, {4, 6, 1}}, ""},
		"it has joined again":                 {[]beat{{0, 4, 0}, {4, 5, 0}, {0, 6, 0}}, ""},
		"it was gone":                         {[]beat{{0, 4, 0}, {4, 5, 0}, {4, 0, 0}, {4, 6, 0}}, ""},
		"it has left, and its place changes":  {[]beat{{0, 4, 0}, {4, 5, 0}, {message.LeaveStaticEpoch, 6, 0}, {5, 6, 0}, {5, 7, 0}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s, o := newStage(t), &lateBeats{}
			for _, b := range c.beats {
				s.passed()
				m := &message.GroupHeartbeat{Group: "g", Member: "m", MemberEpoch: b.asked}
				o.beaten(s.World, s.nodes[1], m, beatenAt{1, b.since, b.then}, b.then != 0)
			}
			if c.words == "" {
				s.passed()
			} else {
				s.refused("INV-22", c.words)
			}
		})
	}
}
