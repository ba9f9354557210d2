package replica

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

func abortedAt(first record.Offset) []message.AbortedTransaction {
	return []message.AbortedTransaction{{ID: payer, First: first}}
}

func TestReadingCommittedGivesWholeTransactions(t *testing.T) {
	w := transactionalWorld(t, 2)
	l := w.node(1)
	w.put(1, "x")
	w.paid(1, of(batch("a", 2), payer, 3, 0)) // 1, 2
	w.put(1, "y")                             // 3

	got := l.readCommitted(0)
	require.Equal(t, []string{"x0"}, values(t, got.Records))
	got.Records = nil
	require.Equal(t, message.FetchedPartition{ID: p0, HighWatermark: 4, LastStable: 1, Leader: 1}, got)
	require.Empty(t, l.readCommitted(1).Records)
	require.Empty(t, l.readCommitted(3).Records, "not even what is no part of it: the order is that of the log")
	require.Equal(t, message.None, l.readCommitted(4).Code)
	require.Equal(t, []string{"a0", "a1", "y0"}, values(t, l.readFrom(1).Records), "reading uncommitted sees all below the high watermark")

	w.ended(1, payer, 3, record.Committed) // 4
	got = l.readCommitted(1)
	require.Equal(t, []string{"a0", "a1", "y0"}, values(t, got.Records)[:3])
	require.Nil(t, got.Aborted)
	require.EqualValues(t, 5, got.LastStable)
}

func TestReadingCommittedIsToldWhatWasAborted(t *testing.T) {
	w := transactionalWorld(t, 2)
	l := w.node(1)
	w.paid(1, of(batch("a", 2), payer, 3, 0)) // 0, 1
	w.put(1, "x")                             // 2
	w.ended(1, payer, 3, record.Aborted)      // 3
	w.put(1, "y")                             // 4
	w.paid(1, of(batch("b", 1), payer, 4, 0)) // 5
	w.ended(1, payer, 4, record.Aborted)      // 6
	w.paid(1, of(batch("c", 1), payer, 5, 0)) // 7
	w.ended(1, payer, 5, record.Committed)    // 8

	require.Equal(t, append(abortedAt(0), abortedAt(5)...), l.readCommitted(0).Aborted)
	require.Equal(t, append(abortedAt(0), abortedAt(5)...), l.readCommitted(1).Aborted, "from inside one that was aborted")
	require.Equal(t, abortedAt(5), l.readCommitted(4).Aborted)
	require.Nil(t, l.readCommitted(7).Aborted)
	require.Nil(t, l.readFrom(0).Aborted, "who reads all needs no such list")

	short := committedFetch(0, 0)
	short.Partitions[0].MaxBytes = int32(len(batch("a", 2)) + len(batch("x", 1)))
	token := l.fetch(short)
	w.run()
	got := w.replies[token].(*message.FetchReply).Partitions[0]
	require.Equal(t, []string{"a0", "a1", "x0"}, values(t, got.Records))
	require.Equal(t, abortedAt(0), got.Aborted, "and no further than the records go")
}

func TestAWaitingReaderWakesWhenTheLastStableOffsetMoves(t *testing.T) {
	w := transactionalWorld(t, 2)
	l, f := w.node(1), w.node(2)
	w.paid(1, of(batch("a", 2), payer, 3, 0))
	token := l.fetch(committedFetch(10*message.Second, 0))
	all := l.fetch(fetchOf(10*message.Second, 1, at(2)))
	w.put(1, "y")
	require.NotNil(t, w.replies[all])
	require.Nil(t, w.replies[token], "the high watermark alone is no news")
	f.holdDisk = true
	l.mark(payer, 3, record.Committed)
	w.run()
	require.Nil(t, w.replies[token], "a marker counts when it is committed")
	f.holdDisk = false
	w.run()
	got := w.replies[token].(*message.FetchReply).Partitions[0]
	require.Equal(t, []string{"a0", "a1", "y0"}, values(t, got.Records)[:3])
}

// What is read is given only with the knowledge of what of it was aborted.
func TestRetentionOvertakesAReaderOfCommittedRecords(t *testing.T) {
	w := transactionalWorld(t, 2)
	l := w.node(1)
	w.paid(1, of(batch("a", 2), payer, 3, 0))
	w.ended(1, payer, 3, record.Aborted)
	w.put(1, "x")
	l.holdReads = true
	token := l.fetch(committedFetch(0, 0))
	all := l.fetch(fetchOf(0, 1, at(0)))
	w.deleteBefore(1, 3)
	w.pass(message.Second)
	require.EqualValues(t, 3, l.view(p0).Start)
	l.holdReads = false
	w.run()
	got := w.replies[token].(*message.FetchReply).Partitions[0]
	require.Equal(t, message.OffsetOutOfRange, got.Code)
	require.Empty(t, got.Records)
	require.Equal(t, message.None, w.replies[all].(*message.FetchReply).Partitions[0].Code)
}

func TestTheEndOfWhatIsCommittedIsListed(t *testing.T) {
	w := transactionalWorld(t, 2)
	l := w.node(1)
	w.put(1, "x")
	w.paid(1, of(batch("a", 2), payer, 3, 0))
	list := func(isolation message.Isolation, at record.Timestamp) record.Offset {
		w.tokens++
		token := w.tokens
		l.do(func(m *Manager, now message.Now, out *Out) {
			m.ListOffsets(now, token, &message.ListOffsets{Isolation: isolation,
				Partitions: []message.ListOffsetsPartition{{ID: p0, LeaderEpoch: -1, Timestamp: at}}}, out)
		})
		w.run()
		got := w.replies[token].(*message.ListOffsetsReply).Partitions[0]
		require.Equal(t, message.None, got.Code)
		return got.Offset
	}
	for _, c := range []struct {
		isolation message.Isolation
		at        record.Timestamp
		want      record.Offset
	}{
		{message.ReadUncommitted, message.Latest, 3}, {message.ReadCommitted, message.Latest, 1},
		{message.ReadUncommitted, message.Earliest, 0}, {message.ReadCommitted, message.Earliest, 0},
		{message.ReadUncommitted, 2_000_000, 3}, {message.ReadCommitted, 2_000_000, 1},
		{message.ReadUncommitted, 0, 0}, {message.ReadCommitted, 0, 0},
	} {
		require.Equal(t, c.want, list(c.isolation, c.at), "%+v", c)
	}
}

func TestNothingOfAnOpenTransactionIsDeleted(t *testing.T) {
	w := transactionalWorld(t, 2)
	l := w.node(1)
	w.put(1, "x")
	w.paid(1, of(batch("a", 2), payer, 3, 0))
	w.put(1, "y")
	deleted := func(before record.Offset) message.DeletedRecords {
		token := w.deleteBefore(1, before)
		w.pass(message.Second)
		return w.replies[token].(*message.DeleteRecordsReply).Partitions[0]
	}
	require.Equal(t, message.OffsetOutOfRange, deleted(2).Code)
	require.Equal(t, message.DeletedRecords{ID: p0, LogStart: 1}, deleted(-1))
	w.ended(1, payer, 3, record.Committed)
	require.Equal(t, message.DeletedRecords{ID: p0, LogStart: 2}, deleted(2), "once it has ended even a part of it may go")
	require.Equal(t, message.DeletedRecords{ID: p0, LogStart: 5}, deleted(-1))
	require.EqualValues(t, 5, l.view(p0).LastStable)
}

func TestRetentionWaitsForTheEndOfATransaction(t *testing.T) {
	w := newWorld(t, 2)
	w.create(p0, message.TopicConfig{SegmentBytes: 100, RetentionBytes: 1}, 1, 2)
	l := w.node(1)
	w.put(1, "x", "y")
	w.paid(1, of(batch("a", 2), payer, 3, 0))
	for range 5 {
		w.put(1, "z")
	}
	w.pass(message.Second)
	require.EqualValues(t, 2, l.view(p0).Start)
	w.ended(1, payer, 3, record.Aborted)
	w.put(1, "z")
	w.pass(message.Second)
	require.Greater(t, l.view(p0).Start, record.Offset(4))
}
