package sim

import (
	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
	"github.com/tamarack-mq/tamarack/core/replica"
)

// toldOfTruncations is INV-35 where records were given up: a reader that names
// the epoch of the record it read last (KIP-320) is not given more behind
// another record than that one. It is the one promise that outlasts an unclean
// election.
type toldOfTruncations struct{ blind }

func (*toldOfTruncations) Invariant() string { return "INV-35" }

func (*toldOfTruncations) Looks() scope { return ofFetched }

func (o *toldOfTruncations) Stepped(w *World, n *Node, _ effect.Input, out []effect.Effect) {
	for _, e := range out {
		reply, ok := e.(effect.Reply)
		if !ok {
			continue
		}
		m, ok := reply.Msg.(*message.FetchReply)
		if !ok {
			continue
		}
		by := n.asker(reply.Token)
		asked, ok := by.request.(*message.Fetch)
		if !ok || len(asked.Partitions) != len(m.Partitions) || w.clients[int(by.client)-len(w.nodes)].plan.Role == Chaos {
			continue // a chaos client makes its epochs up
		}
		for i := range m.Partitions {
			o.given(w, n, &asked.Partitions[i], &m.Partitions[i])
		}
	}
}

// given judges the records of one partition.
func (o *toldOfTruncations) given(w *World, n *Node, asked *message.FetchPartition, got *message.FetchedPartition) {
	if asked.LastEpoch == record.NoLeaderEpoch || got.Code != message.None || len(got.Records) == 0 {
		return
	}
	r := w.book.replica(n.id, got.ID)
	if r.part.deleted || r.view.Role != replica.Leading || asked.Offset <= r.memory.start {
		return
	}
	before := r.memory.from(asked.Offset - 1) // its position may lie inside of what was written since
	if len(before) == 0 || before[0].BaseOffset >= asked.Offset || before[0].LeaderEpoch == asked.LastEpoch {
		return
	}
	w.fail("INV-35", n.id, "a reader is not told of a truncation", "node %d gives a reader of partition %s records from %d on, behind one of epoch %d, but it has read one of epoch %d there", n.id, got.ID, asked.Offset, before[0].LeaderEpoch, asked.LastEpoch)
}
