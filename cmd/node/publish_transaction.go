package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/tamarack-mq/tamarack/client"
	"github.com/tamarack-mq/tamarack/core/message"
)

// wholly publishes all lines as one transaction. They are read first: a transaction
// may be tried again.
func (p *publishing) wholly(ctx context.Context, acks message.Acks, in io.Reader, out, errs io.Writer) error {
	if acks != message.AcksAll {
		return usage("--acks=%s: a transaction needs all", p.o.acks)
	}
	var messages []client.Message
	if err := p.read(ctx, in, func(m client.Message) {
		p.bytes += int64(len(m.Key) + len(m.Value))
		messages = append(messages, m)
	}); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return fmt.Errorf("nothing is published: %w", ctx.Err())
	}
	cl, err := p.o.dial(ctx, client.WithTransactionalID(p.o.transaction))
	if err != nil {
		return err
	}
	defer func() {
		end, stop := context.WithTimeout(context.Background(), time.Second)
		defer stop()
		_ = cl.Close(end)
	}()
	if err := await(ctx, cl, p.o.topic, p.o.partition, p.o.timeout); err != nil {
		return err
	}
	limited, stop := context.WithTimeout(ctx, p.o.timeout)
	defer stop()
	err = cl.Transact(limited, func(tx *client.Tx) error {
		for _, m := range messages {
			if err := tx.PublishMessage(m); err != nil {
				return err
			}
		}
		return nil
	})
	switch {
	case errors.Is(err, client.ErrUnknownOutcome):
		return fmt.Errorf("it is not known whether the %d records are published: %w", len(messages), err)
	case err != nil:
		return fmt.Errorf("none of the %d records is published: %w", len(messages), err)
	case p.o.json:
		p.o.say(out, map[string]any{"transaction": p.o.transaction, "topic": p.o.topic, "records": len(messages)}, "")
	}
	if !p.o.quiet {
		took := time.Since(p.begin)
		fmt.Fprintf(errs, "%s committed as one transaction, %s in %s\n", counted(len(messages), "record"), amount(p.bytes), took.Round(time.Millisecond))
	}
	return nil
}
