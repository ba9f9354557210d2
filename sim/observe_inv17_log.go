package sim

import (
	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/quorum"
)

// heldEntries is INV-17 inside the log of the controllers, where it shows long
// before anything that was committed is undone. A leader commits by counting only
// up to an entry of its own term (section 5.4.2 of the Raft paper): another leader
// could still replace one of an earlier term. And what a voter has confirmed to
// the leader of a term it keeps at least as long as that term lasts, since that
// leader has counted on it; so it does with what it knows to be committed. Each node
// that has applied the log up to a version has applied the same entries.
type heldEntries struct {
	blind
	before []message.Version          // by node id: what it knew to be committed before the step at hand
	said   []confirmedToTerm          // by node id
	seen   []message.Version          // by node id: the version at which its digest was looked at last
	folded map[message.Version]uint64 // over the entries up to each version that a node stood at
}

// confirmedToTerm is up to where a voter has told the leader of a term that it
// holds its log.
type confirmedToTerm struct {
	term uint64
	end  message.Version
}

func (*heldEntries) Invariant() string { return "INV-17" }

func (*heldEntries) Looks() scope { return ofQuorum }

func (o *heldEntries) grow(n *Node) {
	for int(n.id) >= len(o.before) {
		o.before = append(o.before, 0)
		o.said = append(o.said, confirmedToTerm{})
		o.seen = append(o.seen, 0)
	}
}

// Started: a node that comes back may have another disk.
func (o *heldEntries) Started(_ *World, n *Node, _ *effect.Recovered) {
	o.grow(n)
	o.before[n.id], o.said[n.id], o.seen[n.id] = 0, confirmedToTerm{}, 0
	if c := n.Core(); c != nil && c.Controller() != nil {
		o.before[n.id] = c.Controller().View().Quorum.Commit
	}
}

func (o *heldEntries) Stepped(w *World, n *Node, _ effect.Input, out []effect.Effect) {
	c := n.Core()
	if c == nil || c.Controller() == nil {
		return
	}
	o.grow(n)
	v := w.quorumOf(n)
	o.judge(w, n, v)
	o.applied(w, n, v)
	for _, m := range w.toldVoters(out) {
		o.confirmed(n, m)
	}
}

// confirmed notes what a voter tells a leader.
func (o *heldEntries) confirmed(n *Node, m toldVoter) {
	if m.kind != raftAppendReply || m.reject {
		return
	}
	s := &o.said[n.id]
	if s.term != m.term {
		*s = confirmedToTerm{term: m.term}
	}
	s.end = max(s.end, message.Version(m.index))
}

func (o *heldEntries) judge(w *World, n *Node, v *quorum.View) {
	was, said := o.before[n.id], o.said[n.id]
	o.before[n.id] = v.Commit
	switch {
	case v.Mute != "":
		// It has found out that something is wrong, and halts.
	case v.Role == quorum.Leader && v.Commit > was && v.CommitTerm != 0 && v.CommitTerm != v.Term:
		w.fail("INV-17", n.id, "an entry of an earlier term is committed by counting", "node %d, which leads term %d, takes version %d for committed, of term %d", n.id, v.Term, v.Commit, v.CommitTerm)
	case v.Last < v.Commit:
		w.fail("INV-17", n.id, "a voter gives up what is committed", "the log of node %d ends at version %d, but it knows that version %d is committed", n.id, v.Last, v.Commit)
	case uint64(v.Term) == said.term && v.Last < said.end:
		w.fail("INV-17", n.id, "a voter gives up what it confirmed", "the log of node %d ends at version %d, but it has told the leader of term %d that it holds it up to %d", n.id, v.Last, v.Term, said.end)
	}
}

// applied judges that a node has come to where it is by the entries by which others did.
func (o *heldEntries) applied(w *World, n *Node, v *quorum.View) {
	if v.Applied == o.seen[n.id] {
		return
	}
	o.seen[n.id] = v.Applied
	if o.folded == nil {
		o.folded = map[message.Version]uint64{}
	}
	if digest, ok := o.folded[v.Applied]; ok && digest != v.Digest {
		w.fail("INV-17", n.id, "two nodes come to one version by other entries", "node %d has applied the log up to version %d, but by other entries than another node before it", n.id, v.Applied)
		return
	}
	o.folded[v.Applied] = v.Digest
}
