package sim

import (
	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/metadata"
	"github.com/tamarack-mq/tamarack/core/record"
)

// toldAsCommitted is INV-20 towards clients: what a broker tells of the cluster
// is its image, which oneHistory compares with the committed log, at the version
// that it names. A leader epoch of before, told with the leader of now, would be
// refused by that leader again and again.
type toldAsCommitted struct{ blind }

func (*toldAsCommitted) Invariant() string { return "INV-20" }

func (*toldAsCommitted) Looks() scope { return ofDescribed }

func (o *toldAsCommitted) Stepped(w *World, n *Node, _ effect.Input, out []effect.Effect) {
	for _, e := range out {
		reply, ok := e.(effect.Reply)
		if !ok {
			continue
		}
		m, ok := reply.Msg.(*message.MetadataReply)
		if c := n.Core(); ok && c != nil && m.Version == c.Image().Version() {
			o.compare(w, n, c.Image(), m)
		}
	}
}

func (o *toldAsCommitted) compare(w *World, n *Node, image *metadata.Image, m *message.MetadataReply) {
	for i := range m.Topics {
		t := image.Topic(m.Topics[i].ID)
		if m.Topics[i].Code != message.None || t == nil {
			continue
		}
		for k := range m.Topics[i].Partitions {
			p := &m.Topics[i].Partitions[k]
			if int(p.Index) >= len(t.Partitions) {
				w.fail("INV-20", n.id, "a partition is told that there is not", "node %d tells of partition %d of topic %q, which has %d", n.id, p.Index, t.Name, len(t.Partitions))
				w.aboutRecord(record.PartitionID{Topic: t.ID, Index: p.Index}, -1)
				return
			}
			is := t.Partitions[p.Index]
			if p.Leader != is.Leader || p.LeaderEpoch != is.LeaderEpoch || p.PartitionEpoch != is.PartitionEpoch ||
				!sameNodes(p.Replicas, is.Replicas) || !sameNodes(p.ISR, is.ISR) || !sameNodes(p.ELR, is.ELR) ||
				!sameNodes(p.Adding, is.Adding) || !sameNodes(p.Target, is.Target) {
				w.fail("INV-20", n.id, "clients are told otherwise than was committed", "node %d tells that node %d leads partition %s in epoch %d, in sync %v, at version %d, at which node %d leads it in epoch %d, in sync %v", n.id, p.Leader, is.ID, p.LeaderEpoch, p.ISR, m.Version, is.Leader, is.LeaderEpoch, is.ISR)
				return
			}
		}
	}
}
