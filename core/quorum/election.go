package quorum

import (
	"go.etcd.io/raft/v3"
	pb "go.etcd.io/raft/v3/raftpb"

	"github.com/tamarack-mq/tamarack/core/message"
)

// Receive takes a message of another node. What is malformed or from another
// cluster is ignored: it can do no harm, and nobody is told. A node that this one
// does not know as a member may be one by entries that have not come here yet.
func (q *Quorum) Receive(now message.Time, from message.NodeID, data []byte, out *Out) {
	defer q.guard(out)
	if q.mute != "" || from < 1 || uint64(from) == q.self {
		return
	}
	m, err := decode(data, q.mark, uint64(from), q.self)
	switch {
	case err != nil:
		return
	case m.probe != nil:
		q.answerProbe(from, *m.probe, out)
		return
	case m.answer != nil:
		q.admission.answered(q, now, uint64(from), *m.answer, out)
		return
	case q.node == nil:
		q.admission.called(uint64(from))
		return
	}
	q.lease(now, out)
	if q.refuses(now, m.engine, out) {
		return
	}
	q.learn(now, m.engine, out)
	if err := q.node.Step(m.engine); err != nil {
		return // from a voter that the engine does not expect to hear from now
	}
	q.drain(now, out)
	q.listen(now, m.engine)
}

// refuses says whether a message must not reach the engine.
func (q *Quorum) refuses(now message.Time, m *pb.Message, out *Out) bool {
	switch m.GetType() {
	case pb.MsgVote, pb.MsgPreVote:
		q.hopeful = max(q.hopeful, m.GetTerm())
		// A voter that lost its journal gives no vote to a candidate that may
		// lack what it once held, nor in a term in which it may have voted.
		// And whoever hears from a living leader helps nobody to depose it
		// (Raft thesis, section 4.2.3). Requests of past terms are answered:
		// the candidate learns the present one.
		known, offered := q.journal.identity, position{m.GetLogTerm(), m.GetIndex()}
		switch term := q.journal.term; {
		case m.GetTerm() < term:
			return false
		case offered.below(known.floor), m.GetTerm() > term && q.hasLeader(now) && q.leader != m.GetFrom():
			return true
		case m.GetTerm() <= known.spent:
			// The candidate has to come again in a later term, and the refusal tells
			// it in which: a learner that was promoted without knowing would not stand
			// itself, and might be the one whose vote is needed.
			q.enter(now, known.spent+1, out)
		}
		return false
	case pb.MsgHeartbeat:
		if m.GetTerm() >= q.journal.term && m.GetCommit() > q.journal.last() && !q.whole() {
			q.outgrow(now, m, out)
			return true
		}
	}
	return false
}

// tell has a node that is no voter any more, as far as it knows, say in its answer to a
// candidate what is committed. It may be the only one that knows: a leader that was
// removed steps down as soon as that is committed, and whoever has heard nothing of the
// commit goes on to count it as a voter. It would also be the only one who can break the
// tie: it refuses whoever has a shorter log, and does not stand itself.
func (q *Quorum) tell(m *pb.Message) {
	if q.applied > 0 && !q.members.votes(q.self) {
		m.Commit, m.LogTerm = new(q.applied), new(uint64(q.opened))
	}
}

// learn takes in what tell has told, if this voter holds that entry. To the engine it is
// the message of a leader without entries, and it is to forget at once that it was one.
func (q *Quorum) learn(now message.Time, m *pb.Message, out *Out) {
	switch m.GetType() {
	case pb.MsgVoteResp, pb.MsgPreVoteResp:
	default:
		return
	}
	if m.GetCommit() <= q.journal.commit || q.leader != raft.None {
		return
	}
	if term, err := q.journal.Term(m.GetCommit()); err != nil || term != m.GetLogTerm() {
		return
	}
	committed := &pb.Message{
		Type: pb.MsgApp.Enum(), From: m.From, To: new(q.self), Term: new(q.journal.term),
		Index: m.Commit, LogTerm: m.LogTerm, Commit: m.Commit,
	}
	if err := q.node.Step(committed); err != nil {
		panic("quorum: the engine refuses to hear what is committed: " + err.Error())
	}
	q.forgetLeader(now, out)
}

// forgetLeader has the engine know of no leader.
func (q *Quorum) forgetLeader(now message.Time, out *Out) {
	if err := q.node.ForgetLeader(); err != nil {
		panic("quorum: the engine does not forget its leader: " + err.Error())
	}
	q.drain(now, out)
}

// outgrow makes a leader step down that counts on entries which this voter has
// lost: in that leadership the engine would never send them again. A term
// above the leader's is all it takes; the answer carries it.
func (q *Quorum) outgrow(now message.Time, m *pb.Message, out *Out) {
	q.enter(now, m.GetTerm()+1, out)
	_ = q.node.Step(m)
	q.drain(now, out)
}

// enter moves the engine to a higher term, by a message that says no more than
// that such a term exists.
func (q *Quorum) enter(now message.Time, term uint64, out *Out) {
	higher := &pb.Message{
		Type: pb.MsgVoteResp.Enum(), From: new(raft.LocalAppendThread), To: new(q.self), Term: new(term), Reject: new(true),
	}
	if err := q.node.Step(higher); err != nil {
		panic("quorum: the engine refuses a higher term: " + err.Error())
	}
	q.drain(now, out)
}

// hasLeader says whether a leader was heard from within the least election
// timeout, or is this voter.
func (q *Quorum) hasLeader(now message.Time) bool {
	return q.role == raft.StateLeader ||
		q.leader != raft.None && now < q.contact.Add(q.cfg.ElectionTimeout)
}

// listen notes what a message says about who is alive.
func (q *Quorum) listen(now message.Time, m *pb.Message) {
	if m.GetTerm() != q.journal.term {
		return
	}
	switch m.GetType() {
	case pb.MsgApp, pb.MsgHeartbeat, pb.MsgSnap:
		if q.leader == m.GetFrom() {
			q.contact = now
			q.deadline = now.Add(q.timeout)
		}
	case pb.MsgAppResp, pb.MsgHeartbeatResp:
		if q.role == raft.StateLeader {
			if p := q.peer(m.GetFrom()); p != nil {
				p.heard = now
			}
		}
	}
}

// changeRole follows the engine from one role to another.
func (q *Quorum) changeRole(now message.Time, s *raft.SoftState) {
	was := q.role
	q.role, q.leader = s.RaftState, s.Lead
	if q.role != raft.StateLeader {
		if q.leader != raft.None {
			q.contact = now
		}
		q.wait(now)
		return
	}
	if was != raft.StateLeader {
		q.changing = 0
		q.beatAt = now.Add(q.cfg.Heartbeat)
		for i := range q.peers {
			q.peers[i].heard, q.peers[i].snapshotAt = now, 0
		}
	}
}

// wait draws a new election timeout and starts it.
func (q *Quorum) wait(now message.Time) {
	least := int64(q.cfg.ElectionTimeout)
	q.timeout = message.Duration(least + q.random.Below(least))
	q.deadline = now.Add(q.timeout)
}

// Check lets a leader find out that it has lost its majority before it is
// asked to decide anything.
func (q *Quorum) Check(now message.Time, out *Out) {
	defer q.guard(out)
	if q.node != nil && q.mute == "" {
		q.lease(now, out)
	}
}

// lease makes a leader step down that no majority has answered for an election
// timeout (what the engine's CheckQuorum does, but on our clock). Without it a
// leader cut off from the others would go on believing, and wait for commits
// that never come.
func (q *Quorum) lease(now message.Time, out *Out) {
	if q.node == nil || q.role != raft.StateLeader || q.members.majority(q.alive(now, q.members)) {
		return
	}
	// The first check forgets who has ever answered, the second finds nobody.
	for range 2 {
		check := &pb.Message{Type: pb.MsgCheckQuorum.Enum(), From: new(raft.LocalAppendThread)}
		if err := q.node.Step(check); err != nil {
			panic("quorum: the engine refuses to step down: " + err.Error())
		}
	}
	q.drain(now, out)
	if q.role == raft.StateLeader {
		panic("quorum: a leader without a majority goes on leading")
	}
}

// Tick lets time pass.
func (q *Quorum) Tick(now message.Time, out *Out) {
	defer q.guard(out)
	switch {
	case q.mute != "":
		q.halt(out)
	case q.node == nil:
		q.admission.tick(q, now, out)
	case q.role == raft.StateLeader:
		q.lease(now, out)
		if q.role == raft.StateLeader && len(q.peers) > 0 && now >= q.beatAt {
			q.beat(now, out)
		}
	case now >= q.deadline:
		q.campaign(now, out)
	}
}

// campaign stands for election. A node that is no voter, as far as it knows, has
// nothing to win: one that was removed and did not hear of it is not helped by
// the others, which hear from their leader.
func (q *Quorum) campaign(now message.Time, out *Out) {
	q.wait(now)
	if !q.members.votes(q.self) {
		// Nor does it know any more who leads: it must not send others there.
		q.forgetLeader(now, out)
		return
	}
	if spent := q.journal.identity.spent; q.journal.term < spent {
		q.enter(now, spent, out)
	}
	if !q.whole() {
		return
	}
	if err := q.node.Campaign(); err != nil {
		panic("quorum: the engine refuses to campaign: " + err.Error())
	}
	q.drain(now, out)
}

// beat sends heartbeats. Two election timeouts after a snapshot was sent, it
// either arrived, and the report changes nothing, or was lost: the engine
// would wait for it for ever.
func (q *Quorum) beat(now message.Time, out *Out) {
	q.beatAt = now.Add(q.cfg.Heartbeat)
	for i := range q.peers {
		p := &q.peers[i]
		if p.snapshotAt != 0 && now.Sub(p.snapshotAt) >= 2*q.cfg.ElectionTimeout {
			p.snapshotAt = 0
			q.node.ReportSnapshot(p.id, raft.SnapshotFailure)
		}
	}
	q.node.Tick()
	q.drain(now, out)
}

// Wake is when Tick is wanted.
func (q *Quorum) Wake() message.Time {
	switch {
	case q.mute != "":
		if q.halted {
			return message.Never
		}
		return q.deadline
	case q.node == nil:
		return q.admission.at
	case q.role != raft.StateLeader:
		return q.deadline
	case len(q.peers) == 0:
		return message.Never
	}
	return q.beatAt
}
