package sim

import (
	"slices"

	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/metadata"
)

// broker strikes with what an operator does about brokers.
func (o *operator) broker(w *World, u *user, f *activeFault) {
	n := w.target(f.plan)
	if n == nil {
		return
	}
	switch f.plan.Kind {
	case Drain:
		o.order(u, "drain", &message.DrainBroker{Node: n.node()})
		if f.plan.For > 0 {
			f.undo = append(f.undo, func() { o.order(u, "undrain", &message.DrainBroker{Node: n.node(), Undo: true}) })
		}
	case RemoveBroker:
		o.order(u, "remove-broker", &message.UnregisterBroker{Node: n.node()})
	case Retire:
		o.order(u, "drain", &message.DrainBroker{Node: n.node()})
		o.retiring = append(o.retiring, retirement{node: n, until: w.now + 20*Second, back: max(f.plan.For, Millisecond)})
		u.next(100 * Millisecond)
	}
}

// retirement is a broker that is taken out of the cluster in good order: it is
// drained, and when it is empty shut down and removed; later it comes back as a
// new one.
type retirement struct {
	node    *Node
	until   Span // given up then
	back    Span
	stopped bool
	asked   Span // when its removal was asked for last
}

// act takes every retirement as far as it goes now.
func (o *operator) act(u *user, _ uint64) {
	w := u.world
	if w.phase >= draining {
		o.retiring, o.again = nil, nil
		o.help(w, u)
		return
	}
	again := o.again
	o.again = nil
	for _, t := range again {
		o.create(u, t)
	}
	kept := o.retiring[:0]
	for _, r := range o.retiring {
		if w.now < r.until && o.retire(w, u, &r) {
			kept = append(kept, r)
		}
	}
	if o.retiring = kept; len(kept) > 0 {
		u.next(200 * Millisecond)
	}
}

// retire says whether a retirement goes on.
func (o *operator) retire(w *World, u *user, r *retirement) bool {
	image, n := w.newest(), r.node
	if image == nil {
		return true // there was no controller yet
	}
	b := image.Broker(n.node())
	switch {
	case b == nil:
		o.order(u, "undrain", &message.DrainBroker{Node: n.node(), Undo: true}) // too late, and refused
		return false
	case !b.Draining && !r.stopped:
		return true // the request is on its way
	case image.Hosts(n.node()) > 0:
		return true
	case !r.stopped:
		r.stopped = true
		n.restartIn = r.back
		if n.up {
			n.step(effect.Shutdown{})
			w.in(30*Second, event{kind: evNodeDies, place: n.id, run: n.run, arg: 2})
		}
	case b.Fenced && w.now > r.asked+Second:
		r.asked = w.now
		o.order(u, "remove-broker", &message.UnregisterBroker{Node: n.node()})
	}
	return true
}

// help does what an operator has to do so that the cluster can come to rest: it
// lifts the throttle, calls off moves to nodes that are broken for good, and
// with nodes missing gives up drains, for which there may be nobody left, and a
// min.insync that those that are left cannot give.
func (o *operator) help(w *World, u *user) {
	if w.phase >= over || w.quiet > 0 {
		return
	}
	u.next(500 * Millisecond)
	image := w.newest()
	if image == nil || o.open > 0 {
		return
	}
	if image.Throttle() > 0 {
		o.order(u, "throttle", &message.AlterReassignments{Throttle: -1})
	}
	broken := func(id message.NodeID) bool { return w.nodes[id].forGood }
	missing := false
	for _, n := range w.nodes[1:] {
		missing = missing || n.forGood
	}
	// Groups need as many brokers as their topic has replicas.
	if missing || image.TopicNamed(offsetsTopic) == nil {
		o.undrain(u)
	}
	if !missing {
		return
	}
	o.cancel(u, movesOf(image, func(p *message.PartitionChange) bool {
		return slices.ContainsFunc(p.Replicas, broken)
	}))
	for _, m := range relief(image, broken) {
		if w.atlas.mayAlter(o, m) {
			o.order(u, "alter-topic", m)
		}
	}
}

// relief are the settings with which partitions go on that have fewer replicas left
// than min.insync: by right they commit nothing, for ever. There were none when the
// nodes were left broken. A request of before may come through all the same, behind
// newer ones, and raise the setting or take other replicas away.
func relief(image *metadata.Image, broken func(message.NodeID) bool) (asks []*message.AlterConfig) {
	for _, t := range image.Topics() {
		least := 0
		for _, p := range t.Partitions {
			left := metadata.Factor(p)
			for _, m := range p.Replicas[:left] {
				if broken(m) {
					left--
				}
			}
			if left > 0 && left < t.Config.LeastInsync(metadata.Factor(p)) && (least == 0 || left < least) {
				least = left
			}
		}
		if least > 0 {
			asks = append(asks, &message.AlterConfig{Topic: t.Name, Set: []message.Setting{{Key: insyncKey, Value: itoa(least)}}})
		}
	}
	return asks
}

// moveUnrest says which operations on replicas and brokers have not come to an
// end.
func (w *World) moveUnrest(add complain) {
	image := w.newest()
	for p := range image.Partitions() {
		if len(p.Target) > 0 && !w.book.part(p.ID).forsaken() {
			add("a move of replicas does not end", "to %v, adding %v, of %s", p.Target, p.Adding, w.tellPartition(p))
		}
	}
	for _, b := range image.Brokers() {
		if b.Draining && image.Hosts(b.Node) > 0 && !w.keptOnly(b.Node) {
			add("a broker is not drained", "node %d holds %d replicas", b.Node, image.Hosts(b.Node))
		}
	}
}

// keptOnly says that all that a broker holds are partitions that are offline
// until an operator acts: there is nobody to copy them from.
func (w *World) keptOnly(id message.NodeID) bool {
	for p := range w.newest().Partitions() {
		if slices.Contains(p.Replicas, id) && !w.book.part(p.ID).forsaken() {
			return false
		}
	}
	return true
}

// addBroker starts a node that has never run.
func (w *World) addBroker(n *Node) {
	if n != nil && !n.up && n.absent {
		n.absent = false
		w.mark(markBrokerAdded)
		n.startIn(Millisecond)
	}
}
