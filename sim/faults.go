package sim

import (
	"strconv"
	"strings"

	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/group"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
	"github.com/tamarack-mq/tamarack/core/txn"
	"github.com/tamarack-mq/tamarack/transport/simnet"
)

// activeFault is a fault that has begun, with what it takes to end it.
type activeFault struct {
	plan *Fault
	over bool
	undo []func()

	usurping usurping
}

// faultBegins strikes with one fault of the plan.
func (w *World) faultBegins(i int) {
	for len(w.faults) <= i {
		w.faults = append(w.faults, nil)
	}
	f := &activeFault{plan: &w.plan.Faults[i]}
	w.faults[i] = f
	if w.phase > faulting {
		f.over = true
		return
	}
	w.stats.Faults++
	w.struck[f.plan.Kind]++
	if w.tracing {
		w.tell("fault: %s", f.plan)
	}
	if w.witness != nil {
		w.witness.fault(i, f.plan)
	}
	w.strike(f)
	if f.plan.For > 0 && len(f.undo) > 0 {
		w.in(f.plan.For, event{kind: evFaultEnds, arg: uint64(i)})
	}
}

// faultEnds takes a fault back.
func (w *World) faultEnds(i int) {
	f := w.faults[i]
	if f.over {
		return
	}
	f.over = true
	if w.tracing && len(f.undo) > 0 {
		w.tell("fault ends: %s", f.plan)
	}
	if w.witness != nil && len(f.undo) > 0 {
		w.witness.calm(i, f.plan)
	}
	for _, undo := range f.undo {
		undo()
	}
	f.undo = nil
}

func (w *World) strike(f *activeFault) {
	switch f.plan.Kind {
	case Crash, PowerLoss, CrashLoop, Pause, Restart, RestartOther, SwapDisk:
		w.strikeProcess(f)
	case SlowDisk, StallDisk, FullDisk, FailFlush, FlipBits, LoseFile, Misdirect:
		w.strikeDisk(f)
	case ClockRate, ClockJump:
		w.strikeClock(f)
	case ClientCrash, ClientPause:
		w.strikeClient(f)
	case Elect, UncleanElect, DeleteTopic, CreateTopic, AddPartitions, DeleteRecords:
		w.operate(f)
	case AlterTopic, AlterNodes, AddVoter, RemoveVoter:
		if u := w.operatorUser(); u.up {
			u.script.(*operator).alter(w, u, f.plan)
		}
	case Reassign, CancelReassign, Throttle, MoveLeader:
		if u := w.operatorUser(); u.up {
			u.script.(*operator).move(w, u, f.plan)
		}
	case Drain, Retire, RemoveBroker:
		if u := w.operatorUser(); u.up {
			u.script.(*operator).broker(w, u, f)
		}
	case AddBroker:
		w.addBroker(w.target(f.plan))
	case CrashInside, Retune, HalfOpen, NarrowLink, FailWrite, DamageFile, DamageJournal, SlowClient:
		w.strikeMore(f)
	case FailOp, FailRecovery, DamageRoot, LoseFolder, CutFile:
		w.strikeRare(f)
	case SlowReads:
		w.slowReads(f)
	case Usurp:
		w.strikeUsurp(f)
	default:
		w.strikeNetwork(f)
	}
}

// target finds the node that a fault strikes; nil: nobody has the role now.
func (w *World) target(f *Fault) *Node {
	id := f.Node
	if f.Target != "" {
		id = int(w.inRole(f.Target))
	}
	if id < 1 || id >= len(w.nodes) {
		return nil
	}
	return w.nodes[id]
}

// targets are the words that a fault's target begins with; "": it names a node, or
// nobody.
var targets = []string{"", "controller", "leader", "follower", "coordinator", "decider"}

// inRole finds who is the "controller", the "leader orders/0", the "coordinator
// billing" of a group or the "decider pay" of a transactional id at this moment.
func (w *World) inRole(role string) int32 {
	what, of, _ := strings.Cut(role, " ")
	switch what {
	case "controller":
		for _, n := range w.nodes[1:] {
			if c := n.Core(); c != nil && c.Controller() != nil && c.Controller().Active() {
				return n.id
			}
		}
	case "leader", "follower":
		topic, index, _ := strings.Cut(of, "/")
		i, _ := strconv.Atoi(index)
		return w.leaderOf(topic, i, what == "leader")
	case "coordinator":
		return w.leaderOf(offsetsTopic, int(group.Shard(of, int32(w.partitionsOf(offsetsTopic)))), true)
	case "decider":
		return w.leaderOf(statesTopic, int(txn.Shard(of, int32(w.partitionsOf(statesTopic)))), true)
	}
	return 0
}

func (w *World) leaderOf(topic string, index int, leader bool) int32 {
	image := w.newest()
	if image == nil {
		return 0
	}
	t := image.TopicNamed(topic)
	if t == nil || index >= len(t.Partitions) {
		return 0
	}
	p := t.Partitions[index]
	if leader {
		return int32(p.Leader)
	}
	for _, id := range p.ISR {
		if id != p.Leader {
			return int32(id)
		}
	}
	return 0
}

func (w *World) strikeProcess(f *activeFault) {
	if f.plan.Node == everyNode {
		for _, n := range w.nodes[1:] {
			w.strikeNode(f, n)
		}
		return
	}
	w.strikeNode(f, w.target(f.plan))
}

func (w *World) strikeNode(f *activeFault, n *Node) {
	if n == nil || !n.up {
		return
	}
	d := death{
		lossy: f.plan.Kind == PowerLoss || f.plan.Kind == Crash && n.drive.chaos.Percent(int64(w.plan.Disk.LossyShare)),
		told:  f.plan.Kind != PowerLoss && n.drive.chaos.Percent(80),
	}
	back := max(f.plan.For, 10*Millisecond)
	n.restartIn = back
	switch f.plan.Kind {
	case Pause:
		n.pause(back)
	case Restart, RestartOther, Retune:
		if f.plan.Kind == RestartOther {
			n.restartOther(f.plan.Set)
		}
		n.step(effect.Shutdown{})
		// A node that cannot leave in good order is killed after a while.
		w.in(30*Second, event{kind: evNodeDies, place: n.id, run: n.run, arg: 2})
	case SwapDisk:
		if !w.atlas.swap(n) {
			return
		}
		w.exchange(n, back)
	case CrashLoop:
		n.crashLoops = max(2, f.plan.Strength)
		n.fall(d)
	default:
		inside := int64(0)
		if n.drive.chaos.Percent(int64(w.plan.Disk.TornShare)) {
			inside = n.drive.chaos.Between(1, 12)
		}
		if w.decider != nil {
			d, inside = w.decider.death(n, f.plan.Kind, d, inside)
		}
		if inside > 0 {
			n.drive.arm(d, inside, 200*Millisecond)
			return
		}
		n.fall(d)
	}
}

func (w *World) strikeClock(f *activeFault) {
	n := w.target(f.plan)
	if n == nil {
		return
	}
	if f.plan.Kind == ClockJump {
		n.clock.jump(record.Timestamp(f.plan.Strength))
		w.clocksApart()
		return
	}
	n.setRate(int64(1000 + f.plan.Strength))
	f.undo = append(f.undo, func() { n.setRate(1000) })
}

// setRate changes the pace of a node's clock; its next tick moves with it.
func (n *Node) setRate(perMille int64) {
	n.world.clocksApart()
	n.clock.setRate(n.world.now, max(perMille, 100))
	if n.up {
		n.tickAt = never // the one on the agenda falls flat
		n.arm()
	}
}

func (w *World) strikeClient(f *activeFault) {
	for _, u := range w.clients {
		if u.plan.ID != f.plan.Client || !u.up {
			continue
		}
		if f.plan.Kind == ClientPause {
			u.pause(max(f.plan.For, Millisecond))
			continue
		}
		u.die()
		u.startIn(max(f.plan.For, Millisecond))
	}
}

// operate does what an operator would do.
func (w *World) operate(f *activeFault) {
	u := w.operatorUser()
	o, ok := u.script.(*operator)
	if !ok || !u.up {
		return
	}
	p := f.plan
	switch p.Kind {
	case Elect:
		o.send(u, "elect", "", 0, &message.ElectLeaders{})
	case UncleanElect:
		w.uncleanAllowed = true // what it gives up is noted once it is committed
		o.send(u, "elect-unclean", "", 0, &message.ElectLeaders{Unclean: true})
	case DeleteTopic:
		o.send(u, "delete", p.Topic, 0, &message.DeleteTopic{Name: p.Topic})
	case CreateTopic:
		for i := range w.plan.Topics {
			if t := &w.plan.Topics[i]; t.Name == p.Topic {
				o.create(u, t)
			}
		}
	case AddPartitions:
		count := w.partitionsOf(p.Topic) + max(1, p.Strength)
		o.send(u, "add-partitions", p.Topic, count, &message.AddPartitions{Name: p.Topic, Count: int32(count)})
	case DeleteRecords:
		o.deleteRecords(u, p.Topic, p.Strength > 0)
	}
}

// String tells a fault in a few words.
func (f *Fault) String() string {
	var b strings.Builder
	b.WriteString(string(f.Kind))
	word := func(name string, value string) {
		b.WriteString(" " + name + " " + value)
	}
	if f.Node > 0 {
		word("node", strconv.Itoa(f.Node))
	}
	if f.Target != "" {
		word("of", f.Target)
	}
	if f.Peer > 0 {
		word("peer", strconv.Itoa(f.Peer))
	}
	if f.Client > 0 {
		word("client", strconv.Itoa(f.Client))
	}
	if f.Topic != "" {
		word("topic", f.Topic)
	}
	if f.Strength != 0 {
		word("strength", strconv.Itoa(f.Strength))
	}
	if len(f.Set) > 0 {
		word("set", strings.Join(f.Set, " "))
	}
	if f.For > 0 {
		word("for", f.For.String())
	}
	return b.String()
}

// strikeNetwork acts on links.
func (w *World) strikeNetwork(f *activeFault) {
	switch f.plan.Kind {
	case SlowLink, Lossy, Resets, Duplicate, Reorder, Clog, OneWay:
		w.strikeLink(f)
	default:
		w.partition(f)
	}
}

// ends are all endpoints: nodes, then clients.
func (w *World) ends() int { return len(w.nodes) + len(w.clients) }

// Whom an isolated node cannot reach besides the other nodes: Fault.Strength.
const (
	cutFromClients = 1 // all of them
	cutFromMembers = 2 // of groups: others go on asking it
)

// cutsOff says whether an isolated node cannot be reached by a client either.
func (w *World) cutsOff(strength int, u *user) bool {
	return strength == cutFromClients || strength == cutFromMembers && u.plan.Role.joins()
}

// cutAll cuts the links between two sets of endpoints, both ways.
func (w *World) cutAll(f *activeFault, a, b []simnet.Endpoint) {
	for _, x := range a {
		for _, y := range b {
			w.net.Cut(x, y)
			w.net.Cut(y, x)
			f.undo = append(f.undo, func() { w.net.Join(x, y); w.net.Join(y, x) })
		}
	}
}

// groups divides the nodes: what is not named in a group of the plan belongs to
// the last one.
func (w *World) groups(f *Fault) [][]simnet.Endpoint {
	var out [][]simnet.Endpoint
	named := map[int]bool{}
	for _, g := range f.Groups {
		var side []simnet.Endpoint
		for _, id := range g {
			named[id] = true
			side = append(side, simnet.Endpoint(id))
		}
		out = append(out, side)
	}
	var rest []simnet.Endpoint
	for id := 1; id < len(w.nodes); id++ {
		if !named[id] {
			rest = append(rest, simnet.Endpoint(id))
		}
	}
	return append(out, rest)
}

// partition cuts the nodes apart. Clients stay in reach of everybody, but for
// those that the fate of this fault puts on one side.
func (w *World) partition(f *activeFault) {
	n := w.target(f.plan)
	switch f.plan.Kind {
	case Isolate:
		if n == nil {
			return
		}
		var others []simnet.Endpoint
		for e := 1; e < w.ends(); e++ {
			if e != int(n.id) && (e < len(w.nodes) || w.cutsOff(f.plan.Strength, w.clients[e-len(w.nodes)])) {
				others = append(others, simnet.Endpoint(e))
			}
		}
		w.cutAll(f, []simnet.Endpoint{n.endpoint()}, others)
	case Halves:
		sides := w.groups(f.plan)
		for i := range sides {
			for j := range i {
				w.cutAll(f, sides[i], sides[j])
			}
		}
	case Bridge: // two halves, and one node that reaches both
		if n == nil {
			return
		}
		var a, b []simnet.Endpoint
		for id := 1; id < len(w.nodes); id++ {
			switch {
			case id == int(n.id):
			case len(a) <= len(b):
				a = append(a, simnet.Endpoint(id))
			default:
				b = append(b, simnet.Endpoint(id))
			}
		}
		w.cutAll(f, a, b)
	case Ring:
		last := len(w.nodes) - 1
		for x := 1; x <= last; x++ {
			for y := x + 2; y <= last; y++ {
				if x != 1 || y != last {
					w.cutAll(f, []simnet.Endpoint{simnet.Endpoint(x)}, []simnet.Endpoint{simnet.Endpoint(y)})
				}
			}
		}
	}
}

// strikeLink acts on the links between Node and Peer; without a Peer on those
// between Node and everybody, without a Node on all.
func (w *World) strikeLink(f *activeFault) {
	node, peer := f.plan.Node, f.plan.Peer
	if f.plan.Target != "" {
		node = int(w.inRole(f.plan.Target))
	}
	for x := 1; x < w.ends(); x++ {
		for y := 1; y < w.ends(); y++ {
			hit := x == node && (peer == 0 || y == peer) || node == 0 ||
				f.plan.Kind != OneWay && y == node && (peer == 0 || x == peer)
			if x != y && hit && (x < len(w.nodes) || y < len(w.nodes)) {
				w.ailLink(f, simnet.Endpoint(x), simnet.Endpoint(y))
			}
		}
	}
}

func (w *World) ailLink(f *activeFault, x, y simnet.Endpoint) {
	s := f.plan.Strength
	undo := func(do func()) { f.undo = append(f.undo, do) }
	switch f.plan.Kind {
	case OneWay:
		w.net.Cut(x, y)
		undo(func() { w.net.Join(x, y) })
	case Clog:
		w.net.Clog(x, y)
		undo(func() { w.net.Release(message.Time(w.now), x, y) })
	case SlowLink:
		w.net.Slow(x, y, max(2, s))
		undo(func() { w.net.Slow(x, y, 0) })
	case Lossy:
		w.net.Lose(x, y, s)
		undo(func() { w.net.Lose(x, y, 0) })
	case Resets:
		w.net.Resets(x, y, s)
		undo(func() { w.net.Resets(x, y, 0) })
	case Duplicate:
		w.net.Duplicate(x, y, s)
		undo(func() { w.net.Duplicate(x, y, 0) })
	case Reorder:
		w.net.Reorder(x, y, s)
		undo(func() { w.net.Reorder(x, y, 0) })
	default:
		w.ailLinkMore(f, x, y)
	}
}
