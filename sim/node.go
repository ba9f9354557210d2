package sim

import (
	"strconv"

	"github.com/tamarack-mq/tamarack/core"
	"github.com/tamarack-mq/tamarack/core/chance"
	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/transport/codec"
	"github.com/tamarack-mq/tamarack/transport/simnet"
	"github.com/tamarack-mq/tamarack/witness"
)

// machine is what a driver runs: core.Node, or a toy in tests.
type machine interface {
	Step(now message.Now, in effect.Input, out *effect.Out)
	Wake() message.Time
}

// Node is one node of the simulated cluster: the core, its disk and its clock.
type Node struct {
	id     int32
	world  *World
	core   machine
	taper  taper
	out    effect.Out
	clock  clock
	random *chance.Stream
	drive  drive

	run        uint32 // counts process starts; events of earlier runs fall flat
	up         bool
	paused     bool
	inbox      []event
	tickAt     Span // the earliest tick on the agenda; never when there is none
	spins      int  // ticks in a row that left the core wanting another at once
	lastTick   Span
	woke       Span // from its last pause
	tokens     map[message.Token]caller
	lastToken  message.Token
	diskFailed bool // in this run: a halt is what must follow
	forGood    bool // stays broken after the heal
	absent     bool // has not been added yet
	// incarnation is what this run of the process registers under: another one
	// when its first was taken for that of a dead run.
	incarnation uint64
	restartIn   Span              // how long until the supervisor starts it again after a halt; never: it stays down
	forgot      bool              // its disk was swapped, and its votes with it; see atlas.forgetful
	others      []message.Setting // what its own configuration file says
	listed      []message.NodeID  // the voters in that file; nil: those of the plan
	strays      *chance.Stream    // what comes that is not for it
	strayCopies int               // messages of followers that may come once more: see strayCopy
	settings    *Settings         // what this run was started with; nil: what the plan has for all
	retuned     *Settings         // what its next run starts with: a shutdown may take its time
	crashLoops  int               // how often it dies again while it recovers
}

// caller is where the answer to a request goes.
type caller struct {
	client     simnet.Endpoint
	call       uint64
	generation uint32
	request    message.Request
	since      Span
	mono       message.Time // what the node's clock showed then
	after      uint64       // how many steps there had been before it came
}

// answered is who was asked for last in a step; what several observers ask for is looked
// up once. Requests come and go between the looks of observers, never while they look.
type answered struct {
	step  uint64 // 0: nothing was
	node  int32
	token message.Token
	asker caller
}

// asker is who waits for the answer of a node under a token, for observers. Nobody has no
// request.
func (n *Node) asker(token message.Token) caller {
	a, step := &n.world.answered, n.world.stats.Steps
	if a.step == 0 || a.step != step || a.node != n.id || a.token != token {
		*a = answered{step, n.id, token, n.tokens[token]}
	}
	return a.asker
}

func newNode(w *World, id int32) *Node {
	n := &Node{
		id: id, world: w, tickAt: never, restartIn: Second,
		random: w.random.Split("node/" + strconv.Itoa(int(id))),
		tokens: map[message.Token]caller{},
	}
	n.clock = newClock(message.Time(n.random.Split("clock").Below(int64(1000 * Second))))
	n.strays = n.random.Split("strays")
	n.drive.init(n)
	return n
}

func (n *Node) endpoint() simnet.Endpoint { return simnet.Endpoint(n.id) }

// node is the id as the core has it.
func (n *Node) node() message.NodeID { return message.NodeID(n.id) }

// Core is the running core, or nil.
func (n *Node) Core() *core.Node {
	if !n.up {
		return nil
	}
	c, _ := n.core.(*core.Node)
	return c
}

// happen handles one event that is meant for this node.
func (n *Node) happen(e *event) {
	switch e.kind {
	case evNodeStarts:
		if !n.up && e.run == n.run {
			n.start()
		}
		return
	case evNodeDies:
		if n.up && e.run == n.run && !(e.arg&ofAFault != 0 && n.world.phase > faulting) {
			n.drive.disarm()
			n.fall(death{lossy: e.arg&1 != 0, told: e.arg&2 != 0})
		}
		return
	case evNodeWakes:
		if n.up && e.run == n.run {
			n.wake()
		}
		return
	}
	if !n.up || e.kind != evPacket && e.run != n.run {
		n.discard(e)
		return
	}
	if n.paused {
		n.inbox = append(n.inbox, *e)
		return
	}
	switch e.kind {
	case evPacket:
		n.receive(e.packet)
	case evTick:
		n.ticked()
	case evWritten:
		n.drive.written()
	case evFlushed:
		n.drive.flushed()
	case evJournal:
		n.drive.journalled()
	case evRead:
		n.drive.read(e.arg)
	case evRoom:
		n.drive.retry()
	}
}

// discard drops an event that found nobody.
func (n *Node) discard(e *event) {
	if e.kind != evPacket {
		return
	}
	if p := e.packet; p.Kind == simnet.Request && !p.Late {
		if n.world.witness != nil {
			n.world.witness.missed(witness.Lost, p, "nobody is there")
		}
		n.world.net.Refuse(message.Time(n.world.now), p)
		return
	}
	n.drop(e)
}

// drop loses an event whose packet had come to a process, which has ended before
// it looked: the packet had a connection, and others of that may have been
// served, so what the client hears is the end of the connection, if anything.
func (n *Node) drop(e *event) {
	if e.kind != evPacket {
		return
	}
	if n.world.witness != nil {
		n.world.witness.missed(witness.Lost, e.packet, "nobody is there")
	}
	n.world.net.Done(e.packet)
}

// receive hands a packet to the core.
func (n *Node) receive(p *simnet.Packet) {
	w := n.world
	if w.witness != nil {
		w.witness.arrived(p)
	}
	switch p.Kind {
	case simnet.Message:
		from, m := message.NodeID(p.From), n.spoilCopy(p.Msg)
		w.net.Done(p)
		if w.tracing {
			w.tell("node %d <- node %d %s", n.id, from, describe(m))
		}
		n.step(effect.Received{From: from, Msg: m})
		n.stray(from, m)
		n.strayCopy(from, m)
	case simnet.Request:
		m := p.Msg.(message.Request)
		n.lastToken++
		if produce, ok := m.(*message.Produce); !ok || produce.Acks != message.AcksNone {
			n.tokens[n.lastToken] = caller{p.From, p.Call, p.Generation, m, w.now, n.clock.now(w.now).Mono, w.stats.Steps}
		}
		if w.tracing {
			w.tell("node %d <- client %d %s", n.id, w.clientID(p.From), describe(m))
		}
		w.net.Done(p)
		n.step(effect.Requested{Token: n.lastToken, Msg: m})
	default:
		w.net.Done(p)
	}
}

// ticked steps the core when its time has come.
func (n *Node) ticked() {
	w := n.world
	if n.tickAt != w.now {
		return // another tick took its place
	}
	n.tickAt = never
	if n.core.Wake() > n.clock.now(w.now).Mono {
		n.arm()
		return
	}
	if n.lastTick == w.now {
		if n.spins++; n.spins > 1000 {
			w.fail("INV-38", n.id, "the core asks to be stepped without end", "node %d asked for a tick a thousand times at one moment", n.id)
			return
		}
	} else {
		n.spins, n.lastTick = 0, w.now
	}
	n.step(effect.Tick{})
}

// arm puts the core's next tick on the agenda.
func (n *Node) arm() {
	if !n.up {
		return
	}
	at := max(n.clock.when(n.core.Wake()), n.world.now)
	if at < n.tickAt && at != never {
		n.tickAt = at
		n.world.agenda.add(at, event{kind: evTick, place: n.id, run: n.run})
	}
}

// step is the one place where a core takes an input.
func (n *Node) step(in effect.Input) {
	w := n.world
	if !n.up || w.failure != nil {
		return
	}
	run := n.run
	n.out.Empty()
	now := n.clock.now(w.now)
	if n.taper != nil {
		n.taper.Begin(now, in)
	}
	n.core.Step(now, in, &n.out)
	if n.taper != nil {
		n.taper.End(n.out.List)
	}
	w.stats.Steps++
	w.foldEffects(&n.out)
	if w.tracing {
		w.tellStep(n, in, n.out.List)
	}
	if w.witness != nil {
		w.witness.stepped(n, in, n.out.List)
	}
	w.observe(n, in, n.out.List)
	if w.failure != nil {
		return
	}
	for i, e := range n.out.List {
		if w.witness != nil {
			w.witness.carrying(i)
		}
		n.carryOut(e, w.digests[i])
		if n.run != run || !n.up {
			return
		}
	}
	n.drive.begin()
	n.arm()
}

// foldEffects folds what a core gave out into the hash and keeps the digests
// of the messages.
func (w *World) foldEffects(out *effect.Out) {
	w.digests = w.digests[:0]
	for _, e := range out.List {
		var d uint64
		switch e := e.(type) {
		case effect.Send:
			d = digest(e.Msg)
			w.markReply(e.Msg)
		case effect.Reply:
			d = digest(e.Msg)
			w.markReply(e.Msg)
		}
		w.digests = append(w.digests, d)
		foldEffect(&w.hash, e, d)
	}
}

// carryOut does what one effect asks for, or puts it in its queue.
func (n *Node) carryOut(e effect.Effect, digest uint64) {
	w := n.world
	switch e := e.(type) {
	case effect.Send:
		if int(e.To) < 1 || int(e.To) >= len(w.nodes) {
			w.fail("INV-10", n.id, "a message to a node that does not exist", "node %d sends %s to node %d, which does not exist", n.id, e.Msg.Kind(), e.To)
			return
		}
		if m, ok := e.Msg.(*message.RegisterBroker); ok {
			n.incarnation = m.Incarnation
			w.atlas.names(n.id, m)
		}
		doubled := w.net.Counts.Doubled
		w.net.Send(message.Time(w.now), n.endpoint(), simnet.Endpoint(e.To), w.pass(e.Msg), digest)
		if w.net.Counts.Doubled > doubled {
			if o, ok := w.operatorUser().script.(*operator); ok {
				o.doubles(e.Msg)
			}
		}
		if w.witness != nil {
			w.witness.sent(simnet.Endpoint(e.To))
		}
	case effect.Reply:
		to, ok := n.tokens[e.Token]
		if !ok {
			w.fail("INV-10", n.id, "a request is answered twice or was never asked", "node %d answers request %d with %s, but that was answered before or never asked", n.id, e.Token, e.Msg.Kind())
			return
		}
		delete(n.tokens, e.Token)
		w.net.Answer(message.Time(w.now), n.endpoint(), to.client, to.call, to.generation, w.pass(e.Msg), digest)
		if w.witness != nil {
			w.witness.sent(to.client)
		}
	case effect.Halt:
		n.halted(e)
	default:
		n.drive.take(e)
	}
}

// pass is what the network makes of a message: itself, or what the codec made
// of it when the plan asks for that.
func (w *World) pass(m message.Message) message.Message {
	if !w.plan.Cluster.Codec {
		return message.Detach(m)
	}
	c, err := codec.Copy(m)
	if err != nil {
		w.fail("INV-36", 0, "the codec refuses a message of our own", "%s does not pass the codec: %v", m.Kind(), err)
		return m
	}
	if digest(c) != digest(m) {
		w.fail("INV-36", 0, "the codec changes a message", "%s comes out of the codec changed: %+v became %+v", m.Kind(), m, c)
	}
	return c
}
