package core

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core/chance"
	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// A broker finds damage, and tells the controller of it; it finds more, and that
// message is lost. The answer to the first, which comes then, is no answer to the
// second: the controller may still take what is damaged for complete. So the broker
// asks on until it is told that the later report is known.
func TestAnAnswerToAnEarlierReportOfDamageIsNone(t *testing.T) {
	bad := []record.PartitionID{{Topic: 5}}
	l := newLifecycle(Config{ID: 2, ClusterID: "c", Address: "host:2", Voters: []message.NodeID{1}, Incarnation: 9}, 2, chance.New(1), 0)
	asks := func(now message.Time) []effect.Effect {
		var out effect.Out
		l.due = now
		l.tick(now, 0, func(bool) []record.PartitionID { return bad }, &out)
		return out.List
	}
	registration := func(report uint64) []effect.Effect {
		return []effect.Effect{effect.Send{To: 1, Msg: &message.RegisterBroker{
			ClusterID: "c", Node: 2, Incarnation: 9, DiskID: 2, Address: "host:2", Damaged: bad, Report: report,
		}}}
	}
	answer := func(report uint64) bool {
		return l.registered(3, &message.RegisterBrokerReply{Incarnation: 9, Report: report, Epoch: 7}, &effect.Out{})
	}
	require.Equal(t, registration(0), asks(1))
	require.True(t, answer(0))

	l.reregister()
	require.Equal(t, registration(1), asks(4))
	l.reregister()
	require.Equal(t, registration(2), asks(5))
	require.False(t, answer(1), "the controller need not know of the second")
	require.Equal(t, registration(2), asks(6))
	require.True(t, answer(2))
	require.False(t, answer(2), "nothing is asked any more")
	require.Equal(t, []effect.Effect{effect.Send{To: 1, Msg: &message.BrokerHeartbeat{Node: 2, Epoch: 7}}}, asks(7))
}

// A run that begins names all that is damaged. Later it names only what is news: what
// it has told before may be put in order, since an operator has it lead, before a
// message that is on its way arrives.
func TestARegisteredRunNamesNoDamageThatIsKnown(t *testing.T) {
	old, found := record.PartitionID{Topic: 4}, record.PartitionID{Topic: 5}
	damaged := func(all bool) []record.PartitionID {
		if all {
			return []record.PartitionID{old, found}
		}
		return []record.PartitionID{found}
	}
	l := newLifecycle(Config{ID: 2, ClusterID: "c", Address: "host:2", Voters: []message.NodeID{1}, Incarnation: 9}, 2, chance.New(1), 0)
	names := func(now message.Time) []record.PartitionID {
		t.Helper()
		var out effect.Out
		l.due = now
		l.tick(now, 0, damaged, &out)
		require.Len(t, out.List, 1)
		return out.List[0].(effect.Send).Msg.(*message.RegisterBroker).Damaged
	}
	require.Equal(t, []record.PartitionID{old, found}, names(1))
	require.True(t, l.registered(2, &message.RegisterBrokerReply{Incarnation: 9, Epoch: 7}, &effect.Out{}))
	l.reregister()
	require.Equal(t, []record.PartitionID{found}, names(3))
	l.registered(4, &message.RegisterBrokerReply{Incarnation: 9, Code: message.StaleBrokerEpoch}, &effect.Out{})
	require.Equal(t, []record.PartitionID{old, found}, names(5), "it begins anew")
}

// The only voter has lost its disk, and a broker is still registered with the cluster
// that was on it. A new one would know of no topic, and brokers delete what no topic
// claims: it begins none.
func TestAVoterThatLostItsDiskBeginsNoClusterWhileABrokerIsRegistered(t *testing.T) {
	for _, epoch := range []message.BrokerEpoch{0, 5} { // 0: the broker asks to be registered
		n := New(Config{ID: 1, ClusterID: "c", Address: "host:1", Voters: []message.NodeID{1}, Incarnation: 7}, effect.Recovered{DiskID: 2, Fresh: true}, chance.New(1), message.Now{})
		step := func(at message.Time, in effect.Input) {
			var out effect.Out
			n.Step(message.Now{Mono: at}, in, &out)
		}
		step(0, effect.Tick{})
		if epoch == 0 {
			step(1, effect.Received{From: 2, Msg: &message.RegisterBroker{ClusterID: "c", Node: 2, Incarnation: 9}})
		} else {
			step(1, effect.Received{From: 2, Msg: &message.BrokerHeartbeat{Node: 2, Epoch: epoch}})
		}
		for at := message.Time(0); at < message.Time(10*message.Second); at = at.Add(100 * message.Millisecond) {
			step(at, effect.Tick{})
		}
		require.Equal(t, epoch == 0, n.Controller().View().Quorum.Admitted)
		require.Equal(t, epoch != 0, n.Controller().Claimant() == 2)
	}
}
