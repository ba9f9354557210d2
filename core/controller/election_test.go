package controller

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

func p0(topic record.TopicID) record.PartitionID { return record.PartitionID{Topic: topic} }

// The story of one partition of three replicas, min.insync 2, down to nobody
// and back (KIP-966).
func TestTheLastReplicasStandingStayEligible(t *testing.T) {
	w := newWorld(t, 1, 1, 3, Config{BalanceAfter: -1})
	w.ready()
	p := p0(w.create("t", []message.NodeID{11, 12, 13}))
	require.Equal(t, "leader 11 epoch 0/0 isr [11 12 13]", w.state(p))

	w.crashBroker(11)
	w.pass(8 * message.Second)
	require.Equal(t, "leader 12 epoch 1/1 isr [12 13]", w.state(p), "two are enough: 11 may miss records from now on")

	w.crashBroker(13)
	w.pass(8 * message.Second)
	require.Equal(t, "leader 12 epoch 1/2 isr [12] elr [13]", w.state(p), "no new leadership, no new leader epoch")

	w.crashBroker(12)
	w.pass(8 * message.Second)
	require.Equal(t, "leader 0 epoch 2/3 isr [] elr [12 13]", w.state(p))

	w.startBroker(11)
	w.ready()
	require.Equal(t, "leader 0 epoch 2/3 isr [] elr [12 13]", w.state(p), "11 is alive but not eligible")

	w.startBroker(13)
	w.ready()
	require.Equal(t, "leader 13 epoch 3/4 isr [13] elr [12]", w.state(p))

	require.Equal(t, message.None, w.propose(p, 11, 13))
	require.Equal(t, "leader 13 epoch 3/5 isr [11 13]", w.state(p), "min.insync is reached: nobody else is eligible")
}

// A restarted leader may have lost its unflushed tail, so it leads again only
// under another epoch, even when nobody else could (protocol, rule 2).
func TestARestartedLeaderGetsANewEpoch(t *testing.T) {
	w := newWorld(t, 2, 1, 2, Config{BalanceAfter: -1})
	w.ready()
	alone := p0(w.create("alone", []message.NodeID{11}))
	pair := p0(w.create("pair", []message.NodeID{11, 12}))

	w.crashBroker(11)
	w.startBroker(11) // at once: no session has run out
	w.ready()
	require.Equal(t, "leader 11 epoch 2/2 isr [11]", w.state(alone))
	require.Equal(t, "leader 12 epoch 1/1 isr [12] elr [11]", w.state(pair))
}

func TestABrokerServesOnlyOnceItKnowsOfItsOwnRun(t *testing.T) {
	w := newWorld(t, 12, 1, 1, Config{})
	w.until("it is registered", func() bool { return w.brokers[11].epoch > 0 })
	epoch := w.brokers[11].epoch
	w.crashBroker(11)
	beat := func(applied message.Version) bool {
		w.post(11, 1, &message.BrokerHeartbeat{Node: 11, Epoch: epoch, Applied: applied})
		w.pass(100 * message.Millisecond)
		return w.boss().image.Live(11)
	}
	require.False(t, beat(message.Version(epoch)-1))
	require.True(t, beat(message.Version(epoch)))
}

func TestAnotherDiskIsNeverEligible(t *testing.T) {
	w := newWorld(t, 3, 1, 2, Config{BalanceAfter: -1})
	w.ready()
	alone := p0(w.create("alone", []message.NodeID{11}))
	pair := p0(w.create("pair", []message.NodeID{11, 12}))
	w.crashBroker(11)
	w.brokers[11].disk = 4711
	w.startBroker(11)
	w.pass(5 * message.Second)
	require.Equal(t, message.DuplicateBrokerRegistration, w.brokers[11].refused)
	require.Equal(t, "leader 11 epoch 0/0 isr [11]", w.state(alone), "for all that the controller knows the run before is there")
	w.pass(3 * message.Second)
	w.ready()
	require.Equal(t, "leader 0 epoch 1/2 isr []", w.state(alone))
	require.Equal(t, "leader 12 epoch 1/2 isr [12]", w.state(pair))
}

func TestADamagedLogLosesItsPlaceAndOnlyThatOne(t *testing.T) {
	w := newWorld(t, 4, 1, 2, Config{BalanceAfter: -1})
	w.ready()
	bad := p0(w.create("bad", []message.NodeID{12, 11}))
	good := p0(w.create("good", []message.NodeID{12, 11}))
	require.Equal(t, message.None, w.propose(bad, 12))
	require.Equal(t, "leader 12 epoch 0/1 isr [12] elr [11]", w.state(bad))
	w.crashBroker(11)
	w.brokers[11].damaged = []record.PartitionID{bad, bad}
	w.startBroker(11)
	w.ready()
	require.Equal(t, "leader 12 epoch 0/2 isr [12]", w.state(bad))
	require.Equal(t, "leader 12 epoch 0/1 isr [12] elr [11]", w.state(good))
}

// What a run has said of damage is taken once: a repeat that comes late finds the
// replica put in order. Damage that is found later is news.
func TestARepeatedReportOfDamageChangesNothing(t *testing.T) {
	w := newWorld(t, 4, 1, 2, Config{BalanceAfter: -1})
	w.ready()
	bad := p0(w.create("bad", []message.NodeID{12, 11}))
	w.crashBroker(11)
	w.brokers[11].damaged = []record.PartitionID{bad}
	w.startBroker(11)
	w.ready()
	require.Equal(t, "leader 12 epoch 0/1 isr [12]", w.state(bad))
	require.Equal(t, message.None, w.propose(bad, 12, 11))
	require.Equal(t, "leader 12 epoch 0/2 isr [12 11]", w.state(bad))
	report := func(number uint64) {
		t.Helper()
		b := w.brokers[11]
		w.post(11, w.boss().id, &message.RegisterBroker{
			ClusterID: "test", Node: 11, Incarnation: b.incarnation, DiskID: b.disk, Damaged: b.damaged, Report: number,
		})
		w.pass(message.Second)
		require.Equal(t, b.epoch, w.boss().image.Broker(11).Epoch)
	}
	report(0)
	require.Equal(t, "leader 12 epoch 0/2 isr [12 11]", w.state(bad), "the registration itself, once more")
	report(1)
	require.Equal(t, "leader 12 epoch 0/3 isr [12]", w.state(bad), "found since")
	require.Equal(t, message.None, w.propose(bad, 12, 11))
	report(1)
	require.Equal(t, "leader 12 epoch 0/4 isr [12 11]", w.state(bad), "the same once more")
	report(2)
	require.Equal(t, "leader 12 epoch 0/5 isr [12]", w.state(bad))
}

// What was taken of damage is in the log of the controllers: the next one takes
// no repeat of it for news.
func TestTheNextControllerKnowsWhatWasReported(t *testing.T) {
	w := newWorld(t, 13, 3, 2, Config{BalanceAfter: -1})
	w.ready()
	bad := p0(w.create("bad", []message.NodeID{12, 11}))
	b := w.brokers[11]
	report := func(number uint64) {
		w.post(11, w.boss().id, &message.RegisterBroker{
			ClusterID: "test", Node: 11, Incarnation: b.incarnation, DiskID: b.disk, Damaged: []record.PartitionID{bad}, Report: number,
		})
		w.pass(message.Second)
	}
	report(3)
	require.Equal(t, "leader 12 epoch 0/1 isr [12]", w.state(bad))
	require.Equal(t, message.None, w.propose(bad, 12, 11))
	first := w.boss().id
	w.crashVoter(first)
	w.ready()
	require.NotEqual(t, first, w.boss().id)
	report(3)
	require.Equal(t, "leader 12 epoch 0/2 isr [12 11]", w.state(bad), "the same once more")
	report(4)
	require.Equal(t, "leader 12 epoch 0/3 isr [12]", w.state(bad))
	w.startBroker(11)
	w.ready()
	require.Zero(t, w.boss().image.Broker(11).Report, "another run begins anew")
}

func TestALeaderIsElectedUncleanlyOnlyOnRequest(t *testing.T) {
	w := newWorld(t, 5, 1, 3, Config{BalanceAfter: -1})
	w.ready()
	p := p0(w.create("t", []message.NodeID{11, 12, 13}))
	require.Equal(t, message.None, w.propose(p, 11, 12))
	w.crashBroker(12)
	w.pass(8 * message.Second)
	w.crashBroker(11)
	w.ids[0], w.ids[2] = w.ids[2], w.ids[0] // ask through 13
	w.pass(20 * message.Second)
	require.Equal(t, "leader 0 epoch 1/3 isr [] elr [11 12]", w.state(p))

	clean := w.ask(&message.ElectLeaders{Partitions: []record.PartitionID{p}})
	require.Equal(t, &message.ElectLeadersReply{Partitions: []message.ElectedLeader{{
		ID: p, Code: message.EligibleLeadersNotAvailable, LeaderEpoch: 1,
		Detail: "broker 11 is not running, not in sync, or being drained",
	}}}, clean)

	unclean := w.ask(&message.ElectLeaders{Partitions: []record.PartitionID{p, p}, Unclean: true})
	require.Equal(t, &message.ElectLeadersReply{Partitions: []message.ElectedLeader{{
		ID: p, Leader: 13, LeaderEpoch: 2,
		Detail: "unclean: broker 13 leads although it was not in sync; every record that it lacks is given up, " +
			"also acknowledged ones held by the in-sync [] or the eligible [11 12]",
	}}}, unclean)
	require.Equal(t, "leader 13 epoch 2/4 isr [13] unclean", w.state(p))
	require.Equal(t, message.None, w.propose(p, 13))
	require.Equal(t, "leader 13 epoch 2/5 isr [13] unclean", w.state(p), "a mark of the leadership, not of one change")

	again := w.ask(&message.ElectLeaders{Unclean: true})
	require.Equal(t, &message.ElectLeadersReply{}, again, "nothing else needs one")
}

func TestPreferredLeadersComeBackByThemselves(t *testing.T) {
	w := newWorld(t, 6, 1, 2, Config{BalanceAfter: 10 * message.Second})
	w.ready()
	p := p0(w.create("t", []message.NodeID{11, 12}))
	w.crashBroker(11)
	w.startBroker(11)
	w.ready()
	require.Equal(t, message.None, w.propose(p, 11, 12))
	require.Equal(t, "leader 12 epoch 1/2 isr [11 12]", w.state(p))
	w.pass(11 * message.Second)
	require.Equal(t, "leader 11 epoch 2/3 isr [11 12]", w.state(p))
	require.Equal(t, message.Never, w.boss().active.balanceAt, "nothing is left to watch")
}

func TestPreferredLeadersComeBackOnRequest(t *testing.T) {
	w := newWorld(t, 7, 1, 2, Config{BalanceAfter: -1})
	w.ready()
	p := p0(w.create("t", []message.NodeID{11, 12}))
	w.crashBroker(11)
	w.startBroker(11)
	w.ready()
	w.propose(p, 11, 12)
	require.Equal(t, &message.ElectLeadersReply{Partitions: []message.ElectedLeader{
		{ID: p, Leader: 11, LeaderEpoch: 2},
	}}, w.ask(&message.ElectLeaders{}))
	require.Equal(t, &message.ElectLeadersReply{Partitions: []message.ElectedLeader{
		{ID: p, Code: message.ElectionNotNeeded, Leader: 11, LeaderEpoch: 2, Detail: "broker 11 leads"},
		{ID: p0(999), Code: message.UnknownTopicOrPartition},
	}}, w.ask(&message.ElectLeaders{Partitions: []record.PartitionID{p, p0(999)}}))
}

func TestALeavingBrokerHandsOverFirst(t *testing.T) {
	w := newWorld(t, 8, 1, 2, Config{BalanceAfter: -1})
	w.ready()
	p := p0(w.create("t", []message.NodeID{11, 12}))
	w.brokers[11].leaving = true
	w.until("it may go", func() bool { return w.brokers[11].last.MayShutdown })
	require.Equal(t, "leader 12 epoch 1/1 isr [12] elr [11]", w.state(p))
	require.Equal(t, message.IneligibleReplica, w.propose(p, 11, 12), "who leaves may not come in (KIP-841)")
	w.crashBroker(11)
	w.startBroker(11)
	w.ready()
	require.Equal(t, message.None, w.propose(p, 11, 12))
}

// The last one in sync waits for a follower, and leads until that has caught up.
func TestALeavingBrokerWaitsForSomebodyToTakeOver(t *testing.T) {
	w := newWorld(t, 9, 1, 2, Config{BalanceAfter: -1})
	w.ready()
	p := p0(w.ask(&message.CreateTopic{
		Name: "t", Replicas: [][]message.NodeID{{11, 12}}, Config: message.TopicConfig{MinInsync: 1},
	}).(*message.CreateTopicReply).ID)
	w.propose(p, 11)
	w.brokers[11].leaving = true
	w.pass(2 * message.Second)
	require.Equal(t, "leader 11 epoch 0/1 isr [11]", w.state(p))
	require.True(t, w.boss().image.Broker(11).ShuttingDown)
	require.False(t, w.brokers[11].last.MayShutdown)

	require.Equal(t, message.None, w.propose(p, 11, 12))
	require.Equal(t, "leader 12 epoch 1/3 isr [12]", w.state(p))
	w.until("it may go", func() bool { return w.brokers[11].last.MayShutdown })
}

// Nor is it deposed for nobody when another broker comes or goes meanwhile.
func TestALeavingBrokerLeadsOnWhateverOthersDo(t *testing.T) {
	w := newWorld(t, 12, 1, 2, Config{BalanceAfter: -1})
	w.ready()
	p := p0(w.create("t", []message.NodeID{11, 12}))
	w.crashBroker(12)
	w.pass(8 * message.Second)
	require.Equal(t, "leader 11 epoch 0/1 isr [11] elr [12]", w.state(p))
	w.brokers[11].leaving = true
	w.pass(message.Second)
	was := w.boss().image.Broker(12).Epoch
	w.startBroker(12)
	w.until("12 is registered", func() bool { return w.boss().image.Broker(12).Epoch > was })
	require.True(t, w.boss().image.Broker(12).Fenced)
	require.Equal(t, "leader 11 epoch 0/1 isr [11] elr [12]", w.state(p))
	w.until("it may go", func() bool { return w.brokers[11].last.MayShutdown })
	require.Equal(t, "leader 12 epoch 1/2 isr [12] elr [11]", w.state(p))
}

func TestALeavingBrokerDoesNotWaitForEver(t *testing.T) {
	w := newWorld(t, 10, 1, 2, Config{BalanceAfter: -1})
	w.ready()
	p := p0(w.create("t", []message.NodeID{11}))
	w.brokers[11].leaving = true
	w.pass(4 * message.Second)
	require.False(t, w.brokers[11].last.MayShutdown)
	w.until("it may go", func() bool { return w.brokers[11].last.MayShutdown })
	require.Equal(t, "leader 0 epoch 1/1 isr [] elr [11]", w.state(p))
}

// Each refusal of an in-sync set, by its code (KIP-497, KIP-841, KIP-903).
func TestProposalsAreComparedBeforeTheyAreSet(t *testing.T) {
	w := newWorld(t, 11, 1, 4, Config{BalanceAfter: -1})
	w.ready()
	p := p0(w.create("t", []message.NodeID{11, 12, 13}))
	w.propose(p, 11, 12)
	w.crashBroker(13)
	w.startBroker(13)
	former := w.members(13)[0]
	w.ready()
	state := "leader 11 epoch 0/1 isr [11 12]"
	require.Equal(t, state, w.state(p))
	good := message.AlterISR{ID: p, LeaderEpoch: 0, PartitionEpoch: 1, ISR: w.members(11, 12, 13)}

	for _, c := range []struct {
		why    string
		change func(*message.AlterISR)
		code   message.Code
	}{
		{"another topic", func(a *message.AlterISR) { a.ID.Topic = 99 }, message.UnknownTopicID},
		{"another partition", func(a *message.AlterISR) { a.ID.Index = 7 }, message.UnknownTopicOrPartition},
		{"an old leadership", func(a *message.AlterISR) { a.LeaderEpoch = -1 }, message.FencedLeaderEpoch},
		{"a leadership to come", func(a *message.AlterISR) { a.LeaderEpoch = 1 }, message.NotController},
		{"a state to come", func(a *message.AlterISR) { a.PartitionEpoch = 2 }, message.NotController},
		{"an old state", func(a *message.AlterISR) { a.PartitionEpoch = 0 }, message.InvalidUpdateVersion},
		{"nobody", func(a *message.AlterISR) { a.ISR = nil }, message.InvalidRequest},
		{"not the leader", func(a *message.AlterISR) { a.ISR = w.members(12, 13) }, message.InvalidRequest},
		{"no replica", func(a *message.AlterISR) { a.ISR = w.members(11, 14) }, message.InvalidRequest},
		{"one twice", func(a *message.AlterISR) { a.ISR = w.members(11, 12, 12) }, message.InvalidRequest},
		{"a former run", func(a *message.AlterISR) {
			a.ISR = append(w.members(11, 12), former)
		}, message.IneligibleReplica},
	} {
		proposal := good
		c.change(&proposal)
		require.Equal(t, c.code, w.alter(11, proposal), c.why)
		require.Equal(t, state, w.state(p), c.why)
	}
	require.Equal(t, message.InvalidRequest, w.alter(12, good), "not by who leads")

	stale := w.tell(11, &message.AlterPartition{Node: 11, Epoch: 1, Request: 5, Partitions: []message.AlterISR{good}})
	require.Equal(t, &message.AlterPartitionReply{Request: 5, Code: message.StaleBrokerEpoch, Controller: 1}, stale)

	twice := w.tell(11, &message.AlterPartition{
		Node: 11, Epoch: w.brokers[11].epoch, Request: 6, Partitions: []message.AlterISR{good, good},
	})
	require.Equal(t, &message.AlterPartitionReply{Request: 6, Controller: 1, Partitions: []message.AlteredISR{
		{ID: p, PartitionEpoch: 2}, {ID: p, Code: message.InvalidRequest},
	}}, twice)
	require.Equal(t, "leader 11 epoch 0/2 isr [11 12 13]", w.state(p))

	// One that changes nothing makes all void that was proposed before.
	good.PartitionEpoch = 2
	require.Equal(t, message.None, w.propose(p, 11, 12, 13))
	require.Equal(t, "leader 11 epoch 0/3 isr [11 12 13]", w.state(p))
	require.Equal(t, message.InvalidUpdateVersion, w.alter(11, good))

	// A fenced broker may not come in.
	w.propose(p, 11, 12)
	w.crashBroker(13)
	w.pass(8 * message.Second)
	require.Equal(t, message.IneligibleReplica, w.propose(p, 11, 12, 13))
}

// Many leaderships go back to preferred replicas in pieces, so that no entry of the
// log is larger than the controllers can bear.
func TestLeadershipsAreGivenBackAThousandAtATime(t *testing.T) {
	w := newWorld(t, 4, 1, 3, Config{BalanceAfter: -1, MovesAtOnce: 1})
	w.ready()
	assigned := make([]ids, 1100)
	for i := range assigned {
		assigned[i] = ids{11, 12}
	}
	w.create("wide", assigned...)
	require.Equal(t, &message.DrainBrokerReply{}, w.ask(&message.DrainBroker{Node: 11}))
	w.settle()
	w.ask(&message.DrainBroker{Node: 11, Undo: true})
	require.Zero(t, w.boss().image.Leads(11))
	require.Len(t, w.boss().balance().changes, 1000)
}
