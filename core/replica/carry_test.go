package replica

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core/message"
)

// What producers did in records that are gone must hold on whoever leads next:
// also on a replica that was away while the records were there, and had to
// begin anew behind them (INV-27, INV-29).
func TestAReplicaThatBeginsAnewKnowsProducersOfRecordsThatAreGone(t *testing.T) {
	w := newWorld(t, 3)
	w.create(p0, message.TopicConfig{}, 1, 2, 3)
	first := func() []byte { return numbered(batch("a", 2), 7, 0) }
	second := func() []byte { return numbered(batch("b", 1), 7, 2) }
	l, f := w.node(1), w.node(3)
	f.crash()
	w.setISR(p0, 1, 2)
	w.run()
	l.produce(message.AcksAll, first())
	l.produce(message.AcksAll, second())
	w.pass(message.Second)
	w.deleteBefore(1, 3)
	w.pass(message.Second)
	require.EqualValues(t, 3, l.view(p0).ShownStart)
	f.start()
	w.pass(5 * message.Second)
	require.EqualValues(t, 3, f.view(p0).Start)

	check := func() {
		t.Helper()
		token := f.produce(message.AcksAll, first())
		w.run()
		again := w.produced(token)
		require.Equal(t, message.None, again.Code)
		require.EqualValues(t, 0, again.BaseOffset, "it is the batch of before, and not appended again")
		require.EqualValues(t, 3, f.view(p0).End)
	}
	w.elect(p0, 3, 1, 2, 3)
	w.run()
	check()

	f.crash()
	f.start()
	w.pass(message.Second)
	w.elect(p0, 3, 1, 2, 3)
	w.pass(message.Second)
	check()
}

// The same when the leader's log starts inside a batch: the log begins with the
// whole batch then, and keeps what it was told.
func TestWhatIsCarriedOverOutlivesABeginningInsideABatch(t *testing.T) {
	w := newWorld(t, 3)
	w.create(p0, message.TopicConfig{}, 1, 2, 3)
	l, f := w.node(1), w.node(3)
	f.crash()
	w.setISR(p0, 1, 2)
	w.run()
	first := func() []byte { return numbered(batch("a", 2), 7, 0) }
	l.produce(message.AcksAll, first())
	l.produce(message.AcksAll, numbered(batch("b", 3), 7, 2))
	w.pass(message.Second)
	w.deleteBefore(1, 3)
	w.pass(message.Second)
	f.start()
	w.pass(5 * message.Second)
	require.Equal(t, l.contents(p0), f.contents(p0))
	require.EqualValues(t, 3, f.view(p0).Start)
	require.Equal(t, l.m.Log(p0).Digest(), f.m.Log(p0).Digest())
	w.elect(p0, 3, 1, 2, 3)
	w.run()
	token := f.produce(message.AcksAll, first())
	w.run()
	require.EqualValues(t, 0, w.produced(token).BaseOffset)
}

// Damaged on its way, it is asked for again; the log stays as it is until then.
func TestNoLogBeginsAnewWithWhatDidNotComeWhole(t *testing.T) {
	w := newWorld(t, 3)
	w.create(p0, message.TopicConfig{}, 1, 2, 3)
	w.put(1, "a")
	f := w.node(3)
	f.crash()
	w.setISR(p0, 1, 2)
	w.put(1, "b", "c")
	w.deleteBefore(1, 2)
	w.pass(message.Second)
	broken := 0
	w.cut = func(x wire) bool {
		if r, ok := x.msg.(*message.ReplicaFetchReply); ok && broken < 3 {
			for i := range r.Partitions {
				if carried := r.Partitions[i].CarryOver; len(carried) > 0 {
					carried[len(carried)/2] ^= 1
					broken++
				}
			}
		}
		return false
	}
	f.start()
	w.pass(10 * message.Millisecond)
	require.Positive(t, broken)
	require.EqualValues(t, 0, f.view(p0).Start)
	w.pass(5 * message.Second)
	require.Equal(t, 3, broken)
	require.EqualValues(t, 2, f.view(p0).Start)
	require.Equal(t, w.node(1).m.Log(p0).Digest(), f.m.Log(p0).Digest())
}
