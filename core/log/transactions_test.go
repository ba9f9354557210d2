package log_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/log"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// in makes a producer's batch one of a transaction.
func in(h record.Header) record.Header {
	h.Attributes |= 0x10
	return h
}

// ends is a marker of leader epoch 5.
func ends(base record.Offset, id record.ProducerID, epoch record.ProducerEpoch, m record.Marker) record.Header {
	return record.Header{
		BaseOffset: base, Length: record.MarkerSize - 12, LeaderEpoch: 5, Attributes: 0x30, Count: 1,
		ProducerID: id, ProducerEpoch: epoch, BaseSequence: record.NoSequence, Marker: m,
	}
}

func commits(base record.Offset, id record.ProducerID, epoch record.ProducerEpoch) record.Header {
	return ends(base, id, epoch, record.Marker{Outcome: record.Committed, CoordinatorEpoch: 3})
}

func aborts(base record.Offset, id record.ProducerID, epoch record.ProducerEpoch) record.Header {
	return ends(base, id, epoch, record.Marker{Outcome: record.Aborted, CoordinatorEpoch: 3})
}

// write is a batch of two records of a transaction, in leader epoch 5.
func write(base record.Offset, id record.ProducerID, epoch record.ProducerEpoch, seq record.Sequence) record.Header {
	return in(from(plain(base, 2, 5), id, epoch, seq))
}

func aborted(id record.ProducerID, first record.Offset) []message.AbortedTransaction {
	return []message.AbortedTransaction{{ID: id, First: first}}
}

// A transaction of p over [0, 4) with a marker at 6, one of q from 4 on.
func TestTheLastStableOffsetWaitsForCommittedMarkers(t *testing.T) {
	l := filled(write(0, p, 0, 0), write(2, p, 0, 2), write(4, q, 0, 0))
	require.Equal(t, record.Offset(0), l.LastStable(6))
	require.Equal(t, 2, l.OpenTransactions())
	l.Append(ptr(commits(6, p, 1)))
	require.Equal(t, record.Offset(0), l.LastStable(6), "the marker may still be lost")
	l.Settle(6)
	require.Equal(t, record.Offset(0), l.LastStable(6))
	l.Settle(7)
	require.Equal(t, record.Offset(4), l.LastStable(7), "q goes on")
	l.Append(ptr(commits(7, q, 1)))
	require.Equal(t, record.Offset(4), l.LastStable(7))
	l.Settle(8)
	require.Equal(t, record.Offset(8), l.LastStable(8))
	require.Zero(t, l.OpenTransactions())
	require.Nil(t, l.Aborted(0, 8), "all was committed")
	l.Append(ptr(plain(8, 1, 5)))
	require.Equal(t, record.Offset(8), l.LastStable(8))
}

func TestATransactionHasAnEpochOfItsOwn(t *testing.T) {
	l := filled(write(0, p, 3, 0))
	check := func(want log.Verdict, h record.Header) { t.Helper(); require.Equal(t, want, l.Check(&h)) }

	check(accepted(), write(0, p, 3, 2))
	check(duplicate(0, 2), write(0, p, 3, 0))
	check(refused(message.OutOfOrderSequence), write(0, p, 3, 4))
	check(refused(message.InvalidProducerEpoch), write(0, p, 2, 0))
	check(refused(message.ConcurrentTransactions), write(0, p, 4, 0)) // the marker is on its way
	check(refused(message.InvalidTxnState), from(plain(0, 2, 0), p, 3, 2))
	check(refused(message.InvalidTxnState), from(plain(0, 2, 0), p, 4, 0))
	check(refused(message.UnknownProducerID), write(0, q, 0, 2))
	check(accepted(), write(0, q, 0, 0))
	check(refused(message.InvalidRequest), in(plain(0, 2, 0)))

	l.Append(ptr(commits(2, p, 4)))
	check(refused(message.InvalidProducerEpoch), write(0, p, 3, 2)) // late: it can never come behind the marker
	check(refused(message.InvalidProducerEpoch), write(0, p, 3, 0))
	check(accepted(), write(0, p, 4, 0))
	check(refused(message.OutOfOrderSequence), write(0, p, 4, 2))
	check(refused(message.InvalidTxnState), from(plain(0, 2, 0), p, 4, 0))
	check(accepted(), from(plain(0, 2, 0), p, 5, 0))
	check(accepted(), write(0, p, 5, 0))

	l.Append(ptr(from(plain(3, 2, 5), p, 5, 0))) // and from here on without transactions
	check(refused(message.InvalidTxnState), write(0, p, 5, 2))
	check(accepted(), from(plain(0, 2, 0), p, 5, 2))
}

func TestCheckMarker(t *testing.T) {
	l := filled(write(0, p, 3, 0))
	check := func(want log.Verdict, id record.ProducerID, epoch record.ProducerEpoch, coordinator record.LeaderEpoch) {
		t.Helper()
		require.Equal(t, want, l.CheckMarker(id, epoch, coordinator))
	}
	check(accepted(), p, 4, 0)
	check(accepted(), q, 4, 0) // nothing of q came, and nothing that is late may
	check(duplicate(2, 2), p, 3, 0)
	check(refused(message.InvalidRequest), -1, 3, 0)
	check(refused(message.InvalidRequest), p, -1, 0)
	check(refused(message.InvalidRequest), p, 4, -1)

	l.Append(ptr(commits(2, p, 4)))
	check(duplicate(2, 3), p, 4, 3)
	check(duplicate(2, 3), p, 4, 9)
	check(duplicate(2, 3), p, 2, 3)
	check(refused(message.TransactionCoordinatorFenced), p, 4, 2)
	check(refused(message.TransactionCoordinatorFenced), p, 5, 2)
	check(accepted(), p, 5, 3)

	l.Append(ptr(write(3, p, 4, 0))) // the next transaction
	check(duplicate(2, 3), p, 4, 3)
	require.Equal(t, 1, l.OpenTransactions(), "the marker of the one before does not touch it")
	check(refused(message.TransactionCoordinatorFenced), p, 5, 2)
	check(accepted(), p, 5, 3)
}

func TestWhatNeedsVerification(t *testing.T) {
	l := filled(write(0, p, 3, 0))
	needs := func(want bool, h record.Header) { t.Helper(); require.Equal(t, want, l.NeedsVerification(&h)) }
	needs(false, write(0, p, 3, 2))
	needs(false, write(0, p, 3, 0))
	needs(true, write(0, p, 4, 0))
	needs(true, write(0, q, 0, 0))
	needs(false, from(plain(0, 2, 0), q, 0, 0))
	needs(false, plain(0, 2, 0))
	l.Append(ptr(commits(2, p, 4)))
	needs(true, write(0, p, 3, 2))
	needs(true, write(0, p, 4, 0))
}

// The index of aborted transactions answers by what of them lies in a range.
func TestAborted(t *testing.T) {
	l := filled(write(0, p, 0, 0), write(2, q, 0, 0), aborts(4, q, 1), write(5, q, 1, 0), commits(7, q, 2), aborts(8, p, 1),
		write(9, p, 1, 0), aborts(11, p, 2))
	l.Settle(12)
	at, state := l.Checkpoint()
	restored, err := log.Restore(effect.RecoveredLog{End: 12, Checkpoint: state, CheckpointAt: at})
	require.NoError(t, err)
	for _, c := range []struct {
		from, to record.Offset
		want     []message.AbortedTransaction
	}{
		{0, 12, []message.AbortedTransaction{{ID: p, First: 0}, {ID: q, First: 2}, {ID: p, First: 9}}},
		{0, 2, aborted(p, 0)},
		{0, 3, append(aborted(p, 0), aborted(q, 2)...)},
		{5, 8, aborted(p, 0)},
		{8, 9, aborted(p, 0)},
		{9, 12, aborted(p, 9)},
		{11, 12, aborted(p, 9)},
		{12, 20, nil},
		{9, 9, nil},
	} {
		require.Equal(t, c.want, l.Aborted(c.from, c.to), "[%d, %d)", c.from, c.to)
		require.Equal(t, c.want, restored.Aborted(c.from, c.to), "[%d, %d) of a restored log", c.from, c.to)
	}
	l.TrimPrefix(9)
	require.Equal(t, aborted(p, 9), l.Aborted(0, 12), "what ended below the log start is of no interest")
}

// A truncation that takes the marker opens the transaction again, and one that
// takes its first batch undoes it.
func TestTruncationRollsTransactionsBack(t *testing.T) {
	all := []record.Header{write(0, p, 0, 0), write(2, q, 0, 0), aborts(4, p, 1), write(5, p, 1, 0), commits(7, q, 1)}
	for end, want := range map[record.Offset]struct {
		open    int
		stable  record.Offset
		aborted []message.AbortedTransaction
	}{
		8: {1, 5, aborted(p, 0)},
		7: {2, 2, aborted(p, 0)},
		5: {1, 2, aborted(p, 0)},
		4: {2, 0, nil},
		2: {1, 0, nil},
		0: {0, 0, nil},
	} {
		for _, settled := range []record.Offset{0, end} {
			l := filled(all...)
			l.Settle(settled)
			require.Equal(t, end, l.Truncate(end))
			require.Equal(t, want.open, l.OpenTransactions(), "end %d", end)
			require.Equal(t, want.stable, l.LastStable(end), "end %d", end)
			require.Equal(t, want.aborted, l.Aborted(0, 8), "end %d", end)
			again := log.New(0)
			for i := range all {
				if all[i].End() <= end {
					again.Append(&all[i])
				}
			}
			require.Equal(t, again.Digest(), l.Digest(), "end %d", end)
		}
	}
}

func TestRetentionStopsAtTheLastStableOffset(t *testing.T) {
	l := log.New(0)
	l.SetChunks(1, forever)
	for _, h := range []record.Header{plain(0, 2, 5), write(2, p, 0, 0), plain(4, 2, 5), aborts(6, p, 1), plain(7, 2, 5)} {
		l.Append(&h)
	}
	all := log.Retention{Bytes: 1, Age: 0}
	l.Settle(6)
	require.Equal(t, record.Offset(2), l.Retire(1000, 6, all))
	l.Settle(9)
	require.Equal(t, record.Offset(9), l.Retire(1000, 9, all))
}

func TestAnOpenTransactionKeepsItsProducer(t *testing.T) {
	l := filled(write(0, p, 0, 0), write(2, q, 0, 0), commits(4, q, 1))
	l.Settle(5)
	l.ExpireProducers(0, message.Second)
	l.ExpireProducers(message.Time(message.Second), message.Second)
	require.Equal(t, 1, l.Producers(), "q is forgotten")
	require.Equal(t, 1, l.OpenTransactions())
	require.Equal(t, record.Offset(0), l.LastStable(5))
	l.Append(ptr(aborts(5, p, 1)))
	l.Settle(6)
	l.ExpireProducers(message.Time(message.Second), message.Second)
	l.ExpireProducers(message.Time(2*message.Second), message.Second)
	require.Zero(t, l.Producers())
	require.Equal(t, aborted(p, 0), l.Aborted(0, 6), "how it ended is known as long as its records are there")
	rebuilt, err := log.Rebuild([]record.Header{write(0, p, 0, 0), write(2, q, 0, 0), commits(4, q, 1), aborts(5, p, 1)}, 0)
	require.NoError(t, err)
	require.Empty(t, l.Differs(rebuilt, 0))
}

// Leader and follower have forgotten different things, and agree on all that a
// new transaction does.
func TestReplicasAgreeOnTransactionsAfterAnExpiry(t *testing.T) {
	start := []record.Header{write(0, p, 0, 0), commits(2, p, 1)}
	leader, follower := filled(start...), filled(start...)
	leader.Settle(3)
	leader.ExpireProducers(0, message.Second)
	require.Equal(t, 1, leader.ExpireProducers(message.Time(2*message.Second), message.Second))
	history := start
	for _, h := range []record.Header{write(3, p, 1, 0), ends(5, p, 2, record.Marker{Outcome: record.Aborted, CoordinatorEpoch: 1})} {
		leader.Append(&h)
		follower.Append(&h)
		history = append(history, h)
		rebuilt, err := log.Rebuild(history, 0)
		require.NoError(t, err)
		require.Empty(t, leader.Differs(rebuilt, 0))
	}
	require.Equal(t, leader.Digest(), follower.Digest(), "the newest marker counts")
}

// The log starts inside a transaction that was aborted behind that start: the
// follower learns where it began.
func TestATransactionOverTheLogStartIsCarriedOver(t *testing.T) {
	rest := []record.Header{write(4, p, 0, 4), aborts(6, p, 1), write(7, p, 1, 0)}
	leader := filled(append([]record.Header{write(0, p, 0, 0), write(2, p, 0, 2)}, rest...)...)
	leader.Settle(9)
	leader.TrimPrefix(4)
	follower := log.New(0)
	require.NoError(t, follower.Inherit(4, leader.CarryOver()))
	require.Equal(t, 1, follower.OpenTransactions())
	for i := range rest {
		follower.Append(&rest[i])
	}
	require.Equal(t, leader.Digest(), follower.Digest())
	require.Equal(t, aborted(p, 0), follower.Aborted(4, 7))
	require.Equal(t, leader.LastStable(9), follower.LastStable(9))

	retained, err := log.Rebuild(rest, 4)
	require.NoError(t, err)
	require.Empty(t, leader.Differs(retained, 4), "a rebuild sees the rest of the transaction")
	require.Equal(t, aborted(p, 4), retained.Aborted(4, 7))
}

// The log start has passed over what followed the checkpoint: a transaction that
// was open there has ended since.
func TestATransactionThatEndedUnseenIsNotOpen(t *testing.T) {
	l := filled(write(0, p, 0, 0), write(2, q, 0, 0))
	l.Settle(4)
	at, state := l.Checkpoint()
	restored, err := log.Restore(effect.RecoveredLog{Start: 8, End: 11, Checkpoint: state, CheckpointAt: at,
		Headers: []record.Header{write(8, q, 0, 4), aborts(10, q, 1)}, HighWatermark: 11})
	require.NoError(t, err)
	require.Zero(t, restored.OpenTransactions())
	require.Equal(t, record.Offset(11), restored.LastStable(11))
	require.Equal(t, aborted(q, 8), restored.Aborted(0, 11), "from the first record that is there")
}

func TestDifferencesOfTransactionsAreSeen(t *testing.T) {
	base := []record.Header{write(0, p, 0, 0), write(2, q, 0, 0), aborts(4, p, 1)}
	for name, other := range map[string][]record.Header{
		"another outcome":              {base[0], base[1], commits(4, p, 1)},
		"another producer":             {base[0], base[1], aborts(4, q, 1)},
		"another epoch":                {base[0], base[1], aborts(4, p, 2)},
		"another coordinator":          {base[0], base[1], ends(4, p, 1, record.Marker{Outcome: record.Aborted, CoordinatorEpoch: 4})},
		"a later first":                {plain(0, 2, 5), base[1], base[2]},
		"no transaction of q":          {base[0], plain(2, 2, 5), base[2]},
		"a batch of q outside of them": {base[0], from(plain(2, 2, 5), q, 0, 0), base[2]},
		"no marker":                    {base[0], base[1], plain(4, 1, 5)},
	} {
		l, other := filled(base...), filled(other...)
		require.NotEmpty(t, l.Differs(other, 0), name)
		require.NotEmpty(t, other.Differs(l, 0), name)
		require.NotEqual(t, l.Digest(), other.Digest(), name)
	}
}
