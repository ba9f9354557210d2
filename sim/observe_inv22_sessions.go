package sim

import (
	"github.com/tamarack-mq/tamarack/core"
	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
)

// earlierSession is how a node stood with its controller after the last word of it.
// A node that is the controller has that word from itself, in any step.
type earlierSession struct {
	run    uint32
	active bool
	status core.Status
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
	k := c.Controller()
	active := k != nil && k.Active()
	if before := &o.sessions[n.id]; !told && !active && !before.active && before.run == n.run {
		return
	}
	s := c.Status(n.clock.now(w.now).Mono)
	if beat != nil && !active {
		o.answered(w, n, beat, s)
	}
	o.sessions[n.id] = earlierSession{n.run, active, s}
}

func (o *staleInert) answered(w *World, n *Node, m *message.BrokerHeartbeatReply, s core.Status) {
	before := &o.sessions[n.id]
	if before.active || before.run != n.run || s.Registered && m.Epoch == s.Epoch {
		return
	}
	if s.Fenced != before.status.Fenced || s.ControllerHeard != before.status.ControllerHeard {
		w.fail("INV-22", n.id, "the answer to an earlier session is taken", "node %d takes the answer to a heartbeat under broker epoch %d, although it goes by epoch %d", n.id, m.Epoch, s.Epoch)
	}
}
