package sim

import (
	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
	"github.com/tamarack-mq/tamarack/core/replica"
)

// syncFirst is INV-14: nobody says "I hold this" of records whose flush has not
// been reported to it: not a follower to its leader, not a leader to a producer,
// not a voter to its candidate or leader.
type syncFirst struct {
	blind
	journals []journalTail
}

// journalTail is how much of one voter's journal is durable, as far as that was
// reported to it in its present run.
type journalTail struct {
	durable message.Version // of the entries
	writes  []journalWrite  // those that are not reported
}

// journalWrite is one write: with it the log is durable up to end.
type journalWrite struct {
	seq uint64
	end message.Version
}

func (*syncFirst) Invariant() string { return "INV-14" }

func (*syncFirst) Looks() scope { return ofSaves | ofQuorum | ofCopies | ofProduced }

func (o *syncFirst) at(n *Node) *journalTail {
	for int(n.id) >= len(o.journals) {
		o.journals = append(o.journals, journalTail{})
	}
	return &o.journals[n.id]
}

// Started: what recovery has found is durable.
func (o *syncFirst) Started(_ *World, n *Node, _ *effect.Recovered) {
	*o.at(n) = journalTail{} // it may become a voter later on
	if c := n.Core(); c != nil && c.Controller() != nil {
		o.at(n).durable = c.Controller().View().Quorum.Last
	}
}

func (o *syncFirst) Stepped(w *World, n *Node, in effect.Input, out []effect.Effect) {
	if w.isAbout(ofSaves | ofQuorum) {
		o.voter(w, n, in, out)
	}
	if !w.isAbout(ofCopies | ofProduced) {
		return
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
		}
	}
}

// voter judges what a voter tells the others: that it voted, and how far it
// holds the log. Of several writes in one step each is taken to reach as far as
// the last, which can only make this observer milder.
func (o *syncFirst) voter(w *World, n *Node, in effect.Input, out []effect.Effect) {
	c := n.Core()
	if c == nil || c.Controller() == nil {
		return
	}
	j := o.at(n)
	if s, ok := in.(effect.QuorumSaved); ok {
		for len(j.writes) > 0 && j.writes[0].seq <= s.Seq {
			j.durable = max(j.durable, j.writes[0].end)
			j.writes = j.writes[1:]
		}
	}
	for _, e := range out {
		switch e := e.(type) {
		case effect.SaveQuorum:
			j.writes = append(j.writes, journalWrite{e.Seq, w.quorumOf(n).Last})
		case effect.ReplaceQuorum:
			j.writes = append(j.writes, journalWrite{e.Seq, w.quorumOf(n).Last})
		}
	}
	for _, m := range w.toldVoters(out) {
		o.promise(w, n, j, m)
	}
}

func (o *syncFirst) promise(w *World, n *Node, j *journalTail, m toldVoter) {
	if m.reject {
		return
	}
	v, to := w.quorumOf(n), m.to
	switch m.kind {
	case raftVote:
		to = n.node() // a candidate's own vote
		fallthrough
	case raftVoteReply:
		if uint64(v.SavedTerm) < m.term || uint64(v.SavedTerm) == m.term && v.SavedVote != to {
			w.fail("INV-14", n.id, "a vote is told before it is durable", "node %d says that it votes for node %d in term %d, but what is durable is its vote for node %d in term %d", n.id, to, m.term, v.SavedVote, v.SavedTerm)
		}
	case raftAppendReply:
		if message.Version(m.index) > j.durable {
			w.fail("INV-14", n.id, "a voter claims what is not durable", "node %d tells node %d that it holds the quorum's log up to %d, but it was told of a durable write only up to %d", n.id, to, m.index, j.durable)
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
	asked, ok := n.asker(token).request.(*message.Produce)
	if ok && asked.Acks == message.AcksLeader {
		o.written(w, n, asked, m)
	}
	if !ok || asked.Acks != message.AcksAll {
		return
	}
	for i := range m.Partitions {
		p := &m.Partitions[i]
		if p.Code != message.None {
			continue
		}
		r := w.book.replica(n.id, p.ID)
		if r.view.Role != replica.Leading && p.BaseOffset < r.part.high {
			// Committed while this node led; the reply waited for another partition,
			// and the log was emptied meanwhile (damage).
			continue
		}
		if p.BaseOffset >= r.told && !r.adrift() && !r.part.gaveUp(p.BaseOffset, n.asker(token).since) {
			w.fail("INV-14", n.id, "a leader confirms what it has not flushed", "node %d confirms acks=all at offset %d of partition %s, but was told of a flush only up to %d", n.id, p.BaseOffset, p.ID, r.told)
			return
		}
	}
}

// written judges what a leader confirms under acks=1: its disk has been handed the batch,
// and has not been told to cut it off since. Where an answer is about several partitions
// one may have waited for another.
func (o *syncFirst) written(w *World, n *Node, asked *message.Produce, m *message.ProduceReply) {
	if len(m.Partitions) != 1 || len(asked.Partitions) != 1 || m.Partitions[0].Code != message.None {
		return
	}
	p := &m.Partitions[0]
	h, err := record.DecodeHeader(asked.Partitions[0].Records)
	disk := &w.book.replica(n.id, p.ID).disk
	if err != nil || p.BaseOffset < disk.start {
		return
	}
	there := disk.from(p.BaseOffset)
	if len(there) == 0 || there[0].BaseOffset == p.BaseOffset && there[0].CRC != h.CRC {
		w.fail("INV-14", n.id, "a leader confirms what is not written", "node %d confirms acks=1 at offset %d of partition %s, but its disk has not written that batch: the log there ends at %d", n.id, p.BaseOffset, p.ID, disk.end)
	}
}
