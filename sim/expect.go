package sim

import (
	"cmp"
	"fmt"
	"slices"
)

// Empty says that nothing is promised.
func (e *Expect) Empty() bool {
	return len(e.Holds) == 0 && len(e.Seen) == 0 && !e.Loss && !e.NoLoss && len(e.Owned) == 0 &&
		len(e.Groups) == 0 && len(e.Outputs) == 0 && !e.KeysInOrder && !e.KeysMoved && !e.Reread
}

// Unmet says which promises of a plan its run did not keep.
func Unmet(p *Plan, r *Result) (complaints []string) {
	if r.Class != Passed {
		complaints = append(complaints, fmt.Sprintf("the run ended as %q", r.Class))
	}
	seen := map[string]bool{}
	for _, m := range r.Marks {
		seen[m.Name] = true
	}
	for _, name := range p.Expect.Seen {
		if !seen[name] {
			complaints = append(complaints, fmt.Sprintf("it was not seen that %s", name))
		}
	}
	if lost := LostAcked(r.History); p.Expect.Loss && lost == 0 {
		complaints = append(complaints, "no record acknowledged with acks 0 or 1 was lost, which this scenario is to show")
	}
	complaints = append(complaints, unshown(&p.Expect, newEvidence(r.History))...)
	for i := range p.Expect.Outputs {
		complaints = append(complaints, p.Expect.Outputs[i].unmet(p, r.History)...)
	}
	return complaints
}

// validate says what a plan promises that nobody could find broken: a name that does
// not exist, or an amount that is none.
func (e *Expect) validate() error {
	for _, name := range e.Holds {
		if !slices.Contains(Invariants(), name) {
			return fmt.Errorf("expect.holds: nothing enforces %q", name)
		}
	}
	for _, name := range e.Seen {
		if !slices.Contains(MarkNames(), name) {
			return fmt.Errorf("expect.seen: there is no mark %q", name)
		}
	}
	var amounts []string
	for i := range e.Groups {
		amounts = append(amounts, e.Groups[i].Repeated, e.Groups[i].Skipped)
	}
	for i := range e.Outputs {
		amounts = append(amounts, e.Outputs[i].Repeated, e.Outputs[i].Skipped)
	}
	for _, amount := range amounts {
		if amount != "" && amount != "some" && amount != "none" {
			return fmt.Errorf("expect.groups, expect.outputs: %q is neither some nor none", amount)
		}
	}
	return nil
}

// judgedElsewhere are the invariants that no observer is named after: models judge
// them, or clients, disks and the end of a run do, or an observer of another.
var judgedElsewhere = []string{"INV-1", "INV-9", "INV-26", "INV-28", "INV-33", "INV-36", "INV-37"}

// Invariants are all that a run is judged by, in the order of their numbers: those of
// docs/invariants.md.
func Invariants() []string {
	names := slices.Clone(judgedElsewhere)
	for _, o := range newObservers() {
		names = append(names, o.Invariant())
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) })
	return slices.Compact(names)
}
