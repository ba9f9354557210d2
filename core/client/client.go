// Package client is the protocol of a client: producer, consumer and admin over
// one picture of the cluster. It is a pure state machine: the simulator and the
// blocking client run the same one.
//
// A driver feeds inputs, carries the effects out in their order, and steps the
// client with a Tick when Wake says so.
//
// What to read where: cluster.go holds what is known about the cluster;
// producer.go, lane.go and produce.go send records and keep their order;
// transaction.go and decision.go make them whole transactions, which attempt.go has
// tried again;
// consumer.go, flow.go, fetch.go and poll.go read them; member.go, reconcile.go
// and commit.go belong to groups; ask.go is administration.
package client

import (
	"slices"

	"github.com/tamarack-mq/tamarack/core/chance"
	"github.com/tamarack-mq/tamarack/core/message"
)

// Client is one client of a cluster.
type Client struct {
	cfg    Config
	now    message.Now
	out    *Out
	alarms alarms

	jitter *chance.Stream // pauses between attempts
	choice *chance.Stream // brokers to begin with, first sticky partitions
	naming *chance.Stream // member ids

	lastCall uint64
	calls    map[uint64]*call
	idle     []*call // for the next ones
	nodes    map[message.NodeID]*node
	dirty    []*node // whose outboxes are looked at when the step ends
	spare    []*node // room for the next dirty

	cluster      cluster
	coordinators map[office]*coordinator
	producer     producer
	transactor   transactor
	consumer     consumer
	asks         []*ask
	closing      *Close
	closed       bool
}

// New makes a client. The randomness is for jitter and for member ids: two
// clients of one cluster must not be given the same stream.
func New(cfg Config, random *chance.Stream, now message.Now) *Client {
	c := &Client{
		cfg:          cfg.Filled(),
		now:          now,
		jitter:       random.Split("jitter"),
		choice:       random.Split("choice"),
		naming:       random.Split("naming"),
		calls:        map[uint64]*call{},
		nodes:        map[message.NodeID]*node{},
		coordinators: map[office]*coordinator{},
	}
	c.cluster.init(c)
	c.producer.init(c)
	c.transactor.init(c)
	c.consumer.init(c)
	return c
}

// Step tells the client what happened and gathers what it wants done. now.Mono
// must not fall from step to step.
func (c *Client) Step(now message.Now, in Input, out *Out) {
	c.now, c.out = now, out
	c.take(in)
	c.alarms.Pass(now.Mono, ring)
	if !c.closed {
		c.settle()
	}
	if c.closed { // what was on its way ends here
		c.alarms.StopAll()
		clear(c.calls)
	}
	c.out = nil
}

// Wake is the monotonic time at which a Tick is wanted; Never when nothing
// waits for time.
func (c *Client) Wake() message.Time { return c.alarms.Next() }

func (c *Client) take(in Input) {
	switch in := in.(type) {
	case Tick:
	case Answered:
		c.answered(in)
	case Failed:
		c.callFailed(in)
	case Inputs:
		for _, each := range in {
			c.take(each)
		}
	default:
		if op, ended := c.ended(in); ended {
			c.fail(op, NotDone, &Error{Problem: Closed, Detail: "the client is closed, or is being closed: make a new one"})
			return
		}
		c.operate(in)
	}
}

// operate begins an operation of the application.
func (c *Client) operate(in Input) {
	switch in := in.(type) {
	case Publish:
		c.producer.publish(&in)
	case FlushAll:
		c.producer.flush(in.Op, nil)
	case Begin, AddOffsets, End:
		c.transactor.operate(in)
	case Ask:
		c.ask(in)
	case Close:
		c.close(in)
	default:
		c.consumer.operate(in)
	}
}

// settle sends what the step has made ready: once, however much it was.
func (c *Client) settle() {
	c.consumer.settle()
	c.transactor.settle()
	for len(c.dirty) > 0 {
		dirty := c.dirty
		c.dirty, c.spare = c.spare[:0], nil // pumping may touch nodes again
		for _, n := range dirty {
			n.dirty = false
			c.producer.pump(n)
		}
		clear(dirty)
		c.spare = dirty
	}
	c.cluster.settle()
}

// succeed ends an operation well.
func (c *Client) succeed(op Op, r Result) { c.out.Add(Done{op, r}) }

// fail ends an operation that did not succeed.
func (c *Client) fail(op Op, o Outcome, e *Error) { c.out.Add(Done{op, Result{Outcome: o, Err: e}}) }

// ended says whether the client takes no more operations, and which one this
// would have been.
func (c *Client) ended(in Input) (Op, bool) {
	if !c.closed && c.closing == nil {
		return 0, false
	}
	return opOf(in), true
}

// close flushes the producer, ends its transaction and leaves the group, side by side, and ends the
// client when both are done.
func (c *Client) close(in Close) {
	c.closing = &in
	left := 3
	part := func() {
		if left--; left == 0 {
			c.finish()
		}
	}
	for _, a := range slices.Clone(c.asks) {
		if !a.lasting {
			a.abandon()
		}
	}
	c.transactor.close(part)
	c.producer.flush(0, part)
	c.consumer.unsubscribe(part)
}

func (c *Client) finish() {
	c.closed = true
	c.succeed(c.closing.Op, Result{})
}

func opOf(in Input) Op {
	switch in := in.(type) {
	case Publish:
		return in.Op
	case FlushAll:
		return in.Op
	case Begin:
		return in.Op
	case AddOffsets:
		return in.Op
	case End:
		return in.Op
	case Rewind:
		return in.Op
	case Subscribe:
		return in.Op
	case Assign:
		return in.Op
	case Seek:
		return in.Op
	case Poll:
		return in.Op
	case Commit:
		return in.Op
	case Pause:
		return in.Op
	case Resume:
		return in.Op
	case Positions:
		return in.Op
	case Committed:
		return in.Op
	case Unsubscribe:
		return in.Op
	case Close:
		return in.Op
	case Ask:
		return in.Op
	}
	return 0
}
