package group

import (
	"github.com/tamarack-mq/tamarack/core/ledger"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// Positions as part of a transaction. They are pending from the commit until the
// marker of the transaction comes for this shard, and only then take the place of
// what is stored, or vanish. For the marker to come, the shard's partition must be
// a part of the transaction in what the transaction's coordinator has committed:
// that is asked for before the first position becomes pending (verify.go).
//
// A marker leaves a fence. It carries the epoch after its transaction's, so that a
// late commit of that transaction finds a higher epoch than its own, also when it
// was verified before (KIP-890).

// pend decides a CommitTransactionOffsets whose transaction is known to go on. It
// is fenced as a CommitOffsets is (KIP-447). Unlike there, all of its positions are
// taken or none: a transaction that commits after all, whatever its producer was
// told, must not move half of them.
func (s *shard) pend(now message.Now, r *message.CommitTransactionOffsets) message.Reply {
	g := s.state.groups[r.Group]
	m, no := s.mayPend(g, r)
	if no != nil {
		return message.Fail(r, no.Code, no.Detail)
	}
	reply := &message.CommitTransactionOffsetsReply{Offsets: make([]message.CommittedOffset, len(r.Offsets))}
	by := m.turn(r.Number)
	for i, o := range r.Offsets {
		code := s.judge(g, m, by, r.ID, o)
		reply.Offsets[i] = message.CommittedOffset{ID: o.ID, Code: code}
		if code != message.None && reply.Code == message.None {
			no := ledger.Refused(code, "position %d for partition %v is refused: %v; none of the %d is part of the transaction", o.Offset, o.ID, code, len(r.Offsets))
			reply.Code, reply.Detail = no.Code, no.Detail
		}
	}
	if reply.Code != message.None {
		return noneTaken(reply)
	}
	g = s.made(now, r.Group, g)
	for _, o := range r.Offsets {
		v := pendingValue{r.Epoch, offsetValue{offset: o.Offset, leaderEpoch: o.LeaderEpoch, note: o.Note, at: now.Wall, by: by}}
		s.writePending(g, r.ID, o.ID, v)
	}
	return reply
}

// noneTaken says of the positions that were in order that they are not taken either.
func noneTaken(reply *message.CommitTransactionOffsetsReply) message.Reply {
	for i := range reply.Offsets {
		if reply.Offsets[i].Code == message.None {
			reply.Offsets[i].Code = message.OperationNotAttempted
		}
	}
	return reply
}

// writePending leaves no record when nothing changes: it is a repeat.
func (s *shard) writePending(g *group, producer record.ProducerID, id record.PartitionID, v pendingValue) {
	if old, had := g.pending[producer][id]; had {
		old.position.at = v.position.at
		if old == v {
			return
		}
	}
	s.write(pendingKey(g.name, producer, id), v)
}

// mayPend finds who commits, when neither the group nor the producer's markers
// forbid it.
func (s *shard) mayPend(g *group, r *message.CommitTransactionOffsets) (*member, *ledger.Refusal) {
	m, code := s.committer(g, r.Member, r.MemberEpoch)
	if code != message.None {
		return nil, &ledger.Refusal{Code: code}
	}
	if f := s.state.fences[r.ID]; f != nil && f.epoch > r.Epoch {
		return nil, ledger.Refused(message.InvalidProducerEpoch, "the transaction of producer %d with epoch %d has ended: the producer is at epoch %d", r.ID, r.Epoch, f.epoch)
	}
	if epoch, open := s.state.openEpoch(r.ID); open && epoch != r.Epoch {
		return nil, ledger.Refused(message.ConcurrentTransactions, "the end of the transaction of producer %d with epoch %d is being written; try again", r.ID, epoch)
	}
	return m, nil
}

// openEpoch is the epoch of the transaction of which a producer has positions
// pending.
func (s *state) openEpoch(producer record.ProducerID) (record.ProducerEpoch, bool) {
	names := s.open[producer]
	if len(names) == 0 {
		return 0, false
	}
	g := s.groups[names[0]]
	return g.pending[producer][g.pendingIDs(producer)[0]].epoch, true
}

// isUnstable says whether a transaction that has not ended may change what is
// stored for one of the partitions, of all if ids is nil. g may be nil.
func (g *group) isUnstable(ids []record.PartitionID) bool {
	if g == nil {
		return false
	}
	for _, id := range ids {
		if g.unstable[id] > 0 {
			return true
		}
	}
	return ids == nil && len(g.unstable) > 0
}

// Marker is the end of a transaction. Epoch is one above that of the transaction.
type Marker struct {
	ID               record.ProducerID
	Epoch            record.ProducerEpoch
	CoordinatorEpoch record.LeaderEpoch // of the transaction coordinator's shard
	Commit           bool
}

// Resolved is the outcome of the Resolve with the same Ticket.
type Resolved struct {
	Ticket uint64
	Code   message.Code
}

// Resolve ends a transaction in a shard: its pending positions are stored, or
// dropped. Out.Resolved answers it with ticket:
//
//   - None once that is committed, by this call or by one before it
//   - TransactionCoordinatorFenced when a coordinator of a later epoch has ended a
//     transaction of that producer
//   - NotLeaderOrFollower: ask whoever leads
//   - CoordinatorLoadInProgress, NotCoordinator, RequestTimedOut: try again later
//   - InvalidRequest for numbers that cannot be
func (c *Coordinator) Resolve(now message.Now, index int32, m Marker, ticket uint64, out *Out) {
	s, led := c.shards.Led(index)
	refuse := func(code message.Code) { out.Resolved = append(out.Resolved, Resolved{ticket, code}) }
	switch {
	case m.ID < 0 || m.Epoch < 1 || m.CoordinatorEpoch < 0:
		refuse(message.InvalidRequest)
	case !led:
		refuse(message.NotLeaderOrFollower)
	case s.Phase() != ledger.Serving || s.Full():
		refuse(message.CoordinatorLoadInProgress)
	default:
		s.Tell(now, &resolving{c, Resolved{ticket, s.resolveMarker(now, m)}}, ledger.Written, &out.Out)
		s.Flush(now, &out.Out)
		c.collect(out)
	}
}

// resolving is a Resolve that waits for the log.
type resolving struct {
	home   *Coordinator
	answer Resolved
}

// Ready says that it is committed.
func (r *resolving) Ready(message.Now, *ledger.Out) {
	r.home.resolved = append(r.home.resolved, r.answer)
}

// Failed says that it is not known.
func (r *resolving) Failed(code message.Code, _ *ledger.Out) {
	r.home.resolved = append(r.home.resolved, Resolved{r.answer.Ticket, code})
}

// resolveMarker decides a Resolve. The fence goes first: a crash may cut the
// decision between two of its batches, and then nothing more may become pending
// before the marker comes again for what is left.
func (s *shard) resolveMarker(now message.Now, m Marker) message.Code {
	f := s.state.fences[m.ID]
	if f != nil && m.CoordinatorEpoch < f.coordinator {
		return message.TransactionCoordinatorFenced
	}
	if f == nil || f.epoch < m.Epoch {
		s.write(key{kind: kindProducer, producer: m.ID}, producerValue{m.Epoch, m.CoordinatorEpoch, now.Wall})
		s.armFence(now, s.state.fences[m.ID])
	}
	for _, name := range append([]string(nil), s.state.open[m.ID]...) {
		s.resolvePending(now, s.state.groups[name], m)
	}
	return message.None
}

// resolvePending ends a transaction in one group. What its member has followed with
// a later commit, and what belongs to a topic that is no more, is not stored. Each
// position is stored before it ceases to be pending, so that who asks for stable
// positions never gets what was before in between.
func (s *shard) resolvePending(now message.Now, g *group, m Marker) {
	for _, id := range g.pendingIDs(m.ID) {
		v := g.pending[m.ID][id]
		if v.epoch >= m.Epoch {
			continue // of the next transaction: the marker is late
		}
		v.position.at = now.Wall
		if m.Commit && s.home.checkPartition(id) == message.None && !g.offsets[id].by.after(v.position.by) {
			s.write(key{kind: kindOffset, group: g.name, id: id}, v.position)
		}
		s.write(pendingKey(g.name, m.ID, id), nil)
	}
	if len(g.seats) == 0 && s.state.groups[g.name] == g {
		s.armGroup(now, g)
	}
}
