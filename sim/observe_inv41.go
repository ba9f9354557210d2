package sim

import (
	"slices"

	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/quorum"
)

// quorumInForce is INV-41: the controllers count by the voters that are in force.
// What a leader calls committed, more than half of its voters hold durably,
// learners and those that were removed not counted; all nodes that have applied
// the log as far have the same members; members change by one node at a time, and
// who begins to vote was a learner that held everything; who leads is a voter; who
// has lost its disk counts for whole again when it holds all that was committed
// before it came back.
//
// A voter's word may be under way, or wait at the leader for that of another,
// while its disk is lost. It counts all the same: it was true when it was given,
// and such a voter takes no part before it holds all that the others have.
type quorumInForce struct {
	blind
	journals []journalTail                       // by node id
	lost     []message.Version                   // by node id: how far it held the log before its disk was lost
	before   []quorumBefore                      // by node id
	members  map[message.Version]quorum.Members  // as of each applied version, and of each that made them
	madeAt   map[message.Version]message.Version // which entry made those of each applied version
	present  *message.ControllersChange
	decided  message.Version   // the highest that anybody called committed
	owed     []message.Version // by node id: what was decided when it came back without its disk; 0: it has it
}

// quorumBefore is what is kept of a node's view from before the step at hand.
type quorumBefore struct {
	role            quorum.Role
	term            quorum.Term
	commit, applied message.Version
	members         quorum.Members
}

func beforeOf(v *quorum.View) quorumBefore {
	return quorumBefore{v.Role, v.Term, v.Commit, v.Applied, v.Members}
}

// unseen is the applied version of a node of which no step was seen in this run.
const unseen = ^message.Version(0)

func (*quorumInForce) Invariant() string { return "INV-41" }

func (*quorumInForce) Looks() scope { return ofQuorum | ofImages }

func (o *quorumInForce) at(n *Node) *journalTail {
	for int(n.id) >= len(o.journals) {
		o.journals = append(o.journals, journalTail{})
		o.lost = append(o.lost, 0)
		o.owed = append(o.owed, 0)
		o.before = append(o.before, quorumBefore{})
	}
	return &o.journals[n.id]
}

// Started: what recovery has found is durable.
func (o *quorumInForce) Started(w *World, n *Node, _ *effect.Recovered) {
	if j := o.at(n); lostJournal(w, n) {
		o.lost[n.id] = max(o.lost[n.id], j.durable)
	}
	if n.forgot && o.owed[n.id] == 0 {
		o.owed[n.id] = o.decided
	}
	*o.at(n) = journalTail{}
	o.before[n.id] = quorumBefore{}
	if c := n.Core(); c != nil && c.Controller() != nil {
		v := c.Controller().View().Quorum
		o.journals[n.id].durable, o.before[n.id] = v.Last, beforeOf(&v)
		o.before[n.id].applied = unseen
	}
}

func (o *quorumInForce) Stepped(w *World, n *Node, in effect.Input, out []effect.Effect) {
	c := n.Core()
	if c == nil || c.Controller() == nil {
		return
	}
	if n.forgot {
		w.atlas.forgetful(n)
	}
	v := w.quorumOf(n)
	o.saved(n, in, out, v.Last)
	if !lostJournal(w, n) {
		o.lost[n.id] = 0 // it holds it again
	}
	o.decided = max(o.decided, v.Commit)
	o.returned(w, n, v)
	o.judge(w, n, v)
	if image := w.newest(); image != nil && image.Controllers() != o.present {
		o.changed(w, o.present, image.Controllers())
		o.present = image.Controllers()
	}
	was := &o.before[n.id]
	was.role, was.term, was.commit, was.applied = v.Role, v.Term, v.Commit, v.Applied
	if !sameMembers(was.members, v.Members) {
		was.members = v.Members
	}
}

// saved follows what is durable of a node's journal. Of several writes in one
// step each is taken to reach as far as the last.
func (o *quorumInForce) saved(n *Node, in effect.Input, out []effect.Effect, last message.Version) {
	j := o.at(n)
	if s, ok := in.(effect.QuorumSaved); ok {
		for len(j.writes) > 0 && j.writes[0].seq <= s.Seq {
			j.durable = max(j.durable, j.writes[0].end)
			j.writes = j.writes[1:]
		}
	}
	for _, e := range out {
		switch e := e.(type) {
		case effect.SaveQuorum:
			j.writes = append(j.writes, journalWrite{e.Seq, last})
		case effect.ReplaceQuorum:
			j.writes = append(j.writes, journalWrite{e.Seq, last})
		}
	}
}

// returned judges a node that has lost its disk and counts for whole again.
func (o *quorumInForce) returned(w *World, n *Node, v *quorum.View) {
	owed := o.owed[n.id]
	if owed == 0 || n.forgot {
		return
	}
	o.owed[n.id] = 0
	if v.Last < owed {
		w.fail("INV-41", n.id, "a voter without its disk is whole too early", "node %d lost its disk and counts for whole again, but it holds the log only up to %d, and %d was committed before it came back", n.id, v.Last, owed)
	}
}

// judge looks at one node after a step.
func (o *quorumInForce) judge(w *World, n *Node, v *quorum.View) {
	if o.members == nil {
		o.members = map[message.Version]quorum.Members{}
	}
	if o.madeAt == nil {
		o.madeAt = map[message.Version]message.Version{}
	}
	was := &o.before[n.id]
	if v.Applied != was.applied || !sameMembers(v.Members, was.members) {
		for _, at := range [2]message.Version{v.MembersAt, v.Applied} {
			if known, ok := o.members[at]; ok && at > 0 && !sameMembers(known, v.Members) {
				w.fail("INV-41", n.id, "two nodes have other members at one version", "node %d has the members %v at version %d, but another had %v", n.id, v.Members, at, known)
				return
			}
			o.members[at] = v.Members
		}
		switch made, ok := o.madeAt[v.Applied]; {
		case v.MembersAt > v.Applied:
			w.fail("INV-41", n.id, "members are made by what was not applied", "node %d has its members from version %d, but has applied the log up to %d", n.id, v.MembersAt, v.Applied)
			return
		case ok && made != v.MembersAt:
			w.fail("INV-41", n.id, "two nodes have their members from other entries", "node %d has its members at version %d from version %d, but another had them from %d", n.id, v.Applied, v.MembersAt, made)
			return
		}
		o.madeAt[v.Applied] = v.MembersAt
	}
	if v.Role == quorum.Leader && !slices.Contains(v.Members.Voters, n.node()) {
		w.fail("INV-41", n.id, "a node leads the quorum that is no voter", "node %d leads the quorum in term %d, but the voters are %v", n.id, v.Term, v.Members.Voters)
		return
	}
	if was.role == quorum.Leader && was.term == v.Term && v.Commit > was.commit {
		o.committed(w, n, v, was.members.Voters)
	}
}

// committed judges what a leader calls committed, by the voters that it had when
// it did so. The step may have taken one away, itself included.
func (o *quorumInForce) committed(w *World, n *Node, v *quorum.View, voters []message.NodeID) {
	holders := 0
	for _, m := range voters {
		if o.held(m) >= v.Commit {
			holders++
		}
	}
	if holders <= len(voters)/2 {
		w.fail("INV-41", n.id, "an entry is committed without a majority of the voters", "node %d takes version %d for committed, but of the voters %v only %d hold it", n.id, v.Commit, voters, holders)
	}
}

// held is how far a node can have said that it holds the log.
func (o *quorumInForce) held(n message.NodeID) message.Version {
	if int(n) >= len(o.journals) {
		return 0
	}
	return max(o.journals[n].durable, o.lost[n])
}

// lostJournal says whether a node has lost its journal, or a part of it, and does
// not hold again what it had.
func lostJournal(w *World, n *Node) bool { return n.forgot || w.atlas.ails[n.id].journal }

// changed judges one set of members after another.
func (o *quorumInForce) changed(w *World, was, is *message.ControllersChange) {
	if was == nil || is == nil {
		return
	}
	moved := 0
	for _, n := range is.Voters {
		if slices.Contains(was.Voters, n) {
			continue
		}
		moved++
		if !slices.Contains(was.Learners, n) {
			w.fail("INV-41", int32(n), "a node votes that was no learner", "node %d is a voter of %v, but was no learner before", n, is.Voters)
			return
		}
		o.caughtUp(w, n)
	}
	for _, n := range was.Voters {
		if !slices.Contains(is.Voters, n) {
			moved++
		}
	}
	if moved > 1 {
		w.fail("INV-41", 0, "two voters change at once", "the voters go from %v to %v in one step", was.Voters, is.Voters)
	}
}

// caughtUp judges a learner that votes from now on: all but the entry that made
// it so was committed before, and it held that. One whose disk is gone since is
// not judged.
func (o *quorumInForce) caughtUp(w *World, n message.NodeID) {
	node := w.nodes[n]
	version := w.newest().Version()
	if node.forgot || int(n) >= len(o.journals) || o.present == nil {
		return
	}
	if since := o.votesSince(n, version); since < version {
		version = since // the newest image jumped over some
	}
	if held := o.held(n); held+1 < version {
		w.fail("INV-41", int32(n), "a learner votes before it has caught up", "node %d votes from version %d on, but holds the log only up to %d", n, version, held)
	}
}

// votesSince is the version from which on a node votes that does so at version. It
// may have voted before, and not in between.
func (o *quorumInForce) votesSince(n message.NodeID, version message.Version) message.Version {
	var not message.Version // the last at which it did not
	for v, m := range o.members {
		if v < version && !slices.Contains(m.Voters, n) {
			not = max(not, v)
		}
	}
	for v, m := range o.members {
		if v > not && slices.Contains(m.Voters, n) {
			version = min(version, v)
		}
	}
	return version
}

func sameMembers(a, b quorum.Members) bool {
	return slices.Equal(a.Voters, b.Voters) && slices.Equal(a.Learners, b.Learners)
}
