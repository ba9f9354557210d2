package sim

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
	"github.com/tamarack-mq/tamarack/core/replica"
	"github.com/tamarack-mq/tamarack/models"
)

// surrendering is a partition of which "abc" of epoch 1 and "def" of epoch 2 are
// committed. Node 3 was left behind with "abc", and with an "x" of epoch 1 that is
// none of that; an operator lets it lead, in epoch 4.
func surrendering(t *testing.T) (s *stage, p *partBook, behind *replicaBook) {
	s = newStage(t)
	abc := [][]byte{batch(0, 1, "a"), batch(1, 1, "b"), batch(2, 1, "c")}
	all := append(abc[:3:3], batch(3, 2, "d"), batch(4, 2, "e"), batch(5, 2, "f"))
	p = s.book.part(part)
	for _, b := range all {
		p.committed = append(p.committed, header(b))
	}
	p.high = 6
	s.holds(1, all...)
	s.holds(2, all...)
	behind = s.holds(3, append(abc[:3:3], batch(3, 1, "x"))...)
	for node := int32(1); node <= 2; node++ {
		v := &s.book.replica(node, part).view
		v.Role, v.LeaderEpoch, v.HighWatermark, v.End, v.Matched = replica.Following, 2, 6, 6, true
	}
	p.uncleanly(4)
	return s, p, behind
}

// wins lets node 3 begin to lead.
func (s *stage) wins(behind *replicaBook, high record.Offset) *partBook {
	s.leads(behind, 4, high)
	behind.view.ISR, behind.view.MaximalISR, behind.view.MinInsync = []message.NodeID{3}, []message.NodeID{3}, 1
	s.now = 7 * Second
	behind.part.settle(s.World, behind)
	return behind.part
}

func TestWhatAnUncleanElectionGivesUpIsExact(t *testing.T) {
	s, p, behind := surrendering(t)
	s.leads(behind, 3, 2)
	p.settle(s.World, behind)
	s.leads(behind, 4, 2)
	behind.view.Damage = "a bad checksum" // what of it can be trusted shows when it starts again
	p.settle(s.World, behind)
	require.True(t, p.open)
	require.EqualValues(t, 6, p.high)

	s.wins(behind, 2)
	require.Equal(t, []surrender{{epoch: 4, from: 3, to: 6, at: 7 * Second}}, p.surrendered)
	require.False(t, p.open)
	require.EqualValues(t, 3, p.high)
	require.Len(t, p.committed, 3)
	require.EqualValues(t, 3, p.remains())

	// What the winner has not flushed goes with the power, also what it was told is
	// committed: it may not say so any more.
	s, _, behind = surrendering(t)
	behind.durable = 2
	p = s.wins(behind, 2)
	require.Equal(t, []surrender{{epoch: 4, from: 2, to: 6, at: 7 * Second}}, p.surrendered)
	require.EqualValues(t, 3, p.survived)
	behind.view.HighWatermark = 3
	s.step(&soundHighWatermark{}, 3, nil, nil, behind)
	s.refused("INV-5", "node 3")

	// One that begins its log anew shows nothing before that is on its disk. Until then
	// nobody knows where its log begins, nor ends, if the power goes.
	s, p, behind = surrendering(t)
	behind.memory.reset(5)
	behind.told = 0
	s.leads(behind, 4, 5)
	behind.view.Shown = false
	p.settle(s.World, behind)
	require.True(t, p.open)
	behind.disk.reset(5)
	behind.durable, behind.told = 5, 5
	p = s.wins(behind, 5)
	require.Equal(t, []surrender{{epoch: 4, from: 5, to: 6, at: 7 * Second, start: 5}}, p.surrendered)

	// One that has all gives nothing up.
	s, _, _ = surrendering(t)
	p = s.wins(s.book.replica(2, part), 6)
	require.Equal(t, []surrender{{epoch: 4, from: 6, to: 6, at: 7 * Second}}, p.surrendered)
}

// What a first election gave up comes back with a second one, if its winner has known
// it as committed; what it never knew does not.
func TestWhatWasGivenUpMayComeBack(t *testing.T) {
	for _, known := range []record.Offset{5, 6} {
		s, p, behind := surrendering(t)
		old := s.book.replica(1, part)
		old.knew = 5
		s.wins(behind, 3)
		require.EqualValues(t, 3, p.high)
		p.uncleanly(7)
		s.leads(old, 7, known)
		old.view.ISR, old.view.MaximalISR, old.view.MinInsync = []message.NodeID{1}, []message.NodeID{1}, 2
		p.settle(s.World, old)
		require.EqualValues(t, 5, p.high)
		require.Equal(t, []surrender{{epoch: 4, from: 3, to: 6, at: 7 * Second}, {epoch: 7, from: 3, to: 3, at: 7 * Second}}, p.surrendered)
		s.step(&soundHighWatermark{}, 1, nil, nil, old)
		if known == 5 {
			s.passed()
			require.True(t, sameBatch(&p.committed[4], &old.memory.batches[4]))
			require.Len(t, p.committed, 5)
		} else {
			s.refused("INV-5", "to 6 with 1 in sync where 2 are needed")
		}
	}
}

// What a first election gave up comes back with a second one whose winner does not know
// that it was committed. Another one that knows, and holds the same, is right, and brings
// what it knows along when it leads.
func TestWhoKnowsWhatCameBackIsRight(t *testing.T) {
	again := func(winner func(s *stage) *replicaBook, epoch record.LeaderEpoch) (*stage, *partBook, *replicaBook) {
		s, p, behind := surrendering(t)
		s.wins(behind, 3)
		p.uncleanly(epoch)
		s.leads(winner(s), epoch, 0)
		p.settle(s.World, winner(s))
		require.EqualValues(t, 3, p.high)
		knows := s.book.replica(2, part)
		knows.view.LeaderEpoch, knows.was.knew = epoch, 6
		return s, p, knows
	}
	old := func(s *stage) *replicaBook { return s.book.replica(1, part) }
	s, p, knows := again(old, 7)
	require.EqualValues(t, 6, p.survived)
	s.step(&soundHighWatermark{}, 2, nil, nil, knows)
	s.passed()
	knows.view.HighWatermark, knows.view.End = 7, 7 // that was never committed
	s.step(&soundHighWatermark{}, 2, nil, nil, knows)
	s.refused("INV-5", "at 7, but no leader has come beyond 3")

	// It has not come back.
	s, p, knows = again(func(s *stage) *replicaBook { return s.book.replica(3, part) }, 7)
	require.EqualValues(t, 3, p.survived)
	s.step(&soundHighWatermark{}, 2, nil, nil, knows)
	s.refused("INV-5", "at 6, but no leader has come beyond 3")

	for _, knew := range []record.Offset{6, 5} {
		s, p, knows = again(old, 7)
		s.leads(knows, 8, 6)
		knows.view.ISR, knows.view.MaximalISR, knows.view.MinInsync = []message.NodeID{2}, []message.NodeID{2}, 2
		knows.was.knew = knew
		s.step(&soundHighWatermark{}, 2, nil, nil, knows)
		if knew == 6 {
			s.passed()
			require.EqualValues(t, 6, p.high)
			require.Len(t, p.committed, 6)
		} else {
			s.refused("INV-5", "to 6 with 1 in sync where 2 are needed")
		}
	}
}

// What the winner cuts as it begins to lead would be missing from the account: it may
// not, unless its log is damaged.
func TestAnUncleanWinnerCutsNothingAsItBeginsToLead(t *testing.T) {
	s, p, behind := surrendering(t)
	behind.view.Role, behind.view.LeaderEpoch = replica.Following, 3
	s.leads(behind, 4, 2)
	cut := []effect.Effect{effect.Truncate{Log: part, To: 2}}
	s.atlas.ails[3].scars = map[record.PartitionID]bool{part: true}
	s.step(&nothingCut{}, 3, nil, cut, behind)
	s.passed()
	s.atlas.ails[3].scars = nil
	require.True(t, p.open)
	s.step(&nothingCut{}, 3, nil, cut, behind)
	s.refused("INV-4", "node 3 leads partition "+part.String()+" in epoch 4 and truncates it to 2")
}

// A log start that its winner has moved in memory only may go back with the power.
func TestALogStartThatIsNotOnTheDiskOfAnUncleanWinnerMayFall(t *testing.T) {
	s, p, behind := surrendering(t)
	p.shownStart = 3
	behind.memory.trim(3)
	behind.disk.trim(1)
	s.wins(behind, 3)
	o := &retentionBounds{}
	p.state = &message.PartitionChange{ID: part, LeaderEpoch: 4}
	behind.view.Start, behind.view.ShownStart = 1, 1
	s.step(o, 3, nil, nil, behind)
	s.passed()
	behind.view.Start, behind.view.ShownStart = 0, 0
	s.step(o, 3, nil, nil, behind)
	s.refused("INV-15", "shows the start 0, but 1 was shown")
}

// What was not given up is held to the same promises as before.
func TestWhatIsLeftAfterAnUncleanElectionMustStay(t *testing.T) {
	s, p, behind := surrendering(t)
	inSync := &completeInSync{}
	short := s.book.replica(2, part)
	short.memory.cut(1)
	p.state = &message.PartitionChange{ID: part, LeaderEpoch: 3}
	s.leads(short, 3, 0)
	s.step(inSync, 2, nil, nil, short)
	s.passed() // it is not known yet what is left
	s.wins(behind, 3)
	p.state = &message.PartitionChange{ID: part, LeaderEpoch: 5}
	s.leads(short, 5, 0)
	s.step(inSync, 2, nil, nil, short)
	s.refused("INV-1", "a log that ends at 1, but 3 was committed")

	s, p, behind = surrendering(t)
	s.wins(behind, 3)
	old := s.book.replica(1, part)
	s.step(&replicaAgreement{}, 1, nil, nil, old)
	s.passed() // it has not heard of it
	*s.book.replica(2, part) = replicaBook{part: p, node: 2}
	other := s.holds(2, batch(0, 1, "a"), batch(1, 1, "B"), batch(2, 1, "c"))
	other.view = replica.View{ID: part, Role: replica.Following, LeaderEpoch: 4, HighWatermark: 3, End: 3}
	s.step(&replicaAgreement{}, 2, nil, nil, other)
	s.passed() // nor cut what its leader lacks
	other.view.Role = replica.Idle
	s.step(&replicaAgreement{}, 2, nil, nil, other)
	s.passed() // the less as long as it has no leader
	other.view.Role = replica.Following
	other.view.Matched = true
	s.step(&replicaAgreement{}, 2, nil, nil, other)
	s.refused("INV-2", "holds at offset 1")

	cut := func(e effect.Effect) {
		old.view.LeaderEpoch, old.was = 4, glance{role: replica.Following, epoch: 4, high: 6}
		s.step(&nothingCut{}, 1, nil, []effect.Effect{e}, old)
	}
	cut(effect.Truncate{Log: part, To: 3})
	s.passed()
	cut(effect.Truncate{Log: part, To: 2})
	s.refused("INV-4", "drops the batch at 2, which is committed")
	cut(effect.Reset{Log: part})
	s.passed() // it knows "def" to be committed, and is wrong: it may keep nothing
	old.disk.cut(3)
	old.memory.cut(3)
	cut(effect.Reset{Log: part})
	s.refused("INV-4", "drops the batch at 0, which is committed")
	old.memory.trim(2)
	cut(effect.Reset{Log: part})
	s.refused("INV-4", "drops the batch at 2, which is committed")
	old.memory.trim(3)
	cut(effect.Reset{Log: part})
	s.passed() // it has retired all that it had: its log is empty
}

// Whoever leads since is held to what it says; whoever has not heard of it is not.
func TestAfterAnUncleanElectionItsLeadersAreJudgedAgain(t *testing.T) {
	s, p, behind := surrendering(t)
	s.wins(behind, 3)
	behind.view.HighWatermark = 4
	s.step(&soundHighWatermark{}, 3, nil, nil, behind)
	s.passed()
	require.EqualValues(t, 4, p.high)
	require.True(t, sameBatch(&p.committed[3], &behind.memory.batches[3]), "x is committed now")
	follower := s.book.replica(2, part)
	follower.view.LeaderEpoch = 4
	s.step(&soundHighWatermark{}, 2, nil, nil, follower)
	s.refused("INV-5", "no leader has come beyond 4")

	send := func(node int32, high record.Offset, records []byte) {
		s.step(&decidedReads{}, node, nil, []effect.Effect{effect.Reply{Msg: &message.FetchReply{Partitions: []message.FetchedPartition{{
			ID: part, HighWatermark: high, Records: records,
		}}}}})
	}
	stale := s.book.replica(1, part)
	s.leads(stale, 3, 6)
	send(1, 6, batch(3, 2, "d"))
	send(3, 4, batch(3, 1, "x"))
	s.passed()
	send(3, 5, nil)
	s.refused("INV-8", "only 4 is committed")
	send(3, 4, batch(3, 2, "d"))
	s.refused("INV-8", "where one of epoch 1 at 3 is committed")

	for node := int32(1); node <= 3; node += 2 {
		s.nodes[node].tokens[7] = caller{request: &message.Produce{Acks: message.AcksAll, Partitions: []message.ProducePartition{{ID: part, Records: batch(4, 4, "y")}}}}
		s.step(&trueAnswers{}, node, nil, []effect.Effect{effect.Reply{Token: 7, Msg: &message.ProduceReply{Partitions: []message.ProducedPartition{{ID: part, BaseOffset: 4}}}}})
		if node == 1 {
			s.passed()
		}
	}
	s.refused("INV-10", "only 4 is committed")
}

// Producers go on behind what is left of theirs.
func TestSequencesAreJudgedFromWhatIsLeft(t *testing.T) {
	s := newStage(t)
	o := &sequences{}
	p := s.book.part(part)
	p.committed = []record.Header{header(numbered(0, 0, 0)), header(numbered(1, 0, 1)), header(numbered(2, 0, 2))}
	p.high = 3
	o.committed(s.World, s.nodes[1], p)
	behind := s.holds(3, numbered(0, 0, 0))
	p.uncleanly(4)
	s.wins(behind, 1)
	again := func(sequence record.Sequence) {
		p.committed, p.high = append(p.committed[:1], header(numbered(1, 0, sequence))), 2
		o.committed(s.World, s.nodes[3], p)
	}
	again(1)
	s.passed()
	o.parts[p.nr].givenUp = 0
	again(2)
	s.refused("INV-27", "the sequence 2 where 1 was due")
}

// What a second unclean election brings back may begin with any batch of a producer
// that was there before: its first ones are retired. What it goes on with, and who is
// new, is judged as ever.
func TestSequencesOfWhatIsBackBeginAnywhere(t *testing.T) {
	for _, c := range []struct {
		seen  bool
		back  []record.Sequence
		words string
	}{{true, []record.Sequence{1, 2}, ""}, {true, []record.Sequence{1, 3}, "the sequence 3 where 2 was due"}, {false, []record.Sequence{1, 2}, "which has the sequence 1"}} {
		s := newStage(t)
		o := &sequences{}
		p := s.book.part(part)
		if c.seen {
			p.committed, p.high = []record.Header{header(numbered(0, 0, 0)), header(numbered(1, 0, 1))}, 2
		}
		o.committed(s.World, s.nodes[1], p)
		p.surrendered = append(p.surrendered, surrender{epoch: 2, to: 2}) // all of it
		p.committed, p.high = nil, 0
		o.committed(s.World, s.nodes[2], p)
		p.surrendered = append(p.surrendered, surrender{epoch: 4})
		p.committed, p.high = []record.Header{header(numbered(1, 0, c.back[0])), header(numbered(2, 0, c.back[1]))}, 3
		o.committed(s.World, s.nodes[1], p)
		if c.words != "" {
			s.refused("INV-27", c.words)
		}
		s.passed()
	}
}

// What clients are told may fall to what is left, and to the log start of who was let
// lead, and no further; and a search finds all that was not given up.
func TestWhatClientsAreToldFallsToWhatIsLeft(t *testing.T) {
	s, p, behind := surrendering(t)
	u := s.clients[0]
	p.shownStart = 2
	p.asked, p.lowStart = 5*Second, 2
	behind.disk.start = 1
	tell := func(high, start record.Offset) {
		s.stats.Events++
		u.saw(&openCall{node: 1, event: s.stats.Events}, part, high, start)
	}
	search := func(at record.Timestamp, offset record.Offset) {
		c := &openCall{node: 1, asked: &message.ListOffsets{Partitions: []message.ListOffsetsPartition{{ID: part, Timestamp: at}}}}
		u.heard(c, &message.ListOffsetsReply{Partitions: []message.ListedOffset{{ID: part, Offset: offset, Timestamp: -1}}})
	}
	tell(6, 2)
	tell(1, 0)
	s.passed() // nobody knows what is left
	s.wins(behind, 3)
	tell(3, 1)
	s.passed()
	tell(2, 1)
	s.refused("INV-35", "is 2, but it was told 6 before")
	tell(3, 0)
	s.refused("INV-35", "starts at 0, but it was told 2 before")

	for i := range p.committed {
		p.committed[i].MaxTimestamp = record.Timestamp(10 * i)
	}
	p.high = 9
	search(25, 9)
	search(15, 2)
	s.passed()
	search(15, 3)
	s.refused("INV-9", "is told offset 3, but the batch [2, 3) has a record of time 20")
	require.Equal(t, models.Loss{Kept: 3, From: int64(5 * Second), Since: int64(7 * Second), Start: 2, Low: 1}, p.losses())
}

// A shard is judged anew from the log of who was let lead.
func TestAShardIsJudgedAnewAfterAnUncleanElection(t *testing.T) {
	s, p, behind := surrendering(t)
	o := &shardSnapshots{}
	trimmed := func(r *replicaBook, start record.Offset) *shardHistory {
		r.view.Start = start
		o.trimmed(s.World, s.nodes[r.node], r, &coordinators[0])
		return o.shards[part]
	}
	require.Nil(t, trimmed(s.book.replica(1, part), 1))
	s.wins(behind, 3)
	h := trimmed(behind, 0)
	require.Equal(t, 1, h.era)
	behind.memory.start = 2
	p.uncleanly(6)
	s.leads(behind, 6, 3)
	p.settle(s.World, behind)
	h = trimmed(behind, 2)
	require.Equal(t, []any{2, record.Offset(2), record.Offset(2)}, []any{h.era, h.start, h.next})
	trimmed(behind, 3)
	s.refused("INV-18", "begins at 3 from now on, but only what is below 3 is committed")
}
