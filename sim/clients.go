package sim

import (
	"slices"
	"strconv"

	"github.com/tamarack-mq/tamarack/core/chance"
	"github.com/tamarack-mq/tamarack/core/client"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
	"github.com/tamarack-mq/tamarack/history"
	"github.com/tamarack-mq/tamarack/transport/simnet"
	"github.com/tamarack-mq/tamarack/witness"
)

// user is one client process: the client machine of core/client, the script
// that uses it, and the driver between the machine and the network.
type user struct {
	world    *World
	index    int32
	plan     *ClientPlan
	endpoint simnet.Endpoint
	random   *chance.Stream
	spoiling *chance.Stream
	trying   *chance.Stream // what it does about transactions that did not commit
	clock    clock

	machine *client.Client
	out     client.Out
	effect  struct { // the one that is carried out
		call  client.Call
		done  client.Done
		event client.Event
	}
	script  script
	run     uint32 // counts process starts and ends
	starts  uint32 // the run at whose end it is to be started again
	session int32  // counts starts
	// readsCommitted is whether the auditor now reads what is committed only.
	readsCommitted bool
	up             bool
	paused         bool
	closing        bool
	slow           Span // how much longer it takes for a poll
	inbox          []event
	tickAt         Span

	calls       []openCall
	halved      int  // how often it was told that its transactions are open for too long
	inVain      bool // a record of its that the cluster could have stored came to nothing
	committedAt Span // when a transaction of its own was last committed; 0: none was
	looked      Span // when it last asked about the cluster, or was answered; 0: never
	told        session
	whoIs       identities
	given       map[record.PartitionID]record.Offset // where what the application was given ends, as far as it was given anything
	back        map[record.PartitionID]bool          // it has gone back to where its group stands, and was given nothing since
	// landings are the seeks of which nothing has come yet, and times some times of
	// records that were given.
	landings map[record.PartitionID]*landing
	hand     inHand
	lanes    map[numberedLane]*laneNumbers
	fetched  map[record.PartitionID]lastFetch
	resting  map[record.PartitionID]unread
	stuck    map[record.PartitionID]bool          // what its application was told of while it went by a name that cannot be; nil: it does not
	storing  []message.GroupOffset                // what it asked a coordinator to store last
	held     map[record.PartitionID]record.Offset // what it was granted to leave alone
	spoilt   map[record.PartitionID]int           // how often in a row what it was sent was spoilt
	times    map[record.PartitionID][]record.Timestamp
	ops      map[client.Op]*openOp
	spare    []*openOp // of publishes, for the next ones
	lastOp   client.Op
	depth    int // steps within steps

	listAt    int  // the next operation of the plan's list
	listAsked bool // it is on the agenda
	queue     []client.Input
	causes    []int32 // rows that the inputs in queue follow from, when somebody is told
}

// openCall is a request without an answer so far.
type openCall struct {
	call       uint64
	node       simnet.Endpoint
	generation uint32
	event      uint64          // when it was sent
	kind       message.Kind    // of the request
	since      Span            // when it was sent
	asked      message.Request // if its answer tells the bounds of logs, or the operator asks, or is judged by it; else nil
	produced   *message.Produce
}

// openOp is an operation of the script without a result so far.
type openOp struct {
	id   int64 // in the history; -1: not recorded
	what opKind
	arg  int64
	text string
	ask  client.Input
	of   *transaction // that it is part of; nil: none
	// seeks is where a seek goes on elsewhere.
	seeks record.PartitionID
}

// opKind says what an operation was for, so that its result finds its way.
type opKind uint8

const (
	opPlumbing opKind = iota // subscribe, assign, close: nobody waits for it
	opPublish
	opPoll
	opCommit
	opCommitted
	opAdmin
	opChaos
	opGroups
	opSeek
	opHold
	opBegin
	opEnd
	opPositions
	opQuit   // a close that does not wait for the commit under way
	opMisuse // what no client may do: it is told so at once
)

// script is what a client does for a living.
type script interface {
	// begin is called when the process has started.
	begin(u *user)
	// act is called when the time that the script asked for has come.
	act(u *user, arg uint64)
	// done is called with each result.
	done(u *user, op *openOp, result *client.Result)
	// event is called with what the client was told unasked.
	event(u *user, e *client.Event)
	// idle says that the script has nothing open that has to end before the
	// cluster is at rest; what it waits for is said in words.
	idle(u *user) (waits string, ok bool)
}

func newUser(w *World, index int) *user {
	p := &w.plan.Clients[index]
	u := &user{
		world: w, index: int32(index), plan: p,
		endpoint: simnet.Endpoint(len(w.nodes) + index),
		random:   w.random.Split("client/" + strconv.Itoa(p.ID)),
		spoiling: w.random.Split("spoiling/" + strconv.Itoa(p.ID)),
		trying:   w.random.Split("trying/" + strconv.Itoa(p.ID)),
		ops:      map[client.Op]*openOp{},
		tickAt:   never,
	}
	u.clock = newClock(message.Time(u.random.Split("clock").Below(int64(1000 * Second))))
	return u
}

// happen handles one event that is meant for this client.
func (u *user) happen(e *event) {
	w := u.world
	switch e.kind {
	case evClientStarts:
		if !u.up && e.run == u.run {
			u.start()
		}
		return
	case evClientWakes:
		if u.up && e.run == u.run && u.paused {
			u.wake()
		}
		return
	}
	if !u.up || e.kind != evPacket && e.run != u.run {
		if e.kind == evPacket {
			w.net.Done(e.packet)
		}
		return
	}
	if u.paused {
		u.inbox = append(u.inbox, *e)
		return
	}
	switch e.kind {
	case evPacket:
		u.receive(e.packet)
	case evClientTick:
		if u.tickAt == w.now {
			u.tickAt = never
			if u.machine.Wake() <= u.clock.now(w.now).Mono {
				u.step(client.Tick{})
			} else {
				u.arm()
			}
		}
	case evScript:
		u.script.act(u, e.arg)
	}
}

// start starts the process.
func (u *user) start() {
	w := u.world
	u.run++
	u.session++
	u.whoIs = identities{}
	u.told, u.given = session{}, map[record.PartitionID]record.Offset{}
	u.back = map[record.PartitionID]bool{}
	u.held, u.spoilt, u.hand, u.lanes, u.storing = nil, nil, inHand{}, nil, nil
	u.stuck = nil
	u.fetched, u.resting = map[record.PartitionID]lastFetch{}, map[record.PartitionID]unread{}
	u.landings, u.times = map[record.PartitionID]*landing{}, nil
	u.up, u.paused, u.closing = true, false, false
	u.clock.reboot(w.now, message.Time(u.random.Below(int64(1000*Second))))
	u.tickAt = never
	u.script = newScript(u)
	u.listAsked, u.looked = false, 0
	u.machine = client.New(u.config(), u.random.Split("run/"+strconv.Itoa(int(u.session))), u.clock.now(w.now))
	if w.tracing {
		w.tell("client %d starts (%s)", u.plan.ID, u.plan.Role)
	}
	w.history.Moment(history.Operation{
		Client: int32(u.plan.ID), Session: u.session, Kind: history.Restarted, Invoke: int64(w.now),
		Group: u.plan.Group, Style: u.style(),
	})
	if w.witness != nil {
		w.witness.life(u.place(), witness.ClientStart, string(u.plan.Role))
	}
	u.script.begin(u)
	u.arm()
}

// config are the settings of the client machine.
func (u *user) config() client.Config {
	w, p := u.world, u.plan
	c := client.DefaultConfig()
	c.Name = "c" + strconv.Itoa(p.ID) + "." + strconv.Itoa(int(u.session))
	for i := range 3 {
		id := (p.ID+i)%w.plan.Cluster.Nodes + 1
		c.Bootstrap = append(c.Bootstrap, address(int32(id)))
	}
	t := &w.plan.Timing
	c.RequestTimeout = message.Duration(t.ClientRequest)
	if t.ClientMetadata > 0 {
		c.MetadataMaxAge = message.Duration(t.ClientMetadata)
	}
	c.DeliveryTimeout = message.Duration(t.ClientDelivery)
	c.SessionTimeout = message.Duration(t.GroupSession)
	c.RebalanceTimeout = 2 * message.Duration(t.GroupSession)
	c.MaxPollInterval = 10 * message.Duration(t.GroupSession)
	if u.committed() {
		c.Isolation = message.ReadCommitted
	}
	c.PartitionFetchBytes, c.PrefetchBytes = int32(p.Fetch), int64(p.Ahead)
	if p.Role.transacts() {
		c.TransactionalID, c.TransactionTimeout = p.Transactional, message.Duration(p.Limit)
	}
	if p.Role.publishes() {
		c.Acks = message.Acks(p.Acks)
		c.Idempotent = p.Idempotent
		c.BatchBytes, c.RequestBytes = int32(p.Batch), int32(p.Request)
		c.BufferBytes = int64(p.Buffer)
		c.Linger = message.Duration(p.Linger)
	}
	return c
}

// die ends the process; what it had open stays unknown.
func (u *user) die() {
	w := u.world
	if !u.up {
		return
	}
	if w.tracing {
		w.tell("client %d dies", u.plan.ID)
	}
	if w.witness != nil {
		w.witness.life(u.place(), witness.ClientDown, "")
	}
	u.markDied()
	u.up, u.paused = false, false
	u.run++
	for i := range u.inbox {
		if u.inbox[i].kind == evPacket {
			w.net.Done(u.inbox[i].packet)
		}
	}
	u.inbox = u.inbox[:0]
	u.calls = u.calls[:0]
	w.stats.Unknown += uint64(len(u.ops))
	clear(u.ops)
	u.tickAt = never
	w.net.Gone(message.Time(w.now), u.endpoint, true)
}

// startIn puts the next start of the process on the agenda.
func (u *user) startIn(d Span) {
	u.starts = u.run
	u.world.in(d, event{kind: evClientStarts, place: u.index, run: u.run})
}

// pause stops the process without ending it.
func (u *user) pause(d Span) {
	if u.up && !u.paused {
		u.paused = true
		if u.world.witness != nil {
			u.world.witness.life(u.place(), witness.ClientPause, "")
		}
		u.world.in(d, event{kind: evClientWakes, place: u.index, run: u.run})
	}
}

func (u *user) wake() {
	u.paused = false
	if u.looked > 0 {
		u.looked = u.world.now
	}
	if u.world.witness != nil {
		u.world.witness.life(u.place(), witness.ClientWake, "")
	}
	waiting := u.inbox
	u.inbox = nil
	for i := range waiting {
		if waiting[i].kind == evClientTick {
			u.tickAt = u.world.now
		}
		u.happen(&waiting[i])
	}
	u.arm()
}

// next asks for the script to act again after a while.
func (u *user) next(d Span) {
	u.world.in(d, event{kind: evScript, place: u.index, run: u.run})
}

// some draws a time around a mean.
func (u *user) some(mean Span) Span {
	if mean <= 0 {
		return Millisecond
	}
	return mean/2 + Span(u.random.Below(int64(mean)))
}

// arm puts the machine's next tick on the agenda.
func (u *user) arm() {
	if !u.up {
		return
	}
	at := max(u.clock.when(u.machine.Wake()), u.world.now)
	if at < u.tickAt && at != never {
		u.tickAt = at
		u.world.agenda.add(at, event{kind: evClientTick, place: u.index, run: u.run})
	}
}

// receive hands an answer, or the end of a connection, to the machine.
func (u *user) receive(p *simnet.Packet) {
	w := u.world
	if w.witness != nil {
		w.witness.arrived(p)
	}
	switch p.Kind {
	case simnet.Reply:
		call, reply, from := p.Call, p.Msg.(message.Reply), p.From
		var hopeless []record.PartitionID
		w.net.Done(p)
		if i := slices.IndexFunc(u.calls, func(c openCall) bool { return c.call == call }); i >= 0 {
			u.inKind(&u.calls[i], reply)
			u.heard(&u.calls[i], reply)
			if o, ok := u.script.(*operator); ok {
				o.hears(u.calls[i].asked, reply)
			}
			u.numbersAnswered(&u.calls[i], reply)
			u.hearsWhoItIs(reply)
			u.looks(u.calls[i].kind)
			hopeless = u.cannotRead(&u.calls[i], reply)
			u.calls = slices.Delete(u.calls, i, i+1)
		}
		if w.tracing {
			w.tell("client %d <- node %d %s", u.plan.ID, from, describe(reply))
		}
		u.step(client.Answered{Call: call, Reply: u.spoil(call, reply)})
		u.toldStuck(hopeless)
	case simnet.Broken, simnet.Refused:
		from, generation, kind := p.From, p.Generation, p.Kind
		w.net.Done(p)
		reason := client.Broken
		if kind == simnet.Refused {
			reason = client.Unsent
		}
		u.failCalls(from, generation, reason)
	default:
		w.net.Done(p)
	}
}

// failCalls ends the calls of a connection.
func (u *user) failCalls(node simnet.Endpoint, generation uint32, reason client.Reason) {
	var failed []client.Input
	kept := u.calls[:0]
	for _, c := range u.calls {
		if c.node == node && c.generation <= generation {
			r := reason
			if c.generation < generation {
				r = client.Broken
			}
			failed = append(failed, client.Failed{Call: c.call, Reason: r})
			u.looks(c.kind)
			continue
		}
		kept = append(kept, c)
	}
	u.calls = kept
	for _, f := range failed {
		u.step(f)
	}
}

// step is the one place where a client machine takes an input. Inputs that the
// script makes while results are handed over wait until that is done.
func (u *user) step(in client.Input) {
	if !u.up {
		return
	}
	u.queue = append(u.queue, in)
	if u.world.witness != nil {
		u.causes = append(u.causes, u.world.witness.now())
	}
	if u.depth > 0 {
		return
	}
	u.depth++
	run := u.run
	for len(u.queue) > 0 && u.up && u.run == run {
		in := u.queue[0]
		u.queue = append(u.queue[:0], u.queue[1:]...)
		if u.world.witness != nil {
			u.world.witness.input, u.causes = u.causes[0], u.causes[1:]
		}
		u.out.Empty()
		switch in.(type) {
		case client.Seek, client.Assign, client.Subscribe, client.Rewind, client.Unsubscribe:
			u.turns()
		}
		u.machine.Step(u.clock.now(u.world.now), in, &u.out)
		for i := range u.out.List {
			u.carryOut(u.out.List[i])
			if !u.up || u.run != run {
				break
			}
		}
	}
	u.queue, u.causes = u.queue[:0], nil
	u.depth--
	u.arm()
}

// carryOut does what one effect of the machine asks for.
func (u *user) carryOut(given client.Effect) {
	w := u.world
	switch given := given.(type) {
	case client.Call:
		e := &u.effect.call
		*e = given
		u.call(e)
	case client.Hangup:
		node := w.endpointOf(given.Node, given.Address)
		w.net.Hangup(u.endpoint, node)
		u.failCalls(node, ^uint32(0), client.Broken)
	case client.Done:
		e := &u.effect.done
		*e = given
		op := u.ops[e.Op]
		if op == nil {
			w.fail("INV-10", 0, "a client's operation ends twice", "client %d reports the end of operation %d twice", u.plan.ID, e.Op)
			return
		}
		delete(u.ops, e.Op)
		w.hash.fold(uint64(e.Op)<<8 ^ uint64(e.Result.Outcome))
		if w.tracing {
			w.tell("client %d: %s", u.plan.ID, describeResult(op, &e.Result))
		}
		if w.witness != nil {
			w.witness.answered(u, op, &e.Result)
		}
		u.handed(e.Result.Polled)
		u.takesInHand(e.Result.Polled)
		switch op.what {
		case opSeek:
			u.setOut(op, &e.Result)
		case opHold:
			u.holds(op, &e.Result)
		}
		u.record(op, &e.Result)
		u.script.done(u, op, &e.Result)
		if op.what == opPublish && w.witness == nil {
			u.spare = append(u.spare, op)
		}
	case client.Event:
		e := &u.effect.event
		*e = given
		w.hash.fold(uint64(e.Kind)<<32 ^ uint64(e.MemberEpoch))
		if w.tracing {
			w.tell("client %d is told: %s", u.plan.ID, describeEvent(e))
		}
		if w.witness != nil {
			w.witness.tells(u, e)
		}
		u.turns()
		u.cutBack(e)
		u.keeps(e)
		u.givesUp(e)
		u.isStuck(e)
		u.recordEvent(e)
		u.script.event(u, e)
	}
}

// newPublish is the openOp of a publish. Nobody but a witness keeps one
// beyond its result.
func (u *user) newPublish(id int64) *openOp {
	var o *openOp
	if k := len(u.spare); k > 0 {
		o, u.spare = u.spare[k-1], u.spare[:k-1]
	} else {
		o = new(openOp)
	}
	*o = openOp{id: id, what: opPublish}
	return o
}

// call sends a request over the network.
func (u *user) call(e *client.Call) {
	w := u.world
	node := w.endpointOf(e.Node, e.Address)
	if node == 0 {
		w.fail("INV-10", 0, "a client calls a node that does not exist", "client %d calls node %d at %q, which does not exist", u.plan.ID, e.Node, e.Address)
		return
	}
	d := digest(e.Request)
	w.hash.fold(d)
	w.sentKinds |= 1 << e.Request.Kind()
	if m, ok := e.Request.(*message.Produce); ok && u.plan.Role.publishes() {
		u.inBounds(m)
		u.publishesAsTold(m)
		u.numbers(m)
	}
	u.isItself(e.Request)
	u.sendsPositions(e.Request)
	if m, ok := e.Request.(*message.Fetch); ok {
		u.aheadInBounds(m)
		u.rests(e.Call, m)
		if len(u.held) > 0 {
			u.fetches(m)
		}
	}
	if w.witness != nil {
		w.witness.calls(u, int(node), e)
	}
	generation := w.net.Call(message.Time(w.now), u.endpoint, node, e.Call, w.pass(e.Request), d)
	if w.witness != nil {
		w.witness.sent(node)
	}
	if !e.NoReply {
		c := openCall{call: e.Call, node: node, generation: generation, event: w.stats.Events, since: w.now, kind: e.Request.Kind()}
		if o, ok := u.script.(*operator); ok {
			c.asked = e.Request
			o.sends(e.Request)
		} else if asks(e.Request) || u.stuck != nil {
			c.asked = e.Request
		}
		c.produced, _ = e.Request.(*message.Produce)
		u.again(&c)
		u.looks(c.kind)
		u.lookedLately()
		u.calls = append(u.calls, c)
	}
}

// address is where a node is reached.
func address(id int32) string { return "node-" + strconv.Itoa(int(id)) + ":9092" }

// endpointOf finds a node by its id or by its address; 0: there is none.
func (w *World) endpointOf(id message.NodeID, at string) simnet.Endpoint {
	if id != message.NoNode {
		if int(id) < len(w.nodes) {
			return simnet.Endpoint(id)
		}
		return 0
	}
	for i := 1; i < len(w.nodes); i++ {
		if address(int32(i)) == at {
			return simnet.Endpoint(i)
		}
	}
	return 0
}

func (w *World) clientID(e simnet.Endpoint) int { return w.clients[int(e)-len(w.nodes)].plan.ID }
