package quorum

import (
	"errors"
	"fmt"
	"hash/fnv"

	pb "go.etcd.io/raft/v3/raftpb"

	"github.com/tamarack-mq/tamarack/core/pack"
)

// A message between voters is one byte for its kind, the fingerprint of the
// cluster, and then a message of the engine, a probe or an answer.
const (
	kindEngine = 1
	kindProbe  = 2
	kindAnswer = 3
)

// probe asks every other voter what it knows (see admission).
type probe struct{ nonce uint64 }

// answer tells an empty node how far this one is.
type answer struct {
	nonce uint64
	hopes uint32 // fingerprint of the voters in this node's configuration
	term  uint64
	end   position
	whole bool
	// first and sets are the members to begin with and the present ones, and
	// those that its log will make (journal.sets). A node that has no journal
	// itself has none.
	first members
	sets  []placed
}

// fingerprint names a cluster; with voters it names what a node was told of them.
// A message of another cluster is ignored.
func fingerprint(clusterID string, voters []uint64) uint32 {
	h := fnv.New32a()
	b := pack.String(nil, clusterID)
	for _, v := range voters {
		b = pack.Uint(b, v)
	}
	h.Write(b)
	return h.Sum32()
}

func head(kind byte, mark uint32, size int) []byte {
	to := make([]byte, 1, size+8)
	to[0] = kind
	return pack.Uint(to, uint64(mark))
}

func encodeProbe(mark uint32, p probe) []byte { return pack.Uint(head(kindProbe, mark, 16), p.nonce) }

func encodeAnswer(mark uint32, a answer) []byte {
	to := head(kindAnswer, mark, 64)
	to = pack.Uint(to, a.nonce)
	to = pack.Uint(to, uint64(a.hopes))
	to = pack.Uint(to, a.term)
	to = pack.Uint(to, a.end.term)
	to = pack.Uint(to, a.end.index)
	to = pack.Bool(to, a.whole)
	to = pack.Uint(to, uint64(len(a.sets)))
	if len(a.sets) == 0 {
		return to
	}
	to = encodeMembers(to, a.first)
	for _, s := range a.sets {
		to = encodeMembers(pack.Uint(to, s.at), s.members)
	}
	return to
}

func decodeAnswer(r *pack.Reader) *answer {
	a := &answer{
		nonce: r.Uint(), hopes: uint32(r.Uint()), term: r.Uint(), end: position{r.Uint(), r.Uint()}, whole: r.Bool(),
	}
	if n := r.Count(3); n > 0 {
		a.first, a.sets = decodeMembers(r), make([]placed, n)
		for i := range a.sets {
			a.sets[i] = placed{r.Uint(), decodeMembers(r)}
		}
	}
	return a
}

// encodeEngine packs a message of the engine. Sender and receiver are those of
// the envelope; the context is of no use without read requests and transfers.
func encodeEngine(mark uint32, m *pb.Message) []byte {
	size := 40
	for _, e := range m.GetEntries() {
		size += entryCost(e.GetData())
	}
	size += len(m.GetSnapshot().GetData())
	to := head(kindEngine, mark, size)
	to = pack.Uint(to, uint64(m.GetType()))
	to = pack.Uint(to, m.GetTerm())
	to = pack.Uint(to, m.GetLogTerm())
	to = pack.Uint(to, m.GetIndex())
	to = pack.Uint(to, m.GetCommit())
	to = pack.Bool(to, m.GetReject())
	to = pack.Uint(to, m.GetRejectHint())
	switch m.GetType() {
	case pb.MsgSnap:
		s := m.GetSnapshot()
		to = pack.Uint(to, s.GetMetadata().GetIndex())
		to = pack.Uint(to, s.GetMetadata().GetTerm())
		to = encodeMembers(to, membersOf(s.GetMetadata().GetConfState()))
		to = pack.Bytes(to, s.GetData())
	case pb.MsgApp:
		to = pack.Bool(to, len(m.GetEntries()) > 0)
		if len(m.GetEntries()) > 0 {
			to = encodeEntries(to, m.GetEntries())
		}
	}
	return to
}

// received is one decoded message: exactly one field is set.
type received struct {
	engine *pb.Message
	probe  *probe
	answer *answer
}

var errOther = errors.New("quorum: from a node of another cluster")

// decode reads a message of another voter. Whatever it lets through is well
// formed: of a type that voters send, of a term, with entries that follow one
// another. It never panics.
func decode(b []byte, mark uint32, from, to uint64) (received, error) {
	var m received
	r := pack.Read(b)
	kind := r.Byte()
	if sent := r.Uint(); r.Err() == nil && sent != uint64(mark) {
		return m, errOther
	}
	switch kind {
	case kindEngine:
		m.engine = decodeEngine(&r, from, to)
	case kindProbe:
		m.probe = &probe{r.Uint()}
	case kindAnswer:
		m.answer = decodeAnswer(&r)
	default:
		r.Fail(fmt.Errorf("quorum: unknown kind of message %d", kind))
	}
	if r.Err() == nil && r.Left() > 0 {
		r.Fail(errors.New("quorum: bytes behind the message"))
	}
	return m, r.Err()
}

func decodeEngine(r *pack.Reader, from, to uint64) *pb.Message {
	// The fields of a message are pointers: they lie in one piece with it.
	type whole struct {
		pb.Message
		kind                                     pb.MessageType
		from, to                                 uint64
		term, logTerm, index, commit, rejectHint uint64
		reject                                   bool
	}
	w := &whole{from: from, to: to}
	w.kind = pb.MessageType(r.Uint())
	w.term, w.logTerm, w.index, w.commit = r.Uint(), r.Uint(), r.Uint(), r.Uint()
	w.reject, w.rejectHint = r.Bool(), r.Uint()
	kind, m := w.kind, &w.Message
	m.From, m.To = &w.from, &w.to
	m.Type, m.Term, m.LogTerm, m.Index, m.Commit = &w.kind, &w.term, &w.logTerm, &w.index, &w.commit
	m.Reject, m.RejectHint = &w.reject, &w.rejectHint
	switch kind {
	case pb.MsgAppResp, pb.MsgVote, pb.MsgVoteResp, pb.MsgPreVote, pb.MsgPreVoteResp,
		pb.MsgHeartbeat, pb.MsgHeartbeatResp:
	case pb.MsgApp:
		if r.Bool() {
			m.Entries = decodeEntries(r, m.GetIndex()+1)
			n := len(m.GetEntries())
			if n > 0 && (m.GetEntries()[0].GetTerm() < m.GetLogTerm() || m.GetEntries()[n-1].GetTerm() > m.GetTerm()) {
				r.Fail(errors.New("quorum: entries of impossible terms"))
			}
		}
	case pb.MsgSnap:
		m.Snapshot = decodeSnapshot(r, m.GetTerm())
	default:
		r.Fail(fmt.Errorf("quorum: voters do not send messages of type %d", kind))
	}
	// Term 0 would make the engine take the message for one of its own.
	if m.GetTerm() == 0 || max(m.GetIndex(), m.GetCommit(), m.GetRejectHint()) > 1<<62 {
		r.Fail(errors.New("quorum: a message without a term, or of an impossible index"))
	}
	return m
}

func decodeSnapshot(r *pack.Reader, term uint64) *pb.Snapshot {
	s := &pb.Snapshot{Metadata: &pb.SnapshotMetadata{
		Index:     new(r.Uint()),
		Term:      new(r.Uint()),
		ConfState: decodeMembers(r).confState(),
	}}
	s.Data = r.Bytes()
	at := s.GetMetadata()
	if len(s.Data) < snapshotHead || at.GetIndex() == 0 || at.GetIndex() > 1<<62 || at.GetTerm() == 0 || at.GetTerm() > term {
		r.Fail(errors.New("quorum: an impossible snapshot"))
	}
	return s
}
