package sim

import (
	"slices"

	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/replica"
)

// singleLeaders is INV-7: a leader is chosen from the in-sync or the eligible
// set, alive in its current run; leader epochs only rise; each epoch has one
// leader; who leads is deposed only for a cause; an unclean choice happens only when
// an operator asked for it.
type singleLeaders struct{ blind }

func (*singleLeaders) Invariant() string { return "INV-7" }

func (*singleLeaders) Looks() scope { return ofMoves | ofImages }

func (o *singleLeaders) Stepped(w *World, n *Node, _ effect.Input, _ []effect.Effect) {
	for _, c := range w.book.meta.changed {
		o.chosen(w, c)
	}
	for _, r := range w.book.touched {
		v, p := &r.view, r.part
		if v.Role != replica.Leading || r.was.role == replica.Leading && r.was.epoch == v.LeaderEpoch {
			continue
		}
		if first, ok := p.leaders[v.LeaderEpoch]; ok && first != n.id {
			w.fail("INV-7", n.id, "two leaders in one epoch", "node %d leads partition %s in epoch %d, in which node %d led it", n.id, v.ID, v.LeaderEpoch, first)
			return
		}
		p.leaders[v.LeaderEpoch] = n.id
	}
}

// chosen judges one committed change of a partition.
func (o *singleLeaders) chosen(w *World, c partChange) {
	image := w.newest()
	for _, m := range c.new.ISR {
		// Fencing takes a broker out of every in-sync set (KIP-841).
		if !image.Live(m) {
			w.fail("INV-7", int32(m), "a fenced broker is in sync", "the in-sync set of partition %s is %v, but node %d is fenced", c.part.id, c.new.ISR, m)
			return
		}
	}
	if c.old == nil {
		return
	}
	if c.new.LeaderEpoch < c.old.LeaderEpoch || c.new.Leader != c.old.Leader && c.new.LeaderEpoch == c.old.LeaderEpoch {
		w.fail("INV-7", 0, "a leader epoch does not rise", "partition %s goes from leader %d in epoch %d to leader %d in epoch %d", c.part.id, c.old.Leader, c.old.LeaderEpoch, c.new.Leader, c.new.LeaderEpoch)
		return
	}
	o.deposed(w, c)
	if c.new.Leader == message.NoNode || c.new.LeaderEpoch == c.old.LeaderEpoch {
		return
	}
	if c.new.Unclean {
		if !w.uncleanAllowed {
			w.fail("INV-7", int32(c.new.Leader), "an unclean election that nobody asked for", "node %d was elected uncleanly for partition %s, epoch %d, and no operator asked for it", c.new.Leader, c.part.id, c.new.LeaderEpoch)
		}
		return
	}
	// With several changes in one step the sets in between are not seen.
	if c.new.PartitionEpoch == c.old.PartitionEpoch+1 && !slices.Contains(c.old.ISR, c.new.Leader) && !slices.Contains(c.old.ELR, c.new.Leader) {
		w.fail("INV-7", int32(c.new.Leader), "a leader from outside the electable set", "node %d was elected for partition %s, epoch %d, but is neither in the in-sync set %v nor eligible %v", c.new.Leader, c.part.id, c.new.LeaderEpoch, c.old.ISR, c.old.ELR)
		return
	}
	if !image.Live(c.new.Leader) && c.new.Leader != c.old.Leader {
		w.fail("INV-7", int32(c.new.Leader), "a fenced broker is elected", "node %d was elected for partition %s, epoch %d, while it is fenced", c.new.Leader, c.part.id, c.new.LeaderEpoch)
	}
}

// deposed judges that a leader which is in service and in sync loses its place only
// for a cause: another takes over, since it is on its way out, being drained or moved
// away, since the preferred replica can lead again, or since somebody has named one.
// What happened between two entries that were committed at once is not seen.
func (o *singleLeaders) deposed(w *World, c partChange) {
	was, image := c.old.Leader, w.newest()
	if was == c.new.Leader || was == message.NoNode || w.book.meta.entries != 1 || !image.Live(was) || !slices.Contains(c.new.ISR, was) {
		return
	}
	if c.new.Leader == message.NoNode {
		w.fail("INV-7", int32(was), "a partition is left without a leader that it has", "partition %s has no leader any more in epoch %d, although node %d led it, is in service and in sync", c.part.id, c.new.LeaderEpoch, was)
		return
	}
	if b := image.Broker(was); b.ShuttingDown || image.Shuns(was) || c.new.Leader == c.new.Replicas[0] || w.leaderNamed {
		return
	}
	if len(c.new.Target) > 0 && !slices.Contains(c.new.Target, was) {
		return // it hands over before it leaves with its move
	}
	w.fail("INV-7", int32(was), "a leader is deposed without a cause", "node %d leads partition %s in epoch %d in place of node %d, which is in service and in sync and was not to go", c.new.Leader, c.part.id, c.new.LeaderEpoch, was)
}
