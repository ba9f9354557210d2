package group

import (
	"github.com/tamarack-mq/tamarack/core/ledger"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/order"
	"github.com/tamarack-mq/tamarack/core/record"
)

// Owner is one right to commit: the coordinator would accept a commit for the
// partition from this member under this epoch. For each group and partition
// there must never be two (INV-21).
type Owner struct {
	Group     string
	Partition record.PartitionID
	Member    string
	Epoch     message.MemberEpoch
}

// ShardView is what an observer sees of one led shard.
type ShardView struct {
	Shard   int32
	Epoch   record.LeaderEpoch
	Serving bool // loaded; else requests are answered CoordinatorLoadInProgress
	Pending int  // appends under way; 0: Digest equals a fold of the committed log
	Waiting int  // replies that wait for them
	Groups  int
	Members int
	Offsets int
	Fences  int // producers whose last marker is remembered
	Held    int // requests that wait for the coordinator of a transaction
}

// Views describes the shards that this broker leads, in order.
func (c *Coordinator) Views() []ShardView {
	views := make([]ShardView, len(c.shards.Books()))
	for i, s := range c.shards.Books() {
		views[i] = ShardView{
			Shard:   s.Index(),
			Epoch:   s.Epoch(),
			Serving: s.Phase() == ledger.Serving,
			Pending: s.Pending(),
			Waiting: s.Waiting(),
			Groups:  len(s.state.groups),
			Fences:  len(s.state.fences),
			Held:    c.unverified.Waiting(s.partition()),
		}
		for _, name := range order.Keys(s.state.groups) {
			views[i].Members += len(s.state.groups[name].seats)
			views[i].Offsets += len(s.state.groups[name].offsets)
		}
	}
	return views
}

// EachOwner visits every right to commit in the shards that serve: by shard,
// group, member and partition. It stops when visit returns false.
func (c *Coordinator) EachOwner(visit func(index int32, o Owner) bool) {
	for _, s := range c.shards.Books() {
		if s.Phase() != ledger.Serving {
			continue
		}
		for _, name := range order.Keys(s.state.groups) {
			for _, m := range s.state.groups[name].seats {
				for _, p := range m.holds() {
					if m.mayCommit(p) && !visit(s.Index(), Owner{name, p, m.id, m.epoch}) {
						return
					}
				}
			}
		}
	}
}

// Kept is one committed position that a shard keeps.
type Kept struct {
	Group     string
	Partition record.PartitionID
	// Since is the wall time from which on it is not in use: when the group became
	// empty, or when it was committed if that was later; -1 as long as the group has
	// members, or positions that are pending.
	Since record.Timestamp
}

// EachKept visits the committed positions in the shards that serve: by shard, group
// and partition. It stops when visit returns false.
func (c *Coordinator) EachKept(visit func(index int32, k Kept) bool) {
	for _, s := range c.shards.Books() {
		if s.Phase() != ledger.Serving {
			continue
		}
		for _, name := range order.Keys(s.state.groups) {
			g := s.state.groups[name]
			for _, p := range g.storedIDs() {
				k := Kept{Group: name, Partition: p, Since: occupied}
				if len(g.seats) == 0 && len(g.pending) == 0 {
					k.Since = max(g.record.emptySince, g.offsets[p].at)
				}
				if !visit(s.Index(), k) {
					return
				}
			}
		}
	}
}

// Pending is one position of a transaction that has not ended.
type Pending struct {
	Group     string
	Partition record.PartitionID
	ID        record.ProducerID
	Epoch     record.ProducerEpoch
	Offset    record.Offset
}

// EachPending visits the pending positions in the shards that serve: by shard,
// group, producer and partition. It stops when visit returns false.
func (c *Coordinator) EachPending(visit func(index int32, p Pending) bool) {
	for _, s := range c.shards.Books() {
		if s.Phase() != ledger.Serving {
			continue
		}
		for _, name := range order.Keys(s.state.groups) {
			g := s.state.groups[name]
			for _, producer := range order.Keys(g.pending) {
				for _, id := range g.pendingIDs(producer) {
					v := g.pending[producer][id]
					if !visit(s.Index(), Pending{name, id, producer, v.epoch, v.position.offset}) {
						return
					}
				}
			}
		}
	}
}

// EachInstance visits the members that are there under an instance id, in the
// shards that serve: by shard, group and member. It stops when visit returns
// false. A group has one member under an instance, whose process may be away.
func (c *Coordinator) EachInstance(visit func(group, instance, member string) bool) {
	for _, s := range c.shards.Books() {
		if s.Phase() != ledger.Serving {
			continue
		}
		for _, name := range order.Keys(s.state.groups) {
			for _, m := range s.state.groups[name].seats {
				if m.instance != "" && !visit(name, m.instance, m.id) {
					return
				}
			}
		}
	}
}

// MemberOf is the present epoch of one member and what it holds, in order: what it is
// assigned and what it still has to give up. ok is false where its shard does not
// serve, or the group has no such member. The list is shared, and not to be changed.
func (c *Coordinator) MemberOf(group, member string) (epoch message.MemberEpoch, holds []record.PartitionID, ok bool) {
	s, no := c.serves(group)
	if no != nil {
		return 0, nil, false
	}
	g := s.state.groups[group]
	if g == nil || g.members[member] == nil {
		return 0, nil, false
	}
	m := g.members[member]
	return m.epoch, m.holds(), true
}

// Deadline is how long a member has to give up what it is to give up.
type Deadline struct {
	Group, Member string
	Since         message.Time         // when the shard was loaded: what is asked for is asked for anew then
	Revoking      []record.PartitionID // what it is to give up, in order; shared, and not to be changed
	RevokeBy      message.Time         // of the coordinator's node; Never: there is none
	// Kept is what a static member that is away keeps from those who are meant to
	// own it.
	Kept []record.PartitionID
}

// EachDeadline visits the members of the groups in the shards that serve: by shard,
// group and member. It stops when visit returns false.
func (c *Coordinator) EachDeadline(visit func(d Deadline) bool) {
	for _, s := range c.shards.Books() {
		if s.Phase() != ledger.Serving {
			continue
		}
		for _, name := range order.Keys(s.state.groups) {
			for _, m := range s.state.groups[name].seats {
				if !visit(s.deadlineOf(s.state.groups[name], m)) {
					return
				}
			}
		}
	}
}

// DeadlineOf is that of one member; false where its shard does not serve, or the
// group has no such member.
func (c *Coordinator) DeadlineOf(group, member string) (Deadline, bool) {
	s, no := c.serves(group)
	if no != nil {
		return Deadline{}, false
	}
	g := s.state.groups[group]
	if g == nil || g.members[member] == nil {
		return Deadline{}, false
	}
	return s.deadlineOf(g, g.members[member]), true
}

func (s *shard) deadlineOf(g *group, m *member) Deadline {
	d := Deadline{Group: g.name, Member: m.id, Since: s.since, Revoking: m.revoking, RevokeBy: m.revokeEnds}
	if m.left {
		d.Kept = order.Without(m.holds(), g.targets[m.id])
	}
	return d
}

// Stands says where one shard stands; false when this broker does not lead it.
func (c *Coordinator) Stands(index int32) (ledger.Standing, bool) { return c.shards.Stands(index) }

// Digest is a hash of the whole replicated state of a shard; ok is false while
// it is not serving. Equal states have equal digests. It includes what is
// pending.
func (c *Coordinator) Digest(index int32) (digest uint64, ok bool) {
	s, led := c.shards.Led(index)
	if !led || s.Phase() != ledger.Serving {
		return 0, false
	}
	return s.state.digest(), true
}

// Fold returns the digest of the state that replaying batches (whole batches,
// from the log start on) gives: INV-23 holds when it equals Digest.
func Fold(batches []byte) (uint64, error) {
	var f Folding
	err := f.Take(batches)
	return f.Digest(), err
}

// Folding is Fold over a log that comes in parts. The zero value has seen nothing.
// For observers.
type Folding struct{ state *state }

// Take replays the next batches.
func (f *Folding) Take(batches []byte) error {
	if f.state == nil {
		f.state = newState()
	}
	return ledger.Each(batches, decode, func(_ record.Offset, c change) { f.state.apply(c) })
}

// Digest is what Fold gives for all that was taken.
func (f *Folding) Digest() uint64 {
	if f.state == nil {
		f.state = newState()
	}
	return f.state.digest()
}

// digest hashes the records that make the state.
func (s *state) digest() uint64 { return ledger.Digest(s.each) }

// Shard is the shard that holds a group when there are shards of them (the
// FNV-1a hash of its name).
func Shard(group string, shards int32) int32 { return ledger.Shard(group, shards) }
