package client

import (
	"github.com/tamarack-mq/tamarack/core/message"
)

// ending is how a call ended.
type ending uint8

const (
	replied ending = iota
	unsent         // it has certainly not taken effect
	broken         // no answer: it may have taken effect, or may still do so
)

// call is a request that was sent and is not answered yet. Once it has ended it
// is used again.
type call struct {
	c        *Client // nil: it is not used again
	id       uint64
	node     *node // nil: a bootstrap address
	address  string
	end      func(reply message.Reply, how ending)
	deadline alarm
}

// node is one broker as the client sees it.
type node struct {
	id       message.NodeID
	address  string
	listed   bool // in the newest metadata
	fenced   bool
	failures int          // in a row
	rest     message.Time // nothing is sent before
	back     alarm        // rings when the rest is over

	ready     []*lane // lanes that have something for this broker
	producing int     // produce requests without an answer
	dirty     bool    // is in Client.dirty
	fetching  bool    // a fetch is out, which may be held back until there is something
	catching  bool    // and one that is answered at once
}

// usable says that the node can be sent to now.
func (n *node) usable(now message.Time) bool { return n.address != "" && now >= n.rest }

// node returns the broker of an id, which need not be in the metadata yet.
func (c *Client) node(id message.NodeID) *node {
	n := c.nodes[id]
	if n == nil {
		n = &node{id: id}
		n.back.Due = func() {
			c.touch(n)
			c.consumer.stir = true
		}
		c.nodes[id] = n
	}
	return n
}

// touch has the node's outbox looked at when the step ends.
func (c *Client) touch(n *node) {
	if !n.dirty {
		n.dirty = true
		c.dirty = append(c.dirty, n)
	}
}

// target is where a request goes: a node, or a bootstrap address.
type target struct {
	node    *node
	address string
}

func (n *node) target() target { return target{node: n, address: n.address} }

// send makes a call. wait bounds the time to its answer; end is told exactly
// once how it ended, but not for a call that was given up at a Close.
func (c *Client) send(to target, r message.Request, wait message.Duration, end func(message.Reply, ending)) {
	k := c.newCall()
	k.id, k.node, k.address, k.end = c.emit(to, r, false), to.node, to.address, end
	c.calls[k.id] = k
	c.alarms.Set(&k.deadline, c.now.Mono.Add(wait))
}

func (c *Client) newCall() *call {
	if last := len(c.idle) - 1; last >= 0 {
		k := c.idle[last]
		c.idle = c.idle[:last]
		return k
	}
	k := &call{c: c}
	k.deadline.Due = func() { c.late(k) }
	return k
}

// over takes a call that has ended off the list. It returns whom to tell; the
// call itself may be another one by then.
func (c *Client) over(k *call) (*node, func(message.Reply, ending)) {
	n, end := k.node, k.end
	delete(c.calls, k.id)
	c.alarms.Stop(&k.deadline)
	if k.c != nil {
		k.node, k.end = nil, nil
		c.idle = append(c.idle, k)
	}
	return n, end
}

// emit gives out a Call effect and returns its number.
func (c *Client) emit(to target, r message.Request, noReply bool) uint64 {
	c.lastCall++
	e := Call{Call: c.lastCall, Address: to.address, Request: r, NoReply: noReply}
	if to.node != nil {
		e.Node = to.node.id
	}
	c.out.Add(e)
	return c.lastCall
}

// late gives up a call that was left unanswered, and its connection with it: a
// connection that is half open would swallow the next request as well.
func (c *Client) late(k *call) {
	h := Hangup{Address: k.address}
	n, end := c.over(k)
	if n != nil {
		h.Node = n.id
	}
	c.out.Add(h)
	c.failed(n)
	end(nil, broken)
}

// answered takes in a reply. Replies to calls that were given up are ignored:
// what they say is no longer true (INV-22).
func (c *Client) answered(in Answered) {
	k := c.calls[in.Call]
	if k == nil {
		return
	}
	n, end := c.over(k)
	if n != nil {
		n.failures = 0
	}
	end(in.Reply, replied)
}

// callFailed takes in that a call will not be answered.
func (c *Client) callFailed(in Failed) {
	k := c.calls[in.Call]
	if k == nil {
		return
	}
	n, end := c.over(k)
	c.failed(n)
	if in.Reason == Unsent {
		end(nil, unsent)
	} else {
		end(nil, broken)
	}
}

// failed lets a node rest. Several calls that fail with one connection count
// once.
func (c *Client) failed(n *node) {
	c.cluster.want()
	if n == nil || c.now.Mono < n.rest {
		return
	}
	n.failures++
	n.rest = c.now.Mono.Add(c.backoff(n.failures))
	c.alarms.Set(&n.back, n.rest)
}

// backoff is the pause after so many failures in a row: it doubles up to its
// maximum, and up to a fifth of it is taken off by chance, so that clients
// which failed together do not come back together.
func (c *Client) backoff(failures int) message.Duration {
	d := c.cfg.RetryBackoff
	for range failures - 1 {
		if d >= c.cfg.RetryBackoffMax {
			break
		}
		d *= 2
	}
	d = min(d, c.cfg.RetryBackoffMax)
	return d - message.Duration(c.jitter.Below(int64(d)/5+1))
}

// read takes the reply of type T out of a call's end. Where there is none, the
// code says what to take it for; both codes of a call without an answer are
// retriable.
func read[T message.Reply](reply message.Reply, how ending) (m T, code message.Code, ok bool) {
	switch how {
	case unsent:
		return m, message.BrokerNotAvailable, false
	case broken:
		return m, message.RequestTimedOut, false
	}
	switch r := reply.(type) {
	case T:
		return r, message.None, true
	case *message.Refused:
		if r != nil && r.Code != message.None {
			return m, r.Code, false
		}
	}
	return m, message.UnknownServerError, false
}
