package live

import (
	"context"
	"sync"

	"github.com/tamarack-mq/tamarack/client"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/transport/tcp"
)

// gate stops a client as SIGSTOP stops a process: while it is shut nothing goes out
// and nothing comes in, and what was under way goes on when it opens, however late
// that is.
type gate struct{ mu sync.RWMutex }

func (g *gate) shut() { g.mu.Lock() }

func (g *gate) open() { g.mu.Unlock() }

// pass waits until the gate is open.
func (g *gate) pass() {
	g.mu.RLock()
	g.mu.RUnlock() //nolint:staticcheck // it is there to wait
}

// dial is a client.Dialer.
func (g *gate) dial(ctx context.Context, address string, want message.NodeID, handler tcp.Handler) (client.Conn, error) {
	g.pass()
	conn, err := tcp.Dial(ctx, address, tcp.Hello{Want: want, Software: "tamarack-live"}, &inlet{g, handler})
	if err != nil {
		return nil, err // not conn: a nil *tcp.Conn is no nil Conn
	}
	return &outlet{g, conn}, nil
}

// outlet is what a client sends through.
type outlet struct {
	gate *gate
	conn client.Conn
}

// Send waits for the gate, and the whole client with it.
func (o *outlet) Send(correlation uint64, m message.Request) error {
	o.gate.pass()
	return o.conn.Send(correlation, m)
}

// Close closes the connection.
func (o *outlet) Close() error { return o.conn.Close() }

// inlet is what comes to a client.
type inlet struct {
	gate    *gate
	handler tcp.Handler
}

// Replied hands on a reply.
func (i *inlet) Replied(correlation uint64, m message.Reply) {
	i.gate.pass()
	i.handler.Replied(correlation, m)
}

// Closed hands on the end of the connection.
func (i *inlet) Closed(err error) {
	i.gate.pass()
	i.handler.Closed(err)
}
