package sim

import (
	"slices"

	"github.com/tamarack-mq/tamarack/core"
	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// earlierSession is how a node stood with its controller after the last word of it.
// A node that is the controller has that word from itself, in any step: what it had
// then is not kept.
type earlierSession struct {
	active bool
	status core.Status

	asked     uint64        // by which number the run asked for producer ids last
	own, late []producerIDs // blocks that were an answer to that, and those that were not

	forward uint64 // the number of what the run has passed on to a controller last
}

// producerIDs is a block of them.
type producerIDs struct {
	first record.ProducerID
	count int64
}

func (b producerIDs) holds(id record.ProducerID) bool {
	return id >= b.first && id < b.first+record.ProducerID(b.count)
}

// Started: a run begins with no word of anybody.
func (o *staleInert) Started(w *World, n *Node, _ *effect.Recovered) {
	*o.session(w, n) = earlierSession{}
	if c := n.Core(); c != nil {
		o.sessions[n.id].status = c.Status(n.clock.now(w.now).Mono)
	}
}

func (o *staleInert) session(w *World, n *Node) *earlierSession {
	if o.sessions == nil {
		o.sessions = make([]earlierSession, len(w.nodes))
	}
	return &o.sessions[n.id]
}

// earlierAnswer is INV-22 for what a controller says of a registration that is over:
// the node does not take itself for heard of, nor for out of service or back in it.
func (o *staleInert) earlierAnswer(w *World, n *Node, in effect.Input) {
	var beat *message.BrokerHeartbeatReply
	var registered *message.RegisterBrokerReply
	if r, ok := in.(effect.Received); ok {
		switch m := r.Msg.(type) {
		case *message.BrokerHeartbeatReply:
			beat = m
		case *message.RegisterBrokerReply:
			registered = m
		}
	}
	told := beat != nil || registered != nil
	c := n.Core()
	if c == nil {
		return
	}
	k, before := c.Controller(), &o.sessions[n.id]
	active := k != nil && k.Active()
	if active || !told && !before.active {
		before.active = active
		return
	}
	s := c.Status(n.clock.now(w.now).Mono)
	if beat != nil {
		o.answered(w, n, beat, s)
	}
	if registered != nil {
		o.registered(w, n, registered, s)
	}
	before.active, before.status = false, s
}

// registered judges what a node makes of the answer to a registration: that of another
// run of it changes nothing.
func (o *staleInert) registered(w *World, n *Node, m *message.RegisterBrokerReply, s core.Status) {
	before := &o.sessions[n.id]
	if before.active || m.Incarnation == n.incarnation {
		return
	}
	if s.Registered != before.status.Registered || s.Epoch != before.status.Epoch || s.ControllerHeard != before.status.ControllerHeard {
		w.fail("INV-22", n.id, "the answer to another run's registration is taken", "node %d takes the answer to the registration of run %d of it, although it runs as %d: epoch %d", n.id, m.Incarnation, n.incarnation, m.Epoch)
	}
}

// block takes in producer ids that a controller gives a node.
func (o *staleInert) block(w *World, n *Node, m *message.AllocateProducerIDsReply) {
	if m.Code != message.None {
		return
	}
	of, b := o.session(w, n), producerIDs{m.First, m.Count}
	switch {
	case slices.Contains(of.own, b) || slices.Contains(of.late, b):
	case m.Request == of.asked:
		of.own = append(of.own, b)
	default:
		of.late = append(of.late, b)
	}
}

// identified judges who is given a producer id: none is of a block that answered an
// older question than the last, for an answer that comes twice would be given out twice.
func (o *staleInert) identified(w *World, n *Node, m *message.InitProducerIDReply) {
	for _, b := range o.session(w, n).late {
		if m.Code == message.None && b.holds(m.ID) {
			w.fail("INV-22", n.id, "the answer to an older question is taken", "node %d gives a producer the id %d of a block of %d from %d on, which it was given for a question that it had asked again", n.id, m.ID, b.count, b.first)
			return
		}
	}
}

// passedOn judges that a request is passed on to a controller under a number of its own.
// Else a copy of the answer to an earlier sending of it would be one to this sending, too:
// 'I am no controller' would have it sent once more, while a controller carries it out.
// What nobody waits for has no number.
func (o *staleInert) passedOn(w *World, n *Node, m *message.Forward) {
	of := o.session(w, n)
	switch {
	case m.Request == 0:
	case m.Request <= of.forward:
		w.fail("INV-22", n.id, "an answer to an earlier sending may be taken", "node %d passes %s on under number %d, and it has passed something on under number %d before", n.id, m.Body.Kind(), m.Request, of.forward)
	default:
		of.forward = m.Request
	}
}

func (o *staleInert) answered(w *World, n *Node, m *message.BrokerHeartbeatReply, s core.Status) {
	before := &o.sessions[n.id]
	if before.active || s.Registered && m.Epoch == s.Epoch {
		return
	}
	if s.Fenced != before.status.Fenced || s.ControllerHeard != before.status.ControllerHeard {
		w.fail("INV-22", n.id, "the answer to an earlier session is taken", "node %d takes the answer to a heartbeat under broker epoch %d, although it goes by epoch %d", n.id, m.Epoch, s.Epoch)
	}
}
