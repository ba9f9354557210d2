package sim

import (
	"slices"

	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/quorum"
)

// registrations are the runs of brokers that one controller has registered since it
// decides, and those of them that another run has replaced.
type registrations struct {
	node int32
	run  uint32
	term quorum.Term

	last     map[message.NodeID]uint64
	replaced map[message.NodeID][]uint64
}

// runsRemembered is how many runs of a broker a controller knows at least to be replaced.
const runsRemembered = 8

// registers is INV-22 for registrations: a run of a broker that a controller has seen
// replaced by another is not registered again by a message of it that comes late. The
// next controller knows only the run that is registered.
func (o *staleInert) registers(w *World, n *Node, out []effect.Effect) {
	for _, e := range out {
		send, ok := e.(effect.Send)
		if !ok {
			continue
		}
		if m, ok := send.Msg.(*message.RegisterBrokerReply); ok && m.Code == message.None && n.Core() != nil {
			if c := n.Core().Controller(); c != nil && c.Active() {
				o.registersAt(w, n, w.quorumOf(n).Term, send.To, m.Incarnation)
			}
		}
	}
}

// registersAt judges that the controller of a term tells a run that it is registered.
func (o *staleInert) registersAt(w *World, n *Node, term quorum.Term, broker message.NodeID, incarnation uint64) {
	r := &o.runs
	if r.node != n.id || r.run != n.run || r.term != term {
		*r = registrations{n.id, n.run, term, map[message.NodeID]uint64{}, map[message.NodeID][]uint64{}}
	}
	was, known := r.last[broker]
	if known && was == incarnation {
		return
	}
	if slices.Contains(r.replaced[broker], incarnation) {
		w.fail("INV-22", n.id, "a replaced run is registered again", "the controller on node %d registers run %d of node %d, which it has seen replaced by another, of late %d", n.id, incarnation, broker, was)
		return
	}
	if known {
		list := append(r.replaced[broker], was)
		r.replaced[broker] = list[max(0, len(list)-runsRemembered):]
	}
	r.last[broker] = incarnation
}
