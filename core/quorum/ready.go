package quorum

import (
	"slices"

	"go.etcd.io/raft/v3"
	pb "go.etcd.io/raft/v3/raftpb"

	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
)

// drain carries out all that the engine has ready.
func (q *Quorum) drain(now message.Time, out *Out) {
	for q.node.HasReady() {
		rd := q.node.Ready()
		if rd.SoftState != nil {
			q.changeRole(now, rd.SoftState)
		}
		var votes []*pb.Message
		for _, m := range rd.Messages {
			switch m.GetType() {
			case pb.MsgStorageAppend:
				q.save(now, m, votes, out)
				votes = nil
			case pb.MsgStorageApply:
				q.commit(now, m, out)
			case pb.MsgVote, pb.MsgPreVote:
				votes = append(votes, m)
			default:
				q.post(now, m, out)
			}
		}
		q.after(now, votes, out)
	}
}

// save turns a storage request of the engine into a journal write. What
// depends on the write leaves when it is durable. So do vote requests, which
// the engine would let go at once: they say "I hold this log and this is my
// term", and a candidate that lost both in a crash must not find itself
// elected by the answers (INV-14).
//
// A commit index alone is not worth a flush: it is noted with the next write,
// and a restarted voter learns it again from the leader.
func (q *Quorum) save(now message.Time, m *pb.Message, votes []*pb.Message, out *Out) {
	f := frame{entries: m.GetEntries()}
	decided := q.journal.commit
	if m.Term != nil {
		if q.setHard(m.GetTerm(), m.GetVote(), m.GetCommit()) {
			f.hard = q.journal.hard()
		}
	}
	then := append(votes, m.GetResponses()...)
	if s := m.GetSnapshot(); s != nil {
		q.install(now, s, f.entries, then, out)
		return
	}
	if len(f.entries) > 0 {
		if f.entries[0].GetIndex() <= decided {
			panic("quorum: a committed entry is to be overwritten")
		}
		q.journal.append(f.entries)
		f.hard = q.journal.hard()
	}
	if f.hard == nil {
		q.after(now, then, out)
		return
	}
	q.write(f.encode(), then, out)
}

// setHard notes term, vote and commit and says whether the first two changed.
// It asserts what voting rests on (INV-16, INV-17).
func (q *Quorum) setHard(term, vote, commit uint64) bool {
	j := &q.journal
	switch {
	case term < j.term:
		panic("quorum: the term falls")
	case term == j.term && j.vote != 0 && vote != j.vote:
		panic("quorum: a second vote in one term")
	case commit < j.commit:
		panic("quorum: the commit index falls")
	}
	changed := term != j.term || vote != j.vote
	j.term, j.vote, j.commit = term, vote, commit
	return changed
}

func (j *journal) hard() *hardState { return &hardState{j.term, j.vote, j.commit} }

func (j *journal) ballot() ballot { return ballot{j.term, j.vote} }

// write appends a frame to the journal.
func (q *Quorum) write(frame []byte, then []*pb.Message, out *Out) {
	q.seq++
	q.waiting = append(q.waiting, hold{q.seq, q.journal.ballot(), then})
	out.Add(effect.SaveQuorum{Seq: q.seq, Frame: frame})
}

// install replaces the log by a snapshot of the leader, and hands it out.
func (q *Quorum) install(now message.Time, s *pb.Snapshot, entries []*pb.Entry, then []*pb.Message, out *Out) {
	digest, at, data := unwrapSnapshot(s.GetData())
	index, term := s.GetMetadata().GetIndex(), s.GetMetadata().GetTerm()
	if index <= q.applied {
		panic("quorum: a snapshot goes back behind what was applied")
	}
	set := placed{at, membersOf(s.GetMetadata().GetConfState())}
	q.journal.restore(index, term, digest, set, data)
	q.adopt(now, set.members)
	if len(entries) > 0 {
		q.journal.append(entries)
	}
	q.applied, q.opened, q.digest, q.grown = index, Term(term), digest, 0
	out.Restored, out.Committed = &Restored{Version: message.Version(index), Data: data}, nil
	q.replace(then, out)
}

// replace writes the whole journal anew, from its snapshot on.
func (q *Quorum) replace(then []*pb.Message, out *Out) {
	j := &q.journal
	first := frame{
		identity: j.identity,
		hard:     j.hard(),
		snapshot: &snapshot{j.snapshotIndex, j.snapshotTerm, j.snapshotDigest, j.snapshotSet, j.snapshotData},
	}
	frames := [][]byte{first.encode()}
	if rest := j.above(j.snapshotIndex); len(rest) > 0 {
		f := frame{entries: rest}
		frames = append(frames, f.encode())
	}
	q.seq++
	q.waiting = append(q.waiting, hold{q.seq, q.journal.ballot(), then})
	out.Add(effect.ReplaceQuorum{Seq: q.seq, Frames: frames})
}

// after lets messages go once all writes so far are durable.
func (q *Quorum) after(now message.Time, then []*pb.Message, out *Out) {
	if len(then) == 0 {
		return
	}
	if n := len(q.waiting); n > 0 {
		q.waiting[n-1].then = append(q.waiting[n-1].then, then...)
		return
	}
	q.release(now, then, out)
}

func (q *Quorum) release(now message.Time, then []*pb.Message, out *Out) {
	for _, m := range then {
		if m.GetTo() != q.self {
			q.post(now, m, out)
			continue
		}
		// A leader acknowledges its own entries, also when one of them has removed it
		// before the acknowledgement is due: then it counts no more.
		if err := q.node.Step(m); err != nil && (err != raft.ErrStepPeerNotFound || q.members.has(q.self)) {
			panic("quorum: the engine refuses its own message: " + err.Error())
		}
	}
}

// Saved says that the journal is durable up to seq.
func (q *Quorum) Saved(now message.Time, seq uint64, out *Out) {
	defer q.guard(out)
	if seq > q.seq {
		panic("quorum: a write was confirmed that was never asked for")
	}
	if q.mute != "" {
		return
	}
	q.lease(now, out)
	done := 0
	for done < len(q.waiting) && q.waiting[done].seq <= seq {
		done++
	}
	ready := slices.Clone(q.waiting[:done])
	q.waiting = slices.Delete(q.waiting, 0, done)
	for _, h := range ready {
		q.saved = h.vote
		q.release(now, h.then, out)
	}
	q.drain(now, out)
}

// commit hands out committed entries. They are applied by the caller within
// the same step, so the engine is told so at once.
func (q *Quorum) commit(now message.Time, m *pb.Message, out *Out) {
	for _, e := range m.GetEntries() {
		if e.GetIndex() != q.applied+1 {
			panic("quorum: committed entries do not follow one another")
		}
		q.applied, q.opened = e.GetIndex(), Term(e.GetTerm())
		q.digest = fold(q.digest, e.GetTerm(), e.GetData())
		q.grown += entryCost(e.GetData())
		entry := Entry{Version: message.Version(e.GetIndex()), Term: Term(e.GetTerm()), Data: e.GetData()}
		if changesMembers(e) {
			entry.Data, entry.Members = nil, q.change(now, e)
		}
		out.Committed = append(out.Committed, entry)
	}
	for _, r := range m.GetResponses() {
		if err := q.node.Step(r); err != nil {
			panic("quorum: the engine refuses its own message: " + err.Error())
		}
	}
}

// post sends a message of the engine to another voter.
func (q *Quorum) post(now message.Time, m *pb.Message, out *Out) {
	switch m.GetType() {
	case pb.MsgSnap:
		if p := q.peer(m.GetTo()); p != nil {
			p.snapshotAt = now
		}
	case pb.MsgPreVoteResp:
		q.tell(m)
	case pb.MsgVoteResp:
		q.tell(m)
		if !m.GetReject() {
			q.wait(now) // whoever got this vote gets the time to win
		}
	}
	out.Send(message.NodeID(m.GetTo()), &message.Quorum{Data: encodeEngine(q.mark, m)})
}

// peer is what is known of another member, or nil.
func (q *Quorum) peer(id uint64) *peer {
	for i := range q.peers {
		if q.peers[i].id == id {
			return &q.peers[i]
		}
	}
	return nil
}

// WantsSnapshot says that the log has grown so long that the application
// should hand in a snapshot of what it has applied (see Compact), or that a new
// member needs one which names it.
func (q *Quorum) WantsSnapshot() bool {
	if q.node == nil || q.mute != "" {
		return false
	}
	return q.journal.base > 0 && q.journal.behind() ||
		q.applied-q.journal.snapshotIndex > uint64(q.cfg.SnapshotEntries) ||
		q.grown > max(q.cfg.SnapshotBytes, len(q.journal.snapshotData))
}

// Compact takes the application's snapshot of everything that was handed out
// so far, and shortens the log by it.
func (q *Quorum) Compact(data []byte, out *Out) {
	defer q.guard(out)
	if q.node == nil || q.mute != "" || q.applied == q.journal.snapshotIndex {
		return
	}
	q.journal.compact(q.applied, q.digest, data, q.cfg.KeepEntries)
	q.grown = 0
	q.replace(nil, out)
}

// fold chains the digest over one more entry (FNV-1a over term and data).
func fold(digest, term uint64, data []byte) uint64 {
	const prime = 1099511628211
	digest = (digest ^ term) * prime
	for _, b := range data {
		digest = (digest ^ uint64(b)) * prime
	}
	return (digest ^ uint64(len(data))) * prime
}

var _ raft.Storage = (*journal)(nil)
