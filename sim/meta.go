package sim

import (
	"slices"

	"github.com/tamarack-mq/tamarack/core"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/metadata"
	"github.com/tamarack-mq/tamarack/core/record"
)

// metaBook follows the metadata: the newest image that any voter has committed, how
// far each node has come, and what the step at hand has changed.
type metaBook struct {
	image   *metadata.Image
	version message.Version
	seen    []seenImages // by node id
	brokers []*message.BrokerChange
	live    int   // partitions that are not deleted
	active  int32 // the last active controller
	changed []partChange
	swapped []message.NodeID          // brokers registered in the step at hand with another disk than the fenced run before
	entries message.Version           // that the newest image was taken forward by
	names   map[string]record.TopicID // the newest topic of each name
	altered altered
	empty   map[message.NodeID]bool // drained brokers without replicas
	removed map[message.NodeID]bool // brokers that were removed and are not back
}

// seenImages are the versions of a node's images as last looked at.
type seenImages struct {
	committed, applied message.Version
	moved              bool // in the step at hand
}

// partChange is one committed change of a partition.
type partChange struct {
	part     *partBook
	old, new *message.PartitionChange
}

func (m *metaBook) at(node int32) *seenImages {
	for int(node) >= len(m.seen) {
		m.seen = append(m.seen, seenImages{})
	}
	return &m.seen[node]
}

func (m *metaBook) started(n *Node) { *m.at(n.id) = seenImages{} }

// stepped looks whether a step moved an image.
func (m *metaBook) stepped(w *World, n *Node, c *core.Node) {
	m.changed, m.swapped = m.changed[:0], m.swapped[:0]
	s := m.at(n.id)
	s.moved = false
	if v := c.Image().Version(); v != s.applied {
		s.applied, s.moved = v, true
	}
	controller := c.Controller()
	if controller == nil {
		return
	}
	if n.forgot {
		w.atlas.forgetful(n) // looks whether it is whole again
	}
	image := controller.Image()
	if v := image.Version(); v != s.committed {
		s.committed, s.moved = v, true
		if v > m.version {
			m.advance(w, image)
		}
	}
	if controller.Active() && m.active != n.id {
		if m.active != 0 {
			w.mark(markControllerChanged)
		}
		m.active = n.id
	}
}

// advance takes over a newer image and finds out what it changed.
func (m *metaBook) advance(w *World, image *metadata.Image) {
	m.entries = image.Version() - m.version
	m.image, m.version = image, image.Version()
	m.altered.follow(w, image, m.active)
	there := 0 // of those that live
	for state := range image.Partitions() {
		part := w.book.part(state.ID)
		if !part.deleted {
			there++
		}
		if part.state == state {
			continue
		}
		if part.state == nil {
			m.live++
			m.made(w, image.Topic(state.ID.Topic))
			w.atlas.begins(part, state)
		}
		m.changed = append(m.changed, partChange{part, part.state, state})
		part.mean(part.state, state)
		w.markChange(part.state, state)
		if begunUncleanly(part.state, state) {
			if r := part.at(int32(state.Leader)); !part.unclean && (r == nil || r.durable < part.high) {
				w.mark(markGivenUp)
			}
			if !part.unclean {
				part.asked, part.lowStart = w.now, part.shownStart
			}
			part.uncleanly(state.LeaderEpoch)
		}
		if b := image.Broker(state.Leader); b != nil {
			part.elected(part.state, state, b.Incarnation)
		}
		part.state = state
		w.atlas.follow(state)
	}
	if there < m.live {
		m.deleted(w, image)
	}
	w.markBrokers(m.brokers)
	for i, b := range image.Brokers() {
		if i < len(m.brokers) && m.brokers[i] != b && m.brokers[i].Node == b.Node && b.Fenced && !m.brokers[i].Fenced {
			w.mark(markBrokerFenced)
		}
	}
	for _, old := range m.brokers {
		if b := image.Broker(old.Node); b != nil && b.DiskID != old.DiskID && old.Fenced {
			m.swapped = append(m.swapped, b.Node)
		}
	}
	m.brokers = append(m.brokers[:0], image.Brokers()...)
}

// deleted finds the partitions that an image has no more.
func (m *metaBook) deleted(w *World, image *metadata.Image) {
	for _, part := range w.book.list {
		if part.state != nil && !part.deleted && image.Partition(part.id) == nil {
			part.deleted = true
			m.live--
			w.atlas.gone(part.id)
			w.mark(markTopicDeleted)
		}
	}
}

// mean notes where a partition is meant to be.
func (p *partBook) mean(old, new *message.PartitionChange) {
	p.unsure = p.unsure || old != nil && new.PartitionEpoch > old.PartitionEpoch+1
	for _, set := range [][]message.NodeID{metadata.Original(new), new.Target} {
		if len(set) > 0 && !p.meantToBe(set) {
			p.meant = append(p.meant, set)
		}
	}
}

func (p *partBook) meantToBe(at []message.NodeID) bool {
	return slices.ContainsFunc(p.meant, func(set []message.NodeID) bool { return slices.Equal(set, at) })
}

// made notes a topic that was made, or grown.
func (m *metaBook) made(w *World, t *metadata.Topic) {
	if m.names == nil {
		m.names = map[string]record.TopicID{}
	}
	if before, ok := m.names[t.Name]; ok && before != t.ID {
		w.mark(markTopicRecreated)
	}
	m.names[t.Name] = t.ID
}

// markChange notes what is rare about a change of a partition.
func (w *World) markChange(old, new *message.PartitionChange) {
	if len(new.ELR) > 0 {
		w.mark(markEligibleSet)
	}
	if len(new.ISR) < 2 {
		w.mark(markBelowMinInsync)
	}
	if old == nil {
		if new.ID.Index > 0 && new.PartitionEpoch == 0 {
			w.mark(markPartitionsAdded)
		}
		return
	}
	w.markMove(old, new)
	switch {
	case len(new.ISR) < len(old.ISR):
		w.mark(markISRShrunk)
	case len(new.ISR) > len(old.ISR):
		w.mark(markISRGrown)
	}
	if new.Leader == old.Leader {
		return
	}
	if t := w.newest().Topic(new.ID.Topic); t != nil && t.Name == offsetsTopic && new.Leader != message.NoNode {
		w.mark(markCoordinatorMoved)
	} else if t != nil && t.Name == statesTopic && new.Leader != message.NoNode {
		w.mark(markTransactionsMoved)
	}
	switch {
	case new.Leader == message.NoNode:
		w.mark(markPartitionOffline)
	case new.Unclean:
		w.mark(markElectedUnclean)
	case !slices.Contains(old.ISR, new.Leader):
		w.mark(markElectedFromEligible)
	default:
		w.mark(markLeaderElected)
	}
}

// imageFolder folds images of one node one after the other. What it folded last
// it mostly does not fold again: the states of partitions are never changed, only
// replaced. Now and then it folds all, to see that this is so. The zero value is
// ready.
type imageFolder struct {
	known []foldedPartition
	turn  uint8
}

type foldedPartition struct {
	state  *message.PartitionChange
	digest uint64
}

// imageDigest folds a whole image, but for its version.
func imageDigest(image *metadata.Image) uint64 { return new(imageFolder).digest(image) }

// digest is imageDigest.
func (f *imageFolder) digest(image *metadata.Image) uint64 {
	if f.turn++; f.turn%8 == 0 {
		clear(f.known)
	}
	known := f.known
	k := 0
	var r rolling
	r.fold(uint64(image.NextProducerID()))
	r.text(image.ClusterID())
	r.fold(uint64(image.Throttle()))
	for _, s := range image.SettingsOf() {
		foldSettingsChange(&r, s)
	}
	if c := image.Controllers(); c != nil {
		foldControllers(&r, c)
	}
	for _, b := range image.Brokers() {
		foldChange(&r, &message.Change{Broker: b})
	}
	for _, t := range image.Topics() {
		r.fold(uint64(t.ID))
		r.text(t.Name)
		foldTopicConfig(&r, &t.Config)
		for _, p := range t.Partitions {
			if k == len(known) {
				known = append(known, foldedPartition{})
			}
			if one := &known[k]; one.state != p {
				var d rolling
				foldPartition(&d, p)
				one.state, one.digest = p, uint64(d)
			}
			r.fold(known[k].digest)
			k++
		}
	}
	clear(known[k:])
	f.known = known[:k]
	return uint64(r)
}
