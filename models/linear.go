package models

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/tamarack-mq/tamarack/history"
)

// maxLinear is the largest object, in operations, that porcupine is asked about:
// its cost grows faster than the history. Of a log it only confirms what inTurn has
// found, which is exact, and it is asked of fewer.
const (
	maxLinear    = 2000
	maxConfirmed = 300
)

// linearTime is how long porcupine may think about one object. When it runs
// out the object counts as not judged: the linear-time checks have seen it.
const linearTime = 5 * time.Second

// linearizable has porcupine confirm that the appends and reads of each
// partition, and the commits and fetches of each group's position, took effect
// one at a time between call and answer.
// Transactions need no search: which outcome each had, and at which offset each of its
// records stands, is known from the logs at rest, so that nothing is left to guess
// (see atomicity). The positions that they commit are among those of the group.
func linearizable(d *dossier) []Violation {
	var found []Violation
	for _, at := range d.places {
		p := d.at[at]
		if p.final == nil {
			continue
		}
		calls := d.callsOf(p)
		if !inTurn(calls) || len(calls) > 1 && len(calls) <= maxConfirmed &&
			porcupine.CheckOperationsTimeout(logModel, logOperations(calls), linearTime) == porcupine.Illegal {
			found = append(found, Violation{"INV-3", "not linearizable", fmt.Sprintf(
				"appends and reads of %s fit into no order (%d operations)", at, len(calls)), nil, ofPlace(at)})
		}
	}
	for _, group := range d.groups {
		for _, at := range d.places {
			h := d.offset[group][at]
			if h == nil || d.Gone[at] {
				continue
			}
			if ops := ownerOperations(h); len(ops) > 1 && len(ops) <= maxLinear &&
				porcupine.CheckOperationsTimeout(ownerModel, ops, linearTime) == porcupine.Illegal {
				found = append(found, Violation{"INV-21", "not linearizable", fmt.Sprintf(
					"the commits that group %s accepted for %s fit into no order of owners (%d operations)", group, at, len(ops)), nil, ofGroup(group, at, history.None)})
			}
			if ops := offsetOperations(h); !d.shaken(group, at, h) && len(ops) > 1 && len(ops) <= maxLinear &&
				porcupine.CheckOperationsTimeout(offsetModel, ops, linearTime) == porcupine.Illegal {
				found = append(found, Violation{"INV-24", "not linearizable", fmt.Sprintf(
					"commits and fetches of group %s for %s fit into no order (%d operations)", group, at, len(ops)), nil, ofGroup(group, at, history.None)})
			}
		}
	}
	return found
}

// appended is an append whose place in the log is known: it follows the record
// at before. read is a read that saw everything below end.
type (
	appended struct{ before, offset int64 }
	read     struct{ end int64 }
)

// nothingAppended is the state of an empty log.
var nothingAppended any = appended{-1, -1}

// logModel is an append-only log. Its state is the append of the last record:
// which record stands where is known from the log at rest, so that appends
// without an answer are no longer in doubt (unanswered appends make the search
// explode). A read may show an older state than the present one, as consumers
// may ask a leader that does not know yet that it is deposed; it must not show
// what was not yet appended.
var logModel = porcupine.Model{
	Init: func() any { return nothingAppended },
	Step: func(state, input, _ any) (bool, any) {
		last := state.(appended).offset
		switch in := input.(type) {
		case appended:
			return last == in.before, input
		case read:
			return in.end <= last, state
		}
		return false, state
	},
	Equal:             func(a, b any) bool { return a == b },
	DescribeOperation: func(input, _ any) string { return fmt.Sprintf("%+v", input) },
}

// logCall is a publish that stands in the log at rest, or a read.
type logCall struct {
	op      *history.Operation
	publish bool
	offset  int64 // of the record; of the last one that the read returned
	ret     int64 // when its effect was there at the latest
}

// callsOf are the operations of one partition: publishes that stand in the log at
// rest, by their offsets, and then reads. Where records were given up, only what the
// log has at rest is told of by it: all of that was appended in its order.
func (d *dossier) callsOf(p *partition) []logCall {
	lossy, kept := d.lossy(p.place), d.kept(p.place)
	calls := make([]logCall, 0, len(p.publishes)+len(p.reads))
	for _, op := range p.publishes {
		where := op.in(p)
		if lossy {
			where = p.standsAt(where, op.Value)
		}
		if len(where) == 0 {
			continue
		}
		place, acked := where[0], op.Outcome == history.OK && op.Acks == -1
		if lossy && acked && !slices.Contains(where, op.Offset) {
			acked = false // that copy was given up
		}
		if acked {
			place = op.Offset // without idempotence there may be other copies; nobody need have seen this one
		}
		if place < p.final.Start {
			continue
		}
		ret := op.Return
		if !acked {
			ret = history.Open
		}
		calls = append(calls, logCall{op.Operation, true, place, ret})
	}
	slices.SortFunc(calls, func(a, b logCall) int { return cmp.Compare(a.offset, b.offset) })
	last := int64(-1)
	if len(calls) > 0 {
		last = calls[len(calls)-1].offset
	}
	for _, op := range p.reads {
		if op.Outcome != history.OK || len(op.Records) == 0 {
			continue
		}
		// The last record that the read returned and that is among the appends.
		if end := lastKnown(op, p, min(last, kept-1)); end >= 0 {
			calls = append(calls, logCall{op, false, end, op.Return})
		}
	}
	return calls
}

// inTurn says whether the calls of a log are linearizable. Their order is known: an
// append takes effect not before any that stands below it was called, and a read not
// before what it returned was appended. The earliest times that this allows are the
// best for all: if one of them is too late, no order fits.
func inTurn(calls []logCall) bool {
	earliest := int64(math.MinInt64)
	var appends int
	times := make([]int64, 0, len(calls)) // of the appends
	for ; appends < len(calls) && calls[appends].publish; appends++ {
		c := &calls[appends]
		if earliest = max(earliest, c.op.Invoke); earliest > c.ret {
			return false
		}
		times = append(times, earliest)
	}
	for i := appends; i < len(calls); i++ {
		c := &calls[i]
		k, _ := slices.BinarySearchFunc(calls[:appends], c.offset, func(a logCall, offset int64) int { return cmp.Compare(a.offset, offset) })
		if k == appends || times[k] > c.ret {
			return false
		}
	}
	return true
}

// logOperations are the calls of one partition for porcupine.
func logOperations(calls []logCall) []porcupine.Operation {
	ops := make([]porcupine.Operation, 0, len(calls))
	before := int64(-1)
	for i := range calls {
		c := &calls[i]
		op := porcupine.Operation{ClientId: int(c.op.Client), Call: c.op.Invoke, Return: c.ret}
		if c.publish {
			op.Input = appended{before, c.offset}
			before = c.offset
		} else {
			op.Input = read{c.offset}
		}
		ops = append(ops, op)
	}
	return distinctClients(ops)
}

func lastKnown(op *history.Operation, p *partition, last int64) int64 {
	for i := len(op.Records) - 1; i >= 0; i-- {
		if o := op.Records[i].Offset; o >= p.final.Start && o <= last {
			return o
		}
	}
	return -1
}

// distinctClients numbers operations so that porcupine sees at most one open
// call a client: a producer has several calls open at once.
func distinctClients(ops []porcupine.Operation) []porcupine.Operation {
	for i := range ops {
		ops[i].ClientId = i
	}
	return ops
}

// offsetOperations are the commits and fetches of one group and partition.
func offsetOperations(h *offsetHistory) []porcupine.Operation {
	if h.sought {
		return nil // what members commit by themselves may be any place then: commits has the say
	}
	known := map[int64]bool{history.None: true}
	transactions := false
	for _, c := range h.commits {
		known[c.offset] = true
		transactions = transactions || c.op.Transaction != 0
	}
	var ops []porcupine.Operation
	for _, c := range h.commits {
		if c.outcome == history.Failed {
			continue
		}
		ops = append(ops, porcupine.Operation{Input: commit{c.offset}, Call: c.from, Return: c.until})
	}
	for _, f := range h.fetches {
		if !known[f.offset] {
			return nil // clients commit by themselves in this group: commits has the say
		}
		if transactions && !f.op.Committed {
			return nil // who does not wait for the end of transactions may see them late
		}
		ops = append(ops, porcupine.Operation{Input: fetch{f.offset}, Call: f.op.Invoke, Return: f.op.Return})
	}
	return distinctClients(ops)
}

type (
	commit struct{ offset int64 }
	fetch  struct{ offset int64 }
)

// offsetModel is a register that holds the committed position.
var offsetModel = porcupine.Model{
	Init: func() any { return history.None },
	Step: func(state, input, _ any) (bool, any) {
		switch in := input.(type) {
		case commit:
			return true, in.offset
		case fetch:
			return state.(int64) == in.offset, state
		}
		return false, state
	},
	Equal:             func(a, b any) bool { return a == b },
	DescribeOperation: func(input, _ any) string { return fmt.Sprintf("%+v", input) },
}

// ownership is who owns a partition of a group, and who did before.
type ownership struct {
	owner owner
	past  string // former owners, each followed by a line end
}

// ownerModel is the right to commit one partition: it passes from owner to
// owner, and none comes back under the same epoch.
var ownerModel = porcupine.Model{
	Init: func() any { return ownership{} },
	Step: func(state, input, _ any) (bool, any) {
		s, by := state.(ownership), input.(owner)
		switch {
		case s.owner == by:
			return true, s
		case strings.Contains(s.past, by.line()):
			return false, s
		}
		if s.owner != (owner{}) {
			s.past += s.owner.line()
		}
		s.owner = by
		return true, s
	},
	Equal:             func(a, b any) bool { return a == b },
	DescribeOperation: func(input, _ any) string { return "commit by " + strings.TrimSuffix(input.(owner).line(), "\n") },
}

// owner is one member in one epoch.
type owner struct {
	member string
	epoch  int64
}

func (o owner) line() string { return fmt.Sprintf("%s@%d\n", o.member, o.epoch) }

// ownerOperations are the accepted commits of one group and partition whose
// member is known. Commits without an answer say nothing about an owner.
func ownerOperations(h *offsetHistory) []porcupine.Operation {
	var ops []porcupine.Operation
	for _, c := range h.commits {
		if c.op.Outcome == history.OK && c.op.Member != "" {
			ops = append(ops, porcupine.Operation{Input: owner{c.op.Member, c.op.Epoch}, Call: c.op.Invoke, Return: c.op.Return})
		}
	}
	return distinctClients(ops)
}

// stableByTime sorts by the moment at which a client knew the outcome; what is
// open goes last.
func stableByTime(ops []*history.Operation) {
	type placed struct {
		at int64
		i  int
		op *history.Operation
	}
	sorted := make([]placed, len(ops))
	for i, op := range ops {
		sorted[i] = placed{op.Return, i, op}
	}
	slices.SortFunc(sorted, func(a, b placed) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.i, b.i)) })
	for i := range sorted {
		ops[i] = sorted[i].op
	}
}
