// Command pipeline reads one topic, works on each record and writes the outcome to
// another topic: each input exactly once, whatever line it is killed at.
//
//	go run ./examples/pipeline --nodes 127.0.0.1:9092 --from orders --to invoices --id billing-1
//
// Start as many as you like, each with an --id of its own: they share the partitions
// of the topic. Start one again under the id that it had: what it left open is
// aborted, and whoever reads invoices with client.WithReadCommitted sees nothing
// of it. That this holds is a test, which runs it on a cluster of node dev, kills it
// with kill -9 about once a second and the nodes as well, and counts:
//
//	go test ./examples/pipeline -run TestKilledAtAnyLine -for 2m -count 1 -v
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"log"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/tamarack-mq/tamarack/client"
)

func main() {
	nodes := flag.String("nodes", "127.0.0.1:9092", "addresses of some nodes, separated by commas")
	from := flag.String("from", "orders", "topic to read")
	to := flag.String("to", "invoices", "topic to write")
	group := flag.String("group", "billing", "group whose positions say what is done")
	id := flag.String("id", "billing-1", "transactional id: one for each process, and the same after a restart")
	session := flag.Duration("session", 0, "how long the group waits for a process that was killed; 0: as the nodes say")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *nodes, *from, *to, *group, *id, *session); err != nil && !errors.Is(err, context.Canceled) {
		log.Fatal(err)
	}
}

// run works until ctx ends.
func run(ctx context.Context, nodes, from, to, group, id string, session time.Duration) error {
	soon, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	c, err := client.Dial(soon, nodes, client.WithTransactionalID(id), client.WithSessionTimeout(session))
	if err != nil {
		return err
	}
	defer func() {
		brief, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		_ = c.Close(brief) // it aborts what is open, and leaves the group
	}()
	if err := await(ctx, c, from, to); err != nil {
		return err
	}
	if err := c.Subscribe(ctx, client.Subscription{Group: group, Topics: []string{from}}); err != nil {
		return err
	}
	for failures := 0; ctx.Err() == nil; {
		records, err := c.Poll(ctx, 500)
		if err != nil {
			return err
		}
		if len(records) == 0 {
			continue
		}
		err = c.Transact(ctx, func(tx *client.Tx) error { return step(tx, records, to) })
		switch {
		case err == nil:
			log.Printf("%d records", len(records))
			failures = 0
		case errors.Is(err, client.ErrFatal):
			return err // mostly: another process has this id now, or this one was too slow
		case errors.Is(err, client.ErrClosed):
			return err // not here; where another goroutine closes the client, that is the end
		default:
			// It was aborted, or will be known later. Poll gives again exactly those
			// records that no transaction has committed. What never passes, as a record
			// that is too large, is tried for ever, but not without a pause: a program
			// of yours may want to put it aside, in a topic of its own.
			log.Print(err)
			pause(ctx, failures)
			failures++
		}
	}
	return nil
}

// pause waits after a failure, twice as long after each in a row, and 5 s at most.
func pause(ctx context.Context, failures int) {
	select {
	case <-ctx.Done():
	case <-time.After(min(100*time.Millisecond<<min(failures, 10), 5*time.Second)):
	}
}

// await waits until there are some topics, and tells what it waits for. A group may
// subscribe to a topic that is still to be made, and would wait without a word.
func await(ctx context.Context, c *client.Client, topics ...string) error {
	for tries := 0; ; tries++ {
		seen, err := c.Metadata(ctx, topics...)
		if err != nil {
			return err
		}
		var missing []string
		for _, t := range seen.Topics {
			if t.Code != 0 {
				missing = append(missing, t.Name)
			}
		}
		if len(missing) == 0 {
			return nil
		}
		if tries == 1 { // one that was made just now may be news to the node that was asked
			log.Printf("waiting for the topic %s: there is none; node topic create makes one", strings.Join(missing, " and the topic "))
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Second):
		}
	}
}

// step is all that one transaction does. It may be called again with the same
// records, and does nothing beyond tx.
func step(tx *client.Tx, records []client.Record, to string) error {
	for _, r := range records {
		if err := tx.Publish(to, r.Key, bytes.ToUpper(r.Value)); err != nil {
			return err
		}
	}
	return tx.CommitRecords(records)
}
