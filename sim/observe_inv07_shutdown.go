package sim

import (
	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
)

// goneInOrder is the part of INV-7 about brokers that go: who shuts down in good
// order has handed over before. The committed metadata name it as the leader of
// nothing any more, so that no partition waits for its session to run out.
type goneInOrder struct{ blind }

func (*goneInOrder) Invariant() string { return "INV-7" }

func (*goneInOrder) Looks() scope { return ofSessions }

func (o *goneInOrder) Stepped(w *World, n *Node, in effect.Input, out []effect.Effect) {
	received, ok := in.(effect.Received)
	if !ok {
		return
	}
	allowed, ok := received.Msg.(*message.BrokerHeartbeatReply)
	if !ok {
		return
	}
	for _, e := range out {
		if h, ok := e.(effect.Halt); !ok || !h.Clean {
			continue
		}
		image := w.newest()
		b := image.Broker(n.node())
		if b == nil || b.Epoch != allowed.Epoch {
			return // another run has its place
		}
		if leads := image.Leads(n.node()); leads > 0 {
			w.fail("INV-7", n.id, "a broker shuts down that leads", "node %d shuts down in good order, and is the leader of %d partitions", n.id, leads)
		}
	}
}
