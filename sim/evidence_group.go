package sim

import (
	"fmt"
	"slices"

	"github.com/tamarack-mq/tamarack/history"
)

// groupEvidence is what one group was given and what it committed.
type groupEvidence struct {
	given     map[place]map[int64]int
	processed map[place]map[int64]bool // ... and the member did not crash over it
	committed map[place]int64          // the highest acknowledged position
	styles    map[history.Style]bool
}

func (e *evidence) ofGroup(group string) *groupEvidence {
	g := &groupEvidence{
		given: map[place]map[int64]int{}, processed: map[place]map[int64]bool{}, committed: map[place]int64{}, styles: map[history.Style]bool{},
	}
	crashed := e.crashedOver()
	for i := range e.ops {
		op := &e.ops[i]
		if op.Group != group {
			continue
		}
		switch op.Kind {
		case history.Poll:
			g.styles[op.Style] = true
			for j := range op.Records {
				r := &op.Records[j]
				at := place{r.TopicID, r.Partition}
				if g.given[at] == nil {
					g.given[at], g.processed[at] = map[int64]int{}, map[int64]bool{}
				}
				g.given[at][r.Offset]++
				if !crashed[op.ID] {
					g.processed[at][r.Offset] = true
				}
			}
		case history.Commit:
			for _, p := range op.Positions {
				at := place{p.TopicID, p.Partition}
				if op.Outcome == history.OK {
					g.committed[at] = max(g.committed[at], p.Offset)
				}
			}
		}
	}
	return g
}

// crashedOver are the polls whose records a client was still processing when it
// crashed: the next that is heard of it is its restart.
func (e *evidence) crashedOver() map[int64]bool {
	last := map[int32]*history.Operation{}
	crashed := map[int64]bool{}
	for i := range e.ops {
		op := &e.ops[i]
		switch op.Kind {
		case history.Restarted:
			if before := last[op.Client]; before != nil && before.Kind == history.Poll {
				crashed[before.ID] = true
			}
			delete(last, op.Client)
		case history.Assigned, history.Revoked, history.Sought:
		default:
			last[op.Client] = op
		}
	}
	return crashed
}

// group says what one group has not shown.
func (e *evidence) group(x *GroupExpect, miss func(string, ...any)) {
	g := e.ofGroup(x.Group)
	if len(g.given) == 0 {
		miss("group %s was given nothing", x.Group)
		return
	}
	repeated, skipped := g.repeated(), e.skipped(g)
	some := func(what, want string, got int, example string) {
		switch {
		case want == "some" && got == 0:
			miss("group %s: no record was %s, some were to be", x.Group, what)
		case want == "none" && got > 0:
			miss("group %s: %d records were %s, none was to be: %s", x.Group, got, what, example)
		}
	}
	some("repeated", x.Repeated, repeated, "given twice")
	some("skipped", x.Skipped, len(skipped), first(skipped))
	if x.All && len(skipped) > 0 {
		miss("group %s has not processed everything: %d records are missing: %s", x.Group, len(skipped), first(skipped))
	}
	if x.Behind > 0 {
		if most := e.mostBehind(x.Group, g); most < x.Behind {
			miss("group %s was never more than %d records behind, %d were to be seen", x.Group, most, x.Behind)
		}
	}
	if x.Resumed && !e.resumed(x.Group) {
		miss("no restarted member of group %s went on from where it had committed", x.Group)
	}
}

func first(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return list[0]
}

func (g *groupEvidence) repeated() int {
	n := 0
	for _, offsets := range g.given {
		for _, times := range offsets {
			if times > 1 {
				n++
			}
		}
	}
	return n
}

// skipped are records that are there at rest, in partitions that the group
// reads, and that no member of it has processed.
func (e *evidence) skipped(g *groupEvidence) []string {
	var list []string
	for _, at := range e.places() {
		offsets := g.processed[at]
		if offsets == nil {
			continue
		}
		for _, r := range e.records(at) {
			if r.Offset >= e.start[at] && !offsets[r.Offset] {
				list = append(list, fmt.Sprintf("%d/%d@%d", at.topic, at.index, r.Offset))
			}
		}
	}
	return list
}

// mostBehind is the largest number of records that were acknowledged and not
// yet given to a group, over all moments.
func (e *evidence) mostBehind(group string, g *groupEvidence) int {
	type step struct {
		at int64
		by int
	}
	var steps []step
	seen := map[place]map[int64]bool{}
	for i := range e.ops {
		op := &e.ops[i]
		switch {
		case op.Kind == history.Publish && op.Outcome == history.OK && g.given[place{op.TopicID, op.Partition}] != nil:
			steps = append(steps, step{op.Return, 1})
		case op.Kind == history.Poll && op.Group == group:
			for j := range op.Records {
				r := &op.Records[j]
				at := place{r.TopicID, r.Partition}
				if seen[at] == nil {
					seen[at] = map[int64]bool{}
				}
				if !seen[at][r.Offset] {
					seen[at][r.Offset] = true
					steps = append(steps, step{op.Return, -1})
				}
			}
		}
	}
	slices.SortStableFunc(steps, func(a, b step) int { return int(a.at - b.at) })
	behind, most := 0, 0
	for _, s := range steps {
		behind += s.by
		most = max(most, behind)
	}
	return most
}

// resumed says whether, after a member was started again, a partition went on
// exactly at the position that the group had committed last.
func (e *evidence) resumed(group string) bool {
	committed := map[place]int64{}
	fresh := map[int32]map[place]bool{} // what a restarted client has got since
	for _, op := range byReturnTime(e.ops) {
		if op.Kind == history.Restarted {
			fresh[op.Client] = map[place]bool{}
			continue
		}
		if op.Group != group || op.Outcome != history.OK {
			continue
		}
		switch op.Kind {
		case history.Commit:
			for _, p := range op.Positions {
				committed[place{p.TopicID, p.Partition}] = p.Offset
			}
		case history.Poll:
			got := fresh[op.Client]
			if got == nil {
				continue
			}
			for j := range op.Records {
				r := &op.Records[j]
				at := place{r.TopicID, r.Partition}
				if !got[at] && committed[at] > 0 && committed[at] == r.Offset {
					return true
				}
				got[at] = true
			}
		}
	}
	return false
}

func byReturnTime(ops []history.Operation) []*history.Operation {
	list := make([]*history.Operation, len(ops))
	for i := range ops {
		list[i] = &ops[i]
	}
	slices.SortStableFunc(list, func(a, b *history.Operation) int {
		switch {
		case a.Return < b.Return:
			return -1
		case a.Return > b.Return:
			return 1
		}
		return 0
	})
	return list
}
