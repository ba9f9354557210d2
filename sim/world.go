package sim

import (
	"fmt"
	"math"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/tamarack-mq/tamarack/core/chance"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/history"
	"github.com/tamarack-mq/tamarack/transport/simnet"
)

// never is later than all that happens in a run.
const never = Span(math.MaxInt64)

// World is one run: its clock, its events, its nodes and clients. Nothing in it
// is shared with another run.
type World struct {
	agenda  agenda
	event   event // the one at hand
	now     Span
	hash    rolling
	plan    *Plan
	options Options
	random  *chance.Stream
	net     *simnet.Network
	nodes   []*Node // by id; [0] is nil
	clients []*user
	stats   Stats
	busy    activity
	history history.Recorder
	// transacted is whether somebody in the plan makes transactions, and transactions
	// counts them.
	transacted   bool
	transactions int64
	asked        map[askedMarker]bool // markers, by coordinators

	book      *book
	atlas     atlas
	marks     [marksEnd]uint64
	struck    map[FaultKind]uint64 // how often each kind of fault struck
	observers []Observer
	looks     looks
	lookers   lookers
	// concerns is what the step at hand is about, and every step is about always as well:
	// nothing, but in tests.
	concerns, always scope
	quorum           quorumSeen
	answered         answered
	apart            apart
	failure          *Failure
	noted            bool   // whether the last call of fail noted something
	broken           string // a fault of the harness itself

	phase          phase
	faults         []*activeFault
	checkpoints    []uint64
	trace          []string
	tracing        bool
	restBy         Span       // when the cluster must have come to rest
	quiet          Span       // since when it is; 0: it is not
	uncleanAllowed bool       // an operator asked for an unclean election
	leaderNamed    bool       // somebody has named who is to lead something
	sentKinds      uint64     // kinds of requests that clients have sent
	decider        *decider   // who decides in place of chance, or notes what it decides; nil: nobody
	recorded       *Recording // with Options.Record
	digests        []uint64   // of the messages in the effects at hand
	witness        *recorder  // nil: nobody asked
	exactNext      uint64     // the next event before which the plan cuts the power; 0: there is none
}

// phase is where a run stands.
type phase uint8

const (
	warming phase = iota
	faulting
	draining // faults are over and the workload comes to its end
	resting
	over
)

var phaseNames = [...]string{"warm", "faults", "drain", "rest", "over"}

func newWorld(given *Plan, options Options) *World {
	plan := new(Plan)
	*plan = *given
	plan.Clients = append(slices.Clone(given.Clients),
		ClientPlan{ID: operatorID, Role: operatorRole}, ClientPlan{ID: auditorID, Role: auditorRole})
	w := &World{
		plan: plan, options: options, transacted: given.transacts(), random: chance.New(plan.Seed), struck: map[FaultKind]uint64{},
	}
	if options.Record {
		w.recorded = &Recording{}
	}
	w.hash.fold(plan.Seed)
	nodes := plan.Cluster.Nodes + 1
	w.net = simnet.New(nodes, nodes+len(plan.Clients), weather(&plan.Network), w.random.Split("net"), &w.agenda)
	w.book = newBook()
	w.atlas.init(w)
	w.observers = newObservers()
	w.looks = looksOf(w.observers)
	w.nodes = append(w.nodes, nil)
	for id := 1; id <= plan.Cluster.Nodes; id++ {
		w.nodes = append(w.nodes, newNode(w, int32(id)))
	}
	for i := range w.plan.Clients {
		w.clients = append(w.clients, newUser(w, i))
	}
	w.decider = newDecider(w)
	if options.Witness != nil {
		w.witness = newRecorder(w, options.Witness)
	}
	return w
}

func weather(n *NetworkPlan) simnet.Weather {
	return simnet.Weather{
		Latency: message.Duration(n.Latency), Spread: message.Duration(n.Spread),
		Tail: int64(n.Tail), TailScale: message.Duration(n.TailScale),
		Reset: int64(n.Reset), Stale: int64(n.Stale), Lose: int64(n.Lose),
		Duplicate: int64(n.Duplicate), Reorder: int64(n.Reorder), Queue: n.Queue,
	}
}

// play runs events until the run is over, stopped, or something broke.
func (w *World) play() {
	w.begin()
	w.proceed()
}

// proceed plays on from where the run stands.
func (w *World) proceed() {
	defer func() {
		if r := recover(); r != nil {
			w.panicked(r)
		}
	}()
	for w.failure == nil && w.broken == "" && w.phase != over {
		at, e, ok := w.agenda.next()
		if !ok {
			w.broken = "nothing is left to happen before the run is over"
			return
		}
		w.event = e
		w.now = at
		w.stats.Events++
		if w.options.TraceTo > 0 {
			w.tracing = w.stats.Events >= w.options.TraceFrom && w.stats.Events <= w.options.TraceTo
		}
		w.hash.fold(uint64(at)<<6 ^ uint64(e.kind)<<58 ^ uint64(uint32(e.place)))
		if w.options.events != nil {
			w.options.events(w, &w.event)
		}
		if w.stats.Events == w.exactNext {
			w.cutExact()
		}
		w.happen(&w.event)
		if w.stats.Events%CheckpointEvery == 0 {
			w.checkpoints = append(w.checkpoints, uint64(w.hash))
		}
		if w.options.Until > 0 && w.stats.Events >= w.options.Until {
			return
		}
	}
}

// panicked turns a panic into a failure. A panic of the core is a broken
// promise of its own (an assertion); one of the simulator is a broken harness.
func (w *World) panicked(r any) {
	stack := string(debug.Stack())
	place, judged := panicPlace(stack)
	sentence := fmt.Sprintf("the core panicked: %v (at %s)", r, place)
	if !judged {
		w.broken = fmt.Sprintf("the simulator panicked: %v\n%s", r, stack)
		return
	}
	w.failure = &Failure{
		Invariant: "INV-37", Sentence: sentence, Cause: "panic at " + place,
		Event: w.stats.Events, Time: w.now,
	}
	if w.witness != nil {
		w.witness.broke(w.failure)
	}
}

// ofModule begins the name of each function of this module in a stack trace.
const ofModule = "github.com/tamarack-mq/tamarack/"

// panicPlace finds in a stack trace where in this module the code panicked, and whether
// that is in what is judged: the core, or storage. It goes by the name of the function,
// as the folders above the source tree may be called like anything; the place begins at
// the room, so that it is the same on all machines.
func panicPlace(stack string) (place string, judged bool) {
	lines := strings.Split(stack, "\n")
	seen := false
	for i, line := range lines {
		if strings.HasPrefix(line, "panic(") {
			seen = true
			continue
		}
		name, ours := strings.CutPrefix(line, ofModule)
		if !seen || !ours || i+1 == len(lines) {
			continue
		}
		file, _, _ := strings.Cut(strings.TrimSpace(lines[i+1]), " ")
		room := name[:max(0, strings.IndexAny(name, "./"))]
		return file[max(0, strings.LastIndex(file, "/"+room+"/")):], room == "core" || room == "storage"
	}
	return "an unknown place", false
}

// fail notes the first broken invariant; later ones follow from it and are not
// kept. cause is short and holds no numbers.
func (w *World) fail(invariant string, node int32, cause, format string, args ...any) {
	w.noted = w.failure == nil
	if !w.noted {
		return
	}
	w.failure = &Failure{
		Invariant: invariant, Sentence: fmt.Sprintf(format, args...), Cause: cause,
		Event: w.stats.Events, Time: w.now, Node: int(node), Subject: subjectOf(format, args),
	}
	if w.witness != nil {
		w.witness.broke(w.failure)
	}
	if w.tracing {
		w.tell("broken: %s %s", invariant, w.failure.Sentence)
	}
}

// tell adds a line to the trace. Callers ask w.tracing first, so that nothing
// is formatted when nobody listens.
func (w *World) tell(format string, args ...any) {
	w.trace = append(w.trace, fmt.Sprintf("%8d %12s  %s", w.stats.Events, w.now, fmt.Sprintf(format, args...)))
}

// in puts an event on the agenda, d from now.
func (w *World) in(d Span, e event) { w.agenda.add(w.now+max(d, 0), e) }

// happen carries out one event.
func (w *World) happen(e *event) {
	switch e.kind {
	case evPacket:
		w.arrive(e)
	case evTick, evWritten, evFlushed, evJournal, evRead, evRoom, evNodeWakes, evNodeDies, evNodeStarts:
		w.nodes[e.place].happen(e)
	case evClientTick, evScript, evClientStarts, evClientWakes:
		w.clients[e.place].happen(e)
	case evFaultBegins:
		w.faultBegins(int(e.arg))
	case evFaultEnds:
		w.faultEnds(int(e.arg))
	case evReplaceDisk:
		w.replaceDisk(w.nodes[e.place])
	case evLook:
		w.usurp(int(e.arg))
	case evPhase:
		w.enter(phase(e.arg))
	}
}

// arrive handles a packet whose time has come.
func (w *World) arrive(e *event) {
	p := e.packet
	if w.witness != nil {
		w.witness.coming(p)
	}
	if !w.net.Arrive(message.Time(w.now), p) {
		if w.witness != nil {
			w.witness.astray()
		}
		return
	}
	w.stats.Messages++
	w.hash.fold(p.Digest ^ uint64(p.From)<<48 ^ uint64(p.To)<<56)
	if int(p.To) < len(w.nodes) {
		w.nodes[p.To].happen(e)
	} else {
		w.clients[int(p.To)-len(w.nodes)].happen(e)
	}
}
