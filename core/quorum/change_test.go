package quorum

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tamarack-mq/tamarack/core/message"
)

// join starts a node that the configurations do not name.
func (c *club) join(id message.NodeID) {
	c.ids = append(c.ids, id)
	c.nodes[id] = &member{}
	c.start(id)
}

// change proposes at the leader what it does not object to.
func (c *club) change(id message.NodeID, kind ChangeKind) (objection string) {
	leader := c.elect()
	q := c.nodes[leader].q
	ch := Change{id, kind}
	if objection = q.Objection(c.now, ch); objection != "" {
		return objection
	}
	out := c.out()
	q.ProposeChange(c.now, ch, out)
	c.carry(leader, out)
	return ""
}

func (c *club) voters() []message.NodeID { return c.nodes[c.elect()].q.Members().Voters }

// promote waits until a learner has caught up, and makes it a voter.
func (c *club) promote(id message.NodeID) {
	c.t.Helper()
	c.run(20*message.Second, "it has caught up", func() bool {
		l := c.leader()
		return l != message.NoNode && c.nodes[l].q.CaughtUp(c.now) == id
	})
	require.Empty(c.t, c.change(id, Promote))
	c.run(20*message.Second, "it votes", func() bool {
		return slices.Contains(c.voters(), id) && slices.Contains(c.nodes[id].q.Members().Voters, id)
	})
}

func TestANodeBecomesALearnerAndThenAVoter(t *testing.T) {
	c := newClub(t, 1, 3, Config{SnapshotEntries: 5, KeepEntries: 1})
	for i := range 12 {
		c.commit(fmt.Sprint("e", i, ";"))
	}
	c.join(4)
	require.Contains(t, c.change(4, Promote), "no learner that has caught up")
	require.Empty(t, c.change(4, AddLearner))
	c.promote(4)
	require.Contains(t, c.change(4, AddLearner), "a member already")
	c.commit("after")
	require.Equal(t, c.nodes[1].state, c.nodes[4].state)

	// It counts: without two others there is no majority.
	others := slices.DeleteFunc(slices.Clone(c.voters()), func(n message.NodeID) bool { return n == 4 })
	c.crash(others[0])
	c.commit("three of four")
	c.crash(others[1])
	c.pass(5 * message.Second)
	require.Equal(t, message.NoNode, c.leader())
	c.start(others[0])
	c.commit("again three of four")

	// What it is, it is after a crash as well.
	c.crash(4)
	c.start(4)
	require.Equal(t, []message.NodeID{1, 2, 3, 4}, c.nodes[4].q.Members().Voters)
}

func TestALeaderThatIsRemovedStepsDownAndDisturbsNobody(t *testing.T) {
	c := newClub(t, 2, 3, Config{})
	c.commit("one")
	old := c.elect()
	require.Empty(t, c.change(old, Remove))
	c.run(20*message.Second, "another leads without it", func() bool {
		l := c.leader()
		return l != message.NoNode && l != old && !slices.Contains(c.nodes[l].q.Members().Voters, old)
	})
	term := c.nodes[c.leader()].q.View().Term
	for i := range 20 {
		v, ok := c.propose(c.elect(), fmt.Sprint(i, ";"))
		require.True(t, ok)
		c.run(5*message.Second, "committed by the two", func() bool { return c.nodes[c.leader()].version() >= v })
		c.pass(message.Second)
	}
	require.Equal(t, term, c.nodes[c.leader()].q.View().Term, "the one that was removed must not cause elections")
}

// The only one that knows of the removal of the leader is the leader: of those that have
// the entry one lost its disk, and the other has not heard that it is committed. If that
// one led once more by the old members, and lost in a crash what it has written of its own,
// the removed one would have more than all others: it would refuse them, and not stand
// itself.
func TestALeaderThatIsRemovedTellsWhoCountsItStill(t *testing.T) {
	c := newClub(t, 2, 4, Config{})
	c.commit("one")
	old := c.elect()
	next := func(id message.NodeID) message.NodeID { return id%4 + 1 }
	behind, has, lost := next(old), next(next(old)), next(next(next(old)))
	c.crash(behind)
	require.Empty(t, c.change(old, Remove))
	c.run(10*message.Second, "it is removed", func() bool { return !slices.Contains(c.nodes[old].q.Members().Voters, old) })
	c.mail = nil // nobody hears of it
	require.Contains(t, c.nodes[has].q.Members().Voters, old)
	c.crash(lost)
	c.nodes[lost].disk = nil
	c.start(behind)
	c.run(20*message.Second, "who has the entry leads", func() bool { return c.nodes[has].q.View().Role == Leader })
	c.mail = slices.DeleteFunc(c.mail, func(l letter) bool { return l.to == behind })
	c.nodes[has].pending = nil
	c.crash(has)
	c.pass(message.Second)
	c.start(has)
	c.start(lost)
	c.run(20*message.Second, "another leads without it", func() bool {
		l := c.leader()
		return l != message.NoNode && l != old && !slices.Contains(c.nodes[l].q.Members().Voters, old)
	})
	v, ok := c.propose(c.leader(), "two")
	require.True(t, ok)
	c.run(20*message.Second, "all have it", func() bool {
		return c.nodes[behind].version() >= v && c.nodes[has].version() >= v && c.nodes[lost].version() >= v
	})
}

func TestChangesThatWouldEndTheQuorumAreRefused(t *testing.T) {
	c := newClub(t, 3, 3, Config{})
	c.commit("one")
	leader := c.elect()
	down := leader%3 + 1
	other := 6 - leader - down
	c.crash(down)
	c.pass(2 * message.Second)
	require.Equal(t, fmt.Sprintf("of the voters %v that there would be only 1 answer, and more than half are needed",
		[]message.NodeID{min(leader, down), max(leader, down)}), c.change(other, Remove))
	require.Empty(t, c.change(down, Remove))
	c.run(10*message.Second, "two are left", func() bool { return len(c.voters()) == 2 })
	require.Empty(t, c.change(other, Remove))
	c.run(10*message.Second, "one is left", func() bool { return len(c.voters()) == 1 })
	require.Contains(t, c.change(leader, Remove), "is the last voter")
}

// A voter that joined after the cluster began, and whose configuration does not
// name it, loses its disk: it must not vote before all the others have answered.
func TestAVoterThatJoinedAndLostItsDiskAsksAllVoters(t *testing.T) {
	c := newClub(t, 4, 3, Config{})
	c.commit("one")
	c.join(4)
	require.Empty(t, c.change(4, AddLearner))
	c.promote(4)
	c.crash(4)
	c.nodes[4].disk = nil
	away := c.elect()%3 + 1
	c.crash(away)
	c.start(4)
	c.pass(10 * message.Second)
	require.False(t, c.nodes[4].q.View().Admitted, "one voter has not answered")
	c.start(away)
	c.run(20*message.Second, "it is back", func() bool { return c.nodes[4].q.View().Whole })
}

// The only voter was joined by others, and those that the configuration names are
// none any more. It loses its disk: all that they can say is that it decided alone.
// It waits for those that they do not know of, and learns of them from their calls.
func TestAVoterThatWasAloneOnceIsNotLetInByThoseThatLeft(t *testing.T) {
	c := newClub(t, 5, 3, Config{})
	c.commit("one")
	one := c.elect()
	for _, id := range []message.NodeID{one%3 + 1, (one+1)%3 + 1} {
		require.Empty(t, c.change(id, Remove))
		c.run(10*message.Second, "it is removed", func() bool { return !slices.Contains(c.voters(), id) })
	}
	for _, id := range []message.NodeID{4, 5} {
		c.join(id)
		require.Empty(t, c.change(id, AddLearner))
		c.promote(id)
	}
	v, ok := c.propose(c.elect(), "of three others")
	require.True(t, ok)
	c.run(10*message.Second, "they have it", func() bool { return c.nodes[one].version() >= v })
	c.crash(one)
	c.nodes[one].disk = nil
	away := func(cut bool) {
		for _, id := range []message.NodeID{4, 5} {
			c.cut[[2]message.NodeID{id, one}], c.cut[[2]message.NodeID{one, id}] = cut, cut
		}
	}
	away(true)
	c.start(one)
	c.pass(10 * message.Second)
	require.False(t, c.nodes[one].q.View().Admitted, "who left the quorum does not know what became of it")
	away(false)
	c.run(20*message.Second, "it is back", func() bool { return c.nodes[one].version() >= v })
	require.Equal(t, "of three others", string(c.decided[v].Data))
}

// A node that was never a voter needs no more than a majority to join: a dead
// voter must not keep its successor out.
func TestANodeJoinsWhileAVoterIsDown(t *testing.T) {
	c := newClub(t, 5, 3, Config{})
	c.commit("one")
	c.crash(c.elect()%3 + 1)
	c.join(4)
	require.Empty(t, c.change(4, AddLearner))
	c.promote(4)
}

// Members change while the network loses and repeats, nodes crash, and fewer
// than half of the voters lose their disks. Whoever gives one of them a new disk names
// the present voters to it: one that is told of itself alone begins a cluster when nobody
// can reach it for a while, as the first of these has done. Raft's promises hold at every step
// (observe, carry), and in the end all members agree.
func TestTroubleWhileMembersChange(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		c := newClub(rt, rapid.Uint64().Draw(rt, "seed"), rapid.IntRange(1, 4).Draw(rt, "voters"), Config{
			SnapshotEntries: rapid.SampledFrom([]int{5, 50}).Draw(rt, "snapshot"),
			KeepEntries:     rapid.SampledFrom([]int{1, 10}).Draw(rt, "keep"),
		})
		for id := len(c.ids) + 1; id <= 5; id++ {
			c.join(message.NodeID(id))
		}
		c.lossy = true
		wiped := message.NoNode
		for i := range rapid.IntRange(1, 80).Draw(rt, "steps") {
			id := c.ids[c.random.Below(5)]
			m := c.nodes[id]
			switch what := rapid.IntRange(0, 13).Draw(rt, "what"); what {
			case 0:
				c.isolate(id, true)
			case 1, 2:
				c.isolate(id, false)
			case 3:
				if !m.down {
					c.crash(id)
				}
			case 4, 5:
				if m.down {
					c.start(id)
				}
			case 6:
				if !m.down && wiped == message.NoNode && len(c.decided) > 0 && c.canLose(id) {
					wiped = id
					c.crash(id)
					m.disk, m.file = nil, c.newest().public().Voters
					c.start(id)
				}
			case 7, 8, 9, 10:
				if l := c.leader(); l != message.NoNode {
					kind := []ChangeKind{AddLearner, Promote, Promote, Remove}[what-7]
					if kind == Promote {
						id = c.nodes[l].q.CaughtUp(c.now)
					}
					if kind == Remove && wiped != message.NoNode && len(c.nodes[l].q.Members().Voters) < 4 {
						break // what is left must be able to do without the one that forgot
					}
					if ch := (Change{id, kind}); id != message.NoNode && c.nodes[l].q.Objection(c.now, ch) == "" {
						out := c.out()
						c.nodes[l].q.ProposeChange(c.now, ch, out)
						c.carry(l, out)
					}
				}
			default:
				if l := c.leader(); l != message.NoNode {
					c.propose(l, fmt.Sprint(i, ";"))
				}
			}
			if wiped != message.NoNode && c.nodes[wiped].q.View().Whole {
				wiped = message.NoNode
			}
			c.pass(message.Duration(rapid.IntRange(1, 2000).Draw(rt, "ms")) * message.Millisecond)
		}
		c.lossy = false
		for _, id := range c.ids {
			c.isolate(id, false)
			require.Empty(rt, c.nodes[id].halted)
			if c.nodes[id].down {
				c.start(id)
			}
		}
		c.pass(15 * message.Second)
		v, ok := c.propose(c.elect(), "the end")
		require.True(rt, ok)
		all := c.nodes[c.elect()].q.Members()
		c.run(30*message.Second, "all members have it", func() bool {
			for _, id := range slices.Concat(all.Voters, all.Learners) {
				if c.nodes[id].version() < v {
					return false
				}
			}
			return true
		})
		for _, id := range slices.Concat(all.Voters, all.Learners) {
			require.Equal(rt, all, c.nodes[id].q.Members(), "node %d", id)
			require.Equal(rt, c.nodes[all.Voters[0]].state, c.nodes[id].state)
		}
	})
}

// newest are the members by the last change that anybody knows of.
func (c *club) newest() (newest placed) {
	for _, n := range c.ids {
		for _, s := range c.nodes[n].q.journal.sets() {
			if s.at >= newest.at && len(s.voters) > 0 {
				newest = s
			}
		}
	}
	return newest
}

// canLose says whether a member's disk may go: it is not one of fewer than three
// voters, all the others hold their journals and know of it, and no change is under
// way. Those that left the quorum may know of older sets.
func (c *club) canLose(id message.NodeID) bool {
	newest := c.newest()
	if !newest.has(uint64(id)) || len(newest.voters) < 3 {
		return false
	}
	for _, m := range slices.Concat(newest.voters, newest.learners) {
		j := &c.nodes[message.NodeID(m)].q.journal
		if j.identity == nil || len(j.sets()) > 1 || !j.present.equal(newest.members) {
			return false
		}
	}
	return true
}

// The node with which a cluster began, alone, has lost its disk and is started with the
// configuration of its first day. It begins no other cluster while the one that it began
// is there: those that lead it, or want to, speak to it. The present voters may also be
// named to it, whoever is up.
func TestTheFirstVoterOfAClusterThatGrewJoinsIt(t *testing.T) {
	for _, how := range []string{"told of the others", "told of itself", "without a leader"} {
		t.Run(how, func(t *testing.T) {
			c := newClub(t, 6, 1, Config{})
			for _, id := range []message.NodeID{2, 3} {
				c.join(id)
				c.elect()
				require.Empty(t, c.change(id, AddLearner))
				c.promote(id)
			}
			v, ok := c.propose(c.elect(), "of three")
			require.True(t, ok)
			c.run(10*message.Second, "all have it", func() bool { return c.nodes[1].version() >= v })
			c.crash(1)
			c.nodes[1].disk = nil
			switch how {
			case "told of the others":
				c.nodes[1].file = c.newest().public().Voters
			case "without a leader":
				for _, id := range []message.NodeID{2, 3} {
					c.crash(id)
				}
				c.start(2)
				c.pass(10 * message.Second) // it stands again and again
			}
			c.start(1)
			if how == "without a leader" {
				c.pass(20 * message.Second)
				require.False(t, c.nodes[1].q.View().Admitted)
				require.Equal(t, []message.NodeID{3}, c.nodes[1].q.Awaited())
				c.start(3)
			}
			c.run(20*message.Second, "it is back", func() bool { return c.nodes[1].version() >= v })
			require.Equal(t, []message.NodeID{1, 2, 3}, c.voters())
		})
	}
}
