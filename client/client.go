// Package client is Tamarack's client for Go programs. It drives the pure
// client protocol of core/client over TCP: routing, batching, retries,
// idempotence and group membership are there, waiting is here.
//
// A Client may be used from any number of goroutines. Publishing from many of
// them, or with PublishAsync, lets records travel in batches.
//
// Transact makes records and the positions of what they were made of take effect
// together, for consumers that are built as: read, process, write. There is a whole
// program in examples/pipeline.
package client

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tamarack-mq/tamarack/core/chance"
	protocol "github.com/tamarack-mq/tamarack/core/client"
	"github.com/tamarack-mq/tamarack/core/message"
)

// ErrClosed is what everything fails with that is called after Close, and what was
// under way when the client ended. Of that the error also says, as an *Error with
// Unknown set, that it may have taken effect.
var ErrClosed = errors.New("client: closed")

// Client is a connection to a cluster. Make one with Dial.
type Client struct {
	settings settings
	core     *protocol.Client
	began    time.Time
	lastOp   atomic.Uint64
	// unsettled are the bytes of records without a result.
	unsettled atomic.Int64
	// transacting holds one token while a transaction is made.
	transacting chan struct{}

	mu     sync.Mutex
	queue  []work
	ended  bool            // nothing is taken any more
	away   map[string]bool // bootstrap addresses that turned the client away for good
	giveUp func()          // ends the wait for a first answer: all of them have
	signal chan struct{}   // the queue has something
	over   chan struct{}   // the loop has ended

	// Only the loop touches these.
	waiting map[protocol.Op]func(*protocol.Result)
	links   map[message.NodeID]*link
	seeds   map[string]*link // by bootstrap address
}

// work is one input for the protocol, with whoever waits for its result.
type work struct {
	in   protocol.Input
	op   protocol.Op
	done func(*protocol.Result)
}

// Dial connects to a cluster that is known by the addresses of some of its
// nodes, separated by commas. It returns once one of them has answered, or
// with the reason why none did. That is when ctx ends, or at once when each of
// them belongs to another cluster or is of another release: waiting mends neither.
func Dial(ctx context.Context, addresses string, options ...Option) (*Client, error) {
	s := defaults(split(addresses))
	for _, o := range options {
		o(&s)
	}
	s.complete()
	if len(s.config.Bootstrap) == 0 {
		return nil, errors.New("client: no address given: name at least one node as host:port")
	}
	c := newClient(s)
	asking, stop := context.WithCancel(ctx)
	defer stop()
	c.mu.Lock()
	c.giveUp = stop
	c.mu.Unlock()
	if _, err := c.Ask(asking, &message.Metadata{Topics: []string{}}, protocol.Target{}); err != nil {
		c.abandon()
		reasons := c.dialErrors()
		if asking.Err() == nil || ctx.Err() != nil {
			reasons = append([]error{err}, reasons...)
		}
		return nil, errors.Join(reasons...)
	}
	return c, nil
}

func split(addresses string) []string {
	var list []string
	for a := range strings.SplitSeq(addresses, ",") {
		if a = strings.TrimSpace(a); a != "" {
			list = append(list, a)
		}
	}
	return list
}

func newClient(s settings) *Client {
	c := &Client{
		settings: s, began: time.Now(),
		signal: make(chan struct{}, 1), over: make(chan struct{}), transacting: make(chan struct{}, 1),
		away: map[string]bool{}, giveUp: func() {},
		waiting: map[protocol.Op]func(*protocol.Result){},
		links:   map[message.NodeID]*link{}, seeds: map[string]*link{},
	}
	c.core = protocol.New(s.config, chance.New(seed()), c.now())
	go c.loop()
	return c
}

// seed draws the start of the client's random stream: member ids come from it,
// so it must differ from every other client's.
func seed() uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // crypto/rand never fails since Go 1.24
	return binary.LittleEndian.Uint64(b[:])
}

// submit hands an operation to the protocol. done is called once, from the
// client's own goroutine, and must not block.
func (c *Client) submit(build func(protocol.Op) protocol.Input, done func(*protocol.Result)) {
	op := protocol.Op(c.lastOp.Add(1))
	if !c.push(work{in: build(op), op: op, done: done}) {
		done(&protocol.Result{Outcome: protocol.NotDone, Err: &protocol.Error{Problem: protocol.Closed}})
	}
}

// push queues work; it is false when the client has ended.
func (c *Client) push(w work) bool {
	c.mu.Lock()
	if c.ended {
		c.mu.Unlock()
		return false
	}
	c.queue = append(c.queue, w)
	c.mu.Unlock()
	select {
	case c.signal <- struct{}{}:
	default:
	}
	return true
}

// run submits an operation and waits for its result. When ctx ends first the
// operation goes on, and its outcome is not known to the caller.
func (c *Client) run(ctx context.Context, build func(protocol.Op) protocol.Input) (*protocol.Result, error) {
	came := make(chan protocol.Result, 1)
	c.submit(build, func(r *protocol.Result) { came <- *r })
	select {
	case r := <-came:
		return &r, problem(&r)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// problem is what a caller is told about a result.
func problem(r *protocol.Result) error {
	if r.Err == nil {
		return nil
	}
	if r.Err.Problem == protocol.Closed && r.Outcome != protocol.Unknown {
		return ErrClosed
	}
	return &Error{Cause: r.Err, Unknown: r.Outcome == protocol.Unknown}
}

// Error is why an operation did not succeed. Its broker's code, if there is
// one, is matched by errors.Is(err, message.OffsetOutOfRange) and the like.
type Error struct {
	Cause *protocol.Error
	// Unknown says that the operation may have taken effect all the same, or
	// may still do so.
	Unknown bool
}

// Error says all of it.
func (e *Error) Error() string {
	if e.Unknown {
		return e.Cause.Error() + "; it may have taken effect all the same: look before you try again"
	}
	return e.Cause.Error()
}

// Unwrap gives the protocol's error, and with it the broker's code.
func (e *Error) Unwrap() error { return e.Cause }

// Close sends what was published, commits what the subscription's style asks
// for, leaves the group and ends all connections. When ctx ends first it does
// not wait any longer.
func (c *Client) Close(ctx context.Context) error {
	_, err := c.run(ctx, func(op protocol.Op) protocol.Input { return protocol.Close{Op: op} })
	c.abandon()
	if errors.Is(err, ErrClosed) {
		return nil
	}
	return err
}

// Abort ends the client at once, as a crash of its process would: nothing is
// sent any more, and its group finds out when the session runs out. Whoever
// waits is answered with ErrClosed; what was under way may take effect or not, and a
// transaction whose commit was asked for is ErrUnknownOutcome as well.
func (c *Client) Abort() { c.abandon() }

func (c *Client) abandon() {
	c.mu.Lock()
	c.ended = true
	c.mu.Unlock()
	select {
	case c.signal <- struct{}{}:
	default:
	}
	<-c.over
}
