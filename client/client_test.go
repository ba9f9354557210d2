package client_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/client"
	protocol "github.com/tamarack-mq/tamarack/core/client"
	"github.com/tamarack-mq/tamarack/core/message"
)

// dial is a client of a fake cluster, and a context that ends with the test.
func dial(t *testing.T, f *fake, options ...client.Option) (context.Context, *client.Client) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	t.Cleanup(cancel)
	c, err := client.Dial(ctx, "seed:1, other:1", append([]client.Option{client.WithDialer(f.dial)}, options...)...)
	require.NoError(t, err)
	t.Cleanup(func() {
		f.stop()
		c.Abort()
	})
	return ctx, c
}

func TestWhatIsPublishedIsPolledAndCommitted(t *testing.T) {
	f := newFake()
	var told []protocol.EventKind
	ctx, c := dial(t, f, client.WithEvents(func(e protocol.Event) { told = append(told, e.Kind) }))
	header := []client.Header{{Key: []byte("h"), Value: []byte("v")}}
	sent, err := c.PublishMessage(ctx, client.Message{Topic: "orders", Partition: 1, Key: []byte("k"), Value: []byte("first"), Headers: header, Timestamp: 77})
	require.NoError(t, err)
	require.Equal(t, client.Receipt{Partition: 1, Offset: 0, Timestamp: 77}, sent)
	partition, offset, err := c.Publish(ctx, "orders", []byte("k"), []byte("second"))
	require.NoError(t, err)
	require.Equal(t, protocol.PartitionOf([]byte("k"), 2), partition)

	require.NoError(t, c.Subscribe(ctx, client.Subscription{Group: "g", Topics: []string{"orders"}}))
	var got []string
	for len(got) < 2 {
		records, err := c.Poll(ctx, 10)
		require.NoError(t, err)
		require.NotEmpty(t, records)
		for _, r := range records {
			got = append(got, fmt.Sprintf("%s/%d@%d %s=%s", r.Topic, r.Partition, r.Offset, r.Key, r.Value))
			if string(r.Value) == "first" {
				require.Equal(t, header, r.Headers)
				require.Equal(t, int64(77), r.Timestamp)
			}
		}
	}
	slices.Sort(got)
	want := []string{"orders/1@0 k=first", fmt.Sprintf("orders/%d@%d k=second", partition, offset)}
	slices.Sort(want)
	require.Equal(t, want, got)
	require.NoError(t, c.Commit(ctx))
	committed, err := c.Committed(ctx, client.Place{Topic: "orders", Partition: 1})
	require.NoError(t, err)
	require.Positive(t, committed[0].Offset)
	require.NoError(t, c.Close(ctx))
	require.Equal(t, []protocol.EventKind{protocol.EpochChanged, protocol.Assigned}, told[:2])
	require.Contains(t, told, protocol.Revoked)
}

// Many goroutines publish while connections break under them: every record is
// in the log once, where its receipt says, and each goroutine's own in order.
func TestBrokenConnectionsNeitherLoseNorDoubleNorReorder(t *testing.T) {
	f := newFake()
	ctx, c := dial(t, f)
	const writers, each = 8, 60
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				r, err := c.PublishMessage(ctx, client.Message{Topic: "orders", Partition: int32(w % 2), Value: fmt.Appendf(nil, "%d.%03d", w, i)})
				if err != nil {
					t.Errorf("writer %d record %d: %v", w, i, err)
					return
				}
				if got := f.values(w % 2)[r.Offset]; got != fmt.Sprintf("%d.%03d", w, i) {
					t.Errorf("writer %d record %d: offset %d holds %s", w, i, r.Offset, got)
				}
			}
		})
	}
	written := make(chan struct{})
	go func() { wg.Wait(); close(written) }()
	for cutting := true; cutting; {
		select {
		case <-written:
			cutting = false
		case <-time.After(5 * time.Millisecond):
			f.cut()
		}
	}
	for p := range 2 {
		next := map[byte]int{}
		values := f.values(p)
		require.Len(t, values, writers/2*each)
		for _, v := range values {
			require.Equal(t, fmt.Sprintf("%c.%03d", v[0], next[v[0]]), v)
			next[v[0]]++
		}
	}
}

func TestAsyncRecordsKeepTheirOrder(t *testing.T) {
	f := newFake()
	ctx, c := dial(t, f)
	offsets := make([]int64, 1000)
	for i := range offsets {
		c.PublishAsync(client.Message{Topic: "orders", Partition: 0, Value: fmt.Appendf(nil, "%04d", i)}, func(r client.Receipt, err error) {
			offsets[i] = r.Offset
		})
	}
	require.NoError(t, c.Flush(ctx))
	for i, at := range offsets {
		require.Equal(t, int64(i), at)
	}
	require.True(t, slices.IsSorted(f.values(0)))
	receipts, err := c.PublishAll(ctx, []client.Message{{Topic: "orders", Partition: 1}, {Topic: "orders", Partition: 0}})
	require.NoError(t, err)
	require.Equal(t, []int64{0, 1000}, []int64{receipts[0].Offset, receipts[1].Offset})
}

func TestAFullBufferIsToldAtOnce(t *testing.T) {
	f := newFake()
	f.silent[message.KindProduce] = true
	_, c := dial(t, f, client.WithConfig(func(cfg *protocol.Config) { cfg.BufferBytes = 1000 }))
	var full *client.Error
	for range 10 {
		c.PublishAsync(client.Message{Topic: "orders", Value: make([]byte, 300)}, func(_ client.Receipt, err error) {
			if e := (*client.Error)(nil); errors.As(err, &e) && e.Cause.Problem == protocol.BufferFull {
				full = e // by this goroutine: nothing else fails before the test ends
			}
		})
	}
	require.NotNil(t, full)
	require.False(t, full.Unknown)
}

func TestAContextEndsTheWaiting(t *testing.T) {
	f := newFake()
	f.silent[message.KindProduce] = true
	ctx, c := dial(t, f)
	short, cancel := context.WithCancel(ctx)
	go func() {
		<-f.ignored // the record is under way
		cancel()
	}()
	_, _, err := c.Publish(short, "orders", nil, []byte("a"))
	require.ErrorIs(t, err, context.Canceled)
	require.NoError(t, c.Assign(ctx, protocol.Assign{Partitions: []protocol.Start{{Place: client.Place{Topic: "orders"}}}}))
	records, err := c.Poll(short, 1)
	require.NoError(t, err)
	require.Empty(t, records)
}

func TestErrorsCanBeTold(t *testing.T) {
	f := newFake()
	ctx, c := dial(t, f, client.WithConfig(func(cfg *protocol.Config) { cfg.TopicTimeout = message.Millisecond }))
	err := c.CreateTopic(ctx, message.CreateTopic{Name: "x"})
	require.ErrorIs(t, err, message.InvalidPartitions)
	require.ErrorContains(t, err, "a topic has at least one partition")

	_, _, err = c.Publish(ctx, "nope", nil, nil)
	var e *client.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, protocol.NoSuchTopic, e.Cause.Problem)
	require.False(t, e.Unknown)
	_, err = c.Poll(ctx, 1)
	require.ErrorAs(t, err, &e)
	require.Equal(t, protocol.NotReading, e.Cause.Problem)
}

func TestDialSaysWhyItFailed(t *testing.T) {
	f := newFake()
	f.down = errors.New("no route to host")
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	_, err := client.Dial(ctx, "seed:1", client.WithDialer(f.dial))
	require.ErrorIs(t, err, f.down)
	_, err = client.Dial(ctx, " , ")
	require.ErrorContains(t, err, "host:port")
}

func TestCloseAnswersEverybody(t *testing.T) {
	f := newFake()
	ctx, c := dial(t, f)
	require.NoError(t, c.Close(ctx))
	require.NoError(t, c.Close(ctx))
	_, _, err := c.Publish(ctx, "orders", nil, nil)
	require.ErrorIs(t, err, client.ErrClosed)
	require.ErrorIs(t, c.Commit(ctx), client.ErrClosed)

	f.silent[message.KindProduce] = true
	_, c = dial(t, f)
	failed := make(chan error, 1)
	c.PublishAsync(client.Message{Topic: "orders"}, func(_ client.Receipt, err error) { failed <- err })
	c.Abort()
	require.ErrorIs(t, <-failed, client.ErrClosed)
}

func TestManyGoroutinesShareOneClient(t *testing.T) {
	f := newFake()
	ctx, c := dial(t, f)
	require.NoError(t, c.Subscribe(ctx, client.Subscription{Group: "g", Topics: []string{"orders"}, AutoCommit: true}))
	const total = 300
	var wg sync.WaitGroup
	for w := range 3 {
		wg.Go(func() {
			for i := range total / 3 {
				if _, _, err := c.Publish(ctx, "orders", fmt.Appendf(nil, "%d", i), []byte{byte(w)}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	var mu sync.Mutex
	seen := map[string]bool{}
	for range 2 {
		wg.Go(func() {
			for {
				records, err := c.Poll(ctx, 7)
				if err != nil || len(records) == 0 {
					t.Errorf("poll: %d records, %v", len(records), err)
					return
				}
				mu.Lock()
				for _, r := range records {
					at := fmt.Sprintf("%d@%d", r.Partition, r.Offset)
					if seen[at] {
						t.Errorf("%s was handed over twice", at)
					}
					seen[at] = true
				}
				over := len(seen) >= total-7
				mu.Unlock()
				if over {
					return
				}
			}
		})
	}
	wg.Go(func() {
		for range 20 {
			if _, err := c.ListGroups(ctx); err != nil {
				t.Error(err)
			}
			if _, err := c.Positions(ctx); err != nil {
				t.Error(err)
			}
		}
	})
	wg.Wait()
	require.NoError(t, c.Close(ctx))
}
