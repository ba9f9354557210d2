package sim

import (
	"slices"

	"github.com/tamarack-mq/tamarack/core/quorum"
	"github.com/tamarack-mq/tamarack/transport/simnet"
)

// usurping is what a Usurp fault knows while it lasts.
type usurping struct {
	term    quorum.Term // of the last leader that it saw
	leader  *Node       // to be cut off; nil: nobody
	at      Span        // when
	release []func()    // what joins the last one again
}

// glanceEvery is how often a Usurp fault looks who leads: about as long as a message
// is under way, so that some leaders reach nobody before they are cut off.
const glanceEvery = Millisecond

// strikeUsurp begins to cut off whoever is elected.
func (w *World) strikeUsurp(f *activeFault) {
	f.undo = append(f.undo, func() { f.letBack() })
	w.in(0, event{kind: evLook, arg: uint64(slices.Index(w.faults, f))})
}

// usurp looks who leads the controllers now. One that was elected since the last
// look is cut off from all other nodes (clients reach it), a little later, and the
// one before it is let back.
func (w *World) usurp(i int) {
	f := w.faults[i]
	if f.over {
		return
	}
	u := &f.usurping
	if n, term := w.elected(); n != nil && term > u.term {
		u.term, u.leader = term, n
		u.at = w.now + Span(n.drive.chaos.Below(int64(f.plan.Strength)+1))*Millisecond
	}
	if u.leader != nil && w.now >= u.at {
		f.letBack()
		cut := activeFault{plan: f.plan}
		var others []simnet.Endpoint
		for _, n := range w.nodes[1:] {
			if n != u.leader {
				others = append(others, n.endpoint())
			}
		}
		w.cutAll(&cut, []simnet.Endpoint{u.leader.endpoint()}, others)
		u.release, u.leader = cut.undo, nil
	}
	w.in(glanceEvery, event{kind: evLook, arg: uint64(i)})
}

// letBack joins who was cut off last.
func (f *activeFault) letBack() {
	for _, undo := range f.usurping.release {
		undo()
	}
	f.usurping.release = nil
}

// elected finds who leads the controllers in the highest term, ready or not.
func (w *World) elected() (leader *Node, term quorum.Term) {
	for _, n := range w.nodes[1:] {
		c := n.Core()
		if c == nil || c.Controller() == nil {
			continue
		}
		if v := c.Controller().View().Quorum; v.Role == quorum.Leader && v.Term > term {
			leader, term = n, v.Term
		}
	}
	return leader, term
}
