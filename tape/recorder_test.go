package tape

import (
	"bytes"
	"log/slog"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
)

func recording(t *testing.T, limit int64) (*Recorder, *bytes.Buffer) {
	var said bytes.Buffer
	h := &Header{}
	h.Config.ID, h.Config.ClusterID, h.Config.Voters, h.Config.Incarnation = 3, "oak", []message.NodeID{1}, 0xabc
	r, err := Record(Options{Dir: t.TempDir(), Limit: limit, Log: slog.New(slog.NewTextHandler(&said, nil))}, h, &effect.Recovered{})
	require.NoError(t, err)
	require.True(t, strings.HasSuffix(r.Path(), "node3-00010101T000000Z-0000000000000abc.tape"), r.Path())
	return r, &said
}

// read reads a tape through and returns its number of steps and its end.
func read(t *testing.T, path string) (steps int, end string) {
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	r, err := NewReader(bytes.NewReader(b))
	require.NoError(t, err)
	for {
		if _, err := r.Next(); err != nil {
			return steps, r.End
		}
		steps++
	}
}

func TestARecorderWritesWholeStepsUpToItsEnd(t *testing.T) {
	r, said := recording(t, 0)
	for i := range 1000 {
		r.Begin(message.Now{Mono: message.Time(i)}, effect.Tick{})
		r.End([]effect.Effect{effect.Halt{Reason: "for the sake of it"}})
		if i%100 == 0 {
			runtime.Gosched()
		}
	}
	require.NoError(t, r.Close())
	steps, end := read(t, r.Path())
	require.Equal(t, 1000, steps)
	require.Equal(t, "the node has ended", end)
	require.Empty(t, said.String())
}

func TestARecorderStopsAtItsLimitAndTheNodeGoesOn(t *testing.T) {
	r, said := recording(t, 10_000)
	for range 1000 {
		r.Begin(message.Now{}, effect.DiskFailed{Detail: strings.Repeat("x", 90)})
		r.End(nil)
	}
	require.NoError(t, r.Close())
	steps, end := read(t, r.Path())
	require.InDelta(t, 80, steps, 15)
	require.Equal(t, "it has reached its limit of 10000 bytes", end)
	require.Contains(t, said.String(), "the recording ends here; the node goes on")
	info, err := os.Stat(r.Path())
	require.NoError(t, err)
	require.Less(t, info.Size(), int64(10_400))
}

func TestARecorderNeverWaitsForItsDisk(t *testing.T) {
	r, said := recording(t, 0)
	r.mu.Lock()
	r.steps = append(r.steps, make([]byte, maxWaiting)...) // a disk that takes nothing
	r.inStep = true
	r.mu.Unlock()
	r.End(nil)
	require.True(t, r.ended)
	require.Contains(t, said.String(), "the disk does not take it as fast as it comes")
	require.NoError(t, r.Close())
}

func TestWhatHasNoFormEndsTheTapeInGoodOrder(t *testing.T) {
	r, _ := recording(t, 0)
	r.Begin(message.Now{}, effect.Tick{})
	r.End(nil)
	r.Begin(message.Now{}, effect.Tick{})
	r.End([]effect.Effect{nil})
	r.Begin(message.Now{}, effect.Tick{})
	r.End(nil)
	require.NoError(t, r.Close())
	steps, end := read(t, r.Path())
	require.Equal(t, 1, steps)
	require.Equal(t, "tape: no form is known for the effect <nil>", end)
}

// BenchmarkStep is what recording adds to a step: an append of a kilobyte by a
// follower, with the flush and the fetch that it causes.
func BenchmarkStep(b *testing.B) {
	h := &Header{}
	e, tape, err := NewEncoder(nil, h, &effect.Recovered{})
	require.NoError(b, err)
	kilobyte := make([]byte, 1024)
	in := effect.Received{From: 1, Msg: &message.ReplicaFetchReply{Partitions: []message.ReplicaFetchedPartition{{Records: kilobyte}}}}
	effects := []effect.Effect{
		effect.Append{End: 4, Batches: kilobyte}, effect.Flush{},
		effect.Send{To: 1, Msg: &message.ReplicaFetch{Partitions: []message.ReplicaFetchPartition{{Offset: 4}}}},
	}
	b.ReportAllocs()
	for b.Loop() {
		tape, _ = e.Begin(tape[:0], message.Now{}, in)
		tape, _ = e.End(tape, effects)
	}
	b.ReportMetric(float64(len(tape)), "bytes/step")
}
