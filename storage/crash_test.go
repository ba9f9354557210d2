package storage

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tamarack-mq/tamarack/core/chance"
	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/record"
	"github.com/tamarack-mq/tamarack/storage/vfs/simdisk"
)

// model is what the test knows of a store: it applies each call to itself, and
// says which states may be found after a crash.
type model struct {
	logs   []modelLog
	frames [][]byte // of the journal, all durable
	began  int      // calls begun
}

// modelLog is one log. The content of a log that does not exist does not count.
type modelLog struct {
	id      record.PartitionID
	exists  bool
	born    bool // flushed once
	start   record.Offset
	end     record.Offset
	flushed record.Offset
	settled record.Offset // a checkpoint reaches up to here at most: nothing below is truncated
	epoch   record.LeaderEpoch
	batches [][]byte // some may lie below start
	// Where a crash inside the last call may leave the log otherwise.
	floor   record.Offset   // everything below is there: at most flushed
	starts  []record.Offset // starts that are possible
	fresh   bool            // it may be empty, at starts[0]
	missing bool            // it may be gone
}

func (l *modelLog) settle() {
	l.floor, l.starts, l.fresh, l.missing = l.flushed, []record.Offset{l.start}, false, !l.born
}

func (l *modelLog) cut(to record.Offset) {
	for n := len(l.batches); n > 0 && headers(l.batches[n-1])[0].BaseOffset >= to; n-- {
		l.batches = l.batches[:n-1]
	}
	l.end, l.flushed = to, min(l.flushed, to)
}

// workload makes calls that follow from its random stream, on a store that may
// crash at any time.
type workload struct {
	random *chance.Stream
	s      *Store
	m      model
	// During a call that touches the journal: what else may be found.
	adding    [][]byte
	replacing [][]byte
}

func newWorkload(seed uint64) *workload {
	w := &workload{random: chance.New(seed)}
	for i := range int32(3) {
		w.m.logs = append(w.m.logs, modelLog{id: record.PartitionID{Topic: 9, Index: i}})
	}
	return w
}

// run makes calls until they are done or one fails.
func (w *workload) run(calls int) error {
	for range calls {
		if err := w.step(); err != nil {
			return err
		}
	}
	return nil
}

func (w *workload) step() error {
	l := &w.m.logs[w.random.Below(int64(len(w.m.logs)))]
	r := w.random
	if !l.exists {
		*l = modelLog{id: l.id, exists: true, start: record.Offset(r.Below(3) * 50), epoch: 1, missing: true}
		l.end, l.flushed = l.start, l.start
		l.settle()
		return w.s.Do(effect.CreateLog{Log: l.id, Start: l.start})
	}
	switch r.Below(16) {
	case 0, 1, 2, 3, 4:
		return w.append(l)
	case 5, 6, 7:
		return w.done(l, w.s.Flush(l.id), func() { l.flushed, l.born = l.end, true })
	case 8:
		to := l.end
		for _, b := range l.batches {
			if h := headers(b)[0]; h.BaseOffset >= max(l.start, l.settled) && r.OneIn(3) {
				to = h.BaseOffset
			}
		}
		l.floor = min(l.floor, to)
		return w.done(l, w.s.Do(effect.Truncate{Log: l.id, To: to}), func() { l.cut(to) })
	case 9:
		start := r.Between(int64(l.start), int64(l.end))
		return w.trim(l, record.Offset(start))
	case 10:
		if r.OneIn(3) {
			return w.reset(l, record.Offset(r.Below(200)))
		}
		if r.OneIn(3) {
			l.missing = true
			return w.done(l, w.s.Do(effect.DeleteLog{Log: l.id}), func() { l.exists = false })
		}
		return w.s.SyncMarks()
	case 11:
		at := l.start
		if len(l.batches) > 0 {
			at = max(at, headers(l.batches[r.Below(int64(len(l.batches)))])[0].BaseOffset)
		}
		l.settled = max(l.settled, at)
		err := w.s.Do(effect.Checkpoint{Log: l.id, At: at, HighWatermark: at, State: fmt.Append(nil, l.id, at)})
		return w.done(l, err, func() { l.born = true; l.flushed = max(l.flushed, min(at, l.end)) })
	case 12, 13, 14:
		w.adding = nil
		for range r.Between(1, 3) {
			w.adding = append(w.adding, fmt.Appendf(nil, "frame %d %s", r.Below(1e9), bytes.Repeat([]byte("="), int(r.Below(300)))))
		}
		err := w.s.SaveQuorum(w.adding...)
		if err == nil {
			w.m.frames, w.adding = append(w.m.frames, w.adding...), nil
		}
		return err
	default:
		w.replacing = [][]byte{fmt.Appendf(nil, "snapshot %d", r.Below(1e9)), []byte("and one")}
		err := w.s.ReplaceQuorum(w.replacing)
		if err == nil {
			w.m.frames, w.replacing = w.replacing, nil
		}
		return err
	}
}

// done applies to the model what a call has done, if it has.
func (w *workload) done(l *modelLog, err error, apply func()) error {
	if err == nil {
		apply()
		l.settle()
	}
	return err
}

func (w *workload) append(l *modelLog) error {
	var batches [][]byte
	for at := l.end; len(batches) == 0 || w.random.OneIn(2); {
		if w.random.OneIn(5) {
			l.epoch++
		}
		b := batchOf(at, l.epoch, int(w.random.Between(1, 3)), int(w.random.Between(5, 200)), 0)
		batches = append(batches, b)
		at = headers(b)[0].End()
	}
	a := appendOf(l.id, batches...)
	l.batches, l.end = append(l.batches, batches...), a.End // in part, perhaps
	return w.done(l, w.s.Do(a), func() {})
}

func (w *workload) trim(l *modelLog, start record.Offset) error {
	l.starts = []record.Offset{l.start, start}
	err := w.s.Do(effect.TrimPrefix{Log: l.id, Start: start})
	return w.done(l, err, func() {
		if start > l.start {
			if start > l.flushed || !l.born {
				l.flushed = max(l.flushed, start)
			}
			l.start, l.born = start, true
		}
	})
}

func (w *workload) reset(l *modelLog, start record.Offset) error {
	// Until the new log is in place the old one may start lower again, where a
	// segment begins, if the new start is lower.
	l.starts = []record.Offset{start, l.start}
	if start < l.start {
		for _, b := range l.batches {
			if h := headers(b)[0]; h.BaseOffset < l.start {
				l.starts = append(l.starts, h.BaseOffset)
			}
		}
		for at := start; at < l.start; at++ {
			l.starts = append(l.starts, at)
		}
	}
	l.fresh = true
	return w.done(l, w.s.Do(effect.Reset{Log: l.id, Start: start}), func() {
		*l = modelLog{id: l.id, exists: true, born: true, start: start, end: start, flushed: start, epoch: l.epoch}
	})
}

// check holds what recovery found against what may be there, and takes it over.
func (w *workload) check(t require.TestingT, s *Store, found effect.Recovered, why string) {
	w.s = s
	require.Empty(t, found.JournalDamaged, why)
	w.checkJournal(t, found.Journal, why)
	byID := map[record.PartitionID]effect.RecoveredLog{}
	for _, l := range found.Logs {
		byID[l.ID] = l
	}
	for i := range w.m.logs {
		l := &w.m.logs[i]
		got, ok := byID[l.id]
		delete(byID, l.id)
		if !ok {
			require.True(t, !l.exists || l.missing, "%s: log %v is gone", why, l.id)
			l.exists = false
			continue
		}
		require.True(t, l.exists, "%s: log %v is back", why, l.id)
		w.checkLog(t, l, got, why)
	}
	require.Empty(t, byID, why)
}

func (w *workload) checkJournal(t require.TestingT, got [][]byte, why string) {
	if w.replacing != nil && len(got) > 0 && bytes.Equal(got[0], w.replacing[0]) {
		require.Equal(t, w.replacing, got, why)
	} else {
		all := append(slices.Clone(w.m.frames), w.adding...)
		require.GreaterOrEqual(t, len(got), len(w.m.frames), why)
		require.LessOrEqual(t, len(got), len(all), why)
		for i := range got {
			require.Equal(t, all[i], got[i], why)
		}
	}
	w.m.frames, w.adding, w.replacing = slices.Clone(got), nil, nil
}

func (w *workload) checkLog(t require.TestingT, l *modelLog, got effect.RecoveredLog, why string) {
	why = fmt.Sprintf("%s: log %v, found %d..%d %q, model %+v", why, l.id, got.Start, got.End, got.Damage,
		[]any{l.start, l.flushed, l.floor, l.end, l.starts, l.fresh})
	require.Empty(t, got.Damage, why)
	if l.fresh && got.Start == l.starts[0] && got.End == got.Start {
		*l = modelLog{id: l.id, exists: true, born: true, start: got.Start, end: got.End, flushed: got.End, epoch: l.epoch}
		l.settle()
		return
	}
	require.Contains(t, l.starts, got.Start, why)
	require.GreaterOrEqual(t, got.End, l.floor, why)
	require.LessOrEqual(t, got.End, l.end, why)
	var want []byte
	var heads []record.Header
	ends := []record.Offset{l.start, got.Start}
	for _, b := range l.batches {
		h := headers(b)[0]
		ends = append(ends, h.End())
		if h.End() > got.Start && h.End() <= got.End {
			want = append(want, b...)
			if h.End() > got.CheckpointAt {
				heads = append(heads, h)
			}
		}
	}
	require.Contains(t, ends, got.End, why)
	require.Equal(t, heads, got.Headers, why)
	if got.Checkpoint != nil {
		require.Equal(t, fmt.Append(nil, l.id, got.CheckpointAt), got.Checkpoint, why)
	}
	require.LessOrEqual(t, got.Start, got.HighWatermark, why)
	require.LessOrEqual(t, got.HighWatermark, got.End, why)
	content, err := readAll(w.s, l.id, got.Start, got.End, 700)
	require.NoError(t, err, why)
	require.True(t, bytes.Equal(want, content), why)
	l.start = got.Start
	l.cut(got.End)
	l.flushed, l.born = got.End, true
	l.settle()
}

// A crash at every operation of a workload, and inside it, leaves a prefix of
// what was written that contains all that was flushed (INV-11). So does a crash
// at any operation of the recovery after it. What recovery found is durable,
// and recovering again finds the same.
func TestACrashAnywhereLeavesAPrefixWithAllThatWasFlushed(t *testing.T) {
	const calls = 40
	crashes := 0
	for seed := range uint64(seeds(t)) {
		w := newWorkload(seed)
		d := simdisk.New()
		w.s, _ = open(t, d, small)
		before := d.Ops()
		require.NoError(t, w.run(calls), "seed %d", seed)
		total := d.Ops() - before
		for k := int64(1); k <= total; k++ {
			crashOnce(t, seed, k, calls)
			crashes++
		}
	}
	t.Logf("%d crashes", crashes)
}

func seeds(t *testing.T) int {
	if testing.Short() {
		return 3
	}
	return 12
}

func crashOnce(t *testing.T, seed uint64, k int64, calls int) {
	why := fmt.Sprintf("seed %d, crash in operation %d", seed, k)
	random := chance.New(seed*1000003 + uint64(k))
	w := newWorkload(seed)
	d := simdisk.New()
	w.s, _ = open(t, d, small)
	d.CrashAfter(k, random)
	require.Error(t, w.run(calls), why)
	require.True(t, d.Crashed(), why)
	require.ErrorIs(t, w.s.Flush(logA), ErrFailed, why)

	for round := range 3 {
		if random.OneIn(3) {
			d.Kill()
		} else {
			d.Crash(random)
		}
		if round < 2 {
			d.CrashAfter(random.Between(1, 25), random)
		}
		s, found, err := Open(d, small, 42)
		if err != nil {
			require.ErrorIs(t, err, simdisk.ErrCrashed, why)
			continue
		}
		d.CrashAfter(0, nil)
		w.check(t, s, found, why)
		d.Crash(random)
		again, refound := open(t, d, small)
		require.Equal(t, found, refound, why+": recovering again")
		w.check(t, again, refound, why)
		require.NoError(t, w.run(6), why)
	}
}

// The same with a sync that fails: nothing is promised after it, and nothing
// that was promised before is lost.
func TestAFailedSyncAnywhereLosesNothingThatWasPromised(t *testing.T) {
	const calls = 40
	for seed := range uint64(seeds(t)) {
		for n := int64(1); ; n++ {
			why := fmt.Sprintf("seed %d, sync %d fails", seed, n)
			random := chance.New(seed<<32 + uint64(n))
			w := newWorkload(seed)
			d := simdisk.New()
			w.s, _ = open(t, d, small)
			d.FailSync(n, random)
			if w.run(calls) == nil {
				break
			}
			if random.OneIn(2) { // the page cache survives, with what it hides
				d.Kill()
				s, found := open(t, d, small)
				w.check(t, s, found, why)
				require.NoError(t, w.run(5), why)
			}
			d.Crash(random)
			s, found := open(t, d, small)
			w.check(t, s, found, why+", after a crash")
		}
	}
}

// And with a disk that is full now and then: calls that find no room change
// nothing.
func TestAFullDiskAnywhereChangesNothing(t *testing.T) {
	for seed := range uint64(seeds(t)) {
		w := newWorkload(seed)
		d := simdisk.New()
		w.s, _ = open(t, d, small)
		refused := 0
		for range 300 {
			if w.random.OneIn(4) {
				d.SetCapacity(d.Used() + w.random.Below(600))
			}
			saved := w.m
			saved.logs = slices.Clone(w.m.logs)
			err := w.step()
			if err == nil {
				continue
			}
			require.ErrorIs(t, err, ErrNoRoom, "seed %d", seed)
			refused++
			w.m, w.adding, w.replacing = saved, nil, nil
			d.SetCapacity(0)
		}
		require.Positive(t, refused)
		d.SetCapacity(0)
		d.Crash(w.random)
		s, found := open(t, d, small)
		w.check(t, s, found, fmt.Sprintf("seed %d", seed))
	}
}
