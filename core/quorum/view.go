package quorum

import (
	"go.etcd.io/raft/v3"

	"github.com/tamarack-mq/tamarack/core/message"
)

// Role is what a voter is in its term.
type Role uint8

// The roles. A candidate may still be asking whether it should stand at all.
const (
	Follower Role = iota
	Candidate
	Leader
)

// View is what observers may see of a voter.
type View struct {
	ID     message.NodeID
	Term   Term
	Vote   message.NodeID // in Term, maybe not durable yet; NoNode: none
	Role   Role
	Leader message.NodeID // of Term, as far as known
	Ready  bool           // leads, and has applied all that was committed before
	Commit message.Version
	Last   message.Version // end of the log, durable or not
	// LastTerm and CommitTerm are of the entries at Last and at Commit; 0: of none,
	// or it is not known any more.
	LastTerm, CommitTerm Term
	Applied              message.Version
	// SavedVote is the durable vote in SavedTerm. Only such a vote binds, and
	// no message speaks of another one.
	SavedTerm Term
	SavedVote message.NodeID
	// Digest is over all entries up to Applied: voters with the same Applied
	// must have the same one.
	Digest   uint64
	Admitted bool    // false: an empty voter that waits for the others
	Whole    bool    // false: a voter that lost its journal and has not caught up
	Mute     string  // why it takes no part for good
	Members  Members // as of Applied; must not be changed
	// MembersAt is the entry that made Members; 0: there was none, they are those of
	// the beginning.
	MembersAt message.Version
}

// Leader is the leader of the present term, as far as known.
func (q *Quorum) Leader() message.NodeID { return message.NodeID(q.leader) }

// Awaited are the nodes that have not answered a voter with an empty journal yet.
// Without one of them it may wait for ever: what it said to that one before its
// journal was lost, nobody else knows. None once it is admitted.
func (q *Quorum) Awaited() []message.NodeID {
	if q.node != nil {
		return nil
	}
	return members{voters: q.admission.awaited(q)}.public().Voters
}

// Claimant is a broker that keeps a voter with an empty journal, and no other voter in its
// configuration, from beginning a cluster: see Claimed. NoNode: there is none, or it does
// not matter.
func (q *Quorum) Claimant() message.NodeID {
	if q.node != nil || len(q.configured.voters) > 1 || len(q.admission.callers) > 0 {
		return message.NoNode
	}
	return message.NodeID(q.admission.claimant)
}

// View returns the present state.
func (q *Quorum) View() (v View) {
	q.ViewInto(&v)
	return v
}

// ViewInto is View that writes over v, for those who look at every step.
func (q *Quorum) ViewInto(v *View) {
	_, ready := q.Leads()
	*v = View{
		ID:        q.cfg.ID,
		Term:      Term(q.journal.term),
		Vote:      message.NodeID(q.journal.vote),
		Leader:    message.NodeID(q.leader),
		Ready:     ready,
		Commit:    message.Version(q.journal.commit),
		Last:      message.Version(q.journal.last()),
		LastTerm:  Term(q.journal.end().term),
		Applied:   message.Version(q.applied),
		SavedTerm: Term(q.saved.term),
		SavedVote: message.NodeID(q.saved.vote),
		Digest:    q.digest,
		Admitted:  q.node != nil,
		Whole:     q.whole(),
		Mute:      q.mute,
		Members:   q.public,
		MembersAt: message.Version(q.journal.present.at),
	}
	if term, err := q.journal.Term(q.journal.commit); err == nil {
		v.CommitTerm = Term(term)
	}
	switch q.role {
	case raft.StateLeader:
		v.Role = Leader
	case raft.StateCandidate, raft.StatePreCandidate:
		v.Role = Candidate
	}
}

// SnapshotView is the snapshot in a frame of the journal.
type SnapshotView struct {
	Version message.Version // it says what was committed up to there
	Digest  uint64          // over all entries up to there: see View
	Members Members         // in force there
	Data    []byte          // the application's; shares memory with the frame
}

// SnapshotOf is the snapshot that a frame of the journal holds; ok: it holds one.
// For observers.
func SnapshotOf(bytes []byte) (v SnapshotView, ok bool, err error) {
	f, err := decodeFrame(bytes)
	if err != nil || f.snapshot == nil {
		return v, false, err
	}
	s := f.snapshot
	return SnapshotView{message.Version(s.index), s.digest, s.set.members.public(), s.data}, true, nil
}
