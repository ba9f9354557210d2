package sim

import (
	"github.com/tamarack-mq/tamarack/core/controller"
	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
)

// goneInOrder is the part of INV-7 about brokers that go: who shuts down in good
// order has handed over before. The committed metadata name it as the leader of
// nothing any more, so that no partition waits for its session to run out. And who is
// the last in sync somewhere goes on leading there until somebody can take over: a
// controller takes it out of service only when it has heard nothing of it for a session,
// or when it has let it wait for its grace, by its own clock.
type goneInOrder struct {
	blind
	heard   map[int32]*heardBy // by the node of the controller
	version message.Version    // of the newest image that was looked at
	was     map[message.NodeID]runOfBroker
}

// heardBy is what a controller has heard in one office.
type heardBy struct {
	office  office
	session message.Duration // that it goes by
	of      map[message.NodeID]leaver
}

// leaver is what a controller has heard of one run of a broker since it decides.
type leaver struct {
	epoch  message.BrokerEpoch
	last   message.Time     // when it was heard of
	within message.Duration // it counts as alive for so long after that: the shortest session since
	silent bool             // it did not for a time
	asks   message.Time     // when it asked for leave first; 0: it has not
}

// deadline is when it counts as dead, at the earliest.
func (l *leaver) deadline() message.Time { return l.last.Add(l.within) }

// runOfBroker is a run of a broker, in service or not.
type runOfBroker struct {
	epoch  message.BrokerEpoch
	fenced bool
}

// leaveGrace is how long a controller lets a broker wait for somebody to take over: no
// plan has another than the default of core/controller.
const leaveGrace = 5 * message.Second

func (*goneInOrder) Invariant() string { return "INV-7" }

func (*goneInOrder) Looks() scope { return ofSessions | ofImages }

func (o *goneInOrder) Stepped(w *World, n *Node, in effect.Input, out []effect.Effect) {
	boss := decides(n)
	if boss != nil {
		o.settles(officeOf(n), boss.Session())
	}
	if received, ok := in.(effect.Received); ok {
		switch m := received.Msg.(type) {
		case *message.BrokerHeartbeatReply:
			o.leaves(w, n, m, out)
		case *message.BrokerHeartbeat:
			if boss != nil && received.From == m.Node {
				o.hears(officeOf(n), n.clock.now(w.now).Mono, boss.Session(), boss.View().Flying, m)
			}
		}
	}
	image := w.newest()
	if image == nil || image.Version() == o.version {
		return
	}
	o.version = image.Version()
	by := o.decider(w)
	now := message.Time(0)
	if by != nil {
		now = w.nodes[by.office.node].clock.now(w.now).Mono
	}
	for _, b := range image.Brokers() {
		o.serves(w, b, by, now)
	}
}

// decides is the controller on a node, if it is the active one as far as it knows.
func decides(n *Node) *controller.Controller {
	if c := n.Core(); c != nil && c.Controller() != nil && c.Controller().Active() {
		return c.Controller()
	}
	return nil
}

// decider is what the controller has heard that decides: nil when several say that they
// do, as one who was deposed may not know it yet.
func (o *goneInOrder) decider(w *World) *heardBy {
	var one *Node
	for _, n := range w.nodes[1:] {
		if decides(n) != nil {
			if one != nil {
				return nil
			}
			one = n
		}
	}
	if one == nil {
		return nil
	}
	if h := o.heard[one.id]; h != nil && h.office == officeOf(one) {
		return h
	}
	return nil
}

// settles takes in what session a controller goes by. A shorter one holds for those that
// were heard of under a longer one, too, and from when it was settled: not before that
// time after they were heard of.
func (o *goneInOrder) settles(by office, session message.Duration) {
	h := o.heard[by.node]
	if h == nil || h.office != by || h.session == session {
		return
	}
	for node, l := range h.of {
		l.within = min(l.within, session)
		h.of[node] = l
	}
	h.session = session
}

// hears takes in that a controller got a heartbeat. The first one of a run says nothing
// when a decision is under way behind it, which might be to take the broker out of
// service; if it asks for leave then, nothing is judged of that run.
func (o *goneInOrder) hears(by office, now message.Time, session message.Duration, deciding bool, m *message.BrokerHeartbeat) {
	h := o.heard[by.node]
	if h == nil || h.office != by {
		h = &heardBy{by, session, map[message.NodeID]leaver{}}
		if o.heard == nil {
			o.heard = map[int32]*heardBy{}
		}
		o.heard[by.node] = h
	}
	l, known := h.of[m.Node]
	switch {
	case l.epoch > m.Epoch:
		return // of an earlier run
	case !known || l.epoch != m.Epoch:
		if deciding && !m.WantShutdown {
			return
		}
		l = leaver{epoch: m.Epoch, silent: deciding}
	case now >= l.deadline():
		l.silent = true
	}
	l.last, l.within = now, session
	if m.WantShutdown && l.asks == 0 {
		l.asks = now
	}
	h.of[m.Node] = l
}

// serves judges whether a broker that was in service, and is not any more, had to go, by
// what the controller has heard that decides now; nil: nobody knows which that is.
func (o *goneInOrder) serves(w *World, b *message.BrokerChange, by *heardBy, now message.Time) {
	if o.was == nil {
		o.was = map[message.NodeID]runOfBroker{}
	}
	was := o.was[b.Node]
	o.was[b.Node] = runOfBroker{b.Epoch, b.Fenced}
	if was.fenced || !b.Fenced || was.epoch != b.Epoch || by == nil {
		return
	}
	l := by.of[b.Node]
	if l.epoch != b.Epoch || l.asks == 0 || l.silent || now >= l.deadline() || now >= l.asks.Add(leaveGrace) {
		return
	}
	w.fail("INV-7", by.office.node, "a broker that leaves is not waited for", "node %d, which leads the controllers, takes node %d out of service %d ms after that one asked for leave to shut down, and has heard of it all the while: it was to wait for %d ms", by.office.node, b.Node, now.Sub(l.asks)/message.Millisecond, leaveGrace/message.Millisecond)
}

// leaves judges who shuts down because it may.
func (o *goneInOrder) leaves(w *World, n *Node, allowed *message.BrokerHeartbeatReply, out []effect.Effect) {
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
