package sim

import (
	"slices"

	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/metadata"
	"github.com/tamarack-mq/tamarack/core/record"
)

// ownedLogs is INV-44: a broker holds what the committed metadata places on it,
// and nothing is placed where it must not be. A log is deleted only by a broker
// whose image does not place it there; a broker that is being drained gets no
// replica, and none is taken out of the cluster while it holds one or runs. That a
// broker is being drained outlives its runs: only an operator takes it back.
// The replicas of a new partition are on as many racks as there are, and so are those
// to which a partition moves because a broker is being drained.
type ownedLogs struct {
	blind
	draining []bool // by node id, as committed before the step at hand
	version  message.Version
	brokers  []*message.BrokerChange
	asked    map[record.PartitionID][][]message.NodeID // replicas that somebody wanted
}

func (*ownedLogs) Invariant() string { return "INV-44" }

func (*ownedLogs) Looks() scope { return ofImages | ofCuts | ofMoving }

func (o *ownedLogs) Stepped(w *World, n *Node, in effect.Input, out []effect.Effect) {
	if r, ok := in.(effect.Requested); ok {
		if m, ok := r.Msg.(*message.AlterReassignments); ok {
			o.wanted(m)
		}
	}
	for _, e := range out {
		if d, ok := e.(effect.DeleteLog); ok {
			o.deleted(w, n, d)
		}
	}
	image := w.newest()
	if image == nil || image.Version() == o.version {
		return
	}
	o.version = image.Version()
	for _, c := range w.book.meta.changed {
		for _, m := range c.new.Replicas {
			if c.old != nil && slices.Contains(c.old.Replicas, m) {
				continue
			}
			if int(m) < len(o.draining) && o.draining[m] {
				w.fail("INV-44", int32(m), "a drained broker is given a replica", "partition %s is placed on node %d, which is being drained", c.part.id, m)
				return
			}
		}
		if c.old == nil && w.book.meta.entries == 1 {
			o.spread(w, c.new)
		}
		if c.old != nil && w.book.meta.entries == 1 {
			o.moves(w, c.old, c.new)
		}
	}
	o.registered(w, image.Brokers())
}

// deleted judges the deletion of a log. That the image of the node is one that
// was committed is judged by INV-20.
func (o *ownedLogs) deleted(w *World, n *Node, d effect.DeleteLog) {
	c := n.Core()
	if c == nil {
		return
	}
	if p := c.Image().Partition(d.Log); p != nil && slices.Contains(p.Replicas, n.node()) {
		w.fail("INV-44", n.id, "a log is deleted that is placed there", "node %d deletes its log of partition %s, whose replicas are %v", n.id, d.Log, p.Replicas)
	}
}

// spread judges where the replicas of a new partition are: on as many racks as the
// brokers offered that could be given one when that was decided, right before it was
// committed. Those that run come first.
func (o *ownedLogs) spread(w *World, p *message.PartitionChange) {
	var running, others, taken []string // racks
	up := 0
	for _, b := range o.brokers {
		if slices.Contains(p.Replicas, b.Node) {
			taken = once(taken, b.Rack)
		}
		switch {
		case b.ShuttingDown || b.Draining:
		case b.Fenced:
			others = once(others, b.Rack)
		default:
			running = once(running, b.Rack)
			up++
		}
	}
	due := min(len(p.Replicas), len(running))
	if more := len(p.Replicas) - up; more > 0 {
		others = slices.DeleteFunc(others, func(r string) bool { return slices.Contains(running, r) })
		due += min(more, len(others))
	}
	if len(taken) < due {
		w.fail("INV-44", w.book.meta.active, "a partition is on fewer racks than there are", "the replicas %v of partition %s are on the racks %q, though there were brokers of %d racks to choose from", p.Replicas, p.ID, taken, due)
	}
}

// wanted takes in where somebody wants partitions to be.
func (o *ownedLogs) wanted(m *message.AlterReassignments) {
	for _, p := range m.Partitions {
		if o.asked == nil {
			o.asked = map[record.PartitionID][][]message.NodeID{}
		}
		if len(p.Replicas) > 0 {
			o.asked[p.ID] = append(o.asked[p.ID], p.Replicas)
		}
	}
}

// moves judges where a move leads that nobody has asked for: away from brokers that are
// being drained, each of which is replaced by one that runs, on another rack than those
// that stay and those that come, as long as there is one.
func (o *ownedLogs) moves(w *World, old, p *message.PartitionChange) {
	of := old.Replicas
	if metadata.Moving(old) {
		of = old.Target
	}
	same := func(replicas []message.NodeID) bool { return slices.Equal(replicas, p.Target) }
	if len(p.Target) != len(of) || same(old.Target) || slices.ContainsFunc(o.asked[p.ID], same) {
		return
	}
	var racks []string // of those that stay, then of those that come as well
	come := 0
	for i, m := range p.Target {
		if b := o.before(m); m == of[i] && b != nil && !b.ShuttingDown && !b.Draining {
			racks = once(racks, b.Rack)
		} else if m != of[i] {
			come++
		}
	}
	var free []string
	for _, b := range o.brokers {
		if !b.ShuttingDown && !b.Draining && !b.Fenced && !slices.Contains(of, b.Node) && !slices.Contains(racks, b.Rack) {
			free = once(free, b.Rack)
		}
	}
	due := len(racks) + min(come, len(free))
	for i, m := range p.Target {
		if b := o.before(m); m != of[i] && b != nil {
			racks = once(racks, b.Rack)
		}
	}
	if len(racks) < due {
		w.fail("INV-44", w.book.meta.active, "a drained partition goes to fewer racks than there are", "partition %s of the replicas %v is to move to %v, because brokers are drained, which are on the racks %q, though there were brokers of %d racks to choose from", p.ID, of, p.Target, racks, due)
	}
}

// before is a broker as it was committed before the step at hand, or nil.
func (o *ownedLogs) before(id message.NodeID) *message.BrokerChange {
	for _, b := range o.brokers {
		if b.Node == id {
			return b
		}
	}
	return nil
}

// once is a list with one that it may have already.
func once(list []string, one string) []string {
	if slices.Contains(list, one) {
		return list
	}
	return append(list, one)
}

// registered compares the brokers with those of before.
func (o *ownedLogs) registered(w *World, now []*message.BrokerChange) {
	image := w.newest()
	for _, b := range o.brokers {
		if next := image.Broker(b.Node); next != nil {
			if b.Draining && !next.Draining && next.Epoch != b.Epoch && w.book.meta.entries == 1 {
				w.fail("INV-44", int32(b.Node), "a restart ends a drain", "node %d was being drained, and is not any more since it was registered under broker epoch %d", b.Node, next.Epoch)
				return
			}
			continue
		}
		if !b.Fenced {
			w.fail("INV-44", int32(b.Node), "a running broker is removed", "node %d was removed while it was not fenced", b.Node)
			return
		}
		for p := range image.Partitions() {
			if slices.Contains(p.Replicas, b.Node) {
				w.fail("INV-44", int32(b.Node), "a broker is removed that holds replicas", "node %d was removed, but is a replica of partition %s", b.Node, p.ID)
				return
			}
		}
	}
	o.brokers = append(o.brokers[:0], now...)
	clear(o.draining)
	for _, b := range now {
		for int(b.Node) >= len(o.draining) {
			o.draining = append(o.draining, false)
		}
		o.draining[b.Node] = b.Draining
	}
}
