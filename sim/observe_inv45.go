package sim

import (
	"slices"

	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// heldToThrottle is INV-45: what a broker copies for replicas that are being
// added and are not in sync stays within the throttle of the cluster. It is
// measured on the broker's own clock, by a bucket that leaks at that rate: what
// is in it is what came too early. A burst and, for each such replica, one answer
// of one batch are allowed.
type heldToThrottle struct {
	blind
	nodes []throttled // by node id
}

type throttled struct {
	run   uint32
	rate  int64
	level int64 // bytes
	at    message.Time
	most  int64 // bytes of the largest batch that came
	// sharers is how many replicas have been held back at once, at most, since the
	// bucket was empty.
	sharers int
}

func (*heldToThrottle) Invariant() string { return "INV-45" }

func (o *heldToThrottle) Stepped(w *World, n *Node, in effect.Input, out []effect.Effect) {
	received, ok := in.(effect.Received)
	if !ok {
		return
	}
	reply, ok := received.Msg.(*message.ReplicaFetchReply)
	c := n.Core()
	if !ok || c == nil || c.Image().Throttle() == 0 {
		return
	}
	now := n.clock.now(w.now).Mono
	t := o.of(n, c.Image().Throttle(), now)
	for i := range reply.Partitions {
		part := &reply.Partitions[i]
		if len(part.Records) == 0 {
			continue
		}
		p := c.Image().Partition(part.ID)
		if p == nil || !contains(p.Adding, n.node()) || contains(p.ISR, n.node()) || !takes(out, part.ID) {
			continue
		}
		t.level += int64(len(part.Records))
		it := record.Batches(part.Records)
		for it.Next() {
			t.most = max(t.most, int64(len(it.Bytes)))
		}
	}
	if c.Replicas().HeldBack() > 0 {
		w.mark(markCopyHeldBack)
	}
	if t.level > 0 {
		t.sharers = max(t.sharers, o.adding(w, n))
	}
	if allowed := t.rate + int64(t.sharers)*2*t.most; t.level > allowed {
		w.fail("INV-45", n.id, "a replica being added copies beyond the throttle", "node %d is %d bytes ahead of the throttle of %d bytes a second, where %d are allowed for a burst", n.id, t.level, t.rate, allowed)
	}
}

// takes says whether a step appends to a log.
func takes(out []effect.Effect, id record.PartitionID) bool {
	return slices.ContainsFunc(out, func(e effect.Effect) bool {
		a, ok := e.(effect.Append)
		return ok && a.Log == id
	})
}

// of is the bucket of a node at the time now.
func (o *heldToThrottle) of(n *Node, rate int64, now message.Time) *throttled {
	for int(n.id) >= len(o.nodes) {
		o.nodes = append(o.nodes, throttled{})
	}
	t := &o.nodes[n.id]
	if t.run != n.run || t.rate != rate {
		*t = throttled{run: n.run, rate: rate, at: now}
	}
	gone := int64(now.Sub(t.at)) / int64(message.Microsecond)
	if t.level = max(0, t.level-rate*gone/1_000_000); t.level == 0 {
		t.sharers = 0
	}
	t.at = t.at.Add(message.Duration(gone) * message.Microsecond)
	return t
}

// adding counts the replicas of a node that are being added and not in sync.
func (o *heldToThrottle) adding(w *World, n *Node) (count int) {
	for p := range n.Core().Image().Partitions() {
		if contains(p.Adding, n.node()) && !contains(p.ISR, n.node()) {
			count++
		}
	}
	return count
}
