package main

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tamarack-mq/tamarack/topology"
)

// smallPlan has two groups of two members on two partitions.
func smallPlan() *topology.Topology {
	return &topology.Topology{Topic: "orders", Partitions: 2, ReplicationFactor: 3, ConsumerGroups: []topology.Group{
		{Name: "billing", Instances: 2, DeliverySemantics: topology.AtLeastOnce},
		{Name: "stats", Instances: 2, DeliverySemantics: topology.AtMostOnce},
	}}
}

// sharedBooks are books in which each member owns one partition and three
// orders were acknowledged.
func sharedBooks() *books {
	b := newBooks(smallPlan())
	b.sent = 3
	for group := range b.groups {
		b.own(group, 0, true, 0)
		b.own(group, 1, true, 1)
	}
	for _, n := range []int{1, 2, 3} {
		b.acknowledge(n)
	}
	return b
}

func TestTheBooksTellSeenFromRepeatedAndMissing(t *testing.T) {
	b := sharedBooks()
	b.sent++
	b.saw(0, 0, []int{1, 2}, 5)
	b.saw(0, 1, []int{2, 4}, 0) // 2 again, 4 before its acknowledgement
	got := b.tally()
	require.Equal(t, 1, got.waiting)
	billing := got.groups[0]
	require.Equal(t, [...]int{3, 1, 5, 1}, [...]int{billing.seen, billing.repeated, billing.earlier, billing.missing})
	require.Equal(t, []memberBook{{owns: []int32{0}, received: 7}, {owns: []int32{1}, received: 2, repeated: 1}}, billing.members)
	require.Equal(t, 3, got.groups[1].missing)

	b.fail(errors.New("the disk is full"))
	require.Equal(t, 0, b.waiting())
	require.Equal(t, "the disk is full", b.tally().problem)
	require.Equal(t, "", got.problem, "a tally does not change any more")
}

func TestPartitionsAreOwnedUntilTheyAreTaken(t *testing.T) {
	b := newBooks(smallPlan())
	b.own(0, 1, true, 4, 2, 3)
	b.own(0, 1, true, 3)
	b.own(0, 1, false, 2, 7)
	require.Equal(t, []int32{3, 4}, b.tally().groups[0].members[1].owns)
}

func TestUnevenSharesAreNamed(t *testing.T) {
	for want, owns := range map[string][][]int32{
		"":                              {{0, 1}, {2, 3}, {4, 5}},
		"partition 3 belongs to nobody": {{0, 1}, {2}, {4, 5}},
		"partition 1 belongs to members 1 and 2 at once":           {{0, 1}, {1, 2}, {3, 4, 5}},
		"shared unevenly: one member owns 3, another one 1":        {{0, 1, 2}, {3}, {4, 5}},
		"member 2 owns partition 6, which the topic does not have": {{0, 1, 2}, {3, 4, 6}},
	} {
		var g groupTally
		for _, o := range owns {
			g.members = append(g.members, memberBook{owns: o})
		}
		got := g.uneven(6)
		require.Contains(t, got, want)
		require.Equal(t, want == "", got == "", got)
	}
	more := groupTally{members: []memberBook{{owns: []int32{0}}, {}, {owns: []int32{1}}}}
	require.Empty(t, more.uneven(2), "a third member has nothing to do")
}

func TestARunIsJudgedByWhatItsGroupsArePromised(t *testing.T) {
	b := sharedBooks()
	shared := b.tally()
	b.saw(0, 0, []int{1, 2, 3}, 0)
	b.saw(0, 1, []int{3}, 0)    // at-least-once may repeat
	b.saw(1, 0, []int{1, 3}, 0) // at-most-once may skip
	require.Empty(t, judge(b.tally(), shared, 2))

	b.saw(1, 1, []int{1}, 0)
	b.sent += 3
	b.acknowledge(4)
	b.fail(errors.New("the disk is full"))
	b.own(0, 1, false, 1)
	require.Equal(t, []string{
		"1 orders were not acknowledged: the disk is full",
		"1 orders were not acknowledged in time",
		"group billing: 1 of 4 acknowledged orders were not seen",
		"group billing: partition 1 belongs to nobody",
		"group stats: 1 orders came again, in spite of at-most-once",
	}, judge(b.tally(), b.tally(), 2))
	none := newBooks(&topology.Topology{})
	require.Equal(t, []string{"no order was acknowledged"}, judge(none.tally(), none.tally(), 2))
}

func TestARunIsSettledWhenNothingMoreIsToCome(t *testing.T) {
	b := sharedBooks()
	all := func(string) bool { return true }
	settled := func(drained func(string) bool) bool {
		tally := b.tally()
		return tally.settled(2, drained)
	}
	b.sent++
	b.saw(0, 0, []int{1, 2, 3}, 0)
	require.False(t, settled(all), "an order has no result")
	b.acknowledge(4)
	require.False(t, settled(all), "billing has not seen it")
	b.saw(0, 0, []int{4}, 0)
	require.True(t, settled(all), "stats may have skipped everything")
	require.False(t, settled(func(group string) bool { return group == "billing" }), "stats may still be reading")
	b.own(1, 0, false, 0)
	require.False(t, settled(all), "a partition of stats is on its way")
}

func TestAGroupIsDrainedWhenItsPositionsAreAtTheEnds(t *testing.T) {
	s := clusterState{ends: []int64{3, 0}, groups: map[string]groupState{"g": {committed: map[int32]int64{0: 3}}}}
	require.True(t, s.drained("g"), "nothing is to be committed in an empty partition")
	require.False(t, s.drained("h"))
	s.ends[0] = 4
	require.False(t, s.drained("g"))
	s.ends[0] = -1
	require.False(t, s.drained("g"), "the end is not known")
	require.False(t, (&clusterState{}).drained("g"))
}

func TestNumberSetsCountLikeMaps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		numbers := rapid.SliceOf(rapid.IntRange(0, 300))
		var sets [2]numberSet
		maps := [2]map[int]bool{{}, {}}
		for i := range sets {
			for _, n := range numbers.Draw(t, "numbers") {
				require.Equal(t, !maps[i][n], sets[i].add(n))
				maps[i][n] = true
			}
		}
		count := 0
		for n := range maps[0] {
			if !maps[1][n] {
				count++
			}
		}
		require.Equal(t, count, sets[0].without(sets[1]))
	})
}

func TestOrdersAreKeyedByTheFieldOfTheFile(t *testing.T) {
	require.Equal(t, `{"orderId":"o-r-17","item":"coffee","quantity":3,"seq":17}`, string(order("r", 17, "orderId")))
	require.Equal(t, `{"orderId":"o-r-52","item":"honey","quantity":3,"seq":52,"customer":"customer-2"}`, string(order("r", 52, "customer")))
	for field, want := range map[string]string{"": "", "orderId": "o-r-17", "item": "coffee", "quantity": "3", "seq": "17", "customer": "customer-17", `odd "name"`: `odd "name"-17`, "ORDERID": "ORDERID-17"} {
		shape := publishing{o: publishOptions{topic: "orders", field: field}}
		m, err := shape.message(order("r", 17, field))
		require.NoError(t, err)
		require.Equal(t, want, string(m.Key), field)
		require.Equal(t, field == "", m.Key == nil)
		n, ours := orderNumber("r", m.Value)
		require.True(t, ours, field)
		require.Equal(t, 17, n)
	}
	for _, foreign := range []string{"", "x", "{}", `{"seq":1}`, `{"seq":1,"orderId":"o-other-1"}`, `{"seq":2,"orderId":"o-r-1"}`, `{"seq":"1","orderId":"o-r-1"}`} {
		_, ours := orderNumber("r", []byte(foreign))
		require.False(t, ours, foreign)
	}
}

func TestThePaceIsSteadyAndForgetsAStandstill(t *testing.T) {
	p := pacer{rate: 100}
	at := func(ms, room int) int { return p.due(time.Duration(ms)*time.Millisecond, room) }
	require.Equal(t, []int{0, 1, 1, 8}, []int{at(5, 99), at(10, 99), at(20, 99), at(100, 99)})
	require.Equal(t, []int{3, 0, 7}, []int{at(200, 3), at(200, 0), at(200, 99)}, "no more than there is room for")
	require.Equal(t, []int{100, 0, 10}, []int{at(60_000, 999), at(60_000, 999), at(60_100, 999)}, "a second's worth is made up for")
	require.Equal(t, 0, at(60_500, -5))
}

func TestTheExampleIsTheFileThatIsTaught(t *testing.T) {
	taught, err := topology.Load("../../topology/testdata/orders.yaml")
	require.NoError(t, err)
	example, err := topology.Load("../../docs/examples/order-events.yaml")
	require.NoError(t, err)
	require.Equal(t, taught, example)
	require.Contains(t, devCommand().Example, "docs/examples/order-events.yaml")
}
