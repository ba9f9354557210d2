package client

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// join is a play whose client has asked to join group g and reads orders.
func join(t failer, change func(*Subscribe)) (*play, *message.GroupHeartbeat) {
	s := newPlay(t, func(c *Config) { c.Name = "app" })
	s.subscribe(change)
	s.metadata()
	s.coordinator(3)
	return s, s.beat(message.GroupHeartbeatReply{MemberEpoch: 1, Interval: 5 * message.Second})
}

func (s *play) subscribe(change func(*Subscribe)) Op {
	return s.do(func(op Op) Input {
		in := Subscribe{Op: op, Group: "g", Topics: []string{"orders"}}
		if change != nil {
			change(&in)
		}
		return in
	})
}

func (s *play) coordinator(n message.NodeID) {
	c, _ := next[*message.FindCoordinator](s)
	s.answer(c, &message.FindCoordinatorReply{Node: n})
}

// beat answers the heartbeat that is on its way.
func (s *play) beat(a message.GroupHeartbeatReply) *message.GroupHeartbeat {
	c, r := next[*message.GroupHeartbeat](s)
	s.answer(c, &a)
	return r
}

// owner is a play whose client is a member and owns partitions of orders, with
// committed position 10 in each; records from 10 on have been fetched.
func owner(t failer, change func(*Subscribe), ids ...record.PartitionID) *play {
	s, _ := join(t, change)
	s.pass(5 * message.Second)
	s.beat(message.GroupHeartbeatReply{MemberEpoch: 2, Interval: 5 * message.Second, Assigned: true, Assignment: ids})
	s.beat(message.GroupHeartbeatReply{MemberEpoch: 2, Interval: 5 * message.Second})
	c, r := next[*message.FetchOffsets](s)
	m := &message.FetchOffsetsReply{}
	for _, id := range r.IDs {
		m.Offsets = append(m.Offsets, message.GroupOffset{ID: id, Offset: 10, LeaderEpoch: record.NoLeaderEpoch})
	}
	s.answer(c, m)
	for has[*message.Fetch](s) > 0 {
		s.fetched(message.FetchedPartition{HighWatermark: 14, Records: stored(10, 5, "a", "b", "c", "d")})
		s.calls, s.ahead = withoutFetch(s.calls, 14)
	}
	s.told()
	return s
}

// withoutFetch sets fetches from an offset on apart: nothing is there yet.
func withoutFetch(calls []Call, from record.Offset) (kept, ahead []Call) {
	for _, c := range calls {
		if r, ok := c.Request.(*message.Fetch); !ok || r.Partitions[0].Offset < from {
			kept = append(kept, c)
		} else {
			ahead = append(ahead, c)
		}
	}
	return kept, ahead
}

func TestJoiningAGroup(t *testing.T) {
	s, r := join(t, nil)
	require.Regexp(t, "^app-[0-9a-f]{32}$", r.Member)
	member := r.Member
	require.Equal(t, &message.GroupHeartbeat{Group: "g", Member: member, Full: true, RebalanceTimeout: 30 * message.Second,
		Topics: []string{"orders"}, Owned: []record.PartitionID{}}, r)
	require.Equal(t, []string{"epoch 1"}, s.told())

	s.pass(5*message.Second - 1)
	require.Equal(t, 0, has[*message.GroupHeartbeat](s))
	s.pass(1)
	r = s.beat(message.GroupHeartbeatReply{MemberEpoch: 2, Interval: 5 * message.Second, Assigned: true, Assignment: []record.PartitionID{orders0, orders2}})
	require.Equal(t, &message.GroupHeartbeat{Group: "g", Member: member, MemberEpoch: 1}, r)
	require.Equal(t, []string{"epoch 2", "assigned orders/0 orders/2"}, s.told())

	r = s.beat(message.GroupHeartbeatReply{MemberEpoch: 2, Interval: 5 * message.Second})
	require.Equal(t, []record.PartitionID{orders0, orders2}, r.Owned)
	c, f := next[*message.FetchOffsets](s)
	require.Equal(t, &message.FetchOffsets{Group: "g", Member: member, MemberEpoch: 2, IDs: []record.PartitionID{orders0, orders2}}, f)
	s.answer(c, &message.FetchOffsetsReply{Offsets: []message.GroupOffset{
		{ID: orders0, Offset: 10, LeaderEpoch: 4}, {ID: orders2, Offset: message.NoOffset}}})
	_, check := next[*message.OffsetForLeaderEpoch](s)
	require.Equal(t, []message.EpochQuestion{{ID: orders0, LeaderEpoch: 5, Epoch: 4}}, check.Partitions)
	_, list := next[*message.ListOffsets](s)
	require.Equal(t, []message.ListOffsetsPartition{{ID: orders2, LeaderEpoch: 5, Timestamp: message.Earliest}}, list.Partitions)
}

func TestCommitCoversWhatWasGiven(t *testing.T) {
	s := owner(t, nil, orders0)
	s.poll(2, 0)
	op := s.do(func(op Op) Input { return Commit{Op: op} })
	c, r := next[*message.CommitOffsets](s)
	require.Equal(t, message.NodeID(3), c.Node)
	require.Equal(t, []message.GroupOffset{{ID: orders0, Offset: 12, LeaderEpoch: 5}}, r.Offsets)
	require.Equal(t, message.MemberEpoch(2), r.MemberEpoch)
	s.answer(c, &message.CommitOffsetsReply{Offsets: []message.CommittedOffset{{ID: orders0}}})
	require.Equal(t, Result{Offsets: []PartitionOffset{{PlacedID: PlacedID{Place{"orders", 0}, orders0}, Offset: 12, LeaderEpoch: 5}}}, s.done[op])

	again := s.do(func(op Op) Input { return Commit{Op: op} })
	require.Equal(t, Result{Offsets: []PartitionOffset{}}, s.done[again], "there is nothing new")
	beyond := s.do(func(op Op) Input {
		return Commit{op, []CommitOffset{{Place: Place{"orders", 0}, Offset: 13}}}
	})
	require.Equal(t, Misused, s.done[beyond].Err.Problem, "INV-26")
	foreign := s.do(func(op Op) Input {
		return Commit{op, []CommitOffset{{Place: Place{"orders", 1}, Offset: 1}}}
	})
	require.Equal(t, NotOwned, s.done[foreign].Err.Problem)
}

// INV-26, KAFKA-2942: what was fetched ahead, or given and not come back from,
// is not committed by the client itself.
func TestAutoCommitCoversWhatTheApplicationHasComeBackFrom(t *testing.T) {
	s := owner(t, func(in *Subscribe) { in.AutoCommit = true }, orders0)
	s.poll(2, 0)
	for range 4 {
		s.pass(5 * message.Second)
		s.beat(message.GroupHeartbeatReply{MemberEpoch: 2, Interval: 5 * message.Second})
	}
	require.Equal(t, 0, has[*message.CommitOffsets](s))
	s.poll(1, 0)
	require.Equal(t, 0, has[*message.CommitOffsets](s))
	s.pass(5 * message.Second)
	_, r := next[*message.CommitOffsets](s)
	require.Equal(t, []message.GroupOffset{{ID: orders0, Offset: 12, LeaderEpoch: 5}}, r.Offsets)
}

func (s *play) revoke(left ...record.PartitionID) {
	s.pass(5 * message.Second)
	s.beat(message.GroupHeartbeatReply{MemberEpoch: 2, Interval: 5 * message.Second, Assigned: true, Assignment: left})
}

func TestARevokedPartitionWaitsForTheApplication(t *testing.T) {
	s := owner(t, func(in *Subscribe) { in.AutoCommit = true }, orders0, orders1)
	require.Equal(t, []string{"orders/0 10=a 11=b 12=c"}, given(s.done[s.poll(3, 0)]))
	s.revoke(orders1)
	require.Equal(t, []string{"revoking orders/0"}, s.told())
	require.Equal(t, 0, has[*message.CommitOffsets](s))
	require.Equal(t, []string{"orders/1 10=a 11=b 12=c 13=d"}, given(s.done[s.poll(9, 0)]), "nothing of orders/0 is delivered")
	c, r := next[*message.CommitOffsets](s)
	require.Equal(t, []message.GroupOffset{{ID: orders0, Offset: 13, LeaderEpoch: 5}}, r.Offsets)
	require.Equal(t, 0, has[*message.GroupHeartbeat](s), "it is given up only when that is committed")
	s.answer(c, &message.CommitOffsetsReply{Offsets: []message.CommittedOffset{{ID: orders0}}})
	require.Equal(t, []string{"revoked orders/0"}, s.told())
	_, b := next[*message.GroupHeartbeat](s)
	require.Equal(t, []record.PartitionID{orders1}, b.Owned)
}

func TestACommitOfItsOwnMeansTheApplicationHasComeBack(t *testing.T) {
	s := owner(t, nil, orders0)
	s.poll(2, 0)
	s.revoke()
	op := s.do(func(op Op) Input { return Commit{Op: op} })
	require.Equal(t, []string{"revoking orders/0"}, s.told())
	c, _ := next[*message.CommitOffsets](s)
	s.answer(c, &message.CommitOffsetsReply{Offsets: []message.CommittedOffset{{ID: orders0}}})
	require.Equal(t, OK, s.done[op].Outcome)
	require.Equal(t, []string{"revoked orders/0"}, s.told())
}

func TestAnApplicationThatDoesNotComeBackIsNotWaitedForForEver(t *testing.T) {
	s := owner(t, nil, orders0)
	s.poll(2, 0)
	s.revoke()
	s.pass(4 * message.Second)
	require.Equal(t, []string{"revoking orders/0"}, s.told())
	for range 4 {
		s.pass(3 * message.Second)
		if has[*message.GroupHeartbeat](s) > 0 {
			s.beat(message.GroupHeartbeatReply{MemberEpoch: 2, Interval: 5 * message.Second})
		}
	}
	require.Equal(t, []string{"revoked orders/0"}, s.told())
}

// The published bug "two owners when a revoked partition returns": it is first
// given up, then taken on anew.
func TestAPartitionThatReturnsWhileItIsGivenUpIsTakenOnAnew(t *testing.T) {
	s := owner(t, nil, orders0)
	s.poll(2, 0)
	s.revoke()
	s.revoke(orders0)
	require.Equal(t, []string{"revoking orders/0"}, s.told())
	require.Empty(t, given(s.done[s.poll(9, 0)]))
	require.Equal(t, []string{"revoked orders/0", "assigned orders/0"}, s.told())
	require.Equal(t, 1, has[*message.FetchOffsets](s), "it begins where the group stands")
}

func TestAFencedMemberLosesEverythingAndJoinsAgain(t *testing.T) {
	s := owner(t, nil, orders0, orders1)
	s.poll(2, 0)
	commit := s.do(func(op Op) Input { return Commit{Op: op} })
	s.pass(5 * message.Second)
	s.beat(message.GroupHeartbeatReply{Code: message.FencedMemberEpoch})
	require.Equal(t, []string{"lost orders/0 orders/1"}, s.told())
	require.Empty(t, given(s.done[s.poll(9, 0)]))
	_, r := next[*message.GroupHeartbeat](s)
	require.Equal(t, []any{message.JoinEpoch, true, []record.PartitionID{}}, []any{r.MemberEpoch, r.Full, r.Owned})
	c, _ := next[*message.CommitOffsets](s)
	s.answer(c, &message.CommitOffsetsReply{Code: message.UnknownMemberID})
	require.Equal(t, NotOwned, s.done[commit].Err.Problem)
	require.ErrorIs(t, s.done[commit].Err, message.UnknownMemberID)
}

func TestACommitWithAStaleEpochWaitsForTheNewOne(t *testing.T) {
	s := owner(t, nil, orders0)
	s.poll(2, 0)
	op := s.do(func(op Op) Input { return Commit{Op: op} })
	c, _ := next[*message.CommitOffsets](s)
	s.answer(c, &message.CommitOffsetsReply{Code: message.StaleMemberEpoch})
	s.beat(message.GroupHeartbeatReply{MemberEpoch: 3, Interval: 5 * message.Second})
	s.pass(message.Second)
	c, r := next[*message.CommitOffsets](s)
	require.Equal(t, message.MemberEpoch(3), r.MemberEpoch)
	s.answer(c, &message.CommitOffsetsReply{Offsets: []message.CommittedOffset{{ID: orders0}}})
	require.Equal(t, OK, s.done[op].Outcome)
}

func TestCommitsGoOneAfterTheOther(t *testing.T) {
	s := owner(t, nil, orders0)
	s.poll(1, 0)
	s.do(func(op Op) Input { return Commit{Op: op} })
	s.poll(1, 0)
	s.do(func(op Op) Input { return Commit{Op: op} })
	c, r := next[*message.CommitOffsets](s)
	require.Equal(t, record.Offset(11), r.Offsets[0].Offset)
	require.Equal(t, uint64(1), r.Number)
	require.Equal(t, 0, has[*message.CommitOffsets](s))
	s.answer(c, &message.CommitOffsetsReply{Code: message.NotCoordinator, Offsets: []message.CommittedOffset{{ID: orders0, Code: message.NotCoordinator}}})
	s.pass(message.Second)
	s.coordinator(2)
	c, r = next[*message.CommitOffsets](s)
	require.Equal(t, message.NodeID(2), c.Node)
	require.Equal(t, record.Offset(11), r.Offsets[0].Offset, "a retry never follows a later one")
	require.Equal(t, uint64(1), r.Number, "it is the same commit")
	s.answer(c, &message.CommitOffsetsReply{Offsets: []message.CommittedOffset{{ID: orders0}}})
	_, r = next[*message.CommitOffsets](s)
	require.Equal(t, record.Offset(12), r.Offsets[0].Offset)
	require.Equal(t, uint64(2), r.Number)
}

func TestAtMostOnceCommitsBeforeItHandsOver(t *testing.T) {
	s := owner(t, func(in *Subscribe) { in.Style = AtMostOnce }, orders0)
	op := s.poll(2, message.Second)
	require.NotContains(t, s.done, op)
	c, r := next[*message.CommitOffsets](s)
	require.Equal(t, []message.GroupOffset{{ID: orders0, Offset: 12, LeaderEpoch: 5}}, r.Offsets)
	s.answer(c, &message.CommitOffsetsReply{Offsets: []message.CommittedOffset{{ID: orders0}}})
	require.Equal(t, []string{"orders/0 10=a 11=b"}, given(s.done[op]))

	// A refusal for certain: nobody was given the records, they come again.
	op = s.poll(2, 0)
	c, _ = next[*message.CommitOffsets](s)
	s.answer(c, &message.CommitOffsetsReply{Code: message.OffsetMetadataTooLarge})
	require.Equal(t, NotDone, s.done[op].Outcome)
	require.Equal(t, record.Offset(12), s.done[s.do(func(op Op) Input { return Positions{op} })].Offsets[0].Offset)
}

// waits is a play of a member at most once that was handed 10 and 11, and whose
// poll for 12 and 13 waits for their commit.
func waits(t failer) (s *play, op Op, commit Call) {
	s = owner(t, func(in *Subscribe) { in.Style = AtMostOnce }, orders0)
	s.poll(2, message.Second)
	c, _ := next[*message.CommitOffsets](s)
	s.answer(c, committedAll(orders0))
	op = s.poll(9, message.Second)
	commit, r := next[*message.CommitOffsets](s)
	require.Equal(t, []message.GroupOffset{{ID: orders0, Offset: 14, LeaderEpoch: 5}}, r.Offsets)
	require.Equal(t, record.Offset(12), s.at(orders0).Offset, "where the application is")
	return s, op, commit
}

func committedAll(ids ...record.PartitionID) *message.CommitOffsetsReply {
	m := &message.CommitOffsetsReply{}
	for _, id := range ids {
		m.Offsets = append(m.Offsets, message.CommittedOffset{ID: id})
	}
	return m
}

// at is what a client says about its position in a partition.
func (s *play) at(id record.PartitionID) PartitionOffset {
	for _, o := range s.done[s.do(func(op Op) Input { return Positions{op} })].Offsets {
		if o.ID == id {
			return o
		}
	}
	s.t.Fatalf("%v is not being read", id)
	panic("unreachable")
}

// elects lets the client hear of another leader from a fetch of what comes next,
// and takes its question whether that one has what was read.
func (s *play) elects(epoch record.LeaderEpoch) Call {
	s.t.Helper()
	s.answer(s.ahead[len(s.ahead)-1], &message.FetchReply{Partitions: []message.FetchedPartition{
		{ID: orders0, Code: message.FencedLeaderEpoch, Leader: 2, LeaderEpoch: epoch}}})
	c, _ := next[*message.OffsetForLeaderEpoch](s)
	return c
}

func (s *play) ends(c Call, epoch record.LeaderEpoch, end record.Offset) {
	s.answer(c, &message.OffsetForLeaderEpochReply{Partitions: []message.EpochAnswer{{ID: orders0, Epoch: epoch, End: end}}})
}

// INV-35: what waits for its commit was given to nobody. A truncation is told
// from where the application is, and what it took back is not handed over.
func TestATruncationIsToldFromWhatWasHandedOver(t *testing.T) {
	s, op, commit := waits(t)
	s.ends(s.elects(6), 4, 7)
	require.Empty(t, s.told(), "12 and 13 were given to nobody: has the leader 10 and 11?")
	c, _ := next[*message.OffsetForLeaderEpoch](s)
	s.ends(c, 4, 7)
	require.Equal(t, []string{"truncated orders/0 12>7"}, s.told())
	s.answer(commit, committedAll(orders0))
	require.Empty(t, given(s.done[op]))
	require.Equal(t, record.Offset(7), s.at(orders0).Offset)
}

func TestATruncationOfWhatWaitsForItsCommitIsReadAnew(t *testing.T) {
	s, op, commit := waits(t)
	s.ends(s.elects(6), 5, 13)
	c, _ := next[*message.OffsetForLeaderEpoch](s)
	s.ends(c, 5, 13)
	s.answer(commit, committedAll(orders0))
	require.Empty(t, given(s.done[op]))
	r := s.fetched(message.FetchedPartition{HighWatermark: 14, Records: append(stored(10, 5, "a", "b", "c"), stored(13, 6, "D")...)})
	require.Equal(t, record.Offset(12), r.Partitions[0].Offset)
	op = s.poll(9, message.Second)
	commit, _ = next[*message.CommitOffsets](s)
	s.answer(commit, committedAll(orders0))
	require.Equal(t, []string{"orders/0 12=c 13=D"}, given(s.done[op]))
	require.Empty(t, s.told(), "the application saw nothing that is not true")
}

// Retention that overtakes a reader leaves it what waits for its commit.
func TestAPositionOutOfTheLogWaitsForWhatIsHandedOver(t *testing.T) {
	s, op, commit := waits(t)
	s.ends(s.elects(6), 5, 14)
	s.fetched(message.FetchedPartition{Code: message.OffsetOutOfRange})
	require.Empty(t, s.told())
	require.Zero(t, has[*message.Fetch](s)+has[*message.ListOffsets](s)+has[*message.OffsetForLeaderEpoch](s))
	s.answer(commit, committedAll(orders0))
	require.Equal(t, []string{"orders/0 12=c 13=d"}, given(s.done[op]))
	s.fetched(message.FetchedPartition{Code: message.OffsetOutOfRange})
	c, _ := next[*message.OffsetForLeaderEpoch](s)
	s.ends(c, 5, 14)
	s.fetched(message.FetchedPartition{Code: message.OffsetOutOfRange})
	c, _ = next[*message.ListOffsets](s)
	s.answer(c, &message.ListOffsetsReply{Partitions: []message.ListedOffset{{ID: orders0, Offset: 20}}})
	require.Equal(t, []string{"repositioned orders/0 14>20"}, s.told())
}

// A partition that is being given up is handed over as far as it is committed,
// whatever becomes of its log.
func TestATruncationDoesNotTakeWhatARevocationWaitsFor(t *testing.T) {
	s, op, commit := waits(t)
	question := s.elects(6)
	s.pass(5 * message.Second)
	s.beat(message.GroupHeartbeatReply{MemberEpoch: 2, Interval: 5 * message.Second, Assigned: true})
	require.Equal(t, []string{"revoking orders/0"}, s.told())
	s.ends(question, 5, 13)
	s.answer(commit, committedAll(orders0))
	require.Equal(t, []string{"orders/0 12=c 13=d"}, given(s.done[op]))
	require.Equal(t, []string{"revoked orders/0"}, s.told())
}

// A commit without an answer could arrive after later ones and move the
// position back, so the member id it was sent under is given up.
func TestAtMostOnceShutsOutACommitThatMayStillArrive(t *testing.T) {
	s := owner(t, func(in *Subscribe) { in.Style = AtMostOnce }, orders0)
	op := s.poll(2, message.Second)
	c, r := next[*message.CommitOffsets](s)
	s.break_(c)
	require.Empty(t, given(s.done[op]))
	require.Equal(t, []string{"lost orders/0"}, s.told())
	s.pass(message.Second)
	s.metadata()
	s.coordinator(3)
	_, leave := next[*message.GroupHeartbeat](s)
	_, again := next[*message.GroupHeartbeat](s)
	if leave.MemberEpoch == message.JoinEpoch {
		leave, again = again, leave
	}
	require.Equal(t, []any{r.Member, message.LeaveEpoch}, []any{leave.Member, leave.MemberEpoch})
	require.Equal(t, message.JoinEpoch, again.MemberEpoch)
	require.NotEqual(t, r.Member, again.Member)
}

func TestARevocationWaitsForAHandover(t *testing.T) {
	s := owner(t, func(in *Subscribe) { in.Style = AtMostOnce }, orders0)
	op := s.poll(2, message.Second)
	s.revoke()
	require.Equal(t, []string{"revoking orders/0"}, s.told())
	c, _ := next[*message.CommitOffsets](s)
	s.answer(c, &message.CommitOffsetsReply{Offsets: []message.CommittedOffset{{ID: orders0}}})
	require.Equal(t, []string{"orders/0 10=a 11=b"}, given(s.done[op]), "what is committed is handed over, or nobody would read it")
	require.Equal(t, []string{"revoked orders/0"}, s.told())
}

func TestUnsubscribeCommitsLeavesAndForgets(t *testing.T) {
	s := owner(t, func(in *Subscribe) { in.AutoCommit = true }, orders0)
	s.poll(2, 0)
	waiting := s.poll(0, message.Minute)
	require.Len(t, s.done[waiting].Polled, 1)
	waiting = s.poll(0, message.Minute)
	op := s.do(func(op Op) Input { return Unsubscribe{op} })
	require.Equal(t, NotReading, s.done[waiting].Err.Problem)
	c, r := next[*message.CommitOffsets](s)
	require.Equal(t, record.Offset(14), r.Offsets[0].Offset)
	s.answer(c, &message.CommitOffsetsReply{Offsets: []message.CommittedOffset{{ID: orders0}}})
	require.Equal(t, []string{"revoked orders/0"}, s.told())
	c, b := next[*message.GroupHeartbeat](s)
	require.Equal(t, message.LeaveEpoch, b.MemberEpoch)
	require.NotContains(t, s.done, op)
	s.answer(c, &message.GroupHeartbeatReply{})
	require.Equal(t, Result{}, s.done[op])
	s.subscribe(nil)
	_, b = next[*message.GroupHeartbeat](s)
	require.Equal(t, message.JoinEpoch, b.MemberEpoch)
}

func TestAStaticMemberKeepsItsName(t *testing.T) {
	s := owner(t, func(in *Subscribe) { in.Instance = "i1" }, orders0)
	s.do(func(op Op) Input { return Close{op} })
	_, b := next[*message.GroupHeartbeat](s)
	require.Equal(t, "i1", b.Instance)
	require.Equal(t, message.LeaveStaticEpoch, b.MemberEpoch)
}

func TestAFencedInstanceIsExpelled(t *testing.T) {
	s := owner(t, func(in *Subscribe) { in.Instance = "i1" }, orders0)
	waiting := s.poll(9, 0)
	require.Len(t, s.done[waiting].Polled, 1)
	waiting = s.poll(9, message.Minute)
	s.pass(5 * message.Second)
	s.beat(message.GroupHeartbeatReply{Code: message.FencedInstanceID, Detail: "another process is i1"})
	require.Equal(t, []string{"lost orders/0", "expelled"}, s.told())
	require.ErrorIs(t, s.done[waiting].Err, message.FencedInstanceID)
	require.ErrorIs(t, s.done[s.poll(1, 0)].Err, message.FencedInstanceID)
	require.Equal(t, 0, has[*message.GroupHeartbeat](s))
	s.subscribe(func(in *Subscribe) { in.Instance = "i2" })
	_, b := next[*message.GroupHeartbeat](s)
	require.Equal(t, "i2", b.Instance)
}

// KIP-62: a stuck application does not hold partitions for ever.
func TestAnApplicationThatDoesNotPollLeaves(t *testing.T) {
	s := owner(t, nil, orders0)
	for range 65 {
		s.pass(5 * message.Second)
		if has[*message.GroupHeartbeat](s) > 0 {
			if r := s.beat(message.GroupHeartbeatReply{MemberEpoch: 2, Interval: 5 * message.Second}); r.MemberEpoch == message.LeaveEpoch {
				break
			}
		}
	}
	require.Equal(t, []string{"lost orders/0"}, s.told())
	s.pass(message.Minute)
	require.Equal(t, 0, has[*message.GroupHeartbeat](s))
	s.poll(1, message.Second)
	_, b := next[*message.GroupHeartbeat](s)
	require.Equal(t, message.JoinEpoch, b.MemberEpoch)
}

func TestALostHeartbeatIsRepeatedInFull(t *testing.T) {
	s := owner(t, nil, orders0)
	s.pass(5 * message.Second)
	c, _ := next[*message.GroupHeartbeat](s)
	s.break_(c)
	s.pass(message.Second)
	s.coordinator(3)
	_, r := next[*message.GroupHeartbeat](s)
	require.True(t, r.Full)
	require.Equal(t, message.MemberEpoch(2), r.MemberEpoch)
	require.Equal(t, []record.PartitionID{orders0}, r.Owned)
	s.answer(c, &message.GroupHeartbeatReply{MemberEpoch: 9, Assigned: true}) // too late: it changes nothing
	require.Empty(t, s.told())
}

func TestATopicKnownByIDAloneIsLookedUp(t *testing.T) {
	s, _ := join(t, nil)
	s.pass(5 * message.Second)
	s.beat(message.GroupHeartbeatReply{MemberEpoch: 2, Assigned: true, Assignment: []record.PartitionID{{Topic: auditID}}})
	require.Equal(t, []string{"epoch 1", "epoch 2"}, s.told())
	s.metadata()
	require.Equal(t, []string{"assigned audit/0"}, s.told())
}

func TestCommittingFromOutside(t *testing.T) {
	s := newPlay(t, nil)
	s.do(func(op Op) Input {
		return Assign{Op: op, Group: "g", Partitions: []Start{{Place{"orders", 0}, Position{Kind: AtCommitted}}}}
	})
	s.metadata()
	s.coordinator(2)
	c, r := next[*message.FetchOffsets](s)
	require.Equal(t, &message.FetchOffsets{Group: "g", MemberEpoch: -1, IDs: []record.PartitionID{orders0}}, r)
	s.answer(c, &message.FetchOffsetsReply{Offsets: []message.GroupOffset{{ID: orders0, Offset: 4, LeaderEpoch: -1}}})
	s.fetched(message.FetchedPartition{Records: stored(4, 5, "a")})
	s.poll(1, 0)
	s.do(func(op Op) Input { return Commit{Op: op} })
	_, m := next[*message.CommitOffsets](s)
	require.Equal(t, &message.CommitOffsets{Group: "g", MemberEpoch: -1, Offsets: []message.GroupOffset{{ID: orders0, Offset: 5, LeaderEpoch: 5}}}, m)
	op := s.do(func(op Op) Input { return Committed{Op: op} })
	c, _ = next[*message.FetchOffsets](s)
	s.answer(c, &message.FetchOffsetsReply{Offsets: []message.GroupOffset{{ID: orders0, Offset: 5, LeaderEpoch: 5}}})
	require.Equal(t, record.Offset(5), s.done[op].Offsets[0].Offset)
	op = s.do(func(op Op) Input { return Positions{op} })
	require.Equal(t, record.Offset(5), s.done[op].Offsets[0].Offset)
}

// What the application says of the record before a position is stored with it.
func TestAPositionIsStoredWithTheEpochThatItIsGiven(t *testing.T) {
	s := newPlay(t, nil)
	s.do(func(op Op) Input {
		return Assign{Op: op, Group: "g", Partitions: []Start{{Place{"orders", 0}, Position{Kind: AtCommitted}}}}
	})
	s.metadata()
	s.coordinator(2)
	c, _ := next[*message.FetchOffsets](s)
	s.answer(c, &message.FetchOffsetsReply{Offsets: []message.GroupOffset{{ID: orders0, Offset: 4, LeaderEpoch: -1}}})
	s.fetched(message.FetchedPartition{Records: stored(4, 5, "a", "b")})
	s.poll(2, 0)
	s.do(func(op Op) Input {
		return Commit{Op: op, Offsets: []CommitOffset{{Place: Place{"orders", 0}, Offset: 5, LeaderEpoch: 3}}}
	})
	_, m := next[*message.CommitOffsets](s)
	require.Equal(t, []message.GroupOffset{{ID: orders0, Offset: 5, LeaderEpoch: 3}}, m.Offsets)
}
