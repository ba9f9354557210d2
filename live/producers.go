package live

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/tamarack-mq/tamarack/client"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/history"
)

// prepare waits for the cluster and makes the topics.
func (r *run) prepare(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 60*time.Second)
	defer cancel()
	c, err := r.dial(ctx, "admin")
	if err != nil {
		return err
	}
	defer c.Close(ctx)
	for _, name := range topics {
		err = c.CreateTopic(ctx, message.CreateTopic{
			Name: name, Partitions: int32(r.cfg.Partitions), ReplicationFactor: 3,
			Config: message.TopicConfig{MinInsync: 2},
		})
		if err != nil && !errors.Is(err, message.TopicAlreadyExists) {
			return fmt.Errorf("making the topic %s: %w", name, err)
		}
	}
	r.rec.began = time.Now()
	r.say("%d nodes are up, %d topics have %d partitions each", r.cfg.Nodes, len(topics), r.cfg.Partitions)
	return nil
}

// dial connects, and tries again until ctx ends: nodes may be down.
func (r *run) dial(ctx context.Context, name string, options ...client.Option) (*client.Client, error) {
	options = append([]client.Option{
		client.WithName(name), client.WithRequestTimeout(3 * time.Second),
		client.WithDeliveryTimeout(20 * time.Second), client.WithSessionTimeout(4 * time.Second),
	}, options...)
	var last error
	for ctx.Err() == nil {
		c, err := client.Dial(ctx, r.cluster.addresses(), options...)
		if err == nil {
			return c, nil
		}
		last = err
		sleep(ctx, 200*time.Millisecond)
	}
	return nil, errors.Join(last, ctx.Err())
}

// produce publishes unique records at an even pace, some with keys, and does
// not wait for one before it sends the next.
func (r *run) produce(ctx context.Context, id int32) {
	c, err := r.dial(ctx, fmt.Sprintf("producer-%d", id))
	if err != nil {
		return
	}
	var open sync.WaitGroup
	for n := int64(0); sleep(ctx, 10*time.Millisecond); n++ {
		m := client.Message{
			Topic: orders, Partition: client.AnyPartition,
			Value: fmt.Appendf(nil, "p%d-%d", id, n), Timestamp: time.Now().UnixMilli(),
		}
		if n%2 == 0 {
			m.Key = fmt.Appendf(nil, "key-%d", n%17)
		}
		if n%5 == 0 {
			m.Headers = []client.Header{{Key: []byte("n"), Value: fmt.Appendf(nil, "%d", n)}}
		}
		op := r.rec.begin(history.Operation{
			Client: id, Kind: history.Publish, Topic: orders, Key: m.Key, Value: m.Value,
			Headers: headersOf(m.Headers), Timestamp: m.Timestamp, Acks: -1, Idempotent: true,
			Offset: history.None, Sequence: n,
		})
		open.Add(1)
		c.PublishAsync(m, func(receipt client.Receipt, err error) {
			defer open.Done()
			r.rec.end(op, outcomeOf(err), func(o *history.Operation) {
				if err != nil {
					o.Error = err.Error()
					return
				}
				o.TopicID, o.Partition, o.Offset = idOf(orders), receipt.Partition, receipt.Offset
			})
		})
	}
	closing, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if err := c.Close(closing); err != nil {
		r.say("producer %d does not close: %v", id, err)
		c.Abort()
	}
	open.Wait()
}

// outcomeOf is what a client may conclude from an error.
func outcomeOf(err error) history.Outcome {
	var known *client.Error
	switch {
	case err == nil:
		return history.OK
	case errors.As(err, &known) && !known.Unknown:
		return history.Failed
	}
	return history.Unknown
}

func headersOf(list []client.Header) []history.Header {
	var out []history.Header
	for _, h := range list {
		out = append(out, history.Header{Key: string(h.Key), Value: h.Value})
	}
	return out
}
