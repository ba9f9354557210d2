package sim

import (
	"cmp"
	"time"

	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/log"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/metadata"
	"github.com/tamarack-mq/tamarack/core/record"
	"github.com/tamarack-mq/tamarack/core/settings"
)

// settingsInForce is INV-40: from the step on in which a node's image has a
// setting, the node goes by it, and by no older one: replicas by those of their
// topics, the node by its own, its controller by what it has committed itself.
// That the images are those of the committed log is INV-20.
type settingsInForce struct {
	blind
	versions []message.Version // of the images that were looked at, by node
	fits     message.Version   // of the newest image that was looked at
}

func (*settingsInForce) Invariant() string { return "INV-40" }

func (*settingsInForce) Looks() scope { return ofReplicas | ofImages }

func (o *settingsInForce) Stepped(w *World, n *Node, _ effect.Input, _ []effect.Effect) {
	c := n.Core()
	if c == nil {
		return
	}
	image := c.Image()
	by := settledBy{n.run, image.Version()}
	for _, r := range w.book.touched {
		if r.settled != by && o.replica(w, n, image, r.part.id) {
			r.settled = by
		}
	}
	for int(n.id) >= len(o.versions) {
		o.versions = append(o.versions, 0)
	}
	if o.versions[n.id] == image.Version() || !w.book.meta.at(n.id).moved {
		return
	}
	o.versions[n.id] = image.Version()
	if newest := w.newest(); newest != nil && newest.Version() != o.fits {
		o.fits = newest.Version()
		start := c.Started()
		o.together(w, n, &start, newest.SettingsOf())
	}
	want := settings.Resolve(c.Started(), image.Settings(message.NoNode), image.Settings(n.node()))
	o.judge(w, n, "the node", c.Holds(), want)
	if k := c.Controller(); k != nil {
		image = k.Image()
		want = settings.Resolve(c.Started(), image.Settings(message.NoNode), image.Settings(n.node()))
		o.session(w, n, k.Session(), want.Duration(settings.SessionTimeout))
	}
}

func (o *settingsInForce) Rested(w *World) {
	for _, n := range w.nodes[1:] {
		if c := n.Core(); c != nil {
			for _, id := range c.Replicas().Partitions() {
				o.replica(w, n, c.Image(), id)
			}
		}
	}
}

// settledBy is an image in a run of a node.
type settledBy struct {
	run     uint32
	version message.Version
}

// replica holds what one replica goes by against its topic in the image. It says
// whether there was anything to judge.
func (o *settingsInForce) replica(w *World, n *Node, image *metadata.Image, id record.PartitionID) bool {
	least, retention, segment, ok := n.Core().Replicas().Goes(id)
	if !ok {
		return false
	}
	t := image.Topic(id.Topic)
	if t == nil || id.Index < 0 || int(id.Index) >= len(t.Partitions) {
		return false
	}
	p := t.Partitions[id.Index]
	if p == nil {
		return false
	}
	want := log.RetentionOf(t.Config)
	if t.Config.Internal {
		want = log.Retention{Age: -1}
	}
	o.topic(w, n, id, least, t.Config.LeastInsync(metadata.Factor(p)), retention, want, segment, t.Config.SegmentBytes)
	return true
}

func (o *settingsInForce) topic(w *World, n *Node, id record.PartitionID, least, wantLeast int, kept, wantKept log.Retention, segment, wantSegment int32) {
	switch {
	case least != wantLeast:
		w.fail("INV-40", n.id, "a replica goes by another min.insync than its topic has", "node %d holds partition %s to %d replicas in sync, but its image says %d", n.id, id, least, wantLeast)
	case kept != wantKept:
		w.fail("INV-40", n.id, "a replica goes by another retention than its topic has", "node %d keeps partition %s by the limits %+v, but its image says %+v", n.id, id, kept, wantKept)
	case segment != wantSegment:
		w.fail("INV-40", n.id, "a replica goes by another segment size than its topic has", "node %d rolls partition %s at %d bytes, but its image says %d", n.id, id, segment, wantSegment)
	}
}

func (o *settingsInForce) judge(w *World, n *Node, who string, is, want settings.Node) {
	if is != want {
		w.fail("INV-40", n.id, "a node goes by other settings than its image has", "%s %d goes by the settings %v, but by its image they are %v", who, n.id, is, want)
	}
}

// together says that what is committed fits: no node's session ends between two of
// its heartbeats. Nodes bend what does not, so nothing else would show it.
func (*settingsInForce) together(w *World, n *Node, start *settings.Node, scopes []*message.SettingsChange) {
	beat, session := time.Duration(start.Duration(settings.HeartbeatInterval)), time.Duration(start.Duration(settings.SessionTimeout))
	said := false
	for _, s := range scopes { // that of all nodes comes first
		ownBeat, ownSession := saidOf(s.Settings)
		if s.Node == message.NoNode {
			said = ownBeat > 0 || ownSession > 0
			beat, session = cmp.Or(ownBeat, beat), cmp.Or(ownSession, session)
		}
		if least := cmp.Or(ownBeat, beat); (said || ownBeat > 0) && 2*least > session {
			w.fail("INV-40", n.id, "a session that two heartbeats outlive is committed", "by the settings of node %d (0: of all) a heartbeat comes every %v, and a session ends after %v", s.Node, least, session)
			return
		}
		if s.Node != message.NoNode && ownBeat > 0 {
			w.mark(markOwnHeartbeat)
		}
	}
}

func (o *settingsInForce) session(w *World, n *Node, is, want message.Duration) {
	if is != want {
		w.fail("INV-40", n.id, "a controller goes by another session than is committed", "the controller on node %d gives sessions of %d ns, but by what it has committed they last %d", n.id, is, want)
	}
}
