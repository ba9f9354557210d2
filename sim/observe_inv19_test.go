package sim

import (
	"testing"

	"github.com/tamarack-mq/tamarack/core/quorum"
)

func TestALeaderByVotersThatNeedNotMeetThoseInForceIsRefused(t *testing.T) {
	for _, c := range []struct {
		by, inForce nodeIDs
		fine        bool
	}{
		{nodeIDs{1, 2, 3}, nodeIDs{1, 2, 3}, true},
		{nodeIDs{1, 2, 3}, nodeIDs{1, 2, 3, 4}, true},
		{nodeIDs{1, 2, 3, 4}, nodeIDs{2, 3, 4}, true},
		{nodeIDs{1, 2}, nodeIDs{1}, true},
		{nodeIDs{1, 2, 3}, nodeIDs{1, 2, 3, 4, 5}, false},
		{nodeIDs{1, 2, 3}, nodeIDs{2, 3, 4}, false},
		{nodeIDs{1}, nodeIDs{2}, false},
	} {
		s := newStage(t)
		(&configurationsMeet{}).judge(s.World, s.nodes[1], &quorum.View{Term: 7, Members: quorum.Members{Voters: c.by}}, c.inForce)
		if c.fine {
			s.passed()
		} else {
			s.refused("INV-19", "in term 7 by the voters")
		}
	}
}
