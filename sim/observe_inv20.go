package sim

import (
	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/metadata"
)

// oneHistory is INV-20 (and INV-17 for what is applied): every image of the
// cluster, of every voter and every broker, is the one that the committed log
// gives at its version, and none goes back.
type oneHistory struct {
	blind
	digests map[message.Version]uint64
	applied []message.Version // of brokers, by node id, in their present run
	runs    []uint32
	folders []nodeFolders // by node id
}

// nodeFolders are those of the two images of a node.
type nodeFolders struct{ broker, voter imageFolder }

func (*oneHistory) Invariant() string { return "INV-20" }

func (o *oneHistory) Stepped(w *World, n *Node, _ effect.Input, _ []effect.Effect) {
	s := w.book.meta.at(n.id)
	c := n.Core()
	if !s.moved || c == nil {
		return
	}
	for int(n.id) >= len(o.applied) {
		o.applied = append(o.applied, 0)
		o.runs = append(o.runs, 0)
		o.folders = append(o.folders, nodeFolders{})
	}
	if o.runs[n.id] != n.run {
		o.runs[n.id], o.applied[n.id] = n.run, 0
	}
	if v := c.Image().Version(); v < o.applied[n.id] {
		w.fail("INV-20", n.id, "a broker's image goes back", "the image of node %d goes back from version %d to %d", n.id, o.applied[n.id], v)
		return
	}
	o.applied[n.id] = c.Image().Version()
	folders := &o.folders[n.id]
	o.compare(w, n, c.Image(), &folders.broker, "the broker")
	if controller := c.Controller(); controller != nil {
		o.compare(w, n, controller.Image(), &folders.voter, "the controller")
		if c.Image().Version() > w.book.meta.version {
			w.fail("INV-20", n.id, "a broker is ahead of the committed log", "the image of node %d is at version %d, but no voter has committed more than %d", n.id, c.Image().Version(), w.book.meta.version)
		}
	}
}

func (o *oneHistory) compare(w *World, n *Node, image *metadata.Image, f *imageFolder, whose string) {
	if o.digests == nil {
		o.digests = map[message.Version]uint64{}
	}
	v := image.Version()
	d := f.digest(image)
	if before, ok := o.digests[v]; ok && before != d {
		w.fail("INV-20", n.id, "two images differ at one version", "%s on node %d has at version %d another image of the cluster than was seen elsewhere", whose, n.id, v)
		return
	}
	o.digests[v] = d
}
