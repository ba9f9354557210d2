package bench

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/tamarack-mq/tamarack/client"
)

// worker is one program that reads a topic and writes another: with its transactional
// client and its plain one, each the only member of a group of its own.
type worker struct {
	run   *stylesRun
	plain *client.Client
	whole *client.Client // makes transactions
	done  client.Position
	next  int32 // partition of the next record
}

// worker dials, and reads the input, so that there is a position to commit.
func (r *stylesRun) worker(ctx context.Context, name string) (*worker, error) {
	w := &worker{run: r, done: client.Position{Place: client.Place{Topic: r.input}, Offset: 1}}
	var err error
	if w.plain, err = r.Dial(ctx); err != nil {
		return nil, err
	}
	if w.whole, err = r.Dial(ctx, client.WithTransactionalID("bench-"+name)); err != nil {
		shut(w.plain)
		return nil, err
	}
	for i, cl := range []*client.Client{w.plain, w.whole} {
		err := cl.Subscribe(ctx, client.Subscription{Group: fmt.Sprintf("bench-%s-%d", name, i), Topics: []string{r.input}})
		var read []client.Record
		if err == nil {
			read, err = cl.Poll(ctx, 1)
		}
		if err == nil && len(read) == 0 {
			err = errors.New("the group that commits positions was given nothing to read")
		}
		if err != nil {
			shut(w.plain)
			shut(w.whole)
			return nil, err
		}
	}
	return w, nil
}

// turn goes through rounds of a style until a time. latencies are of the rounds, in
// nanoseconds; a stream has none.
func (w *worker) turn(ctx context.Context, s style, until time.Time) (records int, latencies []int64, err error) {
	if s.stream {
		records, err = w.stream(ctx, until)
		return records, nil, err
	}
	each := w.run.records(s)
	for time.Now().Before(until) && ctx.Err() == nil {
		limited, stop := context.WithTimeout(ctx, w.run.Timeout)
		begin := time.Now()
		err := s.round(w, limited)
		stop()
		if err != nil {
			return len(latencies) * each, latencies, err
		}
		latencies = append(latencies, int64(time.Since(begin)))
	}
	return len(latencies) * each, latencies, nil
}

// lone is the flush-and-round-trip latency.
func (w *worker) lone(ctx context.Context) error {
	_, err := w.plain.PublishMessage(ctx, w.message())
	return err
}

// publish stores the records of a round, without anything else.
func (w *worker) publish(ctx context.Context) error {
	messages := make([]client.Message, w.run.Records)
	for i := range messages {
		messages[i] = w.message()
	}
	_, err := w.plain.PublishAll(ctx, messages)
	return err
}

// atMostOnce commits the position before the records: after a crash they are missing.
func (w *worker) atMostOnce(ctx context.Context) error {
	if err := w.plain.Commit(ctx, w.done); err != nil {
		return err
	}
	return w.publish(ctx)
}

// atLeastOnce commits the position behind the records: after a crash they come again.
func (w *worker) atLeastOnce(ctx context.Context) error {
	if err := w.publish(ctx); err != nil {
		return err
	}
	return w.plain.Commit(ctx, w.done)
}

// transaction commits both together.
func (w *worker) transaction(ctx context.Context) error {
	return w.whole.Transact(ctx, func(tx *client.Tx) error {
		for range w.run.Records {
			if err := tx.PublishMessage(w.message()); err != nil {
				return err
			}
		}
		return tx.CommitPositions(w.done)
	})
}

func (w *worker) message() client.Message {
	w.next = (w.next + 1) % w.run.Partitions
	return client.Message{Topic: w.run.output, Partition: w.next, Value: w.run.value}
}

// stream publishes without a pause until a time, with as many records unanswered as
// a round has.
func (w *worker) stream(ctx context.Context, until time.Time) (records int, err error) {
	slots := make(chan struct{}, w.run.Records)
	var mu sync.Mutex
	for time.Now().Before(until) && ctx.Err() == nil {
		slots <- struct{}{}
		records++
		w.plain.PublishAsync(w.message(), func(_ client.Receipt, failed error) {
			if failed != nil {
				mu.Lock()
				err = failed
				mu.Unlock()
			}
			<-slots
		})
	}
	for range cap(slots) {
		slots <- struct{}{}
	}
	mu.Lock()
	defer mu.Unlock()
	return records, err
}
