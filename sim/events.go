package sim

import (
	"slices"

	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/transport/simnet"
)

// eventKind says whom an event is for.
type eventKind uint8

const (
	evTick         eventKind = iota + 1 // a node's core wants a step
	evPacket                            // something arrives over the network
	evWritten                           // the log lane of a node's disk is done with its batch
	evFlushed                           // the flush lane is done
	evJournal                           // the journal lane is done
	evRead                              // one read is done
	evRoom                              // the disk may have room again
	evClientTick                        // a client machine wants a step
	evScript                            // a client's script takes its next action
	evFaultBegins                       //
	evFaultEnds                         //
	evNodeStarts                        // a node's process starts
	evNodeDies                          // an armed crash that did not come by itself
	evNodeWakes                         // a pause is over
	evClientStarts                      //
	evClientWakes                       //
	evPhase                             // the run enters its next phase
	evReplaceDisk                       // an operator looks whether a node can be given an empty disk
	evLook                              // a fault looks who leads the controllers
	evKinds
)

var eventNames = [evKinds]string{"", "tick", "packet", "written", "flushed", "journal", "read", "room",
	"client-tick", "script", "fault-begins", "fault-ends", "node-starts", "node-dies", "node-wakes",
	"client-starts", "client-wakes", "phase", "replace-disk", "look"}

// event is one entry of the heap. What place, run and arg mean depends on the
// kind; run is compared with the run of the node or client, so that events for
// a process that died since fall flat.
type event struct {
	kind   eventKind
	place  int32
	run    uint32
	arg    uint64
	packet *simnet.Packet
}

// due is a heap entry: entries are ordered by time, then by the order in which
// they were made, so that the order of a run never depends on the heap.
type due struct {
	at  Span
	key uint64 // its number, then slotBits for where the event is
}

// slotBits is room for a million events that wait, and for more numbers than a
// run can count.
const slotBits = 20

func (a due) before(b due) bool { return a.at < b.at || a.at == b.at && a.key < b.key }

// agenda is the one heap of a run: four children a node, entries by value and
// events in a slab, because half the cost of a simulation is here.
type agenda struct {
	heap []due
	slab []event
	free []int32
	seq  uint64
}

// add puts an event on the agenda.
func (a *agenda) add(at Span, e event) {
	var slot int32
	if n := len(a.free); n > 0 {
		slot = a.free[n-1]
		a.free = a.free[:n-1]
		a.slab[slot] = e
	} else {
		slot = int32(len(a.slab))
		a.slab = append(a.slab, e)
	}
	a.seq++
	if slot >= 1<<slotBits {
		panic("sim: more than a million events wait")
	}
	d := due{at, a.seq<<slotBits | uint64(slot)}
	a.heap = append(a.heap, d)
	i := len(a.heap) - 1
	for i > 0 {
		parent := (i - 1) / 4
		if !d.before(a.heap[parent]) {
			break
		}
		a.heap[i] = a.heap[parent]
		i = parent
	}
	a.heap[i] = d
}

// next takes the earliest event off the agenda; ok is false when it is empty.
func (a *agenda) next() (at Span, e event, ok bool) {
	if len(a.heap) == 0 {
		return 0, event{}, false
	}
	top := a.heap[0]
	last := a.heap[len(a.heap)-1]
	a.heap = a.heap[:len(a.heap)-1]
	if len(a.heap) > 0 {
		a.sink(last)
	}
	slot := int32(top.key & (1<<slotBits - 1))
	e = a.slab[slot]
	a.slab[slot].packet = nil
	a.free = append(a.free, slot)
	return top.at, e, true
}

// sink places d, starting from the empty root.
func (a *agenda) sink(d due) {
	h := a.heap
	i := 0
	for {
		first := 4*i + 1
		if first >= len(h) {
			break
		}
		least := first
		for c := first + 1; c < min(first+4, len(h)); c++ {
			if h[c].before(h[least]) {
				least = c
			}
		}
		if !h[least].before(d) {
			break
		}
		h[i] = h[least]
		i = least
	}
	h[i] = d
}

// underway says whether a packet of which that is true is still to arrive.
func (a *agenda) underway(of func(*simnet.Packet) bool) bool {
	return slices.ContainsFunc(a.slab, func(e event) bool { return e.packet != nil && of(e.packet) })
}

// Schedule makes the agenda the heap of the simulated network.
func (a *agenda) Schedule(at message.Time, p *simnet.Packet) {
	a.add(Span(at), event{kind: evPacket, packet: p})
}
