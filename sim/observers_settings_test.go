package sim

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core/log"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/metadata"
	"github.com/tamarack-mq/tamarack/core/quorum"
	"github.com/tamarack-mq/tamarack/core/settings"
)

func (s *stage) brokenBy(invariant, sentence string) {
	s.t.Helper()
	require.NotNil(s.t, s.failure)
	require.Equal(s.t, []string{invariant, sentence}, []string{s.failure.Invariant, s.failure.Sentence})
	s.failure = nil
}

func TestOldSettingsAreRefused(t *testing.T) {
	s, o := newStage(t), &settingsInForce{}
	n := s.nodes[1]
	age := log.Retention{Age: message.Second}
	o.topic(s.World, n, part, 2, 2, age, age, 4096, 4096)
	o.judge(s.World, n, "the node", settings.Node{1: 5}, settings.Node{1: 5})
	o.session(s.World, n, 7, 7)
	require.Nil(t, s.failure)

	o.topic(s.World, n, part, 1, 2, age, age, 0, 0)
	s.brokenBy("INV-40", "node 1 holds partition 5/0 to 1 replicas in sync, but its image says 2")
	o.topic(s.World, n, part, 2, 2, age, log.Retention{Bytes: 9, Age: -1}, 0, 0)
	s.brokenBy("INV-40", "node 1 keeps partition 5/0 by the limits {Bytes:0 Age:1000000000}, but its image says {Bytes:9 Age:-1}")
	o.topic(s.World, n, part, 2, 2, age, age, 4096, 1024)
	s.brokenBy("INV-40", "node 1 rolls partition 5/0 at 4096 bytes, but its image says 1024")
	o.judge(s.World, n, "the node", settings.Node{1: 5}, settings.Node{1: 6})
	require.Equal(t, "INV-40", s.failure.Invariant)
	s.failure = nil
	o.session(s.World, n, 7, 8)
	s.brokenBy("INV-40", "the controller on node 1 gives sessions of 7 ns, but by what it has committed they last 8")
}

func TestAQuorumThatCountsWrongIsRefused(t *testing.T) {
	s, o := newStage(t), &quorumInForce{}
	three := quorum.Members{Voters: []message.NodeID{1, 2, 3}}
	for _, n := range s.nodes[1:] {
		o.at(n).durable = 5
		o.before[n.id] = quorumBefore{role: quorum.Leader, term: 2, commit: 4, members: three}
	}
	leader := quorum.View{Role: quorum.Leader, Term: 2, Applied: 5, Commit: 5, Members: three}
	o.judge(s.World, s.nodes[1], &leader)
	require.Nil(t, s.failure)

	o.at(s.nodes[1]).durable = 6
	leader.Commit = 6
	o.judge(s.World, s.nodes[1], &leader)
	s.brokenBy("INV-41", "node 1 takes version 6 for committed, but of the voters [1 2 3] only 1 hold it")
	other := quorum.View{Applied: 5, Members: quorum.Members{Voters: []message.NodeID{1, 2}}}
	o.judge(s.World, s.nodes[2], &other)
	s.brokenBy("INV-41", "node 2 has the members {[1 2] []} at version 5, but another had {[1 2 3] []}")
	gone := quorum.View{Role: quorum.Leader, Term: 3, Applied: 7, Commit: 5, Members: quorum.Members{Voters: []message.NodeID{1, 3}}}
	o.judge(s.World, s.nodes[2], &gone)
	s.brokenBy("INV-41", "node 2 leads the quorum in term 3, but the voters are [1 3]")
}

func TestMembersThatAreMadeByAnotherEntryAreRefused(t *testing.T) {
	s, o := newStage(t), &quorumInForce{}
	v := quorum.View{Applied: 9, MembersAt: 4, Members: quorum.Members{Voters: []message.NodeID{1, 2, 3}}}
	for _, n := range s.nodes[1:] {
		o.at(n)
	}
	o.judge(s.World, s.nodes[1], &v)
	o.judge(s.World, s.nodes[2], &v)
	require.Nil(t, s.failure)
	v.MembersAt = 6
	o.judge(s.World, s.nodes[2], &v)
	s.brokenBy("INV-41", "node 2 has its members at version 9 from version 6, but another had them from 4")
	v.MembersAt = 10
	o.judge(s.World, s.nodes[2], &v)
	s.brokenBy("INV-41", "node 2 has its members from version 10, but has applied the log up to 9")
}

func TestMembersThatChangeWronglyAreRefused(t *testing.T) {
	s, o := newStage(t), &quorumInForce{}
	set := func(voters, learners []message.NodeID) *message.ControllersChange {
		return &message.ControllersChange{Voters: voters, Learners: learners}
	}
	ids := func(list ...message.NodeID) []message.NodeID { return list }
	o.changed(s.World, set(ids(1, 2), nil), set(ids(1, 2), ids(3)))
	o.changed(s.World, set(ids(1, 2, 3), nil), set(ids(1, 2), nil))
	require.Nil(t, s.failure)
	o.changed(s.World, set(ids(1, 2), nil), set(ids(1, 2, 3), nil))
	s.brokenBy("INV-41", "node 3 is a voter of [1 2 3], but was no learner before")
	o.changed(s.World, set(ids(1, 2, 3), nil), set(ids(1), nil))
	s.brokenBy("INV-41", "the voters go from [1 2 3] to [1] in one step")
}

func TestAVoterThatIsWholeTooEarlyIsRefused(t *testing.T) {
	s, o := newStage(t), &quorumInForce{decided: 30}
	n := s.nodes[2]
	for _, last := range []message.Version{30, 29} {
		n.forgot = true
		o.Started(s.World, n, nil)
		o.decided = 35 // since then
		o.returned(s.World, n, &quorum.View{Last: 12})
		require.Nil(t, s.failure)
		n.forgot = false
		o.returned(s.World, n, &quorum.View{Last: last})
		o.returned(s.World, n, &quorum.View{Last: 12})
		o.decided = 30
	}
	s.brokenBy("INV-41", "node 2 lost its disk and counts for whole again, but it holds the log only up to 29, and 30 was committed before it came back")
}

// Who begins to vote held all but the entry that made it a voter. That one may be
// committed with others behind it, when it is the next leader who commits it.
func TestALearnerThatVotesWithoutTheLogIsRefused(t *testing.T) {
	voters := func(list ...message.NodeID) quorum.Members { return quorum.Members{Voters: list} }
	learns := quorum.Members{Voters: []message.NodeID{1, 2, 3}, Learners: []message.NodeID{4}}
	for _, c := range []struct {
		members map[message.Version]quorum.Members
		held    message.Version
		broken  string
	}{
		{map[message.Version]quorum.Members{20: learns, 21: voters(1, 2, 3, 4), 22: voters(1, 2, 3, 4)}, 20, ""},
		{map[message.Version]quorum.Members{20: learns, 21: voters(1, 2, 3, 4), 22: voters(1, 2, 3, 4)}, 19, "node 4 votes from version 21 on, but holds the log only up to 19"},
		{map[message.Version]quorum.Members{20: learns, 22: voters(1, 2, 3, 4)}, 20, "node 4 votes from version 22 on, but holds the log only up to 20"},
		// It has voted before, and was removed.
		{map[message.Version]quorum.Members{7: voters(2, 3, 4), 9: voters(2, 3), 20: learns, 22: voters(1, 2, 3, 4)}, 8, "node 4 votes from version 22 on, but holds the log only up to 8"},
	} {
		p := smallPlan()
		p.Cluster.Nodes = 4
		s, o := &stage{newWorld(p, Options{}), t}, &quorumInForce{members: c.members, present: &message.ControllersChange{}}
		s.book.meta.image = metadata.NewImage()
		s.book.meta.image.Advance(22)
		o.at(s.nodes[4]).durable = c.held
		o.caughtUp(s.World, 4)
		if c.broken == "" {
			require.Nil(t, s.failure)
			continue
		}
		s.brokenBy("INV-41", c.broken)
	}
}

func TestASessionThatTwoHeartbeatsOutliveIsRefused(t *testing.T) {
	set := func(node message.NodeID, pairs ...string) *message.SettingsChange {
		c := &message.SettingsChange{Node: node}
		for i := 0; i < len(pairs); i += 2 {
			c.Settings = append(c.Settings, message.Setting{Key: pairs[i], Value: pairs[i+1]})
		}
		return c
	}
	start := settings.Node{settings.HeartbeatInterval: int64(500 * message.Millisecond), settings.SessionTimeout: int64(2 * message.Second)}
	for _, c := range []struct {
		scopes []*message.SettingsChange
		broken bool
	}{
		{},
		{scopes: []*message.SettingsChange{set(message.NoNode, "heartbeat-interval", "1s")}},
		{scopes: []*message.SettingsChange{set(message.NoNode, "heartbeat-interval", "1001ms")}, broken: true},
		{scopes: []*message.SettingsChange{set(message.NoNode, "session-timeout", "900ms")}, broken: true},
		{scopes: []*message.SettingsChange{set(message.NoNode, "session-timeout", "3s"), set(2, "heartbeat-interval", "1500ms")}},
		{scopes: []*message.SettingsChange{set(message.NoNode, "session-timeout", "3s"), set(2, "heartbeat-interval", "1501ms")}, broken: true},
		{scopes: []*message.SettingsChange{set(2, "heartbeat-interval", "1500ms")}, broken: true},
	} {
		w := newWorld(NewPlan(1), Options{})
		(&settingsInForce{}).together(w, w.nodes[1], &start, c.scopes)
		require.Equal(t, c.broken, w.failure != nil, "%v", c.scopes)
	}
}
