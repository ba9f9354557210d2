package models

import "github.com/tamarack-mq/tamarack/history"

func newGroupWork() *groupWork {
	return &groupWork{
		given: map[Place]*tally{}, mine: map[process]map[Place]int64{},
		next: map[process]map[Place]int64{}, left: map[process]map[Place]int64{},
		away:   map[process]map[Place]int64{},
		jumped: map[Place][][2]int64{}, again: map[Place][]int64{},
	}
}

// addSeek notes for which positions of a group a member's own will counts.
func (d *dossier) addSeek(op *history.Operation) {
	if op.Kind == history.Assigned && op.Error == history.BySeek && op.Group != "" {
		for _, p := range op.Positions {
			d.offsets(op.Group, Place{p.TopicID, p.Partition}).sought = true
		}
	}
}

// followSeeks follows the members of groups that seek, in the order in which they
// knew what came of what they asked for.
func followSeeks(d *dossier, groups map[string]*groupWork) {
	seeks := false
	for _, g := range groups {
		seeks = seeks || g.seeks
	}
	if !seeks {
		return
	}
	for _, op := range d.takings() {
		g := groups[op.Group]
		if g == nil || !g.seeks {
			continue
		}
		by := process{op.Client, op.Session}
		switch op.Kind {
		case history.Assigned, history.Revoked:
			g.moved(by, op)
		case history.Poll:
			g.polled(by, op)
		}
	}
}

// polled notes where a poll begins in each partition, and where it ends.
func (g *groupWork) polled(by process, op *history.Operation) {
	for i := range op.Records {
		r := &op.Records[i]
		at := Place{r.TopicID, r.Partition}
		if i == 0 || (Place{op.Records[i-1].TopicID, op.Records[i-1].Partition}) != at {
			g.arrives(by, at, r.Offset)
		}
		if i+1 == len(op.Records) || (Place{op.Records[i+1].TopicID, op.Records[i+1].Partition}) != at {
			put(g.next, by, at, r.Offset+1)
		}
	}
}

func put(m map[process]map[Place]int64, by process, at Place, offset int64) {
	if m[by] == nil {
		m[by] = map[Place]int64{}
	}
	m[by][at] = offset
}

// moved follows where members of a group go on, by themselves or as they are told.
func (g *groupWork) moved(by process, op *history.Operation) {
	for _, p := range op.Positions {
		at := Place{p.TopicID, p.Partition}
		due, known := g.next[by][at]
		before, away := g.left[by][at]
		switch {
		case op.Error == history.BySeek && (known || away):
			if known {
				before = due
				put(g.left, by, at, due)
			}
			if p.Offset >= 0 && p.Offset < before {
				g.again[at] = append(g.again[at], p.Offset)
			}
		case op.Error == history.ByReset && away:
			if p.Offset < before {
				g.again[at] = append(g.again[at], p.Offset)
			}
		default:
			delete(g.left[by], at)
		}
		delete(g.next[by], at)
	}
}

// arrives notes the first record that a member is given after it went elsewhere.
func (g *groupWork) arrives(by process, at Place, offset int64) {
	before, away := g.left[by][at]
	if !away {
		return
	}
	delete(g.left[by], at)
	if offset > before {
		g.jumped[at] = append(g.jumped[at], [2]int64{before, offset})
	}
}

// over says whether a member went over a record of its own will, or because it was
// hidden then.
func (g *groupWork) over(at Place, offset int64) bool {
	for _, s := range g.jumped[at] {
		if offset >= s[0] && offset < s[1] {
			return true
		}
	}
	return false
}

// wanted is how often members went back to before a record.
func (g *groupWork) wanted(at Place, offset int64) (times int) {
	for _, from := range g.again[at] {
		if from <= offset {
			times++
		}
	}
	return times
}
