package quorum

import (
	"slices"

	"github.com/tamarack-mq/tamarack/core/message"
)

// admission is how a node with an empty journal begins. It may be new, and so
// may the whole cluster be; it may be about to join; or its disk was lost, and
// with it votes that it gave and entries that the others count on. It cannot
// tell, so it does nothing before it has asked enough of the others how far they
// are, and who the members are (see enough). Then
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
//
// A node whose configuration names nobody else has nobody to ask. There may be a cluster
// all the same, which it began and which grew: then those that lead it, or want to, say
// so to this node as well, for to them it is a member. So it listens first, and asks
// whoever speaks to it. Only if nobody does for a while it begins a cluster. It begins
// none while brokers are registered with one that only this node can have led.
type admission struct {
	nonce    uint64
	began    message.Time
	at       message.Time // next probe
	got      []heardOf    // by rising id
	callers  []uint64     // who took this node for a member
	claimant uint64       // a broker that is registered, and took it for a controller; 0: none
	term     uint64
	furthest position
}

// heardOf is the last answer of one node.
type heardOf struct {
	id uint64
	answer
}

func (a *admission) begin(q *Quorum, now message.Time) {
	*a = admission{nonce: q.random.Uint64(), began: now, at: now}
}

// tick asks everybody, also who has answered: members may have changed since.
func (a *admission) tick(q *Quorum, now message.Time, out *Out) {
	if now < a.at {
		return
	}
	a.at = now.Add(q.cfg.ElectionTimeout / 2)
	a.finish(q, now, out)
	if q.node != nil {
		return
	}
	for _, id := range a.asked(q) {
		out.Send(message.NodeID(id), &message.Quorum{Data: encodeProbe(q.mark, probe{a.nonce})})
	}
}

// called notes a node that sends this one what only members are sent. Nobody else
// may know of it: those that the configuration names may all have left the quorum,
// before it went to others and from them to this node again.
func (a *admission) called(from uint64) {
	if !slices.Contains(a.callers, from) {
		a.callers = append(a.callers, from)
	}
}

// Claimed notes a broker that is registered with a cluster and takes this node for one of
// its controllers. If it was the only one, what that cluster decided was on the disk that it
// has lost: one that it began now would know of no topic, and brokers delete what no topic
// claims. So somebody has to stop the brokers first.
func (q *Quorum) Claimed(broker message.NodeID) {
	if q.node == nil && uint64(broker) != q.self {
		q.admission.claimant = uint64(broker)
	}
}

// asked are the nodes that the configuration names, those that answers have named
// since, and the callers.
func (a *admission) asked(q *Quorum) []uint64 {
	ids := slices.Concat(q.configured.voters, a.callers)
	for _, p := range a.sets() {
		ids = append(ids, p.voters...)
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	return slices.DeleteFunc(ids, func(id uint64) bool { return id == q.self })
}

// sets are the members that count: the newest that anybody has applied, and all
// that anybody has in its log above it, committed or not.
func (a *admission) sets() (list []placed) {
	newest := uint64(0)
	for i := range a.got {
		if h := &a.got[i]; len(h.sets) > 0 {
			newest = max(newest, h.sets[0].at)
		}
	}
	for i := range a.got {
		for _, p := range a.got[i].sets {
			if p.at >= newest {
				list = append(list, p)
			}
		}
	}
	return list
}

// enough says whether those that matter have answered, of each set that counts.
//
// A voter of the set may have voted, and acknowledged, in it: all the others
// must answer. If a later set was committed, a majority of this one holds its
// entry, so one of those that answer tells of it, and it counts as well. Only if
// the voter was alone there is nobody to tell: it waits until it hears of a later
// set, and for ever if there is none, for then all that was decided since was on
// the disk that it has lost. A node that is no voter of the set has only to be sure
// that there is no later one in which it is: for that a majority will do, of those
// that remember.
//
// Without anybody who remembers, the cluster is new, or so it seems to all that
// the configuration names: they must agree on who they are. If it names nobody else,
// nobody who has been in a cluster may have spoken to this node.
func (a *admission) enough(q *Quorum, now message.Time) bool {
	sets := a.sets()
	if len(sets) == 0 {
		others := q.configured.voters
		if len(others) == 1 && (len(a.callers) > 0 || a.claimant != 0 || now < a.began.Add(q.cfg.Silence)) {
			return false
		}
		return q.configured.votes(q.self) && a.count(others, func(h *heardOf) bool { return h.hopes == q.hopes }) == len(others)-1
	}
	for _, s := range sets {
		if s.votes(q.self) {
			if len(s.voters) == 1 {
				return false
			}
			if a.count(s.voters, func(*heardOf) bool { return true }) < len(s.voters)-1 {
				return false
			}
		} else if !s.majority(a.count(s.voters, func(h *heardOf) bool { return h.whole })) {
			return false
		}
	}
	return true
}

// awaited are the nodes without whose answers this one is not admitted, by rising id.
func (a *admission) awaited(q *Quorum) []uint64 {
	sets := a.sets()
	if len(sets) == 0 {
		sets = []placed{{0, q.configured}, {0, members{voters: a.callers}}}
	}
	var ids []uint64
	for _, s := range sets {
		for _, id := range s.voters {
			if id != q.self && !slices.ContainsFunc(a.got, func(h heardOf) bool { return h.id == id }) {
				ids = append(ids, id)
			}
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// count counts the answers of some nodes that pass a test.
func (a *admission) count(of []uint64, test func(*heardOf) bool) (n int) {
	for i := range a.got {
		if slices.Contains(of, a.got[i].id) && test(&a.got[i]) {
			n++
		}
	}
	return n
}

// answerProbe tells an empty node how far this one is. The term and the log may
// not be durable yet: that makes the other one more careful, not less.
func (q *Quorum) answerProbe(to message.NodeID, p probe, out *Out) {
	a := answer{nonce: p.nonce, hopes: q.hopes, term: max(q.journal.term, q.hopeful), end: q.journal.end(), whole: q.whole()}
	if i := q.journal.identity; i != nil {
		if a.end.below(i.floor) {
			a.end = i.floor
		}
		a.first, a.sets = i.first, q.journal.sets()
	}
	out.Send(to, &message.Quorum{Data: encodeAnswer(q.mark, a)})
}

func (a *admission) answered(q *Quorum, now message.Time, from uint64, m answer, out *Out) {
	if q.node != nil || m.nonce != a.nonce {
		return
	}
	at, again := slices.BinarySearchFunc(a.got, from, func(h heardOf, id uint64) int { return int(h.id) - int(id) })
	if again {
		a.got[at].answer = m
	} else {
		a.got = slices.Insert(a.got, at, heardOf{from, m})
	}
	a.term = max(a.term, m.term)
	if a.furthest.below(m.end) {
		a.furthest = m.end
	}
	a.finish(q, now, out)
}

// finish begins the journal once enough have answered.
func (a *admission) finish(q *Quorum, now message.Time, out *Out) {
	if !a.enough(q, now) {
		return
	}
	first := q.configured
	for i := range a.got {
		if len(a.got[i].sets) > 0 {
			first = a.got[i].first
		}
	}
	j := &q.journal
	j.identity = &identity{mark: q.mark, self: q.self, floor: a.furthest, first: first}
	j.present, j.snapshotSet = placed{0, first}, placed{0, first}
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
