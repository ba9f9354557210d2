package controller

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core/chance"
	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

func TestAllBrokersSeeOneCluster(t *testing.T) {
	w := newWorld(t, 1, 3, 3, Config{})
	w.ready()
	w.create("t", []message.NodeID{11, 12, 13}, []message.NodeID{12, 13, 11})
	want := w.boss().image
	require.Equal(t, "test", want.ClusterID())
	for _, id := range w.ids {
		require.Equal(t, want.Snapshot(), w.brokers[id].image.Snapshot())
	}
	w.pass(message.Second)
	for _, id := range w.voters {
		require.True(t, want.Equal(w.ctl[id].c.image), "controller %d", id)
	}
}

func TestAnotherControllerTakesOver(t *testing.T) {
	w := newWorld(t, 2, 3, 3, Config{BalanceAfter: -1})
	w.ready()
	p := p0(w.create("t", []message.NodeID{11, 12, 13}))
	old := w.boss().id
	w.crashVoter(old)
	w.until("another one", func() bool { return w.boss() != nil })
	require.NotEqual(t, old, w.boss().id)
	w.pass(10 * message.Second)
	require.Equal(t, "leader 11 epoch 0/0 isr [11 12 13]", w.state(p), "no broker paid for it")

	w.crashBroker(11)
	w.pass(8 * message.Second)
	require.Equal(t, "leader 12 epoch 1/1 isr [12 13]", w.state(p), "the new one watches, too")

	w.startVoter(old)
	w.ids = w.ids[1:]
	w.create("u", []message.NodeID{12, 13})
	w.pass(2 * message.Second)
	require.True(t, w.boss().image.Equal(w.ctl[old].c.image))
}

// A controller cut off from the others must not answer, and what it was about
// to decide must not be answered by anybody.
func TestAControllerWithoutMajorityAnswersNobody(t *testing.T) {
	w := newWorld(t, 3, 3, 2, Config{})
	w.ready()
	old := w.boss()
	w.cut[old.id], w.cut[11] = true, true // the old controller and broker 11 are alone
	b := w.brokers[11]
	create := func(n uint64, name string) {
		w.post(11, old.id, &message.Forward{Request: n, Body: &message.CreateTopic{Name: name, Partitions: 1}})
	}
	create(1, "in-flight")
	w.pass(3 * message.Millisecond)
	create(2, "waiting")
	w.until("it gives up", func() bool { return !old.Active() })
	create(3, "late")
	w.pass(10 * message.Second)
	require.Equal(t, []message.Message{
		&message.Forwarded{Request: 2, Code: message.NotController},
		&message.Forwarded{Request: 3, Code: message.NotController},
	}, b.got)

	w.cut = map[message.NodeID]bool{}
	w.ready()
	require.Nil(t, w.boss().image.TopicNamed("in-flight"))
	require.Equal(t, w.boss().image.Version(), old.image.Version())
}

func TestASilentBrokerIsFencedAndComesBack(t *testing.T) {
	w := newWorld(t, 4, 1, 2, Config{})
	w.ready()
	w.cut[12] = true
	w.pass(5 * message.Second)
	require.True(t, w.boss().image.Live(12), "its session is not over")
	w.pass(3 * message.Second)
	require.False(t, w.boss().image.Live(12))
	epoch := w.boss().image.Broker(12).Epoch
	w.cut[12] = false
	w.ready()
	require.Equal(t, epoch, w.boss().image.Broker(12).Epoch, "the same run goes on")
	require.True(t, w.boss().image.Equal(w.brokers[12].image))
}

// A controller that did not run cannot know who was silent.
func TestBrokersDoNotPayForAPauseOfTheController(t *testing.T) {
	w := newWorld(t, 5, 1, 2, Config{})
	w.ready()
	w.now = w.now.Add(60 * message.Second)
	out := &effect.Out{}
	w.ctl[1].c.Tick(message.Now{Mono: w.now}, out)
	require.Empty(t, out.List)
	require.True(t, w.boss().image.Live(11))
}

func TestRegistration(t *testing.T) {
	w := newWorld(t, 6, 1, 1, Config{})
	w.ready()
	now, out := message.Now{Mono: w.now}, &effect.Out{}
	ask := func(from message.NodeID, m *message.RegisterBroker) message.Message {
		t.Helper()
		out.Empty()
		w.ctl[1].c.Receive(now, from, m, out)
		require.NotEmpty(t, out.List)
		return out.List[0].(effect.Send).Msg
	}
	b := w.brokers[11]
	again := ask(11, &message.RegisterBroker{ClusterID: "test", Node: 11, Incarnation: b.incarnation})
	require.Equal(t, &message.RegisterBrokerReply{
		Incarnation: b.incarnation, Epoch: b.epoch, Controller: 1,
	}, again, "a repeated request gets the same epoch")
	require.Equal(t, &message.RegisterBrokerReply{Incarnation: 5, Code: message.ClusterIDMismatch, Controller: 1},
		ask(11, &message.RegisterBroker{ClusterID: "other", Node: 11, Incarnation: 5}))
	require.Equal(t, &message.RegisterBrokerReply{Incarnation: 5, Code: message.InvalidRequest, Controller: 1},
		ask(12, &message.RegisterBroker{ClusterID: "test", Node: 11, Incarnation: 5}))

	// A request of a run that was replaced comes late.
	first := b.incarnation
	w.startBroker(11)
	w.ready()
	second := b.epoch
	now.Mono = w.now
	require.Equal(t, &message.RegisterBrokerReply{
		Incarnation: first, Code: message.DuplicateBrokerRegistration, Controller: 1,
	}, ask(11, &message.RegisterBroker{ClusterID: "test", Node: 11, Incarnation: first}))
	require.Equal(t, second, w.boss().image.Broker(11).Epoch)
	w.ctl[1].c.Receive(now, 11, &message.BrokerHeartbeat{Node: 11, Epoch: second - 1}, out)
	require.Equal(t, effect.Send{To: 11, Msg: &message.BrokerHeartbeatReply{
		Epoch: second - 1, Code: message.StaleBrokerEpoch, Controller: 1,
	}}, out.List[len(out.List)-1])
}

func TestABrokerThatIsBehindGetsWhatItLacks(t *testing.T) {
	w := newWorld(t, 7, 1, 2, Config{HistoryChanges: 20})
	w.ready()
	b := w.brokers[12]
	w.cut[12] = true
	w.create("a", []message.NodeID{11})
	w.create("b", []message.NodeID{11})
	had := b.image.Version()
	w.cut[12], b.pushes = false, nil
	w.until("it has caught up", func() bool { return b.image.Version() >= w.boss().history.last })
	require.Len(t, b.pushes, 1)
	require.False(t, b.pushes[0].Snapshot)
	require.Equal(t, had, b.pushes[0].From)
	require.Len(t, b.pushes[0].Changes, 4, "two topics of one partition each")

	w.cut[12] = true
	for _, name := range []string{"c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m"} {
		w.create(name, []message.NodeID{11})
	}
	w.cut[12], b.pushes = false, nil
	w.until("it has caught up", func() bool { return b.image.Version() >= w.boss().history.last })
	require.Len(t, b.pushes, 1)
	require.True(t, b.pushes[0].Snapshot, "the history does not reach back so far")
	require.True(t, w.boss().image.Equal(b.image))
}

func TestProducerIDsAreGivenOnce(t *testing.T) {
	w := newWorld(t, 8, 3, 2, Config{ProducerIDBlock: 10})
	w.ready()
	ask := func(id message.NodeID) *message.AllocateProducerIDsReply {
		return w.tell(id, &message.AllocateProducerIDs{Node: id, Epoch: w.brokers[id].epoch, Request: 7}).(*message.AllocateProducerIDsReply)
	}
	require.Equal(t, record.ProducerID(0), ask(11).First)
	require.Equal(t, record.ProducerID(10), ask(12).First)
	w.crashVoter(w.boss().id)
	w.until("another controller", func() bool { return w.boss() != nil })
	require.Equal(t, &message.AllocateProducerIDsReply{Request: 7, Controller: w.boss().id, First: 20, Count: 10}, ask(11))
	stale := w.tell(11, &message.AllocateProducerIDs{Node: 11, Epoch: 1, Request: 8}).(*message.AllocateProducerIDsReply)
	require.Equal(t, message.StaleBrokerEpoch, stale.Code)
}

func TestTheQueueIsBounded(t *testing.T) {
	w := newWorld(t, 9, 1, 1, Config{MaxQueue: 3})
	w.ready()
	out := &effect.Out{}
	for i := range 10 {
		w.ctl[1].c.Receive(message.Now{Mono: w.now}, 11, &message.Forward{
			Request: uint64(i), Body: &message.DeleteTopic{Name: "none"},
		}, out)
	}
	require.Equal(t, 3, w.boss().View().Waiting)
	refused := 0
	for _, e := range out.List {
		if s, ok := e.(effect.Send); ok && s.Msg.(*message.Forwarded).Code == message.RequestTimedOut {
			refused++
		}
	}
	require.Equal(t, 6, refused, "one is in flight, three wait")
}

func TestRestartsComeBackFromJournalAndSnapshot(t *testing.T) {
	w := newWorld(t, 10, 3, 3, Config{})
	w.cfg.Quorum.SnapshotEntries, w.cfg.Quorum.KeepEntries = 5, 2
	for _, id := range w.voters {
		w.startVoter(id)
	}
	w.ready()
	for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
		w.create(name, []message.NodeID{11, 12, 13})
	}
	want := w.boss().image.Clone()
	for _, id := range w.voters {
		w.crashVoter(id)
	}
	for _, id := range w.voters {
		require.Less(t, len(w.ctl[id].disk), 15)
		w.startVoter(id)
	}
	w.until("a controller", func() bool { return w.boss() != nil })
	require.Equal(t, want.Snapshot(), w.boss().image.Snapshot())
}

func TestWhatCannotBeReadHalts(t *testing.T) {
	cfg := Config{}
	cfg.Quorum.ID, cfg.Quorum.Voters = 1, []message.NodeID{1}
	c := New(cfg, &effect.Recovered{Journal: [][]byte{{9, 9}}}, chance.New(1), message.Now{})
	out := &effect.Out{}
	c.Tick(message.Now{Mono: c.Wake()}, out)
	require.Len(t, out.List, 1)
	require.Contains(t, out.List[0].(effect.Halt).Reason, "frame 1 of 1: stored in form 9")
	c.Receive(message.Now{}, 11, &message.BrokerHeartbeat{Node: 11, Epoch: 1}, out)
	require.Equal(t, []effect.Effect{out.List[0], effect.Send{To: 11, Msg: &message.BrokerHeartbeatReply{
		Epoch: 1, Code: message.NotController,
	}}}, out.List)
}

// The same seed gives the same effects, byte for byte.
func TestTheSameSeedGivesTheSameEffects(t *testing.T) {
	play := func() []string {
		w := newWorld(t, 78, 3, 4, Config{BalanceAfter: 3 * message.Second})
		w.cfg.Quorum.SnapshotEntries = 10
		w.loss = 5
		w.ready()
		for i, name := range []string{"a", "b", "c"} {
			w.ask(&message.CreateTopic{Name: name, Partitions: 5, ReplicationFactor: 3})
			w.crashBroker(w.ids[i+1])
			w.pass(7 * message.Second)
			w.startBroker(w.ids[i+1])
			w.crashVoter(w.voters[i])
			w.pass(3 * message.Second)
			w.startVoter(w.voters[i])
			w.ready()
		}
		return w.trace
	}
	first, second := play(), play()
	require.Greater(t, len(first), 1000)
	require.Equal(t, first, second)
}

func BenchmarkHeartbeat(b *testing.B) {
	w := newWorld(b, 1, 1, 3, Config{})
	w.ready()
	out := &effect.Out{}
	m := &message.BrokerHeartbeat{Node: 11, Epoch: w.brokers[11].epoch, Applied: w.boss().image.Version()}
	b.ReportAllocs()
	for b.Loop() {
		out.Empty()
		w.ctl[1].c.Receive(message.Now{Mono: w.now}, 11, m, out)
	}
}

func BenchmarkDecision(b *testing.B) {
	w := newWorld(b, 1, 1, 3, Config{})
	w.ready()
	out := &effect.Out{}
	m := &message.AllocateProducerIDs{Node: 11, Epoch: w.brokers[11].epoch}
	b.ReportAllocs()
	for b.Loop() {
		out.Empty()
		w.ctl[1].c.Receive(message.Now{Mono: w.now}, 11, m, out)
		w.ctl[1].c.Saved(message.Now{Mono: w.now}, out.List[0].(effect.SaveQuorum).Seq, out)
		for _, e := range out.List[1:] {
			if s, ok := e.(effect.ReplaceQuorum); ok {
				out.Empty()
				w.ctl[1].c.Saved(message.Now{Mono: w.now}, s.Seq, out)
				break
			}
		}
	}
}

// A broker of ten thousand partitions dies.
func BenchmarkFencing(b *testing.B) {
	w := newWorld(b, 1, 1, 6, Config{BalanceAfter: -1})
	w.ready()
	for _, name := range []string{"a", "b"} {
		w.ask(&message.CreateTopic{Name: name, Partitions: 10_000, ReplicationFactor: 3})
	}
	c := w.boss()
	b.ReportAllocs()
	for b.Loop() {
		if len(c.fence(c.image.Broker(11)).changes) < 5000 {
			b.Fatal("too few")
		}
	}
}
