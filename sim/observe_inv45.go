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
// is in it is what came too early. A burst, of which there is one for all such replicas
// together, and for each of them two answers of one batch are allowed.
//
// An answer belongs to the throttle under which it was asked for. So each throttle
// has a bucket of its own, and what was asked for before a change of it is poured
// into the one of before: there is no moment in which nothing is counted.
type heldToThrottle struct {
	blind
	nodes []throttled // by node id
}

// throttled is a node in one run.
type throttled struct {
	run     uint32
	buckets []bucket // one for each throttle that it went by; the last is the present one
	asked   []pacedAsks
	most    int64 // bytes of the largest batch that came
	// adding are the node's replicas that are being added and not in sync, by the image of
	// a version: see added.
	adding   []record.PartitionID
	addingBy message.Version
}

// bucket is what came under one throttle.
type bucket struct {
	rate  int64 // bytes a second; 0: no limit
	level int64 // bytes
	at    message.Time
	// sharers is how many replicas have been held back at once, at most, since the
	// bucket was empty.
	sharers int
}

// pacedAsks are the positions that a replica has stated and that may still be
// answered, in order. There may be two: with a fetch under way a second one may tell
// what has become durable.
type pacedAsks struct {
	id      record.PartitionID
	session uint64
	stated  []pacedAsk
}

// pacedAsk is one of them: the fetch that stated it, and the bucket of the throttle
// under which it did so, or unpaced when the replica was not being added.
type pacedAsk struct {
	sequence uint32
	of       int
}

const unpaced = -1

func (*heldToThrottle) Invariant() string { return "INV-45" }

func (*heldToThrottle) Looks() scope { return ofCopies | ofImages }

// Started begins with the throttle that the node knows of from its disk: its first
// steps may be of nothing that is looked at.
func (o *heldToThrottle) Started(w *World, n *Node, _ *effect.Recovered) {
	if c := n.Core(); c != nil {
		o.of(n).goes(n.run, c.Image().Throttle(), n.clock.now(w.now).Mono)
	}
}

func (o *heldToThrottle) Stepped(w *World, n *Node, in effect.Input, out []effect.Effect) {
	c := n.Core()
	if c == nil {
		return
	}
	t := o.of(n)
	image, changed := c.Image(), false
	if rate := image.Throttle(); !t.goesBy(n.run, rate) {
		changed = t.goes(n.run, rate, n.clock.now(w.now).Mono)
	}
	if image.Moving() == 0 {
		t.asked = t.asked[:0]
		return
	}
	if received, ok := in.(effect.Received); ok {
		if reply, ok := received.Msg.(*message.ReplicaFetchReply); ok {
			t.overtakes(reply.Session, reply.Sequence)
			o.copied(w, n, t, reply, out)
		}
	}
	if !w.isAbout(ofCopies) {
		return
	}
	for _, e := range out {
		if s, ok := e.(effect.Send); ok {
			if fetch, ok := s.Msg.(*message.ReplicaFetch); ok {
				for i := range fetch.Partitions {
					id := fetch.Partitions[i].ID
					t.asks(id, fetch.Session, fetch.Sequence, slices.Contains(t.added(n), id), changed)
				}
			}
		}
	}
}

// copied pours what came for replicas being added into the buckets.
func (o *heldToThrottle) copied(w *World, n *Node, t *throttled, reply *message.ReplicaFetchReply, out []effect.Effect) {
	now := n.clock.now(w.now).Mono
	for i := range reply.Partitions {
		part := &reply.Partitions[i]
		if len(part.Records) == 0 || !slices.Contains(t.added(n), part.ID) || !takes(out, part.ID) {
			continue
		}
		it := record.Batches(part.Records)
		for it.Next() {
			t.most = max(t.most, int64(len(it.Bytes)))
		}
		b := t.pours(part.ID, reply.Session, reply.Sequence, int64(len(part.Records)), now)
		if b == nil {
			continue
		}
		b.sharers = max(b.sharers, len(t.added(n)))
		if allowed := t.allowed(b); b.level > allowed {
			w.fail("INV-45", n.id, "a replica being added copies beyond the throttle", "node %d is %d bytes ahead of the throttle of %d bytes a second, where %d are allowed for a burst", n.id, b.level, b.rate, allowed)
			return
		}
	}
	if n.Core().Replicas().HeldBack() > 0 {
		w.mark(markCopyHeldBack)
	}
}

// added are the replicas of a node that are copied for a move and not in sync, by its
// image: looked for once for each version of that.
func (t *throttled) added(n *Node) []record.PartitionID {
	image := n.Core().Image()
	if t.addingBy == image.Version() { // the first of a run has no partitions
		return t.adding
	}
	t.adding, t.addingBy = t.adding[:0], image.Version()
	for p := range image.Partitions() {
		if slices.Contains(p.Adding, n.node()) && !slices.Contains(p.ISR, n.node()) {
			t.adding = append(t.adding, p.ID)
		}
	}
	return t.adding
}

// takes says whether a step appends to a log.
func takes(out []effect.Effect, id record.PartitionID) bool {
	return slices.ContainsFunc(out, func(e effect.Effect) bool {
		a, ok := e.(effect.Append)
		return ok && a.Log == id
	})
}

// of is what is known of a node.
func (o *heldToThrottle) of(n *Node) *throttled {
	for int(n.id) >= len(o.nodes) {
		o.nodes = append(o.nodes, throttled{})
	}
	return &o.nodes[n.id]
}

// goesBy says whether a throttle is the one that a node goes by as far as is known.
func (t *throttled) goesBy(run uint32, rate int64) bool {
	k := len(t.buckets)
	return t.run == run && k > 0 && t.buckets[k-1].rate == rate
}

// goes notes by which throttle a node goes, and says whether that has changed.
func (t *throttled) goes(run uint32, rate int64, now message.Time) (changed bool) {
	if t.run != run {
		*t = throttled{run: run, asked: t.asked[:0], buckets: t.buckets[:0]}
	}
	if t.goesBy(run, rate) {
		return false
	}
	t.buckets = append(t.buckets, bucket{rate: rate, at: now})
	return len(t.buckets) > 1
}

// asks notes a position that a replica states. In the step that changes the
// throttle it may do so before the change or after it: the larger one counts.
func (t *throttled) asks(id record.PartitionID, session uint64, sequence uint32, added, changed bool) {
	a := t.ask(id)
	if a == nil {
		t.asked = append(t.asked, pacedAsks{id: id})
		a = &t.asked[len(t.asked)-1]
	}
	if a.session != session {
		a.session, a.stated = session, a.stated[:0]
	}
	of := len(t.buckets) - 1
	switch {
	case !added:
		of = unpaced
	case changed:
		was, is := t.buckets[of-1].rate, t.buckets[of].rate
		if was == 0 || is != 0 && was > is {
			of--
		}
	}
	a.stated = append(a.stated, pacedAsk{sequence, of})
}

// ask is what a replica has stated; nil: nothing that is known of.
func (t *throttled) ask(id record.PartitionID) *pacedAsks {
	k := slices.IndexFunc(t.asked, func(a pacedAsks) bool { return a.id == id })
	if k < 0 {
		return nil
	}
	return &t.asked[k]
}

// overtakes forgets the positions that the answer to a fetch can no longer be about:
// those that were stated anew with it, or before it. Answers come in order.
func (t *throttled) overtakes(session uint64, sequence uint32) {
	for i := range t.asked {
		a := &t.asked[i]
		for a.session == session && len(a.stated) > 1 && a.stated[1].sequence <= sequence {
			a.stated = slices.Delete(a.stated, 0, 1)
		}
	}
}

// pours adds what came for a replica with the answer to a fetch to the bucket of the
// throttle under which it was asked for, and returns that; nil: no limit was in force
// for it then. One answer answers a position: if another comes, or one of another
// session, it must keep to the throttle of now.
func (t *throttled) pours(id record.PartitionID, session uint64, sequence uint32, bytes int64, now message.Time) *bucket {
	a := t.ask(id)
	if a == nil {
		return nil
	}
	of := len(t.buckets) - 1
	if a.session == session {
		first := &a.stated[0]
		if first.sequence > sequence {
			return nil // it was asked for when nothing was being moved
		}
		of, first.of = first.of, of
	}
	if of == unpaced || t.buckets[of].rate == 0 {
		return nil
	}
	b := &t.buckets[of]
	b.leak(now)
	b.level += bytes
	return b
}

// allowed is how much may be in a bucket: a burst is what a quarter of a second gives.
func (t *throttled) allowed(b *bucket) int64 { return b.rate/4 + int64(b.sharers)*2*t.most }

// leak lets out what time allows.
func (b *bucket) leak(now message.Time) {
	gone := int64(now.Sub(b.at)) / int64(message.Microsecond)
	if b.level = max(0, b.level-b.rate*gone/1_000_000); b.level == 0 {
		b.sharers = 0
	}
	b.at = b.at.Add(message.Duration(gone) * message.Microsecond)
}
