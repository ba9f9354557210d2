package sim

import (
	"cmp"

	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/replica"
	"github.com/tamarack-mq/tamarack/storage/vfs/simdisk"
	"github.com/tamarack-mq/tamarack/transport/simnet"
)

// Settings are what a node is started with in place of the plan's. Zero means
// that the plan holds.
type Settings struct {
	Timing TimingPlan `json:"timing,omitzero"`
	Tidy   int        `json:"tidy,omitempty"`
	Cache  int        `json:"cache,omitempty"` // bytes that storage keeps in memory
	Marks  int        `json:"marks,omitempty"` // flushes between two marks of what is durable
}

// over lays the settings over the timing of a plan.
func (s *Settings) over(t TimingPlan) TimingPlan {
	if s == nil {
		return t
	}
	o := &s.Timing
	t.Election, t.QuorumHeartbeat = cmp.Or(o.Election, t.Election), cmp.Or(o.QuorumHeartbeat, t.QuorumHeartbeat)
	t.BrokerSession, t.BrokerHeartbeat = cmp.Or(o.BrokerSession, t.BrokerSession), cmp.Or(o.BrokerHeartbeat, t.BrokerHeartbeat)
	t.ReplicaLag, t.FetchWait, t.Request = cmp.Or(o.ReplicaLag, t.ReplicaLag), cmp.Or(o.FetchWait, t.FetchWait), cmp.Or(o.Request, t.Request)
	t.GroupSession, t.GroupHeartbeat = cmp.Or(o.GroupSession, t.GroupSession), cmp.Or(o.GroupHeartbeat, t.GroupHeartbeat)
	return t
}

// strikeMore carries out the kinds that came after the first ones, and before those of
// strikeRare.
func (w *World) strikeMore(f *activeFault) {
	p := f.plan
	n := w.target(p)
	switch p.Kind {
	case SlowClient:
		w.slowClient(f)
	case HalfOpen, NarrowLink:
		w.strikeLink(f)
	case CrashInside:
		if n != nil && n.up {
			n.restartIn = max(p.For, 10*Millisecond)
			n.drive.armInside(simdisk.Op(p.Strength), death{lossy: true})
		}
	case Retune:
		if n != nil && n.up {
			n.retuned = p.Settings
			w.mark(markRetuned)
			w.strikeNode(f, n)
		}
	case FailWrite:
		if n != nil && n.up {
			w.atlas.ails[n.id].failing, w.atlas.ails[n.id].writes = true, true
			n.drive.disk.FailWrite(n.drive.chaos.Between(1, 4), n.drive.chaos)
			f.undo = append(f.undo, func() { n.drive.disk.FailWrite(0, n.drive.chaos) })
		}
	case DamageFile:
		if n != nil {
			w.rotBeside(n, p)
		}
	case DamageJournal:
		w.rotJournal(f, n)
	}
}

// ailLinkMore acts on one link.
func (w *World) ailLinkMore(f *activeFault, x, y simnet.Endpoint) {
	s := f.plan.Strength
	switch f.plan.Kind {
	case HalfOpen:
		w.net.HalfOpen(x, y, s)
		f.undo = append(f.undo, func() { w.net.HalfOpen(x, y, 0) })
	case NarrowLink:
		w.net.Narrow(x, y, s)
		f.undo = append(f.undo, func() { w.net.Narrow(x, y, 0) })
	}
}

func (w *World) slowClient(f *activeFault) {
	for _, u := range w.clients {
		if u.plan.ID == f.plan.Client {
			u.slow = Span(f.plan.Strength) * Millisecond
			f.undo = append(f.undo, func() { u.slow = 0 })
		}
	}
}

// cutOff leaves a node running where nobody reaches it, for good.
func (w *World) cutOff(n *Node) {
	n.forGood = true
	w.mark(markLeftCutOff)
	for e := 1; e < w.ends(); e++ {
		if x := simnet.Endpoint(e); x != n.endpoint() {
			w.net.Cut(x, n.endpoint())
			w.net.Cut(n.endpoint(), x)
		}
	}
}

// voteless says that a voter takes no part because it lost its journal.
func (w *World) voteless(n *Node) string {
	if c := n.Core(); c != nil && c.Controller() != nil {
		return c.Controller().View().Quorum.Mute
	}
	return ""
}

// markNetwork counts what only the network knows, at the end of a run.
func (w *World) markNetwork() {
	w.marks[markQueueOverflown] += w.net.Counts.Overflown
	w.marks[markLateBytes] += w.net.Counts.Late
	w.marks[markHalfOpen] += w.net.Counts.Half
}

// restartDamaged is an operator who has given up what a partition lacks, and was
// left with a leader that knows its copy to be damaged and serves nothing of it:
// what of it can be trusted shows when that broker starts again.
func (w *World) restartDamaged() {
	for _, n := range w.nodes[1:] {
		c := n.Core()
		if c == nil || n.forGood || n.paused {
			continue
		}
		for _, part := range w.book.list {
			if !part.unclean || part.deleted || part.state == nil || part.state.Leader != n.node() {
				continue
			}
			if v := w.replicaAt(part, n.node(), &replica.View{}); v != nil && v.Role == replica.Leading && v.Damage != "" {
				n.step(effect.Shutdown{})
				break
			}
		}
	}
}
