package sim

import (
	"slices"

	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
)

// safeMoves is INV-43: a partition comes to other replicas only through its
// in-sync set (KIP-455). A move begins by adding, and ends by removing when all
// that it added is in sync, and with it min.insync of those that stay, their
// leader among them; one that is called off removes nobody whose records those
// that stay do not hold as often as min.insync asks. Replicas leave with a new
// leader epoch.
type safeMoves struct{ blind }

func (*safeMoves) Invariant() string { return "INV-43" }

func (*safeMoves) Looks() scope { return ofImages }

func (o *safeMoves) Stepped(w *World, n *Node, _ effect.Input, _ []effect.Effect) {
	for i := range w.book.meta.changed {
		c := &w.book.meta.changed[i]
		if c.old != nil && c.new.PartitionEpoch == c.old.PartitionEpoch+1 { // else those in between are not seen
			o.step(w, c)
		}
	}
}

// step judges one change of a partition.
func (o *safeMoves) step(w *World, c *partChange) {
	old, new := c.old, c.new
	wrong := func(cause, why string) {
		w.fail("INV-43", 0, cause, "partition %s: %s: from %s to %s", c.part.id, why, tellMove(old), tellMove(new))
	}
	if new.Unclean && !old.Unclean {
		return // an operator gives records up; INV-7 judges that
	}
	gone := less(old.Replicas, new.Replicas)
	came := less(new.Replicas, old.Replicas)
	switch {
	case len(gone) == 0 && len(came) == 0 && sameNodes(old.Replicas, new.Replicas):
		if len(new.Target) > 0 && !sameNodes(old.Adding, new.Adding) {
			wrong("a move forgets whom it has added", "the replicas are the same, but not those that were added")
		}
		return
	case len(gone) > 0 && len(came) > 0:
		wrong("replicas are exchanged at once", "replicas come and go in one step")
		return
	case len(came) > 0:
		if len(new.Target) == 0 || !sameNodes(new.Replicas[len(old.Replicas):], came) {
			wrong("replicas are added without a move", "replicas come, but no move is noted that can be called off")
		}
		return
	}
	if len(gone) > 0 && new.LeaderEpoch == old.LeaderEpoch {
		wrong("replicas leave within a leader epoch", "what was heard of those that leave could count for them when they come back")
		return
	}
	switch {
	case len(old.Target) > 0 && sameNodes(new.Replicas, old.Target):
		o.finished(w, c, wrong)
	case len(old.Target) > 0 && sameNodes(new.Replicas, old.Replicas[:len(old.Replicas)-len(old.Adding)]):
		o.calledOff(w, c, gone, wrong)
	default:
		wrong("replicas become what nobody asked for", "the replicas are neither the target nor those of before")
	}
}

// finished judges the end of a move by what was committed before it.
func (o *safeMoves) finished(w *World, c *partChange, wrong func(cause, why string)) {
	old, new := c.old, c.new
	stay := within(old.ISR, new.Replicas)
	for _, m := range within(old.Adding, new.Replicas) {
		if !slices.Contains(old.ISR, m) {
			wrong("replicas are removed before those added are in sync", "node "+itoa(int(m))+" is not in sync")
			return
		}
	}
	switch least := minInsync(w, new); {
	case len(stay) < least:
		wrong("a move ends below min.insync", "of those that stay only "+itoa(len(stay))+" are in sync, of "+itoa(least)+" that are needed")
	case !slices.Contains(stay, old.Leader):
		wrong("a leader is removed before another leads", "its leader goes")
	case new.Leader != old.Leader:
		wrong("a leader changes at the end of a move", "the leader that stays is another one")
	}
}

// calledOff judges the end of a move that was called off.
func (o *safeMoves) calledOff(w *World, c *partChange, gone []message.NodeID, wrong func(cause, why string)) {
	old, new := c.old, c.new
	counted := append(append([]message.NodeID(nil), old.ISR...), old.ELR...)
	if len(within(gone, counted)) == 0 {
		return
	}
	kept := within(counted, new.Replicas)
	switch least := minInsync(w, new); {
	case len(new.ISR) == 0 || new.Leader == message.NoNode:
		wrong("a move is called off and nobody is left", "nobody that stays can lead")
	case len(kept) < least || len(new.ISR)+len(new.ELR) < least:
		wrong("a move is called off below min.insync", "what those hold that go is held by "+itoa(len(kept))+" others, of "+itoa(least)+" that are needed")
	}
}

// minInsync is what a partition needs in sync, by the newest settings.
func minInsync(w *World, p *message.PartitionChange) int {
	t := w.newest().Topic(p.ID.Topic)
	if t == nil {
		return 0
	}
	return t.Config.LeastInsync(len(p.Replicas) - len(p.Adding))
}

func tellMove(p *message.PartitionChange) string {
	s := "replicas " + nodesText(p.Replicas) + " in sync " + nodesText(p.ISR) + " leader " + itoa(int(p.Leader)) + " in epoch " + itoa(int(p.LeaderEpoch))
	if len(p.Target) > 0 {
		s += " on their way to " + nodesText(p.Target) + ", adding " + nodesText(p.Adding)
	}
	return s
}

func nodesText(set []message.NodeID) string {
	s := "["
	for i, m := range set {
		if i > 0 {
			s += " "
		}
		s += itoa(int(m))
	}
	return s + "]"
}

// less is a set without the members of another.
func less(set, other []message.NodeID) (rest []message.NodeID) {
	for _, m := range set {
		if !slices.Contains(other, m) {
			rest = append(rest, m)
		}
	}
	return rest
}

// within are the members of a set that are in another one as well.
func within(set, other []message.NodeID) (both []message.NodeID) {
	for _, m := range set {
		if slices.Contains(other, m) {
			both = append(both, m)
		}
	}
	return both
}

func sameNodes(a, b []message.NodeID) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}
