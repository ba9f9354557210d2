package client

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// readingFrom is a play whose client reads orders/0 by hand from an offset on; its
// first fetch is on its way.
func readingFrom(t *testing.T, offset record.Offset, change func(*Config), reset Reset) *play {
	s := newPlay(t, change)
	op := s.do(func(op Op) Input {
		return Assign{Op: op, Reset: reset, Partitions: []Start{{Place{"orders", 0}, Position{Kind: AtOffset, Offset: offset}}}}
	})
	require.Equal(t, Result{}, s.done[op])
	s.metadata()
	require.Equal(t, 1, has[*message.Fetch](s))
	return s
}

func (s *play) poll(max int, wait message.Duration) Op {
	return s.do(func(op Op) Input { return Poll{op, max, wait} })
}

// fetched answers the pending fetch of one partition.
func (s *play) fetched(e message.FetchedPartition) *message.Fetch {
	c, r := next[*message.Fetch](s)
	if e.ID = r.Partitions[0].ID; e.Code != message.None && e.LeaderEpoch == 0 {
		e.LeaderEpoch = record.NoLeaderEpoch
	}
	s.answer(c, &message.FetchReply{Partitions: []message.FetchedPartition{e}})
	return r
}

func TestReadingFromAnOffset(t *testing.T) {
	s := readingFrom(t, 11, nil, ResetNone)
	waiting := s.poll(2, message.Second)
	require.NotContains(t, s.done, waiting)
	r := s.fetched(message.FetchedPartition{HighWatermark: 20, LogStart: 3, Records: append(stored(10, 4, "a", "b", "c"), stored(13, 5, "d")...)})
	require.Equal(t, &message.Fetch{
		MaxWait: 500 * message.Millisecond, MinBytes: 1, MaxBytes: 8 << 20,
		Partitions: []message.FetchPartition{{ID: orders0, LeaderEpoch: 5, Offset: 11, LastEpoch: record.NoLeaderEpoch, MaxBytes: 1 << 20}},
	}, r)
	require.Equal(t, []string{"orders/0 11=b 12=c"}, given(s.done[waiting]), "a is below the position")
	d := s.done[waiting].Polled[0]
	require.Equal(t, []record.Offset{13, 20, 3}, []record.Offset{d.Next, d.HighWatermark, d.LogStart})
	require.Equal(t, record.LeaderEpoch(4), d.Records[0].LeaderEpoch)
	require.Equal(t, record.Timestamp(101), d.Records[0].Timestamp)

	_, r = next[*message.Fetch](s) // fetched ahead
	require.Equal(t, record.Offset(14), r.Partitions[0].Offset)
	require.Equal(t, record.LeaderEpoch(5), r.Partitions[0].LastEpoch)
	require.Equal(t, []string{"orders/0 13=d"}, given(s.done[s.poll(9, 0)]))
	require.Empty(t, given(s.done[s.poll(9, 0)]))
}

func TestAPollThatFindsNothingEndsEmpty(t *testing.T) {
	s := readingFrom(t, 0, nil, ResetNone)
	op := s.poll(1, message.Second)
	s.pass(999 * message.Millisecond)
	require.NotContains(t, s.done, op)
	s.pass(message.Millisecond)
	require.Equal(t, Result{}, s.done[op])
}

func TestPollsAreAnsweredInTheirOrder(t *testing.T) {
	s := readingFrom(t, 0, nil, ResetNone)
	first, second := s.poll(1, message.Second), s.poll(5, message.Second)
	s.fetched(message.FetchedPartition{Records: stored(0, 5, "a", "b")})
	require.Equal(t, []string{"orders/0 0=a"}, given(s.done[first]))
	require.Equal(t, []string{"orders/0 1=b"}, given(s.done[second]))
}

func TestWhatIsFetchedAheadIsBounded(t *testing.T) {
	s := readingFrom(t, 0, func(c *Config) { c.PrefetchBytes = 100 }, ResetNone)
	s.fetched(message.FetchedPartition{Records: stored(0, 5, "a", "b", string(make([]byte, 50)))})
	require.Equal(t, 0, has[*message.Fetch](s))
	s.poll(2, 0)
	require.Equal(t, 0, has[*message.Fetch](s))
	s.poll(2, 0)
	require.Empty(t, given(s.done[s.poll(1, 0)]))
	require.Equal(t, 1, has[*message.Fetch](s))
	require.Zero(t, s.c.consumer.buffered)
}

func TestPositionsOfEveryKind(t *testing.T) {
	for _, c := range []struct {
		from Position
		asks record.Timestamp
	}{
		{Position{Kind: AtEarliest}, message.Earliest},
		{Position{Kind: AtLatest}, message.Latest},
		{Position{Kind: AtTime, Timestamp: 1234}, 1234},
		{Position{Kind: AtCommitted}, message.Latest}, // there is no group: the reset policy
	} {
		s := newPlay(t, nil)
		s.do(func(op Op) Input {
			return Assign{Op: op, Reset: ResetLatest, Partitions: []Start{{Place{"orders", 1}, c.from}}}
		})
		s.metadata()
		call, r := next[*message.ListOffsets](s)
		require.Equal(t, message.NodeID(2), call.Node)
		require.Equal(t, []message.ListOffsetsPartition{{ID: orders1, LeaderEpoch: 5, Timestamp: c.asks}}, r.Partitions)
		s.answer(call, &message.ListOffsetsReply{Partitions: []message.ListedOffset{{ID: orders1, Offset: 70}}})
		_, f := next[*message.Fetch](s)
		require.Equal(t, record.Offset(70), f.Partitions[0].Offset)
	}
}

// A leader that has just been elected shows no log start before the in-sync set
// agrees on it. What the leader before told when it was asked for the start of
// the log still holds.
func TestTheLogStartThatWasLookedUpIsTold(t *testing.T) {
	s := newPlay(t, nil)
	s.do(func(op Op) Input {
		return Assign{Op: op, Partitions: []Start{{Place{"orders", 0}, Position{Kind: AtEarliest}}}}
	})
	s.metadata()
	call, _ := next[*message.ListOffsets](s)
	s.answer(call, &message.ListOffsetsReply{Partitions: []message.ListedOffset{{ID: orders0, Offset: 345}}})
	s.fetched(message.FetchedPartition{HighWatermark: 400, LogStart: -1, Records: stored(345, 5, "a")})
	polled := s.done[s.poll(1, 0)].Polled
	require.Len(t, polled, 1)
	require.Equal(t, record.Offset(345), polled[0].LogStart)
	require.Equal(t, record.Offset(400), polled[0].HighWatermark)
}

func TestSeekDropsWhatWasFetched(t *testing.T) {
	s := readingFrom(t, 0, nil, ResetNone)
	old, _ := next[*message.Fetch](s)
	op := s.do(func(op Op) Input { return Seek{op, Start{Place{"orders", 0}, Position{Kind: AtOffset, Offset: 50}}} })
	require.Equal(t, Result{}, s.done[op])
	s.answer(old, &message.FetchReply{Partitions: []message.FetchedPartition{{ID: orders0, Records: stored(0, 5, "old")}}})
	require.Empty(t, given(s.done[s.poll(1, 0)]))
	s.fetched(message.FetchedPartition{Records: stored(50, 5, "new")})
	require.Equal(t, []string{"orders/0 50=new"}, given(s.done[s.poll(1, 0)]))
	op = s.do(func(op Op) Input { return Seek{op, Start{Place{"orders", 2}, Position{}}} })
	require.Equal(t, NotReading, s.done[op].Err.Problem)
}

func TestPauseAndResume(t *testing.T) {
	s := readingFrom(t, 0, nil, ResetNone)
	s.do(func(op Op) Input { return Pause{Op: op} })
	s.fetched(message.FetchedPartition{Records: stored(0, 5, "a")})
	require.Empty(t, given(s.done[s.poll(1, 0)]))
	require.Equal(t, 0, has[*message.Fetch](s))
	s.do(func(op Op) Input { return Resume{op, []Place{{"orders", 0}}} })
	require.Equal(t, []string{"orders/0 0=a"}, given(s.done[s.poll(1, 0)]))
	require.Equal(t, 1, has[*message.Fetch](s))
}

func TestPartitionsTakeTurns(t *testing.T) {
	s := newPlay(t, nil)
	s.image.Topics[0].Partitions[1].Leader = 1
	s.do(func(op Op) Input {
		return Assign{Op: op, Partitions: []Start{{Place{"orders", 0}, Position{Kind: AtOffset}}, {Place{"orders", 1}, Position{Kind: AtOffset}}}}
	})
	s.metadata()
	c, r := next[*message.Fetch](s)
	require.Len(t, r.Partitions, 2, "one fetch for all that one broker leads")
	m := &message.FetchReply{}
	for _, p := range r.Partitions {
		m.Partitions = append(m.Partitions, message.FetchedPartition{ID: p.ID, Records: stored(0, 5, "a", "b", "c")})
	}
	s.answer(c, m)
	require.Equal(t, []string{"orders/0 0=a 1=b"}, given(s.done[s.poll(2, 0)]))
	require.Equal(t, []string{"orders/1 0=a 1=b"}, given(s.done[s.poll(2, 0)]))
	require.Equal(t, []string{"orders/0 2=c", "orders/1 2=c"}, given(s.done[s.poll(9, 0)]))
}

// KIP-320: after a change of leadership a position is checked before it is
// read from.
func TestANewLeaderIsAskedWhetherItHasWhatWasRead(t *testing.T) {
	s := readingFrom(t, 0, nil, ResetEarliest)
	s.fetched(message.FetchedPartition{HighWatermark: 3, Records: stored(0, 5, "a", "b", "c")})
	s.poll(9, 0)
	s.fetched(message.FetchedPartition{Code: message.NotLeaderOrFollower, Leader: 2, LeaderEpoch: 6})
	c, r := next[*message.OffsetForLeaderEpoch](s)
	require.Equal(t, message.NodeID(2), c.Node)
	require.Equal(t, []message.EpochQuestion{{ID: orders0, LeaderEpoch: 6, Epoch: 5}}, r.Partitions)
	require.Equal(t, 0, has[*message.Fetch](s))
	s.answer(c, &message.OffsetForLeaderEpochReply{Partitions: []message.EpochAnswer{{ID: orders0, Epoch: 5, End: 3}}})
	_, f := next[*message.Fetch](s)
	require.Equal(t, message.FetchPartition{ID: orders0, LeaderEpoch: 6, Offset: 3, LastEpoch: 5, MaxBytes: 1 << 20}, f.Partitions[0])
	require.Empty(t, s.told())
}

// Metadata that is older than a position names a leader that was deposed before the
// record was written that the position follows. It is asked nothing: where its log ends
// says nothing about a truncation.
func TestWithMetadataOlderThanThePositionNewerIsAskedFor(t *testing.T) {
	s := newPlay(t, nil)
	s.do(func(op Op) Input {
		return Assign{Op: op, Group: "g", Partitions: []Start{{Place{"orders", 0}, Position{Kind: AtCommitted}}}}
	})
	s.metadata()
	s.coordinator(2)
	c, _ := next[*message.FetchOffsets](s)
	s.answer(c, &message.FetchOffsetsReply{Offsets: []message.GroupOffset{{ID: orders0, Offset: 4, LeaderEpoch: 7}}})
	for _, epoch := range []record.LeaderEpoch{5, 6} {
		require.Equal(t, []int{0, 0}, []int{has[*message.OffsetForLeaderEpoch](s), has[*message.Fetch](s)}, "leader of epoch %d", epoch)
		s.pass(s.c.cfg.RetryBackoffMax)
		s.metadata()
		s.moves(0, 3, epoch+1)
	}
	s.pass(s.c.cfg.RetryBackoffMax)
	s.metadata()
	c, r := next[*message.OffsetForLeaderEpoch](s)
	require.Equal(t, message.NodeID(3), c.Node)
	require.Equal(t, []message.EpochQuestion{{ID: orders0, LeaderEpoch: 7, Epoch: 7}}, r.Partitions)
	s.answer(c, &message.OffsetForLeaderEpochReply{Partitions: []message.EpochAnswer{{ID: orders0, Epoch: 7, End: 5}}})
	s.fetched(message.FetchedPartition{HighWatermark: 5, Records: stored(4, 7, "a")})
	require.Equal(t, []string{"orders/0 4=a"}, given(s.done[s.poll(1, 0)]))
	require.Empty(t, s.told())
}

func TestATruncationIsTold(t *testing.T) {
	for _, reset := range []Reset{ResetEarliest, ResetNone} {
		s := readingFrom(t, 0, nil, reset)
		s.fetched(message.FetchedPartition{HighWatermark: 3, Records: stored(0, 5, "a", "b", "c")})
		s.poll(9, 0)
		s.fetched(message.FetchedPartition{Code: message.FencedLeaderEpoch, Leader: 2, LeaderEpoch: 6})
		c, _ := next[*message.OffsetForLeaderEpoch](s)
		s.answer(c, &message.OffsetForLeaderEpochReply{Partitions: []message.EpochAnswer{{ID: orders0, Epoch: 4, End: 1}}})
		require.Equal(t, []string{"truncated orders/0 3>1"}, s.told())
		if reset == ResetNone {
			require.Empty(t, s.calls, "it waits for a Seek")
			continue
		}
		c, _ = next[*message.OffsetForLeaderEpoch](s)
		s.answer(c, &message.OffsetForLeaderEpochReply{Partitions: []message.EpochAnswer{{ID: orders0, Epoch: 4, End: 1}}})
		s.fetched(message.FetchedPartition{HighWatermark: 2, Records: stored(1, 6, "B")})
		require.Equal(t, []string{"orders/0 1=B"}, given(s.done[s.poll(9, 0)]))
		require.Equal(t, record.Offset(2), s.done[s.op].Polled[0].HighWatermark)
	}
}

func TestADivergingFetchFirstGivesUpWhatIsNotHandedOver(t *testing.T) {
	s := readingFrom(t, 0, nil, ResetEarliest)
	s.fetched(message.FetchedPartition{HighWatermark: 3, Records: stored(0, 5, "a", "b", "c")})
	s.poll(1, 0)
	s.fetched(message.FetchedPartition{Diverging: &message.EpochEnd{Epoch: 5, End: 2}})
	require.Empty(t, s.told(), "the application has seen nothing that is not true")
	c, _ := next[*message.OffsetForLeaderEpoch](s)
	s.answer(c, &message.OffsetForLeaderEpochReply{Partitions: []message.EpochAnswer{{ID: orders0, Epoch: 5, End: 2}}})
	r := s.fetched(message.FetchedPartition{HighWatermark: 3, Records: append(stored(0, 5, "a", "b"), stored(2, 6, "C")...)})
	require.Equal(t, record.Offset(1), r.Partitions[0].Offset)
	require.Equal(t, []string{"orders/0 1=b 2=C"}, given(s.done[s.poll(9, 0)]))
}

func TestOutOfRangeFollowsThePolicy(t *testing.T) {
	s := readingFrom(t, 90, nil, ResetNone)
	s.fetched(message.FetchedPartition{Code: message.OffsetOutOfRange})
	require.ErrorIs(t, s.events[0].Err, message.OffsetOutOfRange)
	require.Equal(t, []string{"stuck orders/0"}, s.told())
	require.Empty(t, s.calls)

	s = readingFrom(t, 90, nil, ResetEarliest)
	s.fetched(message.FetchedPartition{Code: message.OffsetOutOfRange})
	c, _ := next[*message.ListOffsets](s)
	s.answer(c, &message.ListOffsetsReply{Partitions: []message.ListedOffset{{ID: orders0, Offset: 100}}})
	require.Equal(t, []string{"repositioned orders/0 90>100"}, s.told())
	_, r := next[*message.Fetch](s)
	require.Equal(t, record.Offset(100), r.Partitions[0].Offset)
}

// Out of range may mean truncated: with an epoch to ask for, that is asked
// before the policy jumps.
func TestOutOfRangeAsksForATruncationFirst(t *testing.T) {
	s := readingFrom(t, 0, nil, ResetLatest)
	s.fetched(message.FetchedPartition{HighWatermark: 3, Records: stored(0, 5, "a", "b", "c")})
	s.poll(9, 0)
	s.fetched(message.FetchedPartition{Code: message.OffsetOutOfRange})
	c, _ := next[*message.OffsetForLeaderEpoch](s)
	s.answer(c, &message.OffsetForLeaderEpochReply{Partitions: []message.EpochAnswer{{ID: orders0, Epoch: 5, End: 2}}})
	require.Equal(t, []string{"truncated orders/0 3>2"}, s.told())
}

func TestADamagedBatchIsFetchedAgain(t *testing.T) {
	s := readingFrom(t, 0, nil, ResetNone)
	bad := stored(0, 5, "a")
	bad[len(bad)-1] ^= 1
	for range maxCorrupt - 1 {
		s.fetched(message.FetchedPartition{Records: bad})
		require.Equal(t, 0, has[*message.Fetch](s))
		s.pass(message.Second)
	}
	require.Empty(t, s.told())
	s.fetched(message.FetchedPartition{Records: bad})
	require.Equal(t, []string{"stuck orders/0"}, s.told())
}

func TestControlBatchesAreNotDelivered(t *testing.T) {
	s := readingFrom(t, 0, nil, ResetNone)
	marker := stored(1, 5, "marker")
	h, err := record.DecodeHeader(marker)
	require.NoError(t, err)
	h.Attributes |= 0x20
	record.EncodeHeader(marker, &h)
	h.CRC = record.Checksum(marker)
	record.EncodeHeader(marker, &h)
	s.fetched(message.FetchedPartition{Records: append(append(stored(0, 5, "a"), marker...), stored(2, 5, "b")...)})
	require.Equal(t, []string{"orders/0 0=a 2=b"}, given(s.done[s.poll(9, 0)]))
}

func TestAReplyOfAnEarlierLeaderIsNotTakenTwice(t *testing.T) {
	s := readingFrom(t, 0, nil, ResetNone)
	slow, r := next[*message.Fetch](s)
	s.moves(0, 2, 6)
	s.do(func(op Op) Input { return Publish{Op: op, Topic: "new"} }) // has the metadata asked for
	s.pass(message.Second)
	s.metadata()
	require.Equal(t, 1, has[*message.Fetch](s), "the new leader is read at once")
	s.fetched(message.FetchedPartition{Records: stored(0, 5, "a")})
	s.answer(slow, &message.FetchReply{Partitions: []message.FetchedPartition{{ID: r.Partitions[0].ID, Records: stored(0, 5, "a")}}})
	require.Equal(t, []string{"orders/0 0=a"}, given(s.done[s.poll(9, 0)]))
}

func TestMetadataNeverGoesBack(t *testing.T) {
	s := readingFrom(t, 0, nil, ResetNone)
	old := s.image
	s.fetched(message.FetchedPartition{Code: message.NotLeaderOrFollower, Leader: 2, LeaderEpoch: 6})
	c, _ := next[*message.Fetch](s)
	require.Equal(t, message.NodeID(2), c.Node)
	old.Version--
	s.answer(c, message.Fail(c.Request.(*message.Fetch), message.NotLeaderOrFollower, ""))
	s.pass(message.Second)
	c, _ = next[*message.Metadata](s)
	s.answer(c, &old) // of a broker that lags behind
	s.pass(message.Second)
	c, _ = next[*message.Fetch](s)
	require.Equal(t, message.NodeID(2), c.Node)
	require.Equal(t, 1, has[*message.Metadata](s), "another broker is asked")
}

func TestATopicThatDoesNotExistIsTold(t *testing.T) {
	s := newPlay(t, nil)
	s.do(func(op Op) Input { return Assign{Op: op, Partitions: []Start{{Place: Place{"nope", 0}}}} })
	for range 40 {
		if has[*message.Metadata](s) > 0 {
			s.metadata()
		}
		s.pass(message.Second / 3)
	}
	require.Equal(t, []string{"stuck nope/0"}, s.told())
}

func TestMisuseIsExplained(t *testing.T) {
	s := newPlay(t, nil)
	for _, in := range []Input{
		Poll{Op: 101}, Commit{Op: 102}, Committed{Op: 103}, Subscribe{Op: 104}, Subscribe{Op: 105, Group: "g"},
		Subscribe{Op: 106, Group: "g", Topics: []string{"t"}, Style: AtMostOnce, AutoCommit: true},
		Assign{Op: 107, Partitions: []Start{{}}}, Seek{Op: 108}, Pause{Op: 109, Partitions: []Place{{}}}, Ask{Op: 110}, Publish{Op: 111},
	} {
		s.step(in)
	}
	for op := Op(101); op <= 111; op++ {
		require.Equal(t, NotDone, s.done[op].Outcome, "%d", op)
		require.NotEmpty(t, s.done[op].Err.Error())
	}
	require.Empty(t, s.calls)
}

// A reader that asks for little at a time goes on asking while the application is busy,
// or it is given that little with each poll, however much there is.
func TestSmallFetchesAreFetchedAheadToo(t *testing.T) {
	s := readingFrom(t, 0, func(c *Config) { c.PartitionFetchBytes = 1 }, ResetNone)
	for i := range 50 {
		s.fetched(message.FetchedPartition{HighWatermark: 50, Records: stored(record.Offset(i), 5, "a")})
	}
	require.Len(t, s.done[s.poll(100, 0)].Polled[0].Records, 50)
}

// twoOfOneBroker is a play whose client reads two partitions that one broker leads.
func twoOfOneBroker(t *testing.T, change func(*Config)) *play {
	s := newPlay(t, change)
	s.image.Topics[0].Partitions[1].Leader = 1
	s.do(func(op Op) Input {
		return Assign{Op: op, Partitions: []Start{{Place{"orders", 0}, Position{Kind: AtOffset}}, {Place{"orders", 1}, Position{Kind: AtOffset}}}}
	})
	s.metadata()
	return s
}

// both answers the fetch of both partitions: records of the first, none of the other.
func (s *play) both(records []byte) {
	c, r := next[*message.Fetch](s)
	m := &message.FetchReply{}
	for _, p := range r.Partitions {
		e := message.FetchedPartition{ID: p.ID}
		if p.ID == orders0 {
			e.Records, e.HighWatermark = records, 3
		}
		m.Partitions = append(m.Partitions, e)
	}
	s.answer(c, m)
}

func TestPartitionsShareWhatIsFetchedAhead(t *testing.T) {
	one := stored(0, 5, "a")
	s := twoOfOneBroker(t, func(c *Config) { c.PrefetchBytes = 2 * int64(len(one)) })
	s.both(one)
	_, r := next[*message.Fetch](s)
	require.Equal(t, []message.FetchPartition{{ID: orders1, LeaderEpoch: 5, LastEpoch: record.NoLeaderEpoch, MaxBytes: 1 << 20}}, r.Partitions)
	require.Equal(t, int32(len(one)), r.MaxBytes)
}

func TestWhatIsPausedDoesNotTakeTheRoomOfOthers(t *testing.T) {
	s := twoOfOneBroker(t, func(c *Config) { c.PrefetchBytes = 100 })
	s.do(func(op Op) Input { return Pause{op, []Place{{"orders", 0}}} })
	s.both(stored(0, 5, "a", string(make([]byte, 100))))
	r := s.fetched(message.FetchedPartition{Records: stored(0, 5, "other")})
	require.Len(t, r.Partitions, 1)
	require.Equal(t, orders1, r.Partitions[0].ID)
	require.Equal(t, []string{"orders/1 0=other"}, given(s.done[s.poll(9, 0)]))
	s.do(func(op Op) Input { return Resume{Op: op} })
	require.Empty(t, given(s.done[s.poll(9, 0)]), "it is fetched again")
}

// A position beyond the log is looked into once all that was fetched is handed over.
// When that turns out to be another history, nothing is left to be handed over.
func TestWhatWasFetchedAheadIsGivenUpWhileItIsHandedOver(t *testing.T) {
	s := readingFrom(t, 0, nil, ResetNone)
	s.fetched(message.FetchedPartition{Records: stored(0, 4, "a", "b")})
	s.fetched(message.FetchedPartition{Code: message.OffsetOutOfRange})
	require.Equal(t, 0, has[*message.Fetch](s), "what is there comes first")
	s.moves(0, 2, 6)
	s.do(func(op Op) Input { return Publish{Op: op, Topic: "new"} }) // has the metadata asked for
	s.pass(message.Second)
	s.metadata()
	c, _ := next[*message.OffsetForLeaderEpoch](s)
	s.answer(c, &message.OffsetForLeaderEpochReply{Partitions: []message.EpochAnswer{{ID: orders0, Epoch: 4, End: 1}}})
	r := s.fetched(message.FetchedPartition{Records: stored(0, 4, "a")})
	require.Equal(t, record.Offset(0), r.Partitions[0].Offset)
	require.Equal(t, []string{"orders/0 0=a"}, given(s.done[s.poll(9, 0)]))
}

// A fetch that the broker holds back, as one partition has nothing, holds no other up.
func TestAFetchThatIsHeldBackHoldsNoOtherUp(t *testing.T) {
	one := stored(0, 5, "a")
	s := twoOfOneBroker(t, func(c *Config) { c.PrefetchBytes = 2 * int64(len(one)) })
	more := func(at, high record.Offset) {
		r := s.fetched(message.FetchedPartition{HighWatermark: high, Records: stored(at, 5, "a")})
		require.Equal(t, message.Duration(0), r.MaxWait, "it may not be held back either")
		require.Equal(t, []message.FetchPartition{{ID: orders0, LeaderEpoch: 5, Offset: at, LastEpoch: 5, MaxBytes: 1 << 20}}, r.Partitions)
	}
	s.both(one)
	held, r := next[*message.Fetch](s)
	require.Len(t, r.Partitions, 1, "there is enough of the first, for now")
	require.Equal(t, 500*message.Millisecond, r.MaxWait)

	require.Equal(t, []string{"orders/0 0=a"}, given(s.done[s.poll(9, 0)]))
	require.Empty(t, given(s.done[s.poll(9, 0)]))
	more(1, 3)
	require.Equal(t, []string{"orders/0 1=a"}, given(s.done[s.poll(9, 0)]))
	require.Empty(t, given(s.done[s.poll(9, 0)]))
	more(2, 3)
	require.Equal(t, []string{"orders/0 2=a"}, given(s.done[s.poll(9, 0)]))
	require.Empty(t, given(s.done[s.poll(9, 0)]))
	require.Equal(t, 0, has[*message.Fetch](s), "that was all: it waits with the other")
	s.answer(held, &message.FetchReply{Partitions: []message.FetchedPartition{{ID: orders1}}})
	_, r = next[*message.Fetch](s)
	require.Len(t, r.Partitions, 2)
	require.Equal(t, 0, has[*message.Fetch](s))
}

// Neither does one that was sent before a Seek.
func TestAfterASeekNobodyWaitsForTheFetchBefore(t *testing.T) {
	s := readingFrom(t, 0, nil, ResetNone)
	old, _ := next[*message.Fetch](s)
	s.do(func(op Op) Input { return Seek{op, Start{Place{"orders", 0}, Position{Kind: AtOffset, Offset: 50}}} })
	c, r := next[*message.Fetch](s)
	require.Equal(t, record.Offset(50), r.Partitions[0].Offset)
	require.Equal(t, message.Duration(0), r.MaxWait)
	s.answer(c, &message.FetchReply{Partitions: []message.FetchedPartition{{ID: orders0, HighWatermark: 50}}})
	require.Equal(t, 0, has[*message.Fetch](s), "there is nothing: it does not ask again and again")
	s.answer(old, &message.FetchReply{Partitions: []message.FetchedPartition{{ID: orders0, Records: stored(0, 5, "old")}}})
	_, r = next[*message.Fetch](s)
	require.Equal(t, record.Offset(50), r.Partitions[0].Offset)
	require.Equal(t, 500*message.Millisecond, r.MaxWait)
	require.Empty(t, given(s.done[s.poll(1, 0)]))
}

// The checksum of a batch does not cover where it stands: what stands nowhere is as
// unreadable as what is damaged, and is not asked for again at once.
func TestABatchBelowAllOffsetsIsUnreadable(t *testing.T) {
	s := readingFrom(t, 0, nil, ResetNone)
	b := stored(0, 5, "a")
	binary.BigEndian.PutUint64(b, ^uint64(9))
	s.fetched(message.FetchedPartition{Records: b})
	require.Equal(t, 1, s.c.consumer.list[0].corrupt)
	require.Zero(t, has[*message.Fetch](s))
}
