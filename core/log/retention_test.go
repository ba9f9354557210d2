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

var forever = log.Retention{Age: -1}

// ten batches of ten records and 1000 bytes; batch i has timestamp 1000*i.
// Chunks of 2000 bytes hold two batches each.
func ten(settled record.Offset) *log.Log {
	l := log.New(0)
	l.SetChunks(2000, forever)
	for i := range 10 {
		l.Append(ptr(at(plain(record.Offset(10*i), 10, 1), record.Timestamp(1000*i))))
	}
	l.Settle(settled)
	return l
}

func TestRetentionOfTopic(t *testing.T) {
	require.Equal(t, log.Retention{Age: 7 * 24 * message.Hour}, log.RetentionOf(message.TopicConfig{}))
	require.Equal(t, log.Retention{Bytes: 5, Age: -1},
		log.RetentionOf(message.TopicConfig{RetentionBytes: 5, RetentionTime: -1}))
	require.Equal(t, log.Retention{Age: message.Second},
		log.RetentionOf(message.TopicConfig{RetentionBytes: -1, RetentionTime: message.Second}))
}

func TestRetireBySize(t *testing.T) {
	for _, c := range []struct {
		keep int64
		want record.Offset
	}{{0, 0}, {1, 80}, {2000, 80}, {2001, 60}, {5000, 40}, {8000, 20}, {8001, 0}, {99999, 0}} {
		require.Equal(t, c.want, ten(100).Retire(0, 100, log.Retention{Bytes: c.keep, Age: -1}), "keep %d", c.keep)
	}
}

func TestRetireBySizeDoesNotCountOnWhatMayBeTruncated(t *testing.T) {
	require.Equal(t, record.Offset(0), ten(20).Retire(0, 20, log.Retention{Bytes: 1, Age: -1}))
	require.Equal(t, record.Offset(20), ten(40).Retire(0, 40, log.Retention{Bytes: 1, Age: -1}))
}

func TestRetireByAge(t *testing.T) {
	for _, c := range []struct {
		now  record.Timestamp
		want record.Offset
	}{{0, 0}, {6000, 0}, {6001, 20}, {8001, 40}, {14000, 80}, {14001, 100}} {
		require.Equal(t, c.want, ten(100).Retire(c.now, 100, log.Retention{Age: 5 * message.Second}), "now %d", c.now)
	}
}

func TestRetireNeverPassesTheHighWatermark(t *testing.T) {
	all := log.Retention{Bytes: 1, Age: 0}
	for hw := record.Offset(0); hw <= 100; hw += 5 {
		l := ten(hw)
		start := l.Retire(math.MaxInt32, hw, all)
		require.LessOrEqual(t, start, hw)
		require.Equal(t, hw/10*10, start, "and takes whole batches")
		require.LessOrEqual(t, ten(100).Retire(math.MaxInt32, hw, all), hw)
	}
}

func TestARetiredLogGoesOn(t *testing.T) {
	l := ten(100)
	l.TrimPrefix(l.Retire(0, 100, log.Retention{Bytes: 5000, Age: -1}))
	require.Equal(t, record.Offset(40), l.Start())
	require.Equal(t, int64(6000), l.Bytes())
	l.TrimPrefix(55) // DeleteRecords, inside a chunk
	require.Equal(t, int64(6000), l.Bytes(), "storage cannot free a part of it")
	require.Equal(t, record.Offset(80), l.Retire(0, 100, log.Retention{Bytes: 1, Age: -1}))
	l.TrimPrefix(100)
	require.Zero(t, l.Bytes())
	require.Equal(t, record.Offset(100), l.Retire(0, 100, log.Retention{Bytes: 1, Age: 0}))
	l.Append(ptr(at(plain(100, 10, 1), 1)))
	l.Settle(110)
	require.Equal(t, record.Offset(110), l.Retire(math.MaxInt32, 110, log.Retention{Age: 0}))
}

func TestALogThatTricklesAgesInPieces(t *testing.T) {
	l := log.New(0)
	week := log.RetentionOf(message.TopicConfig{RetentionTime: 80 * message.Second})
	l.SetChunks(0, week)
	for i := range 100 { // one record a second, never a chunk full
		l.Append(ptr(at(plain(record.Offset(i), 1, 1), record.Timestamp(1000*i))))
		l.Settle(record.Offset(i + 1))
	}
	require.Equal(t, record.Offset(10), l.Retire(99_000, 100, week), "chunks of an eighth of the age")
	soon, ok := l.RetireAt(week)
	require.True(t, ok)
	require.Equal(t, record.Timestamp(89_001), soon)
	require.Equal(t, record.Offset(0), l.Retire(soon-1, 100, week))
	require.Equal(t, record.Offset(10), l.Retire(soon, 100, week))
}

// A start does not know the settings of topics yet. Once it does, the log that was
// restored goes in the same pieces as the one before the crash, wherever its
// checkpoint was.
func TestARestoredLogRetiresInTheSamePieces(t *testing.T) {
	week := log.Retention{Bytes: 1500, Age: 80 * message.Second}
	var headers []record.Header
	was := log.New(0)
	was.SetChunks(3000, week)
	var checkpoints []effect.RecoveredLog
	for i := range 40 {
		h := at(plain(record.Offset(10*i), 10, 1), record.Timestamp(1000*i+i%7*1500))
		headers = append(headers, h)
		was.Append(&h)
		was.Settle(h.End())
		at, state := was.Checkpoint()
		checkpoints = append(checkpoints, effect.RecoveredLog{CheckpointAt: at, Checkpoint: state})
	}
	checkpoints = append(checkpoints, effect.RecoveredLog{})
	for _, found := range checkpoints {
		found.End, found.HighWatermark, found.Headers = was.End(), was.End()-50, headers
		l, err := log.Restore(found)
		require.NoError(t, err)
		l.SetChunks(3000, week)
		l.Settle(was.End())
		_, before := was.Checkpoint()
		_, after := l.Checkpoint()
		require.Equal(t, before, after, "checkpoint at %d", found.CheckpointAt)
		for now := record.Timestamp(0); now < 150_000; now += 500 {
			require.Equal(t, was.Retire(now, was.End(), week), l.Retire(now, was.End(), week),
				"checkpoint at %d, now %d", found.CheckpointAt, now)
		}
	}
}

// What is trimmed before the settings are known takes its pieces along.
func TestARestoredLogIsTrimmedBeforeItsSettingsAreKnown(t *testing.T) {
	var headers []record.Header
	for i := range 10 {
		headers = append(headers, at(plain(record.Offset(10*i), 10, 1), 0))
	}
	for start := record.Offset(0); start <= 100; start += 5 {
		l, err := log.Restore(effect.RecoveredLog{End: 100, HighWatermark: 100, Headers: headers})
		require.NoError(t, err)
		l.TrimPrefix(start)
		l.SetChunks(2000, forever)
		left := (100 - start + 9) / 10
		require.Equal(t, int64(1000*left), l.Bytes())
		behind := max(start, start/10*10+(left-1)/2*20)
		require.Equal(t, behind, l.Retire(0, 100, log.Retention{Bytes: 1, Age: -1}), "start %d", start)
	}
}

func TestWhatDoesNotAge(t *testing.T) {
	week := log.Retention{Age: message.Second}
	never := func(l *log.Log, r log.Retention) {
		_, ok := l.RetireAt(r)
		require.False(t, ok)
		require.Equal(t, l.Start(), l.Retire(math.MaxInt64/2, l.End(), r))
	}
	never(log.New(3), week)
	never(ten(100), forever)
	never(ten(0), week)
	untimed := filled(at(plain(0, 10, 1), -1))
	untimed.Settle(10)
	never(untimed, week)
	future := filled(at(plain(0, 10, 1), math.MaxInt64))
	future.Settle(10)
	never(future, week)
}
