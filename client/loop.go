package client

import (
	"time"

	protocol "github.com/tamarack-mq/tamarack/core/client"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

func (c *Client) now() message.Now {
	now := time.Now()
	return message.Now{
		Mono: message.Time(now.Sub(c.began) + 1),
		Wall: record.Timestamp(now.UnixMilli()),
	}
}

// loop is the client's one goroutine: it steps the protocol with what has come
// in, all of it at once, and carries out what the protocol wants.
func (c *Client) loop() {
	defer close(c.over)
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	var taken []work
	var inputs protocol.Inputs
	var out protocol.Out
	for {
		timer.Reset(c.rest())
		select {
		case <-c.signal:
		case <-timer.C:
		}
		var ended bool
		taken, ended = c.take(taken)
		if ended {
			c.end(taken)
			return
		}
		inputs = append(inputs[:0], protocol.Tick{})
		for i := range taken {
			if taken[i].done != nil {
				c.waiting[taken[i].op] = taken[i].done
			}
			inputs = append(inputs, taken[i].in)
		}
		c.core.Step(c.now(), inputs, &out)
		for _, e := range out.List {
			c.do(e)
		}
		out.Empty()
		clear(inputs)
		clear(taken)
	}
}

// take swaps the queue for an empty one.
func (c *Client) take(empty []work) (taken []work, ended bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	taken, c.queue = c.queue, empty[:0]
	return taken, c.ended
}

// rest is how long the loop may sleep.
func (c *Client) rest() time.Duration {
	const longest = time.Minute
	wake := c.core.Wake()
	if wake == message.Never {
		return longest
	}
	return min(longest, max(0, time.Duration(wake-c.now().Mono)))
}

// do carries out one effect.
func (c *Client) do(e protocol.Effect) {
	switch e := e.(type) {
	case protocol.Call:
		c.link(e.Node, e.Address).call(e)
	case protocol.Hangup:
		c.link(e.Node, e.Address).hangUp()
	case protocol.Done:
		if done := c.waiting[e.Op]; done != nil {
			delete(c.waiting, e.Op)
			done(&e.Result)
		}
	case protocol.Event:
		if c.settings.onEvent != nil {
			c.settings.onEvent(e)
		}
	}
}

// link finds the connection to a node, or to a bootstrap address.
func (c *Client) link(node message.NodeID, address string) *link {
	if node == message.NoNode {
		if c.seeds[address] == nil {
			c.seeds[address] = &link{client: c, address: address}
		}
		return c.seeds[address]
	}
	l := c.links[node]
	if l == nil {
		l = &link{client: c, node: node, address: address}
		c.links[node] = l
	}
	l.moveTo(address)
	return l
}

// end answers everybody who still waits, and closes all connections.
func (c *Client) end(taken []work) {
	closed := protocol.Result{Outcome: protocol.Unknown, Err: &protocol.Error{Problem: protocol.Closed}}
	for i := range taken {
		if taken[i].done != nil {
			r := closed
			taken[i].done(&r)
		}
	}
	for _, done := range c.waiting {
		r := closed
		done(&r)
	}
	for _, l := range c.links {
		l.hangUp()
	}
	for _, l := range c.seeds {
		l.hangUp()
	}
}
