package replica

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tamarack-mq/tamarack/core/chance"
	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// A log that ends below what was durable is named to the controller, claims no
// more than it has, and is fetched again. Nothing unreadable stays behind it.
func TestADamagedLogIsReportedAndRefetched(t *testing.T) {
	w := newWorld(t, 2)
	w.create(p0, message.TopicConfig{MinInsync: 1}, 1, 2)
	w.put(1, "a", "b", "c")
	w.pass(message.Second)
	n := w.node(2)
	n.crash()
	w.setISR(p0, 1)
	n.disks[p0].batches = n.disks[p0].batches[:1]
	n.disks[p0].end, n.disks[p0].durable = 1, 1
	found := n.recover()
	found[0].Damage = "a bad checksum at 1"
	n.down, n.applied = false, 0
	n.m = New(Config{ID: 2}, found, chance.New(2), w.now)
	require.Equal(t, []record.PartitionID{p0}, n.m.Damaged(true))
	require.Empty(t, n.m.Damaged(false), "once it is registered, it has told of that")
	require.Equal(t, "a bad checksum at 1", n.view(p0).Damage)
	w.epochs++
	n.m.SetEpoch(w.epochs)
	w.commit(nil, []BrokerState{{Node: 2, Epoch: w.epochs, Available: true}})
	n.look()
	w.apart(2)
	w.run()
	require.Equal(t, effect.Truncate{Log: p0, Cut: 1, To: 1}, n.look()[0])
	require.Empty(t, n.m.Damaged(true))
	w.together()
	w.pass(3 * message.Second)
	require.Equal(t, []string{"a0", "b0", "c0"}, values(t, n.contents(p0)))
	require.Equal(t, []message.NodeID{1, 2}, w.parts[p0].ISR)
}

func TestALogThatCannotBeRestoredIsFetchedFromTheStart(t *testing.T) {
	w := newWorld(t, 2)
	w.create(p0, message.TopicConfig{MinInsync: 1}, 1, 2)
	w.put(1, "a", "b")
	w.pass(message.Second)
	n := w.node(2)
	n.crash()
	w.setISR(p0, 1)
	found := n.recover()
	found[0].Headers = found[0].Headers[:1]
	n.down, n.applied = false, 0
	n.m = New(Config{ID: 2}, found, chance.New(2), w.now)
	require.Equal(t, []record.PartitionID{p0}, n.m.Damaged(true))
	require.Contains(t, n.view(p0).Damage, "recovery")
	w.epochs++
	n.m.SetEpoch(w.epochs)
	w.commit(nil, []BrokerState{{Node: 2, Epoch: w.epochs, Available: true}})
	n.look()
	w.pass(3 * message.Second)
	require.Equal(t, effect.Reset{Log: p0, Cut: 1, Start: 0}, n.look()[0])
	require.Equal(t, w.node(1).contents(p0), n.contents(p0))
}

// A disk that has lost its first file, and what tells where the log started, guesses a
// start. It is kept from the others: they would take it for one that a leader had decided
// on, and give up records that only this disk has lost.
func TestAGuessedStartIsToldToNobody(t *testing.T) {
	w := newWorld(t, 2)
	w.create(p0, message.TopicConfig{MinInsync: 1}, 1, 2)
	w.put(1, "a", "b", "c")
	w.pass(message.Second)
	n := w.node(2)
	n.loseFirst()
	w.setISR(p0, 1)
	n.back()
	w.pass(3 * message.Second)
	require.Equal(t, effect.Reset{Log: p0, Cut: 1, Start: 0}, n.look()[0])
	require.Zero(t, w.node(1).view(p0).Start)
	require.Equal(t, []string{"a0", "b0", "c0"}, values(t, w.node(1).contents(p0)))
	require.Equal(t, w.node(1).contents(p0), n.contents(p0))
	require.Equal(t, []message.NodeID{1, 2}, w.parts[p0].ISR)
}

// loseFirst ends a run; the disk loses the file with the first record, and the marks.
func (n *node) loseFirst() {
	n.crash()
	d := n.disks[p0]
	d.batches, d.start, d.mark = d.batches[1:], 1, effect.Checkpoint{}
	found := n.recover()
	found[0].Damage, found[0].StartGuessed, found[0].CheckpointAt = "the marks were lost", true, 1
	n.m = New(Config{ID: n.id}, found, chance.New(2), n.w.now)
}

// back begins the next run, and registers it.
func (n *node) back() {
	w := n.w
	n.down, n.applied = false, 0
	w.epochs++
	n.m.SetEpoch(w.epochs)
	w.commit(nil, []BrokerState{{Node: n.id, Epoch: w.epochs, Available: true}})
	n.look()
}

// Who is made leader all the same has nothing better to begin with.
func TestALeaderKeepsWhatIsBehindAGuessedStart(t *testing.T) {
	w := newWorld(t, 1)
	w.create(p0, message.TopicConfig{MinInsync: 1}, 1)
	w.put(1, "a", "b", "c")
	w.pass(message.Second)
	n := w.node(1)
	n.loseFirst()
	w.elect(p0, 1)
	n.back()
	w.pass(3 * message.Second)
	require.Equal(t, Leading, n.view(p0).Role)
	require.Equal(t, record.Offset(1), n.view(p0).Start)
	require.Equal(t, []string{"b0", "c0"}, values(t, n.contents(p0)))
}

// What a read finds on a leader is told to everybody who asks, and to the
// controller. Nothing of the log is given up before the controller knows.
func TestDamageThatAReadFindsIsToldAndNotRepairedBehindTheControllersBack(t *testing.T) {
	w := newWorld(t, 3)
	w.create(p0, message.TopicConfig{}, 1, 2, 3)
	w.put(1, "a")
	w.pass(message.Second)
	w.put(1, "b")
	l := w.node(1)
	l.badReads = true
	require.Equal(t, message.StorageError, l.readFrom(0).Code)
	require.Equal(t, []record.PartitionID{p0}, l.damaged)
	require.Equal(t, "bad sector", l.view(p0).Damage)

	require.Equal(t, message.StorageError, l.readFrom(0).Code)
	require.Equal(t, message.StorageError, w.code(l.produce(message.AcksAll, batch("c", 1))))
	require.Equal(t, message.StorageError, w.replies[l.list(message.Latest)].(*message.ListOffsetsReply).Partitions[0].Code)
	require.Equal(t, message.StorageError, w.deleted(w.deleteBefore(1, 1)).Code)
	l.do(func(m *Manager, now message.Now, out *Out) { m.LocalRead(now, p0, 0, 0, out) })
	require.Equal(t, []Replay{{ID: p0, Code: message.StorageError}}, l.replayed)
	require.Len(t, l.damaged, 1, "told once")

	l.badReads = false
	l.m.replicas[p0].damage.what = ""
	late := l.produce(message.AcksAll, batch("late", 1)) // on its way when the damage is found
	l.m.replicas[p0].damage.what = "bad sector"
	w.run()
	require.EqualValues(t, 3, w.node(2).view(p0).Flushed)
	require.Nil(t, w.produced(late), "a log that cannot be vouched for commits nothing")
	l.badReads = true

	w.elect(p0, 2) // not because of the damage, of which the controller knows nothing
	l.look()
	w.run()
	require.Equal(t, Idle, l.view(p0).Role)
	for _, e := range l.look() {
		switch e.(type) {
		case effect.Truncate, effect.Reset, effect.DeleteLog:
			require.Failf(t, "its log may be the one that is needed", "%+v", e)
		}
	}

	require.Equal(t, []record.PartitionID{p0}, l.m.Damaged(false))
	require.Equal(t, []record.PartitionID{p0}, l.m.Damaged(false), "nobody has answered yet")
	l.do(func(m *Manager, now message.Now, out *Out) { m.DamageReported(now, out) })
	require.Empty(t, l.m.Damaged(false), "it is known")
	require.Equal(t, []record.PartitionID{p0}, l.m.Damaged(true))
	require.Equal(t, Idle, l.view(p0).Role, "the metadata here is older: it may still come to lead")
	s := *w.parts[p0]
	s.ISR, s.PartitionEpoch = []message.NodeID{2, 3}, s.PartitionEpoch+1
	w.commit([]PartitionState{s}, nil)
	l.badReads = false
	w.pass(3 * message.Second)
	require.Equal(t, Following, l.view(p0).Role)
	require.Empty(t, l.view(p0).Damage)
	require.Equal(t, w.node(2).contents(p0), l.contents(p0))
	require.Equal(t, []message.NodeID{2, 3, 1}, w.parts[p0].ISR)
}

// Followers fetch nothing from a log that cannot be vouched for. They are no slower
// than before for that, and hold what it may have lost.
func TestADamagedLeaderLeavesTheInSyncSetAsItIs(t *testing.T) {
	w := newWorld(t, 3)
	w.create(p0, message.TopicConfig{MinInsync: 1}, 1, 2, 3)
	w.put(1, "a")
	w.pass(message.Second)
	l := w.node(1)
	w.apart(1)
	l.produce(message.AcksLeader, batch("b", 1))
	w.run()
	l.badReads = true
	require.Equal(t, message.StorageError, l.readFrom(0).Code)
	w.together()
	w.pass(message.Minute)
	require.EqualValues(t, 2, l.view(p0).End)
	require.EqualValues(t, 1, w.node(2).view(p0).End)
	require.Equal(t, []message.NodeID{1, 2, 3}, w.parts[p0].ISR)
}

func TestAFollowerIsToldThatItsLeadersLogIsDamaged(t *testing.T) {
	w := newWorld(t, 2)
	w.create(p0, message.TopicConfig{MinInsync: 1}, 1, 2)
	w.node(1).badReads = true
	w.put(1, "a")
	require.Len(t, w.node(1).damaged, 1)
	w.node(2).look()
	w.pass(10 * message.Second)
	require.Less(t, len(sent[*message.ReplicaFetch](w.node(2))), 60, "asked again with pauses")
	require.EqualValues(t, 0, w.node(1).view(p0).HighWatermark)
}

func TestImpossibleStatesHalt(t *testing.T) {
	for name, wrong := range map[string]func(m *Manager, now message.Now, out *Out){
		"appended": func(m *Manager, now message.Now, out *Out) {
			m.Appended(now, effect.Appended{Log: p0, End: 9}, out)
		},
		"flushed": func(m *Manager, now message.Now, out *Out) {
			m.Flushed(now, effect.Flushed{Log: p0, End: 9}, out)
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 1)
			w.create(p0, message.TopicConfig{}, 1)
			n := w.node(1)
			n.do(wrong)
			require.Contains(t, n.halted, "more than it was given")
			n.halted = ""
			n.look()
			n.produce(message.AcksAll, batch("a", 1))
			require.Empty(t, n.look(), "nothing leaves a halted node")
		})
	}
}

// Completions of appends before a truncation are not taken for those after it.
func TestCompletionsFromBeforeATruncationAreVoid(t *testing.T) {
	w := newWorld(t, 2)
	junk(t, w)
	n := w.node(1)
	w.run()
	n.holdDisk = true
	n.holdMeta = false
	late := effect.Flushed{Log: p0, Cut: 0, End: 4}
	w.run()
	require.EqualValues(t, 2, n.view(p0).End, "cut at 1, and the leader's record appended")
	n.pending = append([]effect.Input{late, effect.Appended{Log: p0, Cut: 0, End: 4}}, n.pending...)
	n.complete(0)
	n.complete(0)
	require.EqualValues(t, 1, n.view(p0).Flushed)
	n.holdDisk = false
	w.run()
	require.EqualValues(t, 2, n.view(p0).Flushed)
}

// Several reads are under way when one of them finds the log damaged. What the
// others gave is sound as far as anybody knows, but nothing is served from a log
// that cannot be vouched for: not even what the same answer was to carry.
func TestReadsUnderWayWhenDamageIsFoundGiveNothingAway(t *testing.T) {
	w := newWorld(t, 2)
	w.create(p0, message.TopicConfig{}, 1, 2)
	w.put(1, "a", "b")
	w.pass(message.Second)
	l := w.node(1)
	l.holdReads = true
	twice := l.fetch(fetchOf(0, 1, at(0), at(1)))
	late, list := l.fetch(fetchOf(0, 1, at(1))), l.list(0, message.Latest)
	l.do(func(m *Manager, now message.Now, out *Out) { m.LocalRead(now, p0, 0, 0, out) })
	first := l.pending[l.nextRead()].(effect.ReadDone)
	require.Len(t, first.Results, 2)
	first.Results[1] = effect.ReadResult{Err: errBad}
	l.holdReads = false
	w.run()

	refused := message.FetchedPartition{
		ID: p0, Code: message.StorageError, Leader: 1, HighWatermark: 2, LastStable: 2,
	}
	require.Equal(t, []message.FetchedPartition{refused, refused}, w.replies[twice].(*message.FetchReply).Partitions)
	require.Equal(t, []message.FetchedPartition{refused}, w.replies[late].(*message.FetchReply).Partitions)
	require.Equal(t, []message.ListedOffset{
		{ID: p0, Code: message.StorageError, Offset: -1, Timestamp: -1, LeaderEpoch: record.NoLeaderEpoch},
		{ID: p0, Offset: 2, Timestamp: -1}, // was known without a read
	}, w.replies[list].(*message.ListOffsetsReply).Partitions)
	require.Equal(t, []Replay{{ID: p0, Code: message.StorageError}}, l.replayed)
	require.Equal(t, []record.PartitionID{p0}, l.damaged, "told once")
	require.Equal(t, "bad sector", l.view(p0).Damage)
}

func TestWhatHasWaitedForACoordinatorDoesNotEnterADamagedLog(t *testing.T) {
	w := transactionalWorld(t, 2)
	w.put(1, "a")
	w.pass(message.Second)
	l := w.node(1)
	waits := l.pay(of(batch("b", 1), payer, 0, 0))
	l.badReads = true
	require.Equal(t, message.StorageError, l.readFrom(0).Code)
	for _, q := range l.asked() {
		l.tell(q.Ticket, message.None)
	}
	w.run()
	require.Equal(t, message.StorageError, w.code(waits))
	require.EqualValues(t, 1, l.view(p0).End)
}
