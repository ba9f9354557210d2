package sim

import "github.com/tamarack-mq/tamarack/core/effect"

// commitRule is INV-17 as far as it shows outside: what a voter has applied
// never falls while it runs, and every voter applies the same entries (every
// image at one version is the same: INV-20).
type commitRule struct {
	blind
	told []appliedTo // by node id
}

// appliedTo is how far one run of a node has applied the log.
type appliedTo struct {
	run     uint32
	version uint64
}

func (*commitRule) Invariant() string { return "INV-17" }

func (*commitRule) Looks() scope { return ofImages }

func (o *commitRule) Stepped(w *World, n *Node, _ effect.Input, _ []effect.Effect) {
	c := n.Core()
	if c == nil || c.Controller() == nil || !w.book.meta.at(n.id).moved {
		return
	}
	o.judge(w, n, uint64(c.Controller().Image().Version()))
}

// judge takes note of how far one run of a controller has applied the log.
func (o *commitRule) judge(w *World, n *Node, v uint64) {
	for int(n.id) >= len(o.told) {
		o.told = append(o.told, appliedTo{})
	}
	at := &o.told[n.id]
	if at.run != n.run {
		*at = appliedTo{run: n.run}
	}
	if v < at.version {
		w.fail("INV-17", n.id, "a commit index falls", "the controller on node %d goes back from version %d to %d", n.id, at.version, v)
		return
	}
	at.version = v
}
