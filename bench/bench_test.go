package bench

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/client"
	"github.com/tamarack-mq/tamarack/core"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/internal/loopback"
	"github.com/tamarack-mq/tamarack/server"
)

// newBench is a bench of one real node in this process.
func newBench(t *testing.T) *Bench {
	t.Helper()
	if testing.Short() {
		t.Skip("runs a real node")
	}
	list, err := loopback.Addresses(1)
	require.NoError(t, err)
	address := list[0]
	node, err := server.Start(server.Config{
		Node: 1, ClusterID: "bench", DataDir: t.TempDir(), Listen: address, HTTP: "127.0.0.1:0", ReserveBytes: -1,
		Voters: []server.Voter{{Node: 1, Address: address}},
		Timing: core.Timing{HeartbeatInterval: 100 * message.Millisecond, ElectionTimeout: 500 * message.Millisecond, QuorumHeartbeat: 50 * message.Millisecond},
	})
	require.NoError(t, err)
	t.Cleanup(func() {
		node.Stop()
		_ = node.Wait()
	})
	dial := func(ctx context.Context, options ...client.Option) (*client.Client, error) {
		return client.Dial(ctx, address, append([]client.Option{client.WithRequestTimeout(2 * time.Second)}, options...)...)
	}
	return &Bench{Dial: dial, Ready: ready, Meter: Meter{HTTP: []string{node.HTTPAddress()}}, Timeout: 20 * time.Second, Replicas: 1}
}

// ready waits until all partitions of a topic have a leader.
func ready(ctx context.Context, cl *client.Client, topic string) error {
	for ctx.Err() == nil {
		m, err := cl.Metadata(ctx, topic)
		if err != nil {
			return err
		}
		led := len(m.Topics) == 1 && m.Topics[0].Code == message.None
		for i := 0; led && i < len(m.Topics[0].Partitions); i++ {
			led = m.Topics[0].Partitions[i].Leader != message.NoNode
		}
		if led {
			return nil
		}
		time.Sleep(5 * time.Millisecond)
	}
	return ctx.Err()
}

// topics are those of benches that are there.
func topics(t *testing.T, b *Bench) (names []string) {
	t.Helper()
	cl, err := b.Dial(t.Context())
	require.NoError(t, err)
	defer shut(cl)
	m, err := cl.Metadata(t.Context())
	require.NoError(t, err)
	for _, topic := range m.Topics {
		if strings.HasPrefix(topic.Name, "bench-") {
			names = append(names, topic.Name)
		}
	}
	return names
}

func TestALoadIsMeasuredAndItsTopicRemoved(t *testing.T) {
	b := newBench(t)
	l := Load{Size: 100, Window: 16, Partitions: 2, Acks: message.AcksAll, Duration: 200 * time.Millisecond}
	r, err := b.Produce(t.Context(), l)
	require.NoError(t, err)
	require.Equal(t, []any{"produce", 100, 16, int32(2), "all"}, []any{r.Load, r.Size, r.Window, r.Partitions, r.Acks})
	require.Greater(t, r.Records, 16)
	require.InEpsilon(t, float64(r.Records)/r.Seconds, r.Rate, 1e-9)
	require.InEpsilon(t, r.Rate*100/1e6, r.Megabytes, 1e-9)
	require.Greater(t, r.P50, 0.0)
	require.IsNonDecreasing(t, []float64{r.P50, r.P99, r.P999, r.Max})
	require.Greater(t, r.Flushes, 0.0, "nothing is acknowledged without")
	require.Empty(t, topics(t, b))

	b.Keep, l.Acks = true, message.AcksLeader
	r, err = b.Consume(t.Context(), l)
	require.NoError(t, err)
	require.Equal(t, []any{"consume", "1"}, []any{r.Load, r.Acks})
	require.Greater(t, r.Records, 16)
	require.Zero(t, r.Max, "a record that is read has no latency of its own")
	require.Len(t, topics(t, b), 1)
}

func TestStylesTakeTurnsWithTheSameRecords(t *testing.T) {
	b := newBench(t)
	results, err := b.Compare(t.Context(), Styles{Records: 10, Size: 100, Partitions: 3, Producers: 2, Duration: time.Millisecond})
	require.NoError(t, err)
	var loads []string
	for _, r := range results {
		loads = append(loads, r.Load)
		require.Equal(t, []any{100, int32(3), 2}, []any{r.Size, r.Partitions, r.Producers})
		require.Greater(t, r.Rounds, 0, r.Load)
		require.Greater(t, r.Rate, 0.0, r.Load)
		if r.Load != "plain stream" {
			require.Greater(t, r.P10, 0.0, r.Load)
			require.IsNonDecreasing(t, []float64{r.P10, r.P50, r.P99, r.P999, r.Max}, r.Load)
		}
	}
	require.Equal(t, []string{"one record", "plain stream", "plain", "at most once", "at least once", "transaction"}, loads)
	require.Equal(t, 1, results[0].Records)
	require.Equal(t, 10, results[5].Records)
	require.Empty(t, topics(t, b))
}

func TestWhatFailsLeavesNothingAndSaysWhere(t *testing.T) {
	b := newBench(t)
	b.Ready = func(context.Context, *client.Client, string) error { return errors.New("never ready") }
	_, err := b.Produce(t.Context(), Load{Size: 1, Window: 1, Partitions: 1, Acks: message.AcksAll, Duration: time.Millisecond})
	require.EqualError(t, err, "never ready")
	require.Empty(t, topics(t, b))

	b.Ready = ready
	b.Meter.HTTP = []string{"127.0.0.1:1"}
	_, err = b.Compare(t.Context(), Styles{Records: 1, Size: 1, Partitions: 1, Producers: 1, Duration: time.Millisecond})
	require.ErrorContains(t, err, "one record, 1 records: cannot read the metrics of 127.0.0.1:1")
	require.Empty(t, topics(t, b))
}
