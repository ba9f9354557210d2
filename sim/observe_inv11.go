package sim

import (
	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/record"
)

// exactRecovery is INV-11: what recovery finds is a prefix of what was written
// that contains everything that was flushed; and INV-13 as far as recovery goes:
// a torn tail is cut without a word, damage below what was flushed is never.
type exactRecovery struct{ blind }

func (*exactRecovery) Invariant() string { return "INV-11" }

func (*exactRecovery) Looks() scope { return 0 }

func (o *exactRecovery) Started(w *World, n *Node, found *effect.Recovered) {
	seen := 0
	for i := range found.Logs {
		f := &found.Logs[i]
		hurt := !w.atlas.sound(n.id, f.ID)
		if f.Damage != "" {
			w.mark(markDamageFound)
			if !hurt {
				w.fail("INV-13", n.id, "a torn tail is taken for damage", "node %d recovers partition %s as damaged (%s), but its disk was never hit", n.id, f.ID, f.Damage)
				return
			}
		}
		r := w.book.replica(n.id, f.ID)
		if r.exists {
			seen++
		}
		o.recovered(w, n, r, f, hurt)
	}
	o.missing(w, n, found)
	if w.atlas.ails[n.id].journal && found.JournalDamaged != "" {
		w.mark(markVoterMute)
	} else { // what was hit, if anything, tells nothing: all is there
		w.atlas.journalReplaced(n.id)
		o.journal(w, n, found)
	}
	o.take(w.book.node(n.id), found)
}

// recovered judges one log that was found.
func (o *exactRecovery) recovered(w *World, n *Node, r *replicaBook, f *effect.RecoveredLog, hurt bool) {
	l := &r.disk
	torn := w.book.node(n.id).torn
	if torn != nil && logOf(torn) == f.ID {
		if a, ok := torn.(effect.Append); ok {
			l.extend(a.Batches, l.start)
		} else {
			return // done in part: what that leaves is one of two states, and INV-2 judges its content
		}
	}
	if !r.exists {
		if f.End > f.Start {
			w.fail("INV-11", n.id, "a deleted log comes back", "node %d recovers partition %s with records [%d, %d), but that log was deleted or never made", n.id, f.ID, f.Start, f.End)
		}
		return
	}
	if o.comesBack(w, n, r, f) {
		l = &r.aside
	}
	switch {
	case f.End < r.durable && f.Damage == "" && !hurt:
		w.fail("INV-11", n.id, "recovery loses flushed records", "node %d recovers partition %s up to %d, but it was flushed up to %d", n.id, f.ID, f.End, r.durable)
		return
	case f.End < r.durable && f.Damage == "":
		w.fail("INV-13", n.id, "damage is cut away silently", "node %d recovers partition %s up to %d without a word, but it was flushed up to %d before its disk was hit", n.id, f.ID, f.End, r.durable)
		return
	case f.End > l.end:
		w.fail("INV-11", n.id, "recovery finds records that were never written", "node %d recovers partition %s up to %d, but only %d was written", n.id, f.ID, f.End, l.end)
		return
	case f.Start < l.start && f.End > f.Start && !hurt:
		w.fail("INV-11", n.id, "retired records come back", "node %d recovers partition %s from %d on, but it was trimmed to %d", n.id, f.ID, f.Start, l.start)
		return
	}
	if f.End < l.end {
		w.mark(markTornTail)
	}
	o.content(w, n, r, l, f.Headers)
}

// comesBack says whether a recovery may find more of a damaged log than the one before
// it, which has set its end aside: nobody has put it in order since, and without its
// mark nothing tells any more where it was damaged. It is still no log to be trusted.
func (*exactRecovery) comesBack(w *World, n *Node, r *replicaBook, f *effect.RecoveredLog) bool {
	return f.End > r.disk.end && f.Damage != "" && w.atlas.ails[n.id].markless && r.aside.end > r.disk.end
}

// content holds recovered headers against what was written.
func (o *exactRecovery) content(w *World, n *Node, r *replicaBook, l *logFacts, headers []record.Header) {
	first := l.end
	if len(l.batches) > 0 {
		first = l.batches[0].BaseOffset
	}
	for ; len(headers) > 0 && headers[0].End() <= first; headers = headers[1:] {
		o.comesBackWhole(w, n, r, &headers[0])
	}
	if len(headers) == 0 {
		return
	}
	written := l.from(headers[0].BaseOffset)
	for i := 0; i < len(headers) && i < len(written); i++ {
		if !sameBatch(&headers[i], &written[i]) {
			w.fail("INV-11", n.id, "recovery finds other records than were written", "node %d recovers in partition %s a batch of epoch %d at %d, where one of epoch %d at %d was written", n.id, r.part.id, headers[i].LeaderEpoch, headers[i].BaseOffset, written[i].LeaderEpoch, written[i].BaseOffset)
			return
		}
	}
}

// comesBackWhole judges a batch that is retired, and of which the account of the log
// knows no more: its leader has written it.
func (o *exactRecovery) comesBackWhole(w *World, n *Node, r *replicaBook, h *record.Header) {
	switch first := r.part.links.at(link{h.LeaderEpoch, h.BaseOffset}); {
	case first == nil && r.part.off():
	case first == nil || first.end != h.End() || first.crc != h.CRC:
		w.fail("INV-11", n.id, "recovery finds other records than were written", "node %d recovers in partition %s a batch of epoch %d at %d that nobody wrote", n.id, r.part.id, h.LeaderEpoch, h.BaseOffset)
	}
}

// missing judges logs that held flushed records and were not found. An empty log
// may go: it is durable with its first flush, and is made again when needed.
func (o *exactRecovery) missing(w *World, n *Node, found *effect.Recovered) {
	have := make(map[record.PartitionID]bool, len(found.Logs))
	for i := range found.Logs {
		have[found.Logs[i].ID] = true
	}
	torn := w.book.node(n.id).torn
	for _, p := range w.book.list {
		if r := p.at(n.id); r != nil && r.exists && r.durable > r.disk.start && !have[p.id] && w.atlas.sound(n.id, p.id) && (torn == nil || logOf(torn) != p.id) {
			w.fail("INV-11", n.id, "recovery loses a whole log", "node %d does not find the log of partition %s, which was there and flushed up to %d", n.id, p.id, r.durable)
			return
		}
	}
}

// journal judges the quorum journal: every frame that was saved is there.
func (o *exactRecovery) journal(w *World, n *Node, found *effect.Recovered) {
	nb := w.book.node(n.id)
	if found.JournalDamaged != "" {
		w.fail("INV-13", n.id, "a torn tail is taken for damage", "node %d recovers the quorum journal as damaged (%s), but its disk was never hit", n.id, found.JournalDamaged)
		return
	}
	if _, ok := nb.torn.(effect.ReplaceQuorum); ok {
		return // either journal may be found
	}
	if len(found.Journal) < len(nb.journal) {
		w.fail("INV-11", n.id, "recovery loses the quorum journal", "node %d recovers %d frames of the quorum journal, but %d were saved", n.id, len(found.Journal), len(nb.journal))
		return
	}
	if _, ok := nb.torn.(effect.SaveQuorum); !ok && len(found.Journal) > len(nb.journal) {
		w.fail("INV-11", n.id, "recovery finds journal frames that were never written", "node %d recovers %d frames of the quorum journal, but only %d were saved", n.id, len(found.Journal), len(nb.journal))
		return
	}
	for i, d := range nb.journal {
		if digestFrame(found.Journal[i]) != d {
			w.fail("INV-11", n.id, "recovery changes the quorum journal", "frame %d of node %d's quorum journal is not what was saved", i, n.id)
			return
		}
	}
}

// take makes what was found the journal that is judged from here on.
func (o *exactRecovery) take(nb *nodeBook, found *effect.Recovered) {
	nb.journal, nb.snapshot, nb.grown = nb.journal[:0], 0, 0
	for i, f := range found.Journal {
		nb.journal = append(nb.journal, digestFrame(f))
		if i == 0 {
			nb.snapshot = len(f)
		} else {
			nb.grown += len(f)
		}
	}
}
