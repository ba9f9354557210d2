package sim

import (
	"slices"

	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/quorum"
)

// configurationsMeet is INV-19: a majority of the voters by whom a node was
// elected and a majority of those that were committed last have a node in
// common. If they had none, two leaders could commit side by side. That members
// change by one node at a time, of which this follows where each change waits for
// the one before it, is INV-41.
type configurationsMeet struct {
	blind
	leads []quorum.Term // by node id: the term in which it was last seen to lead
}

func (*configurationsMeet) Invariant() string { return "INV-19" }

func (*configurationsMeet) Looks() scope { return ofQuorum }

func (o *configurationsMeet) Stepped(w *World, n *Node, _ effect.Input, _ []effect.Effect) {
	c := n.Core()
	if c == nil || c.Controller() == nil {
		return
	}
	for int(n.id) >= len(o.leads) {
		o.leads = append(o.leads, 0)
	}
	v := w.quorumOf(n)
	if v.Role != quorum.Leader || o.leads[n.id] == v.Term {
		return
	}
	o.leads[n.id] = v.Term
	if image := w.newest(); image != nil && image.Controllers() != nil {
		o.judge(w, n, v, image.Controllers().Voters)
	}
}

// judge looks at a node that leads from now on, and at the voters as committed.
func (o *configurationsMeet) judge(w *World, n *Node, v *quorum.View, committed []message.NodeID) {
	all := len(committed)
	for _, voter := range v.Members.Voters {
		if !slices.Contains(committed, voter) {
			all++
		}
	}
	if mine, theirs := len(v.Members.Voters)/2+1, len(committed)/2+1; mine+theirs <= all {
		w.fail("INV-19", n.id, "two quorums may not meet", "node %d leads in term %d by the voters %v, of whom %d can decide without any of the %d that decide among the voters %v", n.id, v.Term, v.Members.Voters, mine, theirs, committed)
	}
}
