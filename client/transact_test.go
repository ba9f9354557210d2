package client_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/client"
	protocol "github.com/tamarack-mq/tamarack/core/client"
	"github.com/tamarack-mq/tamarack/core/message"
)

// fill publishes n records to orders/0 outside of any transaction.
func fill(t *testing.T, f *fake, n int) {
	ctx, c := dial(t, f)
	for i := range n {
		_, err := c.PublishMessage(ctx, client.Message{Topic: "orders", Partition: 0, Value: fmt.Appendf(nil, "%03d", i)})
		require.NoError(t, err)
	}
	require.NoError(t, c.Close(ctx))
}

// worker is a client that makes transactions and reads for a group.
func worker(t *testing.T, f *fake) (context.Context, *client.Client) {
	ctx, c := dial(t, f, client.WithTransactionalID("pay"))
	require.NoError(t, c.Subscribe(ctx, client.Subscription{Group: "g", Topics: []string{"orders"}}))
	return ctx, c
}

// inputs polls until there are records of orders/0.
func inputs(t *testing.T, ctx context.Context, c *client.Client, limit int) []client.Record {
	for ctx.Err() == nil {
		records, err := c.Poll(ctx, limit)
		require.NoError(t, err)
		var input []client.Record
		for _, r := range records {
			if r.Partition == 0 {
				input = append(input, r)
			}
		}
		if len(input) > 0 {
			return input
		}
	}
	t.Fatal("nothing came")
	return nil
}

// copyTo is a transaction that copies records to orders/1.
func copyTo(tx *client.Tx, records []client.Record) error {
	for _, r := range records {
		if err := tx.PublishMessage(client.Message{Topic: "orders", Partition: 1, Value: r.Value}); err != nil {
			return err
		}
	}
	return tx.CommitRecords(records)
}

// committed are the values of orders/1 that readers of committed records see, and
// where group g stands in orders/0.
func committed(t *testing.T, f *fake) (values []string, position int64) {
	ctx, c := dial(t, f, client.WithReadCommitted())
	f.mu.Lock()
	end, at := f.transactions.stable(1, f.ends[1]), int64(f.offsets[ordersPart(0)].Offset)
	f.mu.Unlock()
	place := client.Place{Topic: "orders", Partition: 1}
	require.NoError(t, c.Assign(ctx, protocol.Assign{Partitions: []protocol.Start{{Place: place}}}))
	for {
		records, err := c.Poll(shortly(ctx), 0)
		require.NoError(t, err)
		for _, r := range records {
			values = append(values, string(r.Value))
		}
		positions, err := c.Positions(ctx)
		require.NoError(t, err)
		if len(positions) > 0 && positions[0].Offset >= int64(end) {
			return values, at
		}
	}
}

func TestATransactionCommitsRecordsAndPositionsTogether(t *testing.T) {
	f := newFake()
	fill(t, f, 4)
	ctx, c := worker(t, f)
	records := inputs(t, ctx, c, 2)
	require.NoError(t, c.Transact(ctx, func(tx *client.Tx) error {
		require.NoError(t, copyTo(tx, records))
		got, _ := committed(t, f)
		require.Empty(t, got, "not yet")
		return nil
	}))
	got, at := committed(t, f)
	require.Equal(t, []string{"000", "001"}, got)
	require.Equal(t, int64(2), at)
	require.Equal(t, "002", string(inputs(t, ctx, c, 1)[0].Value))
}

func TestAnErrorAbortsAndTheRecordsComeAgain(t *testing.T) {
	f := newFake()
	fill(t, f, 2)
	ctx, c := worker(t, f)
	records := inputs(t, ctx, c, 1)
	sick := errors.New("sick")
	err := c.Transact(ctx, func(tx *client.Tx) error {
		require.NoError(t, copyTo(tx, records))
		return sick
	})
	require.Same(t, sick, err)
	again := inputs(t, ctx, c, 1)
	require.Equal(t, records[0].Value, again[0].Value)
	err = c.Transact(ctx, func(tx *client.Tx) error { return copyTo(tx, records) })
	require.ErrorIs(t, err, client.ErrAbortable, "those in hand from before are not to be used")
	again = inputs(t, ctx, c, 1)
	require.NoError(t, c.Transact(ctx, func(tx *client.Tx) error { return copyTo(tx, again) }))
	got, at := committed(t, f)
	require.Equal(t, []string{"000"}, got)
	require.Equal(t, int64(1), at)
}

func TestAPanicAborts(t *testing.T) {
	f := newFake()
	fill(t, f, 1)
	ctx, c := worker(t, f)
	records := inputs(t, ctx, c, 1)
	require.PanicsWithValue(t, "oh", func() {
		_ = c.Transact(ctx, func(tx *client.Tx) error {
			require.NoError(t, copyTo(tx, records))
			panic("oh")
		})
	})
	require.Len(t, inputs(t, ctx, c, 1), 1)
	got, _ := committed(t, f)
	require.Empty(t, got)
}

func TestWhatMayPassIsTriedAgain(t *testing.T) {
	f := newFake()
	fill(t, f, 1)
	ctx, c := worker(t, f)
	records := inputs(t, ctx, c, 1)
	f.transactions.refuse[message.KindProduce] = message.InvalidProducerEpoch
	calls := 0
	require.NoError(t, c.Transact(ctx, func(tx *client.Tx) error { calls++; return copyTo(tx, records) }))
	require.Equal(t, 2, calls)
	f.transactions.refuse[message.KindProduce] = message.InvalidTopic
	err := c.Transact(ctx, func(tx *client.Tx) error { calls++; return copyTo(tx, nil) })
	require.NoError(t, err, "a transaction of nothing")
	err = c.Transact(ctx, func(tx *client.Tx) error { calls++; return tx.Publish("orders", nil, []byte("x")) })
	require.ErrorIs(t, err, client.ErrAbortable)
	require.ErrorIs(t, err, message.InvalidTopic)
	require.Equal(t, 4, calls)
	got, _ := committed(t, f)
	require.Equal(t, []string{"000"}, got)
}

func TestTheLastOfTwoClientsWithOneIdGoesOn(t *testing.T) {
	f := newFake()
	fill(t, f, 1)
	ctx, old := worker(t, f)
	records := inputs(t, ctx, old, 1)
	err := old.Transact(ctx, func(tx *client.Tx) error {
		_, young := dial(t, f, client.WithTransactionalID("pay"))
		require.NoError(t, young.Transact(ctx, func(tx *client.Tx) error { return tx.Publish("orders", nil, []byte("young")) }))
		return copyTo(tx, records)
	})
	require.ErrorIs(t, err, client.ErrFenced)
	require.NotErrorIs(t, err, client.ErrUnknownOutcome)
	require.ErrorIs(t, old.Transact(ctx, func(*client.Tx) error { return nil }), client.ErrFenced)
}

// Whether a record or the end of the transaction is the first to be refused is a matter
// of time, and whether the function says something about it is its own.
func TestWhoIsFencedIsToldSoByWhateverIsRefused(t *testing.T) {
	for code, is := range map[message.Code]error{message.ProducerFenced: client.ErrFenced, message.InvalidTopic: client.ErrAbortable} {
		for _, says := range []string{"", "copying: "} {
			f := newFake()
			fill(t, f, 1)
			ctx, c := worker(t, f)
			f.transactions.refuse[message.KindProduce] = code
			err := c.Transact(ctx, func(tx *client.Tx) error {
				refused := make(chan error, 1)
				require.NoError(t, tx.PublishAsync(client.Message{Topic: "orders"}, func(_ client.Receipt, err error) { refused <- err }))
				require.ErrorIs(t, <-refused, code)
				err := tx.Publish("orders", nil, nil)
				require.ErrorIs(t, err, code)
				if says != "" {
					err = fmt.Errorf("%s%w", says, err)
				}
				return err
			})
			require.ErrorIs(t, err, is, says)
			require.ErrorIs(t, err, code, says)
			require.True(t, strings.HasPrefix(err.Error(), says), err)
		}
	}
}

func TestACommitWithoutAnAnswerIsUnknown(t *testing.T) {
	f := newFake()
	fill(t, f, 2)
	ctx, c := worker(t, f)
	records := inputs(t, ctx, c, 1)
	f.mu.Lock()
	f.silent[message.KindEndTransaction] = true
	f.mu.Unlock()
	brief, cancel := context.WithCancel(ctx)
	go func() { <-f.ignored; cancel() }()
	err := c.Transact(brief, func(tx *client.Tx) error { return copyTo(tx, records) })
	require.ErrorIs(t, err, client.ErrUnknownOutcome)
	require.ErrorIs(t, err, context.Canceled)
	f.mu.Lock()
	f.silent[message.KindEndTransaction] = false
	f.mu.Unlock()
	f.cut()
	rest := inputs(t, ctx, c, 9)
	require.Equal(t, "001", string(rest[0].Value), "the commit was asked for again, and polls go on behind it")
	require.NoError(t, c.Transact(ctx, func(tx *client.Tx) error { return copyTo(tx, rest) }))
	got, at := committed(t, f)
	require.Equal(t, []string{"000", "001"}, got)
	require.Equal(t, int64(2), at)
}

// A commit that was waited for no longer before all of it was stored would leave its
// transaction open, and no other one could begin.
func TestACommitThatIsLeftBeforeAllIsStoredIsAborted(t *testing.T) {
	for _, kind := range []message.Kind{message.KindProduce, message.KindCommitTransactionOffsets} {
		f := newFake()
		fill(t, f, 2)
		ctx, c := worker(t, f)
		records := inputs(t, ctx, c, 1)
		f.mu.Lock()
		f.silent[kind] = true
		f.mu.Unlock()
		brief, cancel := context.WithCancel(ctx)
		go func() { <-f.ignored; cancel() }()
		err := c.Transact(brief, func(tx *client.Tx) error { return copyTo(tx, records) })
		require.ErrorIs(t, err, context.Canceled)
		f.mu.Lock()
		f.silent[kind] = false
		f.mu.Unlock()
		f.cut()
		rest := inputs(t, ctx, c, 9)
		require.Equal(t, "000", string(rest[0].Value), "%s: it comes again", kind)
		require.NoError(t, c.Transact(ctx, func(tx *client.Tx) error { return copyTo(tx, rest) }))
		got, at := committed(t, f)
		require.Equal(t, []string{"000", "001"}, got)
		require.Equal(t, int64(2), at)
	}
}

// Workers are killed at any moment and connections cut: each input is in the output
// exactly once, in order.
func TestEachInputOnceHoweverWorkersEnd(t *testing.T) {
	const n = 60
	f := newFake()
	fill(t, f, n)
	seed := uint64(time.Now().UnixNano())
	random := rand.New(rand.NewPCG(seed, 0))
	for life := 0; ; life++ {
		ctx, c := worker(t, f)
		killed := time.AfterFunc(time.Duration(random.IntN(60_000))*time.Microsecond, func() {
			f.cut()
			if life < 30 {
				c.Abort()
			}
		})
		for {
			var records []client.Record
			got, err := c.Poll(shortly(ctx), 3)
			if errors.Is(err, client.ErrClosed) {
				break
			}
			require.NoError(t, err, "seed %d", seed)
			for _, r := range got {
				if r.Partition == 0 {
					records = append(records, r)
				}
			}
			f.mu.Lock()
			over := f.offsets[ordersPart(0)].Offset >= n
			f.mu.Unlock()
			if over {
				killed.Stop()
				values, _ := committed(t, f)
				for i, v := range values {
					require.Equal(t, fmt.Sprintf("%03d", i), v, "seed %d", seed)
				}
				require.Len(t, values, n, "seed %d", seed)
				return
			}
			if len(records) > 0 {
				if err := c.Transact(ctx, func(tx *client.Tx) error { return copyTo(tx, records) }); errors.Is(err, client.ErrClosed) {
					break
				}
			}
		}
		c.Abort()
	}
}

// Each part of a transaction says where, and that, it was stored.
func TestThePartsOfATransactionTellWhatBecameOfThem(t *testing.T) {
	f := newFake()
	fill(t, f, 3)
	ctx, c := worker(t, f)
	records := inputs(t, ctx, c, 3)
	type told struct {
		receipt client.Receipt
		err     error
	}
	published, stored := make(chan told, 1), make(chan error, 2)
	require.NoError(t, c.Transact(ctx, func(tx *client.Tx) error {
		err := tx.PublishAsync(client.Message{Topic: "orders", Partition: 1, Value: []byte("x")}, func(r client.Receipt, err error) {
			published <- told{r, err}
		})
		require.NoError(t, err)
		require.NoError(t, tx.CommitRecordsAsync(nil, func(err error) { stored <- err }))
		return tx.CommitRecordsAsync(records, func(err error) { stored <- err })
	}))
	p := <-published
	require.NoError(t, p.err)
	require.Equal(t, int32(1), p.receipt.Partition)
	require.GreaterOrEqual(t, p.receipt.Offset, int64(0))
	require.NoError(t, <-stored)
	require.NoError(t, <-stored)
	require.NoError(t, c.Close(ctx))
}

// What Publish refuses because the caller does not wait any more may be passed over by
// the function: what is left of the transaction is not committed without it.
func TestNothingIsCommittedWhenTheContextEndsWhileItIsMade(t *testing.T) {
	for story, room := range map[string]int64{"nothing is taken any more": 0, "there was no room": 1000} {
		f := newFake()
		fill(t, f, 1)
		ctx, c := dial(t, f, client.WithTransactionalID("pay"), client.WithConfig(func(cfg *protocol.Config) { cfg.BufferBytes = room }))
		require.NoError(t, c.Subscribe(ctx, client.Subscription{Group: "g", Topics: []string{"orders"}}))
		records := inputs(t, ctx, c, 1)
		brief, cancel := context.WithCancel(ctx)
		err := c.Transact(brief, func(tx *client.Tx) error {
			big := client.Message{Topic: "orders", Partition: 1, Value: make([]byte, 600)}
			require.NoError(t, tx.CommitRecords(records))
			if room == 0 {
				cancel()
			} else {
				f.mu.Lock()
				f.silent[message.KindProduce] = true
				f.mu.Unlock()
				require.NoError(t, tx.PublishMessage(big))
				go func() { <-f.ignored; cancel() }()
			}
			require.ErrorIs(t, tx.PublishMessage(big), context.Canceled, story)
			return nil // Transact tells
		})
		require.ErrorIs(t, err, context.Canceled, story)
		require.NotErrorIs(t, err, client.ErrUnknownOutcome, story)
		f.mu.Lock()
		f.silent[message.KindProduce] = false
		f.mu.Unlock()
		again := inputs(t, ctx, c, 1)
		require.Equal(t, records[0].Value, again[0].Value, story)
		require.NoError(t, c.Transact(ctx, func(tx *client.Tx) error { return copyTo(tx, again) }), story)
		got, at := committed(t, f)
		require.Equal(t, []string{"000"}, got, story)
		require.Equal(t, int64(1), at, story)
	}
}

// A client that ends tells apart what may have been committed from what was not.
func TestAClientThatEndsTellsWhatItKnowsOfItsTransaction(t *testing.T) {
	abort := func(c *client.Client) { c.Abort() }
	closes := func(c *client.Client) {
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		_ = c.Close(ended)
	}
	for story, end := range map[string]func(*client.Client){"abort": abort, "a close that is not waited for": closes} {
		f := newFake()
		fill(t, f, 1)
		ctx, c := worker(t, f)
		records := inputs(t, ctx, c, 1)
		f.mu.Lock()
		f.silent[message.KindEndTransaction] = true
		f.mu.Unlock()
		go func() { <-f.ignored; end(c) }()
		err := c.Transact(ctx, func(tx *client.Tx) error { return copyTo(tx, records) })
		require.ErrorIs(t, err, client.ErrUnknownOutcome, story)
		require.ErrorIs(t, err, client.ErrClosed, story)

		err = c.Transact(ctx, func(tx *client.Tx) error { return nil })
		require.ErrorIs(t, err, client.ErrClosed, story)
		require.NotErrorIs(t, err, client.ErrUnknownOutcome, "it did not begin")

		f = newFake()
		fill(t, f, 1)
		ctx, c = worker(t, f)
		records = inputs(t, ctx, c, 1)
		err = c.Transact(ctx, func(tx *client.Tx) error {
			require.NoError(t, copyTo(tx, records))
			end(c)
			if err := copyTo(tx, records); err != nil {
				return fmt.Errorf("no copy: %w", err)
			}
			return nil
		})
		require.ErrorIs(t, err, client.ErrClosed, story)
		require.NotErrorIs(t, err, client.ErrUnknownOutcome, "its commit was not asked for")
		f.mu.Lock()
		require.Empty(t, f.offsets, story)
		f.mu.Unlock()
	}
}

// Who can make no more transactions is told so in either case, and that another has the
// id only when that is so.
func TestAnEndThatIsRefusedForGoodIsFatal(t *testing.T) {
	for code, fenced := range map[message.Code]bool{message.InvalidRequest: false, message.ProducerFenced: true} {
		f := newFake()
		fill(t, f, 1)
		ctx, c := worker(t, f)
		records := inputs(t, ctx, c, 1)
		f.transactions.refuse[message.KindEndTransaction] = code
		err := c.Transact(ctx, func(tx *client.Tx) error { return copyTo(tx, records) })
		for range 2 {
			require.ErrorIs(t, err, client.ErrFatal)
			require.ErrorIs(t, err, code)
			require.Equal(t, fenced, errors.Is(err, client.ErrFenced), code)
			err = c.Transact(ctx, func(*client.Tx) error { return nil })
		}
	}
}
