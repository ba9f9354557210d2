package sim

// shortJournals is INV-38 for the journals of the controllers: at rest, when all that
// was written is committed, none is longer than the size at which it is replaced by a
// snapshot. It is not looked at where no plan comes near that size.
type shortJournals struct{ blind }

func (*shortJournals) Invariant() string { return "INV-38" }

func (*shortJournals) Looks() scope { return 0 }

func (o *shortJournals) Rested(w *World) {
	for _, n := range w.nodes[1:] {
		if most := w.plan.Cluster.QuorumBytes; most > 0 && n.up && !n.forGood && n.votes() && w.voteless(n) == "" {
			nb := w.book.node(n.id)
			o.judge(w, n, nb.grown, nb.snapshot, most)
		}
	}
}

// judge allows for the heads of frames, which are not counted, and for what is not
// committed when the snapshot is taken.
func (*shortJournals) judge(w *World, n *Node, grown, snapshot, most int) {
	if grown > 2*max(most, snapshot)+2<<10 {
		w.fail("INV-38", n.id, "a journal grows beyond its limit", "the journal of node %d holds %d bytes behind a snapshot of %d, and is to be replaced by one with %d", n.id, grown, snapshot, most)
	}
}
