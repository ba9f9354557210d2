package quorum

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	pb "go.etcd.io/raft/v3/raftpb"
	"pgregory.net/rapid"

	"github.com/tamarack-mq/tamarack/core/chance"
	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
)

func TestThreeVotersElectOneAndCommit(t *testing.T) {
	c := newClub(t, 1, 3, Config{})
	for i := range 5 {
		c.commit(fmt.Sprintf("entry %d", i))
	}
	require.Len(t, c.leaders, 1)
}

// A node that knows of nobody else listens before it begins a cluster: there may be
// one. When it starts again it knows that it is alone.
func TestALoneVoterListensOnceAndThenServesAtOnce(t *testing.T) {
	c := newClub(t, 1, 1, Config{})
	c.pass(3 * message.Second)
	require.False(t, c.nodes[1].q.View().Admitted)
	begun := c.now
	c.commit("alone")
	require.Less(t, c.now, begun.Add(1100*message.Millisecond))
	require.Equal(t, message.Never, c.nodes[1].q.Wake(), "a lone leader waits for nothing")

	c.crash(1)
	c.start(1)
	begun = c.now
	c.commit("again")
	require.Less(t, c.now, begun.Add(100*message.Millisecond))

	c = newClub(t, 1, 1, Config{Silence: -1})
	c.commit("told not to")
	require.Less(t, c.now, message.Time(100*message.Millisecond))
}

func TestALeaderCutOffStopsServingAndTheOthersGoOn(t *testing.T) {
	c := newClub(t, 2, 3, Config{})
	c.commit("before")
	old := c.elect()
	c.isolate(old, true)
	v, ok := c.propose(old, "lost")
	require.True(t, ok, "it cannot know yet")
	c.run(2*message.Second, "the old leader gives up", func() bool {
		_, ready := c.nodes[old].q.Leads()
		return !ready
	})
	require.NotEqual(t, old, c.elect())
	c.propose(c.leader(), "kept")
	c.pass(message.Second)
	c.isolate(old, false)
	c.commit("after")
	require.NotEqual(t, "lost", string(c.decided[v].Data))
	require.Equal(t, c.nodes[1].q.View().Digest, c.nodes[2].q.View().Digest)
}

func TestAVoterThatHearsALeaderHelpsNobodyToDeposeIt(t *testing.T) {
	c := newClub(t, 3, 3, Config{})
	c.commit("one")
	leader := c.elect()
	other := leader%3 + 1
	c.cut[[2]message.NodeID{leader, other}] = true // it no longer hears the leader
	term, _ := c.nodes[leader].q.Leads()
	c.pass(20 * message.Second)
	now, ready := c.nodes[leader].q.Leads()
	require.True(t, ready)
	require.Equal(t, term, now)
}

func TestRestartsKeepWhatWasCommitted(t *testing.T) {
	c := newClub(t, 4, 3, Config{})
	c.commit("kept")
	for _, id := range c.ids {
		c.crash(id)
	}
	for _, id := range c.ids {
		c.start(id)
	}
	c.commit("more")
	require.Contains(t, string(c.nodes[1].state), "kept")
}

func TestASlowVoterGetsASnapshot(t *testing.T) {
	c := newClub(t, 5, 3, Config{SnapshotEntries: 20, KeepEntries: 5})
	c.commit("first")
	slow := c.elect()%3 + 1
	c.isolate(slow, true)
	for i := range 100 {
		v, _ := c.propose(c.elect(), fmt.Sprint(i, ";"))
		c.run(message.Second, "committed", func() bool { return c.nodes[c.elect()].version() >= v })
	}
	c.isolate(slow, false)
	// The first snapshot is lost on the way.
	c.run(5*message.Second, "a snapshot leaves", func() bool {
		for i, l := range c.mail {
			m, err := decode(l.data, c.nodes[slow].q.mark, 0, 0)
			require.NoError(t, err)
			if m.engine.GetType() == pb.MsgSnap {
				c.mail = append(c.mail[:i], c.mail[i+1:]...)
				return true
			}
		}
		return false
	})
	c.commit("last")
	require.Equal(t, c.nodes[c.leader()].state, c.nodes[slow].state)
	require.Greater(t, c.nodes[slow].q.journal.snapshotIndex, uint64(50))

	c.crash(slow)
	c.start(slow)
	c.commit("again")
	require.Equal(t, c.nodes[c.leader()].state, c.nodes[slow].state)
}

func TestAVoterWithALostDiskDoesNotVoteBeforeItHasCaughtUp(t *testing.T) {
	c := newClub(t, 6, 3, Config{})
	c.commit("all")
	leader := c.elect()
	behind, wiped := leader%3+1, (leader+1)%3+1
	c.isolate(behind, true)
	v, _ := c.propose(leader, "held by two")
	c.run(message.Second, "committed", func() bool { return c.nodes[wiped].version() >= v })
	// The second copy is wiped and comes back while the first one is away.
	c.crash(wiped)
	c.nodes[wiped].disk = nil
	c.crash(leader)
	c.isolate(behind, false)
	c.start(wiped)
	c.pass(20 * message.Second)
	require.Equal(t, message.NoNode, c.leader(), "two voters without the entry must not lead")
	require.False(t, c.nodes[wiped].q.View().Admitted)

	c.start(leader)
	c.commit("afterwards")
	require.Equal(t, "held by two", string(c.decided[v].Data))
	require.True(t, c.nodes[wiped].q.View().Whole)
}

func TestAVoterWipedUnderALivingLeaderIsCaughtUp(t *testing.T) {
	c := newClub(t, 7, 3, Config{})
	for i := range 10 {
		c.commit(fmt.Sprint("e", i))
	}
	wiped := c.elect()%3 + 1
	c.crash(wiped)
	c.nodes[wiped].disk = nil
	c.start(wiped)
	c.commit("for all")
	require.Empty(t, c.nodes[wiped].halted)
}

// An empty voter cannot know in which terms it has voted before.
func TestAnEmptyVoterGivesNoVoteInTermsThatMayBeSpent(t *testing.T) {
	q := New(Config{ClusterID: "club", ID: 1, Voters: []message.NodeID{1, 2, 3}}, nil, "", chance.New(1), 0)
	out := &Out{Out: &effect.Out{}}
	q.Tick(0, out)
	require.Len(t, out.List, 2, "it asks the others")
	require.Equal(t, []message.NodeID{2, 3}, q.Awaited())
	three := members{voters: []uint64{1, 2, 3}}
	seen := answer{nonce: q.admission.nonce, term: 5, end: position{4, 10}, first: three, sets: []placed{{0, three}}}
	q.Receive(1, 2, encodeAnswer(q.mark, seen), out)
	require.False(t, q.View().Admitted)
	require.Equal(t, []message.NodeID{3}, q.Awaited())
	seen.term, seen.end = 7, position{3, 20}
	q.Receive(1, 3, encodeAnswer(q.mark, seen), out)
	require.Equal(t, View{ID: 1, Term: 7, Admitted: true, Members: three.public()}, q.View())
	require.Equal(t, position{4, 10}, q.journal.identity.floor)
	require.Empty(t, q.Awaited())

	vote := func(term, logTerm, index uint64) message.NodeID {
		q.Receive(2, 2, encodeEngine(q.mark, &pb.Message{
			Type: pb.MsgVote.Enum(), Term: &term, LogTerm: &logTerm, Index: &index,
		}), out)
		return q.View().Vote
	}
	require.Equal(t, message.NoNode, vote(8, 7, 99), "a spent term")
	require.Equal(t, message.NoNode, vote(5000, 4, 9), "a log that may lack something")
	require.Equal(t, message.NodeID(2), vote(5000, 4, 10))
}

// A leader counts on what a voter has acknowledged to it and lost since. The voter
// may have come back without hearing of that leader's term: the heartbeat that tells
// it makes the leader step down, whatever its term, and stops nobody.
func TestALeaderOfALaterTermThatCountsOnLostEntriesStepsDown(t *testing.T) {
	for _, term := range []uint64{6, 7, 685} {
		q := New(Config{ClusterID: "club", ID: 1, Voters: []message.NodeID{1, 2, 3}}, nil, "", chance.New(1), 0)
		three := members{voters: []uint64{1, 2, 3}}
		for _, id := range []message.NodeID{2, 3} {
			seen := answer{nonce: q.admission.nonce, term: 6, end: position{6, 36}, first: three, sets: []placed{{0, three}}}
			q.Receive(1, id, encodeAnswer(q.mark, seen), &Out{Out: &effect.Out{}})
		}
		q.Saved(2, q.seq, &Out{Out: &effect.Out{}})
		out := &Out{Out: &effect.Out{}}
		q.Receive(3, 2, encodeEngine(q.mark, &pb.Message{
			Type: pb.MsgHeartbeat.Enum(), Term: &term, Commit: new(uint64(101)),
		}), out)
		q.Saved(4, q.seq, out)
		var answered []uint64
		for _, e := range out.List {
			switch e := e.(type) {
			case effect.Halt:
				t.Fatal(e.Reason)
			case effect.Send:
				m, err := decode(e.Msg.(*message.Quorum).Data, q.mark, 1, 2)
				require.NoError(t, err)
				require.Equal(t, message.NodeID(2), e.To)
				answered = append(answered, m.engine.GetTerm())
			}
		}
		require.Equal(t, []uint64{term + 1}, answered)
	}
}

// A leader that has won but not yet committed an entry of its own does not
// know what is committed (KAFKA-12619).
func TestALeaderServesOnlyOnceItsOwnEntryIsCommitted(t *testing.T) {
	c := newClub(t, 10, 3, Config{})
	c.commit("one")
	old := c.elect()
	c.crash(old)
	c.run(10*message.Second, "somebody wins", func() bool {
		for _, id := range c.ids {
			if v := c.nodes[id].q.View(); id != old && v.Role == Leader {
				require.False(t, v.Ready)
				_, ok := c.propose(id, "too early")
				require.False(t, ok)
				return true
			}
		}
		return false
	})
	c.commit("two")
}

// Whatever a voter cannot read, or is not for its cluster, it passes over.
func TestMessagesOfAnotherClusterOrOfNoneDoNothing(t *testing.T) {
	c := newClub(t, 8, 1, Config{})
	c.commit("one")
	q := c.nodes[1].q
	good := encodeEngine(q.mark, &pb.Message{Type: pb.MsgHeartbeat.Enum(), Term: new(uint64(99)), Commit: new(uint64(1))})
	other := encodeEngine(q.mark+1, &pb.Message{Type: pb.MsgHeartbeat.Enum(), Term: new(uint64(99)), Commit: new(uint64(1))})
	before := q.View()
	for _, b := range [][]byte{other, nil, {0}, good[:3], append(slices.Clone(good), 0)} {
		out := &Out{Out: &effect.Out{}}
		q.Receive(c.now, 2, b, out)
		require.Empty(t, out.List)
		require.Equal(t, before, q.View())
	}
}

func TestADamagedJournalMakesAVoterMute(t *testing.T) {
	q := New(Config{ClusterID: "c", ID: 1, Voters: []message.NodeID{1}}, nil, "frame 3 has a bad checksum",
		chance.New(1), 0)
	out := &Out{Out: &effect.Out{}}
	q.Begin(0, out)
	q.Tick(q.Wake(), out)
	q.Tick(1, out)
	require.Equal(t, []effect.Effect{effect.Halt{
		Reason: "metadata quorum: frame 3 has a bad checksum; " + advice,
	}}, out.List)
	_, ok := q.Propose(2, []byte("x"), out)
	require.False(t, ok)
	require.Equal(t, message.Never, q.Wake())
}

func TestAJournalOfAnotherClusterIsRefused(t *testing.T) {
	c := newClub(t, 8, 1, Config{})
	c.commit("one")
	q := New(Config{ClusterID: "other", ID: 1, Voters: []message.NodeID{1}}, c.nodes[1].disk, "", chance.New(1), 0)
	require.Contains(t, q.View().Mute, "another cluster")
	// The voters of the configuration count only when a cluster begins.
	q = New(Config{ClusterID: "club", ID: 1, Voters: []message.NodeID{1, 2, 3}}, c.nodes[1].disk, "", chance.New(1), 0)
	require.Equal(t, Members{Voters: []message.NodeID{1}, Learners: []message.NodeID{}}, q.Members())
}

func TestACommittedEntryLostFromDiskHalts(t *testing.T) {
	c := newClub(t, 9, 3, Config{})
	for i := range 5 {
		c.commit(fmt.Sprint("e", i))
	}
	loser := c.elect()%3 + 1
	c.crash(loser)
	disk := c.nodes[loser].disk
	c.nodes[loser].disk = disk[:len(disk)-3] // behind the back of storage
	c.start(loser)
	c.run(10*message.Second, "it notices", func() bool { return c.nodes[loser].halted != "" })
	require.Contains(t, c.nodes[loser].halted, "lost?")
}

// What follows from a seed must follow byte for byte.
func TestTheSameSeedGivesTheSameTrace(t *testing.T) {
	play := func() []string {
		c := newClub(t, 42, 3, Config{SnapshotEntries: 10, KeepEntries: 3})
		c.lossy = true
		for i := range 40 {
			c.pass(300 * message.Millisecond)
			if l := c.leader(); l != message.NoNode {
				c.propose(l, fmt.Sprint("p", i))
			}
			if i%7 == 3 {
				id := c.ids[c.random.Below(3)]
				c.crash(id)
				c.start(id)
			}
		}
		return c.trace
	}
	first, second := play(), play()
	require.Greater(t, len(first), 500)
	require.Equal(t, first, second)
}

// Whatever the network and crashes do, Raft's promises hold (checked by
// observe and carry at every step), and when the trouble ends the voters agree.
func TestTroubleNeverBreaksThePromises(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		voters := rapid.SampledFrom([]int{1, 2, 3, 4, 5}).Draw(rt, "voters")
		c := newClub(rt, rapid.Uint64().Draw(rt, "seed"), voters, Config{
			SnapshotEntries: rapid.SampledFrom([]int{5, 50}).Draw(rt, "snapshot"),
			KeepEntries:     rapid.SampledFrom([]int{1, 10}).Draw(rt, "keep"),
		})
		c.lossy = true
		wiped := false
		for i := range rapid.IntRange(1, 60).Draw(rt, "steps") {
			id := c.ids[c.random.Below(int64(voters))]
			switch m := c.nodes[id]; rapid.IntRange(0, 9).Draw(rt, "what") {
			case 0:
				c.isolate(id, true)
			case 1, 2:
				c.isolate(id, false)
			case 3:
				if !m.down {
					c.crash(id)
				}
			case 4:
				if m.down {
					c.start(id)
				}
			case 5:
				// Fewer than a majority, and not before there is anything to lose.
				if !m.down && !wiped && voters > 2 && len(c.decided) > 0 {
					wiped = true
					c.crash(id)
					m.disk = nil
					c.start(id)
				}
			default:
				for _, l := range c.ids {
					if _, ready := c.nodes[l].q.Leads(); ready && !c.nodes[l].down {
						c.propose(l, fmt.Sprint(i, ";"))
					}
				}
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
		c.pass(10 * message.Second) // what is under way may still depose a leader
		c.commit("the end")
		for _, id := range c.ids[1:] {
			require.Equal(rt, c.nodes[1].state, c.nodes[id].state)
		}
	})
}

func FuzzDecode(f *testing.F) {
	c := newClub(f, 1, 3, Config{SnapshotEntries: 5, KeepEntries: 1})
	for i := range 12 {
		c.commit(fmt.Sprint("e", i))
	}
	for _, frame := range c.nodes[1].disk {
		f.Add(frame)
	}
	for _, l := range c.mail {
		f.Add(l.data)
	}
	mark := fingerprint("club", nil)
	f.Add(encodeProbe(mark, probe{1}))
	f.Add(encodeAnswer(mark, answer{nonce: 1, term: 2, end: position{3, 4}, first: members{voters: []uint64{1}}, sets: []placed{{5, members{[]uint64{1, 2}, []uint64{3}}}}}))
	f.Fuzz(func(t *testing.T, b []byte) {
		if frame, err := decodeFrame(b); err == nil && frame.identity == nil {
			again, err := decodeFrame(frame.encode())
			require.NoError(t, err)
			require.Equal(t, frame, again)
		}
		_, _ = decode(b, mark, 2, 1)
		// A whole voter must survive it, too.
		q := New(Config{ClusterID: "club", ID: 1, Voters: c.ids}, [][]byte{b}, "", chance.New(1), 0)
		q.Receive(0, 2, b, &Out{Out: &effect.Out{}})
	})
}

func BenchmarkCommitOverThreeVoters(b *testing.B) {
	c := newClub(b, 1, 3, Config{})
	c.commit("warm")
	leader := c.elect()
	steps := 0
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		c.trace = c.trace[:0]
		v, _ := c.propose(leader, "0123456789012345678901234567890123456789")
		for c.nodes[leader].version() < v {
			c.step()
			steps++
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(steps), "ns/step")
}
