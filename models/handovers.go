package models

import (
	"fmt"
	"sort"

	"github.com/tamarack-mq/tamarack/history"
)

// Groups whose members commit positions in transactions only. There nothing moves a
// position but the commit of a transaction, so what is told of it, and where whoever
// is handed a partition begins, can be held against the transactions themselves.

// settle gives the commits of a group their outcomes, once those of transactions are
// known. Who asks for stable positions waits for the markers of a transaction, so
// its position is known to be there when the transaction is known to be committed.
func (h *offsetHistory) settle(d *dossier) {
	for i := range h.commits {
		c := &h.commits[i]
		t := d.transactionOf(c.op)
		switch {
		case t == nil || c.outcome == history.Failed:
		case t.fate == committed:
			c.outcome, c.until = history.OK, t.known
		case t.fate == aborted:
			c.outcome = history.Failed
		default:
			c.outcome, c.until = history.Unknown, history.Open
		}
	}
}

// known is from when on who asks must find a commit done. Who does not ask for stable
// positions may find what was before a transaction for as long as its markers take.
func (c *positioned) known(ask *history.Operation) int64 {
	if c.op.Transaction != 0 && ask.Kind == history.FetchCommitted && !ask.Committed {
		return history.Open
	}
	return c.until
}

// contradicts is a commit that says that the group was not, at any time since the
// call of ask and before the answer, where a position matches; nil: it may have been.
func (h *offsetHistory) contradicts(ask *history.Operation, answered int64, matches func(offset int64) bool) *positioned {
	newest := int64(-1)
	for i := range h.commits {
		c := &h.commits[i]
		if c.outcome != history.Failed && c.from <= answered && matches(c.offset) {
			newest = max(newest, c.known(ask))
		}
	}
	var against *positioned // the last of them
	for i := range h.commits {
		c := &h.commits[i]
		if c.outcome == history.OK && c.known(ask) < ask.Invoke && c.from > newest && !matches(c.offset) && (against == nil || c.from > against.from) {
			against = c
		}
	}
	return against
}

// names says whether some commit that may have been done by then was to a position.
func (h *offsetHistory) names(by int64, matches func(offset int64) bool) bool {
	for i := range h.commits {
		if c := &h.commits[i]; c.outcome != history.Failed && c.from <= by && matches(c.offset) {
			return true
		}
	}
	return false
}

// told judges what was told of a position, INV-24 and INV-25.
func (h *offsetHistory) told(group string, at Place, f positioned) []Violation {
	is := func(offset int64) bool { return offset == f.offset }
	lost := h.contradicts(f.op, f.op.Return, is)
	if f.offset != history.None && !h.names(f.op.Return, is) {
		for i := range h.commits {
			if c := &h.commits[i]; is(c.offset) && c.op.Invoke <= f.op.Return {
				return []Violation{{"INV-25", "position of an aborted transaction", fmt.Sprintf(
					"group %s was told %d for %s, which only transactions that were not committed have named, %d the first", group, f.offset, at, c.op.Transaction),
					[]int64{c.op.ID, f.op.ID}, ofGroup(group, at, f.offset)}}
			}
		}
		return []Violation{{"INV-24", "phantom", fmt.Sprintf(
			"group %s was told %d for %s, which nobody committed", group, f.offset, at), []int64{f.op.ID}, ofGroup(group, at, f.offset)}}
	}
	if lost != nil {
		return []Violation{{"INV-24", "lost commit", fmt.Sprintf(
			"group %s was told %d for %s after %d had been committed with transaction %d", group, f.offset, at, lost.offset, lost.op.Transaction),
			[]int64{lost.op.ID, f.op.ID}, ofGroup(group, at, lost.offset)}}
	}
	return nil
}

// handovers is INV-25 for whoever is handed a partition, or goes back to what its
// group has committed: it is given nothing again that a transaction has covered which
// was committed before, and nothing is left out (INV-24, INV-9).
func handovers(d *dossier) []Violation {
	if len(d.transactions) == 0 {
		return nil
	}
	h := handing{d: d, members: map[process]*handed{}}
	for _, op := range d.takings() {
		by := process{op.Client, op.Session}
		switch {
		case op.Kind == history.Transact && op.Outcome == history.OK:
			h.committed(by, d.transactionOf(op))
		case !d.exact(op.Group) || d.Forgotten[op.Group]:
		case op.Kind == history.Assigned, op.Kind == history.Revoked:
			h.moved(by, op)
		case op.Kind == history.Poll:
			h.polled(by, op)
		}
	}
	return h.found
}

// handing follows the members of groups from one handover to the next.
type handing struct {
	d       *dossier
	members map[process]*handed
	found   []Violation
}

// handed is what is known of the partitions of one member.
type handed struct {
	waits map[Place]*history.Operation // since when it has looked for the group's position
	next  map[Place]int64              // what it was given lies below
	own   map[Place]int64              // what it knows that it has committed
}

func (h *handing) of(by process) *handed {
	m := h.members[by]
	if m == nil {
		m = &handed{map[Place]*history.Operation{}, map[Place]int64{}, map[Place]int64{}}
		h.members[by] = m
	}
	return m
}

// committed notes how far a member knows that its own commits reach: a member that
// goes back stays where it is in all that is committed for all it knows.
func (h *handing) committed(by process, t *transaction) {
	for _, c := range t.commits {
		for _, p := range c.Positions {
			h.of(by).own[Place{p.TopicID, p.Partition}] = p.Offset
		}
	}
}

func (h *handing) moved(by process, op *history.Operation) {
	m := h.of(by)
	if op.Error == history.ByRewind && len(op.Positions) == 0 { // all that it has
		for at, next := range m.next {
			if next > m.own[at] {
				m.waits[at] = op
			}
		}
		return
	}
	for _, p := range op.Positions {
		at := Place{p.TopicID, p.Partition}
		since := m.waits[at]
		if next, given := m.next[at]; op.Error == history.ByRewind && since == nil && (!given || next <= m.own[at]) {
			continue
		}
		delete(m.waits, at)
		delete(m.next, at)
		delete(m.own, at)
		switch {
		case op.Kind == history.Revoked:
		case p.Offset == history.None:
			m.waits[at] = op
		case since != nil:
			h.found = append(h.found, h.d.reset(since, op, at)...)
		}
	}
}

func (h *handing) polled(by process, op *history.Operation) {
	m := h.of(by)
	for i := range op.Records {
		at := Place{op.Records[i].TopicID, op.Records[i].Partition}
		if i == 0 || op.Records[i-1].TopicID != at.TopicID || op.Records[i-1].Partition != at.Partition {
			if since := m.waits[at]; since != nil {
				delete(m.waits, at)
				h.found = append(h.found, h.d.begins(since, op, at, op.Records[i].Offset)...)
			}
		}
		m.next[at] = op.Records[i].Offset + 1
	}
	for _, p := range op.Positions {
		m.next[Place{p.TopicID, p.Partition}] = p.Offset
	}
}

// begins judges the first record that a member is given of a partition.
func (d *dossier) begins(since, poll *history.Operation, at Place, first int64) []Violation {
	p, h := d.at[at], d.offset[poll.Group][at]
	if d.unsure(at) || h == nil || p.committed == nil {
		return nil
	}
	lowest := int64(0) // of the positions that lead to this record
	if before := p.committed.before(first); before != nil {
		lowest = before.Offset + 1
	}
	c := h.contradicts(since, poll.Return, func(offset int64) bool { return lowest <= offset && offset <= first })
	switch {
	case c == nil:
		return nil
	case c.offset > first:
		return []Violation{{"INV-24", "given again", fmt.Sprintf(
			"group %s had committed %s up to %d with transaction %d, but client %d was then given %d", poll.Group, at, c.offset, c.op.Transaction, poll.Client, first),
			[]int64{c.op.ID, since.ID, poll.ID}, ofGroup(poll.Group, at, c.offset)}}
	}
	return []Violation{{"INV-9", "skipped record", fmt.Sprintf(
		"group %s had committed %s up to %d with transaction %d, but client %d was given %d next, and %d was due before", poll.Group, at, c.offset, c.op.Transaction,
		poll.Client, first, lowest-1), []int64{c.op.ID, since.ID, poll.ID}, ofGroup(poll.Group, at, lowest-1)}}
}

// before is the record before an offset that is in the log; nil: there is none.
func (l *Log) before(offset int64) *history.Record {
	i := sort.Search(len(l.Records), func(i int) bool { return l.Records[i].Offset >= offset })
	if i == 0 {
		return nil
	}
	return &l.Records[i-1]
}

// reset judges a member that begins somewhere by the reset policy: there was no
// position, or retention has passed it.
func (d *dossier) reset(since, op *history.Operation, at Place) []Violation {
	p, h := d.at[at], d.offset[op.Group][at]
	if d.unsure(at) || h == nil || p.final == nil {
		return nil
	}
	if c := h.contradicts(since, op.Return, func(offset int64) bool { return offset < p.final.Start }); c != nil {
		return []Violation{{"INV-24", "lost commit", fmt.Sprintf(
			"group %s had committed %s up to %d with transaction %d, but client %d began as if nothing were", op.Group, at, c.offset, c.op.Transaction, op.Client),
			[]int64{c.op.ID, since.ID, op.ID}, ofGroup(op.Group, at, c.offset)}}
	}
	return nil
}
