package sim

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/tamarack-mq/tamarack/core/record"
	"github.com/tamarack-mq/tamarack/storage/vfs/simdisk"
)

// strikeDisk acts on the disk of one node.
func (w *World) strikeDisk(f *activeFault) {
	n := w.target(f.plan)
	if n == nil || n.absent { // one that has never run has no disk yet
		return
	}
	d := &n.drive
	switch f.plan.Kind {
	case SlowDisk:
		d.slow = int64(max(2, f.plan.Strength))
		f.undo = append(f.undo, func() { d.slow = 1 })
	case StallDisk:
		d.stalled = true
		f.undo = append(f.undo, func() { d.stalled = false; n.resume() })
	case FullDisk:
		room := int64(max(0, f.plan.Strength))
		d.disk.SetCapacity(max(1, d.disk.Used()+room))
		d.fullOnPurpose = true
		f.undo = append(f.undo, func() { d.disk.SetCapacity(0); d.fullOnPurpose = false })
	case FailFlush:
		if n.up {
			w.atlas.ails[n.id].failing = true
			d.disk.FailSync(d.chaos.Between(1, 4), d.chaos)
			f.undo = append(f.undo, func() { d.disk.FailSync(0, d.chaos) })
		}
	case FlipBits, LoseFile, Misdirect:
		w.rot(n, f.plan)
	}
}

// rot damages durable records; of a fault that names a topic, only in logs of that.
func (w *World) rot(n *Node, f *Fault) {
	if !n.up || !w.atlas.mayDamage(n) {
		return
	}
	d := &n.drive
	limit := func(path string, durable int64) int64 {
		if !isLogFile(path) || f.Topic != "" && !w.isOf(path, f.Topic) {
			return 0
		}
		return min(durable, d.store.Guarded(path))
	}
	var hit simdisk.Damage
	var ok bool
	switch f.Kind {
	case FlipBits:
		if d.chaos.OneIn(3) {
			hit, ok = d.disk.SpoilSector(d.chaos, limit)
		} else {
			hit, ok = d.disk.FlipBit(d.chaos, limit)
		}
	case LoseFile:
		hit, ok = d.disk.LoseFile(d.chaos, limit)
	default:
		hit, ok = d.disk.Misdirect(d.chaos, limit, showsStray)
	}
	if !ok {
		return
	}
	w.atlas.damage(n, hit)
	if w.tracing {
		w.tell("node %d: %s of %s at byte %d", n.id, hit.Kind, hit.Path, hit.Offset)
	}
}

// rotBeside damages what stands beside the records of a log, and what storage
// can make anew from them or must give the log up for; with a Strength, it takes the
// checkpoint of a log of the topic away.
func (w *World) rotBeside(n *Node, f *Fault) {
	if !n.up || !w.atlas.mayDamage(n) {
		return
	}
	d := &n.drive
	limit := func(path string, durable int64) int64 {
		if isLogFile(path) || !strings.Contains(path, "/") {
			return 0
		}
		if f.Strength > 0 && !(strings.HasSuffix(path, "/checkpoint") && w.isOf(path, f.Topic)) {
			return 0
		}
		return min(durable, d.store.Guarded(path))
	}
	damage := d.disk.FlipBit
	if f.Strength > 0 || d.chaos.OneIn(3) {
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

// slowReads lets a disk be slow with reads only: what a node is asked to read may
// be out of date when it has it, while it goes on writing.
func (w *World) slowReads(f *activeFault) {
	if n := w.target(f.plan); n != nil {
		n.drive.slowRead = Span(f.plan.Strength) * Millisecond
		f.undo = append(f.undo, func() { n.drive.slowRead = 0 })
	}
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

// isOf says whether a file belongs to a log of a topic.
func (w *World) isOf(path, topic string) bool {
	image := w.newest()
	if image == nil {
		return false
	}
	t := image.TopicNamed(topic)
	return t != nil && strings.HasPrefix(path, strconv.FormatUint(uint64(t.ID), 10)+"-")
}

// resume lets the lanes go on after a stall.
func (n *Node) resume() {
	if n.up && !n.paused {
		n.drive.begin()
	}
}

// isLogFile says whether a file holds records. Journals and identities have
// guards of their own and a budget of their own: see mayForget.
func isLogFile(path string) bool { return strings.HasSuffix(path, ".log") }
