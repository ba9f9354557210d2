package sim

// shortHistories is INV-38 for what controllers keep of the changes that they have made:
// at rest no more than they are to, by the settings that their run was started with. It
// is not looked at where no plan comes near that.
type shortHistories struct{ blind }

func (*shortHistories) Invariant() string { return "INV-38" }

func (*shortHistories) Looks() scope { return 0 }

func (o *shortHistories) Rested(w *World) {
	for _, n := range w.nodes[1:] {
		if c := n.Core(); n.up && n.tidy() > 0 && c != nil && c.Controller() != nil {
			o.judge(w, n, c.Controller().Remembered(), n.tidy())
		}
	}
}

func (*shortHistories) judge(w *World, n *Node, kept, most int) {
	if kept > most {
		w.fail("INV-38", n.id, "a controller forgets nothing", "node %d keeps %d changes for brokers that are behind, and is to keep %d", n.id, kept, most)
	}
}
