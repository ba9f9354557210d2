package controller

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/metadata"
)

// catchUp has every leader propose all replicas that run, as they do when those
// have caught up.
func (w *world) catchUp() {
	w.t.Helper()
	for again := true; again; {
		again = false
		for p := range w.boss().image.Partitions() {
			if p.Leader == message.NoNode || !metadata.Moving(p) {
				continue
			}
			var isr ids
			for _, n := range p.Replicas {
				if w.boss().image.Live(n) {
					isr = append(isr, n)
				}
			}
			w.propose(p.ID, isr...)
			again = true
			break
		}
	}
}

func TestADrainedBrokerLeadsAndHoldsNothing(t *testing.T) {
	w := newWorld(t, 1, 1, 4, Config{BalanceAfter: -1, MovesAtOnce: 2})
	w.ready()
	w.create("t", ids{11, 12, 13}, ids{12, 13, 11}, ids{13, 11, 12}, ids{11, 13, 12})
	require.Equal(t, &message.DrainBrokerReply{}, w.ask(&message.DrainBroker{Node: 11}))
	w.settle()
	require.Zero(t, w.boss().image.Leads(11), "leaderships go at once")
	require.Equal(t, 2, w.boss().image.Moving(), "replicas go a few at a time")
	w.catchUp()
	w.settle()
	require.Equal(t, []int{0, 4, 4, 4}, w.hosts())

	id := w.ask(&message.CreateTopic{Name: "new", Partitions: 6, ReplicationFactor: 3}).(*message.CreateTopicReply).ID
	require.Len(t, w.boss().image.Topic(id).Partitions, 6)
	require.Zero(t, w.boss().image.Hosts(11), "it is given nothing")
	require.Equal(t, message.InvalidReplicationFactor, w.ask(&message.CreateTopic{Name: "wide", Partitions: 1, ReplicationFactor: 4}).(*message.CreateTopicReply).Code)
	require.Equal(t, message.InvalidRequest, w.ask(&message.CreateTopic{Name: "hand", Replicas: []ids{{11}}}).(*message.CreateTopicReply).Code)

	w.startBroker(11)
	w.ready()
	require.True(t, w.boss().image.Broker(11).Draining, "also after a restart")
	require.Equal(t, &message.DrainBrokerReply{}, w.ask(&message.DrainBroker{Node: 11, Undo: true}))
	require.Zero(t, w.boss().image.Draining())
}

// The replica that takes the place of another is chosen as those of new topics
// are: in a rack of its own.
func TestADrainKeepsToTheRacks(t *testing.T) {
	w := newWorld(t, 2, 1, 6, Config{BalanceAfter: -1}) // racks a b c a b c
	w.ready()
	p := p0(w.create("t", ids{11, 12, 13}))
	w.ask(&message.DrainBroker{Node: 12})
	w.settle()
	require.Equal(t, []any{ids{11, 12, 13, 15}, ids{15}, ids{11, 15, 13}}, w.moving(p))
}

func TestADrainThatCannotEndIsRefused(t *testing.T) {
	w := newWorld(t, 3, 1, 3, Config{BalanceAfter: -1})
	w.ready()
	w.create("t", ids{11, 12, 13})
	require.Equal(t, &message.DrainBrokerReply{
		Code:   message.InvalidReplicationFactor,
		Detail: "partitions on brokers that are drained would have 3 replicas, but besides broker 11 only 2 brokers are there to hold them",
	}, w.ask(&message.DrainBroker{Node: 11}))
	require.Equal(t, message.BrokerIDNotRegistered, w.ask(&message.DrainBroker{Node: 99}).(*message.DrainBrokerReply).Code)
}

// An empty broker may be the one that the drain of another one needs.
func TestADrainLeavesEarlierDrainsTheirWayOut(t *testing.T) {
	w := newWorld(t, 5, 1, 4, Config{BalanceAfter: -1})
	w.ready()
	w.create("t", ids{11, 12, 13})
	require.Equal(t, &message.DrainBrokerReply{}, w.ask(&message.DrainBroker{Node: 12}))
	require.Equal(t, &message.DrainBrokerReply{
		Code:   message.InvalidReplicationFactor,
		Detail: "partitions on brokers that are drained would have 3 replicas, but besides broker 14 only 2 brokers are there to hold them",
	}, w.ask(&message.DrainBroker{Node: 14}))
}

// A broker that is being drained is no part of any target: to keep it, among
// more replicas than there are other brokers, would leave the drain no way out.
func TestAMoveKeepsNoReplicaOnADrainedBroker(t *testing.T) {
	w := newWorld(t, 6, 1, 4, Config{BalanceAfter: -1})
	w.ready()
	p := p0(w.create("t", ids{11, 12, 13}))
	w.ask(&message.DrainBroker{Node: 12})
	require.Equal(t, message.InvalidReplicaAssignment, w.reassign(p, 11, 12, 13, 14).Code)
	w.catchUp()
	w.settle()
	require.Equal(t, []any{ids{11, 14, 13}, ids(nil), ids(nil)}, w.moving(p))
}

// A move whose new broker went away can be called off; the drain looks for
// another one.
func TestADrainGoesOnWithAnotherBroker(t *testing.T) {
	w := newWorld(t, 4, 1, 4, Config{BalanceAfter: -1})
	w.ready()
	p := p0(w.create("t", ids{11, 12}))
	w.ask(&message.DrainBroker{Node: 12})
	w.settle()
	first := w.boss().image.Partition(p).Adding[0]
	w.crashBroker(first)
	w.until("it is fenced", func() bool { return !w.boss().image.Live(first) })
	require.Equal(t, message.None, w.reassign(p).Code)
	w.settle()
	second := w.boss().image.Partition(p).Adding
	require.Len(t, second, 1)
	require.NotEqual(t, first, second[0])
}

// A partition is on its way to a broker that dies and is then drained, to be removed
// for good. It stays where it was if there is no other place.
func TestADrainTakesBackAMoveToTheDrainedBroker(t *testing.T) {
	w := newWorld(t, 7, 1, 4, Config{BalanceAfter: -1})
	w.ready()
	p := p0(w.create("t", ids{11, 12, 13}))
	require.Equal(t, message.None, w.reassign(p, 14, 12, 13).Code)
	w.crashBroker(14)
	w.until("it is fenced", func() bool { return !w.boss().image.Live(14) })
	require.Equal(t, []any{ids{11, 12, 13, 14}, ids{14}, ids{14, 12, 13}}, w.moving(p))
	require.Equal(t, &message.DrainBrokerReply{}, w.ask(&message.DrainBroker{Node: 14}))
	w.settle()
	require.Equal(t, []any{ids{11, 12, 13}, ids(nil), ids(nil)}, w.moving(p))
	require.Zero(t, w.boss().image.Hosts(14))
}

// All the moves that a drain may have under way go to a broker that dies. Draining
// that one, too, sends them elsewhere: they are under way already and need no room.
func TestADrainRedirectsMovesAlsoWithoutRoomForMore(t *testing.T) {
	w := newWorld(t, 8, 1, 4, Config{BalanceAfter: -1, MovesAtOnce: 2})
	w.ready()
	w.create("t", ids{12, 11}, ids{12, 11}, ids{12, 11}, ids{12, 11})
	w.crashBroker(13)
	w.until("it is fenced", func() bool { return !w.boss().image.Live(13) })
	w.ask(&message.DrainBroker{Node: 11})
	w.settle()
	require.Equal(t, 2, w.boss().image.Hosts(14), "all that may be under way goes there")
	w.startBroker(13)
	w.ready()
	w.crashBroker(14)
	w.until("it is fenced", func() bool { return !w.boss().image.Live(14) })
	require.Equal(t, &message.DrainBrokerReply{}, w.ask(&message.DrainBroker{Node: 14}))
	w.settle()
	for again := 0; again < 4; again++ {
		w.catchUp()
		w.settle()
	}
	require.Equal(t, []int{0, 4, 4, 0}, w.hosts())
}

func TestABrokerIsRemovedWhenItIsEmptyAndStopped(t *testing.T) {
	w := newWorld(t, 5, 1, 4, Config{BalanceAfter: -1})
	w.ready()
	w.create("t", ids{14, 12})
	remove := func() message.UnregisterBrokerReply {
		return *w.ask(&message.UnregisterBroker{Node: 14}).(*message.UnregisterBrokerReply)
	}
	require.Equal(t, "broker 14 still holds 1 replicas: drain it first, and wait until it is empty", remove().Detail)
	w.ask(&message.DrainBroker{Node: 14})
	w.settle()
	w.catchUp()
	w.settle()
	require.Equal(t, "broker 14 is running: stop it first", remove().Detail)
	w.crashBroker(14)
	w.until("it is fenced", func() bool { return !w.boss().image.Live(14) })
	late := w.brokers[14].incarnation
	require.Equal(t, message.UnregisterBrokerReply{}, remove())
	require.Nil(t, w.brokers[12].image.Broker(14))
	require.Equal(t, message.BrokerIDNotRegistered, remove().Code)

	// A registration that its last run had sent comes late.
	d := w.boss().register(w.now, 14, &message.RegisterBroker{ClusterID: "test", Node: 14, Incarnation: late})
	require.Equal(t, message.StaleBrokerEpoch, d.reply.(*message.RegisterBrokerReply).Code)

	w.startBroker(14)
	w.ready()
	require.False(t, w.boss().image.Broker(14).Draining, "it is a new one")
}
