package group

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tamarack-mq/tamarack/core/order"
	"github.com/tamarack-mq/tamarack/core/record"
)

// situation is an input of the assignor.
type situation struct {
	topics    []topicRow
	claimants []claimant
}

func drawSituation(t *rapid.T, uniform bool, most int) situation {
	s := situation{}
	for i := range rapid.IntRange(1, 4).Draw(t, "topics") {
		s.topics = append(s.topics, topicRow{
			name: fmt.Sprint(i), id: record.TopicID(i + 10), ok: rapid.IntRange(0, 9).Draw(t, "there") > 0,
			partitions: int32(rapid.IntRange(0, most).Draw(t, "partitions")),
		})
	}
	for range rapid.IntRange(1, 6).Draw(t, "members") {
		c := claimant{}
		for topic := range s.topics {
			if uniform || rapid.Bool().Draw(t, "subscribes") {
				c.topics = append(c.topics, topic)
			}
		}
		s.claimants = append(s.claimants, c)
	}
	return s
}

// drawHistory gives some of the claimants something to keep, also what they can
// not have any more.
func drawHistory(t *rapid.T, s *situation) {
	for who := range s.claimants {
		for range rapid.IntRange(0, 6).Draw(t, "kept") {
			topic := rapid.IntRange(0, len(s.topics)).Draw(t, "topic") + 10
			index := int32(rapid.IntRange(0, 8).Draw(t, "index"))
			s.claimants[who].kept = append(s.claimants[who].kept, record.PartitionID{Topic: record.TopicID(topic), Index: index})
		}
		s.claimants[who].kept = order.Set(s.claimants[who].kept)
	}
}

// requireWhole checks that every partition that somebody subscribes to has
// exactly one owner, and one that subscribes to it.
func requireWhole(t require.TestingT, s situation, sets [][]record.PartitionID) {
	owned := map[record.PartitionID]int{}
	for who, set := range sets {
		require.True(t, order.IsSet(set))
		for _, p := range set {
			owned[p]++
			topic := int(p.Topic) - 10
			require.True(t, slices.Contains(s.claimants[who].topics, topic), "%v was given to one who does not read it", p)
			require.True(t, s.topics[topic].ok && p.Index < s.topics[topic].partitions, "%v does not exist", p)
		}
	}
	for topic, row := range s.topics {
		read := slices.ContainsFunc(s.claimants, func(c claimant) bool { return slices.Contains(c.topics, topic) })
		for i := range row.partitions {
			if p := (record.PartitionID{Topic: row.id, Index: i}); read && row.ok {
				require.Equal(t, 1, owned[p], "owners of %v", p)
			}
		}
	}
}

func requireBalanced(t require.TestingT, s situation, sets [][]record.PartitionID) {
	for a := range sets {
		for b := range sets {
			if slices.Equal(s.claimants[a].topics, s.claimants[b].topics) {
				require.LessOrEqual(t, len(sets[a]), len(sets[b])+1, "two with the same subscription")
			}
		}
	}
}

func again(s situation, sets [][]record.PartitionID) situation {
	next := situation{topics: s.topics, claimants: slices.Clone(s.claimants)}
	for who := range next.claimants {
		next.claimants[who].kept = sets[who]
	}
	return next
}

func TestAssignmentIsWholeBalancedStableAndDeterministic(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSituation(t, rapid.Bool().Draw(t, "uniform"), 8)
		drawHistory(t, &s)
		sets := assign(s.topics, s.claimants)
		requireWhole(t, s, sets)
		requireBalanced(t, s, sets)
		require.Equal(t, sets, assign(s.topics, s.claimants), "the same again")
		next := again(s, sets)
		require.Equal(t, sets, assign(next.topics, next.claimants), "what is balanced stays")
	})
}

// moves counts the partitions that their owners of before do not have after.
func moves(before, after [][]record.PartitionID) int {
	moved := 0
	for who, set := range before {
		moved += len(order.Without(set, after[who]))
	}
	return moved
}

func TestAJoinMovesOnlyWhatItMust(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSituation(t, true, 12)
		sets := assign(s.topics, s.claimants)
		total := 0
		for _, set := range sets {
			total += len(set)
		}
		next := again(s, sets)
		next.claimants = append(next.claimants, claimant{topics: s.claimants[0].topics})
		after := assign(next.topics, next.claimants)
		requireBalanced(t, next, after)
		newcomer := len(after[len(after)-1])
		require.Equal(t, newcomer, moves(sets, after[:len(sets)]), "all that moved went to the newcomer")
		require.Equal(t, total/len(after), newcomer, "and it got no more than its share")
	})
}

func TestALeaveMovesOnlyWhatWasFreed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSituation(t, true, 12)
		s.claimants = append(s.claimants, claimant{topics: s.claimants[0].topics})
		sets := assign(s.topics, s.claimants)
		gone := rapid.IntRange(0, len(sets)-1).Draw(t, "gone")
		next := again(s, sets)
		next.claimants = slices.Delete(next.claimants, gone, gone+1)
		after := assign(next.topics, next.claimants)
		requireBalanced(t, next, after)
		require.Zero(t, moves(slices.Delete(slices.Clone(sets), gone, gone+1), after))
	})
}

// lowest finds the spread with the lowest sum of squares by trying them all.
func lowest(s situation) int {
	var readers [][]int
	for topic, row := range s.topics {
		var who []int
		for i, c := range s.claimants {
			if slices.Contains(c.topics, topic) {
				who = append(who, i)
			}
		}
		for range row.partitions {
			if row.ok && len(who) > 0 {
				readers = append(readers, who)
			}
		}
	}
	loads, best := make([]int, len(s.claimants)), -1
	var try func(int)
	try = func(at int) {
		if at == len(readers) {
			if sum := squares(loads); best < 0 || sum < best {
				best = sum
			}
			return
		}
		for _, who := range readers[at] {
			loads[who]++
			try(at + 1)
			loads[who]--
		}
	}
	try(0)
	return best
}

func squares(loads []int) int {
	sum := 0
	for _, l := range loads {
		sum += l * l
	}
	return sum
}

func TestNoSpreadIsMoreEven(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSituation(t, false, 3)
		if len(s.claimants) > 4 {
			s.claimants = s.claimants[:4]
		}
		if len(s.topics) > 3 {
			t.Skip("too many to try")
		}
		drawHistory(t, &s)
		var loads []int
		for _, set := range assign(s.topics, s.claimants) {
			loads = append(loads, len(set))
		}
		require.Equal(t, lowest(s), squares(loads))
	})
}

func TestAFreedPartitionGoesHomeIfThatIsFair(t *testing.T) {
	topics := []topicRow{{name: "t", id: 5, partitions: 3, ok: true}}
	all := []int{0}
	sets := assign(topics, []claimant{
		{topics: all, kept: parts(5, 0)},
		{topics: all, kept: parts(5, 1), holds: parts(5, 1, 2)},
	})
	require.Equal(t, [][]record.PartitionID{parts(5, 0), parts(5, 1, 2)}, sets)
}

func TestAChainOfHandOversEvensThingsOut(t *testing.T) {
	topics := []topicRow{{name: "a", id: 1, partitions: 6, ok: true}, {name: "b", id: 2, partitions: 3, ok: true}}
	sets := assign(topics, []claimant{
		{topics: []int{0}, kept: parts(1, 0, 1, 2, 3)},
		{topics: []int{0, 1}, kept: order.Union(parts(1, 4, 5), parts(2, 0))},
		{topics: []int{1}, kept: parts(2, 1, 2)},
	})
	require.Equal(t, [][]record.PartitionID{parts(1, 0, 1, 2), order.Union(parts(1, 3, 4, 5), nil), parts(2, 0, 1, 2)}, sets)
}

func BenchmarkAJoinToAThousandMembers(b *testing.B) {
	s := situation{topics: []topicRow{{name: "t", id: 10, partitions: 10_000, ok: true}}}
	for range 1000 {
		s.claimants = append(s.claimants, claimant{topics: []int{0}})
	}
	s = again(s, assign(s.topics, s.claimants))
	s.claimants = append(s.claimants, claimant{topics: []int{0}})
	b.ReportAllocs()
	for b.Loop() {
		assign(s.topics, s.claimants)
	}
}
