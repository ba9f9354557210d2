package sim

import (
	"encoding/binary"
	"strconv"
	"strings"

	"github.com/tamarack-mq/tamarack/storage/vfs/simdisk"
)

// Parts of a data folder that a DamageRoot hits: Fault.Strength.
const (
	markTwice    = 1 // both copies of one mark
	markOnce     = 2 // one copy
	marksGone    = 3 // the file of marks
	identityOnce = 4 // one copy of the identity
	cleanMark    = 5 // what a clean end has left, while the node is down
	markAndLog   = 6 // one copy of a mark, and the newest of what it vouches for
)

// strikeRare carries out the kinds of this file. What they draw comes from a stream
// of its own.
func (w *World) strikeRare(f *activeFault) {
	n := w.target(f.plan)
	if n == nil || n.absent {
		return
	}
	d := &n.drive
	switch f.plan.Kind {
	case FailOp:
		if n.up {
			w.atlas.ails[n.id].failing = true
			d.disk.FailOp(simdisk.Op(f.plan.Strength), d.rare.Between(1, 3), d.rare)
			f.undo = append(f.undo, func() { d.disk.FailOp(0, 0, nil) })
		}
	case FailRecovery:
		if n.up {
			d.failRecovery = int64(max(1, f.plan.Strength))
			n.restartIn = max(f.plan.For, 10*Millisecond)
			n.fall(death{lossy: d.rare.OneIn(2), told: true})
		}
	case DamageRoot:
		w.rotRoot(n, f.plan.Strength)
	case LoseFolder, CutFile:
		w.rotLog(n, f.plan.Kind)
	}
}

// rotLog takes the folder of a log away, or the end of one of its segments.
func (w *World) rotLog(n *Node, kind FaultKind) {
	if !n.up || !w.atlas.mayDamage(n) {
		return
	}
	d := &n.drive
	var hit simdisk.Damage
	var ok bool
	if kind == LoseFolder {
		if w.atlas.ails[n.id].root {
			return // nothing would tell that there was a log
		}
		hit, ok = d.disk.LoseFolder(d.rare, func(path string, _ int64) int64 {
			return d.store.Guarded(path + "epochs") // 0: on its way in or out
		})
	} else {
		hit, ok = d.disk.CutFile(d.rare, func(path string, durable int64) int64 {
			if !isLogFile(path) {
				return 0
			}
			return min(durable, d.store.Guarded(path))
		})
	}
	if ok {
		w.atlas.damage(n, hit)
		w.tellHit(n, hit)
	}
}

func (w *World) tellHit(n *Node, hit simdisk.Damage) {
	if w.tracing {
		w.tell("node %d: %s of %s at byte %d", n.id, hit.Kind, hit.Path, hit.Offset)
	}
}

// Where things lie in the file of marks: see storage/slot.go.
const (
	markSize     = 64
	marksPerPage = 64
	markPage     = marksPerPage * markSize
)

// rotRoot damages what a node keeps of itself, besides the journal. A mark of which
// both copies are gone says nothing any more, and then its log cannot be trusted;
// everything else there is there twice, or is only missed.
func (w *World) rotRoot(n *Node, what int) {
	d, ail := &n.drive, &w.atlas.ails[n.id]
	if what == cleanMark {
		if hit, ok := d.disk.FlipAt("clean", d.rare.Below(20), uint8(d.rare.Below(8))); ok && !n.up {
			w.mark(markRootDamaged)
			w.tellHit(n, hit)
		}
		return
	}
	// A journal that is damaged is found to be so by its mark; and nothing is there
	// three times.
	if !n.up || ail.journal || ail.root || ail.lostFolder() || !w.atlas.mayDamage(n) {
		return
	}
	var hit simdisk.Damage
	var ok bool
	var folder string
	bit := uint8(d.rare.Below(8))
	switch what {
	case markTwice, markOnce, markAndLog:
		at := w.usedMark(n)
		if at < 0 {
			return
		}
		if what == markAndLog {
			folder = w.folderOfMark(n, at)
		}
		at += d.rare.Below(markSize)
		if what == markTwice {
			_, ok = d.disk.FlipAt("marks", at, bit)
			hit, _ = d.disk.FlipAt("marks", at+markPage, bit)
		} else {
			hit, ok = d.disk.FlipAt("marks", at+markPage*d.rare.Below(2), bit)
		}
	case marksGone:
		hit, ok = d.disk.LoseFile(d.rare, func(path string, _ int64) int64 { return only(path == "marks") })
	case identityOnce:
		name := "identity"
		if d.rare.OneIn(2) {
			name = "identity.copy"
		}
		if d.rare.OneIn(2) {
			hit, ok = d.disk.FlipAt(name, d.rare.Below(24), bit)
		} else {
			hit, ok = d.disk.LoseFile(d.rare, func(path string, _ int64) int64 { return only(path == name) })
		}
	}
	if ok {
		ail.root, ail.unmarked = true, what == markTwice || what == marksGone
		w.atlas.damageRoot(n, hit.Path)
		w.mark(markRootDamaged)
		w.tellHit(n, hit)
	}
	if ok && folder != "" {
		w.rotVouched(n, folder)
	}
}

func only(it bool) int64 {
	if it {
		return 1
	}
	return 0
}

// usedMark draws a mark of a log that is in use, and returns where its first copy
// is; -1: there is none.
func (w *World) usedMark(n *Node) int64 {
	d := &n.drive
	f, err := d.disk.Open("marks")
	if err != nil {
		return -1
	}
	defer f.Close()
	var used []int64
	var b [markSize]byte
	for k := int64(1); ; k++ { // the first is the journal's
		at := k/marksPerPage*2*markPage + k%marksPerPage*markSize
		if n, err := f.ReadAt(b[:], at); err != nil || n < markSize {
			break
		}
		if b != [markSize]byte{} {
			used = append(used, at)
		}
	}
	if len(used) == 0 {
		return -1
	}
	return used[d.rare.Below(int64(len(used)))]
}

// damageRoot notes that a node may not know any more what was durable of its logs.
// Those of which recovery does not complain are as good as before: see repairs.
func (a *atlas) damageRoot(n *Node, path string) {
	all := func(*partBook) bool { return true }
	ail := &a.ails[n.id]
	clean := map[*partBook]bool{}
	for _, part := range a.world.book.list {
		clean[part] = a.clean(n.id, part.id)
	}
	a.concede(n.id, all)
	a.lost(n.id, all)
	for _, part := range a.world.book.list {
		if ail.owed[part.id] && strings.HasPrefix(path, "marks") {
			ail.scars[part.id] = true
		}
		if ail.owed[part.id] {
			ail.hits[part.id] = append(ail.hits[part.id], wound{path, noRecords})
			if clean[part] {
				ail.beside[part.id] = true
			}
		}
	}
	ail.damaged = true
	a.world.mark(markDamaged)
}

// lostFolder says whether the folder of a log is gone, and nobody has found out: then
// nothing but its mark tells that there was one.
func (a *ailment) lostFolder() bool {
	for _, hits := range a.hits {
		for _, w := range hits {
			if strings.HasSuffix(w.path, "/") {
				return true
			}
		}
	}
	return false
}

// beforeStart notes that logs which were made since marks of a node were lost have none
// either, or none yet: then it cannot be known whether they had one.
func (a *atlas) beforeStart(n *Node) {
	if a.ails[n.id].unmarked {
		a.damageRoot(n, "marks")
	}
}

// opened notes that a start has got through: it has written the marks anew.
func (a *atlas) opened(node int32) {
	ail := &a.ails[node]
	ail.markless = ail.unmarked
	ail.root, ail.unmarked = false, false
}

// heard is INV-37 for the disk: an operation that was made to fail is not passed
// over. What reads do besides, to be quicker next time, may be: a read that could not
// write an index has given what it was asked for, and nobody needs that file.
func (d *drive) heard(op string, reads bool, err error) {
	failures := d.disk.Failures()
	if failures == d.failures {
		return
	}
	d.failures = failures
	w, n := d.node.world, d.node
	if reads && err == nil {
		return
	}
	if err == nil {
		w.fail("INV-37", n.id, "a failed operation of the disk is passed over", "an operation of the disk of node %d has failed, and %s says nothing of it", n.id, op)
		return
	}
	w.mark(markOpFailed)
}

// folderOfMark is the folder of the log of a mark; "": it is of none.
func (w *World) folderOfMark(n *Node, at int64) string {
	f, err := n.drive.disk.Open("marks")
	if err != nil {
		return ""
	}
	defer f.Close()
	var b [markSize]byte
	if _, err := f.ReadAt(b[:], at); err != nil {
		return ""
	}
	topic, index, flags := binary.BigEndian.Uint64(b[8:]), binary.BigEndian.Uint32(b[16:]), binary.BigEndian.Uint32(b[48:])
	if flags&1 == 0 { // it is free
		return ""
	}
	return strconv.FormatUint(topic, 10) + "-" + strconv.FormatUint(uint64(index), 10) + "/"
}

// rotVouched damages some of the newest bytes of a log, one copy of whose mark was just
// damaged, as far as the other copy has to vouch for them.
func (w *World) rotVouched(n *Node, folder string) {
	d := &n.drive
	var path string
	var sure int64
	for _, f := range d.disk.Files() { // by name: the last that a mark vouches for
		if strings.HasPrefix(f.Path, folder) && isLogFile(f.Path) {
			if until := min(f.Durable, d.store.Guarded(f.Path)); until > 0 {
				path, sure = f.Path, until
			}
		}
	}
	if path == "" {
		return
	}
	off := sure - 1 - d.rare.Below(min(sure, newestBytes))
	if hit, ok := d.disk.FlipAt(path, off, uint8(d.rare.Below(8))); ok {
		w.atlas.damage(n, hit)
		w.tellHit(n, hit)
	}
}

// newestBytes is about what a few flushes of one log make durable.
const newestBytes = 400
