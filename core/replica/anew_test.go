package replica

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tamarack-mq/tamarack/core/chance"
	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
)

// All records are deleted while a follower is away, so that it has nothing to
// copy when it comes back: it only begins its log anew. Until its disk has done
// that, a crash would find the old log, which ends below what is committed. So
// it claims nothing before, and is not taken for in sync.
func TestALogThatBeginsAnewClaimsNothingBeforeTheDiskHasDoneIt(t *testing.T) {
	w := newWorld(t, 3)
	w.create(p0, message.TopicConfig{}, 1, 2, 3)
	w.put(1, "a")
	l, f := w.node(1), w.node(3)
	f.crash()
	w.setISR(p0, 1, 2)
	w.put(1, "b", "c")
	w.deleteBefore(1, 3)
	w.pass(message.Second)
	f.holdDisk = true
	f.look()
	f.start()
	w.pass(5 * message.Second)
	require.Contains(t, f.look(), effect.Effect(effect.Reset{Log: p0, Cut: 1, Start: 3}))
	require.EqualValues(t, 3, f.view(p0).End)
	require.EqualValues(t, 0, f.view(p0).Flushed)
	heard := l.view(p0).Followers[1]
	require.EqualValues(t, 0, heard.Flushed)
	require.EqualValues(t, 0, heard.LogStart)
	require.Equal(t, []message.NodeID{1, 2}, w.parts[p0].ISR)

	f.holdDisk = false
	w.pass(5 * message.Second)
	heard = l.view(p0).Followers[1]
	require.EqualValues(t, 3, heard.Flushed)
	require.EqualValues(t, 3, heard.LogStart)
	require.Equal(t, []message.NodeID{1, 2, 3}, w.parts[p0].ISR)
}

// A checkpoint that knows of records that damage has taken is of no use. Then
// nothing tells what producers did in records below the log start: once it hears
// of its leader the log begins anew with what that one knows (INV-27).
func TestADamagedLogWithoutACheckpointLearnsOfProducersFromItsLeader(t *testing.T) {
	w := newWorld(t, 3)
	w.create(p0, message.TopicConfig{}, 1, 2, 3)
	l, n := w.node(1), w.node(3)
	first := func() []byte { return numbered(batch("a", 2), 7, 0) }
	l.produce(message.AcksAll, first())
	w.put(1, "b", "c", "d")
	w.pass(message.Second)
	w.deleteBefore(1, 3)
	w.pass(2 * message.Second)
	require.EqualValues(t, 3, n.view(p0).Start)
	n.crash()
	w.setISR(p0, 1, 2)
	d := n.disks[p0]
	d.batches, d.end, d.durable = d.batches[:1], 4, 4
	d.mark.At, d.mark.State = 5, []byte("of no use")
	found := n.recover()
	found[0].Damage = "a bad checksum at 4"
	require.Empty(t, found[0].Checkpoint)
	n.down, n.applied = false, 0
	n.m = New(Config{ID: 3}, found, chance.New(3), w.now)
	w.epochs++
	n.m.SetEpoch(w.epochs)
	w.commit(nil, []BrokerState{{Node: 3, Epoch: w.epochs, Available: true}})
	w.pass(5 * message.Second)
	require.Equal(t, []message.NodeID{1, 2, 3}, w.parts[p0].ISR)
	require.Equal(t, l.m.Log(p0).Digest(), n.m.Log(p0).Digest())
	w.elect(p0, 3)
	w.run()
	token := n.produce(message.AcksAll, first())
	w.run()
	require.EqualValues(t, 0, w.produced(token).BaseOffset, "it is known, and not appended again")
}

// An operator's last resort: elected uncleanly, such a log keeps the records
// that it has.
func TestADamagedLogWithoutACheckpointKeepsItsRecordsWhenItMustLead(t *testing.T) {
	w := newWorld(t, 2)
	w.create(p0, message.TopicConfig{MinInsync: 1}, 1, 2)
	w.put(1, "a", "b", "c", "d")
	w.deleteBefore(1, 2)
	w.pass(2 * message.Second)
	n := w.node(2)
	n.crash()
	w.setISR(p0, 1)
	w.node(1).crash()
	n.disks[p0].mark = effect.Checkpoint{}
	found := n.recover()
	found[0].Damage = "a bad checksum at 4"
	n.down, n.applied = false, 0
	n.m = New(Config{ID: 2}, found, chance.New(2), w.now)
	w.epochs++
	n.m.SetEpoch(w.epochs)
	w.commit(nil, []BrokerState{{Node: 2, Epoch: w.epochs, Available: true}})
	w.pass(message.Second) // it waits for a leader that will not come back
	n.look()
	w.elect(p0, 2, 2)
	w.pass(message.Second)
	require.Empty(t, n.halted)
	require.Contains(t, n.look(), effect.Effect(n.disks[p0].mark), "that is all there is: the next start need not ask")
	require.NotEmpty(t, n.disks[p0].mark.State)
	require.Equal(t, []string{"c0", "d0"}, values(t, n.contents(p0)))
	require.EqualValues(t, 4, n.view(p0).HighWatermark)
}

// A crash between the beginning anew and the checkpoint leaves an empty log
// that knows nothing of what was below its start. The leader tells it again.
func TestALogThatBeganAnewAndLostWhatItWasToldIsToldAgain(t *testing.T) {
	w := newWorld(t, 3)
	w.create(p0, message.TopicConfig{}, 1, 2, 3)
	l, f := w.node(1), w.node(3)
	f.crash()
	w.setISR(p0, 1, 2)
	w.run()
	first := func() []byte { return numbered(batch("a", 2), 7, 0) }
	l.produce(message.AcksAll, first())
	w.pass(message.Second)
	w.deleteBefore(1, 2)
	w.pass(message.Second)
	*f.disks[p0] = disk{start: 2, end: 2, durable: 2}
	f.start()
	w.pass(5 * message.Second)
	require.Equal(t, l.m.Log(p0).Digest(), f.m.Log(p0).Digest())
	w.elect(p0, 3)
	w.run()
	token := f.produce(message.AcksAll, first())
	w.run()
	require.EqualValues(t, 0, w.produced(token).BaseOffset)
}

// Elected uncleanly with a log of which nothing can be trusted it begins anew where
// that began. It shows neither end before its disk has done so: there is no other
// replica that could, and a log start would fall for clients.
func TestALeaderThatBeginsAnewShowsNothingBeforeTheDiskHasDoneIt(t *testing.T) {
	w := newWorld(t, 2)
	w.create(p0, message.TopicConfig{MinInsync: 1}, 1, 2)
	w.put(1, "a", "b", "c", "d")
	w.deleteBefore(1, 2)
	w.pass(2 * message.Second)
	n := w.node(2)
	n.crash()
	w.setISR(p0, 1)
	w.node(1).crash()
	n.disks[p0].mark = effect.Checkpoint{}
	found := n.recover()
	require.EqualValues(t, 2, found[0].Start)
	found[0].Headers = found[0].Headers[:1]
	n.down, n.applied, n.holdDisk = false, 0, true
	n.m = New(Config{ID: 2}, found, chance.New(2), w.now)
	w.epochs++
	n.m.SetEpoch(w.epochs)
	w.commit(nil, []BrokerState{{Node: 2, Epoch: w.epochs, Available: true}})
	w.elect(p0, 2, 2)
	n.look()
	w.run()
	require.Contains(t, n.look(), effect.Effect(effect.Reset{Log: p0, Cut: 1, Start: 2}))
	v := n.view(p0)
	require.Equal(t, Leading, v.Role)
	require.False(t, v.Shown)
	require.EqualValues(t, -1, v.ShownStart)
	require.Equal(t, message.LeaderNotAvailable, n.readFrom(2).Code)
	earliest := n.list(message.Earliest)
	require.Equal(t, message.LeaderNotAvailable, w.replies[earliest].(*message.ListOffsetsReply).Partitions[0].Code)
	waiting := n.fetch(fetchOf(10*message.Second, 1, at(0)))
	n.do(func(m *Manager, now message.Now, out *Out) { m.LocalRead(now, p0, v.LeaderEpoch, 0, out) })
	w.run()
	require.Empty(t, n.replayed)
	require.Nil(t, w.replies[waiting])

	n.holdDisk = false
	w.run()
	require.True(t, n.view(p0).Shown)
	require.EqualValues(t, 2, n.view(p0).ShownStart)
	require.EqualValues(t, 2, n.readFrom(2).LogStart)
	require.Equal(t, message.OffsetOutOfRange, w.replies[waiting].(*message.FetchReply).Partitions[0].Code, "who waited is told at once")
	require.Equal(t, []Replay{{ID: p0, Epoch: v.LeaderEpoch, Next: 2, Anew: true, Done: true}}, n.replayed)
}
