package main

import (
	"fmt"
	"math/bits"
	"slices"

	"github.com/tamarack-mq/tamarack/topology"
)

// books hold what a run of dev --with was promised and what came of it: which
// orders were acknowledged, and which of them each group has seen. Orders are
// known by their number, so a record is the same one wherever it stands.
type books struct {
	sent, acknowledged, failed int
	problem                    string // why the last one failed
	acked                      numberSet
	groups                     []groupBook
}

// groupBook is what one group has seen.
type groupBook struct {
	plan     topology.Group
	seen     numberSet
	distinct int
	repeated int // orders that came again, to whichever member
	earlier  int // records that this run has not produced
	members  []memberBook
}

// memberBook is what one member owns and has received.
type memberBook struct {
	owns     []int32 // sorted
	received int
	repeated int
	problem  string // empty once things go well again
}

func newBooks(plan *topology.Topology) *books {
	b := &books{}
	for _, g := range plan.ConsumerGroups {
		b.groups = append(b.groups, groupBook{plan: g, members: make([]memberBook, g.Instances)})
	}
	return b
}

func (b *books) acknowledge(order int) {
	b.acknowledged++
	b.acked.add(order)
}

func (b *books) fail(err error) {
	b.failed++
	b.problem = err.Error()
}

// waiting is how many orders have no result yet.
func (b *books) waiting() int { return b.sent - b.acknowledged - b.failed }

// saw notes the records that a member was given: the numbers of this run's
// orders, and how many others there were.
func (b *books) saw(group, member int, orders []int, others int) {
	g := &b.groups[group]
	m := &g.members[member]
	m.received += len(orders) + others
	g.earlier += others
	for _, n := range orders {
		if g.seen.add(n) {
			g.distinct++
			continue
		}
		g.repeated++
		m.repeated++
	}
}

// own notes that partitions were given to a member or taken from it.
func (b *books) own(group, member int, given bool, partitions ...int32) {
	m := &b.groups[group].members[member]
	for _, p := range partitions {
		at, there := slices.BinarySearch(m.owns, p)
		switch {
		case given && !there:
			m.owns = slices.Insert(m.owns, at, p)
		case !given && there:
			m.owns = slices.Delete(m.owns, at, at+1)
		}
	}
}

// tally is a copy of the figures at one moment.
type tally struct {
	acknowledged, failed, waiting int
	problem                       string
	groups                        []groupTally
}

type groupTally struct {
	plan                    topology.Group
	seen, repeated, earlier int
	missing                 int // acknowledged and not seen (yet)
	members                 []memberBook
}

func (b *books) tally() tally {
	t := tally{acknowledged: b.acknowledged, failed: b.failed, waiting: b.waiting(), problem: b.problem}
	for i := range b.groups {
		g := &b.groups[i]
		copied := groupTally{plan: g.plan, seen: g.distinct, repeated: g.repeated, earlier: g.earlier,
			missing: b.acked.without(g.seen), members: slices.Clone(g.members)}
		for j := range copied.members {
			copied.members[j].owns = append([]int32{}, copied.members[j].owns...)
		}
		t.groups = append(t.groups, copied)
	}
	return t
}

// uneven says what is wrong with how a group shares the partitions; empty when
// each has one owner and nobody owns two more than another.
func (g *groupTally) uneven(partitions int) string {
	owner := make([]int, partitions)
	least, most := partitions, 0
	for i, m := range g.members {
		least, most = min(least, len(m.owns)), max(most, len(m.owns))
		for _, p := range m.owns {
			if int(p) >= partitions {
				return fmt.Sprintf("member %d owns partition %d, which the topic does not have", i+1, p)
			}
			if owner[p] != 0 {
				return fmt.Sprintf("partition %d belongs to members %d and %d at once", p, owner[p], i+1)
			}
			owner[p] = i + 1
		}
	}
	if p := slices.Index(owner, 0); p >= 0 {
		return fmt.Sprintf("partition %d belongs to nobody", p)
	}
	if most-least > 1 {
		return fmt.Sprintf("the partitions are shared unevenly: one member owns %d, another one %d", most, least)
	}
	return ""
}

func (g *groupTally) atMostOnce() bool { return g.plan.DeliverySemantics == topology.AtMostOnce }

// settled says whether nothing more is to come: every order has its result,
// the partitions are shared evenly, and every group is through: its committed
// positions are at the ends (drained tells), and it has seen everything unless
// it may skip records.
func (t *tally) settled(partitions int, drained func(group string) bool) bool {
	if t.waiting > 0 {
		return false
	}
	for i := range t.groups {
		g := &t.groups[i]
		seen := g.missing == 0 || g.atMostOnce()
		if !seen || !drained(g.plan.Name) || g.uneven(partitions) != "" {
			return false
		}
	}
	return true
}

// judge compares what came of a run with what its groups are promised. shared
// is a tally from before the members left, which tells who owned what.
func judge(final, shared tally, partitions int) (problems []string) {
	if final.acknowledged == 0 {
		problems = append(problems, "no order was acknowledged")
	}
	if final.failed > 0 {
		problems = append(problems, fmt.Sprintf("%d orders were not acknowledged: %s", final.failed, final.problem))
	}
	if final.waiting > 0 {
		problems = append(problems, fmt.Sprintf("%d orders were not acknowledged in time", final.waiting))
	}
	for i := range final.groups {
		g := &final.groups[i]
		say := func(format string, args ...any) {
			problems = append(problems, "group "+g.plan.Name+": "+fmt.Sprintf(format, args...))
		}
		if g.missing > 0 && !g.atMostOnce() {
			say("%d of %d acknowledged orders were not seen", g.missing, final.acknowledged)
		}
		if g.repeated > 0 && g.atMostOnce() {
			say("%d orders came again, in spite of at-most-once", g.repeated)
		}
		if text := shared.groups[i].uneven(partitions); text != "" {
			say("%s", text)
		}
	}
	return problems
}

// numberSet is a set of small numbers, one bit each: a million orders take
// 125 kB.
type numberSet []uint64

// add is false when the number is there already.
func (s *numberSet) add(n int) bool {
	word, bit := n/64, uint64(1)<<(n%64)
	if word >= len(*s) {
		*s = append(*s, make(numberSet, word+1-len(*s))...)
	}
	if (*s)[word]&bit != 0 {
		return false
	}
	(*s)[word] |= bit
	return true
}

// without counts the numbers of s that o does not have.
func (s numberSet) without(o numberSet) (count int) {
	for i, word := range s {
		if i < len(o) {
			word &^= o[i]
		}
		count += bits.OnesCount64(word)
	}
	return count
}
