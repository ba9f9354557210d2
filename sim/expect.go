package sim

import "fmt"

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

// Invariants lists the invariants that observers enforce.
func Invariants() []string {
	var names []string
	for _, o := range newObservers() {
		names = append(names, o.Invariant())
	}
	return append(names, "INV-1", "INV-28", "INV-34", "INV-36", "INV-37")
}
