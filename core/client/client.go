// Package client is the protocol of a client: producer, consumer and admin over
// one picture of the cluster. It is a pure state machine: the simulator and the
// blocking client run the same one.
//
// A driver feeds inputs, carries the effects out in their order, and steps the
// client with a Tick when Wake says so.
package client

import (
	"github.com/tamarack-mq/tamarack/core/chance"
	"github.com/tamarack-mq/tamarack/core/message"
)

// Client is one client of a cluster.
type Client struct{}

// New makes a client. The randomness is for jitter and for member ids: two
// clients of one cluster must not be given the same stream.
func New(cfg Config, random *chance.Stream, now message.Now) *Client { panic("not built yet") }

// Step tells the client what happened and gathers what it wants done.
func (c *Client) Step(now message.Now, in Input, out *Out) { panic("not built yet") }

// Wake is the monotonic time at which a Tick is wanted; Never when nothing
// waits for time.
func (c *Client) Wake() message.Time { panic("not built yet") }
