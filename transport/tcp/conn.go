package tcp

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tamarack-mq/tamarack/core/message"
)

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
type Conn struct {
	conn    net.Conn
	peer    Welcome
	out     *outbox
	limits  Limits
	handler Handler

	closing atomic.Bool
	failed  sync.Once
	reason  error
}

// Dial connects to a node and shakes hands. A refusal is a *RefusedError that
// names what is wrong. ctx bounds the dialling only.
func Dial(ctx context.Context, address string, hello Hello, handler Handler) (*Conn, error) {
	return DialWithLimits(ctx, address, hello, Limits{}, handler)
}

// DialWithLimits is Dial with other bounds than the default. Of Limits,
// MaxFrame (of replies), MaxQueued and Stall matter to a client.
func DialWithLimits(ctx context.Context, address string, hello Hello, limits Limits, handler Handler) (*Conn, error) {
	limits = limits.withDefaults()
	conn, peer, err := shake(ctx, address, hello)
	if err != nil {
		return nil, err
	}
	c := &Conn{conn: conn, peer: peer, out: newOutbox(), limits: limits, handler: handler}
	go c.write()
	go c.read()
	return c, nil
}

// shake dials and does the dialling side's part of the handshake.
func shake(ctx context.Context, address string, hello Hello) (net.Conn, Welcome, error) {
	dialer := net.Dialer{Timeout: handshakeTime}
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, Welcome{}, fmt.Errorf("tcp: cannot reach %s: %w", address, err)
	}
	tune(conn)
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	_ = conn.SetDeadline(time.Now().Add(handshakeTime))
	welcome, err := exchange(conn, address, hello)
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		conn.Close()
		return nil, welcome, err
	}
	_ = conn.SetDeadline(time.Time{})
	return conn, welcome, nil
}

func exchange(conn net.Conn, address string, hello Hello) (Welcome, error) {
	if _, err := conn.Write(hello.encode()); err != nil {
		return Welcome{}, fmt.Errorf("tcp: cannot greet %s: %w", address, err)
	}
	welcome, err := readWelcome(conn)
	switch {
	case err != nil:
		return welcome, fmt.Errorf("tcp: %s does not answer as a node does (is it the right port?): %w", address, err)
	case welcome.code != message.None:
		return welcome, &RefusedError{Address: address, Code: welcome.code, Detail: welcome.detail}
	case hello.Want != message.NoNode && welcome.Node != hello.Want:
		return welcome, &RefusedError{Address: address, Code: message.InvalidRequest,
			Detail: fmt.Sprintf("it is node %d, not node %d: check the addresses", welcome.Node, hello.Want)}
	}
	return welcome, nil
}

// Peer tells who answered.
func (c *Conn) Peer() Welcome { return c.peer }

// Send queues a request; it does not block. It fails with ErrClosed when the
// connection has ended, with ErrQueueFull when the other side does not read as
// fast as it is written to, and with ErrTooLarge when the node would refuse
// the frame; nothing was sent then. m must not change any more.
func (c *Conn) Send(correlation uint64, m message.Request) error {
	if produce, ok := m.(*message.Produce); ok && c.peer.MaxFrame > 0 && sizeOf(produce) > int(c.peer.MaxFrame) {
		return ErrTooLarge
	}
	_, err := c.out.add(correlation, m, c.limits.MaxQueued, true)
	c.out.push(true)
	return err
}

// Close ends the connection; what is still queued is not sent. It does not
// wait: the handler's Closed is called when nothing more will be delivered.
func (c *Conn) Close() error {
	c.closing.Store(true)
	c.fail(nil)
	return nil
}

// fail ends the connection for a reason; the first one counts.
func (c *Conn) fail(err error) {
	c.failed.Do(func() {
		c.reason = err
		c.out.close()
		c.conn.Close()
	})
}

func (c *Conn) write() {
	if err := newWriter(c.conn, c.limits.Stall, nil, nil).run(c.out); err != nil {
		c.fail(fmt.Errorf("tcp: writing to node %d at %s: %w", c.peer.Node, c.conn.RemoteAddr(), err))
	}
}

func (c *Conn) read() {
	r := reader{conn: c.conn, buffered: bufio.NewReaderSize(c.conn, bufferSize),
		maxFrame: max(c.limits.MaxFrame, int(c.peer.MaxFrame)), maxHead: c.limits.MaxFrame, stall: c.limits.Stall}
	for {
		correlation, m, _, err := r.next()
		if err == nil {
			reply, ok := m.(message.Reply)
			if ok {
				c.handler.Replied(correlation, reply)
				continue
			}
			err = fmt.Errorf("a %s where a reply should be", m.Kind())
		}
		if errors.Is(err, io.EOF) {
			err = errors.New("the node closed the connection")
		}
		c.fail(fmt.Errorf("tcp: reading from node %d at %s: %w", c.peer.Node, c.conn.RemoteAddr(), err))
		break
	}
	reason := c.reason
	if c.closing.Load() {
		reason = nil
	}
	c.handler.Closed(reason)
}
