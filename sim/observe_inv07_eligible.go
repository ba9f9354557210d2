package sim

import (
	"slices"

	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// keptEligible is INV-7 for who may lead next: as long as fewer than min.insync are in
// sync, whoever was in sync or eligible stays one of the two (KIP-966). It is dropped
// when its disk is another one or damaged, or was by what a run says that is registered
// with this entry, also one that is dead by now and is heard of late; when it goes with
// a move, or when an operator gives records up. A dead run on another disk is heard of
// only when the run before this entry is fenced: one that serves keeps its place. Who
// is dropped for nothing is missed when the others are gone.
type keptEligible struct{ blind }

func (*keptEligible) Invariant() string { return "INV-7" }

func (*keptEligible) Looks() scope { return ofImages }

func (o *keptEligible) Stepped(w *World, _ *Node, _ effect.Input, _ []effect.Effect) {
	for i := range w.book.meta.changed {
		c := &w.book.meta.changed[i]
		if c.old != nil && c.new.PartitionEpoch == c.old.PartitionEpoch+1 { // else those in between are not seen
			o.step(w, c.old, c.new)
		}
	}
}

// step judges one change of a partition.
func (o *keptEligible) step(w *World, old, new *message.PartitionChange) {
	if new.Unclean || len(new.ISR) >= minInsync(w, new) {
		return
	}
	for _, set := range [][]message.NodeID{old.ISR, old.ELR} {
		for _, m := range less(less(set, new.ISR), new.ELR) {
			if slices.Contains(new.Replicas, m) && w.newest().Broker(m) != nil && w.atlas.sound(int32(m), new.ID) && !o.registers(w, m, new.ID) {
				w.fail("INV-7", int32(m), "an eligible replica is dropped for nothing", "node %d may not lead partition %s any more, although only %v are in sync: it was in sync or eligible (%v, %v), and nothing is wrong with its disk", m, new.ID, new.ISR, old.ISR, old.ELR)
				return
			}
		}
	}
}

// registers says whether the step at hand registers a run of a node that has told of
// damage in a log, or that has another disk than the fenced run before it. A broker's epoch is the version of the entry that registered it.
// Of several entries at once only the last run is seen: the benefit of the doubt.
func (*keptEligible) registers(w *World, m message.NodeID, id record.PartitionID) bool {
	meta, b := &w.book.meta, w.newest().Broker(m)
	if message.Version(b.Epoch)+meta.entries <= meta.version {
		return false
	}
	return meta.entries > 1 || slices.Contains(meta.swapped, m) || w.atlas.ails[m].named[b.Incarnation][id]
}
