package sim

import (
	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// syncFirst is INV-14: nobody says "I hold this" of records whose flush has not
// been reported to it: not a follower to its leader, not a leader to a producer,
// not a voter to its candidate or leader.
type syncFirst struct {
	blind
	journals []journalTail
}

// journalTail is how far one voter's journal was asked for and reported.
type journalTail struct {
	asked, saved uint64
	run          uint32
}

func (*syncFirst) Invariant() string { return "INV-14" }

func (o *syncFirst) at(n *Node) *journalTail {
	for int(n.id) >= len(o.journals) {
		o.journals = append(o.journals, journalTail{})
	}
	j := &o.journals[n.id]
	if j.run != n.run {
		*j = journalTail{run: n.run}
	}
	return j
}

func (o *syncFirst) Stepped(w *World, n *Node, in effect.Input, out []effect.Effect) {
	j := o.at(n)
	if s, ok := in.(effect.QuorumSaved); ok {
		j.saved = max(j.saved, s.Seq)
	}
	for _, e := range out {
		switch e := e.(type) {
		case effect.Send:
			switch m := e.Msg.(type) {
			case *message.ReplicaFetch:
				for i := range m.Partitions {
					o.claims(w, n, m.Partitions[i].ID, m.Partitions[i].Flushed)
				}
			case *message.ReplicaProgress:
				for i := range m.Partitions {
					o.claims(w, n, m.Partitions[i].ID, m.Partitions[i].Flushed)
				}
			}
		case effect.Reply:
			if m, ok := e.Msg.(*message.ProduceReply); ok {
				o.acks(w, n, e.Token, m)
			}
		case effect.SaveQuorum:
			j.asked = e.Seq
		case effect.ReplaceQuorum:
			j.asked = e.Seq
		}
	}
}

// claims judges what a follower says that it has flushed.
func (o *syncFirst) claims(w *World, n *Node, id record.PartitionID, end record.Offset) {
	if r := w.book.replica(n.id, id); end > r.told {
		w.fail("INV-14", n.id, "a follower claims what is not flushed", "node %d tells its leader that partition %s is flushed up to %d, but it was told so only up to %d", n.id, id, end, r.told)
	}
}

// acks judges what a leader confirms under acks=all.
func (o *syncFirst) acks(w *World, n *Node, token message.Token, m *message.ProduceReply) {
	asked, ok := n.tokens[token].request.(*message.Produce)
	if !ok || asked.Acks != message.AcksAll {
		return
	}
	for i := range m.Partitions {
		p := &m.Partitions[i]
		if p.Code != message.None {
			continue
		}
		r := w.book.replica(n.id, p.ID)
		if p.BaseOffset >= r.told && !r.part.off() {
			w.fail("INV-14", n.id, "a leader confirms what it has not flushed", "node %d confirms acks=all at offset %d of partition %s, but was told of a flush only up to %d", n.id, p.BaseOffset, p.ID, r.told)
			return
		}
	}
}
