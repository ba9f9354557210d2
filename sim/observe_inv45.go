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
	settled message.Time // until then, answers may be to what was asked under another throttle
}

func (*heldToThrottle) Invariant() string { return "INV-45" }

func (o *heldToThrottle) Stepped(w *World, n *Node, in effect.Input, out []effect.Effect) {
	c := n.Core()
	if c == nil {
		return
	}
	t := o.of(n)
	if rate := c.Image().Throttle(); t.run != n.run || t.rate != rate {
		t.changes(n, rate, n.clock.now(w.now).Mono)
	}
	if t.rate == 0 {
		return
	}
	received, ok := in.(effect.Received)
	if !ok {
		return
	}
	if reply, ok := received.Msg.(*message.ReplicaFetchReply); ok {
		o.copied(w, n, t, reply, out)
	}
}

// copied pours what came for replicas being added into the bucket.
func (o *heldToThrottle) copied(w *World, n *Node, t *throttled, reply *message.ReplicaFetchReply, out []effect.Effect) {
	c, now := n.Core(), n.clock.now(w.now).Mono
	t.leak(now)
	for i := range reply.Partitions {
		part := &reply.Partitions[i]
		if len(part.Records) == 0 {
			continue
		}
		p := c.Image().Partition(part.ID)
		if p == nil || !contains(p.Adding, n.node()) || contains(p.ISR, n.node()) || !takes(out, part.ID) {
			continue
		}
		it := record.Batches(part.Records)
		for it.Next() {
			t.most = max(t.most, int64(len(it.Bytes)))
		}
		if now >= t.settled { // else it was asked for under another throttle
			t.level += int64(len(part.Records))
		}
	}
	if c.Replicas().HeldBack() > 0 {
		w.mark(markCopyHeldBack)
	}
	if t.level > 0 {
		t.sharers = max(t.sharers, o.adding(n))
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

// of is the bucket of a node.
func (o *heldToThrottle) of(n *Node) *throttled {
	for int(n.id) >= len(o.nodes) {
		o.nodes = append(o.nodes, throttled{})
	}
	return &o.nodes[n.id]
}

// changes begins anew with another throttle, or in another run.
func (t *throttled) changes(n *Node, rate int64, now message.Time) {
	const answered = 5 * message.Second // or the session is opened anew
	before := *t
	*t = throttled{run: n.run, rate: rate, at: now}
	if before.run == n.run {
		t.settled = now.Add(answered)
	}
}

// leak lets out what time allows.
func (t *throttled) leak(now message.Time) {
	gone := int64(now.Sub(t.at)) / int64(message.Microsecond)
	if t.level = max(0, t.level-t.rate*gone/1_000_000); t.level == 0 {
		t.sharers = 0
	}
	t.at = t.at.Add(message.Duration(gone) * message.Microsecond)
}

// adding counts the replicas of a node that are being added and not in sync.
func (o *heldToThrottle) adding(n *Node) (count int) {
	for p := range n.Core().Image().Partitions() {
		if contains(p.Adding, n.node()) && !contains(p.ISR, n.node()) {
			count++
		}
	}
	return count
}
