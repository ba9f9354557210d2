package quorum

import (
	"errors"
	"slices"

	pb "go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"

	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/pack"
)

// Members are the nodes that hold the log. Learners get it and do not vote.
type Members struct{ Voters, Learners []message.NodeID }

// members are Members as the engine has them. Both sets are in rising order,
// and are never changed in place.
type members struct{ voters, learners []uint64 }

func (m members) votes(id uint64) bool   { return slices.Contains(m.voters, id) }
func (m members) follows(id uint64) bool { return slices.Contains(m.learners, id) }
func (m members) has(id uint64) bool     { return m.votes(id) || m.follows(id) }

func (m members) equal(o members) bool {
	return slices.Equal(m.voters, o.voters) && slices.Equal(m.learners, o.learners)
}

// majority says whether n voters are more than half of all.
func (m members) majority(n int) bool { return n > len(m.voters)/2 }

// public is the same for others than this package.
func (m members) public() Members {
	ids := func(list []uint64) []message.NodeID {
		out := make([]message.NodeID, len(list))
		for i, id := range list {
			out[i] = message.NodeID(id)
		}
		return out
	}
	return Members{ids(m.voters), ids(m.learners)}
}

func (m members) confState() *pb.ConfState {
	return &pb.ConfState{Voters: m.voters, Learners: m.learners, AutoLeave: new(false)}
}

func membersOf(s *pb.ConfState) members { return members{s.Voters, s.Learners} }

// after is the next set, when one entry of the log has changed it.
func (m members) after(c *pb.ConfChange) members {
	id := c.GetNodeId()
	without := func(list []uint64) []uint64 {
		return slices.DeleteFunc(slices.Clone(list), func(o uint64) bool { return o == id })
	}
	with := func(list []uint64) []uint64 {
		list = append(without(list), id)
		slices.Sort(list)
		return list
	}
	switch c.GetType() {
	case pb.ConfChangeAddNode:
		return members{with(m.voters), without(m.learners)}
	case pb.ConfChangeAddLearnerNode:
		return members{without(m.voters), with(m.learners)}
	}
	return members{without(m.voters), without(m.learners)}
}

func encodeMembers(to []byte, m members) []byte {
	for _, list := range [][]uint64{m.voters, m.learners} {
		to = pack.Uint(to, uint64(len(list)))
		for _, id := range list {
			to = pack.Uint(to, id)
		}
	}
	return to
}

func decodeMembers(r *pack.Reader) members {
	m := members{decodeIDs(r), decodeIDs(r)}
	for _, id := range m.learners {
		if m.votes(id) {
			r.Fail(errors.New("a voter that is a learner, too"))
		}
	}
	if len(m.voters) == 0 {
		r.Fail(errors.New("no voters"))
	}
	return m
}

func decodeIDs(r *pack.Reader) []uint64 {
	n := r.Count(1)
	if n == 0 {
		return nil
	}
	list := make([]uint64, n)
	for i := range list {
		list[i] = r.Uint()
		if list[i] == 0 || list[i] > 1<<31-1 || i > 0 && list[i] <= list[i-1] {
			r.Fail(errors.New("members out of order, or of an impossible number"))
		}
	}
	return list
}

// changeOf reads an entry that changes the members. Such an entry takes no more
// than one node in, or out, or from a learner to a voter.
func changeOf(data []byte) (*pb.ConfChange, error) {
	c := new(pb.ConfChange)
	if err := proto.Unmarshal(data, c); err != nil {
		return nil, err
	}
	switch c.GetType() {
	case pb.ConfChangeAddNode, pb.ConfChangeAddLearnerNode, pb.ConfChangeRemoveNode:
	default:
		return nil, errors.New("an unknown change of members")
	}
	if id := c.GetNodeId(); id == 0 || id > 1<<31-1 {
		return nil, errors.New("a change of an impossible member")
	}
	return c, nil
}

func changesMembers(e *pb.Entry) bool { return e.GetType() == pb.EntryConfChange }

// placed is a set of members and the entry of the log that made it; 0: it was
// there before the first one.
type placed struct {
	at uint64
	members
}

// adopt follows the engine to other members. What is known of those that stay
// is kept.
func (q *Quorum) adopt(now message.Time, m members) {
	q.members = m
	q.public = m.public()
	old := q.peers
	q.peers = nil
	for _, id := range slices.Sorted(slices.Values(slices.Concat(m.voters, m.learners))) {
		if id == q.self {
			continue
		}
		p := peer{id: id, heard: now}
		for i := range old {
			if old[i].id == id {
				p = old[i]
			}
		}
		q.peers = append(q.peers, p)
	}
}

// alone says that this voter is the only one.
func (q *Quorum) alone() bool { return len(q.members.voters) == 1 && q.members.votes(q.self) }

// alive counts the voters of a set that have answered within an election
// time-out, this one included.
func (q *Quorum) alive(now message.Time, m members) (n int) {
	if m.votes(q.self) {
		n++
	}
	for i := range q.peers {
		if p := &q.peers[i]; m.votes(p.id) && now.Sub(p.heard) < q.cfg.ElectionTimeout {
			n++
		}
	}
	return n
}
