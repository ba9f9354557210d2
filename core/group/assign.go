package group

import (
	"cmp"
	"slices"

	"github.com/tamarack-mq/tamarack/core/record"
)

// topicRow is a topic that some member subscribed to. ok is false when there
// is no such topic now.
type topicRow struct {
	name       string
	id         record.TopicID
	partitions int32
	ok         bool
}

// claimant is one member as the assignor sees it.
type claimant struct {
	topics []int                // subscription: rising indexes into the topics
	kept   []record.PartitionID // its target so far
	holds  []record.PartitionID // what it owns or is about to give up
}

// assign spreads the partitions of topics over the claimants: the uniform,
// sticky assignor. It is a pure function; the order of claimants decides ties.
//
//   - Balanced: no chain of hand-overs (each of one partition to a member that
//     subscribes to its topic) can take a partition from a claimant to one that
//     has two or more fewer. So the counts of two claimants with the same
//     subscription differ by at most one, and no other spread has a lower
//     maximum (an optimal semi-matching: Harvey, Ladner, Lovász and Tamir,
//     2006).
//   - Sticky: all claimants keep what they have but for what balance takes, one
//     partition for each hand-over, by the shortest chain.
//   - Stable: what it returns, given back as kept, is returned again.
func assign(topics []topicRow, claimants []claimant) [][]record.PartitionID {
	a := newAssignor(topics, claimants)
	a.keep()
	a.deal()
	a.balance()
	return a.result()
}

// seatInTopic is one claimant among the subscribers of a topic: slot is the
// topic's place in the claimant's subscription.
type seatInTopic struct{ who, slot int }

type assignor struct {
	topics      []topicRow
	claimants   []claimant
	rows        map[record.TopicID]int
	owner       [][]int // by topic and partition: the claimant, or nobody
	home        [][]int // ... who has it now, and so would take it without a move
	subscribers [][]seatInTopic
	load        []int   // partitions of each claimant
	share       [][]int // ... by slot
}

const nobody = -1

func newAssignor(topics []topicRow, claimants []claimant) *assignor {
	a := &assignor{
		topics:      topics,
		claimants:   claimants,
		rows:        make(map[record.TopicID]int, len(topics)),
		owner:       make([][]int, len(topics)),
		home:        make([][]int, len(topics)),
		subscribers: make([][]seatInTopic, len(topics)),
		load:        make([]int, len(claimants)),
		share:       make([][]int, len(claimants)),
	}
	for t, row := range topics {
		if !row.ok {
			continue
		}
		a.rows[row.id] = t
		a.owner[t] = slices.Repeat([]int{nobody}, int(row.partitions))
		a.home[t] = slices.Clone(a.owner[t])
	}
	for who, c := range claimants {
		a.share[who] = make([]int, len(c.topics))
		for slot, t := range c.topics {
			a.subscribers[t] = append(a.subscribers[t], seatInTopic{who, slot})
		}
	}
	return a
}

// find returns the place of a partition that still exists.
func (a *assignor) find(p record.PartitionID) (topic int, ok bool) {
	t, ok := a.rows[p.Topic]
	return t, ok && p.Index < a.topics[t].partitions
}

func (a *assignor) give(t, index, who, slot int) {
	a.owner[t][index] = who
	a.load[who]++
	a.share[who][slot]++
}

// keep leaves to every claimant what it has and may still have.
func (a *assignor) keep() {
	for who, c := range a.claimants {
		for _, p := range c.kept {
			t, ok := a.find(p)
			if !ok {
				continue
			}
			slot, subscribed := slices.BinarySearch(c.topics, t)
			if subscribed && a.owner[t][p.Index] == nobody {
				a.give(t, int(p.Index), who, slot)
				a.home[t][p.Index] = who
			}
		}
	}
	for who, c := range a.claimants {
		for _, p := range c.holds {
			if t, ok := a.find(p); ok {
				a.home[t][p.Index] = who
			}
		}
	}
}

// deal gives what nobody has to the subscriber with the least, topics with few
// subscribers first.
func (a *assignor) deal() {
	turns := make([]int, len(a.topics))
	for t := range turns {
		turns[t] = t
	}
	slices.SortStableFunc(turns, func(t, u int) int {
		return cmp.Compare(len(a.subscribers[t]), len(a.subscribers[u]))
	})
	for _, t := range turns {
		if len(a.subscribers[t]) == 0 {
			continue
		}
		for index, owner := range a.owner[t] {
			if owner == nobody {
				to := a.poorest(t, a.home[t][index])
				a.give(t, index, to.who, to.slot)
			}
		}
	}
}

// poorest is the first subscriber with the smallest load, or home if that one
// has as little.
func (a *assignor) poorest(t, home int) seatInTopic {
	best := a.subscribers[t][0]
	for _, s := range a.subscribers[t][1:] {
		switch l, least := a.load[s.who], a.load[best.who]; {
		case l < least, l == least && s.who == home:
			best = s
		}
	}
	return best
}

// balance hands partitions over until no chain improves the spread. When the
// richest claimant can hand nothing on, all that it reaches have nearly as much
// as it, and stay out of all later chains: their loads can only shrink from
// outside, and what they reach is among them.
func (a *assignor) balance() {
	s := search{assignor: a, done: make([]bool, len(a.claimants))}
	for {
		from := s.richest()
		if from == nobody {
			return
		}
		if to := s.reach(from); to != nobody {
			s.shift(from, to)
		} else {
			for _, who := range s.reached {
				s.done[who] = true
			}
		}
	}
}

// search looks for the shortest chain of hand-overs, breadth first.
type search struct {
	*assignor
	done    []bool
	reached []int  // in the order found; the first is where the search began
	seen    []bool // claimants that were reached
	walked  []bool // topics whose subscribers were reached
	parent  []link // how a claimant was reached
}

type link struct{ from, topic int }

func (s *search) richest() int {
	best := nobody
	for who, load := range s.load {
		if !s.done[who] && load > 1 && (best == nobody || load > s.load[best]) {
			best = who
		}
	}
	return best
}

// reach finds the claimant at the end of a shortest chain that starts at from
// and improves the spread; of several, the one with the least.
func (s *search) reach(from int) int {
	s.reached = append(s.reached[:0], from)
	s.seen = make([]bool, len(s.claimants))
	s.walked = make([]bool, len(s.topics))
	s.parent = make([]link, len(s.claimants))
	s.seen[from] = true
	for begin := 0; begin < len(s.reached); {
		end := len(s.reached)
		for _, who := range s.reached[begin:end] {
			s.visit(who)
		}
		best := nobody
		for _, who := range s.reached[end:] {
			if s.load[who] <= s.load[from]-2 && (best == nobody || s.load[who] < s.load[best]) {
				best = who
			}
		}
		if best != nobody {
			return best
		}
		begin = end
	}
	return nobody
}

// visit reaches everybody to whom who could hand a partition; through the
// topics first of which it has most, so that topics are spread as well.
func (s *search) visit(who int) {
	slots := make([]int, 0, len(s.share[who]))
	for slot, n := range s.share[who] {
		if n > 0 && !s.walked[s.claimants[who].topics[slot]] {
			slots = append(slots, slot)
		}
	}
	slices.SortStableFunc(slots, func(x, y int) int { return cmp.Compare(s.share[who][y], s.share[who][x]) })
	for _, slot := range slots {
		t := s.claimants[who].topics[slot]
		s.walked[t] = true
		for _, next := range s.subscribers[t] {
			if !s.seen[next.who] && !s.done[next.who] {
				s.seen[next.who] = true
				s.parent[next.who] = link{who, t}
				s.reached = append(s.reached, next.who)
			}
		}
	}
}

// shift hands one partition on at each link of the chain.
func (s *search) shift(from, to int) {
	for at := to; at != from; at = s.parent[at].from {
		s.handOver(s.parent[at].topic, s.parent[at].from, at)
	}
}

// handOver moves one partition of a topic: one that is at home with the
// receiver, else one that is not at home with the giver, else the last.
func (s *search) handOver(t, from, to int) {
	pick, rank := nobody, 0
	for index, owner := range s.owner[t] {
		if owner != from {
			continue
		}
		r := 1
		switch s.home[t][index] {
		case to:
			r = 3
		case from:
		default:
			r = 2
		}
		if r >= rank {
			pick, rank = index, r
		}
	}
	fromSlot, _ := slices.BinarySearch(s.claimants[from].topics, t)
	toSlot, _ := slices.BinarySearch(s.claimants[to].topics, t)
	s.load[from]--
	s.share[from][fromSlot]--
	s.give(t, pick, to, toSlot)
}

func (a *assignor) result() [][]record.PartitionID {
	sets := make([][]record.PartitionID, len(a.claimants))
	for who, load := range a.load {
		if load > 0 {
			sets[who] = make([]record.PartitionID, 0, load)
		}
	}
	for t, owners := range a.owner {
		for index, who := range owners {
			if who != nobody {
				sets[who] = append(sets[who], record.PartitionID{Topic: a.topics[t].id, Index: int32(index)})
			}
		}
	}
	for _, set := range sets {
		slices.SortFunc(set, record.PartitionID.Compare)
	}
	return sets
}
