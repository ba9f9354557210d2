package client

import (
	"context"
	"errors"
	"time"

	protocol "github.com/tamarack-mq/tamarack/core/client"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// Record is one record as it was published, and where it stands.
type Record struct {
	Topic     string
	Partition int32
	Offset    int64
	Timestamp int64
	Key       []byte
	Value     []byte
	Headers   []Header
	// HighWatermark is the end of what can be read of the partition, as last
	// seen: the reader's lag is HighWatermark - Offset - 1. For who reads committed
	// records only it is the last stable offset.
	HighWatermark int64

	id      record.PartitionID
	epoch   record.LeaderEpoch
	stretch uint64
}

// Place is one partition of a topic.
type Place = protocol.Place

// Position is the offset of the next record to be processed in a partition.
type Position struct {
	Place
	Offset int64 // -1: none
}

// Subscription says what to read as a member of a group.
type Subscription struct {
	Group  string
	Topics []string
	// Instance names a static member: it keeps its partitions over a restart.
	Instance string
	// Style is protocol.AtLeastOnce (commit after processing, the default) or
	// AtMostOnce (positions are committed before records are handed over).
	Style protocol.Style
	// Reset is where to begin when nothing is committed: protocol.ResetEarliest
	// (the default), ResetLatest or ResetNone.
	Reset protocol.Reset
	// AutoCommit commits from time to time what the application has come back
	// from with another Poll. With it, positions cannot be part of a transaction
	// (Tx.CommitRecords fails), and none is committed while one is open.
	AutoCommit bool
}

// Subscribe joins a group. Records come with Poll.
func (c *Client) Subscribe(ctx context.Context, s Subscription) error {
	_, err := c.run(ctx, func(op protocol.Op) protocol.Input {
		return protocol.Subscribe{
			Op: op, Group: s.Group, Instance: s.Instance, Topics: s.Topics,
			Style: s.Style, Reset: s.Reset, AutoCommit: s.AutoCommit,
		}
	})
	return err
}

// Assign reads partitions without being a member of a group.
func (c *Client) Assign(ctx context.Context, a protocol.Assign) error {
	_, err := c.run(ctx, func(op protocol.Op) protocol.Input { a.Op = op; return a })
	return err
}

// Poll waits until there are records, and returns at most max of them (0: the
// client's default). Those of one partition come in offset order. It returns
// nothing and no error when ctx ends first. To poll also says that everything
// that earlier polls returned has been processed.
func (c *Client) Poll(ctx context.Context, max int) ([]Record, error) {
	for ctx.Err() == nil {
		wait := pollSlice
		if deadline, ok := ctx.Deadline(); ok {
			wait = min(wait, time.Until(deadline))
		}
		// A poll that has begun is waited for, so that no record is lost to a
		// caller that went away: its wait is bounded by pollSlice.
		r, err := c.run(context.WithoutCancel(ctx), func(op protocol.Op) protocol.Input {
			return protocol.Poll{Op: op, Max: max, Wait: message.Duration(wait)}
		})
		if err != nil {
			return nil, err
		}
		if records := c.flatten(r.Polled); len(records) > 0 {
			return records, nil
		}
	}
	return nil, nil
}

// pollSlice is how long one poll of the protocol waits: no longer than it may
// take to notice that the caller has gone away.
const pollSlice = 200 * time.Millisecond

func (c *Client) flatten(polled []protocol.Delivery) []Record {
	n := 0
	for i := range polled {
		n += len(polled[i].Records)
	}
	if n == 0 {
		return nil
	}
	records := make([]Record, 0, n)
	for i := range polled {
		d := &polled[i]
		end := d.HighWatermark
		if c.settings.config.Isolation == message.ReadCommitted {
			end = d.LastStable
		}
		for j := range d.Records {
			r := &d.Records[j]
			records = append(records, Record{
				Topic: d.Topic, Partition: d.Partition, Offset: int64(r.Offset), Timestamp: int64(r.Timestamp),
				Key: r.Key, Value: r.Value, Headers: r.Headers, HighWatermark: int64(end),
				id: d.ID, epoch: r.LeaderEpoch, stretch: d.Stretch,
			})
		}
	}
	return records
}

// Commit stores positions and waits until they are safe. Without positions it
// covers everything that polls have returned. With a transactional id it is refused
// while a transaction is made: it would skip records if that is aborted. Tx has
// CommitRecords for them.
func (c *Client) Commit(ctx context.Context, positions ...Position) error {
	r, err := c.run(ctx, func(op protocol.Op) protocol.Input { return commit(op, positions) })
	if err != nil {
		return err
	}
	return refusals(r)
}

// CommitAsync is Commit without waiting. done may be nil; it is called from the
// client's own goroutine and must not block.
func (c *Client) CommitAsync(done func(error), positions ...Position) {
	c.submit(func(op protocol.Op) protocol.Input { return commit(op, positions) }, func(r *protocol.Result) {
		if done == nil {
			return
		}
		if err := problem(r); err != nil {
			done(err)
			return
		}
		done(refusals(r))
	})
}

// CommitRecord stores that a record has been processed.
func (c *Client) CommitRecord(ctx context.Context, r Record) error {
	return c.Commit(ctx, Position{Place: Place{Topic: r.Topic, Partition: r.Partition}, Offset: r.Offset + 1})
}

func commit(op protocol.Op, positions []Position) protocol.Input {
	in := protocol.Commit{Op: op}
	for _, p := range positions {
		in.Offsets = append(in.Offsets, protocol.CommitOffset{
			Place: p.Place, Offset: record.Offset(p.Offset), LeaderEpoch: record.NoLeaderEpoch,
		})
	}
	return in
}

// refusals gathers the partitions whose commit was refused.
func refusals(r *protocol.Result) error {
	var all []error
	for i := range r.Offsets {
		if o := &r.Offsets[i]; o.Code != message.None {
			all = append(all, &PartitionError{Place: o.Place, Code: o.Code})
		}
	}
	return errors.Join(all...)
}

// PartitionError is a refusal of one partition out of several.
type PartitionError struct {
	Place
	Code message.Code
}

// Error names the partition and the reason.
func (e *PartitionError) Error() string {
	return e.Topic + "/" + itoa(e.Partition) + ": " + e.Code.String()
}

// Unwrap is the code.
func (e *PartitionError) Unwrap() error { return e.Code }

// Committed asks for the group's committed positions; without places, of the
// partitions that this client reads.
func (c *Client) Committed(ctx context.Context, places ...Place) ([]Position, error) {
	r, err := c.run(ctx, func(op protocol.Op) protocol.Input { return protocol.Committed{Op: op, Partitions: places} })
	if err != nil {
		return nil, err
	}
	return positionsOf(r), refusals(r)
}

// Positions are the next offsets that Poll will return, of each partition that
// this client reads.
func (c *Client) Positions(ctx context.Context) ([]Position, error) {
	r, err := c.run(ctx, func(op protocol.Op) protocol.Input { return protocol.Positions{Op: op} })
	if err != nil {
		return nil, err
	}
	return positionsOf(r), nil
}

func positionsOf(r *protocol.Result) []Position {
	list := make([]Position, len(r.Offsets))
	for i := range r.Offsets {
		list[i] = Position{Place: r.Offsets[i].Place, Offset: int64(r.Offsets[i].Offset)}
	}
	return list
}

// Seek moves the position in a partition that this client reads.
func (c *Client) Seek(ctx context.Context, place Place, to protocol.Position) error {
	_, err := c.run(ctx, func(op protocol.Op) protocol.Input {
		return protocol.Seek{Op: op, Start: protocol.Start{Place: place, From: to}}
	})
	return err
}

// Pause stops the delivery of partitions that stay assigned; none: of all.
func (c *Client) Pause(ctx context.Context, places ...Place) error {
	_, err := c.run(ctx, func(op protocol.Op) protocol.Input { return protocol.Pause{Op: op, Partitions: places} })
	return err
}

// Resume ends a Pause.
func (c *Client) Resume(ctx context.Context, places ...Place) error {
	_, err := c.run(ctx, func(op protocol.Op) protocol.Input { return protocol.Resume{Op: op, Partitions: places} })
	return err
}

// Unsubscribe leaves the group, or ends an Assign.
func (c *Client) Unsubscribe(ctx context.Context) error {
	_, err := c.run(ctx, func(op protocol.Op) protocol.Input { return protocol.Unsubscribe{Op: op} })
	return err
}
