package replica

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

func sent[M message.Message](n *node) (found []M) {
	for _, e := range n.look() {
		if s, ok := e.(effect.Send); ok {
			if m, ok := s.Msg.(M); ok {
				found = append(found, m)
			}
		}
	}
	return found
}

func part(index int32) record.PartitionID { return record.PartitionID{Topic: 7, Index: index} }

// There is one session for each pair of brokers. A fetch names what has changed;
// whoever rests is not named.
func TestAFetchNamesOnlyWhatHasChanged(t *testing.T) {
	w := newWorld(t, 2)
	for i := range int32(50) {
		w.create(part(i), message.TopicConfig{}, 1, 2)
	}
	l, f := w.node(1), w.node(2)
	w.pass(message.Second)
	l.look()
	f.look()
	w.put(1, "a")
	fetches, answers := sent[*message.ReplicaFetch](f), sent[*message.ReplicaFetchReply](l)
	require.Len(t, fetches, 1)
	require.Equal(t, []message.ReplicaFetchPartition{{ID: p0, Offset: 1, LastEpoch: 0}}, fetches[0].Partitions)
	require.Len(t, answers, 1)
	require.Len(t, answers[0].Partitions, 1)

	w.pass(10 * message.Second)
	fetches, answers = sent[*message.ReplicaFetch](f), sent[*message.ReplicaFetchReply](l)
	require.LessOrEqual(t, len(fetches), 22, "one every half second, however many partitions there are")
	named := 0
	for _, m := range fetches {
		named += len(m.Partitions)
	}
	require.Equal(t, 1, named, "how far the append above was flushed")
	told := 0
	for _, m := range answers {
		told += len(m.Partitions)
	}
	require.Equal(t, 1, told, "the high watermark")
}

func TestAPartitionAtRestCostsNoTimerAndLittleMemory(t *testing.T) {
	const many = 2000
	w := newWorld(t, 2)
	timers := func() int { return w.node(1).m.timers.Len() + w.node(2).m.timers.Len() }
	w.create(p0, message.TopicConfig{}, 1, 2)
	w.pass(10 * message.Second)
	before := timers()
	var parts []PartitionState
	for i := range int32(many) {
		parts = append(parts, PartitionState{
			ID: part(i + 1), Replicas: []message.NodeID{1, 2}, ISR: []message.NodeID{1, 2}, Leader: message.NodeID(1 + i%2),
		})
	}
	var start, end runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&start)
	w.commit(parts, nil)
	w.pass(10 * message.Second)
	for _, n := range w.nodes {
		n.look()
	}
	w.history = nil
	runtime.GC()
	runtime.ReadMemStats(&end)
	require.Equal(t, before+2, timers(), "the session in the other direction, and nothing for each partition")
	each := (end.HeapAlloc - start.HeapAlloc) / many
	require.Less(t, each, uint64(16<<10), "both replicas and the test's disks")

	for _, n := range w.nodes {
		n.seen = nil
	}
	w.pass(10 * message.Second)
	require.Less(t, len(w.node(1).seen), 100)
}

// What the follower does not hear of it asks for anew.
func TestALostMessageCostsASessionAndNoMore(t *testing.T) {
	for _, lost := range []string{"fetch", "answer", "progress"} {
		t.Run(lost, func(t *testing.T) {
			w := newWorld(t, 2)
			w.create(p0, message.TopicConfig{}, 1, 2)
			n := 0
			w.cut = func(x wire) bool {
				hit := false
				switch x.msg.(type) {
				case *message.ReplicaFetch:
					hit = lost == "fetch"
				case *message.ReplicaFetchReply:
					hit = lost == "answer"
				case *message.ReplicaProgress:
					hit = lost == "progress"
				}
				if hit {
					n++
				}
				return hit && n == 1
			}
			token := w.node(1).produce(message.AcksAll, batch("a", 1))
			w.pass(1100 * message.Millisecond)
			require.Equal(t, 1, min(n, 1))
			require.Equal(t, message.None, w.code(token))
		})
	}
}

// A leader that is away is asked less and less often.
func TestADeadLeaderIsAskedWithPauses(t *testing.T) {
	w := newWorld(t, 2)
	w.create(p0, message.TopicConfig{}, 1, 2)
	w.node(1).crash()
	w.node(2).look()
	w.pass(message.Minute)
	fetches := len(sent[*message.ReplicaFetch](w.node(2)))
	require.Greater(t, fetches, 20)
	require.Less(t, fetches, 45)
}

func TestFetchesThatComeTwiceOrOutOfOrderChangeNothing(t *testing.T) {
	w := newWorld(t, 2)
	w.create(p0, message.TopicConfig{}, 1, 2)
	w.put(1, "a")
	w.pass(message.Second)
	l := w.node(1)
	s := l.m.session(2)
	l.look()
	ask := func(session uint64, sequence uint32) []*message.ReplicaFetchReply {
		w.held = func(x wire) bool { return true }
		w.deliver(wire{2, 1, &message.ReplicaFetch{BrokerEpoch: 2, Session: session, Sequence: sequence, MaxBytes: 1,
			Partitions: []message.ReplicaFetchPartition{{ID: p0, Offset: 0, LastEpoch: -1, Flushed: 0}}}})
		return sent[*message.ReplicaFetchReply](l)
	}
	require.Empty(t, ask(s.id, s.sequence), "twice")
	require.Empty(t, ask(s.id, 0), "the opening, twice")
	require.Empty(t, ask(s.id-1, 0), "an older session")
	require.Empty(t, ask(s.id-1, 9), "an older session")
	require.EqualValues(t, 1, s.seats[p0].at.Offset)
	require.Equal(t, message.InvalidFetchSessionEpoch, ask(s.id, s.sequence+2)[0].Code)
	require.Equal(t, message.FetchSessionNotFound, ask(s.id+1, 1)[0].Code)

	stale := &message.ReplicaFetch{BrokerEpoch: 1, Session: 1 << 40}
	w.deliver(wire{2, 1, stale})
	require.Equal(t, message.StaleBrokerEpoch, sent[*message.ReplicaFetchReply](l)[0].Code)
	future := &message.ReplicaFetch{BrokerEpoch: 9, Session: 1 << 40}
	w.deliver(wire{2, 1, future})
	require.Equal(t, message.BrokerNotAvailable, sent[*message.ReplicaFetchReply](l)[0].Code)
	require.Same(t, s, l.m.session(2))
}

// A partition that comes under a leader does not wait for the fetch that is
// pending there.
func TestANewPartitionDoesNotWaitForThePendingFetch(t *testing.T) {
	w := newWorld(t, 2)
	w.create(p0, message.TopicConfig{}, 1, 2)
	w.create(part(1), message.TopicConfig{}, 1, 2)
	w.tokens++
	w.node(1).do(func(m *Manager, now message.Now, out *Out) {
		m.Produce(now, w.tokens, &message.Produce{Acks: message.AcksAll, Timeout: message.Second,
			Partitions: []message.ProducePartition{{ID: part(1), Records: batch("a", 1)}}}, out)
	})
	w.run() // no time passes
	require.Equal(t, message.None, w.code(w.tokens))
}

func TestAnAnswerHoldsNoMoreThanItMay(t *testing.T) {
	w := newWorld(t, 2)
	w.cfg.FetchBytes = 1
	w.node(2).crash()
	w.node(2).start()
	for i := range int32(3) {
		w.create(part(i), message.TopicConfig{}, 1, 2)
	}
	w.held = func(x wire) bool { return x.from == 2 }
	for i := range int32(3) {
		for range 2 {
			w.tokens++
			w.node(1).do(func(m *Manager, now message.Now, out *Out) {
				m.Produce(now, w.tokens, &message.Produce{Acks: message.AcksAll, Timeout: message.Minute,
					Partitions: []message.ProducePartition{{ID: part(i), Records: batch("a", 1)}}}, out)
			})
		}
	}
	w.run()
	w.node(1).look()
	w.held = nil
	w.pass(message.Second)
	for _, m := range sent[*message.ReplicaFetchReply](w.node(1)) {
		carried := 0
		for _, p := range m.Partitions {
			if len(p.Records) > 0 {
				carried++
				require.Len(t, values(t, p.Records), 1)
			}
		}
		require.LessOrEqual(t, carried, 1)
	}
	for i := range int32(3) {
		require.EqualValues(t, 2, w.node(2).view(part(i)).HighWatermark, "and all get their turn")
	}
}

// Followers of a broker that is low on disk fetch no records, but they go on to
// learn log starts, by which room is made.
func TestALowDiskStopsRecordsAndNotLogStarts(t *testing.T) {
	w := newWorld(t, 2)
	w.create(p0, message.TopicConfig{MinInsync: 1}, 1, 2)
	w.put(1, "a", "b")
	w.pass(message.Second)
	f := w.node(2)
	space := func(low bool) {
		f.do(func(m *Manager, now message.Now, out *Out) { m.DiskSpace(now, effect.DiskSpace{Low: low}, out) })
	}
	space(true)
	w.pass(message.Second)
	w.put(1, "c")
	w.deleteBefore(1, 1)
	w.pass(2 * message.Second)
	v := f.view(p0)
	require.Equal(t, []record.Offset{1, 2}, []record.Offset{v.Start, v.End})
	f.look()
	w.pass(2 * message.Second)
	require.Less(t, len(sent[*message.ReplicaFetch](f)), 6, "no storm of empty fetches")
	space(false)
	w.run()
	require.EqualValues(t, 3, f.view(p0).End, "at once")
}

func TestAFollowerWaitsForItsDiskWhenTooMuchIsUnflushed(t *testing.T) {
	w := newWorld(t, 2)
	w.create(p0, message.TopicConfig{}, 1, 2)
	f := w.node(2)
	f.m.cfg.UnflushedBytes = 100
	f.holdDisk = true
	for range 10 {
		w.put(1, "a")
	}
	require.Less(t, f.view(p0).End, record.Offset(5))
	f.holdDisk = false
	w.run()
	require.EqualValues(t, 10, f.view(p0).End)
	require.EqualValues(t, 10, w.node(1).view(p0).HighWatermark)
	require.Zero(t, f.m.unflushed)
}

func TestASessionEndsWithItsLastPartition(t *testing.T) {
	w := newWorld(t, 2)
	w.create(p0, message.TopicConfig{}, 1, 2)
	require.NotNil(t, w.node(1).m.session(2))
	w.commit([]PartitionState{{ID: p0, Removed: true}}, nil)
	delete(w.parts, p0)
	w.pass(5 * message.Second)
	require.Nil(t, w.node(1).m.session(2))
	w.node(2).look()
	w.pass(message.Minute)
	require.Empty(t, w.node(2).look())
	require.Zero(t, w.node(1).m.timers.Len())
	require.Zero(t, w.node(2).m.timers.Len())
}

// Leaders do not know of each other: what a follower asks each of them for must fit
// together, whoever comes and goes.
func TestAllFetchesTogetherAskForNoMoreThanMayBeUnflushed(t *testing.T) {
	const room = 1000
	w := newWorld(t, 5)
	f := w.node(5)
	f.m.cfg.UnflushedBytes = room
	together := func() (sum int64) {
		for _, p := range f.m.pullers {
			for _, bytes := range p.asked {
				sum += int64(bytes)
			}
		}
		require.Equal(t, sum, f.m.asked)
		require.LessOrEqual(t, sum, int64(room))
		return sum
	}
	for i := range int32(4) {
		w.create(part(i), message.TopicConfig{}, message.NodeID(i+1), 5)
		together()
	}
	w.pass(2 * message.Second)
	require.Equal(t, 4, f.m.leadersFollowed)
	require.EqualValues(t, room/2, together(), "one of two with each leader")
	f.look()
	w.pass(message.Second)
	for _, fetch := range sent[*message.ReplicaFetch](f) {
		require.EqualValues(t, room/(4*maxInFlight), fetch.MaxBytes)
	}

	f.m.unflushed = 600
	require.EqualValues(t, (room-600)/(4*maxInFlight), f.m.room())
	f.m.unflushed = room - 1
	require.EqualValues(t, 1, f.m.room(), "one batch in any case")
	f.m.unflushed = 0

	for id := range 3 { // whose fetches are given up with the sessions
		w.node(id + 1).crash()
	}
	w.pass(5 * message.Second)
	together()
	for i := range int32(3) {
		w.commit([]PartitionState{{ID: part(i), Removed: true}}, nil)
		delete(w.parts, part(i))
	}
	w.pass(5 * message.Second)
	require.Equal(t, 1, f.m.leadersFollowed)
	require.EqualValues(t, room/maxInFlight, together(), "the leader that is left has all of it, for two")
}

// The answer to a registration and the image that holds it may come in one step, before
// the Tick that is due then: what was asked in between is not asked for nobody.
func TestARegistrationEndsTheSessionsOfBeforeAndNoOther(t *testing.T) {
	w := newWorld(t, 1)
	n := w.node(1)
	n.m = New(Config{ID: 1}, nil, n.m.random, w.now)
	n.look()
	n.m.SetEpoch(9)
	n.do(func(m *Manager, now message.Now, out *Out) {
		m.Apply(now, []PartitionState{{ID: p0, Replicas: []message.NodeID{1, 2}, ISR: []message.NodeID{2}, Leader: 2, LeaderEpoch: 1}},
			[]BrokerState{{Node: 1, Epoch: 9, Available: true}, {Node: 2, Epoch: 3, Available: true}}, out)
	})
	p := n.m.puller(2)
	require.True(t, p.open)
	first := p.session
	tick := func() {
		n.do(func(m *Manager, now message.Now, out *Out) { m.Tick(now, out) })
	}
	tick()
	require.True(t, p.open, "the leader has just been asked")
	require.Equal(t, first, p.session)
	require.Len(t, p.asked, 1)
	require.Equal(t, int64(p.asked[0]), n.m.asked)

	n.m.SetEpoch(10)
	p.urge(n.m)
	n.do(func(m *Manager, now message.Now, out *Out) { m.finish(now, out) })
	require.Len(t, p.asked, 1, "nothing more is asked in the session of before")
	tick()
	require.False(t, p.open)
	require.True(t, p.pausing, "until the leader knows of the registration")
	require.Zero(t, n.m.asked)
	due := n.m.timers.Next()
	n.m.SetEpoch(11)
	tick()
	require.Equal(t, due, n.m.timers.Next(), "the pause has begun")
	w.now.Mono = due
	tick()
	require.True(t, p.open)
	require.NotEqual(t, first, p.session)
	require.Equal(t, message.BrokerEpoch(11), p.epoch)
	require.Len(t, p.asked, 1)
}
