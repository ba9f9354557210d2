package controller

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

func setting(key, value string) []message.Setting { return []message.Setting{{Key: key, Value: value}} }

// With a lower min.insync the high watermark can move without the eligible
// replicas: they are none any more, in the same entry of the log.
func TestALowerMinInsyncReleasesTheEligible(t *testing.T) {
	w := newWorld(t, 31, 1, 3, Config{BalanceAfter: -1})
	w.ready()
	id := record.PartitionID{Topic: w.create("t", []message.NodeID{11, 12, 13})}
	ask := func(set []message.Setting, unset ...string) *message.AlterConfigReply {
		return w.ask(&message.AlterConfig{Topic: "t", Set: set, Unset: unset}).(*message.AlterConfigReply)
	}
	require.Equal(t, &message.AlterConfigReply{}, ask(setting("min-insync", "3")))
	w.crashBroker(13)
	w.until("it is fenced", func() bool { return len(w.boss().image.Partition(id).ISR) == 2 })
	require.Equal(t, []message.NodeID{13}, w.boss().image.Partition(id).ELR)

	version := w.boss().image.Version()
	require.Equal(t, &message.AlterConfigReply{}, ask(setting("min-insync", "2")))
	p := w.boss().image.Partition(id)
	require.Equal(t, []message.NodeID{11, 12}, p.ISR)
	require.Empty(t, p.ELR)
	require.Equal(t, version+1, w.boss().image.Version(), "one entry")

	require.Equal(t, &message.AlterConfigReply{}, ask(setting("min-insync", "2")), "nothing changes")
	require.Equal(t, &message.AlterConfigReply{Code: message.InvalidConfig,
		Detail: "min.insync.replicas must be 1 to 3, the number of replicas (0: 2, or fewer with fewer replicas)"}, ask(setting("min-insync", "4")))
	require.Equal(t, message.InvalidConfig, ask(setting("min-insinc", "1")).Code)
	require.Equal(t, &message.AlterConfigReply{Code: message.UnknownTopicOrPartition, Detail: `topic "u" does not exist`},
		w.ask(&message.AlterConfig{Topic: "u", Unset: []string{"retention"}}))
}

// A longer session holds for those that have one, too: a broker that may be
// silent for longer must not be fenced by the old limit.
func TestSettingsOfNodesAreDecidedAndFollowed(t *testing.T) {
	w := newWorld(t, 32, 3, 2, Config{})
	w.ready()
	alter := func(node message.NodeID, set []message.Setting) *message.AlterConfigReply {
		return w.ask(&message.AlterConfig{Node: node, Set: set}).(*message.AlterConfigReply)
	}
	require.Equal(t, &message.AlterConfigReply{}, alter(0, append(setting("session-timeout", "1m"), setting("replica-lag", "5s")...)))
	require.Equal(t, &message.AlterConfigReply{}, alter(12, setting("replica-lag", "7s")))
	require.Equal(t, append(setting("replica-lag", "5s"), setting("session-timeout", "1m")...), w.brokers[11].image.Settings(0))
	require.Equal(t, setting("replica-lag", "7s"), w.brokers[11].image.Settings(12))
	require.Equal(t, message.Minute, w.boss().Session())

	w.crashBroker(12)
	w.pass(30 * message.Second)
	require.True(t, w.boss().image.Live(12), "its session is longer now")
	w.pass(40 * message.Second)
	require.False(t, w.boss().image.Live(12))

	require.Equal(t, &message.AlterConfigReply{Code: message.InvalidConfig, Detail: "node 99 is not registered"}, alter(99, setting("fetch-wait", "1s")))
	require.Equal(t, message.InvalidConfig, alter(11, setting("heartbeat-interval", "45s")).Code)
	require.Equal(t, &message.AlterConfigReply{}, alter(11, setting("heartbeat-interval", "20s")))
	require.Equal(t, &message.AlterConfigReply{Code: message.InvalidConfig,
		Detail: "node 11 has settings of its own: a session of 30s must outlive two heartbeats of 20s: set both at once"}, alter(0, setting("session-timeout", "30s")))
	require.Equal(t, &message.AlterConfigReply{}, w.ask(&message.AlterConfig{Node: 11, Unset: []string{"heartbeat-interval"}}))
	require.Empty(t, w.boss().image.Settings(11))
}

func TestVotersAreRemovedOneAtATime(t *testing.T) {
	w := newWorld(t, 33, 3, 1, Config{})
	w.ready()
	alter := func(node message.NodeID, remove bool) *message.AlterControllersReply {
		return w.ask(&message.AlterControllers{Node: node, Remove: remove}).(*message.AlterControllersReply)
	}
	require.Equal(t, &message.AlterControllersReply{Code: message.DuplicateVoter, Detail: "node 1 holds the controller's log already"}, alter(1, false))
	require.Equal(t, &message.AlterControllersReply{Code: message.VoterNotFound, Detail: "node 11 does not hold the controller's log; the voters are [1 2 3]"}, alter(11, true))
	require.Equal(t, &message.AlterControllersReply{Code: message.InvalidRequest, Detail: "node 9 is not known: start it first, as a node of this cluster"}, alter(9, false))

	old := w.boss().id
	require.Equal(t, &message.AlterControllersReply{}, alter(old, true), "the active one is told before it steps down")
	w.until("another is active", func() bool { return w.boss() != nil && w.boss().id != old })
	left := w.boss().image.Controllers().Voters
	require.NotContains(t, left, old)
	require.Len(t, left, 2)
	w.ready()
	require.Equal(t, left, w.brokers[11].image.Controllers().Voters)

	other := left[0] + left[1] - w.boss().id
	require.Equal(t, &message.AlterControllersReply{}, alter(other, true))
	require.Equal(t, &message.AlterControllersReply{Code: message.InvalidRequest, Detail: "node " + w.boss().id.String() + " is the last voter"}, alter(w.boss().id, true))
	w.create("t", []message.NodeID{11})
}
