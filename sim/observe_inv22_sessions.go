package sim

import (
	"github.com/tamarack-mq/tamarack/core"
	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
)

// earlierSession is how a node stood with its controller after the last word of it.
// A node that is the controller has that word from itself, in any step: what it had
// then is not kept.
type earlierSession struct {
	active bool
	status core.Status
}

// Started: a run begins with no word of anybody.
func (o *staleInert) Started(w *World, n *Node, _ *effect.Recovered) {
	if o.sessions == nil {
		o.sessions = make([]earlierSession, len(w.nodes))
	}
	o.sessions[n.id] = earlierSession{}
	if c := n.Core(); c != nil {
		o.sessions[n.id].status = c.Status(n.clock.now(w.now).Mono)
	}
}

// earlierAnswer is INV-22 for what a controller says of a registration that is over:
// the node does not take itself for heard of, nor for out of service or back in it.
func (o *staleInert) earlierAnswer(w *World, n *Node, in effect.Input) {
	var beat *message.BrokerHeartbeatReply
	told := false
	if r, ok := in.(effect.Received); ok {
		beat, told = r.Msg.(*message.BrokerHeartbeatReply)
		if _, registered := r.Msg.(*message.RegisterBrokerReply); registered {
			told = true
		}
	}
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
	*before = earlierSession{status: s}
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
