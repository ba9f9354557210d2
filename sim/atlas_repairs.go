package sim

import (
	"strings"

	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
	"github.com/tamarack-mq/tamarack/storage/vfs/simdisk"
)

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
			a.damage(n, simdisk.Damage{Path: path})
			if ail.owed[part.id] {
				ail.beside[part.id] = true
			}
			return
		}
	}
	a.damage(n, simdisk.Damage{Path: path})
}

// repairs notes what a recovery has made good by itself: damage beside the
// records that it does not complain of.
func (a *atlas) repairs(node int32, log *effect.RecoveredLog) {
	ail := &a.ails[node]
	if !ail.beside[log.ID] || log.Damage != "" {
		return
	}
	hits := ail.hits[log.ID]
	for _, w := range hits {
		if isLogFile(w.path) {
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
		ail.cutOff(id, e.To)
		if a.world.book.replica(node, id).forgetful || a.hitBelow(node, id, e.To) {
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

// journalReplaced notes that a voter has written its journal anew, from memory:
// what damaged the old one is gone.
func (a *atlas) journalReplaced(node int32) {
	if ail := &a.ails[node]; ail.journal {
		ail.journal, ail.reserved = false, false
	}
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
