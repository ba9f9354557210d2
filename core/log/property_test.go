package log_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/log"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// world is a log under test beside the headers of all batches that it ever
// kept: the simple model that everything must follow from.
type world struct {
	log     *log.Log
	history []record.Header // from offset 0, also of records that were retired
	settled record.Offset   // highest offset that was said to be decided
	epoch   record.LeaderEpoch
	stored  effect.RecoveredLog // the newest checkpoint
}

// headers are those of the batches from offset on.
func (w *world) headers(from record.Offset) []record.Header {
	for i := range w.history {
		if w.history[i].BaseOffset >= from {
			return w.history[i:]
		}
	}
	return nil
}

func (w *world) produce(t *rapid.T) {
	h := plain(w.log.End(), rapid.Int32Range(1, 4).Draw(t, "records"), w.epoch)
	h.MaxTimestamp = record.Timestamp(rapid.Int64Range(0, 100_000).Draw(t, "timestamp"))
	if id := rapid.Int64Range(-1, 3).Draw(t, "producer"); id >= 0 {
		epoch := w.near(t, record.ProducerID(id))
		sequence := record.Sequence(rapid.Int32Range(0, 30).Draw(t, "sequence"))
		if next, ok := w.next(record.ProducerID(id), epoch); ok && rapid.IntRange(0, 3).Draw(t, "in order") > 0 {
			sequence = next
		}
		h = from(h, record.ProducerID(id), epoch, sequence)
		if rapid.Bool().Draw(t, "in a transaction") {
			h = in(h)
		}
	}
	got := w.log.Check(&h)
	require.Equal(t, w.judge(&h), got)
	if got.Outcome == log.Accepted {
		w.log.Append(&h)
		w.history = append(w.history, h)
	}
}

func (w *world) next(id record.ProducerID, epoch record.ProducerEpoch) (record.Sequence, bool) {
	for i := len(w.history) - 1; i >= 0; i-- {
		if h := &w.history[i]; h.ProducerID == id {
			if h.Attributes.Control() {
				return 0, h.ProducerEpoch == epoch
			}
			return record.AddSequence(h.BaseSequence, h.Count), h.ProducerEpoch == epoch
		}
	}
	return 0, true
}

// judge is Check, told from the history alone.
func (w *world) judge(h *record.Header) log.Verdict {
	if h.ProducerID < 0 {
		return accepted()
	}
	var own []record.Header // newest first, of the newest epoch; a marker begins one
	for i := len(w.history) - 1; i >= 0; i-- {
		known := w.history[i]
		if known.ProducerID == h.ProducerID && (len(own) == 0 || known.ProducerEpoch == own[0].ProducerEpoch) {
			own = append(own, known)
		}
	}
	next, _ := w.next(h.ProducerID, h.ProducerEpoch)
	if code := w.judgeTransaction(h, own); code != message.None {
		return refused(code)
	}
	switch {
	case len(own) == 0 || h.ProducerEpoch > own[0].ProducerEpoch:
		if h.BaseSequence == 0 {
			return accepted()
		}
		if len(own) == 0 {
			return refused(message.UnknownProducerID)
		}
		return refused(message.OutOfOrderSequence)
	case h.ProducerEpoch < own[0].ProducerEpoch:
		return refused(message.InvalidProducerEpoch)
	case h.BaseSequence == next:
		return accepted()
	}
	for _, known := range own[:min(5, len(own))] {
		if !known.Attributes.Control() && known.BaseSequence == h.BaseSequence && known.Count == h.Count {
			return duplicate(known.BaseOffset, known.End())
		}
	}
	return refused(message.OutOfOrderSequence)
}

// truncate cuts as a follower does, and drops from the history what went.
func (w *world) truncate(t *rapid.T) {
	to := record.Offset(rapid.Int64Range(int64(w.log.Settled()), int64(w.log.End())).Draw(t, "to"))
	end := w.log.Truncate(to)
	require.LessOrEqual(t, end, to)
	for len(w.history) > 0 && w.history[len(w.history)-1].End() > to {
		w.history = w.history[:len(w.history)-1]
	}
	if len(w.history) > 0 {
		require.Equal(t, w.history[len(w.history)-1].End(), end)
	} else {
		require.Zero(t, end)
	}
}

// check compares the log with what the history gives.
func (w *world) check(t *rapid.T) {
	rebuilt, err := log.Rebuild(w.history, 0)
	require.NoError(t, err)
	rebuilt.TrimPrefix(w.log.Start())
	require.Empty(t, w.log.Differs(rebuilt, 0))
	require.Equal(t, rebuilt.Digest(), w.log.Digest())
	require.LessOrEqual(t, w.log.Start(), w.log.Settled())
	require.LessOrEqual(t, w.log.Settled(), w.log.End())
	require.LessOrEqual(t, w.log.Settled(), max(w.settled, w.log.Start()+3), "nothing is settled that was not decided")

	retained, err := log.Rebuild(w.headers(0)[w.firstRetained():], w.log.Start())
	require.NoError(t, err)
	base := w.log.End()
	if rest := w.history[w.firstRetained():]; len(rest) > 0 {
		base = rest[0].BaseOffset
	}
	require.Empty(t, w.log.Differs(retained, base), "what retention has left tells as much as it can")
	w.checkEpochs(t)
	w.checkTransactions(t)
}

// firstRetained is the index of the first batch that is not wholly below Start.
func (w *world) firstRetained() int {
	for i := range w.history {
		if w.history[i].End() > w.log.Start() {
			return i
		}
	}
	return len(w.history)
}

func (w *world) checkEpochs(t *rapid.T) {
	asked := record.LeaderEpoch(rapid.Int32Range(-1, int32(w.epoch)+1).Draw(t, "asked"))
	answer := w.log.EndOf(asked)
	if answer.Epoch != record.NoLeaderEpoch {
		require.LessOrEqual(t, answer.Epoch, asked)
	}
	for _, h := range w.history[w.firstRetained():] {
		require.Equal(t, h.LeaderEpoch, w.log.EpochAt(h.BaseOffset))
		if h.LeaderEpoch <= asked {
			require.LessOrEqual(t, h.End(), answer.End, "no record of epoch %d or below is beyond its end", asked)
			require.GreaterOrEqual(t, answer.Epoch, h.LeaderEpoch)
		} else {
			require.GreaterOrEqual(t, max(h.BaseOffset, w.log.Start()), answer.End, "no record above epoch %d is below its end", asked)
		}
	}
}

// restore stops the node: what is left is the newest checkpoint and the log.
func (w *world) restore(t *rapid.T) {
	found := w.stored
	found.Start, found.End = w.log.Start(), w.log.End()
	found.Headers = w.headers(found.CheckpointAt)
	digest := w.log.Digest()
	restored, err := log.Restore(found)
	require.NoError(t, err)
	require.Equal(t, digest, restored.Digest())
	require.Empty(t, restored.Differs(w.log, 0))
	require.Empty(t, w.log.Differs(restored, 0))
	w.log = restored
}

func TestALogIsAFoldOverItsHeaders(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &world{log: log.New(0)}
		w.log.SetChunks(300, log.Retention{Age: -1})
		decide := func(hw record.Offset) {
			w.log.Settle(hw)
			w.settled = max(w.settled, min(hw, w.log.End()))
		}
		checkpoint := func() {
			w.stored.CheckpointAt, w.stored.Checkpoint = w.log.Checkpoint()
			w.stored.HighWatermark = w.settled
		}
		checkpoint()
		t.Repeat(map[string]func(*rapid.T){
			"produce":  w.produce,
			"produce2": w.produce,
			"mark":     w.mark,
			"elect": func(t *rapid.T) {
				w.epoch += record.LeaderEpoch(rapid.Int32Range(1, 3).Draw(t, "epochs"))
				w.log.BeginEpoch(w.epoch)
				require.Equal(t, end(w.epoch, w.log.End()), w.log.EndOf(w.epoch))
			},
			"truncate": w.truncate,
			"settle": func(t *rapid.T) {
				decide(record.Offset(rapid.Int64Range(0, int64(w.log.End())+2).Draw(t, "high watermark")))
			},
			"checkpoint": func(*rapid.T) { checkpoint() },
			"trim": func(t *rapid.T) {
				checkpoint() // goes before a TrimPrefix
				w.log.TrimPrefix(record.Offset(rapid.Int64Range(0, int64(w.log.Settled())).Draw(t, "start")))
			},
			"retire": func(t *rapid.T) {
				checkpoint()
				start := w.log.Retire(50_000, w.settled, log.Retention{
					Bytes: rapid.Int64Range(0, 2000).Draw(t, "bytes"), Age: 10_000_000_000})
				require.LessOrEqual(t, start, w.log.Settled())
				require.LessOrEqual(t, start, max(w.lastStable(w.settled), w.log.Start()))
				w.log.TrimPrefix(start)
			},
			"restart": w.restore,
			"carry over": func(t *rapid.T) {
				follower, start := log.New(0), w.log.Start()
				rest := w.history[w.firstRetained():]
				if len(rest) > 0 {
					start = min(rest[0].BaseOffset, start)
				}
				require.NoError(t, follower.Inherit(start, w.log.CarryOver()))
				for i := range rest {
					require.NoError(t, follower.Fits(&rest[i]))
					follower.Append(&rest[i])
				}
				follower.TrimPrefix(w.log.Start())
				require.Empty(t, follower.Differs(w.log, 0))
				require.Equal(t, w.log.Digest(), follower.Digest())
			},
			"": w.check,
		})
	})
}

// Differs and Digest must see what they are there to see.
func TestDifferencesAreSeen(t *testing.T) {
	base := []record.Header{from(plain(0, 2, 1), p, 0, 0), from(plain(2, 2, 2), p, 0, 2)}
	l := filled(base...)
	for name, other := range map[string]*log.Log{
		"another end":         filled(base[0]),
		"another epoch":       filled(base[0], from(plain(2, 2, 3), p, 0, 2)),
		"another epoch start": filled(from(plain(0, 2, 2), p, 0, 0), base[1]),
		"another sequence":    filled(base[0], from(plain(2, 2, 2), p, 0, 3)),
		"another producer":    filled(base[0], from(plain(2, 2, 2), q, 0, 0)),
		"no producer":         filled(plain(0, 2, 1), plain(2, 2, 2)),
		"one batch of two":    filled(plain(0, 2, 1), from(plain(2, 2, 2), p, 0, 2)),
	} {
		require.NotEmpty(t, l.Differs(other, 0), name)
		require.NotEmpty(t, other.Differs(l, 0), name)
		require.NotEqual(t, l.Digest(), other.Digest(), name)
	}
	trimmed := filled(base...)
	trimmed.TrimPrefix(1)
	require.NotEmpty(t, l.Differs(trimmed, 0))
	require.Empty(t, l.Differs(filled(base...), 0))
}
