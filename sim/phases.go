package sim

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/metadata"
)

// begin puts the first events on the agenda.
func (w *World) begin() {
	for _, n := range w.nodes[1:] {
		if n.absent = int(n.id) > w.plan.Cluster.Nodes-w.plan.Cluster.Absent; n.absent {
			continue
		}
		n.startIn(Span(n.random.Below(int64(50 * Millisecond))))
	}
	for _, u := range w.clients {
		if u.plan.Role == auditorRole {
			continue
		}
		u.startIn(max(u.plan.Start, u.some(200*Millisecond)))
	}
	w.beginExact()
	for i := range w.plan.Faults {
		w.agenda.add(w.plan.Faults[i].At, event{kind: evFaultBegins, arg: uint64(i)})
	}
	p := &w.plan.Phases
	w.agenda.add(p.Warm, event{kind: evPhase, arg: uint64(faulting)})
	w.agenda.add(p.Warm+p.Faults, event{kind: evPhase, arg: uint64(draining)})
	w.agenda.add(p.Warm+p.Faults+p.Drain, event{kind: evPhase, arg: uint64(resting)})
	if p.End > 0 {
		w.agenda.add(p.End, event{kind: evPhase, arg: uint64(over)})
	}
}

// enter begins a phase. While the run rests, the event comes back to look
// whether the cluster has come to a stand.
func (w *World) enter(p phase) {
	if p == resting && w.phase == resting {
		w.look()
		return
	}
	w.phase = p
	if w.witness != nil {
		w.witness.phase(phaseNames[p])
	}
	if w.tracing {
		w.tell("phase: %s", phaseNames[p])
	}
	switch p {
	case draining:
		w.heal()
	case resting:
		w.restBy = w.now + w.plan.Phases.Rest
		w.restList()
		w.in(lookEvery, event{kind: evPhase, arg: uint64(resting)})
	}
}

// lookEvery is the time between two looks whether the cluster is at rest.
const lookEvery = 250 * Millisecond

// heal ends all faults. What a plan leaves broken for good stays broken.
func (w *World) heal() {
	for i, f := range w.faults {
		if f != nil && !f.over {
			w.faultEnds(i)
		}
	}
	w.net.Heal(message.Time(w.now))
	calm := w.plan.Network
	calm.Reset, calm.Lose, calm.Duplicate, calm.Reorder, calm.Tail = 0, 0, 0, 0, 0
	w.net.Calm(weather(&calm))
	for _, n := range w.nodes[1:] {
		n.mend()
	}
	if u := w.operatorUser(); u.up {
		u.next(Millisecond)
	}
	for _, id := range w.plan.Phases.Broken {
		if n := w.nodes[id]; w.atlas.spares(n.id) {
			n.forGood = true
			n.die(death{told: true})
			w.mark(markLeftBroken)
		}
	}
	for _, id := range w.plan.Phases.CutOff {
		if n := w.nodes[id]; n.up && !n.forGood && w.atlas.spares(n.id) {
			w.cutOff(n)
		}
	}
	for _, u := range w.clients {
		if u.up && u.paused {
			u.wake()
		}
	}
}

// mend ends whatever still ails a node.
func (n *Node) mend() {
	n.drive.stalled, n.drive.slow, n.crashLoops = false, 1, 0
	n.drive.disk.SetCapacity(0)
	n.drive.fullOnPurpose, n.drive.failRecovery = false, 0
	n.drive.disk.FailSync(0, n.drive.chaos)
	n.drive.disarm()
	n.world.clocksApart()
	n.clock.setRate(n.world.now, 1000)
	n.restartIn = Second
	if n.paused {
		n.wake()
	}
	if !n.up && !n.forGood {
		n.startIn(100 * Millisecond)
	}
}

// look asks whether the cluster has come to rest, and ends the run when it has.
func (w *World) look() {
	if w.quiet == 0 {
		w.restartDamaged()
		if len(w.unrest(1)) > 0 {
			if w.now < w.restBy {
				w.in(lookEvery, event{kind: evPhase, arg: uint64(resting)})
				return
			}
			w.restless(w.unrest(8))
			return
		}
		if w.dismiss() {
			w.in(lookEvery, event{kind: evPhase, arg: uint64(resting)})
			return
		}
		w.quiet = w.now
		w.startAudit()
		w.in(lookEvery, event{kind: evPhase, arg: uint64(resting)})
		return
	}
	if waits := w.auditWaits(); waits != "" {
		if w.now > w.quiet+30*Second {
			w.fail("INV-34", 0, "the final reading does not end", "the final reading of all partitions does not end: %s", waits)
			return
		}
		w.in(lookEvery, event{kind: evPhase, arg: uint64(resting)})
		return
	}
	if w.auditCommitted() {
		w.in(lookEvery, event{kind: evPhase, arg: uint64(resting)})
		return
	}
	for _, o := range w.observers {
		o.Rested(w)
	}
	w.judge()
	w.phase = over
}

func (w *World) startAudit() {
	u := w.auditorUser()
	if !u.up {
		u.start()
	}
	u.script.(*auditor).audit(u)
}

// auditCommitted begins the second reading, of committed records, where there are
// others, and says whether it did.
func (w *World) auditCommitted() bool {
	u := w.auditorUser()
	if !w.transacted || u.readsCommitted {
		return false
	}
	u.die()
	u.readsCommitted = true
	w.startAudit()
	return true
}

func (w *World) auditWaits() string {
	a := w.auditorUser().script.(*auditor)
	if a.over {
		return ""
	}
	var parts []string
	for place, next := range a.open {
		parts = append(parts, fmt.Sprintf("%s/%d is read up to %d", place.Topic, place.Partition, next))
	}
	slices.Sort(parts)
	return strings.Join(parts, ", ")
}

func (w *World) auditorUser() *user  { return w.clients[len(w.clients)-1] }
func (w *World) operatorUser() *user { return w.clients[len(w.clients)-2] }

// causeOf makes the short cause of a liveness failure: what is stuck, without
// names and numbers.
func causeOf(stuck string) string {
	head, _, _ := strings.Cut(stuck, ":")
	return withoutNumbers(head)
}

// newest is the newest image of the cluster that any voter has committed.
func (w *World) newest() *metadata.Image { return w.book.meta.image }

// liveTopics are the topics that exist, by the newest image.
func (w *World) liveTopics() []*metadata.Topic {
	if image := w.newest(); image != nil {
		return image.Topics()
	}
	return nil
}

// partitionsOf is the number of partitions of a topic: as it is, or as planned.
func (w *World) partitionsOf(name string) int {
	if image := w.newest(); image != nil {
		if t := image.TopicNamed(name); t != nil {
			return len(t.Partitions)
		}
	}
	for i := range w.plan.Topics {
		if w.plan.Topics[i].Name == name {
			return w.plan.Topics[i].Partitions
		}
	}
	return 1
}
