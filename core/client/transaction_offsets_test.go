package client

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// pipeline is a play of a client that reads orders/0 for group g, has records a to
// d from offset 10 on at hand, and has a transaction open as producer 40 with epoch
// 7. Node 3 coordinates the group, node 2 the transactional id.
func pipeline(t failer) *play {
	s := opened(t, func(c *Config) { c.RequestTimeout = message.Minute })
	s.subscribe(nil)
	s.metadata()
	c, _ := next[*message.FindCoordinator](s)
	s.answer(c, &message.FindCoordinatorReply{Node: 3})
	s.beat(message.GroupHeartbeatReply{MemberEpoch: 2, Interval: message.Hour, Assigned: true, Assignment: []record.PartitionID{orders0}})
	s.beat(message.GroupHeartbeatReply{MemberEpoch: 2, Interval: message.Hour})
	s.standsAt(10)
	s.fetched(message.FetchedPartition{HighWatermark: 14, LastStable: 14, Records: stored(10, 5, "a", "b", "c", "d")})
	s.calls, s.ahead = withoutFetch(s.calls, 14)
	s.told()
	return s
}

// standsAt answers where the group stands in orders/0.
func (s *play) standsAt(offset record.Offset) {
	s.t.Helper()
	c, r := next[*message.FetchOffsets](s)
	require.True(s.t, r.Stable)
	s.answer(c, &message.FetchOffsetsReply{Offsets: []message.GroupOffset{{ID: orders0, Offset: offset, LeaderEpoch: record.NoLeaderEpoch}}})
}

// rewind goes back, and answers what was fetched ahead before.
func (s *play) rewind() {
	s.do(func(op Op) Input { return Rewind{op} })
	for _, c := range s.ahead {
		s.answer(c, &message.FetchReply{Partitions: []message.FetchedPartition{{ID: orders0}}})
	}
	s.ahead = nil
}

// processed adds the positions behind a poll's records to the transaction.
func (s *play) processed(r Result) Op {
	return s.do(func(op Op) Input {
		in := AddOffsets{Op: op}
		for _, d := range r.Polled {
			in.Offsets = append(in.Offsets, CommitOffset{Place: d.Place, Offset: d.Next, LeaderEpoch: record.NoLeaderEpoch, Stretch: d.Stretch})
		}
		return in
	})
}

// added answers the CommitTransactionOffsets that is on its way.
func (s *play) added(code message.Code) *message.CommitTransactionOffsets {
	s.t.Helper()
	c, r := next[*message.CommitTransactionOffsets](s)
	require.Equal(s.t, message.NodeID(3), c.Node)
	s.answer(c, message.Fail(r, code, ""))
	return r
}

func TestPositionsCommitWithTheTransaction(t *testing.T) {
	s := pipeline(t)
	got := s.done[s.poll(2, 0)]
	require.Equal(t, []string{"orders/0 10=a 11=b"}, given(got))
	add, end := s.processed(got), s.end(true)
	require.Zero(t, has[*message.EndTransaction](s), "the positions are not stored yet")
	r := s.added(message.None)
	require.Equal(t, &message.CommitTransactionOffsets{TransactionalID: "pay", ID: 40, Epoch: 7, Group: "g", Member: s.c.consumer.member.id,
		MemberEpoch: 2, Offsets: []message.GroupOffset{{ID: orders0, Offset: 12, LeaderEpoch: 5}}, Number: 1}, r)
	require.Equal(t, OK, s.done[add].Outcome)
	f := s.c.consumer.list[0]
	require.Equal(t, record.Offset(10), f.committed, "not before the transaction is")
	s.decided(message.None, 8)
	require.Equal(t, Result{}, s.done[end])
	require.Equal(t, record.Offset(12), f.committed)
	s.rewind()
	require.Equal(t, []string{"orders/0 12=c 13=d"}, given(s.done[s.poll(9, 0)]), "there is nothing to go back to")
}

func TestAfterAnAbortTheRecordsComeAgain(t *testing.T) {
	s := pipeline(t)
	got := s.done[s.poll(2, 0)]
	s.processed(got)
	s.added(message.None)
	s.end(false)
	s.decided(message.None, 8)
	s.rewind()

	s.begin()
	old := s.processed(got)
	require.NotEqual(t, OK, s.done[old].Outcome, "they are not this member's to process until they are handed over again")
	s.end(false)
	s.standsAt(10)
	s.fetched(message.FetchedPartition{LastStable: 14, Records: stored(10, 5, "a", "b", "c", "d")})
	s.begin()
	again := s.done[s.poll(2, 0)]
	require.Equal(t, given(got), given(again))
	require.Equal(t, NotOwned, s.problem(s.processed(got)))
	s.end(false)
	s.begin()
	s.processed(again)
	require.Equal(t, uint64(2), s.added(message.None).Number)
}

// Without a committed position the reset policy would skip what was read and not
// processed.
func TestRewindWithoutAPositionGoesToWhereReadingBegan(t *testing.T) {
	s := pipeline(t)
	s.poll(2, 0)
	s.rewind()
	s.standsAt(message.NoOffset)
	_, r := next[*message.Fetch](s)
	require.Equal(t, record.Offset(10), r.Partitions[0].Offset)
}

// What was handed over before a Rewind is not "all that polls have returned" any more:
// with the next transaction positions would be committed without what was made of
// the records.
func TestWhatWillBeReadAgainIsNotCommitted(t *testing.T) {
	s := pipeline(t)
	s.processed(s.done[s.poll(2, 0)])
	s.added(message.None)
	s.end(false)
	s.decided(message.None, 8)
	s.rewind()
	s.begin()
	add := s.do(func(op Op) Input { return AddOffsets{Op: op} })
	require.Equal(t, Result{}, s.done[add])
	require.Zero(t, has[*message.CommitTransactionOffsets](s))
}

func TestAMemberThatIsFencedCannotCommitPositions(t *testing.T) {
	s := pipeline(t)
	got := s.done[s.poll(2, 0)]
	add, end := s.processed(got), s.end(true)
	s.added(message.FencedMemberEpoch)
	require.Equal(t, NotOwned, s.problem(add))
	require.Equal(t, []Problem{Abortable, NotOwned}, []Problem{s.done[end].Err.Problem, s.done[end].Err.Because})
	s.end(false)
	s.decided(message.None, 8)
	s.beat(message.GroupHeartbeatReply{MemberEpoch: 2, Interval: message.Hour})
	s.begin()
	s.publish(0, "on")
	require.Equal(t, []string{"7/0 40.8:0 on"}, s.acknowledge())
}

func TestPositionsAreTriedAgain(t *testing.T) {
	s := pipeline(t)
	add := s.processed(s.done[s.poll(2, 0)])
	first := s.added(message.ConcurrentTransactions)
	s.pass(message.Second)
	require.Equal(t, first, s.added(message.None))
	require.Equal(t, OK, s.done[add].Outcome)
}

// What comes back of an earlier transaction says nothing about this one.
func TestPositionsOfAnAbortedTransactionAreNotAskedForAgain(t *testing.T) {
	s := pipeline(t)
	add := s.processed(s.done[s.poll(2, 0)])
	c, r := next[*message.CommitTransactionOffsets](s)
	s.end(false)
	s.decided(message.None, 8)
	s.begin()
	s.answer(c, message.Fail(r, message.ConcurrentTransactions, ""))
	s.pass(message.Second)
	require.Zero(t, has[*message.CommitTransactionOffsets](s))
	require.Equal(t, Abortable, s.problem(add))
	s.publish(0, "on")
	require.Equal(t, []string{"7/0 40.8:0 on"}, s.acknowledge())
	end := s.end(true)
	s.decided(message.None, 9)
	require.Equal(t, OK, s.done[end].Outcome)
}

func TestPositionsNeedAGroupThatCommitsInNoOtherWay(t *testing.T) {
	s := opened(t, nil)
	add := s.do(func(op Op) Input { return AddOffsets{Op: op} })
	require.Equal(t, Misused, s.problem(add))
	require.Equal(t, Abortable, s.problem(s.end(true)), "else the records would be committed without the positions")
	s = opened(t, nil)
	s.subscribe(func(in *Subscribe) { in.AutoCommit = true })
	require.Equal(t, Misused, s.problem(s.do(func(op Op) Input { return AddOffsets{Op: op} })))
}

// Positions that an earlier incarnation left pending are why a worker gets nothing to
// begin a transaction with: to subscribe is enough to end that one's transaction.
func TestAMemberEndsWhatAnEarlierIncarnationLeftBeforeItBegins(t *testing.T) {
	s := transactional(t, nil)
	s.subscribe(nil)
	s.metadata()
	for range 2 { // of the group, and of the transactional id
		c, _ := next[*message.FindCoordinator](s)
		s.answer(c, &message.FindCoordinatorReply{Node: 2})
	}
	c, q := next[*message.InitProducerID](s)
	require.Equal(t, "pay", q.TransactionalID)
	s.answer(c, message.Fail(q, message.ConcurrentTransactions, ""))
	s.pass(message.Second)
	c, again := next[*message.InitProducerID](s)
	require.Equal(t, q, again, "the same incarnation")
	begin := s.begin()
	require.NotContains(t, s.done, begin, "it waits for the answer")
	s.answer(c, &message.InitProducerIDReply{ID: 40, Epoch: 7})
	require.Equal(t, Result{}, s.done[begin])
}

// A position that is committed beside a transaction would skip the records behind it if
// that is aborted. When it is committed, or what was handed over is rewound, commits of
// their own are taken again.
func TestNoPositionIsCommittedBesideATransaction(t *testing.T) {
	s := pipeline(t)
	commit := func() Op { return s.do(func(op Op) Input { return Commit{Op: op} }) }
	plainly := func() *message.CommitOffsets {
		op := commit()
		c, r := next[*message.CommitOffsets](s)
		s.answer(c, message.Fail(r, message.None, ""))
		require.Equal(t, OK, s.done[op].Outcome)
		return r
	}
	s.poll(1, 0)
	s.publish(0, "of a")
	require.Equal(t, Misused, s.problem(commit()), "it is open")
	require.Equal(t, []string{"7/0 40.7:0 of a"}, s.acknowledge())
	end := s.end(true)
	require.Equal(t, Misused, s.problem(commit()), "it is not known yet")
	s.decided(message.None, 8)
	require.Equal(t, OK, s.done[end].Outcome)
	require.Equal(t, record.Offset(11), plainly().Offsets[0].Offset, "the records are committed: who wants may commit the position behind them")

	s.poll(1, 0)
	s.begin()
	s.publish(0, "of b")
	s.acknowledge()
	s.end(false)
	require.Equal(t, Misused, s.problem(commit()), "it is being aborted")
	s.decided(message.None, 9)
	require.Equal(t, Misused, s.problem(commit()), "b was made nothing of")
	s.begin()
	require.Equal(t, OK, s.done[s.end(true)].Outcome, "a commit of nothing")
	require.Equal(t, record.Offset(12), plainly().Offsets[0].Offset, "and yet a commit, after which b may be passed")

	s.poll(1, 0)
	s.begin()
	s.end(false)
	require.Equal(t, Misused, s.problem(commit()))
	s.rewind()
	require.Equal(t, Result{Offsets: []PartitionOffset{}}, s.done[commit()], "there is nothing to commit: c will come again")
	s.standsAt(12)
	s.fetched(message.FetchedPartition{HighWatermark: 14, LastStable: 14, Records: stored(10, 5, "a", "b", "c", "d")})
	require.Equal(t, []string{"orders/0 12=c"}, given(s.done[s.poll(1, 0)]))
	require.Equal(t, record.Offset(13), plainly().Offsets[0].Offset)
}

// With AutoCommit positions are no part of transactions, but the client waits for the end
// of one before it commits what may have gone into it: were it aborted, that would be
// skipped.
func TestTheClientCommitsByItselfNothingBesideATransaction(t *testing.T) {
	s := pipeline(t)
	s.subscribe(func(in *Subscribe) { in.AutoCommit = true })
	comesBack := func() { // with what the last poll gave
		s.poll(1, 0)
		for range 3 {
			s.pass(5 * message.Second)
		}
	}
	s.poll(1, 0)
	s.publish(0, "of a")
	s.acknowledge()
	comesBack()
	require.Equal(t, 0, has[*message.CommitOffsets](s), "it is open")
	end := s.end(true)
	s.decided(message.None, 8)
	require.Equal(t, OK, s.done[end].Outcome)
	s.pass(5 * message.Second)
	c, r := next[*message.CommitOffsets](s)
	require.Equal(t, record.Offset(11), r.Offsets[0].Offset, "b is in hand")
	s.answer(c, message.Fail(r, message.None, ""))

	s.begin()
	s.publish(0, "of b")
	s.acknowledge()
	comesBack()
	s.end(false)
	s.decided(message.None, 9)
	s.pass(5 * message.Second)
	require.Equal(t, 0, has[*message.CommitOffsets](s), "b was made nothing of")
	s.rewind()
	s.standsAt(11)
	s.fetched(message.FetchedPartition{HighWatermark: 14, LastStable: 14, Records: stored(10, 5, "a", "b", "c", "d")})
	require.Equal(t, []string{"orders/0 11=b"}, given(s.done[s.poll(1, 0)]))
}
