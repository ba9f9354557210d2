package sim

import "github.com/tamarack-mq/tamarack/core/effect"

// wokenInTime is the part of INV-34 that a node can be late with at any time: it asks
// to be woken when the first of its rooms has something to do. A room that is woken
// late does all that it should, and only later.
type wokenInTime struct{ blind }

func (*wokenInTime) Invariant() string { return "INV-34" }

func (*wokenInTime) Looks() scope { return ofWakes }

// wakesEvery is after how many steps it looks.
const wakesEvery = 16

func (o *wokenInTime) Stepped(w *World, n *Node, _ effect.Input, out []effect.Effect) {
	if c := n.Core(); c != nil && w.stats.Steps%wakesEvery == 0 && !halts(out) {
		at := min(c.Replicas().Wake(), c.Groups().Wake(), c.Transactions().Wake())
		if c.Controller() != nil {
			at = min(at, c.Controller().Wake())
		}
		o.judge(w, n, int64(c.Wake()), int64(at))
	}
}

func halts(out []effect.Effect) bool {
	if len(out) == 0 {
		return false
	}
	_, ok := out[len(out)-1].(effect.Halt)
	return ok
}

func (*wokenInTime) judge(w *World, n *Node, asked, due int64) {
	if asked > due {
		w.fail("INV-34", n.id, "a node oversleeps", "node %d asks to be woken at %d, and one of its rooms has something to do at %d", n.id, asked, due)
	}
}
