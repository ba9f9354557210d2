package sim

import (
	"bytes"
	"encoding/binary"

	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
)

// stray lets a message come, now and then, behind one of another controller, that is
// not for this node, or that it cannot read: of another cluster, of which a node has
// got an address of this one; cut short; with more in it than there may be; with a
// number that does not end; or of a kind that only later versions know.
//
// It is judged on the spot (INV-22): whoever gets it does nothing.
func (n *Node) stray(from message.NodeID, m message.Message) {
	w := n.world
	sent, ok := m.(*message.Quorum)
	if !ok || w.plan.Network.Stray == 0 || !n.up || len(sent.Data) < 4 || !n.strays.OneIn(int64(w.plan.Network.Stray)) {
		return
	}
	if n.core.Wake() <= n.clock.now(w.now).Mono {
		return // it has something to do of itself
	}
	frame, what := strayFrame(sent.Data, func(below int) int { return int(n.strays.Below(int64(below))) })
	run := n.run
	n.step(effect.Received{From: from, Msg: &message.Quorum{Data: frame}})
	w.mark(markStray)
	if n.run != run || w.failure != nil {
		return
	}
	if did := len(n.out.List); did > 0 {
		w.fail("INV-22", n.id, "a message that is not for a node has an effect", "node %d asks for %d effects because of a message that is %s", n.id, did, what)
	}
}

// strayFrame makes such a message of one that is as it should be: a byte for its
// kind, the fingerprint of the cluster as a varint, and the rest.
func strayFrame(good []byte, below func(int) int) (frame []byte, what string) {
	switch below(5) {
	case 0:
		mark, size := binary.Uvarint(good[1:])
		frame = append(frame, good[0])
		frame = binary.AppendUvarint(frame, uint64(uint32(mark)^(1<<below(32))))
		return append(frame, good[1+max(size, 0):]...), "of another cluster"
	case 1:
		return bytes.Clone(good[:below(len(good))]), "cut short"
	case 2:
		return append(bytes.Clone(good), make([]byte, 1+below(3))...), "longer than it may be"
	case 3:
		endless := bytes.Repeat([]byte{0xff}, binary.MaxVarintLen64+1)
		return append(append([]byte{good[0]}, endless...), good[1:]...), "with a number that does not end"
	}
	frame = bytes.Clone(good)
	frame[0] = byte(4 + below(252))
	return frame, "of an unknown kind"
}

// spoilCopy lets what a leader sends to a follower arrive other than it was sent, as
// spoil does for clients. A follower checks every byte and asks again.
func (n *Node) spoilCopy(m message.Message) message.Message {
	w := n.world
	sent, ok := m.(*message.ReplicaFetchReply)
	if !ok || w.plan.Network.SpoilCopies == 0 || w.phase >= draining {
		return m
	}
	r := n.strays
	var got *message.ReplicaFetchReply
	for i := range sent.Partitions {
		p := &sent.Partitions[i]
		if len(p.Records) == 0 && len(p.CarryOver) == 0 || !r.OneIn(int64(w.plan.Network.SpoilCopies)) {
			continue
		}
		if got == nil {
			got = &message.ReplicaFetchReply{}
			*got = *sent
			got.Partitions = append([]message.ReplicaFetchedPartition(nil), sent.Partitions...)
		}
		if len(p.CarryOver) > 0 {
			got.Partitions[i].CarryOver = bytes.Clone(p.CarryOver[:1+r.Below(int64(len(p.CarryOver)))])
		} else {
			got.Partitions[i].Records = spoiltRecords(p.Records, r.Below)
		}
		w.mark(markCopySpoilt)
	}
	if got == nil {
		return m
	}
	return got
}
