package sim

import (
	"slices"

	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
	"github.com/tamarack-mq/tamarack/core/replica"
)

// joinsAtStart is the part of INV-15 about who joins an in-sync set: it has told the
// leader that its log begins where the leader's does, or later. Whoever is in sync may
// lead next, and would show again what was given up.
type joinsAtStart struct {
	blind
	asked map[joining]bool
}

// joining is a member that a leader asks to have in the in-sync set.
type joining struct {
	id    record.PartitionID
	epoch message.PartitionEpoch
	by    message.NodeID
	message.Member
}

func (*joinsAtStart) Invariant() string { return "INV-15" }

func (*joinsAtStart) Looks() scope { return ofSessions }

func (o *joinsAtStart) Stepped(w *World, n *Node, _ effect.Input, out []effect.Effect) {
	for _, e := range out {
		send, ok := e.(effect.Send)
		if !ok {
			continue
		}
		if m, ok := send.Msg.(*message.AlterPartition); ok {
			for i := range m.Partitions {
				o.proposed(w, n, &m.Partitions[i])
			}
		}
	}
}

// proposed judges a proposal when it is sent first: the follower may lose its disk
// while it is under way.
func (o *joinsAtStart) proposed(w *World, n *Node, a *message.AlterISR) {
	r := w.book.replica(n.id, a.ID)
	v := &r.view
	if v.Role != replica.Leading || v.LeaderEpoch != a.LeaderEpoch || v.PartitionEpoch != a.PartitionEpoch || v.Damage != "" || r.adrift() {
		return
	}
	for _, m := range a.ISR {
		at := joining{a.ID, a.PartitionEpoch, n.node(), m}
		if slices.Contains(v.ISR, m.Node) || o.asked[at] {
			continue
		}
		if o.asked == nil {
			o.asked = map[joining]bool{}
		}
		o.asked[at] = true
		for _, f := range v.Followers {
			if f.Node == m.Node && f.BrokerEpoch == m.Epoch && f.LogStart < v.Start && w.atlas.sound(int32(m.Node), a.ID) {
				w.fail("INV-15", n.id, "who joins has not given up what the leader has", "node %d asks for node %d in the in-sync set of partition %s, whose log begins at %d, but that one has said that its own begins at %d", n.id, m.Node, a.ID, v.Start, f.LogStart)
				return
			}
		}
	}
}
