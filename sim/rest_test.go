package sim

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core/client"
	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/log"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/metadata"
	"github.com/tamarack-mq/tamarack/core/quorum"
	"github.com/tamarack-mq/tamarack/core/record"
	"github.com/tamarack-mq/tamarack/core/replica"
	"github.com/tamarack-mq/tamarack/core/txn"
	"github.com/tamarack-mq/tamarack/history"
)

// Readers must find all that was ever committed, whatever a leader says. Only
// where an operator gave records up it is what is left: all of that, still.
func TestReadersMustFindWhatIsCommittedUnlessItWasGivenUp(t *testing.T) {
	p := &partBook{high: 9, shownStart: 2}
	leader := &replica.View{Start: 0, HighWatermark: 4}
	start, end := p.readable(leader)
	require.Equal(t, []record.Offset{2, 9}, []record.Offset{start, end})
	p.unclean, p.open = true, true
	start, end = p.readable(leader)
	require.Equal(t, []record.Offset{0, 4}, []record.Offset{start, end})
	start, end = p.readable(nil)
	require.Equal(t, []record.Offset{2, 9}, []record.Offset{start, end})
	p.open, p.high = false, 7 // what is left is known
	start, end = p.readable(leader)
	require.Equal(t, []record.Offset{2, 7}, []record.Offset{start, end})
}

// What was durable before a Reset says nothing about what comes after it, and a
// Reset that was only asked for is not durable.
func TestAResetIsNoProofOfAnythingDurable(t *testing.T) {
	s := newStage(t)
	r := s.holds(1, batch(0, 1, "a"))
	s.book.asked(s.nodes[1], 1, effect.Reset{Log: part, Cut: 1, Start: 8})
	require.EqualValues(t, 0, r.told)
	require.EqualValues(t, 1, r.durable)
}

// A log that recovery found damaged, and without a checkpoint that can be used,
// does not know what producers did in records that are retired. That is refused
// of one that counts on its leader's log, and excused as long as it has not heard
// of a leader. When an operator made it lead, nobody can ask for what it has forgotten,
// also of the runs that follow.
func TestAForgetfulLogMayNotFollowOn(t *testing.T) {
	s := newStage(t)
	first, second := numbered(0, 0, 0), numbered(1, 0, 1)
	r := s.holds(1, first, second)
	r.memory.trim(1)
	r.disk.trim(1)
	kept, err := log.Rebuild([]record.Header{header(second)}, 1)
	require.NoError(t, err)
	judge := func() { (&derivedState{}).judge(s.World, s.nodes[1], r, kept) }
	judge()
	s.refused("INV-12", "not what a rebuild gives")
	r.forgetful = true
	judge()
	s.passed()
	r.view.Matched = true
	judge()
	s.refused("INV-12", "not what a rebuild gives")
	r.part.unclean = true
	judge()
	s.refused("INV-12", "not what a rebuild gives")

	s.leads(r, 4, 2)
	judge()
	s.refused("INV-12", "not what a rebuild gives") // nobody let it lead without what it has forgotten
	s.lets(r, 2)
	r.accepted(s.nodes[1])
	judge()
	s.passed()
	require.True(t, r.forgetful, "its disk still says so")
	s.book.started(s.nodes[1], &effect.Recovered{Logs: []effect.RecoveredLog{{ID: part, Start: 1, End: 2, Checkpoint: []byte("new")}}})
	require.False(t, r.forgetful)
	judge()
	s.passed()
}

// lets has an operator let the run of a replica's node that there is now lead from an
// epoch on.
func (s *stage) lets(r *replicaBook, epoch record.LeaderEpoch) {
	s.elects(r.part, &message.PartitionChange{ID: part, Leader: message.NodeID(r.node), LeaderEpoch: epoch, Unclean: true})
}

// elects has a state of a partition committed.
func (s *stage) elects(p *partBook, state *message.PartitionChange) {
	var incarnation uint64
	if state.Leader != message.NoNode {
		incarnation = s.nodes[state.Leader].incarnation
	}
	p.elected(p.state, state, incarnation)
	p.state = state
}

// Who is let lead with what is left to it is one run of one node, until another one is
// elected. None of this excuses a replica that leads although nobody has let it.
func TestOnlyWhoWasLetLeadDoesSo(t *testing.T) {
	state := func(leader message.NodeID, epoch record.LeaderEpoch, unclean bool) *message.PartitionChange {
		return &message.PartitionChange{ID: part, Leader: leader, LeaderEpoch: epoch, Unclean: unclean}
	}
	chosen := state(1, 4, true)
	for name, c := range map[string]struct {
		states []*message.PartitionChange
		epoch  record.LeaderEpoch // in which it leads
		again  bool               // in another run
		let    bool
	}{
		"it was let":                     {states: []*message.PartitionChange{chosen}, epoch: 4, let: true},
		"it was let in another run":      {states: []*message.PartitionChange{chosen}, epoch: 4, again: true},
		"it leads from before":           {states: []*message.PartitionChange{chosen}, epoch: 3},
		"another was let":                {states: []*message.PartitionChange{state(2, 4, true)}, epoch: 4},
		"the same election is told more": {states: []*message.PartitionChange{chosen, state(1, 4, true)}, epoch: 4, let: true},
		"nobody could lead meanwhile":    {states: []*message.PartitionChange{chosen, state(message.NoNode, 5, false), state(1, 6, false)}, epoch: 6, let: true},
		"another has led meanwhile":      {states: []*message.PartitionChange{chosen, state(2, 5, false), state(1, 6, false)}, epoch: 6},
		"it has not heard of another":    {states: []*message.PartitionChange{chosen, state(2, 5, false)}, epoch: 4, let: true},
		"it was let twice":               {states: []*message.PartitionChange{chosen, state(2, 5, true), state(1, 7, true)}, epoch: 7, let: true},
		"it was let before another was":  {states: []*message.PartitionChange{chosen, state(2, 5, true), state(1, 7, false)}, epoch: 7},
		"it was let after another was":   {states: []*message.PartitionChange{state(2, 3, true), chosen}, epoch: 4, let: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			r := s.holds(1, batch(0, 1, "a"))
			for _, state := range c.states {
				s.elects(r.part, state)
			}
			if c.again {
				s.nodes[1].incarnation++
			}
			require.False(t, r.let(s.nodes[1]), "it does not lead")
			r.part.unclean = true
			s.leads(r, c.epoch, 1)
			require.Equal(t, c.let, r.let(s.nodes[1]))
			r.view.Damage, r.view.DamageTold = "a bad checksum", true
			if s.step(&damageSeen{}, 1, nil, nil, r); !c.let {
				s.refused("INV-13", "node 1 begins to lead partition 5/0 although its copy is damaged")
			}
			s.passed()
		})
	}
}

// What an operator let a log lead without is one thing; what it loses by damage that is
// found later is another. It is refused until it leads without that as well, and then it
// must know what is in the records that it has kept, as before.
func TestALogMayForgetMoreThanOnce(t *testing.T) {
	s := newStage(t)
	all := [][]byte{numbered(0, 0, 0), numbered(1, 0, 1), numbered(2, 0, 2), numbered(3, 0, 3)}
	headers := make([]record.Header, len(all))
	for i, b := range all {
		headers[i] = header(b)
	}
	r := s.holds(1, all[:2]...)
	r.part.unclean = true
	damaged := func(start record.Offset) {
		r.disk.trim(start)
		s.book.started(s.nodes[1], &effect.Recovered{Logs: []effect.RecoveredLog{{ID: part, Start: start, End: r.disk.end, Damage: "a file is lost"}}})
		require.True(t, r.forgetful)
	}
	judge := func(known []record.Header, start record.Offset) {
		kept, err := log.Rebuild(known, start)
		require.NoError(t, err)
		(&derivedState{}).judge(s.World, s.nodes[1], r, kept)
	}

	damaged(1)
	s.leads(r, 4, 2)
	r.accepted(s.nodes[1])
	judge(headers[1:2], 1)
	s.refused("INV-12", "not what a rebuild gives") // somebody let a log of the partition lead once, but not this one
	s.lets(r, 4)
	r.accepted(s.nodes[1])
	judge(headers[1:2], 1)
	s.passed()

	for _, b := range all[2:] {
		s.book.wrote(s.nodes[1], effect.Append{Log: part, Batches: b})
	}
	damaged(3)
	s.nodes[1].incarnation++
	s.leads(r, 6, 4)
	r.accepted(s.nodes[1])
	judge(headers[3:], 3)
	s.refused("INV-12", "not what a rebuild gives") // it knew of offsets 1 and 2 when it led before
	s.lets(r, 6)
	r.accepted(s.nodes[1])
	judge(headers[3:], 3)
	s.passed()
	judge([]record.Header{header(numbered(3, 0, 7))}, 3)
	s.refused("INV-12", "not what a rebuild gives")
}

// With its first file, and with the marks, a log has lost what its checkpoint does not
// reach up to, and knows it as little as without a checkpoint.
func TestACheckpointBelowTheStartLeavesAGap(t *testing.T) {
	s := newStage(t)
	r := s.holds(1, numbered(0, 0, 0), numbered(1, 0, 1))
	found := func(damage string, start, at record.Offset) bool {
		s.book.started(s.nodes[1], &effect.Recovered{Logs: []effect.RecoveredLog{
			{ID: part, Start: start, End: 2, Damage: damage, Checkpoint: []byte("state"), CheckpointAt: at}}})
		return r.forgetful
	}
	require.True(t, found("the marks were lost", 1, 0))
	require.False(t, found("the marks were lost", 1, 1))
	require.False(t, found("records up to 3 were durable", 0, 0))
	require.False(t, found("", 1, 1))
}

// A voter that waits to be let in, or has not caught up with what it may have
// promised, is missing when the next one fails.
func TestAVoterThatIsNotLetInIsUnrest(t *testing.T) {
	told := func(v quorum.View) (all []string) {
		admissionUnrest(2, &v, func(what, format string, args ...any) { all = append(all, what+": "+fmt.Sprintf(format, args...)) })
		return all
	}
	require.Empty(t, told(quorum.View{Admitted: true, Whole: true}))
	require.Empty(t, told(quorum.View{Mute: "its journal is damaged"}), "told elsewhere")
	require.Equal(t, []string{"a voter waits to be let in: node 2 has an empty journal, and the others have not told it enough"}, told(quorum.View{}))
	require.Equal(t, []string{"a voter has not caught up with what it may have promised: node 2 holds the log up to 7"}, told(quorum.View{Admitted: true, Last: 7}))
}

// A voter that is never sent what it lacks is missed by nobody either.
func TestAVoterThatLagsForGoodIsUnrest(t *testing.T) {
	told := func(v quorum.View) (all []string) {
		voterUnrest(2, &v, 9, func(what, format string, args ...any) { all = append(all, what+": "+fmt.Sprintf(format, args...)) })
		return all
	}
	require.Empty(t, told(quorum.View{Admitted: true, Last: 9}))
	require.Empty(t, told(quorum.View{Last: 3}), "told elsewhere")
	require.Empty(t, told(quorum.View{Admitted: true, Last: 3, Mute: "its journal is damaged"}), "told elsewhere")
	require.Equal(t, []string{"a voter lacks what is committed: node 2 holds the log of the controllers up to 8, and 9 is committed"}, told(quorum.View{Admitted: true, Last: 8}))
}

// A log that has lost its marks begins again where its first file does. Of what its
// checkpoint had left behind there it knows nothing; of the rest it must, in the runs
// that follow as well, and of all again once the start is back.
func TestALogThatBeginsTooEarlyIsJudgedByWhatItHolds(t *testing.T) {
	for _, c := range []struct {
		first, second record.LeaderEpoch // as the core has it
		start         record.Offset
		refused       bool
	}{{1, 2, 0, false}, {0, 2, 0, false}, {1, 3, 0, true}, {0, 2, 1, false}, {0, 3, 1, true}} {
		s := newStage(t)
		a, b := batch(0, 1, "a"), batch(1, 2, "b")
		r := s.holds(1, a, b)
		r.disk.trim(1)
		found := effect.RecoveredLog{ID: part, Start: c.start, End: 2, Checkpoint: []byte("there"), CheckpointAt: c.start, Damage: "its mark is lost"}
		for range 2 {
			s.book.started(s.nodes[1], &effect.Recovered{Logs: []effect.RecoveredLog{found}})
		}
		kept, err := log.Rebuild([]record.Header{header(batch(0, c.first, "a")), header(batch(1, c.second, "b"))}, c.start)
		require.NoError(t, err)
		(&derivedState{}).judge(s.World, s.nodes[1], r, kept)
		if c.refused {
			s.refused("INV-12", "not what a rebuild gives")
		}
		s.passed()
	}
	s := newStage(t)
	r := s.holds(1, batch(0, 1, "a"), batch(1, 2, "b"))
	r.memory.trim(1)
	kept, err := log.Rebuild(r.memory.batches, 0)
	require.NoError(t, err)
	(&derivedState{}).judge(s.World, s.nodes[1], r, kept)
	s.refused("INV-12", "begins at 1, and what node 1 has derived from it at 0")
}

func TestARequestThatIsNeverAnsweredIsUnrest(t *testing.T) {
	s := newStage(t)
	n := s.nodes[1]
	n.up = true
	clear(n.tokens)
	n.tokens[7] = caller{request: &message.ListOffsets{}, since: 10 * Second}
	n.tokens[9] = caller{request: &message.Fetch{}, since: 10 * Second}
	told := func(now Span) (all []string) {
		s.now = now
		s.requestUnrest(func(what, format string, args ...any) { all = append(all, what+": "+fmt.Sprintf(format, args...)) })
		return all
	}
	require.Empty(t, told(13*Second))
	require.Equal(t, []string{"a request is not answered: node 1 has not answered since 10s: ListOffsets{Partitions:[] Isolation:0}"}, told(14*Second))
	delete(n.tokens, 7)
	require.Empty(t, told(30*Second))
	require.Len(t, told(31*Second), 1)
}

// The faults of the small plan end after 8 s. A producer that gets nothing through is
// held against a cluster that had a record of its own for 8 s after that.
func TestAProducerThatGetsNothingThroughIsRefused(t *testing.T) {
	s, _ := mapped(t)
	p := &s.plan.Clients[0]
	p.Role, p.Acks, p.Start = Producer, -1, 0
	publish := publisher(s, p, "t")
	for range fewPublishes - 1 {
		publish(Second, 30*Second, client.NotDone)
	}
	s.fruitless()
	s.passed()
	publish(Second, 30*Second, client.Unknown)
	s.fruitless()
	s.refused("INV-34", "published 10 times in the whole run, and was never told")
	publish(Second, 30*Second, client.OK)
	s.fruitless()
	s.passed()
}

// Who gave all its records up before the cluster had its chance was out of luck, and so
// was who published where nobody may lead any more.
func TestAProducerThatWasOutOfLuckIsNotHeldAgainstTheCluster(t *testing.T) {
	for _, c := range []struct {
		name     string
		topic    string
		from, to Span
		given    func(p *partBook, state *message.PartitionChange)
		accused  bool
	}{
		{"it published while there were faults, and waited long enough after them", "t", Second, 16 * Second, nil, true},
		{"it gave up a moment too early", "t", Second, 16*Second - 1, nil, false},
		{"it published after the faults, and waited long enough", "t", 20 * Second, 28 * Second, nil, true},
		{"it published after the faults, and gave up a moment too early", "t", 20 * Second, 28*Second - 1, nil, false},
		{"it died, and nobody waited for an answer", "t", Second, never, nil, false},
		{"its topic is not there", "gone", Second, 30 * Second, nil, false},
		{"nobody may lead", "t", Second, 30 * Second, func(p *partBook, state *message.PartitionChange) { p.loss, state.ISR = true, nil }, false},
		{"the last copies were hit, and somebody may lead", "t", Second, 30 * Second, func(p *partBook, _ *message.PartitionChange) { p.loss = true }, true},
		{"nobody leads, and there is no reason for it", "t", Second, 30 * Second, func(_ *partBook, state *message.PartitionChange) { state.ISR = nil }, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, state := mapped(t)
			p := &s.plan.Clients[0]
			p.Role, p.Acks, p.Start = Producer, -1, 0
			if c.given != nil {
				c.given(s.book.part(part), state)
			}
			publish := publisher(s, p, c.topic)
			publish(c.from, c.to, client.NotDone)
			for range fewPublishes - 1 {
				publish(Second, 2*Second, client.NotDone)
			}
			s.fruitless()
			if c.accused {
				s.refused("INV-34", "published 10 times in the whole run, and was never told")
			} else {
				s.passed()
			}
		})
	}
}

// publisher notes publishes of a client into a topic, and tells it what came of them.
func publisher(s *stage, p *ClientPlan, topic string) func(from, to Span, outcome client.Outcome) {
	u := s.clients[slices.IndexFunc(s.clients, func(u *user) bool { return u.plan.ID == p.ID })]
	return func(from, to Span, outcome client.Outcome) {
		id := s.history.Begin(history.Operation{Kind: history.Publish, Client: int32(p.ID), Topic: topic, Invoke: int64(from)})
		if to == never {
			return
		}
		s.now = to
		s.history.End(id, int64(to), outcomeOf(outcome), nil)
		(&producer{}).done(u, &openOp{what: opPublish, id: id}, &client.Result{Outcome: outcome})
	}
}

// Who may never come to the end of its work is ended before the logs are read for good,
// and so is who reads for a group that may not: they could write meanwhile. The others
// stay, and so does who only reads.
func TestWhoMayGoOnForEverIsEndedBeforeTheLastReading(t *testing.T) {
	const out, decisions, positions, source = 1, 2, 3, 4
	for _, c := range []struct {
		name    string
		given   func(s *stage) // what was given up
		leaving []int
		trying  []int // those of them whose open transactions nobody waits for meanwhile
		stable  bool  // the group is looked at all the same
	}{
		{"nothing was given up", func(*stage) {}, nil, nil, true},
		{"what one coordinator has decided", func(s *stage) {
			s.book.part(record.PartitionID{Topic: decisions, Index: txn.Shard("a", 2)}).unclean = true
		}, []int{1, 2, 3, 4}, []int{1, 2}, false},
		{"all replicas of where the workers publish", func(s *stage) {
			p := s.book.part(record.PartitionID{Topic: out})
			p.unclean, p.state = true, &message.PartitionChange{}
		}, []int{2, 3, 4}, []int{2, 3}, false},
		{"all replicas of the shard of the group", func(s *stage) {
			p := s.book.part(record.PartitionID{Topic: positions})
			p.unclean, p.state = true, &message.PartitionChange{}
		}, []int{2, 3, 4}, []int{2, 3}, false},
		{"what they read: they may have more of it than they have worked on", func(s *stage) {
			p := s.book.part(record.PartitionID{Topic: source})
			p.unclean, p.state = true, &message.PartitionChange{}
		}, []int{2, 3, 4}, nil, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStage(t)
			s.transacted, s.clients = true, nil
			image := metadata.NewImage()
			for i, topic := range []message.TopicChange{{ID: out, Name: "out"}, {ID: decisions, Name: txn.TopicName}, {ID: positions, Name: offsetsTopic}, {ID: source, Name: "source"}} {
				require.NoError(t, image.Apply(message.Version(i+1), &message.Change{Topic: &topic}))
			}
			require.NoError(t, image.Apply(5, &message.Change{Broker: &message.BrokerChange{Node: 1, Epoch: 5}}))
			version := message.Version(5)
			for _, id := range []record.PartitionID{{Topic: out}, {Topic: decisions}, {Topic: decisions, Index: 1}, {Topic: positions}, {Topic: source}} {
				version++
				require.NoError(t, image.Apply(version, &message.Change{Partition: &message.PartitionChange{ID: id, Replicas: []message.NodeID{1}, ISR: []message.NodeID{1}}}))
			}
			s.book.meta.image = image
			s.plan.Clients = []ClientPlan{
				{ID: 1, Role: Transactor, Topics: []string{"in"}, Transactional: "a"},
				{ID: 2, Role: Worker, Topics: []string{"source"}, Into: []string{"out"}, Group: "g", Transactional: "a"},
				{ID: 3, Role: Worker, Topics: []string{"source"}, Into: []string{"out"}, Group: "g", Transactional: "b"},
				{ID: 4, Role: Processor, Topics: []string{"source"}, Into: []string{"in"}, Group: "g"},
				{ID: 5, Role: MemberOf, Topics: []string{"in"}, Group: "g"},
				{ID: 6, Role: Producer, Topics: []string{"in"}},
			}
			for i := range s.plan.Clients {
				u := newUser(s.World, i)
				u.up = true
				s.clients = append(s.clients, u)
			}
			c.given(s)
			trying := func() (list []int) {
				for _, u := range s.clients {
					if s.attempts(func(p *ClientPlan) bool { return p.ID == u.plan.ID }) {
						list = append(list, u.plan.ID)
					}
				}
				return list
			}
			require.Equal(t, c.trying, trying())
			if !c.stable { // who commits is not ended, but is given time
				says := func() (list []string) {
					s.groupUnrest(func(what, _ string, _ ...any) { list = append(list, what) })
					return list
				}
				s.now += Second
				s.clients[1].committedAt = s.now
				require.Equal(t, []string{"a group that may be hindered commits"}, says())
				s.now += lately
				require.Empty(t, says())
			}
			require.Equal(t, len(c.leaving) > 0, s.dismiss())
			require.Empty(t, trying(), "what they have left open is to end")
			var left []int
			for _, u := range s.clients {
				if !u.up {
					left = append(left, u.plan.ID)
				}
			}
			require.Equal(t, c.leaving, left)
			require.False(t, s.dismiss(), "once")
		})
	}
}

// The epoch of the record before the log start stays: who is there names it.
func TestTheEpochBeforeALogStartIsKnown(t *testing.T) {
	s := newStage(t)
	r := s.holds(1, batch(0, 1, "a"), batch(1, 2, "b"), batch(2, 4, "c"))
	knows, err := log.Rebuild(r.memory.batches, 2)
	require.NoError(t, err)
	forgot, err := log.Rebuild(r.memory.batches[2:], 2)
	require.NoError(t, err)
	judge := func(kept *log.Log) { (&derivedState{}).trimmed(s.World, s.nodes[1], r, 2, kept) }
	judge(knows)
	s.passed()
	judge(forgot)
	s.refused("INV-12", "node 1 moves the start of partition 5/0 to 2, behind a record of epoch 2, and knows nothing of that epoch any more")
	r.forgetful = true // recovery has found less than there was
	judge(forgot)
	r.forgetful, r.revived = false, 2
	judge(forgot)
	r.revived = 0
	r.memory.batches = r.memory.batches[2:] // nobody knows what was there
	judge(forgot)
	s.passed()
}

// A member that writes may have fetched what retention has taken since. Before it stands
// behind that it is not at rest: what follows from it would be written while the logs are
// read for good.
func TestWhoWritesHasRecordsToComeThatAreGone(t *testing.T) {
	const unknown = -1
	for _, c := range []struct {
		name             string
		next, start, end record.Offset
		writes, reads    bool // whether records are to come for those that write, and for the others
	}{
		{"nothing was ever there", unknown, 0, 0, false, false},
		{"it does not know where it stands", unknown, 0, 9, true, true},
		{"it stands within", 4, 2, 9, true, true},
		{"it stands at the end", 9, 2, 9, false, false},
		{"retention took what it may have fetched", 4, 6, 9, true, false},
		{"retention took all of it", 4, 9, 9, true, false},
		{"retention took all, and it does not know", unknown, 9, 9, true, false},
		{"retention took all, and it stands behind that", 9, 9, 9, false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			for role, want := range map[Role]bool{Worker: c.writes, Processor: c.writes, MemberOf: c.reads} {
				u := &user{plan: &ClientPlan{Role: role}}
				require.Equal(t, want, u.readsOn(c.next, c.start, c.end), role)
			}
		})
	}
}
