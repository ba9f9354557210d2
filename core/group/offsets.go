package group

import (
	"slices"

	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/order"
	"github.com/tamarack-mq/tamarack/core/record"
)

// commit decides a CommitOffsets. A member commits under its present epoch, and
// only what is its own: an epoch names one assignment, so a commit that passes
// comes from the one process that may hold the partition (INV-21). From outside,
// without a member, commits are taken only while the group has no members.
//
// A partition that is not the member's is answered StaleMemberEpoch by itself;
// the others of the request are stored. An attempt of a commit that the member
// has followed with a later one is answered OutOfOrderSequence: requests of one
// member come over several connections, and one that was given up on may still
// be on its way. It must not move back what was acknowledged since (INV-24).
func (s *shard) commit(now message.Now, r *message.CommitOffsets) message.Reply {
	g := s.state.groups[r.Group]
	m, code := s.committer(g, r.Member, r.MemberEpoch)
	if code != message.None {
		return message.Fail(r, code, "")
	}
	reply := &message.CommitOffsetsReply{Offsets: make([]message.CommittedOffset, len(r.Offsets))}
	by := m.turn(r.Number)
	for i, o := range r.Offsets {
		code := s.judge(g, m, by, record.NoProducerID, o)
		if code == message.None {
			g = s.store(now, r.Group, g, by, m != nil, o)
		}
		reply.Offsets[i] = message.CommittedOffset{ID: o.ID, Code: code}
	}
	return reply
}

// turn is a commit of the member, by the number that it gave to it; the zero turn is
// one without a number, or from outside, where m is nil.
func (m *member) turn(number uint64) turn {
	if m != nil && number > 0 {
		return turn{m.id, m.epoch, number}
	}
	return turn{}
}

// judge looks at one position that a member commits, or somebody from outside, where m
// is nil: by itself, or in a transaction of the producer.
func (s *shard) judge(g *group, m *member, by turn, producer record.ProducerID, o message.GroupOffset) message.Code {
	if code := s.home.checkOffset(o); code != message.None || m == nil {
		return code
	}
	switch {
	case !m.mayCommit(o.ID):
		return message.StaleMemberEpoch
	case g.offsets[o.ID].by.after(by) || g.pending[producer][o.ID].position.by.after(by):
		return message.OutOfOrderSequence
	}
	return message.None
}

// committer finds who commits; nil with None is somebody from outside.
func (s *shard) committer(g *group, id string, epoch message.MemberEpoch) (*member, message.Code) {
	if id == "" {
		if g != nil && len(g.seats) > 0 {
			return nil, message.UnknownMemberID
		}
		return nil, message.None
	}
	return s.current(g, id, epoch)
}

// current finds a member that names its present epoch.
func (s *shard) current(g *group, id string, epoch message.MemberEpoch) (*member, message.Code) {
	if g == nil || g.members[id] == nil {
		return nil, message.UnknownMemberID
	}
	m := g.members[id]
	switch {
	case m.left || epoch > m.epoch:
		return nil, message.FencedMemberEpoch
	case epoch < m.epoch:
		return nil, message.StaleMemberEpoch
	}
	return m, message.None
}

// store writes one position, and before the first one of a group that is not
// there yet the group itself. A member's commit that changes nothing, or a repeat
// of it, leaves no record; one from outside does, since it lengthens the life of
// the offset.
func (s *shard) store(now message.Now, name string, g *group, by turn, inside bool, o message.GroupOffset) *group {
	g = s.made(now, name, g)
	v := offsetValue{offset: o.Offset, leaderEpoch: o.LeaderEpoch, note: o.Note, at: now.Wall, by: by}
	if old, had := g.offsets[o.ID]; inside && had {
		old.at = v.at
		if old == v {
			return g
		}
	}
	s.write(key{kind: kindOffset, group: name, id: o.ID}, v)
	if len(g.seats) == 0 { // it may have been looked at when it held nothing
		s.armGroupAt(now, g, now.Wall+milliseconds(s.home.cfg.OffsetRetention))
	}
	return g
}

// made is the group, which is made if it is not there yet.
func (s *shard) made(now message.Now, name string, g *group) *group {
	if g == nil || !g.made {
		s.write(key{kind: kindGroup, group: name}, groupValue{epoch: s.state.floor, emptySince: now.Wall})
		g = s.state.groups[name]
		s.armGroup(now, g)
	}
	return g
}

// fetch decides a FetchOffsets. A group that does not exist has no positions.
func (s *shard) fetch(r *message.FetchOffsets) message.Reply {
	g := s.state.groups[r.Group]
	if r.Member != "" {
		if _, code := s.current(g, r.Member, r.MemberEpoch); code != message.None {
			return message.Fail(r, code, "")
		}
	}
	if r.Stable && g.isUnstable(r.IDs) {
		return message.Fail(r, message.UnstableOffsetCommit, "")
	}
	ids := r.IDs
	if ids == nil && g != nil {
		ids = g.storedIDs()
	}
	return &message.FetchOffsetsReply{Offsets: g.positions(ids)}
}

// positions lists what is committed for the partitions; g may be nil.
func (g *group) positions(ids []record.PartitionID) []message.GroupOffset {
	list := make([]message.GroupOffset, len(ids))
	for i, id := range ids {
		list[i] = message.GroupOffset{ID: id, Offset: message.NoOffset, LeaderEpoch: record.NoLeaderEpoch}
		if g == nil {
			continue
		}
		if v, ok := g.offsets[id]; ok {
			list[i] = message.GroupOffset{ID: id, Offset: v.offset, LeaderEpoch: v.leaderEpoch, Note: v.note}
		}
	}
	return list
}

// deleteOffsets decides a DeleteOffsets: positions of topics that a member
// subscribes to stay, and those that a transaction may still set.
func (s *shard) deleteOffsets(now message.Now, r *message.DeleteOffsets) message.Reply {
	g := s.state.groups[r.Group]
	if g == nil {
		return message.Fail(r, message.GroupIDNotFound, "")
	}
	read := make([]record.TopicID, 0, len(g.readers))
	for _, topic := range order.Keys(g.readers) {
		if id, _, ok := s.home.topics.ByName(topic); ok {
			read = append(read, id)
		}
	}
	reply := &message.DeleteOffsetsReply{Offsets: make([]message.CommittedOffset, len(r.IDs))}
	for i, id := range r.IDs {
		reply.Offsets[i] = message.CommittedOffset{ID: id}
		if slices.Contains(read, id.Topic) {
			reply.Offsets[i].Code = message.GroupSubscribedToTopic
		} else if g.unstable[id] > 0 {
			reply.Offsets[i].Code = message.UnstableOffsetCommit
		} else if _, had := g.offsets[id]; had {
			s.write(key{kind: kindOffset, group: g.name, id: id}, nil)
		}
	}
	if len(g.seats) == 0 {
		s.armGroup(now, g)
	}
	return reply
}
