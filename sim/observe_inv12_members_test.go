package sim

import (
	"testing"

	"github.com/tamarack-mq/tamarack/core/group"
	"github.com/tamarack-mq/tamarack/core/message"
)

func TestDeadlinesThatDoNotFitTheirMembersAreRefused(t *testing.T) {
	s := newStage(t)
	o := &memberDeadlines{}
	look := func(revoking int, by message.Time) {
		o.judge(s.World, s.nodes[1], group.Deadline{Group: "g", Member: "m", Revoking: revoking, RevokeBy: by})
	}
	look(0, message.Never)
	look(2, 77)
	s.passed()
	look(0, 77)
	s.refused("INV-12", `gives member "m" of group "g" a time to give up partitions, of which there are none`)
	look(2, message.Never)
	s.refused("INV-12", "no time to give up 2 partitions")
}
