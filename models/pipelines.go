package models

import (
	"fmt"

	"github.com/tamarack-mq/tamarack/history"
)

// pipelines is exactly once from a topic into others, INV-30 with what transactions
// are for: of each record below where a worker's group stands in the end there is
// one of each copy that its workers make, and of none beyond. What an attempt that
// was not committed made does not count. That all of a transaction that was
// committed is there for readers is held by atomicity, so that retention of what the
// workers wrote makes no difference here.
func pipelines(d *dossier) []Violation {
	if len(d.transactions) == 0 {
		return nil
	}
	l := line{d: d, groups: map[int32]string{}, fan: map[string]int{}, made: map[product]*yield{}}
	for i := range d.Operations {
		if op := &d.Operations[i]; op.Kind == history.Poll && op.Style == history.ExactlyOnce && op.Group != "" {
			l.groups[op.Client] = op.Group
		}
	}
	if len(l.groups) == 0 {
		return nil
	}
	for _, t := range d.transactions {
		for _, op := range t.publishes {
			l.add(t, op)
		}
	}
	for _, group := range d.groups {
		for _, at := range d.places {
			if h := d.offset[group][at]; h != nil && d.exact(group) && !d.unsure(at) && d.at[at].committed != nil {
				l.judge(group, at, h)
			}
		}
	}
	return l.found
}

// line is what all workers have made.
type line struct {
	d      *dossier
	groups map[int32]string // by client
	fan    map[string]int   // how many copies the workers of a group make
	made   map[product]*yield
	found  []Violation
}

// product is one copy that a group makes of a record with some value.
type product struct {
	group string
	input string
	copy  int
}

// yield is how often something was made in transactions that were committed, or of
// which it is not known.
type yield struct {
	sure, maybe int
	op          *history.Operation // the last one of them
}

func (n *yield) times() int {
	if n == nil {
		return 0
	}
	return n.sure + n.maybe
}

// standsUpTo is how often a value stands for readers of committed records at or below
// a record of it: more than once only if its producer was not idempotent.
func (d *dossier) standsUpTo(p *partition, r *history.Record, from int64) (times int) {
	for _, o := range d.byValue[text(r.Value)].in(p) {
		if o >= from && o <= r.Offset && p.committed.at(o) != nil {
			times++
		}
	}
	return times
}

func (l *line) add(t *transaction, op *history.Operation) {
	group, worker := l.groups[op.Client]
	copy, input, made := history.Product(op.Value)
	if !worker || !made {
		return
	}
	l.fan[group] = max(l.fan[group], copy+1)
	if t.fate == aborted {
		return
	}
	what := product{group, text(input), copy}
	n := l.made[what]
	if n == nil {
		n = &yield{}
		l.made[what] = n
	}
	before := n.op
	n.op = op
	if t.fate == undecided {
		n.maybe++
		return
	}
	if n.sure++; n.sure > 1 && n.sure == l.most(group, what.input)+1 {
		l.found = append(l.found, Violation{"INV-30", "doubled output", fmt.Sprintf(
			"group %s has made copy %d of %s more than once: %s and %s are both committed", group, copy, name(input), name(before.Value), name(op.Value)),
			[]int64{before.ID, op.ID}, ofRecord(Place{op.TopicID, op.Partition}, op.Offset)})
	}
}

// most is how often a group may make something of a value: once for each time that
// it stands there.
func (l *line) most(group, input string) int {
	const anything = 1 << 30
	s := l.d.byValue[input]
	if s == nil || s.op == nil || l.d.Forgotten[group] || s.home != nil && l.d.lossy(s.home.place) || s.op.TopicID != 0 && l.d.lossy(Place{s.op.TopicID, s.op.Partition}) {
		return anything // of what nobody sent truth has the say
	}
	times := len(s.where)
	for _, where := range s.other {
		times += len(where)
	}
	return max(1, times)
}

// judge holds what stands in a partition against what was made of it.
func (l *line) judge(group string, at Place, h *offsetHistory) {
	from, surely, perhaps := h.first, int64(0), int64(0)
	for i := range h.commits {
		switch c := &h.commits[i]; c.outcome {
		case history.OK:
			surely = max(surely, c.offset)
		case history.Unknown:
			perhaps = max(perhaps, c.offset)
		}
	}
	perhaps = max(perhaps, surely)
	p := l.d.at[at]
	var lost, beyond bool
	for i := range p.committed.Records {
		r := &p.committed.Records[i]
		if r.Offset < from {
			continue
		}
		for copy := range l.fan[group] {
			n := l.made[product{group, text(r.Value), copy}]
			switch {
			case r.Offset < surely && !lost && n.times() < l.d.standsUpTo(p, r, from):
				lost = true
				l.found = append(l.found, Violation{"INV-30", "lost output", fmt.Sprintf(
					"group %s has committed %s up to %d, but copy %d of %s at %d was never made", group, at, surely, copy, name(r.Value), r.Offset), nil, ofGroup(group, at, r.Offset)})
			case r.Offset >= perhaps && n != nil && n.sure > 0 && len(l.d.byValue[text(r.Value)].in(p)) == 1 && !beyond:
				beyond = true
				l.found = append(l.found, Violation{"INV-30", "output beyond the position", fmt.Sprintf(
					"group %s has committed %s up to %d, but %s, made of %s at %d, is committed", group, at, perhaps, name(n.op.Value), name(r.Value), r.Offset), []int64{n.op.ID}, ofGroup(group, at, r.Offset)})
			}
		}
	}
}
