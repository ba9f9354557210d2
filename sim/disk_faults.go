package sim

import (
	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/storage/vfs/simdisk"
)

// arm lets the node die inside the op-th file operation from here on, or at the
// latest after within.
func (d *drive) arm(as death, op int64, within Span) {
	d.armed, d.armedAs = true, as
	d.disk.CrashAfter(op, d.chaos)
	d.schedule(evNodeDies, as.bits()|ofAFault, within)
}

// armInside lets the node die inside the next operation of one kind. If none
// comes, it does not die.
func (d *drive) armInside(op simdisk.Op, as death) {
	d.armed, d.armedAs = true, as
	d.disk.CrashInside(op, 1, d.chaos)
}

// armRecovery lets the next recovery end in the middle.
func (d *drive) armRecovery(as death) {
	d.armed, d.armedAs = true, as
	d.disk.CrashAfter(d.chaos.Between(1, 40), d.chaos)
}

func (d *drive) disarm() {
	if d.armed {
		d.disk.CrashAfter(0, d.chaos)
		d.armed = false
	}
}

// crash ends the use of the disk by a process that died.
func (d *drive) crash(how death) {
	d.forget()
	d.powerCut(how.lossy)
}

// powerCut ends the use of the disk: with lossy set, what was not flushed may
// be gone.
func (d *drive) powerCut(lossy bool) {
	d.armed = false
	switch x := d.cutNow(); {
	case x != nil:
		d.leave(x)
	case lossy:
		if d.node.world.decider != nil {
			d.node.world.decider.powerCut(d.node)
		} else {
			d.disk.Crash(d.chaos)
		}
		d.node.world.mark(markPowerLost)
	default:
		d.disk.Kill()
	}
	d.store = nil
}

// forget drops all that is under way.
func (d *drive) forget() {
	clear(d.queue)
	clear(d.writing)
	clear(d.journal)
	clear(d.reads)
	d.queue, d.writing, d.journal, d.reads = d.queue[:0], d.writing[:0], d.journal[:0], d.reads[:0]
	d.want, d.flushing, d.freeReads = d.want[:0], d.flushing[:0], d.freeReads[:0]
	d.writeBusy, d.flushBusy, d.noRoom, d.saving = false, false, false, 0
}

// finish carries out at once what is still queued, for a clean shutdown, and says
// whether it could.
func (d *drive) finish() (all bool) {
	defer d.forget()
	for _, e := range append(d.writing, d.queue...) {
		if d.change(e) != nil {
			d.node.world.book.node(d.node.id).torn = e
			return false
		}
	}
	return true
}

// close ends the use of the disk in good order; clean: all that was queued is
// written. Only of a store that has then closed without a word all is durable.
func (d *drive) close(clean bool) {
	err := d.store.Close(clean)
	d.heard("a close", false, err)
	if err != nil && !d.node.world.atlas.excuses(d.node, err) {
		d.node.world.fail("INV-11", d.node.id, "storage fails on a disk that is well", "node %d cannot close its store: %v", d.node.id, err)
	}
	if d.disk.Crashed() {
		d.node.world.mark(markCrashedInWrite)
		d.node.world.mark(markShutdownCutOff)
		d.powerCut(d.armedAs.lossy)
		return
	}
	d.disk.Kill()
	d.store = nil
	if clean && err == nil {
		d.node.world.book.closed(d.node)
	}
}

// runFull keeps the changes that no longer fit, in order, until there is room.
func (d *drive) runFull(rest []effect.Effect) {
	left := append([]effect.Effect(nil), rest...)
	d.queue = append(left, d.queue...)
	if !d.noRoom {
		d.noRoom = true
		d.node.world.mark(markDiskFull)
		d.done = append(d.done, effect.DiskSpace{Low: true})
	}
	d.schedule(evRoom, 0, 500*Millisecond)
}

// retry looks whether the disk has room again.
func (d *drive) retry() {
	if !d.noRoom {
		return
	}
	if free, err := d.store.Free(); err == nil && free < 64<<10 {
		d.schedule(evRoom, 0, 500*Millisecond)
		// What makes room must not wait behind what needs it.
		return
	}
	d.noRoom = false
	d.node.step(effect.DiskSpace{Low: false})
	if d.node.up {
		d.begin()
	}
}

// backlog is the number of operations that wait for the disk.
func (d *drive) backlog() int { return len(d.queue) + len(d.writing) + len(d.journal) + len(d.want) }
