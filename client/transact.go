package client

import (
	"context"
	"errors"
	"sync"
	"time"

	protocol "github.com/tamarack-mq/tamarack/core/client"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// How a transaction can end without a commit, for errors.Is. An error that is none
// of these left no transaction behind: it could not begin, or it was aborted because
// the function that makes it up returned that error, its context ended, or the client
// did.
var (
	// ErrAbortable: the transaction was aborted: something of it could not be
	// stored. Nothing of it is visible to readers of committed records, and nothing
	// ever will be. The client goes on.
	ErrAbortable = errors.New("client: the transaction was aborted")
	// ErrFenced: the client makes no more transactions: another one has taken its
	// transactional id, or a transaction was open for longer than its limit, or the id
	// expired. The error's text says which, when its coordinator was asked. Close it;
	// Dial again if this process is still the one to go on. It is ErrFatal, too.
	ErrFenced = errors.New("client: its transactional id is not its own any more")
	// ErrFatal: the client makes no more transactions, for one of the causes of
	// ErrFenced, or because the cluster has answered the end of a transaction with what
	// a client can do nothing about: then nobody has taken its id. Close it.
	ErrFatal = errors.New("client: the client makes no more transactions")
	// ErrUnknownOutcome: it is not known whether the transaction was committed. Polls
	// go on behind what it committed, if it did, so that nothing is processed twice
	// or left out; only what was done elsewhere on its account is in doubt. When it is
	// ErrClosed, too, the client has ended meanwhile: the next one that takes its
	// transactional id finds what was committed.
	ErrUnknownOutcome = errors.New("client: the outcome is not known")
)

// Is matches ErrAbortable, ErrFenced, ErrFatal, ErrUnknownOutcome and ErrClosed.
func (e *Error) Is(target error) bool {
	switch target {
	case ErrAbortable:
		return e.Cause.Problem == protocol.Abortable
	case ErrFenced:
		return e.Cause.Problem == protocol.Fenced
	case ErrFatal:
		return e.Cause.Problem == protocol.Fenced || e.Cause.Problem == protocol.Fatal
	case ErrUnknownOutcome:
		return e.Unknown
	case ErrClosed:
		return e.Cause.Problem == protocol.Closed
	}
	return false
}

// WithTransactionalID lets the client make transactions, and publish in no other
// way. The id names the one who processes something, over restarts: of all clients
// with one id only the last that subscribed or made its first transaction can go on
// (see ErrFenced), and what the others had open is aborted. Records are read as with
// WithReadCommitted.
func WithTransactionalID(id string) Option {
	return func(s *settings) {
		s.config.TransactionalID, s.config.Isolation = id, message.ReadCommitted
	}
}

// WithTransactionTimeout is how long a transaction may be open before the cluster
// aborts it, which ends the client (ErrFenced). The default is the broker's.
func WithTransactionTimeout(d time.Duration) Option {
	return func(s *settings) { s.config.TransactionTimeout = message.Duration(d) }
}

// Transact makes one transaction: everything that f publishes and the positions that
// it commits through tx take effect together, or not at all. It needs
// WithTransactionalID. Transactions of a client follow one another.
//
// f may be called several times: when the transaction had to be aborted for a cause
// that may have passed, it is tried again. So f does nothing else that must happen
// once. When f returns an error the transaction is aborted and the error returned. When
// ctx ends the transaction is aborted as well, unless its commit was asked for already:
// then the error is ErrUnknownOutcome, as it is when that is not certain.
//
// After an error from Transact, Poll returns again what was polled and not
// committed; records from before are to be forgotten, and CommitRecords refuses
// them. The error is matched by some of ErrAbortable, ErrFenced, ErrFatal and
// ErrUnknownOutcome, or by none of them: what that means is said there.
func (c *Client) Transact(ctx context.Context, f func(tx *Tx) error) error {
	select {
	case c.transacting <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-c.transacting }()
	for attempt := new(protocol.Attempt); ; attempt = attempt.Again() {
		next, err := c.try(ctx, f, attempt)
		if next == protocol.ToGoOn {
			return nil
		}
		if next != protocol.ToTryAgain || ctx.Err() != nil {
			c.rewind()
			return err
		}
	}
}

// rewind has polls go back to what is committed. It takes effect before any poll
// that comes later.
func (c *Client) rewind() {
	c.submit(func(op protocol.Op) protocol.Input { return protocol.Rewind{Op: op} }, func(*protocol.Result) {})
}

// try makes one attempt at a transaction. What comes next the protocol says; here it
// is carried out, but for what is left to do between two attempts.
func (c *Client) try(ctx context.Context, f func(tx *Tx) error, attempt *protocol.Attempt) (protocol.Next, error) {
	limit := timeLeft(ctx)
	r, err := c.run(ctx, func(op protocol.Op) protocol.Input { return protocol.Begin{Op: op, Timeout: limit} })
	if r == nil {
		return c.follow(attempt.Left(false)), err
	}
	if v := attempt.Began(r); v.Next != protocol.ToFill {
		return c.follow(v), told(v)
	}
	tx := &Tx{c: c, ctx: ctx, attempt: attempt}
	returned := false
	defer func() {
		tx.end()
		if !returned { // f has panicked
			c.follow(attempt.Dropped())
			c.rewind()
		}
	}()
	own := f(tx)
	cause := tx.end()
	returned = true
	switch {
	case own != nil && (cause == nil || !errors.Is(own, cause)):
		return c.follow(attempt.Dropped()), own
	case cause == nil && ctx.Err() != nil:
		// Something may have been left out because of that, and f need not have said so.
		return c.follow(attempt.Dropped()), ctx.Err()
	}
	v := attempt.Filled()
	switch {
	case v.Next == protocol.ToCommit:
		return c.commit(ctx, attempt)
	case own != nil && own != error(cause):
		return c.follow(v), &inWords{own, told(v)} // the cause, and what the caller says about it
	}
	return c.follow(v), told(v)
}

// inWords is a failure of a transaction in the words of the function that makes it up.
// It is matched by what they wrap, and by what has become of the transaction.
type inWords struct{ said, is error }

func (e *inWords) Error() string   { return e.said.Error() }
func (e *inWords) Unwrap() []error { return []error{e.said, e.is} }

// commit asks for the end that commits.
func (c *Client) commit(ctx context.Context, attempt *protocol.Attempt) (protocol.Next, error) {
	limit := timeLeft(ctx)
	r, err := c.run(ctx, func(op protocol.Op) protocol.Input { return protocol.End{Op: op, Commit: true, Timeout: limit} })
	if r == nil {
		v := attempt.Left(true)
		return c.follow(v), errors.Join(err, told(v))
	}
	v := attempt.Ended(r)
	return c.follow(v), told(v)
}

// follow asks for the abort that a verdict wants. Nobody waits for it: the next Begin
// does.
func (c *Client) follow(v protocol.Verdict) protocol.Next {
	if v.Abort {
		c.submit(func(op protocol.Op) protocol.Input { return protocol.End{Op: op} }, func(*protocol.Result) {})
	}
	return v.Next
}

// told is what the caller is told of a verdict.
func told(v protocol.Verdict) error {
	return problem(&protocol.Result{Outcome: v.Outcome, Err: v.Err})
}

// timeLeft is the time limit of an operation; 0: the protocol's own.
func timeLeft(ctx context.Context) message.Duration {
	deadline, ok := ctx.Deadline()
	if !ok {
		return 0
	}
	return message.Duration(max(time.Until(deadline), time.Millisecond))
}

// Tx is a transaction that is being made up. It is of use until the function that it
// was given to returns, from any of its goroutines.
type Tx struct {
	c       *Client
	ctx     context.Context
	attempt *protocol.Attempt

	mu    sync.Mutex
	ended bool
	first *Error // of the operations that have failed
}

// Publish adds a record; see PublishMessage.
func (tx *Tx) Publish(topic string, key, value []byte) error {
	return tx.PublishMessage(Message{Topic: topic, Partition: AnyPartition, Key: key, Value: value})
}

// PublishMessage adds a record. It does not wait for it to be stored, only for room
// when too many records wait for that: whether it was is told by Transact, which
// commits all or nothing. It fails when the transaction can only be aborted.
func (tx *Tx) PublishMessage(m Message) error { return tx.PublishAsync(m, nil) }

// PublishAsync is PublishMessage that tells where the record was stored, which says
// nothing about the transaction yet. done is called once if no error is returned,
// from the client's own goroutine, and must not block.
func (tx *Tx) PublishAsync(m Message, done func(Receipt, error)) error {
	size := int64(record.SizeBound(m.Key, m.Value, m.Headers))
	if size > tx.c.settings.config.BufferBytes {
		return tx.fails(&Error{Cause: &protocol.Error{Problem: protocol.TooLarge, Detail: "publish: the record is larger than BufferBytes"}})
	}
	for {
		if err := tx.usable(); err != nil {
			return err
		}
		if tx.c.reserve(size) {
			break
		}
		if err := tx.c.Flush(tx.ctx); err != nil {
			return err // ctx has ended, or the client is closed: either way there is no commit
		}
	}
	tx.c.submit(m.input, func(r *protocol.Result) {
		tx.c.unsettled.Add(-size)
		tx.took(r)
		if done == nil {
			return
		}
		if err := problem(r); err != nil {
			done(nowhere, err)
			return
		}
		done(receipt(r), nil)
	})
	return nil
}

// CommitRecords commits, with the transaction, that records which Poll has returned
// are processed, and all before them in their partitions. As with PublishMessage,
// Transact tells whether that was possible.
func (tx *Tx) CommitRecords(records []Record) error { return tx.CommitRecordsAsync(records, nil) }

// CommitRecordsAsync is CommitRecords that tells when the positions were stored,
// which says nothing about the transaction yet. done is called once if no error is
// returned, perhaps at once, and must not block.
func (tx *Tx) CommitRecordsAsync(records []Record, done func(error)) error {
	var offsets []protocol.CommitOffset
	at := map[Place]int{}
	for i := range records {
		r := &records[i]
		place := Place{Topic: r.Topic, Partition: r.Partition}
		next := protocol.CommitOffset{Place: place, Offset: record.Offset(r.Offset) + 1, LeaderEpoch: r.epoch, Stretch: r.stretch}
		j, seen := at[place]
		switch {
		case !seen:
			at[place] = len(offsets)
			offsets = append(offsets, next)
		case next.Stretch != offsets[j].Stretch:
			return tx.fails(&Error{Cause: &protocol.Error{Problem: protocol.NotOwned, Detail: "commit: the partition was taken away, or its position moved, between two of the records"}})
		case next.Offset > offsets[j].Offset:
			offsets[j] = next
		}
	}
	if len(offsets) == 0 {
		err := tx.usable()
		if err == nil && done != nil {
			done(nil)
		}
		return err
	}
	return tx.commit(offsets, done)
}

// CommitPositions is CommitRecords for positions that were worked out in another
// way. It cannot tell positions of before a partition was taken away and came back:
// where that may be, use CommitRecords.
func (tx *Tx) CommitPositions(positions ...Position) error {
	offsets := make([]protocol.CommitOffset, len(positions))
	for i, p := range positions {
		offsets[i] = protocol.CommitOffset{Place: p.Place, Offset: record.Offset(p.Offset), LeaderEpoch: record.NoLeaderEpoch}
	}
	return tx.commit(offsets, nil)
}

func (tx *Tx) commit(offsets []protocol.CommitOffset, done func(error)) error {
	if err := tx.usable(); err != nil {
		return err
	}
	tx.c.submit(func(op protocol.Op) protocol.Input { return protocol.AddOffsets{Op: op, Offsets: offsets} }, func(r *protocol.Result) {
		tx.took(r)
		if done != nil {
			done(problem(r))
		}
	})
	return nil
}

// usable says why nothing can be added any more. When that is because ctx has ended,
// it has as well when f returns, and try does not ask for a commit.
func (tx *Tx) usable() error {
	tx.mu.Lock()
	defer tx.mu.Unlock()
	switch {
	case tx.ended:
		return &Error{Cause: &protocol.Error{Problem: protocol.Misused, Detail: "the transaction is over: its function has returned"}}
	case tx.first != nil:
		return tx.first
	}
	return tx.ctx.Err()
}

// took takes in the result of something that was added. That it may be stored all the
// same says nothing about the transaction, which is aborted.
func (tx *Tx) took(r *protocol.Result) {
	if r.Err != nil {
		_ = tx.fails(&Error{Cause: r.Err})
	}
}

// fails notes what the caller is told from now on. What comes when the function has
// returned is not in its attempt: the protocol refuses the commit then.
func (tx *Tx) fails(e *Error) error {
	tx.mu.Lock()
	defer tx.mu.Unlock()
	if tx.first == nil {
		tx.first = e
		if !tx.ended {
			tx.attempt.Fails(e.Cause)
		}
	}
	return tx.first
}

// end has nothing be added any more, and tells what has failed.
func (tx *Tx) end() *Error {
	tx.mu.Lock()
	defer tx.mu.Unlock()
	tx.ended = true
	return tx.first
}
