package sim

import "fmt"

// Saved is what a plan did when it was saved as a failure. It does not change
// how the plan plays; who replays it is told whether it still fails like that.
type Saved struct {
	Class       Class  `json:"class"`
	Fingerprint string `json:"fingerprint"`
	Sentence    string `json:"sentence"`
	Event       uint64 `json:"event"`
	Hash        string `json:"hash"`
	Code        string `json:"code"`          // the commit, and whether it was edited
	Bug         string `json:"bug,omitempty"` // planted in the code; empty: none
	// Script is what chance had decided: it plays on when chance has changed with
	// the code. None if the plan has a script of its own.
	Script *Script `json:"script,omitempty"`
}

// Failed returns a copy of a plan that tells how a run of it failed, by which commit
// and with which planted bug in it (empty: none). Of a run that noted what it found out (Options.Record) the script is kept.
func Failed(p *Plan, r *Result, code, bug string) *Plan {
	c := p.Copy()
	c.Saved = &Saved{
		Class: r.Class, Fingerprint: r.Failure.Fingerprint(), Sentence: r.Failure.Sentence,
		Event: r.Failure.Event, Hash: hexOf(r.Hash), Code: code, Bug: bug,
	}
	if r.Recorded != nil && p.Script == nil {
		c.Saved.Script = &Script{append([]Decision{}, r.Recorded.Decisions...)}
	}
	return c
}

// Scripted returns a copy of a saved plan in which its script decides in place of
// chance, which the code that it was saved by plays as it did then; the plan itself if
// it has none.
func (p *Plan) Scripted() *Plan {
	if p.Saved == nil || p.Saved.Script == nil {
		return p
	}
	return (&Recording{Decisions: p.Saved.Script.Decisions}).InStep(p)
}

// Fails says in what a result differs from what a plan did when it was saved;
// empty: in nothing.
func (s *Saved) Fails(r *Result) string {
	switch {
	case r.Failure == nil:
		return fmt.Sprintf("it does not fail any more (%s); it broke %s", r.Class, s.Fingerprint)
	case r.Failure.Fingerprint() != s.Fingerprint:
		return "it fails in another way: " + r.Failure.Fingerprint() + "; it broke " + s.Fingerprint
	case hexOf(r.Hash) != s.Hash:
		return "it fails in the same way, by another course"
	}
	return ""
}

func hexOf(hash uint64) string { return fmt.Sprintf("%016x", hash) }
