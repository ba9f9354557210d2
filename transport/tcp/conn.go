package tcp

import (
	"context"

	"github.com/tamarack-mq/tamarack/core/message"
)

// Hello is what the side that dials says about itself.
type Hello struct {
	ClusterID string         // empty: any cluster (clients only)
	Node      message.NodeID // NoNode: a client
	Want      message.NodeID // the node that should answer; NoNode: any
	Address   string         // where a node itself can be reached
	Software  string         // name and version, for the other side's log
}

// Welcome is what the side that was dialled says about itself.
type Welcome struct {
	ClusterID string
	Node      message.NodeID
	MaxFrame  int32 // the largest frame that it takes, in bytes
}

// Handler receives what a client connection delivers. Its methods are called
// from the connection's reading goroutine, one at a time.
type Handler interface {
	// Replied delivers the reply to the request that was sent with the
	// correlation. Replies may come in any order.
	Replied(correlation uint64, m message.Reply)
	// Closed is called once, last, when the connection has ended. err is nil
	// after Close. Requests that were not answered may or may not have taken
	// effect.
	Closed(err error)
}

// Conn is a client's connection to one node. Its methods may be called from
// any goroutine.
type Conn struct{}

// Dial connects to a node and shakes hands. A refusal is a *RefusedError that
// names what is wrong. ctx bounds the dialling only.
func Dial(ctx context.Context, address string, hello Hello, handler Handler) (*Conn, error) {
	panic("not built yet")
}

// Peer tells who answered.
func (c *Conn) Peer() Welcome { panic("not built yet") }

// Send queues a request; it does not block. It fails with ErrClosed when the
// connection has ended, with ErrQueueFull when the other side does not read as
// fast as it is written to, and with ErrTooLarge when the node would refuse
// the frame; nothing was sent then. m must not change any more.
func (c *Conn) Send(correlation uint64, m message.Request) error { panic("not built yet") }

// Close ends the connection; what is still queued is not sent. It waits until
// the handler has been told, unless it is called by the handler.
func (c *Conn) Close() error { panic("not built yet") }
