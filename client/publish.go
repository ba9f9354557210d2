package client

import (
	"context"
	"sync"

	protocol "github.com/tamarack-mq/tamarack/core/client"
	"github.com/tamarack-mq/tamarack/core/record"
)

// AnyPartition leaves the choice to the key, or to chance without one.
const AnyPartition = protocol.AnyPartition

// Header is one header of a record.
type Header = record.RecordHeader

// Message is a record to be published. It must not change before its result is
// known.
type Message struct {
	Topic     string
	Partition int32 // AnyPartition, or where it is to go
	Key       []byte
	Value     []byte
	Headers   []Header
	Timestamp int64 // milliseconds since 1970; 0: now
}

// Receipt tells where a record stands. Offset is -1 with acks=0.
type Receipt struct {
	Partition int32
	Offset    int64
	Timestamp int64
}

// Publish sends one record and waits until it is acknowledged. Records with
// the same key go to the same partition. An *Error with Unknown set says that
// the record may be in the log all the same.
func (c *Client) Publish(ctx context.Context, topic string, key, value []byte) (partition int32, offset int64, err error) {
	r, err := c.PublishMessage(ctx, Message{Topic: topic, Partition: AnyPartition, Key: key, Value: value})
	return r.Partition, r.Offset, err
}

// PublishMessage is Publish with everything that a record can have.
func (c *Client) PublishMessage(ctx context.Context, m Message) (Receipt, error) {
	type result struct {
		receipt Receipt
		err     error
	}
	came := make(chan result, 1)
	c.PublishAsync(m, func(r Receipt, err error) { came <- result{r, err} })
	select {
	case r := <-came:
		return r.receipt, r.err
	case <-ctx.Done():
		return nowhere, ctx.Err()
	}
}

// nowhere is the receipt of a record that is not known to be in the log.
var nowhere = Receipt{Partition: AnyPartition, Offset: -1}

// PublishAsync sends one record. done may be nil; it is called once, in the
// order in which results come, from the client's own goroutine, or at once by
// PublishAsync itself when too many records wait for their result (Problem
// BufferFull) or the client is closed. It must not block. Records of one
// partition are appended in the order of the calls.
func (c *Client) PublishAsync(m Message, done func(Receipt, error)) {
	if done == nil {
		done = func(Receipt, error) {}
	}
	size := int64(record.SizeBound(m.Key, m.Value, m.Headers))
	if !c.reserve(size) {
		done(nowhere, &Error{Cause: &protocol.Error{Problem: protocol.BufferFull,
			Detail: "publish: too many records wait for their result: wait for results, or raise BufferBytes"}})
		return
	}
	c.submit(m.input, func(r *protocol.Result) {
		c.unsettled.Add(-size)
		if err := problem(r); err != nil {
			done(nowhere, err)
			return
		}
		done(receipt(r), nil)
	})
}

// reserve takes room for a record that waits for its result. The protocol
// bounds what it has taken in by itself; this bounds what is on its way to it
// as well, when records are published faster than the loop runs.
func (c *Client) reserve(size int64) bool {
	if c.unsettled.Add(size) <= c.settings.config.BufferBytes {
		return true
	}
	c.unsettled.Add(-size)
	return false
}

// PublishAll sends records together and waits for all of them. The receipts
// stand in the order of the messages; the error is the first that there was.
func (c *Client) PublishAll(ctx context.Context, messages []Message) ([]Receipt, error) {
	receipts := make([]Receipt, len(messages))
	var (
		mu    sync.Mutex
		first error
		left  sync.WaitGroup
	)
	left.Add(len(messages))
	for i := range messages {
		c.PublishAsync(messages[i], func(r Receipt, err error) {
			mu.Lock()
			receipts[i] = r
			if err != nil && first == nil {
				first = err
			}
			mu.Unlock()
			left.Done()
		})
	}
	all := make(chan struct{})
	go func() { left.Wait(); close(all) }()
	select {
	case <-all:
		return receipts, first
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Flush waits until everything that was published before has its result.
func (c *Client) Flush(ctx context.Context) error {
	_, err := c.run(ctx, func(op protocol.Op) protocol.Input { return protocol.FlushAll{Op: op} })
	return err
}

func (m Message) input(op protocol.Op) protocol.Input {
	return protocol.Publish{
		Op: op, Topic: m.Topic, Partition: m.Partition, Key: m.Key, Value: m.Value,
		Headers: m.Headers, Timestamp: record.Timestamp(m.Timestamp),
	}
}

func receipt(r *protocol.Result) Receipt {
	p := &r.Published
	return Receipt{Partition: p.ID.Index, Offset: int64(p.Offset), Timestamp: int64(p.Timestamp)}
}
