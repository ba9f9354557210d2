package sim

import (
	"math"
	"slices"

	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
	"github.com/tamarack-mq/tamarack/core/replica"
	"github.com/tamarack-mq/tamarack/history"
	"github.com/tamarack-mq/tamarack/models"
)

// surrender is the account of one unclean election: an operator has let a replica
// lead that was not in sync. What is gone by that is what was committed and what
// the new leader does not hold; all below must still be there, and all that is
// committed from then on is judged like anything else.
type surrender struct {
	epoch    record.LeaderEpoch // of the leadership that it began
	from, to record.Offset      // what may be gone: it was committed, and stood there
	at       Span               // when that leadership began
	start    record.Offset      // where its log began then
}

// uncleanly notes that an unclean election was decided. What is left shows when
// its winner begins to lead: until then nothing can be said.
func (p *partBook) uncleanly(epoch record.LeaderEpoch) {
	p.unclean, p.open, p.era = true, true, epoch
}

// letLead is who was let lead with whatever it has: one run of a node, in all epochs of
// the partition from one on, until another one is elected. What a later run finds missing
// it has to tell, and only an operator may let it lead once more.
type letLead struct {
	node        int32
	incarnation uint64
	from, until record.LeaderEpoch // until 0: nobody else was elected since
}

// elected takes in a state of a partition: who leads it by that, and in which run.
func (p *partBook) elected(old, new *message.PartitionChange, incarnation uint64) {
	if new.Leader == message.NoNode {
		return
	}
	node, k := int32(new.Leader), len(p.let)
	unclean := begunUncleanly(old, new)
	if k > 0 && p.let[k-1].until == 0 && (unclean || p.let[k-1].node != node) {
		p.let[k-1].until = new.LeaderEpoch
	}
	if unclean {
		p.let = append(p.let, letLead{node: node, incarnation: incarnation, from: new.LeaderEpoch})
	}
}

// let says whether a replica leads because an operator has let this run of its node
// do so, whatever its log lacks.
func (r *replicaBook) let(n *Node) bool {
	v := &r.view
	return v.Role == replica.Leading && slices.ContainsFunc(r.part.let, func(l letLead) bool {
		return l.node == n.id && l.incarnation == n.incarnation && l.from <= v.LeaderEpoch && (l.until == 0 || v.LeaderEpoch < l.until)
	})
}

// settle looks whether a replica begins to lead after an unclean election, with a
// log that it trusts: then that log is what is left. Of its own records those count
// that it has flushed: the others may go with the power, as they could before. One
// that has yet to begin its log anew shows nothing, and nothing can be said before.
func (p *partBook) settle(w *World, r *replicaBook) {
	v := &r.view
	if !p.open || v.Role != replica.Leading || v.LeaderEpoch < p.era || v.Damage != "" ||
		r.told < r.memory.start && !v.Shown {
		return
	}
	common := p.inCommon(&r.memory)
	var below []record.Header
	if s := r.memory.start; s > 0 && (common <= s || s >= p.high) { // by its start alone
		if at, stands, known := p.ground(&r.memory); known {
			common, below = at, stands
		}
	}
	kept := min(common, r.durable)
	left := logFacts{batches: p.committed, end: p.high}
	left.cut(kept)
	if k := len(left.batches); k > 0 && k < len(p.committed) {
		kept = left.batches[k-1].End()
	}
	p.surrendered = append(p.surrendered, surrender{v.LeaderEpoch, kept, p.high, w.now, r.memory.start})
	survived := p.broughtBack(&r.memory, common)
	p.givenUp = append(p.givenUp, p.committed[len(left.batches):]...)
	p.committed, p.high, p.survived, p.open = left.batches, kept, survived, false
	p.revive(r, below)
	p.topStart = max(p.topStart, p.shownStart)
	p.shownStart = min(p.shownStart, r.disk.start) // that is as far as it will not go back
	p.lowStart = min(p.lowStart, p.shownStart)
	p.unknown = p.unknown || r.forgot
	for _, other := range p.replicas {
		if other != nil {
			other.verified = min(other.verified, kept)
		}
	}
}

// revive counts as committed what was given up by an election before this one, and
// is back: the winner has known it as committed ever since, and holds it, or held it
// until it was retired: that is below.
func (p *partBook) revive(r *replicaBook, below []record.Header) {
	known := min(r.view.HighWatermark, r.knew, r.durable)
	if known <= p.high {
		return
	}
	first := p.high
	if k := len(below); k > 0 {
		p.committed, first = append(p.committed, below...), below[k-1].End()
	}
	for _, h := range r.memory.from(first) {
		if h.End() <= known {
			p.committed = append(p.committed, h)
		}
	}
	p.high, p.survived = known, max(p.survived, known)
}

// broughtBack is how far a log goes, behind what it has in common with what is committed,
// with what was committed before an earlier election, and given up by that. Its leader
// need not know that it was; who does, and holds the same, is right.
func (p *partBook) broughtBack(l *logFacts, common record.Offset) record.Offset {
	if len(p.givenUp) == 0 {
		return common
	}
	at := common
	for _, h := range l.from(max(common, l.start)) {
		if !slices.ContainsFunc(p.givenUp, func(g record.Header) bool { return sameBatch(&g, &h) }) {
			break
		}
		at = h.End()
	}
	return at
}

// accepted looks whether a replica without a trace of what producers did in records
// that it has retired leads all the same, because an operator has let it. Nobody
// will tell it any more. With its first checkpoint that is forgotten on the disk, too,
// and no later recovery finds anything amiss, unless the log is damaged once more: then
// it has lost more, and somebody must let it lead without that, too.
func (r *replicaBook) accepted(n *Node) {
	if r.forgetful && !r.forgot && r.view.Damage == "" && r.let(n) {
		r.forgot = true
		r.memory.dropRetired()
		r.disk.dropRetired()
	}
}

// inCommon is how far a log holds what is committed.
func (p *partBook) inCommon(l *logFacts) record.Offset {
	if l.start >= p.high {
		return p.high
	}
	mine, theirs := l.from(l.start), (&logFacts{batches: p.committed}).from(l.start)
	at := l.start
	for i := 0; i < len(mine) && i < len(theirs) && sameBatch(&mine[i], &theirs[i]); i++ {
		at = mine[i].End()
	}
	return min(at, p.high)
}

// stray notes what a leader acknowledges that has not heard that another has been
// elected uncleanly.
func (p *partBook) stray(batch []byte, base record.Offset) {
	if h, err := record.DecodeHeader(batch); err == nil && !p.deleted {
		p.strays = append(p.strays, models.Range{From: int64(base), To: int64(base) + int64(h.LastOffsetDelta) + 1})
	}
}

// losses is the account for the models.
func (p *partBook) losses() models.Loss {
	l := models.Loss{
		Kept: int64(p.remains()), From: int64(p.asked), Since: history.Open, Strays: p.strays,
		Start: int64(p.topStart), Low: int64(p.lowStart), Unknown: p.unknown,
	}
	switch k := len(p.surrendered); {
	case p.open: // nobody knows what is left
		l.Kept, l.Start, l.Low = 0, math.MaxInt64, 0
	case k > 0:
		l.Since = int64(p.surrendered[k-1].at)
	}
	return l
}

// gaveUp says whether what was committed at an offset has been given up after a time.
func (p *partBook) gaveUp(offset record.Offset, since Span) bool {
	return slices.ContainsFunc(p.surrendered, func(s surrender) bool {
		return s.from <= offset && offset < s.to && since <= s.at
	})
}

// remains is how far all that was ever committed is still there.
func (p *partBook) remains() record.Offset {
	at := p.high
	for i := range p.surrendered {
		at = min(at, p.surrendered[i].from)
	}
	return at
}

// floors are the bounds below which what clients are told may not fall: none as long
// as it is not known what is left.
func (p *partBook) floors() (high, start record.Offset) {
	switch {
	case p.deleted || p.open:
		return 0, 0
	case p.unclean:
		return p.remains(), p.lowStart
	}
	return math.MaxInt64, math.MaxInt64
}

// adrift says that nothing can be said about what belongs to a leadership: it is
// from before an unclean election, or what that has left is not known yet; or the
// partition is deleted.
func (p *partBook) adrift(epoch record.LeaderEpoch) bool {
	return p.deleted || p.unclean && (p.open || epoch < p.era)
}

// adrift says that nothing can be said about a replica. After an unclean election it
// has to hear of it first, and to cut what its leader does not hold.
func (r *replicaBook) adrift() bool {
	v := &r.view
	return r.part.adrift(v.LeaderEpoch) || r.part.unclean && v.Role != replica.Leading && !v.Matched
}

// misled says whether a replica knows as committed what was given up since. It then
// keeps nothing, and copies its leader's log anew.
func (r *replicaBook) misled() bool {
	return r.part.unclean && r.part.inCommon(&r.disk) < min(r.was.high, r.disk.end)
}

// answers says whether what a node tells clients of a partition can be judged by
// what is committed: after an unclean election, whether it leads since.
func (r *replicaBook) answers() bool {
	p := r.part
	return !p.deleted && (!p.unclean || !p.open && r.view.Role == replica.Leading && r.view.LeaderEpoch >= p.era)
}

// begunUncleanly says whether a change of a partition is an unclean election.
func begunUncleanly(old, new *message.PartitionChange) bool {
	return new.Unclean && (old == nil || old.LeaderEpoch != new.LeaderEpoch)
}
