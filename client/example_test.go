package client_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/tamarack-mq/tamarack/client"
	protocol "github.com/tamarack-mq/tamarack/core/client"
	"github.com/tamarack-mq/tamarack/core/message"
)

func Example() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()

	c, err := client.Dial(ctx, "127.0.0.1:9092,127.0.0.1:9093,127.0.0.1:9094")
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close(ctx)

	err = c.CreateTopic(ctx, message.CreateTopic{Name: "orders", Partitions: 6, ReplicationFactor: 3})
	if err != nil && !errors.Is(err, message.TopicAlreadyExists) {
		log.Fatal(err)
	}
	partition, offset, err := c.Publish(ctx, "orders", []byte("customer 17"), []byte("three chairs"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("stored as record %d of partition %d\n", offset, partition)
}

// Processing first and committing after it repeats records after a crash, and
// skips none.
func ExampleClient_Poll() {
	ctx := context.Background()
	c, err := client.Dial(ctx, "localhost:9092")
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close(ctx)
	if err := c.Subscribe(ctx, client.Subscription{Group: "billing", Topics: []string{"orders"}}); err != nil {
		log.Fatal(err)
	}
	for {
		records, err := c.Poll(ctx, 100)
		if err != nil {
			log.Fatal(err)
		}
		for _, r := range records {
			fmt.Printf("%s: %s\n", r.Key, r.Value) // process it
		}
		var e *client.Error
		if err := c.Commit(ctx); errors.As(err, &e) && e.Cause.Problem == protocol.NotOwned {
			log.Print("the partitions went to another member: it will see these records again")
		} else if err != nil {
			log.Print(err)
		}
	}
}

// Positions are committed before the records are handed over: a crash skips
// records and repeats none.
func ExampleSubscription_atMostOnce() {
	ctx := context.Background()
	c, err := client.Dial(ctx, "localhost:9092")
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close(ctx)
	err = c.Subscribe(ctx, client.Subscription{Group: "alerts", Topics: []string{"alarms"}, Style: protocol.AtMostOnce, Reset: protocol.ResetLatest})
	if err != nil {
		log.Fatal(err)
	}
	for {
		records, err := c.Poll(ctx, 10) // they are committed already
		if err != nil {
			log.Fatal(err)
		}
		for _, r := range records {
			fmt.Printf("%s: %s\n", r.Key, r.Value)
		}
	}
}

// Many records at once travel in batches. The result tells whether a record
// that was not acknowledged may be in the log all the same.
func ExampleClient_PublishAsync() {
	ctx := context.Background()
	c, err := client.Dial(ctx, "localhost:9092", client.WithLinger(5*time.Millisecond))
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close(ctx)
	for i := range 10_000 {
		m := client.Message{Topic: "clicks", Partition: client.AnyPartition, Value: fmt.Appendf(nil, "click %d", i)}
		c.PublishAsync(m, func(r client.Receipt, err error) {
			var e *client.Error
			switch {
			case errors.As(err, &e) && e.Unknown:
				log.Printf("click %d: look before you send it again: %v", i, err)
			case err != nil:
				log.Printf("click %d was not stored: %v", i, err)
			}
		})
	}
	if err := c.Flush(ctx); err != nil {
		log.Fatal(err)
	}
}

// Reading without a group, from a point in time on.
func ExampleClient_Assign() {
	ctx := context.Background()
	c, err := client.Dial(ctx, "localhost:9092")
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close(ctx)
	yesterday := protocol.Position{Kind: protocol.AtTime, Timestamp: 1_700_000_000_000}
	err = c.Assign(ctx, protocol.Assign{Partitions: []protocol.Start{
		{Place: client.Place{Topic: "orders", Partition: 0}, From: yesterday},
	}})
	if err != nil {
		log.Fatal(err)
	}
	records, err := c.Poll(ctx, 10)
	if err != nil {
		log.Fatal(err)
	}
	for _, r := range records {
		fmt.Println(r.Offset, string(r.Value))
	}
}

// Read, process and write: what is published and that the records are done commit
// together. The process may be killed at any line: each record of orders has its
// invoice exactly once, for whoever reads them WithReadCommitted.
func ExampleClient_Transact() {
	ctx := context.Background()
	c, err := client.Dial(ctx, "localhost:9092", client.WithTransactionalID("billing-1"))
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close(ctx)
	if err := c.Subscribe(ctx, client.Subscription{Group: "billing", Topics: []string{"orders"}}); err != nil {
		log.Fatal(err)
	}
	for {
		records, err := c.Poll(ctx, 100)
		if err != nil {
			log.Fatal(err)
		}
		err = c.Transact(ctx, func(tx *client.Tx) error {
			for _, r := range records {
				if err := tx.Publish("invoices", r.Key, fmt.Appendf(nil, "invoice for %s", r.Value)); err != nil {
					return err
				}
			}
			return tx.CommitRecords(records)
		})
		switch {
		case errors.Is(err, client.ErrFatal):
			log.Fatal("another process has taken the id, or this one was too slow: ", err)
		case err != nil:
			log.Print(err) // Poll returns again what is not committed
		}
	}
}
