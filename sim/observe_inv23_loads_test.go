package sim

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core"
	"github.com/tamarack-mq/tamarack/core/ledger"
	"github.com/tamarack-mq/tamarack/core/record"
	"github.com/tamarack-mq/tamarack/core/replica"
)

// What a coordinator has loaded is compared once, and as soon as all of it is
// committed: not while it loads, and not again before it is loaded again.
func TestALoadIsComparedWhenNothingOfItIsPending(t *testing.T) {
	stands, compared, remembers := ledger.Standing{}, 0, uint64(0)
	of := &coordinating{
		what: "groups", fold: coordinators[0].fold,
		stands: func(*core.Node, int32) (ledger.Standing, bool) { return stands, true },
		digest: func(*core.Node, int32) (uint64, bool) { compared++; return remembers, true },
	}
	remembers = of.fold().Digest()
	s := newStage(t)
	r := s.book.replica(1, record.PartitionID{Topic: 9})
	o := &loadedStates{}
	step := func(epoch record.LeaderEpoch, now ledger.Standing, end record.Offset) {
		r.was, stands = r.glance(), now
		r.view = replica.View{Role: replica.Leading, LeaderEpoch: epoch, End: end}
		o.meets(s.nodes[1], of, r)
		o.compare(s.World, s.nodes[1])
	}
	s.nodes[1].up, s.nodes[1].core = true, &core.Node{}

	step(5, ledger.Standing{Epoch: 5}, 0)                            // loads
	step(5, ledger.Standing{Epoch: 5, Serving: true, Pending: 1}, 0) // has decided something at once
	step(5, ledger.Standing{Epoch: 5, Serving: true}, 7)             // something is not committed
	require.Equal(t, 0, compared)
	step(5, ledger.Standing{Epoch: 5, Serving: true}, 0)
	step(5, ledger.Standing{Epoch: 5, Serving: true}, 0)
	require.Equal(t, 1, compared)
	step(6, ledger.Standing{Epoch: 6, Serving: true}, 0) // led again, and loaded in the same step
	require.Equal(t, 2, compared)
	step(6, ledger.Standing{Epoch: 6}, 0) // an append has failed
	step(6, ledger.Standing{Epoch: 6, Serving: true}, 0)
	require.Equal(t, 3, compared)
	s.passed()

	remembers++
	step(6, ledger.Standing{Epoch: 6, Serving: true}, 0) // was looked at
	s.passed()
	step(7, ledger.Standing{Epoch: 7, Serving: true}, 0)
	s.refused("INV-23", "shard 0 of groups is not what a replay of its log gives")

	r.view.Role = replica.Following
	o.due = []loadedShard{{of, r}}
	o.compare(s.World, s.nodes[1])
	require.Empty(t, o.due, "nobody waits for who does not lead any more")
}
