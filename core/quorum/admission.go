package quorum

import (
	"github.com/tamarack-mq/tamarack/core/message"
)

// admission is how a voter with an empty journal begins. It may be new, and so
// may the whole cluster be; or its disk was lost, and with it votes that it
// gave and entries that the others count on. It cannot tell, so it does
// nothing before every other voter has said how far it is. Then
//
//   - it enters the highest term that any of them has heard of, and votes in
//     none up to a good way above that. A vote that it gave was asked for by
//     one of them, which had that term on disk before. Or it stood itself: then
//     a majority had encouraged it, of which one must remember, or else the
//     way above (drawn anew each time) hides the term;
//   - it votes for nobody, itself included, whose log does not reach the end
//     of the longest of theirs. What it once acknowledged and was committed, at
//     least one of them holds, as long as fewer than a majority lost their
//     journals; so nobody is elected with its help who lacks that.
//
// In a new cluster all are empty, and the first start waits for all of them.
// As long as they are, there is nothing to lose and no term is skipped.
type admission struct {
	nonce    uint64
	at       message.Time // next probe
	got      []bool       // by peer
	term     uint64
	furthest position
}

func (a *admission) begin(q *Quorum, now message.Time) {
	*a = admission{nonce: q.random.Uint64(), at: now, got: make([]bool, len(q.peers))}
}

// tick asks those that have not answered, or ends a wait for nobody.
func (a *admission) tick(q *Quorum, now message.Time, out *Out) {
	if now < a.at {
		return
	}
	a.at = now.Add(q.cfg.ElectionTimeout / 2)
	a.finish(q, now, out)
	for i := range q.peers {
		if q.node == nil && !a.got[i] {
			out.Send(message.NodeID(q.peers[i].id), &message.Quorum{Data: encodeProbe(q.mark, probe{a.nonce})})
		}
	}
}

// answerProbe tells an empty voter how far this one is. The term and the log
// may not be durable yet: that makes the other one more careful, not less.
func (q *Quorum) answerProbe(to message.NodeID, p probe, out *Out) {
	a := answer{nonce: p.nonce, term: max(q.journal.term, q.hopeful), end: q.journal.end()}
	if i := q.journal.identity; i != nil && a.end.below(i.floor) {
		a.end = i.floor
	}
	out.Send(to, &message.Quorum{Data: encodeAnswer(q.mark, a)})
}

func (a *admission) answered(q *Quorum, now message.Time, from uint64, m answer, out *Out) {
	if q.node != nil || m.nonce != a.nonce {
		return
	}
	for i := range q.peers {
		if q.peers[i].id == from {
			a.got[i] = true
		}
	}
	a.term = max(a.term, m.term)
	if a.furthest.below(m.end) {
		a.furthest = m.end
	}
	a.finish(q, now, out)
}

// finish begins the journal once everybody has answered.
func (a *admission) finish(q *Quorum, now message.Time, out *Out) {
	for _, got := range a.got {
		if !got {
			return
		}
	}
	j := &q.journal
	j.identity = &identity{mark: q.mark, self: q.self, floor: a.furthest}
	if a.term > 0 || a.furthest.index > 0 { // else the cluster is new
		j.identity.spent = a.term + uint64(q.random.Between(16, 1024))
	}
	j.term = a.term
	f := frame{identity: j.identity, hard: j.hard()}
	q.start(now)
	q.saved = ballot{}
	q.write(f.encode(), nil, out)
}

// whole says whether this voter's log reaches as far as it must before it may
// stand for election.
func (q *Quorum) whole() bool {
	i := q.journal.identity
	return i != nil && !q.journal.end().below(i.floor)
}
