package sim

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/quorum"
	"github.com/tamarack-mq/tamarack/core/record"
)

func TestAnEntryOfAnEarlierTermThatIsCommittedByCountingIsRefused(t *testing.T) {
	s, o := newStage(t), &heldEntries{}
	leader := quorum.View{Role: quorum.Leader, Term: 4, Commit: 5, CommitTerm: 2, Last: 7}
	o.grow(s.nodes[1])
	o.before[1] = leader.Commit
	o.judge(s.World, s.nodes[1], &leader)
	next := leader
	next.Commit, next.CommitTerm = 7, 4 // with its own entry all before it is committed
	o.judge(s.World, s.nodes[1], &next)
	s.passed()
	o.before[1] = leader.Commit
	next.Commit, next.CommitTerm = 6, 3
	o.judge(s.World, s.nodes[1], &next)
	s.refused("INV-17", "node 1, which leads term 4, takes version 6 for committed, of term 3")
}

func TestAVoterThatGivesUpWhatItConfirmedIsRefused(t *testing.T) {
	s, o := newStage(t), &heldEntries{}
	o.grow(s.nodes[1])
	o.said[1] = confirmedToTerm{term: 4, end: 9}
	voter := quorum.View{Term: 4, Commit: 6, Last: 9}
	o.judge(s.World, s.nodes[1], &voter)
	voter.Term, voter.Last = 5, 8 // another leader may take it away
	o.judge(s.World, s.nodes[1], &voter)
	s.passed()
	voter.Term = 4
	o.judge(s.World, s.nodes[1], &voter)
	s.refused("INV-17", "ends at version 8, but it has told the leader of term 4 that it holds it up to 9")
	voter.Term, voter.Last = 5, 5
	o.judge(s.World, s.nodes[1], &voter)
	s.refused("INV-17", "ends at version 5, but it knows that version 6 is committed")
}

func TestANodeThatAppliesOtherEntriesIsRefused(t *testing.T) {
	s, o := newStage(t), &heldEntries{}
	o.grow(s.nodes[2])
	o.applied(s.World, s.nodes[1], &quorum.View{Applied: 5, Digest: 77})
	o.applied(s.World, s.nodes[1], &quorum.View{Applied: 6, Digest: 78})
	o.applied(s.World, s.nodes[2], &quorum.View{Applied: 5, Digest: 77})
	s.passed()
	o.applied(s.World, s.nodes[2], &quorum.View{Applied: 6, Digest: 5})
	s.refused("INV-17", "node 2 has applied the log up to version 6, but by other entries than another node before it")
}

func TestAVoteForAnOlderLogIsRefused(t *testing.T) {
	s, o := newStage(t), &votes{}
	voter := quorum.View{Term: 6, Vote: 2, Last: 9, LastTerm: 4}
	o.asked(s.World, s.nodes[1], 2, raftMessage{term: 6, logTerm: 4, index: 9}, &voter)
	voter.Last = 12 // it has got more since from whom it voted for
	o.asked(s.World, s.nodes[1], 2, raftMessage{term: 6, logTerm: 4, index: 9}, &voter)
	voter.Term = 7
	o.asked(s.World, s.nodes[1], 3, raftMessage{term: 7, logTerm: 3, index: 20}, &voter) // which is not whom it votes for
	s.passed()
	voter.Term = 8
	o.asked(s.World, s.nodes[1], 2, raftMessage{term: 8, logTerm: 3, index: 20}, &voter)
	s.refused("INV-16", "votes in term 8 for node 2, whose log ends at 20 in term 3; its own ends at 12 in term 4")
	voter.Term = 9
	o.asked(s.World, s.nodes[1], 2, raftMessage{term: 9, logTerm: 4, index: 11}, &voter)
	s.refused("INV-16", "whose log ends at 11 in term 4")
}

func TestACommitThatComesOutOfItsTurnIsRefused(t *testing.T) {
	s, o := newStage(t), &committedOffsets{}
	id := record.PartitionID{Topic: 7}
	take := func(number, came, now uint64) {
		s.stats.Steps = now
		o.inTurn(s.World, s.nodes[1], &message.CommitOffsets{Group: "g", Member: "m", MemberEpoch: 3, Number: number}, id, came)
	}
	take(1, 10, 20)
	take(2, 30, 40)
	take(1, 35, 50) // it came before the second was acknowledged: either may be stored last
	take(2, 60, 70) // a repeat changes nothing
	s.passed()
	take(1, 60, 70)
	s.refused("INV-24", `takes commit 1 of member "m" of group "g"`)
}

func TestADeposedCoordinatorMaySayAgainWhatItHadAcknowledged(t *testing.T) {
	s, o := newStage(t), &committedOffsets{}
	asked := &message.CommitOffsets{Group: "g", Member: "m", MemberEpoch: 3}
	ledBy := func(node message.NodeID) {
		image := s.cluster()
		shards := &message.TopicChange{ID: 6, Name: offsetsTopic, Config: message.TopicConfig{Internal: true}}
		require.NoError(t, image.Apply(image.Version()+1, &message.Change{Topic: shards}))
		state := &message.PartitionChange{ID: record.PartitionID{Topic: 6}, Replicas: []message.NodeID{1, 2, 3}, ISR: []message.NodeID{1, 2, 3}, Leader: node}
		require.NoError(t, image.Apply(image.Version()+1, &message.Change{Partition: state}))
		s.book.part(state.ID).state = state
	}
	take := func(node, number int) bool {
		s.stats.Steps += 10
		asked.Number = uint64(number)
		return o.inTurn(s.World, s.nodes[node], asked, record.PartitionID{Topic: 7}, s.stats.Steps-1)
	}
	ledBy(1)
	require.True(t, take(1, 1))
	require.True(t, take(1, 3))
	ledBy(3)
	require.False(t, take(2, 1), "it tells of a commit that was acknowledged before")
	s.passed()
	require.True(t, take(2, 2))
	s.refused("INV-24", "node 2 takes commit 2")
	s, o = newStage(t), &committedOffsets{}
	ledBy(1)
	require.True(t, take(1, 1))
	require.True(t, take(1, 3))
	take(1, 1) // by the one that knows of the commit between
	s.refused("INV-24", "node 1 takes commit 1")
}
