package log_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/log"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

const p, q record.ProducerID = 7, 8

func accepted() log.Verdict { return log.Verdict{Outcome: log.Accepted} }
func refused(c message.Code) log.Verdict {
	return log.Verdict{Outcome: log.Refused, Code: c}
}
func duplicate(base, end record.Offset) log.Verdict {
	return log.Verdict{Outcome: log.Duplicate, Base: base, End: end}
}

// seven batches of two records of p in epoch 3, at 0, 2, ... 12.
func seven() *log.Log {
	l := log.New(0)
	for i := range 7 {
		l.Append(ptr(from(plain(record.Offset(2*i), 2, 1), p, 3, record.Sequence(2*i))))
	}
	return l
}

func TestCheck(t *testing.T) {
	l := seven()
	with := func(a record.Attributes) *record.Header {
		h := from(plain(0, 2, 0), p, 3, 14)
		h.Attributes = a
		return &h
	}
	for _, c := range []struct {
		name  string
		batch *record.Header
		want  log.Verdict
	}{
		{"no producer", ptr(plain(0, 2, 0)), accepted()},
		{"the next sequence", ptr(from(plain(0, 2, 0), p, 3, 14)), accepted()},
		{"a gap", ptr(from(plain(0, 2, 0), p, 3, 15)), refused(message.OutOfOrderSequence)},
		{"the newest again", ptr(from(plain(0, 2, 0), p, 3, 12)), duplicate(12, 14)},
		{"the fifth newest again", ptr(from(plain(0, 2, 0), p, 3, 4)), duplicate(4, 6)},
		{"older than what is remembered", ptr(from(plain(0, 2, 0), p, 3, 2)), refused(message.OutOfOrderSequence)},
		{"other bounds than were appended", ptr(from(plain(0, 1, 0), p, 3, 12)), refused(message.OutOfOrderSequence)},
		{"an older epoch", ptr(from(plain(0, 2, 0), p, 2, 14)), refused(message.InvalidProducerEpoch)},
		{"an older epoch from its start", ptr(from(plain(0, 2, 0), p, 2, 0)), refused(message.InvalidProducerEpoch)},
		{"a newer epoch from its start", ptr(from(plain(0, 2, 0), p, 4, 0)), accepted()},
		{"a newer epoch later", ptr(from(plain(0, 2, 0), p, 4, 14)), refused(message.OutOfOrderSequence)},
		{"an unknown producer from its start", ptr(from(plain(0, 2, 0), q, 9, 0)), accepted()},
		{"an unknown producer later", ptr(from(plain(0, 2, 0), q, 9, 1)), refused(message.UnknownProducerID)},
		{"a negative epoch", ptr(from(plain(0, 2, 0), p, -1, 14)), refused(message.InvalidRequest)},
		{"a negative sequence", ptr(from(plain(0, 2, 0), p, 3, -1)), refused(message.InvalidRequest)},
		{"a negative producer", ptr(from(plain(0, 2, 0), -2, 3, 0)), refused(message.InvalidRequest)},
		{"a transaction in an epoch that is not one of transactions", with(0x10), refused(message.InvalidTxnState)},
		{"a marker", with(0x30), refused(message.InvalidRequest)},
		{"an append time", with(0x08), refused(message.InvalidRequest)},
		{"a compressed batch", with(0x04), accepted()},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := l.Digest()
			require.Equal(t, c.want, l.Check(c.batch))
			require.Equal(t, before, l.Digest(), "Check changes nothing")
		})
	}
}

func TestSequencesWrap(t *testing.T) {
	// To come near the wrap without 2^31 records: one batch of nearly all.
	l := log.New(0)
	l.Append(ptr(from(record.Header{LeaderEpoch: 1, LastOffsetDelta: math.MaxInt32 - 1, Length: 100}, p, 0, 0)))
	over := from(plain(l.End(), 3, 1), p, 0, math.MaxInt32) // 2^31-1, 0, 1
	require.Equal(t, accepted(), l.Check(&over))
	l.Append(&over)
	require.Equal(t, duplicate(math.MaxInt32, math.MaxInt32+3), l.Check(&over))
	require.Equal(t, accepted(), l.Check(ptr(from(plain(0, 1, 0), p, 0, 2))))
	require.Equal(t, refused(message.OutOfOrderSequence), l.Check(ptr(from(plain(0, 1, 0), p, 0, 0))))
}

func TestSequencesBelongToTheirEpoch(t *testing.T) {
	l := filled(from(plain(0, 2, 1), p, 0, 0), from(plain(2, 2, 1), p, 1, 0))
	require.Equal(t, duplicate(2, 4), l.Check(ptr(from(plain(0, 2, 0), p, 1, 0))), "not the batch of epoch 0")
	require.Equal(t, refused(message.InvalidProducerEpoch), l.Check(ptr(from(plain(0, 2, 0), p, 0, 0))))
}

func TestANewEpochAfterAFullRoundOfSequences(t *testing.T) {
	l := log.New(0)
	l.Append(ptr(from(record.Header{LeaderEpoch: 1, LastOffsetDelta: math.MaxInt32 - 1, Length: 100}, p, 0, 1)))
	fresh := from(plain(l.End(), 3, 1), p, 1, 0) // the sequence that epoch 0 would have gone on with
	require.Equal(t, accepted(), l.Check(&fresh))
	l.Append(&fresh)
	require.Equal(t, refused(message.InvalidProducerEpoch), l.Check(ptr(from(plain(0, 3, 1), p, 0, 3))))
	require.Equal(t, refused(message.OutOfOrderSequence), l.Check(ptr(from(record.Header{LastOffsetDelta: math.MaxInt32 - 1}, p, 1, 1))))
}

// Five batches in flight, all written, no answer seen, a new leader.
func TestAFollowerAnswersTheRetriesOfFive(t *testing.T) {
	follower := log.New(0)
	for i := range 5 {
		follower.Append(ptr(from(plain(record.Offset(i), 1, 1), p, 0, record.Sequence(i))))
	}
	follower.BeginEpoch(2)
	for i := range 5 {
		retry := from(plain(0, 1, record.NoLeaderEpoch), p, 0, record.Sequence(i))
		require.Equal(t, duplicate(record.Offset(i), record.Offset(i+1)), follower.Check(&retry))
	}
}

func TestTruncationRollsProducersBack(t *testing.T) {
	l := seven()
	l.Settle(4)
	l.Append(ptr(from(plain(14, 2, 2), p, 4, 0)))
	l.Append(ptr(from(plain(16, 2, 2), q, 0, 0)))
	require.Equal(t, 2, l.Producers())

	l.Truncate(13) // the batch at 12 goes as well

	require.Equal(t, 1, l.Producers(), "q never wrote anything")
	require.Equal(t, accepted(), l.Check(ptr(from(plain(0, 2, 0), p, 3, 12))))
	require.Equal(t, duplicate(2, 4), l.Check(ptr(from(plain(0, 2, 0), p, 3, 2))), "remembered again")

	l.Truncate(4)
	require.Equal(t, accepted(), l.Check(ptr(from(plain(0, 2, 0), p, 3, 4))))
	require.Equal(t, duplicate(0, 2), l.Check(ptr(from(plain(0, 2, 0), p, 3, 0))))
}

func TestProducersOutliveTheirRecords(t *testing.T) {
	l := seven()
	l.Settle(14)
	l.TrimPrefix(14)
	check := func(l *log.Log) {
		require.Equal(t, duplicate(12, 14), l.Check(ptr(from(plain(0, 2, 0), p, 3, 12))))
		require.Equal(t, refused(message.InvalidProducerEpoch), l.Check(ptr(from(plain(0, 2, 0), p, 2, 0))), "the fenced stay fenced")
		require.Equal(t, accepted(), l.Check(ptr(from(plain(0, 2, 0), p, 3, 14))))
	}
	check(l)

	at, state := l.Checkpoint()
	restored, err := log.Restore(effect.RecoveredLog{Start: 14, End: 14, Checkpoint: state, CheckpointAt: at})
	require.NoError(t, err)
	check(restored)

	behind := log.New(0) // a follower that was away while the records were there
	require.NoError(t, behind.Inherit(14, l.CarryOver()))
	check(behind)
	require.Equal(t, l.Digest(), behind.Digest())
}

// The leader's log starts inside a batch: the follower gets that batch whole.
func TestInheritBeforeABatchThatReachesOverTheStart(t *testing.T) {
	first := from(plain(10, 2, 2), p, 3, 10) // and the first of a leadership
	second := from(plain(12, 2, 2), p, 3, 12)
	leader := seven()
	leader.Truncate(10)
	leader.Append(&first)
	leader.Append(&second)
	leader.Settle(14)
	leader.TrimPrefix(11)

	follower := log.New(0)
	follower.Reset(11)
	require.ErrorIs(t, follower.Fits(&first), log.ErrNotAtEnd)
	require.NoError(t, follower.Inherit(10, leader.CarryOver()))
	require.Equal(t, record.NoLeaderEpoch, follower.LastEpoch(), "its first record is still to come")
	at, state := follower.Checkpoint()
	follower.Append(&first)
	follower.Append(&second)
	follower.TrimPrefix(11)
	require.Equal(t, leader.Digest(), follower.Digest())
	require.Empty(t, follower.Differs(leader, 0))

	restored, err := log.Restore(effect.RecoveredLog{Start: 11, End: 14, Checkpoint: state, CheckpointAt: at,
		Headers: []record.Header{first, second}})
	require.NoError(t, err)
	require.Equal(t, leader.Digest(), restored.Digest(), "and a crash loses nothing of it")
}

func TestInheritRefuses(t *testing.T) {
	leader := seven()
	leader.Settle(14)
	leader.TrimPrefix(14)
	before := leader.Digest()
	for what, err := range map[string]error{
		"made for another start": leader.Inherit(15, leader.CarryOver()),
		"noise":                  leader.Inherit(14, []byte("noise")),
	} {
		require.ErrorIs(t, err, log.ErrCheckpoint, what)
	}
	require.Equal(t, before, leader.Digest(), "nothing has changed")
	require.ErrorIs(t, log.CheckCarryOver(15, leader.CarryOver()), log.ErrCheckpoint)
	require.NoError(t, log.CheckCarryOver(14, leader.CarryOver()))
}

func TestIdleProducersExpire(t *testing.T) {
	const idle = 10 * message.Minute
	now := message.Time(5)
	after := func(d message.Duration) message.Time { now = now.Add(d); return now }
	l := filled(from(plain(0, 1, 1), p, 0, 0), from(plain(1, 1, 1), q, 0, 0))

	require.Zero(t, l.ExpireProducers(after(0), idle), "idle time is counted from here")
	require.Zero(t, l.ExpireProducers(after(9*message.Minute), idle))
	l.Append(ptr(from(plain(2, 1, 1), q, 0, 1)))
	require.Zero(t, l.ExpireProducers(after(2*message.Minute), idle), "p has a batch that may be rolled back")
	l.Settle(3)
	require.Equal(t, 1, l.ExpireProducers(after(0), idle))

	require.Equal(t, refused(message.UnknownProducerID), l.Check(ptr(from(plain(0, 1, 0), p, 0, 1))))
	require.Equal(t, accepted(), l.Check(ptr(from(plain(0, 1, 0), q, 0, 2))))
	require.Zero(t, l.ExpireProducers(after(10*message.Minute-1), idle))
	require.Equal(t, 1, l.ExpireProducers(after(1), idle))
	require.Zero(t, l.Producers())
}

func TestIdleTimeGoesOnAcrossRestarts(t *testing.T) {
	const idle = 10 * message.Minute
	l := filled(from(plain(0, 1, 1), p, 0, 0))
	l.Settle(1)
	l.ExpireProducers(0, idle)
	l.ExpireProducers(message.Time(7*message.Minute), idle)
	at, state := l.Checkpoint()
	restored, err := log.Restore(effect.RecoveredLog{End: 1, Checkpoint: state, CheckpointAt: at})
	require.NoError(t, err)
	require.Zero(t, restored.ExpireProducers(999, idle), "the new clock starts anywhere")
	require.Zero(t, restored.ExpireProducers(message.Time(999).Add(2*message.Minute), idle))
	require.Equal(t, 1, restored.ExpireProducers(message.Time(999).Add(3*message.Minute), idle))
}

// A leader has forgotten a producer and a follower has not: the producer's next
// batch makes them agree.
func TestReplicasAgreeAfterAnExpiry(t *testing.T) {
	leader, follower := filled(from(plain(0, 1, 1), p, 0, 0)), filled(from(plain(0, 1, 1), p, 0, 0))
	leader.Settle(1)
	leader.ExpireProducers(0, message.Second)
	require.Equal(t, 1, leader.ExpireProducers(message.Time(2*message.Second), message.Second))

	fresh := from(plain(1, 1, 1), p, 1, 0)
	require.Equal(t, accepted(), leader.Check(&fresh))
	leader.Append(&fresh)
	follower.Append(&fresh)
	require.Equal(t, leader.Digest(), follower.Digest())
}

// One replica has forgotten a producer that its leader lets go on.
func TestAFollowerThatForgotAProducerKnowsItByItsLastBatches(t *testing.T) {
	follower, leader := seven(), seven()
	follower.Settle(follower.End())
	follower.ExpireProducers(0, message.Minute)
	follower.ExpireProducers(message.Time(message.Second), message.Minute)
	require.Equal(t, 1, follower.ExpireProducers(message.Time(2*message.Minute), message.Minute))
	next := from(plain(14, 2, 1), p, 3, 14)
	follower.Append(&next)
	leader.Append(&next)
	require.Empty(t, follower.Differs(leader, 0))
	require.Equal(t, duplicate(14, 16), follower.Check(&next))
	require.NotEmpty(t, leader.Differs(follower, 0), "this one has forgotten nothing")
}
