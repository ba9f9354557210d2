package client

import (
	"context"
	"errors"
	"sync"
	"time"

	protocol "github.com/tamarack-mq/tamarack/core/client"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/transport/tcp"
)

// Conn is one connection to a node. Its methods do not block.
type Conn interface {
	Send(correlation uint64, m message.Request) error
	Close() error
}

// Dialer makes connections; want is the node that should answer (NoNode: any).
// What comes in goes to the handler. Tests and those who tunnel replace it.
type Dialer func(ctx context.Context, address string, want message.NodeID, handler tcp.Handler) (Conn, error)

// dialTime bounds how long one attempt to connect may take.
const dialTime = 5 * time.Second

// link is the connection to one node: it dials when it is first needed, and
// again after it was lost. What waits for a connection that cannot be made was
// never sent; what waits for a reply when one is lost is in doubt.
type link struct {
	client *Client
	node   message.NodeID

	mu      sync.Mutex
	address string
	life    int // counts connections: what an old one says is stale
	conn    Conn
	dialing bool
	queued  []protocol.Call // until the connection is there
	owed    map[uint64]bool // calls without a reply
	failure error           // of the last attempt to connect
}

// moveTo takes a new address of the node; the present connection goes on.
func (l *link) moveTo(address string) {
	l.mu.Lock()
	if address != "" {
		l.address = address
	}
	l.mu.Unlock()
}

func (l *link) call(call protocol.Call) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conn != nil {
		l.send(call)
		return
	}
	l.queued = append(l.queued, call)
	if !l.dialing {
		l.dialing = true
		l.life++
		go l.dial(l.life, l.address)
	}
}

// send hands a call to the connection. The lock is held.
func (l *link) send(call protocol.Call) {
	if !call.NoReply {
		l.owed[call.Call] = true
	}
	if err := l.conn.Send(call.Call, call.Request); err != nil {
		delete(l.owed, call.Call)
		l.fail(call.Call, protocol.Unsent)
	}
}

func (l *link) fail(call uint64, reason protocol.Reason) {
	l.client.push(work{in: protocol.Failed{Call: call, Reason: reason}})
}

func (l *link) dial(life int, address string) {
	ctx, cancel := context.WithTimeout(context.Background(), dialTime)
	defer cancel()
	conn, err := l.client.settings.dialer(ctx, address, l.node, &ear{l, life})
	l.mu.Lock()
	defer l.mu.Unlock()
	if life != l.life {
		if conn != nil {
			conn.Close()
		}
		return
	}
	l.dialing, l.failure = false, err
	queued := l.queued
	l.queued = nil
	if l.node == message.NoNode {
		l.client.met(address, err)
	}
	if err != nil {
		for _, call := range queued {
			l.fail(call.Call, protocol.Unsent)
		}
		return
	}
	l.conn, l.owed = conn, map[uint64]bool{}
	for _, call := range queued {
		l.send(call)
	}
}

// hangUp gives the connection up.
func (l *link) hangUp() {
	l.mu.Lock()
	conn := l.conn
	l.lose()
	l.mu.Unlock()
	if conn != nil {
		conn.Close()
	}
}

// lose forgets the connection and tells who waits for it. The lock is held.
func (l *link) lose() {
	l.life++
	l.conn, l.dialing = nil, false
	for call := range l.owed {
		l.fail(call, protocol.Broken)
	}
	for _, call := range l.queued {
		l.fail(call.Call, protocol.Unsent)
	}
	l.owed, l.queued = nil, nil
}

// ear hears what one connection of a link delivers.
type ear struct {
	link *link
	life int
}

// Replied takes a reply.
func (e *ear) Replied(correlation uint64, m message.Reply) {
	l := e.link
	l.mu.Lock()
	delete(l.owed, correlation)
	l.mu.Unlock()
	l.client.push(work{in: protocol.Answered{Call: correlation, Reply: m}})
}

// Closed takes the end of the connection.
func (e *ear) Closed(err error) {
	l := e.link
	l.mu.Lock()
	defer l.mu.Unlock()
	if e.life == l.life {
		l.failure = err
		l.lose()
	}
}

// met notes what came of connecting to a bootstrap address.
func (c *Client) met(address string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !errors.Is(err, message.ClusterIDMismatch) && !errors.Is(err, message.UnsupportedVersion) {
		delete(c.away, address)
		return
	}
	c.away[address] = true
	for _, a := range c.settings.config.Bootstrap {
		if !c.away[a] {
			return
		}
	}
	c.giveUp()
}

// dialErrors are the reasons why bootstrap addresses could not be reached. Only
// for when the loop has ended.
func (c *Client) dialErrors() []error {
	var reasons []error
	for _, address := range c.settings.config.Bootstrap {
		if l := c.seeds[address]; l != nil {
			l.mu.Lock()
			if l.failure != nil {
				reasons = append(reasons, l.failure)
			}
			l.mu.Unlock()
		}
	}
	return reasons
}
