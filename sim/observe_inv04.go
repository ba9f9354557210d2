package sim

import (
	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/record"
	"github.com/tamarack-mq/tamarack/core/replica"
)

// nothingCut is INV-4: no replica cuts below its own proven high watermark, or
// a record that is committed, and no leader cuts its own log. Nor does it as it begins
// to lead, unless the log is damaged: elected uncleanly it may be the only one that
// still has what it cuts, and what is left is counted from then on.
type nothingCut struct{ blind }

func (*nothingCut) Invariant() string { return "INV-4" }

func (*nothingCut) Looks() scope { return ofCuts }

func (o *nothingCut) Stepped(w *World, n *Node, _ effect.Input, out []effect.Effect) {
	for _, e := range out {
		switch e := e.(type) {
		case effect.Truncate:
			w.mark(markTruncated)
			o.cut(w, n, e.Log, e.Cut, e.To, false)
		case effect.Reset:
			w.mark(markReset)
			o.cut(w, n, e.Log, e.Cut, e.Start, true)
		}
	}
}

// outrun says that a replica follows a leader that has been replaced, and that nobody
// counts on it: what it drops may have been committed since, by a leader of which it
// has not heard and without it. What was committed before, its leader has as well.
func (r *replicaBook) outrun() bool {
	s := r.part.state
	return r.view.Role != replica.Leading && s != nil && r.view.LeaderEpoch < s.LeaderEpoch && !counted(s, r.node)
}

// cut judges that everything at and above to is dropped. What is there is what the core
// has asked for: cuts that the disk has still to carry out have been judged, and what it
// has still to write is lost as well.
func (o *nothingCut) cut(w *World, n *Node, id record.PartitionID, cut effect.Cut, to record.Offset, anew bool) {
	r := w.book.replica(n.id, id)
	p := r.part
	if p.deleted || !w.atlas.clean(n.id, id) {
		return
	}
	leads := r.view.Role == replica.Leading
	if again := r.was.role == replica.Leading && r.view.LeaderEpoch == r.was.epoch; leads && (again || w.atlas.sound(n.id, id)) {
		w.fail("INV-4", n.id, "a leader cuts its own log", "node %d leads partition %s in epoch %d and truncates it to %d", n.id, id, r.view.LeaderEpoch, to)
		return
	}
	if p.adrift(r.view.LeaderEpoch) || anew && r.misled() || r.outrun() {
		return
	}
	dropped := r.lost(cut)
	if len(dropped) == 0 {
		return
	}
	theirs := (&logFacts{batches: p.committed}).from(max(to, dropped[0].BaseOffset))
	for i := 0; i < len(dropped) && i < len(theirs); i++ {
		if sameBatch(&dropped[i], &theirs[i]) {
			w.fail("INV-4", n.id, "a committed record is cut", "node %d cuts partition %s at %d and drops the batch at %d, which is committed (the high watermark is %d)", n.id, id, to, dropped[i].BaseOffset, p.high)
			return
		}
		if dropped[i].BaseOffset >= to {
			w.mark(markTruncatedOnDivergence)
		}
	}
	if p.unclean {
		return // what it was told before is no more; all that is still committed was looked at
	}
	if r.was.role != replica.Idle && to < r.was.high {
		w.fail("INV-4", n.id, "a replica cuts below its own high watermark", "node %d cuts partition %s at %d although it knows %d to be committed", n.id, id, to, r.was.high)
	}
}
