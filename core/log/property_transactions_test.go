package log_test

import (
	"slices"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// What the property tests' world knows of transactions, told from its history.

// transaction is one of them; marker is -1 while it is open.
type transaction struct {
	id            record.ProducerID
	first, marker record.Offset
	outcome       record.Outcome
}

// transactions are all, by first offset.
func (w *world) transactions() (all []transaction) {
	for _, h := range w.history {
		at := slices.IndexFunc(all, func(t transaction) bool { return t.id == h.ProducerID && t.marker < 0 })
		switch {
		case h.Attributes.Control() && at >= 0:
			all[at].marker, all[at].outcome = h.BaseOffset, h.Marker.Outcome
		case !h.Attributes.Control() && h.Attributes.Transactional() && at < 0:
			all = append(all, transaction{id: h.ProducerID, first: h.BaseOffset, marker: -1})
		}
	}
	return all
}

// near is an epoch at or next to the newest that is known of a producer.
func (w *world) near(t *rapid.T, id record.ProducerID) record.ProducerEpoch {
	epoch := record.ProducerEpoch(0)
	for i := range w.history {
		if w.history[i].ProducerID == id {
			epoch = w.history[i].ProducerEpoch
		}
	}
	return max(epoch+rapid.SampledFrom([]record.ProducerEpoch{0, 0, 0, 1, 1, -1, 2}).Draw(t, "epochs on"), 0)
}

// judgeTransaction is what Check refuses for the sake of transactions. own is
// what the history has of the producer's newest epoch, newest first.
func (w *world) judgeTransaction(h *record.Header, own []record.Header) message.Code {
	if len(own) == 0 || h.ProducerEpoch < own[0].ProducerEpoch {
		return message.None // the other rules say enough
	}
	open := slices.ContainsFunc(w.transactions(), func(t transaction) bool { return t.id == h.ProducerID && t.marker < 0 })
	later := h.ProducerEpoch > own[0].ProducerEpoch
	switch {
	case open && !h.Attributes.Transactional():
		return message.InvalidTxnState
	case open && later:
		return message.ConcurrentTransactions
	case !later && own[0].Attributes.Transactional() != h.Attributes.Transactional():
		return message.InvalidTxnState
	}
	return message.None
}

// mark asks for a marker, as a coordinator does or one that has been deposed.
func (w *world) mark(t *rapid.T) {
	id := record.ProducerID(rapid.Int64Range(0, 3).Draw(t, "producer"))
	h := ends(w.log.End(), id, w.near(t, id), record.Marker{
		Outcome:          rapid.SampledFrom([]record.Outcome{record.Aborted, record.Committed}).Draw(t, "outcome"),
		CoordinatorEpoch: record.LeaderEpoch(rapid.Int32Range(0, 3).Draw(t, "coordinator")),
	})
	h.LeaderEpoch = w.epoch
	newest, marker := record.ProducerEpoch(-1), record.Header{BaseOffset: -1}
	for _, known := range w.history {
		if known.ProducerID == id {
			newest = known.ProducerEpoch
			if known.Attributes.Control() {
				marker = known
			}
		}
	}
	got := w.log.CheckMarker(id, h.ProducerEpoch, h.Marker.CoordinatorEpoch)
	switch {
	case marker.BaseOffset >= 0 && h.Marker.CoordinatorEpoch < marker.Marker.CoordinatorEpoch:
		require.Equal(t, refused(message.TransactionCoordinatorFenced), got)
	case h.ProducerEpoch > newest:
		require.Equal(t, accepted(), got)
		w.log.Append(&h)
		w.history = append(w.history, h)
	case marker.BaseOffset >= 0:
		require.Equal(t, duplicate(marker.BaseOffset, marker.End()), got)
	default:
		require.Equal(t, duplicate(w.log.End(), w.log.End()), got)
	}
}

// lastStable is LastStable.
func (w *world) lastStable(highWatermark record.Offset) record.Offset {
	stable := highWatermark
	for _, one := range w.transactions() {
		if one.marker < 0 || one.marker >= highWatermark {
			stable = min(stable, one.first)
		}
	}
	return stable
}

func (w *world) checkTransactions(t *rapid.T) {
	end := w.log.End()
	high := record.Offset(rapid.Int64Range(int64(w.log.Settled()), int64(end)).Draw(t, "high watermark"))
	require.Equal(t, w.lastStable(high), w.log.LastStable(high))
	from := record.Offset(rapid.Int64Range(int64(w.log.Start()), int64(end)).Draw(t, "from"))
	to := record.Offset(rapid.Int64Range(int64(from), int64(end)).Draw(t, "to"))
	var want []message.AbortedTransaction
	open := 0
	for _, one := range w.transactions() {
		if one.outcome == record.Aborted && one.first < to && one.marker >= from {
			want = append(want, message.AbortedTransaction{ID: one.id, First: one.first})
		}
		if one.marker < 0 {
			open++
		}
	}
	require.Equal(t, want, w.log.Aborted(from, to))
	require.Equal(t, open, w.log.OpenTransactions())
	for _, h := range w.history {
		require.Equal(t, w.needs(&h), w.log.NeedsVerification(&h))
	}
}

// needs is NeedsVerification.
func (w *world) needs(h *record.Header) bool {
	if !h.Attributes.Transactional() || h.Attributes.Control() {
		return false
	}
	for _, one := range w.transactions() {
		if one.id != h.ProducerID || one.marker >= 0 {
			continue
		}
		for _, known := range w.history {
			if known.BaseOffset == one.first {
				return known.ProducerEpoch != h.ProducerEpoch
			}
		}
	}
	return true
}
