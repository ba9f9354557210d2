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

// plain is a batch without a producer: count records of 100 bytes at base.
func plain(base record.Offset, count int32, epoch record.LeaderEpoch) record.Header {
	return record.Header{
		BaseOffset: base, Length: 100*count - 12, LeaderEpoch: epoch, LastOffsetDelta: count - 1, Count: count,
		ProducerID: record.NoProducerID, ProducerEpoch: record.NoProducerEpoch, BaseSequence: record.NoSequence,
	}
}

// from makes a batch that of a producer.
func from(h record.Header, id record.ProducerID, epoch record.ProducerEpoch, seq record.Sequence) record.Header {
	h.ProducerID, h.ProducerEpoch, h.BaseSequence = id, epoch, seq
	return h
}

func at(h record.Header, latest record.Timestamp) record.Header {
	h.MaxTimestamp = latest
	return h
}

func filled(batches ...record.Header) *log.Log {
	l := log.New(batches[0].BaseOffset)
	for i := range batches {
		l.Append(&batches[i])
	}
	return l
}

func end(e record.LeaderEpoch, o record.Offset) message.EpochEnd {
	return message.EpochEnd{Epoch: e, End: o}
}

// cut is where a follower truncates after a leader's answer (KIP-279).
func cut(leader, follower *log.Log) record.Offset {
	answer := leader.EndOf(follower.LastEpoch())
	return min(answer.End, follower.EndOf(answer.Epoch).End)
}

func TestANewLogIsEmpty(t *testing.T) {
	l := log.New(50)
	require.Equal(t, record.Offset(50), l.Start())
	require.Equal(t, record.Offset(50), l.End())
	require.Equal(t, record.Offset(50), l.Settled())
	require.Equal(t, record.NoLeaderEpoch, l.LastEpoch())
	require.Equal(t, end(record.NoLeaderEpoch, 50), l.EndOf(3))
	require.Equal(t, record.NoLeaderEpoch, l.EpochAt(50))
	require.Zero(t, l.Bytes())
	require.Zero(t, l.Producers())
}

func TestEndOfNamesTheLargestEpochNotAbove(t *testing.T) {
	l := filled(plain(0, 10, 1), plain(10, 5, 1), plain(15, 5, 4), plain(20, 1, 6))
	for asked, want := range map[record.LeaderEpoch]message.EpochEnd{
		-1: end(-1, 0), 0: end(-1, 0), 1: end(1, 15), 2: end(1, 15), 3: end(1, 15),
		4: end(4, 20), 5: end(4, 20), 6: end(6, 21), 7: end(6, 21),
	} {
		require.Equal(t, want, l.EndOf(asked), "epoch %d", asked)
	}
	for offset, want := range map[record.Offset]record.LeaderEpoch{0: 1, 14: 1, 15: 4, 20: 6, 21: 6, 99: 6} {
		require.Equal(t, want, l.EpochAt(offset), "offset %d", offset)
	}
}

// KAFKA-7415: elected twice with no record in between, a leader must still be
// able to say where a follower's foreign epoch ends.
func TestAnElectionCountsWithoutARecord(t *testing.T) {
	leader := filled(plain(0, 10, 1))
	follower := filled(plain(0, 10, 1), plain(10, 2, 2)) // 10 and 11 were copied by nobody

	leader.BeginEpoch(3)

	require.Equal(t, end(3, 10), leader.EndOf(3))
	require.Equal(t, end(1, 10), leader.EndOf(2))
	require.Equal(t, record.LeaderEpoch(1), leader.LastEpoch(), "the last record is still one of epoch 1")
	require.Equal(t, record.Offset(10), cut(leader, follower))

	leader.BeginEpoch(5)
	h := plain(10, 1, 5)
	leader.Append(&h)
	leader.BeginEpoch(5)
	require.Equal(t, end(1, 10), leader.EndOf(4), "epoch 3 left no record")
	require.Equal(t, end(5, 11), leader.EndOf(5))
	require.Equal(t, record.Offset(10), leader.Truncate(10))
	require.Equal(t, end(1, 10), leader.EndOf(5), "a deposed leader has only the epochs of its records")
}

func TestABegunEpochEndsWithTheLeadership(t *testing.T) {
	deposed := filled(plain(0, 10, 1))
	deposed.BeginEpoch(3)
	require.Equal(t, record.Offset(10), deposed.Truncate(10))
	require.Equal(t, end(1, 10), deposed.EndOf(3))

	deposed.BeginEpoch(4)
	deposed.Append(ptr(plain(10, 1, 5))) // as a follower of another leader
	require.Equal(t, end(1, 10), deposed.EndOf(4))
	require.Equal(t, end(5, 11), deposed.EndOf(5))
}

// KIP-279: after quick elections the answer for an epoch that the leader never
// held must not let the follower keep records that the leader never had.
func TestAnUnknownEpochIsAnsweredWithTheOneBelow(t *testing.T) {
	leader := filled(plain(0, 10, 1), plain(10, 5, 1), plain(15, 6, 3))
	follower := filled(plain(0, 10, 1), plain(10, 10, 2))

	require.Equal(t, end(1, 15), leader.EndOf(follower.LastEpoch()))
	require.Equal(t, record.Offset(10), cut(leader, follower))

	require.Equal(t, record.Offset(10), follower.Truncate(10))
	require.Equal(t, record.LeaderEpoch(1), follower.LastEpoch())
	require.Equal(t, end(1, 10), follower.EndOf(2))
}

func TestTruncateKeepsWholeBatches(t *testing.T) {
	l := filled(plain(0, 10, 1), plain(10, 10, 2), plain(20, 10, 3))
	require.Equal(t, record.Offset(30), l.Truncate(99))
	require.Equal(t, record.Offset(20), l.Truncate(25), "a batch that reaches beyond goes as a whole")
	require.Equal(t, record.LeaderEpoch(2), l.LastEpoch())
	require.Equal(t, int64(2000), l.Bytes())

	l.Settle(19) // inside the second batch: only the first is decided
	require.Equal(t, record.Offset(10), l.Settled())
	require.True(t, l.CanTruncate(10))
	require.False(t, l.CanTruncate(9))
	require.PanicsWithValue(t, "log: truncation to 9 is below the settled point 10", func() { l.Truncate(9) })
	require.Equal(t, record.Offset(10), l.Truncate(10))
}

func TestTrimPrefixForgetsEpochsButKnowsTheLast(t *testing.T) {
	l := filled(plain(0, 10, 1), plain(10, 10, 2), plain(20, 10, 3))
	l.Settle(30)
	l.TrimPrefix(15)
	require.Equal(t, end(-1, 15), l.EndOf(1), "epoch 1 has no record left")
	require.Equal(t, end(2, 20), l.EndOf(2))
	l.TrimPrefix(12)
	require.Equal(t, record.Offset(15), l.Start(), "the start never falls")
	l.TrimPrefix(20)
	require.Equal(t, end(2, 20), l.EndOf(2), "a follower at 20 has a last record of epoch 2, and is right")
	require.Equal(t, end(-1, 20), l.EndOf(1))
	l.TrimPrefix(30)
	require.Equal(t, record.LeaderEpoch(3), l.LastEpoch(), "of the record before the empty log")
	require.Equal(t, end(3, 30), l.EndOf(3))
	require.Zero(t, l.Bytes())
	require.PanicsWithValue(t, "log: start 31 would be above the end 30", func() { l.TrimPrefix(31) })
	h := plain(30, 1, 2)
	require.ErrorIs(t, l.Fits(&h), log.ErrEpochFalls)
}

func TestWhatIsTrimmedIsDecided(t *testing.T) {
	l := filled(plain(0, 10, 1), plain(10, 10, 2), plain(20, 10, 3))
	l.TrimPrefix(15)
	require.Equal(t, record.Offset(20), l.Settled(), "with the batch that start lies in")
	require.False(t, l.CanTruncate(19))
	require.Equal(t, int64(3000), l.Bytes())
}

func TestWhatDoesNotFitIsNotAppended(t *testing.T) {
	l := filled(plain(0, 10, 4))
	for _, c := range []struct {
		batch record.Header
		want  error
	}{
		{plain(10, 1, 4), nil}, {plain(10, 1, 9), nil},
		{plain(9, 1, 4), log.ErrNotAtEnd}, {plain(11, 1, 4), log.ErrNotAtEnd}, {plain(10, 0, 4), log.ErrNotAtEnd},
		{plain(10, 1, 3), log.ErrEpochFalls}, {plain(10, 1, -1), log.ErrEpochFalls},
	} {
		if c.want == nil {
			require.NoError(t, l.Fits(&c.batch))
			continue
		}
		require.ErrorIs(t, l.Fits(&c.batch), c.want)
		require.Panics(t, func() { l.Append(&c.batch) })
	}
	require.ErrorIs(t, log.New(0).Fits(ptr(plain(0, 1, -1))), log.ErrEpochFalls, "a leader stamps its epoch")
	require.Panics(t, func() { l.BeginEpoch(3) })
}

func ptr(h record.Header) *record.Header { return &h }

func TestResetLeavesNothing(t *testing.T) {
	l := filled(from(plain(0, 10, 1), 7, 0, 0))
	l.Settle(10)
	l.BeginEpoch(4)
	l.Reset(100)
	require.Equal(t, log.New(100).Digest(), l.Digest())
	require.Equal(t, end(-1, 100), l.EndOf(9))
	require.Zero(t, l.Producers())
	require.Zero(t, l.Bytes())
}

// A node dies with a checkpoint behind its log end, and again with the
// checkpoint that it took after recovery (KAFKA-5249: one crash more must not
// skip or repeat records).
func TestTwoCrashesInARow(t *testing.T) {
	batches := []record.Header{from(plain(0, 2, 1), 7, 0, 0), from(plain(2, 2, 1), 7, 0, 2), from(plain(4, 2, 2), 7, 0, 4)}
	live := filled(batches...)
	live.Settle(2)
	at, state := live.Checkpoint()
	require.Equal(t, record.Offset(2), at)

	once, err := log.Restore(effect.RecoveredLog{End: 6, Checkpoint: state, CheckpointAt: at,
		HighWatermark: 4, Headers: batches[1:]})
	require.NoError(t, err)
	require.Equal(t, record.Offset(4), once.Settled(), "what the stored high watermark covers is decided")
	at, state = once.Checkpoint()
	require.Equal(t, record.Offset(4), at)

	twice, err := log.Restore(effect.RecoveredLog{End: 6, Checkpoint: state, CheckpointAt: at,
		HighWatermark: 4, Headers: batches[2:]})
	require.NoError(t, err)
	require.Equal(t, live.Digest(), twice.Digest())
	require.Empty(t, twice.Differs(live, 0))
	require.Equal(t, live.Bytes(), twice.Bytes())
	require.Equal(t, log.Verdict{Outcome: log.Duplicate, Base: 0, End: 2}, twice.Check(ptr(from(plain(0, 2, 9), 7, 0, 0))))
}

func TestRestoreWhereRetentionPassedTheCheckpoint(t *testing.T) {
	l := filled(from(plain(0, 10, 1), 7, 0, 0), plain(10, 10, 2), plain(20, 10, 3))
	l.Settle(10)
	at, state := l.Checkpoint()
	restored, err := log.Restore(effect.RecoveredLog{Start: 25, End: 30, Checkpoint: state, CheckpointAt: at,
		Headers: []record.Header{plain(20, 10, 3)}})
	require.NoError(t, err)
	require.Equal(t, int64(1000), restored.Bytes(), "the chunks of the checkpoint are gone")
	require.Equal(t, 1, restored.Producers())
	require.Equal(t, record.Offset(30), restored.Settled())
}

func TestRestoreRefusesWhatDoesNotFit(t *testing.T) {
	l := filled(from(plain(0, 10, 1), 7, 0, 0), plain(10, 10, 2))
	l.Settle(10)
	_, state := l.Checkpoint()
	torn := append([]byte(nil), state...)
	torn[len(torn)/2] ^= 1
	for _, c := range []struct {
		name  string
		found effect.RecoveredLog
		want  error
	}{
		{"as it should be", effect.RecoveredLog{End: 20, Checkpoint: state, CheckpointAt: 10, Headers: []record.Header{plain(10, 10, 2)}}, nil},
		{"headers from further below", effect.RecoveredLog{End: 20, Checkpoint: state, CheckpointAt: 10, Headers: []record.Header{plain(0, 10, 1), plain(10, 10, 2)}}, nil},
		{"no checkpoint", effect.RecoveredLog{End: 20, Headers: []record.Header{plain(0, 10, 1), plain(10, 10, 2)}}, nil},
		{"nothing but a checkpoint", effect.RecoveredLog{End: 10, Checkpoint: state, CheckpointAt: 10}, nil},
		{"records all retired", effect.RecoveredLog{Start: 20, End: 20, Checkpoint: state, CheckpointAt: 10}, nil},
		{"a start inside a batch", effect.RecoveredLog{Start: 15, End: 20, Headers: []record.Header{plain(10, 10, 2)}}, nil},
		{"a start above the end", effect.RecoveredLog{Start: 21, End: 20}, log.ErrRecovered},
		{"a torn checkpoint", effect.RecoveredLog{End: 10, Checkpoint: torn, CheckpointAt: 10}, log.ErrCheckpoint},
		{"an empty checkpoint file", effect.RecoveredLog{End: 10, Checkpoint: []byte{1}, CheckpointAt: 10}, log.ErrCheckpoint},
		{"a wrong label", effect.RecoveredLog{End: 20, Checkpoint: state, CheckpointAt: 20}, log.ErrCheckpoint},
		{"a checkpoint past the end", effect.RecoveredLog{End: 9, Checkpoint: state, CheckpointAt: 10}, log.ErrCheckpoint},
		{"a gap behind the checkpoint", effect.RecoveredLog{End: 20, Checkpoint: state, CheckpointAt: 10, Headers: []record.Header{plain(15, 5, 2)}}, log.ErrRecovered},
		{"a gap behind the start", effect.RecoveredLog{End: 20, Headers: []record.Header{plain(10, 10, 2)}}, log.ErrRecovered},
		{"no headers", effect.RecoveredLog{End: 20}, log.ErrRecovered},
		{"a batch over the checkpoint", effect.RecoveredLog{End: 20, Checkpoint: state, CheckpointAt: 10, Headers: []record.Header{plain(5, 15, 2)}}, log.ErrRecovered},
		{"an epoch that falls", effect.RecoveredLog{End: 20, Headers: []record.Header{plain(0, 10, 2), plain(10, 10, 1)}}, log.ErrEpochFalls},
		{"another end", effect.RecoveredLog{End: 21, Headers: []record.Header{plain(0, 20, 1)}}, log.ErrRecovered},
	} {
		t.Run(c.name, func(t *testing.T) {
			l, err := log.Restore(c.found)
			if c.want != nil {
				require.ErrorIs(t, err, c.want)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.found.Start, l.Start())
			require.Equal(t, c.found.End, l.End())
		})
	}
}

func TestOffsetsNearTheEndOfTime(t *testing.T) {
	l := filled(plain(math.MaxInt64-10, 5, math.MaxInt32))
	l.Settle(l.End())
	at, state := l.Checkpoint()
	again, err := log.Restore(effect.RecoveredLog{Start: l.Start(), End: l.End(), Checkpoint: state, CheckpointAt: at})
	require.NoError(t, err)
	require.Equal(t, l.Digest(), again.Digest())
}

// A disk that has forgotten where a log starts finds a file with records that were
// retired. Of their epochs the log knows nothing, and could not tell a follower where
// their histories part: it starts where it knows them from.
func TestARestoredLogStartsWhereItKnowsTheEpochsFrom(t *testing.T) {
	l := filled(plain(0, 3, 0), plain(3, 5, 1), plain(8, 2, 1), plain(10, 5, 2))
	l.Settle(15)
	at, whole := l.Checkpoint()
	l.TrimPrefix(6)
	require.Equal(t, record.Offset(3), l.KnownFrom())
	_, state := l.Checkpoint()
	for _, c := range []struct {
		name        string
		checkpoint  []byte
		told, start record.Offset
	}{
		{"the start is known", state, 6, 6},
		{"it is forgotten", state, 0, 3},
		{"so that it lies between", state, 2, 3},
		{"the checkpoint is from before the records were retired", whole, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			found := effect.RecoveredLog{Start: c.told, End: 15, Checkpoint: c.checkpoint, CheckpointAt: at, HighWatermark: 15}
			restored, err := log.Restore(found)
			require.NoError(t, err)
			require.Equal(t, c.start, restored.Start())
			require.LessOrEqual(t, restored.KnownFrom(), restored.Start())
		})
	}
	require.Equal(t, record.Offset(7), log.New(7).KnownFrom())
}

// Who copies such a log is not told, behind the first batch that it got, that nothing is
// known of that.
func TestWhoCopiesARestoredLogSharesItsHistory(t *testing.T) {
	l := filled(plain(0, 3, 0), plain(3, 5, 1), plain(8, 2, 1), plain(10, 5, 2))
	l.Settle(15)
	l.TrimPrefix(6)
	at, state := l.Checkpoint()
	restored, err := log.Restore(effect.RecoveredLog{End: 15, Checkpoint: state, CheckpointAt: at, HighWatermark: 15})
	require.NoError(t, err)
	copied := log.New(0)
	require.NoError(t, copied.Inherit(restored.Start(), restored.CarryOver()))
	for _, h := range []record.Header{plain(3, 5, 1), plain(8, 2, 1), plain(10, 5, 2)} {
		copied.Append(&h)
		require.Equal(t, copied.LastEpoch(), restored.EndOf(copied.LastEpoch()).Epoch)
		require.Equal(t, copied.End(), cut(restored, copied))
	}
	require.Empty(t, copied.Differs(restored, 0))
}
