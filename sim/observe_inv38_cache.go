package sim

// countedCache is INV-38 for what storage keeps in memory: at rest it holds what it
// counts as used. What is counted and not held is never room again; what is held and not
// counted has no bound.
type countedCache struct{ blind }

func (*countedCache) Invariant() string { return "INV-38" }

func (*countedCache) Looks() scope { return 0 }

func (o *countedCache) Rested(w *World) {
	for _, n := range w.nodes[1:] {
		if n.up && n.drive.store != nil {
			counted, held := n.drive.store.Cached()
			o.judge(w, n, counted, held)
		}
	}
}

func (*countedCache) judge(w *World, n *Node, counted, held int64) {
	if counted != held {
		w.fail("INV-38", n.id, "a cache does not hold what it counts", "the cache of node %d counts %d bytes as used, and holds %d", n.id, counted, held)
	}
}
