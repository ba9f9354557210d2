package sim

import (
	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
)

// ownedLogs is INV-44: a broker holds what the committed metadata places on it,
// and nothing is placed where it must not be. A log is deleted only by a broker
// whose image does not place it there; a broker that is being drained gets no
// replica, and none is taken out of the cluster while it holds one or runs. That a
// broker is being drained outlives its runs: only an operator takes it back.
type ownedLogs struct {
	blind
	draining []bool // by node id, as committed before the step at hand
	version  message.Version
	brokers  []*message.BrokerChange
}

func (*ownedLogs) Invariant() string { return "INV-44" }

func (*ownedLogs) Looks() scope { return ofImages | ofCuts }

func (o *ownedLogs) Stepped(w *World, n *Node, _ effect.Input, out []effect.Effect) {
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
			if c.old != nil && contains(c.old.Replicas, m) {
				continue
			}
			if int(m) < len(o.draining) && o.draining[m] {
				w.fail("INV-44", int32(m), "a drained broker is given a replica", "partition %s is placed on node %d, which is being drained", c.part.id, m)
				return
			}
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
	if p := c.Image().Partition(d.Log); p != nil && contains(p.Replicas, n.node()) {
		w.fail("INV-44", n.id, "a log is deleted that is placed there", "node %d deletes its log of partition %s, whose replicas are %v", n.id, d.Log, p.Replicas)
	}
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
			if contains(p.Replicas, b.Node) {
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
