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
	nodes   []nodeImages // by node id
}

// nodeImages are the two images of a node in its present run.
type nodeImages struct {
	run           uint32
	applied       message.Version // of the broker's
	broker, voter comparedImage
}

// comparedImage is an image that was compared at a version. It is not compared
// again before its version moves.
type comparedImage struct {
	folder imageFolder
	at     message.Version
	known  bool
}

func (*oneHistory) Invariant() string { return "INV-20" }

func (*oneHistory) Looks() scope { return ofImages }

func (o *oneHistory) Stepped(w *World, n *Node, _ effect.Input, _ []effect.Effect) {
	s := w.book.meta.at(n.id)
	c := n.Core()
	if !s.moved || c == nil {
		return
	}
	for int(n.id) >= len(o.nodes) {
		o.nodes = append(o.nodes, nodeImages{})
	}
	images := &o.nodes[n.id]
	if images.run != n.run {
		images.run, images.applied, images.broker.known, images.voter.known = n.run, 0, false, false
	}
	if v := c.Image().Version(); v < images.applied {
		w.fail("INV-20", n.id, "a broker's image goes back", "the image of node %d goes back from version %d to %d", n.id, images.applied, v)
		return
	}
	images.applied = c.Image().Version()
	o.compare(w, n, c.Image(), &images.broker, "the broker")
	if controller := c.Controller(); controller != nil {
		o.compare(w, n, controller.Image(), &images.voter, "the controller")
		if c.Image().Version() > w.book.meta.version {
			w.fail("INV-20", n.id, "a broker is ahead of the committed log", "the image of node %d is at version %d, but no voter has committed more than %d", n.id, c.Image().Version(), w.book.meta.version)
		}
	}
}

func (o *oneHistory) compare(w *World, n *Node, image *metadata.Image, was *comparedImage, whose string) {
	if o.digests == nil {
		o.digests = map[message.Version]uint64{}
	}
	v := image.Version()
	if was.known && was.at == v {
		return
	}
	was.known, was.at = true, v
	d := was.folder.digest(image)
	if before, ok := o.digests[v]; ok && before != d {
		w.fail("INV-20", n.id, "two images differ at one version", "%s on node %d has at version %d another image of the cluster than was seen elsewhere", whose, n.id, v)
		return
	}
	o.digests[v] = d
}
