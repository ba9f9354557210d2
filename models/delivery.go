package models

import (
	"fmt"

	"github.com/tamarack-mq/tamarack/history"
)

// process is one run of one client.
type process struct{ client, session int32 }

// delivery is INV-9 for consumers: as long as a client holds a partition it is
// given that partition's records one after the other. Only retention, or a
// position that the client was told of, lets it jump. A fault within the records
// of one poll is internal, one between two polls external, in the words of
// Jepsen's tests of Kafka.
func delivery(d *dossier) []Violation {
	var found []Violation
	next := map[process]map[Place]int64{}
	for _, op := range d.takings() {
		by := process{op.Client, op.Session}
		switch op.Kind {
		case history.Assigned, history.Revoked:
			follow(next, by, op)
		case history.Poll:
			mine := next[by]
			if mine == nil {
				mine = map[Place]int64{}
				next[by] = mine
			}
			var at Place
			var due int64
			known := false
			for i := range op.Records {
				r := &op.Records[i]
				if now := (Place{r.TopicID, r.Partition}); i == 0 || now != at {
					at = now
					due, known = mine[at]
				}
				if known && r.Offset != due && !d.excused(at, due, r.Offset, op.Committed) {
					word := "external "
					if i > 0 && op.Records[i-1].TopicID == at.TopicID && op.Records[i-1].Partition == at.Partition {
						word = "internal "
					}
					if r.Offset < due {
						word += "non-monotonic poll"
					} else {
						word += "skipped poll"
					}
					found = append(found, Violation{"INV-9", word, fmt.Sprintf(
						"client %d was given %s@%d where %d was due", op.Client, at, r.Offset, due), []int64{op.ID}, ofRecord(at, due)})
				}
				due, known = r.Offset+1, true
				if i+1 == len(op.Records) || op.Records[i+1].TopicID != at.TopicID || op.Records[i+1].Partition != at.Partition {
					mine[at] = due
				}
			}
		}
	}
	return found
}

// follow keeps the positions of a client up with what it was told.
func follow(next map[process]map[Place]int64, by process, op *history.Operation) {
	if next[by] == nil || len(op.Positions) == 0 {
		next[by] = map[Place]int64{} // a reader begins anew
		return
	}
	for _, p := range op.Positions {
		at := Place{p.TopicID, p.Partition}
		delete(next[by], at)
		if op.Kind == history.Assigned && p.Offset >= 0 {
			next[by][at] = p.Offset
		}
	}
}

// excused says whether a reader may jump from due to got: what lies between was
// removed by retention, or is not for it, or records were given up.
func (d *dossier) excused(at Place, due, got int64, readsCommitted bool) bool {
	loss, lossy := d.Lossy[at]
	if d.Gone[at] || d.Internal[at.TopicID] || lossy && due > loss.Kept {
		return true
	}
	p := d.at[at]
	switch {
	case got <= due:
		return false
	case p.final == nil || got <= max(p.final.Start, loss.Start):
		return true
	}
	return d.maySkipAll(p, max(due, p.final.Start), got, readsCommitted)
}

// takings are the polls, what members were told to hold, and transactions, in the order
// of their ends. A client's own polls and events are recorded in the order in which they
// reach it, and polls of one client do not overlap.
func (d *dossier) takings() []*history.Operation {
	if d.taken == nil {
		for i := range d.Operations {
			switch op := &d.Operations[i]; op.Kind {
			case history.Poll, history.Assigned, history.Revoked, history.Transact:
				d.taken = append(d.taken, op)
			}
		}
		stableByTime(d.taken)
	}
	return d.taken
}

// styles are the promises of the delivery styles. At least once, and exactly once:
// what the group has committed was given to some member. At most once: nothing is
// given twice. What exactly once promises beyond that is in pipelines.
// And INV-26: no member commits beyond what it was given.
func styles(d *dossier) []Violation {
	groups := map[string]*groupWork{}
	for i := range d.Operations {
		op := &d.Operations[i]
		if op.Group == "" {
			continue
		}
		g := groups[op.Group]
		if g == nil {
			g = newGroupWork()
			groups[op.Group] = g
		}
		g.note(d, op)
	}
	followSeeks(d, groups)
	var found []Violation
	for _, name := range sortedKeys(groups) {
		g := groups[name]
		found = append(found, g.beyond...)
		if d.Forgotten[name] {
			continue // it began anew somewhere
		}
		if g.only(history.AtLeastOnce) || g.only(history.ExactlyOnce) {
			found = append(found, g.skipped(d, name)...)
		}
		if g.only(history.AtMostOnce) {
			found = append(found, g.repeated(d, name)...)
		}
	}
	return found
}

// groupWork is what a group was given and what it committed.
type groupWork struct {
	given  map[Place]*tally // how often each offset was handed over
	mine   map[process]map[Place]int64
	places []Place
	styles [4]int
	beyond []Violation
	seeks  bool // members go elsewhere by themselves
	// next is where each member goes on, and left where it was when it went
	// elsewhere, as long as nothing has come since. What a member jumped over by
	// that it was not to be given, and what lies behind where it went back to it
	// may be given once more.
	next, left map[process]map[Place]int64
	// away is what a member had been given when it went elsewhere, as long as nothing
	// has come since.
	away   map[process]map[Place]int64
	jumped map[Place][][2]int64 // by seeks, or over what was hidden then
	again  map[Place][]int64
}

func (g *groupWork) only(s history.Style) bool {
	for i, n := range g.styles {
		if n > 0 && history.Style(i) != s {
			return false
		}
	}
	return g.styles[s] > 0
}

func (g *groupWork) note(d *dossier, op *history.Operation) {
	by := process{op.Client, op.Session}
	switch op.Kind {
	case history.Poll:
		g.styles[op.Style]++
		mine := g.mine[by]
		if mine == nil {
			mine = map[Place]int64{}
			g.mine[by] = mine
		}
		var at Place
		var given *tally
		end := int64(0)
		for i := range op.Records {
			r := &op.Records[i]
			if now := (Place{r.TopicID, r.Partition}); given == nil || now != at {
				if given != nil {
					mine[at] = end
				}
				at = now
				if given = g.given[at]; given == nil {
					given = &tally{}
					g.given[at] = given
					g.places = append(g.places, at)
				}
				end = mine[at]
				delete(g.away[by], at)
			}
			given.add(r.Offset)
			end = max(end, r.Offset+1)
		}
		if given != nil {
			mine[at] = end
		}
	case history.Assigned:
		g.seeks = g.seeks || op.Error == history.BySeek
		for _, p := range op.Positions { // retention has moved it on
			at := Place{p.TopicID, p.Partition}
			given, any := g.mine[by][at]
			if op.Error == history.ByReset {
				g.hidden(d, at, op.Offset, p.Offset)
			}
			if op.Error != history.BySeek {
				delete(g.away[by], at)
			} else if _, already := g.away[by][at]; any && !already {
				put(g.away, by, at, given)
			}
			if any && p.Offset > given {
				g.mine[by][at] = p.Offset
			}
		}
	case history.Commit:
		for _, p := range op.Positions {
			at := Place{p.TopicID, p.Partition}
			g.wentOver(d, by, op, at, p.Offset)
			if given, any := g.mine[by][at]; any && op.Member != "" && p.Offset > given && !g.passed(d, op.Group, at, given, p.Offset) {
				g.beyond = append(g.beyond, Violation{"INV-26", "commit ahead", fmt.Sprintf(
					"client %d committed %s@%d, but was given records below %d only", op.Client, at, p.Offset, given), []int64{op.ID}, ofGroup(op.Group, at, p.Offset)})
			}
		}
	}
}

// wentOver takes in the commit of a member that went elsewhere and was given nothing
// since: what is not for it moves it on from there all the same.
func (g *groupWork) wentOver(d *dossier, by process, op *history.Operation, at Place, position int64) {
	before, away := g.away[by][at]
	if !away || position <= before {
		return
	}
	if from := d.behind(d.at[at], position, before, d.manner(op.Group).committed); from < position {
		g.jumped[at] = append(g.jumped[at], [2]int64{before, from})
		g.mine[by][at] = max(g.mine[by][at], position)
	}
}

// hidden takes in that a member goes on elsewhere because its position was below the
// log start. That has fallen since, if an operator let lead who had not moved it: what
// the member went over is there again, as far as it was hidden then.
func (g *groupWork) hidden(d *dossier, at Place, from, to int64) {
	if to = min(to, d.Lossy[at].Start); from < to {
		g.jumped[at] = append(g.jumped[at], [2]int64{from, to})
	}
}

// passed says that a member which was given records below an offset may commit another
// one, as what lies between is not for it. Or it has begun where others of its group
// were, and nothing for it has come since.
func (g *groupWork) passed(d *dossier, group string, at Place, given, position int64) bool {
	from := d.behind(d.at[at], position, given, d.manner(group).committed)
	return from <= given || from < position && (g.given[at].at(from-1) > 0 || from <= lowest(g.given[at]))
}

// skipped are records below what the group committed that no member was given.
func (g *groupWork) skipped(d *dossier, group string) []Violation {
	var found []Violation
	for _, at := range g.places {
		h, p := d.offset[group][at], d.at[at]
		log := p.final
		if d.manner(group).committed && len(d.transactions) > 0 {
			log = p.committed
		}
		if h == nil || log == nil {
			continue
		}
		kept := d.kept(at) // what is behind may have been given up, and others stand there
		committed := int64(0)
		for _, c := range h.commits {
			if c.outcome == history.OK {
				committed = max(committed, c.offset)
			}
		}
		first := lowest(g.given[at])
		for i := range log.Records {
			o := log.Records[i].Offset
			if o >= first && o < min(committed, kept) && g.given[at].at(o) == 0 && !g.over(at, o) {
				found = append(found, Violation{"INV-9", "skipped record", fmt.Sprintf(
					"group %s has committed %s up to %d, but no member was given %d", group, at, committed, o), nil, ofGroup(group, at, o)})
				break
			}
		}
	}
	return found
}

func lowest(given *tally) int64 {
	first := int64(1 << 62)
	given.each(func(o int64) { first = min(first, o) })
	return first
}

// repeated are records that an at-most-once group was given twice.
func (g *groupWork) repeated(d *dossier, group string) []Violation {
	var found []Violation
	for _, at := range g.places {
		if h := d.offset[group][at]; d.Gone[at] || h != nil && d.shaken(group, at, h) || h == nil && d.lossy(at) {
			continue
		}
		twice := int64(-1)
		given := g.given[at]
		given.each(func(o int64) {
			if n := given.at(o); n > 1 && n > 1+g.wanted(at, o) && (twice < 0 || o < twice) {
				twice = o
			}
		})
		if twice >= 0 {
			found = append(found, Violation{"INV-9", "repeated record", fmt.Sprintf(
				"group %s reads at most once, but was given %s@%d %d times", group, at, twice, given.at(twice)), nil, ofGroup(group, at, twice)})
		}
	}
	return found
}
