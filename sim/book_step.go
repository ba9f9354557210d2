package sim

import (
	"slices"

	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/record"
	"github.com/tamarack-mq/tamarack/core/replica"
)

// stepped takes over what a step asked for, and looks at the replicas that it
// may have changed, before the observers judge. It returns what the effects say that the
// step was about: the rest of that is scopeOf.
func (b *book) stepped(w *World, n *Node, in effect.Input, out []effect.Effect) (about scope) {
	b.touched, b.moved = b.touched[:0], false
	stamp := w.stats.Steps
	if f, ok := in.(effect.Flushed); ok {
		if r := b.replica(n.id, f.Log); f.Cut == r.cut {
			r.told = max(r.told, f.End)
		}
	}
	for _, e := range out {
		about |= b.asked(n, stamp, e)
	}
	c := n.Core()
	if c == nil {
		return about
	}
	manager := c.Replicas()
	manager.TouchedInto(func(id record.PartitionID) *replica.View {
		r := b.replica(n.id, id)
		b.touch(r, stamp)
		if r.shown != stamp {
			r.shown, r.was = stamp, r.glance()
		}
		return &r.view
	})
	for _, r := range b.touched {
		if r.shown != stamp {
			r.shown, r.was = stamp, r.glance()
			manager.ViewInto(r.part.id, &r.view)
		}
		b.moved = b.moved || r.moves(&r.was)
	}
	b.meta.stepped(w, n, c)
	for _, r := range b.touched {
		r.accepted(n)
		if r.part.open {
			r.part.settle(w, r)
		}
		r.knew = max(r.knew, r.view.HighWatermark)
	}
	return about
}

// asked notes one effect, if it is on a log, and returns what it says that the step was
// about.
func (b *book) asked(n *Node, stamp uint64, e effect.Effect) scope {
	switch e := e.(type) {
	case effect.Send:
		return ofSent[e.Msg.Kind()]
	case effect.Reply:
		return ofAsked[e.Msg.Kind()]
	case effect.SaveQuorum, effect.ReplaceQuorum:
		return ofSaves | ofQuorum
	case effect.Append:
		r := b.replica(n.id, e.Log)
		b.touch(r, stamp)
		// One step may commit, retire and append. What it retires may be what it has
		// just committed, and the observers look after it: only what lay below the
		// start before the step (the view is from then) may be forgotten.
		r.memory.extend(e.Batches, min(r.memory.start, r.view.Start))
		r.appends++
		r.hears(n.world, e.Batches)
		return ofAppends
	case effect.CreateLog:
		r := b.replica(n.id, e.Log)
		b.touch(r, stamp)
		r.memory.reset(e.Start)
		r.told, r.cut, r.verified = e.Start, e.Cut, 0
		r.deaf(n.world)
		return ofCuts
	case effect.DeleteLog, effect.TrimPrefix:
		r := b.replica(n.id, logOf(e))
		b.touch(r, stamp)
		r.memory.apply(e)
		return ofCuts
	case effect.Truncate:
		r := b.replica(n.id, e.Log)
		b.touch(r, stamp)
		r.loses(e.Cut, e.To)
		r.memory.cut(e.To)
		r.cut, r.told, r.verified = e.Cut, min(r.told, e.To), min(r.verified, e.To)
		r.deaf(n.world)
		return ofCuts
	case effect.Reset:
		r := b.replica(n.id, e.Log)
		b.touch(r, stamp)
		r.loses(e.Cut, e.Start)
		r.memory.reset(e.Start)
		r.cut, r.told, r.verified = e.Cut, 0, 0 // durable once a flush behind it says so
		r.forgetful, r.forgot, r.revived = false, false, 0
		r.deaf(n.world)
		return ofCuts
	}
	return 0
}

// started takes over what recovery found.
func (b *book) started(n *Node, found *effect.Recovered) {
	for _, p := range b.list {
		if r := p.at(n.id); r != nil {
			r.exists = false
			r.deaf(n.world)
			r.view, r.was = replica.View{}, glance{}
		}
	}
	for i := range found.Logs {
		f := &found.Logs[i]
		r := b.replica(n.id, f.ID)
		r.exists = true
		if f.Damage != "" {
			n.world.atlas.found(n.id, f)
		}
		n.world.atlas.repairs(n.id, f)
		l := &r.disk
		if f.Start < l.start && f.Damage != "" {
			r.revived = max(r.revived, l.start)
		}
		r.setAside(f)
		l.cut(f.End)
		l.trim(f.Start)
		l.start, l.end = f.Start, f.End
		if k := len(l.batches); k == 0 || l.batches[k-1].End() != f.End {
			l.batches = append(l.batches[:0], f.Headers...)
		}
		r.recall(f)
		r.durable, r.told, r.cut = f.End, f.End, 0
		r.forgetful = f.Damage != "" && f.Start > 0 && (len(f.Checkpoint) == 0 || f.CheckpointAt < f.Start)
		r.forgot = r.forgot && !r.forgetful // it has lost more since it was let lead without what it had lost then
		r.verified, r.knew = min(r.verified, f.End), min(r.knew, f.End)
		r.memory.copyFrom(l)
	}
	for _, p := range b.list {
		if r := p.at(n.id); r != nil && !r.exists {
			r.gone()
		}
	}
	b.node(n.id).torn = nil
	b.meta.started(n)
}

// recall takes in that a recovery begins a log below what the account knows of it: of
// what is retired it forgets the batches, and on the disk they stay as long as their
// file does. Those that recovery does not show are what the ones above them were written
// behind, as far as that was ever committed: nothing else is ever retired.
func (r *replicaBook) recall(f *effect.RecoveredLog) {
	l := &r.disk
	first := f.End
	if len(l.batches) > 0 {
		first = l.batches[0].BaseOffset
	}
	shown := (&logFacts{batches: f.Headers}).from(f.Start)
	k := 0
	for k < len(shown) && shown[k].End() <= first {
		k++
	}
	if k > 0 && shown[k-1].End() == first {
		l.batches = slices.Concat(shown[:k], l.batches)
		first = shown[0].BaseOffset
	}
	above := l.batches
	if len(above) == 0 { // what it has lost stood on the same
		above = r.memory.from(f.End)
	}
	var below []record.Header
	for first > f.Start {
		h := r.part.under(above, first)
		if h == nil {
			break
		}
		below, above, first = append(below, *h), []record.Header{*h}, h.BaseOffset
	}
	if len(below) > 0 {
		slices.Reverse(below)
		l.batches = slices.Concat(below, l.batches)
	}
}

// setAside keeps what recovery does not trust of a damaged log: it stays on the disk
// until the log is put in order.
func (r *replicaBook) setAside(f *effect.RecoveredLog) {
	switch {
	case f.Damage == "":
		r.aside.reset(0)
	case f.End < r.disk.end && r.aside.end < r.disk.end:
		r.aside.copyFrom(&r.disk)
	}
}

// gone notes that recovery has not found a log: one that is made in its place holds
// nothing of what the one of before did.
func (r *replicaBook) gone() {
	r.disk.reset(0)
	r.aside.reset(0)
	r.memory.reset(0)
	r.durable, r.told, r.cut, r.verified, r.knew = 0, 0, 0, 0, 0
	r.forgetful, r.forgot, r.revived = false, false, 0
}

// swapped notes what a disk took with it.
func (b *book) swapped(n *Node) {
	for _, p := range b.list {
		if r := p.at(n.id); r != nil {
			*r = replicaBook{part: p, node: n.id}
		}
	}
	nb := b.node(n.id)
	nb.journal, nb.torn, nb.snapshot, nb.grown = nil, nil, 0, 0
}
