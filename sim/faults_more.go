package sim

import (
	"bytes"
	"strings"

	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
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

func or[T comparable](a, b T) T {
	var zero T
	if a != zero {
		return a
	}
	return b
}

// over lays the settings over the timing of a plan.
func (s *Settings) over(t TimingPlan) TimingPlan {
	if s == nil {
		return t
	}
	o := &s.Timing
	t.Election, t.QuorumHeartbeat = or(o.Election, t.Election), or(o.QuorumHeartbeat, t.QuorumHeartbeat)
	t.BrokerSession, t.BrokerHeartbeat = or(o.BrokerSession, t.BrokerSession), or(o.BrokerHeartbeat, t.BrokerHeartbeat)
	t.ReplicaLag, t.FetchWait, t.Request = or(o.ReplicaLag, t.ReplicaLag), or(o.FetchWait, t.FetchWait), or(o.Request, t.Request)
	t.GroupSession, t.GroupHeartbeat = or(o.GroupSession, t.GroupSession), or(o.GroupHeartbeat, t.GroupHeartbeat)
	return t
}

// strikeMore carries out the kinds of this file.
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
			n.settings = p.Settings
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
			w.rotBeside(n)
		}
	case DamageJournal:
		w.rotJournal(f, n)
	}
}

// armInside lets the node die inside the next operation of one kind. If none
// comes, it does not die.
func (d *drive) armInside(op simdisk.Op, as death) {
	d.armed, d.armedAs = true, as
	d.disk.CrashInside(op, 1, d.chaos)
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

// slowReads lets a disk be slow with reads only: what a node is asked to read may
// be out of date when it has it, while it goes on writing.
func (w *World) slowReads(f *activeFault) {
	if n := w.target(f.plan); n != nil {
		n.drive.slowRead = Span(f.plan.Strength) * Millisecond
		f.undo = append(f.undo, func() { n.drive.slowRead = 0 })
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

// rotBeside damages what stands beside the records of a log, and what storage
// can make anew from them or must give the log up for.
func (w *World) rotBeside(n *Node) {
	if !n.up || !w.atlas.mayDamage(n) {
		return
	}
	d := &n.drive
	limit := func(path string, durable int64) int64 {
		if isLogFile(path) || !strings.Contains(path, "/") {
			return 0
		}
		return min(durable, d.store.Guarded(path))
	}
	damage := d.disk.FlipBit
	if d.chaos.OneIn(3) {
		damage = d.disk.LoseFile
	}
	if hit, ok := damage(d.chaos, limit); ok {
		w.atlas.damageBeside(n, hit.Path)
		w.mark(markDamagedBeside)
		if w.tracing {
			w.tell("node %d: %s of %s at byte %d", n.id, hit.Kind, hit.Path, hit.Offset)
		}
	}
}

// rotJournal damages the journal of a voter, if fewer than half of the voters
// may have forgotten something then. The voter finds out when it starts next. At
// the end of the fault an operator does what it asks for: it replaces the disk.
func (w *World) rotJournal(f *activeFault, n *Node) {
	if n == nil || !n.up || !n.votes() || w.atlas.ails[n.id].root || !w.atlas.mayForget(n) || !w.atlas.affords(n.id) {
		return
	}
	d := &n.drive
	hit, ok := d.disk.FlipBit(d.chaos, func(path string, durable int64) int64 {
		if path != "quorum" {
			return 0
		}
		return min(durable, d.store.Guarded(path))
	})
	if !ok {
		return
	}
	w.atlas.ails[n.id].journal, w.atlas.ails[n.id].reserved = true, true
	w.mark(markJournalDamaged)
	if w.tracing {
		w.tell("node %d: %s of %s at byte %d", n.id, hit.Kind, hit.Path, hit.Offset)
	}
	f.undo = append(f.undo, func() { w.replaceDisk(n) })
}

// replaceDisk is an operator who gives a node an empty disk, as soon as the
// cluster can do without what is on the old one.
func (w *World) replaceDisk(n *Node) {
	if !w.atlas.ails[n.id].journal {
		return
	}
	if !w.atlas.covered(n.id) && w.phase > faulting {
		w.atlas.uncovered(n.id) // nobody else will come: what only this disk has is given up for its voter
	} else if n.forGood || !w.atlas.covered(n.id) {
		w.in(Second, event{kind: evReplaceDisk, place: n.id})
		return
	}
	w.exchange(n, 100*Millisecond)
}

// exchange swaps a disk for an empty one.
func (w *World) exchange(n *Node, back Span) {
	w.atlas.swapped(n)
	if n.up {
		n.die(death{told: true})
		n.startIn(back)
	}
	n.drive.disk.Swap()
	n.drive.armExact()
	w.book.swapped(n)
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

// damageBeside is damage to what stands beside the records of a log.
func (a *atlas) damageBeside(n *Node, path string) {
	ail := &a.ails[n.id]
	for _, part := range a.world.book.list {
		if holdsLog(path, part.id) && strings.HasSuffix(path, "/checkpoint") {
			if ail.blank == nil {
				ail.blank = map[record.PartitionID]effect.Cut{}
			}
			ail.blank[part.id] = part.replica(n.id).cut
		}
		if holdsLog(path, part.id) && a.clean(n.id, part.id) {
			a.damage(n, path)
			if ail.owed[part.id] {
				ail.beside[part.id] = true
			}
			return
		}
	}
	a.damage(n, path)
}

// showsStray says whether a log file shows that bytes of another place were written
// into it. The checksum of a batch covers neither its offset nor its leader epoch, as
// Kafka's format has it: a batch of another log that comes to lie right behind the
// offset of one of this log is one of this log, here and on a real disk. Batches are so
// small here, and strays so many, that it happens.
func showsStray(_ string, before, after []byte) bool {
	at := 0
	for it := record.Batches(before); it.Next(); at += len(it.Bytes) {
		h, err := record.DecodeHeader(after[at:])
		if err != nil || h.BaseOffset != it.Header.BaseOffset || h.LastOffsetDelta < 0 || h.Size() > len(after)-at {
			continue
		}
		if now := after[at : at+h.Size()]; record.Checksum(now) == h.CRC && !bytes.Equal(now, it.Bytes) {
			return false
		}
	}
	return true
}

// repairs notes what a recovery has made good by itself: damage beside the
// records that it does not complain of.
func (a *atlas) repairs(node int32, log *effect.RecoveredLog) {
	ail := &a.ails[node]
	if !ail.beside[log.ID] || log.Damage != "" {
		return
	}
	hits := ail.hits[log.ID]
	for _, path := range hits {
		if isLogFile(path) {
			return
		}
	}
	delete(ail.hits, log.ID)
	delete(ail.beside, log.ID)
	delete(ail.scars, log.ID)
	delete(ail.owed, log.ID)
	delete(ail.mended, log.ID)
	if len(ail.owed) == 0 {
		ail.damaged = false
	}
}

// voteless says that a voter takes no part because it lost its journal.
func (w *World) voteless(n *Node) string {
	if c := n.Core(); c != nil && c.Controller() != nil {
		return c.Controller().View().Quorum.Mute
	}
	return ""
}

// journalReplaced notes that a voter has written its journal anew, from memory:
// what damaged the old one is gone.
func (a *atlas) journalReplaced(node int32) {
	if ail := &a.ails[node]; ail.journal {
		ail.journal, ail.reserved = false, false
	}
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

// rewritten notes that a disk has carried out a change of a log that takes away
// what recovery complained of, or would have. A cut takes it from a log that recovery
// found damaged, and else what lies behind it only. Without a checkpoint, where one is
// needed, recovery goes on complaining until there is one.
func (a *atlas) rewritten(node int32, e effect.Effect) {
	ail := &a.ails[node]
	if len(ail.scars) == 0 {
		return
	}
	id := logOf(e)
	switch e := e.(type) {
	case effect.CreateLog, effect.DeleteLog, effect.Reset:
	case effect.Truncate:
		if a.world.book.replica(node, id).forgetful || a.hitBelow(node, id, e.To, "") {
			return
		}
	case effect.Checkpoint:
		if !a.world.book.replica(node, id).forgetful {
			return
		}
	default:
		return
	}
	delete(ail.scars, id)
}

// uncovered concedes the partitions of which a node, whose disk must be replaced,
// holds the last copy: the others fell out of the in-sync set since.
func (a *atlas) uncovered(node int32) {
	a.each(node, func(part *partBook, state *message.PartitionChange) bool {
		if !a.covers(node, part, state) {
			part.loss = true
			a.world.mark(markConceded)
		}
		return true
	})
}
