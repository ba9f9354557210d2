package sim

import (
	"slices"

	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/record"
	"github.com/tamarack-mq/tamarack/core/replica"
)

// loadedStates is the part of INV-23 about what a coordinator has loaded: it is
// compared the first time that nothing of the shard is pending. What is missing in it,
// or is too old, may be written anew or removed a moment later, and at rest nobody
// sees any more what was answered meanwhile.
type loadedStates struct {
	blind
	due []loadedShard
}

// loadedShard is a shard that is led, and was not compared since it was loaded.
type loadedShard struct {
	of      *coordinating
	replica *replicaBook
}

func (*loadedStates) Invariant() string { return "INV-23" }

func (*loadedStates) Looks() scope { return ofReplicas | ofReads }

func (o *loadedStates) Stepped(w *World, n *Node, _ effect.Input, _ []effect.Effect) {
	if n.Core() == nil || !w.book.transactions.known(w) {
		return
	}
	for _, r := range w.book.touched {
		if r.view.Role == replica.Leading {
			if of := w.coordinatedBy(r.part.id.Topic); of != nil {
				o.meets(n, of, r)
			}
		}
	}
	if len(o.due) > 0 {
		o.compare(w, n)
	}
}

// meets notes a shard that is led, and loads, or that may have begun to and be ready in one step.
func (o *loadedStates) meets(n *Node, of *coordinating, r *replicaBook) {
	s, led := of.stands(n.Core(), r.part.id.Index)
	anew := r.was.role != replica.Leading || r.was.epoch != r.view.LeaderEpoch
	if at := (loadedShard{of, r}); led && (anew || !s.Serving) && !slices.Contains(o.due, at) {
		o.due = append(o.due, at)
	}
}

// compare looks at what is due of a node, and can be compared.
func (o *loadedStates) compare(w *World, n *Node) {
	o.due = slices.DeleteFunc(o.due, func(l loadedShard) bool {
		return l.replica.node == n.id && (l.replica.view.Role != replica.Leading || l.of.compare(w, n, l.replica))
	})
}

// coordinatedBy is the kind of coordinator that keeps its state in a topic; nil: none.
func (w *World) coordinatedBy(topic record.TopicID) *coordinating {
	switch topic {
	case w.book.transactions.offsets:
		return &coordinators[0]
	case w.book.transactions.states:
		return &coordinators[1]
	}
	return nil
}
