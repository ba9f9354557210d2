package quorum

import (
	"fmt"

	pb "go.etcd.io/raft/v3/raftpb"

	"github.com/tamarack-mq/tamarack/core/message"
)

// ChangeKind is what becomes of a node in a Change.
type ChangeKind uint8

// The kinds. A node goes from stranger to learner to voter, and out from there.
const (
	AddLearner ChangeKind = iota
	Promote
	Remove
)

// Change is one step from one set of members to the next (Raft thesis, section
// 4.1). Steps of one voter at a time leave any majority of one set and any of
// the next with a common member, so two leaders of one term cannot be. The
// engine takes a step when its entry is committed, not when it is appended: a
// leader that has not applied the last one proposes no other.
type Change struct {
	Node message.NodeID
	Kind ChangeKind
}

func (c Change) entry() *pb.ConfChange {
	kind := pb.ConfChangeAddLearnerNode
	switch c.Kind {
	case Promote:
		kind = pb.ConfChangeAddNode
	case Remove:
		kind = pb.ConfChangeRemoveNode
	}
	return &pb.ConfChange{Type: kind.Enum(), NodeId: new(uint64(c.Node))}
}

// Objection says why a change must not be made now, or nothing. The check of
// who is alive is for the operator's good, not for safety: a set of voters
// without a live majority could not even take itself back.
func (q *Quorum) Objection(now message.Time, c Change) string {
	if q.node == nil || q.mute != "" {
		return "this node takes no part"
	}
	id := uint64(c.Node)
	next := q.members.after(c.entry())
	switch {
	case len(q.journal.sets()) > 1:
		return "another change is under way"
	case c.Kind == AddLearner && q.members.has(id):
		return fmt.Sprintf("node %d is a member already", id)
	case c.Kind == Promote && (!q.members.follows(id) || !q.caughtUp(now, id)):
		return fmt.Sprintf("node %d is no learner that has caught up", id)
	case c.Kind == Remove && !q.members.has(id):
		return fmt.Sprintf("node %d is no member", id)
	case len(next.voters) == 0:
		return fmt.Sprintf("node %d is the last voter", id)
	}
	if alive := q.alive(now, next); !next.majority(alive) {
		return fmt.Sprintf("of the voters %v that there would be only %d answer, and more than half are needed", next.voters, alive)
	}
	return ""
}

// CaughtUp is a learner that holds all that is committed, or NoNode.
func (q *Quorum) CaughtUp(now message.Time) message.NodeID {
	if _, ready := q.Leads(); !ready {
		return message.NoNode
	}
	for _, id := range q.members.learners {
		if q.caughtUp(now, id) {
			return message.NodeID(id)
		}
	}
	return message.NoNode
}

func (q *Quorum) caughtUp(now message.Time, learner uint64) (yes bool) {
	if now.Sub(q.peer(learner).heard) >= q.cfg.ElectionTimeout {
		return false
	}
	yes = q.node.Status().Progress[learner].Match >= q.journal.commit
	return yes
}

// ProposeChange appends a change of the members, as Propose does with data. It
// takes effect when it is committed, with an Entry that has Members.
func (q *Quorum) ProposeChange(now message.Time, c Change, out *Out) (message.Version, bool) {
	defer q.guard(out)
	if _, ready := q.Leads(); !ready || q.changing > q.applied {
		return 0, false
	}
	next := q.journal.last() + 1
	if q.node.ProposeConfChange(c.entry()) != nil {
		return 0, false
	}
	q.drain(now, out)
	if q.journal.last() < next || !changesMembers(q.journal.entries[next-q.journal.base-1]) {
		panic("quorum: a change of members was taken but not appended")
	}
	q.changing = next
	return message.Version(next), true
}

// change takes a committed change of the members.
func (q *Quorum) change(now message.Time, e *pb.Entry) *Members {
	c, err := changeOf(e.GetData())
	if err != nil {
		panic("quorum: a committed change of members cannot be read: " + err.Error())
	}
	next := membersOf(q.node.ApplyConfChange(c))
	if !next.equal(q.members.after(c)) || len(next.voters) == 0 {
		panic(fmt.Sprintf("quorum: members go from %v to %v by %v", q.members, next, c))
	}
	q.adopt(now, next)
	q.journal.present = placed{e.GetIndex(), next}
	public := q.public
	return &public
}

// Members are those that hold the log as far as this node has applied it.
func (q *Quorum) Members() Members { return q.public }

// Sets are the voters by which this node goes, and those that entries in its log
// will make, if they are committed; newest last.
func (q *Quorum) Sets() (voters [][]message.NodeID) {
	for _, s := range q.journal.sets() {
		voters = append(voters, s.public().Voters)
	}
	return voters
}
