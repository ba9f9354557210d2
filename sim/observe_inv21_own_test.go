package sim

import (
	"testing"

	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// A request that named a partition which the member did not hold is answered.
func TestAMemberCommitsOnlyWhatIsItsOwn(t *testing.T) {
	own, other := part, record.PartitionID{Topic: part.Topic, Index: part.Index + 1}
	answered := func(code message.Code, codes ...message.Code) *stage {
		s, token := newStage(t), message.Token(7)
		n := s.nodes[1]
		n.tokens[token] = caller{request: &message.CommitOffsets{Group: "g", Member: "m", MemberEpoch: 3}}
		o := &ownPositions{strays: map[asking][]record.PartitionID{{n.id, n.run, token}: {other}}}
		o.answered(s.World, n, token, code, []message.CommittedOffset{{ID: own, Code: codes[0]}, {ID: other, Code: codes[1]}})
		if len(o.strays) != 0 {
			t.Fatal("it is answered, and waits all the same")
		}
		return s
	}
	answered(message.None, message.None, message.StaleMemberEpoch).passed()
	answered(message.StaleMemberEpoch, message.None, message.None).passed()
	answered(message.None, message.None, message.None).refused("INV-21", `member "m" of group "g" for partition `+other.String()+", which the member did not hold")
}
